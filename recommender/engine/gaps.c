/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gaps.h"

#include "base/json_write.h"
#include "base/str.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* When this many namespaces fail at the same time, the gap is that of all namespaces. */
enum { GAP_NAMESPACES = 8 };

bool gap_is_passed(const struct gap *self)
{
	return self->failures >= GAP_FAILURES;
}

bool gap_has_namespace(const struct gap *self, const char *namespace_name)
{
	return !*self->namespace_name || streq(self->namespace_name, namespace_name);
}

size_t gaps_passed(const struct gaps *self)
{
	size_t n = 0;

	for (size_t i = 0; i < self->n; i++)
		n += gap_is_passed(&self->items[i]);
	return n;
}

struct gaps gaps_only_passed(const struct gaps *self)
{
	struct gaps ret = {.n = 0};

	for (size_t i = 0; i < self->n; i++)
		if (gap_is_passed(&self->items[i]))
			ret.items[ret.n++] = self->items[i];
	return ret;
}

void gaps_remove(struct gaps *self, size_t index)
{
	self->n--;
	memmove(&self->items[index], &self->items[index + 1], (self->n - index) * sizeof(self->items[0]));
}

/* The time between two gaps; 0: they touch or overlap. */
static int64_t distance_ms(const struct gap *a, const struct gap *b)
{
	return MAX(MAX(a->start_ms - b->end_ms, b->start_ms - a->end_ms), 0);
}

/* Joins an entry with a gap that failed in this cycle or with another entry. */
static void join(struct gap *to, const struct gap *from)
{
	if (!streq(to->namespace_name, from->namespace_name))
		memset(to->namespace_name, 0, sizeof(to->namespace_name));
	to->start_ms = MIN(to->start_ms, from->start_ms);
	to->end_ms = MAX(to->end_ms, from->end_ms);
	to->open_from_ms = MIN(to->open_from_ms, from->open_from_ms);
	to->failures = MAX(to->failures, from->failures);
	to->tried_ms = MAX(to->tried_ms, from->tried_ms);
}

/* How long both are together, with the time between them. */
static int64_t span_ms(const struct gap *a, const struct gap *b)
{
	return MAX(a->end_ms, b->end_ms) - MIN(a->start_ms, b->start_ms);
}

/* Whether both are about the same time: what they share is at least half of their span. */
static bool is_alike(const struct gap *a, const struct gap *b)
{
	return 2 * (MIN(a->end_ms, b->end_ms) - MAX(a->start_ms, b->start_ms)) >= span_ms(a, b);
}

/* Whether a gap is a part of an entry or continues it. One namespace does not enlarge the gap of all. */
static bool belongs(const struct gap *entry, const struct gap *gap)
{
	if (streq(entry->namespace_name, gap->namespace_name))
		return distance_ms(entry, gap) == 0;
	return !*entry->namespace_name && entry->start_ms <= gap->start_ms && entry->end_ms >= gap->end_ms;
}

/* The entry to which a failed window belongs. NULL: none. */
static struct gap *find(struct gaps *self, const struct gap *failed)
{
	for (size_t i = 0; i < self->n; i++)
		if (belongs(&self->items[i], failed))
			return &self->items[i];
	return NULL;
}

/* The list is full: the entry that grows to the shortest one. */
static struct gap *nearest(struct gaps *self, const struct gap *failed)
{
	struct gap *ret = &self->items[0];

	for (size_t i = 1; i < self->n; i++)
		if (span_ms(&self->items[i], failed) < span_ms(ret, failed))
			ret = &self->items[i];
	return ret;
}

/* Joins the entries that belong to items[index], or those of all namespaces if many failed at much the same time.
 * @return where the entry is now. */
static size_t join_neighbours(struct gaps *self, size_t index)
{
	size_t n = 0;

	for (size_t i = 0; i < self->n; i++)
		n += is_alike(&self->items[i], &self->items[index]);
	for (size_t i = 0; i < self->n;) {
		struct gap *to = &self->items[index], *other = &self->items[i];

		if (i == index ||
		    (!belongs(to, other) && !belongs(other, to) && !(n >= GAP_NAMESPACES && is_alike(to, other)))) {
			i++;
			continue;
		}
		join(to, other);
		gaps_remove(self, i);
		index -= i < index;
		i = 0; /* the entry has grown */
	}
	return index;
}

/* Whether less than a day before, the same could not be read either. */
static bool is_known(const struct gaps *self, const struct gap *failed)
{
	for (size_t i = 0; i < self->n; i++) {
		const struct gap *item = &self->items[i];

		if (gap_is_passed(item) && streq(item->namespace_name, failed->namespace_name) &&
		    item->end_ms <= failed->start_ms && failed->start_ms - item->end_ms < TIME_DAY_MS)
			return true;
	}
	return false;
}

const struct gap *gaps_note(struct gaps *self, const struct gap *failed)
{
	struct gap *item = find(self, failed);

	if (!item && self->n < ARRAY_LEN(self->items)) {
		int64_t failures = is_known(self, failed) ? GAP_FAILURES : 1;

		item = &self->items[self->n++];
		*item = *failed;
		item->failures = failures;
		return &self->items[join_neighbours(self, self->n - 1)];
	}
	if (!item)
		item = nearest(self, failed);
	item->failures = MIN(item->failures + (item->tried_ms != failed->tried_ms), GAP_FAILURES);
	memcpy(item->why, failed->why, sizeof(item->why));
	join(item, failed);
	return &self->items[join_neighbours(self, (size_t)(item - self->items))];
}

bool gaps_settle(struct gaps *self, int64_t start_ms, int64_t end_ms, int64_t now_ms)
{
	size_t before = self->n;

	for (size_t i = self->n; i > 0; i--) {
		const struct gap *item = &self->items[i - 1];

		if (!gap_is_passed(item) && item->tried_ms != now_ms && item->start_ms >= start_ms &&
		    item->start_ms < end_ms)
			gaps_remove(self, i - 1);
	}
	return self->n != before;
}

int gaps_encode(const struct gaps *self, struct strbuf *buf)
{
	json_write_open(buf, "gaps", '[');
	for (size_t i = 0; i < self->n; i++) {
		const struct gap *item = &self->items[i];

		json_write_open(buf, NULL, '{');
		json_write_time(buf, "start", item->start_ms);
		json_write_time(buf, "end", item->end_ms);
		json_write_text(buf, "namespace", item->namespace_name);
		json_write_time(buf, "openFrom", item->open_from_ms);
		json_write_time(buf, "tried", item->tried_ms);
		json_write_int(buf, "failures", item->failures);
		json_write_text(buf, "why", item->why);
		strbuf_addc(buf, '}');
	}
	return strbuf_addc(buf, ']');
}

static int get_time(struct json_object *item, const char *key, int64_t *ret, struct err *err)
{
	const char *text = "";
	int r = json_get_string(item, "gaps", key, &text, err);

	if (r < 0)
		return r;
	return r || time_parse(text, strlen(text), ret) ? err_set(err, -EINVAL, "gaps.%s: no time", key) : 0;
}

static int decode_gap(struct json_object *item, struct gap *ret, struct err *err)
{
	const char *name = "", *why = "";
	int r = get_time(item, "start", &ret->start_ms, err);

	r = r ? r : get_time(item, "end", &ret->end_ms, err);
	r = r ? r : get_time(item, "openFrom", &ret->open_from_ms, err);
	r = r ? r : get_time(item, "tried", &ret->tried_ms, err);
	r = r < 0 ? r : json_get_int64(item, "gaps", "failures", &ret->failures, err);
	r = r < 0 ? r : json_get_string(item, "gaps", "namespace", &name, err);
	r = r < 0 ? r : json_get_string(item, "gaps", "why", &why, err);
	if (r < 0)
		return r;
	if (ret->start_ms >= ret->end_ms || strlen(name) > LIMIT_NAMESPACE_BYTES)
		return err_set(err, -EINVAL, "gaps: no window, or no namespace");
	memcpy(ret->namespace_name, name, strlen(name) + 1);
	snprintf(ret->why, sizeof(ret->why), "%s", why);
	return 0;
}

int gaps_decode(struct json_object *object, struct gaps *ret, struct err *err)
{
	struct json_object *array;
	int r = json_get_array(object, "", "gaps", &array, err);

	ret->n = 0;
	for (size_t i = 0; !r && i < json_object_array_length(array) && i < ARRAY_LEN(ret->items); i++) {
		ret->items[i] = (struct gap){.failures = 0};
		r = decode_gap(json_object_array_get_idx(array, i), &ret->items[i], err);
		ret->n += r == 0;
	}
	return MIN(r, 0);
}
