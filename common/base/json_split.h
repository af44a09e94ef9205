/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* json_split: a JSON object that arrives in pieces, with one array that may be far longer than memory should be: a list
 * of objects, an answer of Prometheus. Each object of that array (an item) is passed on as soon as it is whole. The
 * rest, with an empty array in the place of the items, is the envelope.
 *
 * Of an item only strings and brackets are checked; whoever takes it reads it. The same holds for the envelope, which
 * is to be read at the end. Both are the same however the bytes are cut. Memory: the envelope, and one item if it lies
 * in several pieces. Cost: linear in the bytes. Threads: a split belongs to one thread. */
#include "base/json_text.h"
#include "base/strbuf.h"

struct json_item {
	/* Borrowed for the call, and without a NUL behind it. NULL: longer, deeper or with more tokens than allowed. */
	const char *text;
	size_t n;
	size_t from; /* offset of its first byte in the stream */
};
/** Takes one item. A result that is not 0 ends the split and is returned. */
typedef int json_item_fn(void *context, const struct json_item *item, struct err *err);

struct json_split_rule {
	const char *path[3]; /* one or two keys that lead to the array, and NULL. A key with escapes is none of them */
	size_t max_item_bytes, max_envelope_bytes;
	size_t max_item_depth; /* number of open brackets */
	size_t max_item_tokens;
	json_item_fn *take_item;
};

struct json_split {
	struct strbuf envelope;
	size_t n_bytes; /* fed so far */
	bool has_items; /* the array has begun */

	/* Private. */
	const struct json_split_rule *rule;
	void *context;
	int state;
	size_t n_path;	 /* number of keys of the path that lead to where the envelope is now */
	size_t key_from; /* offset in the envelope of the last string there */
	size_t item_from;
	struct json_skip around, inside; /* of the envelope, of the item */
	struct strbuf item;
};

/** `rule` must stay valid; `context` is passed to take_item. */
void json_split_init(struct json_split *self, const struct json_split_rule *rule, void *context);
void json_split_release(struct json_split *self);
/** Starts again, for the next stream. */
void json_split_reset(struct json_split *self);
/** Takes the next bytes. @return 0; -EINVAL with the byte offset: not an object, text behind it, an item that is not an
 * object, a second array of items, brackets that do not match; -E2BIG: the envelope is too long or too deep; -ENOMEM;
 * what take_item returned. After a failure nothing more may be fed. */
int json_split_feed(struct json_split *self, const char *bytes, size_t n, struct err *err) ATTR_NODISCARD;
/** No bytes will follow. @return 0: the object is whole, and so is the envelope; -EINVAL. */
int json_split_finish(const struct json_split *self, struct err *err) ATTR_NODISCARD;
