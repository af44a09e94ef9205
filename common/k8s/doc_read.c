/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/limits.h"
#include "k8s/doc.h"
#include "base/json_text.h"

#include <errno.h>
#include <stdlib.h>

/* doc_read: walks the text along the allow-list. Objects on the list are read key by key, a listed value becomes a
 * node, all other values are skipped 64 bytes at a time. */

struct reader {
	struct json_text in;
	struct doc_builder builder;
	int skipped; /* -E2BIG: something that is not listed is too large; 0 */
};

static int out_of_memory(struct reader *self)
{
	return err_set(self->in.err, -ENOMEM, "out of memory");
}

/* --- Keys of a map, each at most once --- */

#define KEYS_FEW 16

/* Few keys are compared directly, many by a seeded 64-bit hash. */
struct key_set {
	struct str few[KEYS_FEW];
	size_t n;
	uint64_t *hashes; /* open addressing, 0: free slot */
	size_t capacity;
};

/* @return 1: the key exists already. */
static int key_set_put_hash(uint64_t *hashes, size_t capacity, struct str key)
{
	uint64_t hash = hash_seeded(key.p, key.n);
	size_t i;

	hash += hash == 0;
	for (i = hash & (capacity - 1); hashes[i]; i = (i + 1) & (capacity - 1)) {
		STEPS(1);
		if (hashes[i] == hash)
			return 1;
	}
	hashes[i] = hash;
	return 0;
}

static int key_set_grow(struct key_set *self)
{
	size_t capacity = self->capacity ? self->capacity * 2 : (size_t)4 * KEYS_FEW;
	uint64_t *hashes = calloc(capacity, sizeof(*hashes));

	if (!hashes)
		return -ENOMEM;
	STEPS(capacity);
	for (size_t i = 0; i < self->capacity; i++) {
		size_t k = self->hashes[i] & (capacity - 1);

		if (!self->hashes[i])
			continue;
		while (hashes[k])
			k = (k + 1) & (capacity - 1);
		hashes[k] = self->hashes[i];
	}
	for (size_t i = 0; !self->capacity && i < self->n; i++)
		(void)key_set_put_hash(hashes, capacity, self->few[i]);
	free(self->hashes);
	self->hashes = hashes;
	self->capacity = capacity;
	return 0;
}

/* The bytes of the key must stay where they are. @return 0; 1: the key exists already; -ENOMEM. */
static int key_set_put(struct key_set *self, struct str key)
{
	if (!self->capacity && self->n < KEYS_FEW) {
		for (size_t i = 0; i < self->n; i++)
			if (str_eq(self->few[i], key))
				return 1;
		self->few[self->n++] = key;
		return 0;
	}
	if ((!self->capacity || self->n * 2 >= self->capacity) && key_set_grow(self))
		return -ENOMEM;
	self->n++;
	return key_set_put_hash(self->hashes, self->capacity, key);
}

/* --- Texts --- */

/* An unescaped copy of a string's content. `*ret_n`: its length. */
static const char *copy_string(struct reader *self, const struct json_string *string, size_t *ret_n)
{
	char *text = doc_text(&self->builder, string->inside.n);

	if (!text)
		return NULL;
	*ret_n = string->inside.n;
	if (string->has_escape) {
		*ret_n = json_text_unescape(string->inside, text);
		text[*ret_n] = '\0';
	} else {
		STEPS_BULK(string->inside.n);
		memcpy(text, string->inside.p, string->inside.n);
	}
	return text;
}

static int read_string(struct reader *self, struct doc *ret)
{
	struct json_string string;
	int r = json_text_string(&self->in, &string);

	if (r)
		return r;
	if (string.has_nul)
		return json_text_bad(&self->in, string.from, "NUL in a string");
	ret->text = copy_string(self, &string, &ret->n_text);
	if (!ret->text)
		return out_of_memory(self);
	ret->type = DOC_STRING;
	return 0;
}

static int read_scalar(struct reader *self, struct doc *ret)
{
	size_t from = self->in.pos, n;
	int r = json_text_scalar(&self->in);
	const char *p = self->in.text + from;
	char *text;

	if (r)
		return r;
	if (*p == 't' || *p == 'f' || *p == 'n') {
		ret->type = *p == 't' ? DOC_TRUE : *p == 'f' ? DOC_FALSE : DOC_NULL;
		return 0;
	}
	n = self->in.pos - from;
	text = doc_text(&self->builder, n);
	if (!text)
		return out_of_memory(self);
	memcpy(text, p, n);
	ret->type = DOC_NUMBER;
	ret->text = text;
	ret->n_text = n;
	return 0;
}

/* --- The walk --- */

static int read_value(struct reader *self, const struct allow *allow, struct doc *ret, int depth);

static int read_array(struct reader *self, const struct allow *allow, struct doc *ret, int depth)
{
	struct doc **tail = &ret->first;
	int r = json_text_enter(&self->in, depth);

	ret->type = DOC_ARRAY;
	while (!r && (r = json_text_next(&self->in, ']')) > 0) {
		struct doc *item = doc_child(&self->builder, ret, &tail);

		r = item ? read_value(self, allow, item, depth + 1) : out_of_memory(self);
	}
	return r;
}

/* Skips a value that is not listed. One that is too large is refused at the end, when what follows it has been read. */
static int skip(struct reader *self, int depth)
{
	int r = json_text_skip(&self->in, depth);

	if (r != -E2BIG || self->in.pos == self->in.n)
		return r;
	self->skipped = r;
	return 0;
}

/* State while the members of one object are read. */
struct object_state {
	struct doc *object, **tail;
	uint64_t seen;	 /* fields of the list that were read, by index */
	bool is_dropped; /* an item whose name is not kept */
	struct key_set keys;
};

/* Only the length of a text is kept. */
static int drop_member(struct reader *self, struct doc *object, size_t n_key, int depth)
{
	struct json_string string;
	int r;

	object->n_text += n_key;
	if (json_text_peek(&self->in) != '"')
		return json_text_skip(&self->in, depth);
	r = json_text_string(&self->in, &string);
	if (!r)
		object->n_text += string.has_escape ? json_text_unescaped_length(string.inside) : string.inside.n;
	return r;
}

static int read_map_member(struct reader *self, const struct allow *allow, struct object_state *state,
			   const struct json_string *string, int depth)
{
	struct doc *item;
	const char *key;
	size_t n;
	int r;

	if (string->has_nul)
		return json_text_bad(&self->in, string->from, "NUL in a key");
	key = copy_string(self, string, &n);
	r = key ? key_set_put(&state->keys, (struct str){key, n}) : -ENOMEM;
	if (r)
		return r < 0 ? out_of_memory(self) : json_text_bad(&self->in, string->from, "duplicate key");
	if (allow->dropped_key && str_eq(str_c(allow->dropped_key), (struct str){key, n}))
		return drop_member(self, state->object, n, depth);
	item = doc_child(&self->builder, state->object, &state->tail);
	if (!item)
		return out_of_memory(self);
	item->key = key;
	item->n_key = n;
	return read_value(self, allow->any, item, depth);
}

/* Finds the rule of a key; an escaped key is unescaped first. */
static int find_field(struct reader *self, const struct allow *allow, const struct json_string *string,
		      const struct allow_field **ret)
{
	struct str key = string->inside;

	if (string->has_escape) {
		key.p = copy_string(self, string, &key.n);
		if (!key.p)
			return out_of_memory(self);
	}
	*ret = allow_field_of(allow, key);
	return 0;
}

/* Clears both values of a duplicate key: the answer to a rejected review must not contain either of them. */
static void forget(struct doc *object, const struct allow_field *field)
{
	for (struct doc *item = object->first; item; item = item->next)
		if (item->key == field->key)
			*item = (struct doc){
				.type = DOC_NULL, .key = item->key, .n_key = item->n_key, .next = item->next};
}

static int read_field(struct reader *self, const struct allow *allow, struct object_state *state,
		      const struct json_string *string, int depth)
{
	const struct allow_field *field = NULL;
	struct doc **place = state->tail;
	struct doc *item;
	uint64_t bit;
	int r = find_field(self, allow, string, &field);

	if (r)
		return r;
	if (!field || state->is_dropped)
		return skip(self, depth);
	bit = UINT64_C(1) << (field - allow->fields);
	if (state->seen & bit) {
		forget(state->object, field);
		return json_text_bad(&self->in, string->from, "duplicate key");
	}
	state->seen |= bit;
	item = doc_child(&self->builder, state->object, &state->tail);
	if (!item)
		return out_of_memory(self);
	item->key = field->key;
	item->n_key = field->n;
	r = read_value(self, field->allow, item, depth);
	if (!r && allow->item_names && field == allow->fields && item->type == DOC_STRING)
		state->is_dropped = !allow_has_item(allow, item->text);
	if (!r && item->type == DOC_NULL) { /* a null member counts as absent */
		*place = NULL;
		state->tail = place;
		state->object->n_items--;
	}
	return r;
}

static int read_object(struct reader *self, const struct allow *allow, struct doc *ret, int depth)
{
	struct object_state state;
	struct json_string key;
	int r = json_text_enter(&self->in, depth);

	ret->type = DOC_OBJECT;
	/* Initialised member by member, as the few keys of the set need no zeros. */
	state.object = ret;
	state.tail = &ret->first;
	state.seen = 0;
	state.is_dropped = false;
	state.keys.n = state.keys.capacity = 0;
	state.keys.hashes = NULL;
	while (!r && (r = json_text_member(&self->in, &key)) > 0)
		r = allow->any ? read_map_member(self, allow, &state, &key, depth + 1)
			       : read_field(self, allow, &state, &key, depth + 1);
	free(state.keys.hashes);
	if (!r && state.is_dropped) {
		ret->type = DOC_NULL;
		ret->first = NULL;
		ret->n_items = 0;
	}
	return r;
}

static int read_container(struct reader *self, const struct allow *allow, struct doc *ret, int depth)
{
	if (self->in.text[self->in.pos] == '[')
		return read_array(self, allow, ret, depth);
	if (allow->n_fields || allow->any)
		return read_object(self, allow, ret, depth);
	ret->type = DOC_OBJECT;
	return json_text_skip_container(&self->in, depth);
}

static int read_value(struct reader *self, const struct allow *allow, struct doc *ret, int depth)
{
	size_t from;
	int r;

	if (self->builder.n_made > LIMIT_PROJECTED_TOKENS)
		return err_set(self->in.err, -E2BIG, "more than %d values", LIMIT_PROJECTED_TOKENS);
	switch (json_text_peek(&self->in)) {
	case '"':
		return read_string(self, ret);
	case '[':
	case '{':
		from = self->in.pos;
		r = read_container(self, allow, ret, depth);
		if (allow->keeps_source) {
			ret->text = self->in.text + from;
			ret->n_text = self->in.pos - from;
		}
		return r;
	default:
		return read_scalar(self, ret);
	}
}

int doc_read(const char *text, size_t n, const struct allow *allow, struct arena *arena, struct doc *ret,
	     struct err *err)
{
	struct reader self = {
		.in = {.text = text, .n = n, .err = err},
		.builder = {.arena = arena},
	};
	int r;

	*ret = (struct doc){.type = DOC_NULL};
	r = read_value(&self, allow, ret, 0);
	if (!r && (json_text_peek(&self.in) != '\0' || self.in.pos < n))
		r = json_text_bad(&self.in, self.in.pos, "text behind the JSON value");
	return r ? r : self.skipped;
}
