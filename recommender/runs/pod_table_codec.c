/* SPDX-License-Identifier: Apache-2.0 */
/* pod_table_codec: the table as bytes: numbers of eight bytes as they are in memory, and texts with their NUL. The
 * store compresses the bytes, so that most of a pod that is like the pods before it takes no room. Every function works
 * in both directions, so the fields are listed once. A change of the fields needs a new POD_TABLE_FORMAT. */
#include "runs/pod_table.h"

#include <errno.h>
#include <string.h>

enum {
	NUMBER_BYTES = sizeof(int64_t),
	LABEL_BYTES = 2, /* the fewest bytes of an item: its texts are empty */
	CONTAINER_BYTES = POD_CONTAINER_NUMBERS * NUMBER_BYTES,
	POD_BYTES = POD_NUMBERS * NUMBER_BYTES,
};

struct codec {
	struct strbuf *out;   /* NULL: reads */
	const char *at, *end; /* when reading: bytes in the table's arena, which texts point to */
	struct pod_table *table;
	int status; /* sticky; after a failure nothing more is read: numbers keep their values, texts are "" */
};

static void fail(struct codec *self, int status)
{
	self->status = self->status ? self->status : status;
	self->at = self->end;
}

static void code_number(struct codec *self, int64_t *value)
{
	if (self->out) {
		strbuf_add(self->out, (const char *)value, NUMBER_BYTES);
	} else if (self->end - self->at < NUMBER_BYTES) {
		fail(self, -EINVAL);
	} else {
		memcpy(value, self->at, NUMBER_BYTES);
		self->at += NUMBER_BYTES;
	}
}

/* A field of any other type of integer. */
#define CODE(codec, field)                                                                                             \
	do {                                                                                                           \
		int64_t value_ = (int64_t)(field);                                                                     \
		code_number((codec), &value_);                                                                         \
		(field) = (typeof(field))value_;                                                                       \
		if ((int64_t)(field) != value_)                                                                        \
			fail((codec), -EINVAL);                                                                        \
	} while (0)

/* @return `text` itself when writing, else a text in the arena. */
static const char *code_text(struct codec *self, const char *text)
{
	const char *end;

	if (self->out) {
		text = text ? text : "";
		strbuf_add(self->out, text, strlen(text) + 1);
		return text;
	}
	end = memchr(self->at, '\0', (size_t)(self->end - self->at));
	if (!end) {
		fail(self, -EINVAL);
		return "";
	}
	text = self->at;
	self->at = end + 1;
	return text;
}

static void code_sketch(struct codec *self, struct sketch *sketch)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	int r = self->out && sketch->total_weight ? sketch_encode(sketch, &text) : 0;
	const char *coded = code_text(self, strbuf_text(&text));

	if (!self->out && *coded)
		r = sketch_decode(coded, sketch);
	if (r)
		fail(self, r);
}

static void code_container(struct codec *self, struct pod_container *it)
{
	it->name = code_text(self, it->name);
	it->image = code_text(self, it->image);
	for (size_t i = 0; i < POD_CONTAINER_NUMBERS; i++)
		code_number(self, pod_number_of(it, &pod_container_numbers[i]));
	for (size_t i = 0; i < RUN_KILLED_LIMITS; i++)
		code_number(self, &it->killed_limits[i]);
	CODE(self, it->n_killed_limits);
	if (it->n_killed_limits < 0 || it->n_killed_limits > RUN_KILLED_LIMITS)
		fail(self, -EINVAL);
	CODE(self, it->ends);
	CODE(self, it->restarts);
	CODE(self, it->n_parts);
	CODE(self, it->is_first_coarse);
	CODE(self, it->is_last_coarse);
	CODE(self, it->is_doubtful);
	code_sketch(self, &it->sketch);
}

/* Codes the number of items of a vector, each of which takes at least `item_bytes`. When reading, the vector gets as
 * many empty ones. */
#define CODE_VEC(codec, vec, item_bytes)                                                                               \
	do {                                                                                                           \
		size_t n_ = (vec)->n;                                                                                  \
		CODE((codec), n_);                                                                                     \
		if ((codec)->out || (codec)->status || !n_)                                                            \
			break;                                                                                         \
		if (n_ > (size_t)((codec)->end - (codec)->at) / (item_bytes)) {                                        \
			fail((codec), -EINVAL);                                                                        \
		} else if (vec_reserve((vec), n_)) {                                                                   \
			fail((codec), -ENOMEM);                                                                        \
		} else {                                                                                               \
			memset((vec)->items, 0, n_ * sizeof(*(vec)->items));                                           \
			(vec)->n = n_;                                                                                 \
		}                                                                                                      \
	} while (0)

static void code_pod(struct codec *self, struct pod *pod)
{
	for (size_t i = 0; i < POD_TEXTS; i++)
		*pod_text_of(pod, i) = code_text(self, *pod_text_of(pod, i));
	for (size_t i = 0; i < POD_NUMBERS; i++)
		code_number(self, pod_number_of(pod, &pod_numbers[i]));
	CODE(self, pod->ends);
	CODE(self, pod->is_partial);
	CODE(self, pod->is_watched);
	CODE_VEC(self, &pod->labels, LABEL_BYTES);
	for (size_t i = 0; i < pod->labels.n; i++) {
		pod->labels.items[i].key = code_text(self, pod->labels.items[i].key);
		pod->labels.items[i].value = code_text(self, pod->labels.items[i].value);
	}
	CODE_VEC(self, &pod->containers, CONTAINER_BYTES);
	for (size_t i = 0; i < pod->containers.n; i++)
		code_container(self, &pod->containers.items[i]);
}

static void code_table(struct codec *self)
{
	struct pod_set *pods = &self->table->pods;

	code_number(self, &self->table->step_ms);
	CODE_VEC(self, pods, POD_BYTES);
	for (size_t i = 0; i < pods->n && !self->status; i++) {
		if (!pods->items[i])
			pods->items[i] = arena_alloc(&pods->arena, sizeof(**pods->items));
		if (!pods->items[i])
			fail(self, -ENOMEM);
		else
			code_pod(self, pods->items[i]);
		if (!self->out && !self->status && pod_set_index(pods, pods->items[i]))
			fail(self, -ENOMEM);
	}
}

int pod_table_encode(const struct pod_table *self, struct strbuf *buf)
{
	struct pod_table table = *self; /* writing does not change it */
	struct codec codec = {.out = buf, .table = &table};

	code_table(&codec);
	return codec.status ? codec.status : buf->status;
}

int pod_table_decode(const char *bytes, size_t n, struct pod_table *ret)
{
	struct pod_table table = POD_TABLE_INIT;
	char *copy = arena_alloc(&table.pods.arena, n + 1);
	struct codec codec = {.at = copy, .end = copy ? copy + n : NULL, .table = &table};

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, n);
	code_table(&codec);
	if (codec.at != codec.end)
		fail(&codec, -EINVAL);
	if (codec.status) {
		pod_table_release(&table);
		return codec.status;
	}
	table.is_step_fixed = ret->is_step_fixed;
	*ret = table;
	return 0;
}
