/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_split.h"

#include <errno.h>

#define ENVELOPE_DEPTH 64

enum state {
	STATE_AROUND,	  /* in the envelope, before or behind it */
	STATE_FIRST_ITEM, /* an item, or the end of the array */
	STATE_NEXT_ITEM,  /* an item, as a comma was there */
	STATE_IN_ITEM,
	STATE_AFTER_ITEM, /* a comma, or the end of the array */
};

void json_split_reset(struct json_split *self)
{
	strbuf_clear(&self->envelope);
	strbuf_clear(&self->item);
	self->n_bytes = self->n_path = self->key_from = 0;
	self->has_items = false;
	self->state = STATE_AROUND;
	self->around = (struct json_skip){.max_depth = ENVELOPE_DEPTH, .is_strict = true};
}

void json_split_init(struct json_split *self, const struct json_split_rule *rule, void *context)
{
	*self = (struct json_split){
		.envelope = STRBUF_INIT(rule->max_envelope_bytes),
		.rule = rule,
		.context = context,
		.item = STRBUF_INIT(rule->max_item_bytes),
	};
	json_split_reset(self);
}

void json_split_release(struct json_split *self)
{
	strbuf_release(&self->envelope);
	strbuf_release(&self->item);
}

static int bad(const struct json_split *self, const char *what, struct err *err)
{
	return err_set(err, -EINVAL, "%s at byte %zu", what, self->n_bytes);
}

static int out_of_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* --- The envelope --- */

/* Whether the last string is the next key of the path, and a value of it begins now. Says so once. */
static bool is_on_path(struct json_split *self)
{
	struct json_text in = {.text = self->envelope.text, .n = self->envelope.len, .pos = self->key_from};
	struct json_string key;

	if (self->around.depth != self->n_path + 1)
		return false;
	self->key_from = self->envelope.len;
	return !json_text_string(&in, &key) && str_eq(key.inside, str_c(self->rule->path[self->n_path])) &&
	       !json_text_expect(&in, ':') && json_text_peek(&in) == '\0' && in.pos == in.n;
}

/* Follows the path at a byte outside strings. @return whether the byte begins the array of items. */
static bool follow_path(struct json_split *self, char c)
{
	bool is_last = !self->rule->path[self->n_path + 1];

	if (c == '"' && self->around.depth == self->n_path + 1)
		self->key_from = self->envelope.len;
	if ((c != '{' && c != '[') || !is_on_path(self))
		return false;
	self->n_path += c == '{' && !is_last;
	return c == '[' && is_last;
}

static int begin_items(struct json_split *self, struct err *err)
{
	if (self->has_items)
		return bad(self, "a second array of items", err);
	self->has_items = true;
	self->state = STATE_FIRST_ITEM;
	strbuf_add(&self->envelope, "[]", 2); /* a failure stays */
	return 0;
}

/* A byte before or behind the object. */
static int outer_byte(struct json_split *self, char c, struct err *err)
{
	if (is_space(c))
		return 1;
	if (self->envelope.len)
		return bad(self, "text behind the JSON value", err);
	return c == '{' ? 0 : bad(self, "not a JSON object", err);
}

/* The number of bytes at `p` before the first one that may change where in the envelope it is. */
static size_t plain_run(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && !strchr("\"[]{}", p[i]))
		i++;
	STEPS(i);
	return i;
}

/* Takes a byte of the envelope, or all up to the next one that matters. `*ret_used`: how many. */
static int envelope_bytes(struct json_split *self, const char *bytes, size_t n, size_t *ret_used, struct err *err)
{
	struct json_skip *around = &self->around;
	size_t run = around->depth ? plain_run(bytes, n) : 0;

	if (!around->depth) {
		int r = outer_byte(self, *bytes, err);

		if (r)
			return r < 0 ? r : 0;
	} else if (!run && !around->in_string && follow_path(self, *bytes)) {
		return begin_items(self, err);
	}
	*ret_used = json_skip(around, bytes, run ? run : 1);
	self->n_path = MIN(self->n_path, around->depth - (around->depth > 0));
	if (around->is_too_deep)
		return err_set(err, -E2BIG, "nested deeper than %d", ENVELOPE_DEPTH);
	if (strbuf_add(&self->envelope, bytes, *ret_used) == -E2BIG)
		return err_set(err, -E2BIG, "longer than %zu bytes without its items", self->envelope.max);
	return self->envelope.status ? out_of_memory(err) : 0;
}

/* --- Items --- */

/* A byte between items. A bracket that begins an item is not taken. */
static int between_byte(struct json_split *self, char c, struct err *err)
{
	bool is_after = self->state == STATE_AFTER_ITEM;

	if (is_space(c))
		return 0;
	if (c == ',' && is_after)
		self->state = STATE_NEXT_ITEM;
	else if (c == ']' && self->state != STATE_NEXT_ITEM)
		self->state = STATE_AROUND;
	else
		return bad(self, is_after ? "expected a comma or the end of the items" : "expected an object", err);
	return 0;
}

static void begin_item(struct json_split *self)
{
	strbuf_clear(&self->item);
	self->inside = (struct json_skip){.max_depth = self->rule->max_item_depth, .is_strict = true};
	self->item_from = self->n_bytes;
	self->state = STATE_IN_ITEM;
}

/* Passes on the item that ends at the offset. It lies in `bytes` or, together with pieces before, in the buffer. */
static int end_item(struct json_split *self, const char *bytes, size_t end, struct err *err)
{
	struct json_item item = {.n = end - self->item_from, .from = self->item_from};

	self->state = STATE_AFTER_ITEM;
	if (self->item.status == -ENOMEM)
		return out_of_memory(err);
	if (item.n <= self->rule->max_item_bytes && self->inside.tokens <= self->rule->max_item_tokens &&
	    !self->inside.is_too_deep)
		item.text = self->item.len ? self->item.text : bytes;
	return self->rule->take_item(self->context, &item, err);
}

/* Takes bytes up to the end of the item. `*ret_used`: how many. */
static int item_bytes(struct json_split *self, const char *bytes, size_t n, size_t *ret_used, struct err *err)
{
	size_t used = json_skip(&self->inside, bytes, n);
	bool is_direct = self->item_from == self->n_bytes && !self->inside.depth;

	*ret_used = used;
	if (!is_direct)
		strbuf_add(&self->item, bytes, used); /* a buffer that is full stays empty */
	return self->inside.depth || self->inside.fault ? 0 : end_item(self, bytes, self->n_bytes + used, err);
}

int json_split_feed(struct json_split *self, const char *bytes, size_t n, struct err *err)
{
	size_t used;
	int r = 0;

	for (size_t i = 0; i < n && !r; i += used) {
		const char *fault = NULL;

		STEPS(1);
		used = 1;
		if ((self->state == STATE_FIRST_ITEM || self->state == STATE_NEXT_ITEM) && bytes[i] == '{')
			begin_item(self);
		if (self->state == STATE_IN_ITEM) {
			r = item_bytes(self, bytes + i, n - i, &used, err);
			fault = self->inside.fault;
		} else if (self->state == STATE_AROUND) {
			r = envelope_bytes(self, bytes + i, n - i, &used, err);
			fault = self->around.fault;
		} else {
			r = between_byte(self, bytes[i], err);
		}
		if (!r) {
			self->n_bytes += used;
			r = fault ? bad(self, fault, err) : 0;
		}
	}
	return r;
}

int json_split_finish(const struct json_split *self, struct err *err)
{
	if (self->envelope.len && !self->around.depth && self->state == STATE_AROUND)
		return 0;
	return bad(self, self->n_bytes ? "JSON text ends early" : "the text is empty", err);
}
