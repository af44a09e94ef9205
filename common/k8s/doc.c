/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/doc.h"

#include "base/json.h"
#include "base/limits.h"

#include <ctype.h>
#include <errno.h>

#define CHUNK_NODES 64
#define CHUNK_TEXT  ((size_t)2048)

char *doc_text(struct doc_builder *builder, size_t n)
{
	char *text;

	if (builder->n_text <= n) {
		if (n >= CHUNK_TEXT / 4)
			return arena_alloc(builder->arena, n + 1);
		builder->text = arena_alloc(builder->arena, CHUNK_TEXT);
		builder->n_text = builder->text ? CHUNK_TEXT : 0;
		if (!builder->text)
			return NULL;
	}
	text = builder->text;
	text[n] = '\0';
	builder->text += n + 1;
	builder->n_text -= n + 1;
	return text;
}

struct doc *doc_child(struct doc_builder *builder, struct doc *parent, struct doc ***tail)
{
	struct doc *node;

	if (!builder->n_nodes) {
		builder->nodes = arena_array(builder->arena, CHUNK_NODES, sizeof(*builder->nodes));
		if (!builder->nodes)
			return NULL;
		builder->n_nodes = CHUNK_NODES;
	}
	STEPS(1);
	node = builder->nodes++;
	builder->n_nodes--;
	builder->n_made++;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): tail is never NULL */
	**tail = node;
	*tail = &node->next;
	parent->n_items++;
	return node;
}

const struct allow_field *allow_field_of(const struct allow *allow, struct str key)
{
	for (size_t i = 0; i < allow->n_fields; i++) {
		const struct allow_field *field = &allow->fields[i];

		STEPS(1);
		if (field->n == key.n && field->key[0] == key.p[0] && memcmp(field->key, key.p, key.n) == 0)
			return field;
	}
	return NULL;
}

const struct doc *doc_member(const struct doc *object, const char *key)
{
	size_t n = strlen(key);

	if (!object || object->type != DOC_OBJECT)
		return NULL;
	for (const struct doc *item = object->first; item; item = item->next) {
		STEPS(1);
		if (item->n_key == n && item->key[0] == key[0] && memcmp(item->key, key, n) == 0)
			return item;
	}
	return NULL;
}

const struct doc *doc_children(const struct doc *doc, enum doc_type type)
{
	return doc && doc->type == type ? doc->first : NULL;
}

const char *doc_member_text(const struct doc *object, const char *key)
{
	const struct doc *value = doc_member(object, key);

	return value && value->type == DOC_STRING ? value->text : "";
}

int64_t doc_count(const struct doc *value)
{
	int64_t count = 0;

	if (!value || value->type != DOC_NUMBER)
		return 1;
	for (size_t i = 0; i < value->n_text; i++) {
		if (!isdigit((unsigned char)value->text[i]))
			return 1;
		if (__builtin_mul_overflow(count, 10, &count) ||
		    __builtin_add_overflow(count, value->text[i] - '0', &count))
			return INT64_MAX;
	}
	return count;
}

struct doc *doc_new(struct arena *arena)
{
	struct doc *object = arena_alloc(arena, sizeof(*object));

	if (object)
		object->type = DOC_OBJECT;
	return object;
}

static struct doc **tail_of(struct doc *parent)
{
	struct doc **tail;

	for (tail = &parent->first; *tail; tail = &(*tail)->next)
		STEPS(1);
	return tail;
}

struct doc *doc_append(struct doc *parent, const char *key, const struct doc *node, struct arena *arena,
		       struct doc ***tail)
{
	struct doc *copy = arena_alloc(arena, sizeof(*copy));

	STEPS(1);
	if (!copy)
		return NULL;
	*copy = *node;
	copy->key = key;
	copy->n_key = key ? strlen(key) : 0;
	copy->next = NULL;
	**tail = copy;
	*tail = &copy->next;
	parent->n_items++;
	return copy;
}

struct doc *doc_add_as(struct doc *parent, const char *key, const struct doc *node, struct arena *arena)
{
	struct doc **tail = parent && node ? tail_of(parent) : NULL;

	return tail ? doc_append(parent, key, node, arena, &tail) : NULL;
}

struct doc *doc_add(struct doc *parent, const char *key, enum doc_type type, struct arena *arena)
{
	return doc_add_as(parent, key, &(struct doc){.type = type}, arena);
}

void doc_add_copy(struct doc *parent, const struct doc *node, struct arena *arena)
{
	(void)doc_add_as(parent, node ? node->key : NULL, node, arena);
}

void doc_add_children(struct doc *parent, const struct doc *from, const char *const *without, struct arena *arena)
{
	const struct doc *item = parent ? doc_children(from, parent->type) : NULL;
	struct doc **tail = item ? tail_of(parent) : NULL;

	for (; item; item = item->next) {
		const char *const *skipped = without;

		while (skipped && *skipped && !streq(*skipped, item->key))
			skipped++;
		if (!skipped || !*skipped)
			(void)doc_append(parent, item->key, item, arena, &tail);
	}
}

const char *doc_type_name(const struct doc *doc)
{
	static const char *const names[] = {"null", "boolean", "boolean", "number", "string", "array", "object"};

	return names[doc->type];
}

/* --- From json-c --- */

struct converter {
	struct doc_builder builder;
	struct err *err;
};

static int out_of_memory(struct converter *self)
{
	return err_set(self->err, -ENOMEM, "out of memory");
}

static int convert(struct converter *self, const struct allow *allow, struct json_object *value, struct doc *ret);

static int convert_text(struct converter *self, struct json_object *value, struct doc *ret)
{
	const char *text = json_object_get_string(value);
	char *copy;

	ret->type = json_object_is_type(value, json_type_string) ? DOC_STRING : DOC_NUMBER;
	ret->n_text = text ? strlen(text) : 0;
	if (ret->type == DOC_STRING && ret->n_text != (size_t)json_object_get_string_len(value))
		return err_set(self->err, -EINVAL, "NUL in a string");
	copy = text ? doc_text(&self->builder, ret->n_text) : NULL;
	if (!copy)
		return out_of_memory(self);
	memcpy(copy, text, ret->n_text);
	ret->text = copy;
	return 0;
}

static int convert_array(struct converter *self, const struct allow *allow, struct json_object *value, struct doc *ret)
{
	struct doc **tail = &ret->first;
	size_t n = json_object_array_length(value);
	int r = 0;

	ret->type = DOC_ARRAY;
	for (size_t i = 0; !r && i < n; i++) {
		struct doc *item = doc_child(&self->builder, ret, &tail);

		r = item ? convert(self, allow, json_object_array_get_idx(value, i), item) : out_of_memory(self);
	}
	return r;
}

/* Only the length of a text is kept. */
static void drop_member(struct str key, struct json_object *value, struct doc *object)
{
	object->n_text += key.n;
	if (json_object_is_type(value, json_type_string))
		object->n_text += (size_t)json_object_get_string_len(value);
}

static int convert_member(struct converter *self, const struct allow *allow, struct str key, struct json_object *value,
			  struct doc *ret, struct doc ***tail)
{
	const struct allow_field *field = allow->any ? NULL : allow_field_of(allow, key);
	struct doc *item;
	char *copy;

	if (allow->any && allow->dropped_key && str_eq(key, str_c(allow->dropped_key))) {
		drop_member(key, value, ret);
		return 0;
	}
	if (!allow->any && (!field || !value))
		return 0;
	item = doc_child(&self->builder, ret, tail);
	if (!item)
		return out_of_memory(self);
	item->n_key = key.n;
	if (field) {
		item->key = field->key;
		return convert(self, field->allow, value, item);
	}
	copy = doc_text(&self->builder, key.n);
	if (!copy)
		return out_of_memory(self);
	memcpy(copy, key.p, key.n);
	item->key = copy;
	return convert(self, allow->any, value, item);
}

static int convert_object(struct converter *self, const struct allow *allow, struct json_object *value, struct doc *ret)
{
	struct json_object *name = allow->item_names ? json_member(value, allow->fields[0].key) : NULL;
	struct doc **tail = &ret->first;
	int r = 0;

	if (json_object_is_type(name, json_type_string) && !allow_has_item(allow, json_object_get_string(name)))
		return 0;
	ret->type = DOC_OBJECT;
	if (!allow->any && !allow->n_fields)
		return 0;
	json_object_object_foreach(value, key, member)
	{
		r = convert_member(self, allow, str_c(key), member, ret, &tail);
		if (r)
			break;
	}
	return r;
}

static int convert(struct converter *self, const struct allow *allow, struct json_object *value, struct doc *ret)
{
	if (self->builder.n_made > LIMIT_PROJECTED_TOKENS)
		return err_set(self->err, -E2BIG, "more than %d values", LIMIT_PROJECTED_TOKENS);
	switch (json_object_get_type(value)) {
	case json_type_boolean:
		ret->type = json_object_get_boolean(value) ? DOC_TRUE : DOC_FALSE;
		return 0;
	case json_type_string:
	case json_type_int:
	case json_type_double:
		return convert_text(self, value, ret);
	case json_type_array:
		return convert_array(self, allow, value, ret);
	case json_type_object:
		return convert_object(self, allow, value, ret);
	default:
		return 0;
	}
}

int doc_of_json(struct json_object *object, const struct allow *allow, struct arena *arena, struct doc *ret,
		struct err *err)
{
	struct converter self = {.builder = {.arena = arena}, .err = err};

	*ret = (struct doc){.type = DOC_NULL};
	return convert(&self, allow, object, ret);
}

int doc_reading_ended(const struct arena *arena, int r, struct err *err)
{
	if (r == -ENOMEM && arena->is_full)
		r = err_set(err, -E2BIG, "the object takes more than %zu MiB of memory", arena->max_bytes / MIB);
	return r == -E2BIG ? -EINVAL : r;
}
