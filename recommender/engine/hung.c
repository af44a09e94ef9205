/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/hung.h"

#include "base/json_write.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TEXT(key, member)                                                                                              \
	{                                                                                                              \
		key, offsetof(struct hung_gang, member), sizeof(((struct hung_gang *)NULL)->member)                    \
	}
static const struct {
	const char *key;
	size_t offset, size;
} texts[] = {TEXT("namespace", namespace_name), TEXT("owner", owner), TEXT("pod", pod), TEXT("command", command),
	     TEXT("kind", kind)};

#define NUMBER(key, member)                                                                                            \
	{                                                                                                              \
		key, offsetof(struct hung_gang, member)                                                                \
	}
static const struct {
	const char *key;
	size_t offset;
} numbers[] = {NUMBER("deadRanks", n_dead), NUMBER("runningPods", n_pods),
	       NUMBER("acceleratorsMilli", accelerators_milli)};

const char *hung_count(int64_t accelerators_milli, char buf[HUNG_COUNT_BYTES])
{
	snprintf(buf, HUNG_COUNT_BYTES, "%.6g accelerator%s", (double)accelerators_milli / 1000.0,
		 accelerators_milli == 1000 ? "" : "s");
	return buf;
}

const char *hung_death(const struct hung_gang *gang, char buf[HUNG_DEATH_BYTES])
{
	if (!*gang->kind)
		snprintf(buf, HUNG_DEATH_BYTES, "was OOM-killed");
	else if (streq(gang->kind, HUNG_EVICTED_MEMORY))
		snprintf(buf, HUNG_DEATH_BYTES, "was evicted for memory");
	else if (streq(gang->kind, HUNG_EVICTED_STORAGE))
		snprintf(buf, HUNG_DEATH_BYTES, "was evicted for its use of the disk");
	else
		snprintf(buf, HUNG_DEATH_BYTES, "ran out of memory (%s)", gang->kind);
	return buf;
}

static void encode_gang(const struct hung_gang *self, struct strbuf *buf)
{
	json_write_open(buf, NULL, '{');
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		json_write_text(buf, texts[i].key, (const char *)self + texts[i].offset);
	json_write_time(buf, "killed", self->died_ms);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		json_write_int(buf, numbers[i].key,
			       *(const int64_t *)(const void *)((const char *)self + numbers[i].offset));
	strbuf_addc(buf, '}');
}

int hung_encode(const struct hung_list *self, struct strbuf *buf)
{
	json_write_open(buf, "hungGangs", '{');
	json_write_int(buf, "count", self->n);
	json_write_int(buf, "acceleratorsMilli", self->accelerators_milli);
	json_write_open(buf, "items", '[');
	for (size_t i = 0; i < self->n_items; i++)
		encode_gang(&self->items[i], buf);
	return strbuf_adds(buf, "]}");
}

static int decode_gang(struct json_object *item, struct hung_gang *ret, struct err *err)
{
	const char *text = "";
	int r = json_get_string(item, "hungGangs", "killed", &text, err);

	if (r >= 0 && (r || time_parse(text, strlen(text), &ret->died_ms)))
		r = err_set(err, -EINVAL, "hungGangs.killed: no time");
	for (size_t i = 0; i < ARRAY_LEN(texts) && r >= 0; i++) {
		text = "";
		r = json_get_string(item, "hungGangs", texts[i].key, &text, err);
		/* A command that is cut would do something else. */
		if (r >= 0 && strlen(text) >= texts[i].size)
			r = err_set(err, -EINVAL, "hungGangs.%s: too long", texts[i].key);
		if (r >= 0)
			memcpy((char *)ret + texts[i].offset, text, strlen(text) + 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers) && r >= 0; i++)
		r = json_get_int64(item, "hungGangs", numbers[i].key,
				   (int64_t *)(void *)((char *)ret + numbers[i].offset), err);
	return MIN(r, 0);
}

int hung_decode(struct json_object *object, struct hung_list *ret, struct err *err)
{
	struct json_object *member = json_member(object, "hungGangs"), *array = NULL;
	int r;

	*ret = (struct hung_list){.n = 0};
	if (!member)
		return 0;
	r = json_get_array(member, "hungGangs", "items", &array, err);
	for (size_t i = 0; !r && i < json_object_array_length(array) && i < HUNG_LISTED; i++) {
		r = decode_gang(json_object_array_get_idx(array, i), &ret->items[i], err);
		ret->n_items += r == 0;
	}
	r = r < 0 ? r : json_get_int64(member, "hungGangs", "count", &ret->n, err);
	r = r < 0 ? r : json_get_int64(member, "hungGangs", "acceleratorsMilli", &ret->accelerators_milli, err);
	return MIN(r, 0);
}
