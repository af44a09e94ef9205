/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_split.h"

#include "base/limits.h"

#include <errno.h>
#include <string.h>

#define MAX_DEPTH 128
#define KEY_BYTES 64
/* Depth inside an item: the list's object and the array are around it. */
#define ITEM_DEPTH 2

void kube_split_init(struct kube_split *self, kube_item_fn *take_item, void *context)
{
	*self = (struct kube_split){
		.item = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES),
		.envelope = STRBUF_INIT(LIMIT_KUBE_ENVELOPE_BYTES),
		.key = STRBUF_INIT(KEY_BYTES),
		.take_item = take_item,
		.context = context,
	};
}

void kube_split_release(struct kube_split *self)
{
	strbuf_release(&self->item);
	strbuf_release(&self->envelope);
	strbuf_release(&self->key);
}

void kube_split_reset(struct kube_split *self)
{
	strbuf_clear(&self->item);
	strbuf_clear(&self->envelope);
	strbuf_clear(&self->key);
	self->depth = self->tokens = 0;
	self->is_in_string = self->is_escaped = self->is_in_items = self->is_value = self->has_ended = false;
}

bool kube_split_is_whole(const struct kube_split *self)
{
	return self->has_ended && !self->envelope.status;
}

/* Where the bytes go: into the item that is open, else into the envelope. */
static int keep(struct kube_split *self, const char *bytes, size_t n)
{
	if (!self->is_in_items || self->depth < ITEM_DEPTH)
		return strbuf_add(&self->envelope, bytes, n);
	if (self->depth > ITEM_DEPTH && !self->item.status && self->tokens <= LIMIT_KUBE_OBJECT_TOKENS)
		strbuf_add(&self->item, bytes, n); /* sticky: an item that is too long is told at its end */
	return 0;
}

static int end_item(struct kube_split *self)
{
	bool is_whole = !self->item.status && self->tokens <= LIMIT_KUBE_OBJECT_TOKENS;
	int r = self->item.status == -ENOMEM
			? -ENOMEM
			: self->take_item(self->context, is_whole ? strbuf_text(&self->item) : NULL,
					  is_whole ? self->item.len : 0);

	strbuf_clear(&self->item);
	self->tokens = 0;
	return r;
}

static int open_bracket(struct kube_split *self, char c)
{
	int r;

	if (self->depth == MAX_DEPTH || self->has_ended || (self->depth == 0 && c != '{'))
		return -EINVAL;
	/* in the array of items only objects make sense */
	if (self->is_in_items && self->depth == ITEM_DEPTH && c != '{')
		return -EINVAL;
	if (self->depth == 1 && c == '[' && self->is_value && !self->key.status &&
	    strcmp(strbuf_text(&self->key), "items") == 0) {
		r = strbuf_add(&self->envelope, "[]", 2);
		self->is_in_items = true;
		self->depth++;
		return r;
	}
	self->depth++;
	self->tokens++;
	return keep(self, &c, 1);
}

static int close_bracket(struct kube_split *self, char c)
{
	int r;

	if (self->depth == 0)
		return -EINVAL;
	if (self->is_in_items && self->depth == ITEM_DEPTH) {
		if (c != ']')
			return -EINVAL;
		self->is_in_items = false;
		self->depth--;
		return 0;
	}
	r = keep(self, &c, 1);
	self->depth--;
	if (!r && self->is_in_items && self->depth == ITEM_DEPTH)
		r = c == '}' ? end_item(self) : -EINVAL;
	self->has_ended = self->depth == 0;
	return r;
}

/* A character outside of strings. */
static int structure(struct kube_split *self, char c)
{
	bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r';

	if (c == '{' || c == '[')
		return open_bracket(self, c);
	if (c == '}' || c == ']')
		return close_bracket(self, c);
	if ((self->depth == 0 || self->has_ended) && !is_space)
		return -EINVAL;
	if (self->is_in_items && self->depth == ITEM_DEPTH && !is_space && c != ',')
		return -EINVAL; /* a scalar among the items */
	if (c == '"') {
		self->is_in_string = true;
		if (self->depth == 1)
			strbuf_clear(&self->key);
	} else if (self->depth == 1 && c == ':') {
		self->is_value = true;
	} else if (self->depth == 1 && c == ',') {
		self->is_value = false;
	}
	self->tokens += c == ',';
	return keep(self, &c, 1);
}

/* As much of a string as is there. @return bytes used. */
static size_t inside_string(struct kube_split *self, const char *bytes, size_t n, int *ret_status)
{
	size_t used = 0;

	while (used < n && self->is_in_string) {
		char c = bytes[used++];

		if (self->is_escaped)
			self->is_escaped = false;
		else if (c == '\\')
			self->is_escaped = true;
		else if (c == '"')
			self->is_in_string = false;
	}
	if (self->depth == 1 && !self->is_value)
		strbuf_add(&self->key, bytes, used - !self->is_in_string);
	*ret_status = keep(self, bytes, used);
	return used;
}

int kube_split_feed(struct kube_split *self, const char *bytes, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r;) {
		if (self->is_in_string)
			i += inside_string(self, bytes + i, n - i, &r);
		else
			r = structure(self, bytes[i++]);
	}
	return r;
}
