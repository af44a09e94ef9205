/* SPDX-License-Identifier: Apache-2.0 */
/* Files of several ranks are read one after the other: where their lines have the time, it says which rank died first.
 */
#include "triage/facts_internal.h"

#include <stdint.h>
#include <stdlib.h>

/* A fact on the way to its place in time. */
struct timed {
	int64_t time_ms;
	uint64_t order;
	size_t index;
};

static int compare_times(const void *a, const void *b)
{
	const struct timed *one = a, *other = b;

	if (one->time_ms != other->time_ms)
		return (one->time_ms > other->time_ms) - (one->time_ms < other->time_ms);
	return facts_compare_orders(&one->order, &other->order);
}

static int compare_facts(const void *a, const void *b)
{
	const struct fact *one = a, *other = b;

	return facts_compare_orders(&one->order, &other->order);
}

static int compare_sources(const void *a, const void *b)
{
	const struct fact *const *one = a, *const *other = b;

	if ((*one)->source != (*other)->source)
		return ((*one)->source > (*other)->source) - ((*one)->source < (*other)->source);
	return facts_compare_orders(&(*one)->order, &(*other)->order);
}

/* Whether the ends of a file's facts all have a time of this kind. */
static bool is_timed(const struct fact *const *facts, size_t n, enum stamp stamp)
{
	bool is_any = false;

	for (size_t i = 0; i < n; i++) {
		is_any = is_any || facts[i]->stamp == stamp;
		if (facts[i]->stamp != stamp && (facts[i]->stamp != STAMP_NONE || facts_is_end(facts[i]->signal)))
			return false;
	}
	return is_any;
}

/* Lines without a time have that of the line before; times that go back do not change the order of a file. */
static void time_file(const struct facts *self, const struct fact *const *facts, size_t n, struct timed *timed)
{
	int64_t now_ms = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		if (facts[i]->stamp != STAMP_NONE)
			now_ms = MAX(now_ms, facts[i]->time_ms);
		timed[i] = (struct timed){now_ms, facts[i]->order, (size_t)(facts[i] - self->items.items)};
	}
}

/* Facts of files with times of this kind, file by file in `facts`. @return how many there are. */
static size_t collect(const struct facts *self, const struct fact *const *facts, size_t n, enum stamp stamp,
		      struct timed *timed)
{
	size_t n_timed = 0, n_file;

	for (size_t i = 0; i < n; i += n_file) {
		for (n_file = 1; i + n_file < n && facts[i + n_file]->source == facts[i]->source;)
			n_file++;
		if (!is_timed(facts + i, n_file, stamp))
			continue;
		time_file(self, facts + i, n_file, timed + n_timed);
		n_timed += n_file;
	}
	return n_timed;
}

/* The facts share out the orders that they have. @return whether one has changed. */
static bool reorder(struct facts *self, struct timed *timed, size_t n, uint64_t *orders)
{
	bool is_changed = false;

	for (size_t i = 0; i < n; i++)
		orders[i] = timed[i].order;
	qsort(orders, n, sizeof(*orders), facts_compare_orders);
	qsort(timed, n, sizeof(*timed), compare_times);
	for (size_t i = 0; i < n; i++) {
		struct fact *fact = &self->items.items[timed[i].index];

		is_changed = is_changed || fact->order != orders[i];
		fact->order = orders[i];
	}
	return is_changed;
}

/* Facts of the logs of the command line, file by file. Pods come in the order of their ends. */
static size_t list_facts(const struct facts *self, const struct fact **facts)
{
	size_t n = 0;

	for (size_t i = 0; i < self->items.n; i++) {
		const struct source *source = &self->sources.items[self->items.items[i].source];

		if (source->input == INPUT_LOG && !source->origin.group)
			facts[n++] = &self->items.items[i];
	}
	qsort(facts, n, sizeof(*facts), compare_sources);
	return n;
}

void facts_order_by_time(struct facts *self)
{
	static const enum stamp stamps[] = {STAMP_LOCAL, STAMP_ZONED};
	const struct fact **facts = calloc(self->items.n + 1, sizeof(struct fact *));
	struct timed *timed = calloc(self->items.n + 1, sizeof(*timed));
	uint64_t *orders = calloc(self->items.n + 1, sizeof(*orders));
	bool is_changed = false;
	size_t n = 0;

	if (facts && timed && orders)
		n = list_facts(self, facts);
	for (size_t i = 0; n && i < ARRAY_LEN(stamps); i++) {
		size_t n_timed = collect(self, facts, n, stamps[i], timed);

		if (n_timed)
			is_changed = reorder(self, timed, n_timed, orders) || is_changed;
	}
	if (is_changed) {
		qsort(self->items.items, self->items.n, sizeof(self->items.items[0]), compare_facts);
		facts_keep_again(self);
	}
	free(facts);
	free(timed);
	free(orders);
}
