/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/outside.h"

#include "base/timefmt.h"
#include "triage/clock.h"

/* Clocks of machines differ a little, and an error is found a little after the end that it caused. */
#define SLACK_MS (10 * TIME_MINUTE_MS)

/* ---- of other pods ---- */

/* Limits of cgroups that no pod is in. */
static bool is_beside_pods(const struct reading *reading)
{
	return reading->scope == SCOPE_CGROUP && reading->words[0] == '/' && !strstr(reading->words, "kubepods");
}

static bool is_kernel(const struct fact *fact)
{
	return fact->signal >= SIGNAL_KERNEL_INVOKED && fact->signal <= SIGNAL_KERNEL_KILL;
}

/* Whether a container of the pods was OOM-killed, as its status says. */
static bool is_any_killed(const struct facts *facts)
{
	for (size_t i = 0; i < facts->items.n; i++)
		if (facts->items.items[i].signal == SIGNAL_OOM_KILLED &&
		    facts->sources.items[facts->items.items[i].source].input == INPUT_STATUS)
			return true;
	return false;
}

/* The kernel of a node without memory may kill tasks of several pods, of which the log may have lost some. */
static bool may_be_ours(const struct facts *facts, const struct reading *reading)
{
	return reading->scope > SCOPE_CGROUP && is_any_killed(facts);
}

static bool is_of_others(const struct facts *facts, const struct fact *fact)
{
	if (!facts->lives.n)
		return false;
	if (!fact->reading.uid[0])
		return is_kernel(fact) && is_beside_pods(&fact->reading);
	return !facts_find_life(facts, fact->reading.uid) && !may_be_ours(facts, &fact->reading);
}

/* ---- of another time ---- */

/* The time of the run: of a pod from its creation to its end; of logs only their end is known. */
struct span {
	bool is_known, has_zone;
	int64_t start_ms, end_ms;
};

static void extend(struct span *self, int64_t start_ms, int64_t end_ms)
{
	self->start_ms = self->is_known ? MIN(self->start_ms, start_ms) : start_ms;
	self->end_ms = self->is_known ? MAX(self->end_ms, end_ms) : end_ms;
	self->is_known = true;
}

static struct span span_of_logs(const struct facts *facts)
{
	struct span span = {.has_zone = true};

	for (size_t i = 0; i < facts->sources.n; i++) {
		const struct source *source = &facts->sources.items[i];

		if (source->input != INPUT_LOG || source->clock.kind == CLOCK_NONE)
			continue;
		span.has_zone = span.has_zone && source->clock.kind == CLOCK_ZONED;
		extend(&span, source->clock.ms, source->clock.ms);
	}
	/* A day: an error of a GPU may stop the run a while later. */
	span.start_ms = span.end_ms - TIME_DAY_MS;
	return span;
}

static struct span span_of_run(const struct facts *facts)
{
	struct span span = {.has_zone = true};

	for (size_t i = 0; i < facts->lives.n; i++)
		extend(&span, facts->lives.items[i].start_ms, facts->lives.items[i].end_ms);
	return span.is_known ? span : span_of_logs(facts);
}

static bool is_of_another_time(const struct facts *facts, const struct fact *fact, const struct span *span)
{
	if (!span->is_known || facts->sources.items[fact->source].input != INPUT_DMESG || fact->signal > SIGNAL_TALOS ||
	    facts_find_life(facts, fact->reading.uid))
		return false;
	return clock_is_outside(clock_read(fact->text), span->start_ms, span->end_ms, span->has_zone, SLACK_MS);
}

/* ---- all of them ---- */

/* The kernel's line that it looks for a task, where no kill is left of its file. */
static void drop_beginnings(struct facts *facts)
{
	size_t n = 0;

	for (size_t i = 0; i < facts->items.n; i++) {
		bool is_kept = facts->items.items[i].signal != SIGNAL_KERNEL_INVOKED;

		for (size_t k = 0; k < facts->items.n && !is_kept; k++)
			is_kept = facts->items.items[k].source == facts->items.items[i].source &&
				  facts->items.items[k].signal > SIGNAL_KERNEL_INVOKED &&
				  facts->items.items[k].signal <= SIGNAL_KERNEL_KILL;
		if (is_kept)
			facts->items.items[n++] = facts->items.items[i];
	}
	facts->items.n = n;
}

void outside_leave_out(struct facts *facts, struct outside *ret)
{
	struct span span = span_of_run(facts);
	size_t n = 0;

	*ret = (struct outside){.n_foreign = 0};
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (is_of_others(facts, fact)) {
			ret->n_foreign++;
			ret->foreign = *fact;
		} else if (is_of_another_time(facts, fact, &span)) {
			ret->n_old++;
			ret->old = *fact;
		} else {
			facts->items.items[n++] = *fact;
		}
	}
	facts->items.n = n;
	if (ret->n_foreign || ret->n_old)
		drop_beginnings(facts);
}
