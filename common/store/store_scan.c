/* SPDX-License-Identifier: Apache-2.0 */
/* store_scan: a v1 List as a stream of items. The file may be far larger than memory should be (histories of 100,000
 * workloads), so only one item at a time is kept. Its decoder in model/ parses that item afterwards, if its kind is
 * wanted. */
#include "store/store_internal.h"

#include "base/json.h"
#include "base/json_split.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

const char *const store_item_kinds[ITEM_KIND_COUNT_] = {"NodeShape", "MemoryProfile", "MemoryHistory"};

#define SCAN_BLOCK_BYTES    (256 * KIB)
#define SCAN_DEPTH	    64
#define SCAN_ENVELOPE_BYTES (64 * KIB)

struct scanner {
	const struct store_scan *scan;
	struct arena scratch; /* texts of the item at hand */
	bool is_reported;     /* the error names the file already */
};

/* Texts of an item; "": absent. */
struct head {
	const char *version, *kind, *namespace_name, *name;
};

static const char **place_of(struct head *head, struct str key, bool is_metadata)
{
	if (is_metadata)
		return str_eq(key, STR("namespace")) ? &head->namespace_name
		       : str_eq(key, STR("name"))    ? &head->name
						     : NULL;
	return str_eq(key, STR("apiVersion")) ? &head->version : str_eq(key, STR("kind")) ? &head->kind : NULL;
}

static int read_text(struct json_text *in, struct arena *scratch, const char **ret)
{
	struct json_string string;
	int r = json_text_string(in, &string);
	char *text;

	if (r)
		return r;
	if (string.has_nul)
		return json_text_bad(in, string.from, "NUL in a string");
	text = arena_alloc(scratch, string.inside.n + 1);
	if (!text)
		return err_set(in->err, -ENOMEM, "out of memory");
	json_text_unescape(string.inside, text);
	*ret = text;
	return 0;
}

/* Reads an item, or its metadata, as far as is needed to know what it is: we write these members first. */
static int read_head(struct json_text *in, struct arena *scratch, bool is_metadata, struct head *ret)
{
	bool has_metadata = false;
	struct json_string key;
	int r = json_text_enter(in, is_metadata);

	while (!r && (r = json_text_member(in, &key)) > 0) {
		const char **place = place_of(ret, key.inside, is_metadata);
		char first = json_text_peek(in);

		if (first == '{' && !is_metadata && str_eq(key.inside, STR("metadata"))) {
			has_metadata = true;
			r = read_head(in, scratch, true, ret);
		} else if (first == '"' && place) {
			r = read_text(in, scratch, place);
		} else {
			r = json_text_skip(in, 1 + is_metadata);
		}
		if (!r && has_metadata && *ret->version && *ret->kind)
			return 0;
	}
	return r;
}

static int kind_of(const struct head *head, enum store_item_kind *ret, struct err *err)
{
	for (int i = 0; i < ITEM_KIND_COUNT_; i++)
		if (streq(head->version, PROFILE_API_VERSION) && streq(head->kind, store_item_kinds[i])) {
			*ret = (enum store_item_kind)i;
			return 0;
		}
	return err_set(err, -EINVAL, "%.64s %.64s, none of ours", head->version, head->kind);
}

static int take_item(void *context, const struct json_item *item, struct err *err)
{
	struct scanner *self = context;
	struct json_text in = {.text = item->text, .n = item->n, .from = item->from, .err = err};
	struct store_item found = {.offset = (int64_t)item->from, .n = item->n};
	struct head head = {"", "", "", ""};
	int r;

	arena_reset(&self->scratch);
	r = item->text ? read_head(&in, &self->scratch, false, &head)
		       : err_set(err, -EINVAL, "longer than %zu bytes, or nested too deep", LIMIT_STORE_ITEM_BYTES);
	if (!r)
		r = kind_of(&head, &found.kind, err);
	if (r) {
		err_wrap(err, "byte %zu: an item", item->from);
		return r;
	}
	found.namespace_name = head.namespace_name;
	found.name = head.name;
	if (self->scan->wants[found.kind])
		found.text = item->text;
	r = self->scan->item(self->scan->context, &found, err);
	self->is_reported = r != 0;
	return r;
}

static const struct json_split_rule list_rule = {
	.path = {"items"},
	.max_item_bytes = LIMIT_STORE_ITEM_BYTES,
	.max_item_depth = SCAN_DEPTH,
	.max_item_tokens = LIMIT_STORE_ITEM_BYTES,
	.max_envelope_bytes = SCAN_ENVELOPE_BYTES,
	.take_item = take_item,
};

/* Whether what stands around the items is that of a v1 List. */
static int check_envelope(const struct json_split *split, struct err *err)
{
	CLEANUP(json_putp) struct json_object *list = NULL;
	const char *version = "", *kind = "";
	int r = json_split_finish(split, err);

	if (!r)
		r = json_parse(split->envelope.text, split->envelope.len, SCAN_DEPTH, &list, err);
	if (!r)
		r = json_get_string(list, "", "apiVersion", &version, err);
	if (r >= 0)
		r = json_get_string(list, "", "kind", &kind, err);
	if (r < 0)
		return r;
	if (split->has_items && streq(version, "v1") && streq(kind, "List"))
		return 0;
	return err_set(err, -EINVAL, "not a v1 List at byte %zu", split->n_bytes);
}

static int scan_all(struct json_split *split, int fd, char *block, struct err *err)
{
	int r = 0;

	while (!r) {
		ssize_t n = read(fd, block, SCAN_BLOCK_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, -errno, "cannot read: %s", strerror(errno));
		if (n == 0)
			return check_envelope(split, err);
		r = json_split_feed(split, block, (size_t)n, err);
	}
	return r;
}

int store_scan(int fd, const char *path, const struct store_scan *scan, struct err *err)
{
	CLEANUP(freep) char *block = malloc(SCAN_BLOCK_BYTES);
	struct scanner scanner = {.scan = scan, .scratch = ARENA_INIT(4 * LIMIT_STORE_ITEM_BYTES)};
	struct json_split split;
	struct err why = ERR_INIT;
	int r;

	json_split_init(&split, &list_rule, &scanner);
	r = block ? scan_all(&split, fd, block, &why) : err_set(&why, -ENOMEM, "out of memory");
	json_split_release(&split);
	arena_release(&scanner.scratch);
	if (!r)
		return 0;
	if (scanner.is_reported && err)
		*err = why;
	else
		err_set_at(err, r, path, 0, 0, "%s", why.msg);
	return r;
}
