/* SPDX-License-Identifier: Apache-2.0 */
/* store_scan: a v1 List as a stream of items. The file may be far larger than memory should be (histories of 100,000
 * workloads), so bytes are looked at once, in blocks, by a small state machine that knows strings and nesting; only one
 * item at a time is kept, and only if its kind is wanted. Its decoder in model/ parses that item afterwards. */
#include "store/store_internal.h"

#include "base/json.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

const char *const store_item_kinds[ITEM_KIND_COUNT_] = {"NodeShape", "MemoryProfile", "MemoryHistory"};

#define SCAN_BLOCK_BYTES (256 * KIB)
#define SCAN_DEPTH	 64
/* The head of an item as codec_head writes it; what follows is the kind. */
#define ITEM_HEAD	"{\"apiVersion\":\"" PROFILE_API_VERSION "\",\"kind\":\""
#define ITEM_HEAD_BYTES (sizeof(ITEM_HEAD) - 1 + 16)

enum place {
	PLACE_START,	/* before the List's brace */
	PLACE_KEY,	/* a key of the List, or its end */
	PLACE_COLON,	/* behind a key */
	PLACE_VALUE,	/* value of a key of the List */
	PLACE_IN_VALUE, /* inside a value of the List that is not `items` */
	PLACE_AFTER,	/* behind a value: comma or the List's end */
	PLACE_ITEM,	/* an item or the end of `items` */
	PLACE_IN_ITEM,
	PLACE_AFTER_ITEM, /* comma or the end of `items` */
	PLACE_END,	  /* behind the List */
};

struct scanner {
	const struct store_scan *scan;
	const char *path;
	struct err *err;
	enum place place;
	int64_t offset;	 /* of the byte at hand */
	int depth;	 /* inside a value or an item */
	uint64_t arrays; /* bit 0: the innermost bracket is '[', bit 1: the one around it ... */
	bool is_string, is_escaped, has_items, needs_item, needs_key;
	struct strbuf key, value; /* key and text value of the List at hand */
	bool is_v1, is_list;
	struct strbuf text; /* the item at hand, or its first bytes */
	int64_t item_offset, item_number;
	int head_kind;	 /* of the item, by its first bytes; -1: not known by them */
	bool is_skipped; /* that kind is not wanted */
	bool may_take_lines, has_taken_lines;
	char last[2]; /* the last two bytes of a line that is taken whole */
};

static int torn(struct scanner *self, const char *what)
{
	return err_set_at(self->err, -EINVAL, self->path, 0, 0, "byte %lld: %s", (long long)self->offset, what);
}

/* A buffer that did not take a byte: the file is to blame only when its cap was hit. */
static int not_kept(struct scanner *self, const struct strbuf *buf, const char *what)
{
	if (buf->status == -E2BIG)
		return torn(self, what);
	return err_set_at(self->err, -ENOMEM, self->path, 0, 0, "out of memory");
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The kind of an item by its first bytes in our own spelling; -1: by parsing only. */
static int item_kind_of_head(const char *text, size_t n)
{
	size_t head = sizeof(ITEM_HEAD) - 1;

	if (n < ITEM_HEAD_BYTES || memcmp(text, ITEM_HEAD, head) != 0)
		return -1;
	for (int i = 0; i < ITEM_KIND_COUNT_; i++) {
		size_t len = strlen(store_item_kinds[i]);

		if (memcmp(text + head, store_item_kinds[i], len) == 0 && text[head + len] == '"')
			return i;
	}
	return -1;
}

static int item_kind_by_parsing(struct scanner *self, enum store_item_kind *ret)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	const char *version = "", *kind = "";
	struct err err = ERR_INIT;

	if (json_parse(self->text.text, self->text.len, SCAN_DEPTH, &object, &err) ||
	    json_get_string(object, "", "apiVersion", &version, &err) < 0 ||
	    json_get_string(object, "", "kind", &kind, &err) < 0)
		return err_set_at(self->err, err.code == -ENOMEM ? -ENOMEM : -EINVAL, self->path, 0, 0,
				  "byte %lld: item %lld: %s", (long long)self->item_offset,
				  (long long)self->item_number, err.msg);
	for (int i = 0; i < ITEM_KIND_COUNT_; i++)
		if (streq(version, PROFILE_API_VERSION) && streq(kind, store_item_kinds[i])) {
			*ret = (enum store_item_kind)i;
			return 0;
		}
	return err_set_at(self->err, -EINVAL, self->path, 0, 0, "byte %lld: item %lld is a %.64s %.64s, none of ours",
			  (long long)self->item_offset, (long long)self->item_number, version, kind);
}

static int item_done(struct scanner *self)
{
	struct store_item item = {.offset = self->item_offset, .n = (size_t)(self->offset - self->item_offset)};
	int r = 0;

	self->place = PLACE_AFTER_ITEM;
	self->item_number++;
	if (self->head_kind >= 0)
		item.kind = (enum store_item_kind)self->head_kind;
	else
		r = item_kind_by_parsing(self, &item.kind);
	if (r)
		return r;
	if (self->scan->wants[item.kind])
		item.text = self->text.text;
	return self->scan->item(self->scan->context, &item, self->err);
}

/* Keep a run of bytes of the item, unless its kind turns out not to be wanted. */
static int item_add(struct scanner *self, const char *bytes, size_t n)
{
	if (self->is_skipped || !n)
		return 0;
	if (strbuf_add(&self->text, bytes, n))
		return not_kept(self, &self->text, "item too long");
	if (self->text.len < ITEM_HEAD_BYTES || self->text.len - n >= ITEM_HEAD_BYTES)
		return 0;
	self->head_kind = item_kind_of_head(self->text.text, self->text.len);
	self->is_skipped = self->head_kind >= 0 && !self->scan->wants[self->head_kind];
	return 0;
}

static int open_bracket(struct scanner *self, char c)
{
	if (++self->depth > SCAN_DEPTH)
		return torn(self, "nested too deep");
	self->arrays = self->arrays << 1 | (c == '[');
	return 0;
}

static int close_bracket(struct scanner *self, char c)
{
	bool is_array = self->arrays & 1;

	if (self->depth == 0 || is_array != (c == ']'))
		return torn(self, "brackets do not match");
	self->arrays >>= 1;
	self->depth--;
	return 0;
}

/* One byte inside a value: strings, nesting. Says whether it ends the value. */
static int nested_byte(struct scanner *self, char c, bool *ret_is_end)
{
	int r = 0;

	if (self->is_string) {
		if (self->is_escaped)
			self->is_escaped = false;
		else if (c == '\\')
			self->is_escaped = true;
		else if (c == '"')
			self->is_string = false;
		else if ((unsigned char)c < 0x20)
			r = torn(self, "control character in a string");
	} else if (c == '"') {
		self->is_string = true;
	} else if (c == '{' || c == '[') {
		r = open_bracket(self, c);
	} else if (c == '}' || c == ']') {
		r = close_bracket(self, c);
	} else if ((unsigned char)c < 0x20 && !is_space(c)) {
		r = torn(self, "control character");
	}
	*ret_is_end = self->depth == 0 && !self->is_string;
	return r;
}

/* Bytes that a scan has to look at: inside a string, outside of one. */
enum { STOPS_STRING = 1, STOPS_PLAIN = 2 };
#define CONTROL_8 3, 3, 3, 3, 3, 3, 3, 3
static const uint8_t stops[256] = {
	CONTROL_8,
	3,
	1,
	1,
	3,
	3,
	1,
	3,
	3,
	CONTROL_8,
	CONTROL_8,
	['"'] = 3,
	['\\'] = STOPS_STRING,
	['['] = STOPS_PLAIN,
	[']'] = STOPS_PLAIN,
	['{'] = STOPS_PLAIN,
	['}'] = STOPS_PLAIN,
};

/* Bytes at `p` that change nothing: neither strings nor nesting. The hot loop. */
static size_t plain_run(const struct scanner *self, const char *p, size_t n)
{
	uint8_t stop = self->is_string ? STOPS_STRING : STOPS_PLAIN;
	size_t i = 0;

	if (self->is_escaped)
		return 0;
	while (i < n && !(stops[(unsigned char)p[i]] & stop))
		i++;
	return i;
}

/* Walk inside an item until it ends or the block does. `*ret_n` bytes belong to the item. */
static int item_bytes(struct scanner *self, const char *p, size_t n, size_t *ret_n, bool *ret_is_end)
{
	int64_t start = self->offset;
	size_t i = 0;
	int r = 0;

	*ret_is_end = false;
	while (!r && !*ret_is_end) {
		i += plain_run(self, p + i, n - i);
		if (i == n)
			break;
		self->offset = start + (int64_t)i;
		r = nested_byte(self, p[i++], ret_is_end);
	}
	self->offset = start;
	*ret_n = i;
	return r;
}

/* A value of the List: a string (kept: apiVersion, kind), a container, or a bare word. */
static int list_value_byte(struct scanner *self, char c)
{
	bool is_end = false;
	int r;

	if (self->place == PLACE_VALUE) {
		if (streq(strbuf_text(&self->key), "items")) {
			if (c != '[' || self->has_items)
				return torn(self, "\"items\" is not one array");
			self->has_items = true;
			self->place = PLACE_ITEM;
			return 0;
		}
		strbuf_clear(&self->value);
		self->depth = 0;
		if (c != '"' && c != '{' && c != '[')
			return torn(self, "unexpected value in a List");
		self->place = PLACE_IN_VALUE;
	}
	r = nested_byte(self, c, &is_end);
	if (!r && self->depth == 0 && c != '"' && self->is_string && strbuf_addc(&self->value, c))
		return not_kept(self, &self->value, "text too long");
	if (r || !is_end)
		return r;
	self->is_v1 = self->is_v1 ||
		      (streq(strbuf_text(&self->key), "apiVersion") && streq(strbuf_text(&self->value), "v1"));
	self->is_list = self->is_list ||
			(streq(strbuf_text(&self->key), "kind") && streq(strbuf_text(&self->value), "List"));
	self->place = PLACE_AFTER;
	return 0;
}

static int list_key_byte(struct scanner *self, char c)
{
	bool is_end = false;
	int r;

	if (!self->is_string && c == '}' && !self->needs_key) {
		self->place = PLACE_END;
		return 0;
	}
	if (!self->is_string && c != '"')
		return torn(self, "expected a key of a List");
	if (!self->is_string)
		strbuf_clear(&self->key);
	r = nested_byte(self, c, &is_end);
	if (r)
		return r;
	if (is_end)
		self->place = PLACE_COLON;
	else if (c != '"' && strbuf_addc(&self->key, c))
		return not_kept(self, &self->key, "key too long");
	return 0;
}

static int item_start_byte(struct scanner *self, char c)
{
	if (c == ']' && !self->needs_item) {
		self->place = PLACE_AFTER;
		return 0;
	}
	if (c != '{')
		return torn(self, "expected an object in \"items\"");
	strbuf_clear(&self->text);
	self->is_skipped = self->needs_item = false;
	self->head_kind = -1;
	self->item_offset = self->offset;
	self->depth = 0;
	self->place = PLACE_IN_ITEM;
	return open_bracket(self, c) ? -EINVAL : item_add(self, &c, 1);
}

/* A byte outside items. */
static int list_byte(struct scanner *self, char c)
{
	if (!self->is_string && is_space(c) && self->place != PLACE_IN_VALUE)
		return 0;
	switch (self->place) {
	case PLACE_START:
		self->place = PLACE_KEY;
		return c == '{' ? 0 : torn(self, "not a JSON object");
	case PLACE_KEY:
		return list_key_byte(self, c);
	case PLACE_COLON:
		self->place = PLACE_VALUE;
		return c == ':' ? 0 : torn(self, "expected a colon");
	case PLACE_VALUE:
	case PLACE_IN_VALUE:
		return list_value_byte(self, c);
	case PLACE_AFTER:
		self->place = c == ',' ? PLACE_KEY : PLACE_END;
		self->needs_key = c == ',';
		return c == ',' || c == '}' ? 0 : torn(self, "expected a comma or the end of the List");
	case PLACE_ITEM:
		return item_start_byte(self, c);
	case PLACE_AFTER_ITEM:
		self->place = c == ',' ? PLACE_ITEM : PLACE_AFTER;
		self->needs_item = c == ',';
		return c == ',' || c == ']' ? 0 : torn(self, "expected a comma or the end of \"items\"");
	default:
		return torn(self, "text behind the List");
	}
}

/* Take the rest of a line. `*ret_n` bytes belong to the item or are the comma behind it. */
static int line_bytes(struct scanner *self, const char *p, size_t n, size_t *ret_n, bool *ret_is_end)
{
	const char *newline = memchr(p, '\n', n);
	size_t len = newline ? (size_t)(newline - p) : n;

	if (len > 0) {
		self->last[0] = len > 1 ? p[len - 2] : self->last[1];
		self->last[1] = p[len - 1];
	}
	self->has_taken_lines = true;
	*ret_is_end = newline != NULL;
	*ret_n = len;
	if (newline && self->last[self->last[1] == ',' ? 0 : 1] != '}')
		return torn(self, "an item does not end with its line");
	return 0;
}

static int line_done(struct scanner *self)
{
	bool has_comma = self->last[1] == ',';
	int r;

	self->depth = 0;
	self->arrays = 0;
	self->is_string = self->is_escaped = false;
	self->offset -= has_comma;
	self->text.len -= has_comma && !self->is_skipped;
	r = item_done(self);
	self->offset += has_comma;
	if (has_comma) {
		self->place = PLACE_ITEM;
		self->needs_item = true;
	}
	return r;
}

/* Bytes of an item. The first few are kept and looked at before the rest, to see whether the item is wanted at all. */
static int scan_item(struct scanner *self, const char *p, size_t n, size_t *ret_n)
{
	bool is_end;
	int r;

	if (self->head_kind >= 0 && self->may_take_lines) {
		r = line_bytes(self, p, n, ret_n, &is_end);
		if (!r)
			r = item_add(self, p, *ret_n);
		self->offset += (int64_t)*ret_n;
		return !r && is_end ? line_done(self) : r;
	}
	if (self->text.len < ITEM_HEAD_BYTES)
		n = MIN(n, ITEM_HEAD_BYTES - self->text.len);
	r = item_bytes(self, p, n, ret_n, &is_end);
	if (!r)
		r = item_add(self, p, *ret_n);
	self->offset += (int64_t)*ret_n;
	return !r && is_end ? item_done(self) : r;
}

static int scan_block(struct scanner *self, const char *p, size_t n)
{
	size_t i = 0, run;
	int r = 0;

	while (i < n && !r) {
		if (self->place == PLACE_IN_ITEM) {
			r = scan_item(self, p + i, n - i, &run);
			i += run;
		} else {
			r = list_byte(self, p[i++]);
			self->offset++;
		}
	}
	return r;
}

static int scan_end(struct scanner *self)
{
	if (self->offset == 0)
		return torn(self, "the file is empty");
	if (self->place != PLACE_END)
		return torn(self, "the file ends early");
	return self->is_v1 && self->is_list && self->has_items ? 0 : torn(self, "not a v1 List");
}

static int scan_all(struct scanner *self, int fd, char *block)
{
	ssize_t n;
	int r = 0;

	while (!r) {
		n = read(fd, block, SCAN_BLOCK_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_at(self->err, -errno, self->path, 0, 0, "cannot read: %s", strerror(errno));
		if (n == 0)
			return scan_end(self);
		r = scan_block(self, block, (size_t)n);
	}
	return r;
}

static int scan_file(int fd, const char *path, const struct store_scan *scan, char *block, bool *lines, struct err *err)
{
	struct scanner self = {.scan = scan,
			       .path = path,
			       .err = err,
			       .key = STRBUF_INIT(64),
			       .value = STRBUF_INIT(1024),
			       .text = STRBUF_INIT(LIMIT_STORE_ITEM_BYTES),
			       .may_take_lines = *lines};
	int r = scan_all(&self, fd, block);

	*lines = self.has_taken_lines;
	strbuf_release(&self.key);
	strbuf_release(&self.value);
	strbuf_release(&self.text);
	return r;
}

/* Items that we wrote have a line each, and a newline cannot stand inside a JSON string: such an item need not be
 * walked through to find its end, which is most of the time of reading a file for admission. One that is wanted is
 * checked when it is parsed. A file that is not so (edited by hand, torn) makes no sense on this way: then it is read
 * again, byte by byte, and that tells what is wrong with it. */
int store_scan(int fd, const char *path, const struct store_scan *scan, struct err *err)
{
	CLEANUP(freep) char *block = malloc(SCAN_BLOCK_BYTES);
	bool lines = scan->may_repeat;
	int r;

	if (!block)
		return err_set_at(err, -ENOMEM, path, 0, 0, "out of memory");
	r = scan_file(fd, path, scan, block, &lines, err);
	if (r != -EINVAL || !lines)
		return r;
	lines = false;
	if (lseek(fd, 0, SEEK_SET) != 0)
		return err_set_at(err, -errno, path, 0, 0, "cannot seek: %s", strerror(errno));
	return scan_file(fd, path, scan, block, &lines, err);
}
