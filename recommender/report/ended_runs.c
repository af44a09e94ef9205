/* SPDX-License-Identifier: Apache-2.0 */
#include "report/ended_runs.h"
#include "report/figures.h"

#include "base/json_write.h"
#include "base/timefmt.h"
#include "k8s/quantity.h"
#include "policy/size.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t end_of(const struct run *run)
{
	return run->start_ms + run->duration_ms;
}

static int compare(const void *a, const void *b)
{
	const struct ended_run *x = a, *y = b;
	int64_t left = end_of(x->run), right = end_of(y->run);

	return (left > right) - (left < right);
}

/* The limit to ask for after this run. 0: not known. */
static int64_t next_limit(const struct knowledge *knowledge, const struct known *known, const struct run *run)
{
	struct recommendation rec;
	enum size_by by[2];

	if (!known->profile)
		return 0;
	rec = known_sizes(knowledge, known, &known->profile->parent, by);
	return size_advised_limit(&rec, by, run->limit_bytes);
}

static int find_of(const struct knowledge *knowledge, const struct known *known, struct ended_runs *ret)
{
	size_t last = ret->items.n;

	for (size_t i = 0; known->history && i < known->history->runs.n; i++) {
		const struct run *run = &known->history->runs.items[i];

		if (run->outcome == OUTCOME_RUNNING)
			continue;
		if (vec_push(&ret->items, ((struct ended_run){known, run, 0})))
			return -ENOMEM;
		if (end_of(run) >= end_of(ret->items.items[last].run))
			last = ret->items.n - 1;
	}
	if (last < ret->items.n)
		ret->items.items[last].next_bytes = next_limit(knowledge, known, ret->items.items[last].run);
	return 0;
}

int ended_runs_find(const struct knowledge *knowledge, struct ended_runs *ret)
{
	int r = 0;

	for (size_t i = 0; i < knowledge->items.n && !r; i++)
		r = find_of(knowledge, &knowledge->items.items[i], ret);
	if (!r && ret->items.n)
		qsort(ret->items.items, ret->items.n, sizeof(*ret->items.items), compare);
	return r;
}

/* What triage found about it. NULL: nothing, or it did not fail. */
static const char *kind_of(const struct ended_run *one)
{
	const struct profile *profile = one->known->profile;

	return profile && one->run->outcome != OUTCOME_COMPLETED ? diagnosis_kind_of(profile->diagnosis, one->run)
								 : NULL;
}

/* What later runs say about it, if it has a kind. */
static enum diagnosis_since since_of(const struct ended_run *one)
{
	const struct run *later;

	return kind_of(one) ? known_since(one->known, &later) : SINCE_NOTHING;
}

static void add_row(struct table *table, const struct ended_run *one)
{
	char when[TIME_TEXT_BYTES], duration[TIME_TEXT_BYTES];
	const struct run *run = one->run;
	int64_t end_ms = end_of(run);
	double unused = run_unused_gib_hours(run);
	const char *kind = kind_of(one);

	table_add(table, time_render(end_ms - end_ms % TIME_SECOND_MS, when));
	table_add(table, run->name);
	known_add_names(one->known, table);
	table_add(table, duration_render(run->duration_ms - run->duration_ms % TIME_SECOND_MS, duration));
	table_add_bytes(table, run->limit_bytes);
	table_add_bytes(table, run->peak_bytes ? run_need_bytes(run) : 0);
	if (unused >= 0.05)
		table_addf(table, "%.1f", unused);
	else
		table_add(table, "");
	table_add(table, gpu_memory_permille(&run->gpu) ? PERCENT(gpu_memory_permille(&run->gpu)) : "");
	if (kind)
		table_addf(table, "%s (%s%s)", outcome_names[run->outcome], kind,
			   since_of(one) == SINCE_HELD ? ", held" : "");
	else
		table_add(table, outcome_names[run->outcome]);
	table_add_bytes(table, one->next_bytes);
}

#define HEADS(container)                                                                                               \
	"ENDED,RUN,NAMESPACE,+WORKLOAD,ROLE," container                                                                \
	",+>DURATION,>ASKED,>USED,+>UNUSED GIB-HOURS,+>GPU MEMORY,OUTCOME,>NEXT TIME"

int ended_runs_print(const struct ended_runs *self, const struct knowledge *knowledge, bool is_wide, FILE *out)
{
	struct table table;

	table_init(&table, knowledge_has_containers(knowledge) ? HEADS("CONTAINER") : HEADS("+CONTAINER"));
	table.is_wide = is_wide;
	for (size_t i = 0; i < self->items.n; i++)
		add_row(&table, &self->items.items[i]);
	return table_print(&table, out, 0);
}

static void write_check(struct strbuf *buf, const char *name, const char *answer, const char *figure)
{
	json_write_open(buf, NULL, '{');
	json_write_text(buf, "name", name);
	json_write_text(buf, "answer", answer);
	json_write_text(buf, "figure", figure);
	strbuf_addc(buf, '}');
}

/* The checks of `triage --verify` that runs in a history can answer, about the run that says what `since` says. */
static void write_checks(const struct ended_run *one, const struct run *later, struct strbuf *buf)
{
	int64_t limit = later->limit_bytes, need = later->peak_bytes ? run_need_bytes(later) : 0;
	char text[160];

	json_write_open(buf, "checks", '[');
	if (limit && one->run->limit_bytes) {
		snprintf(text, sizeof(text), "the memory limit is %s, before %s", HUMAN(limit),
			 HUMAN(one->run->limit_bytes));
		write_check(buf, "lever-present", limit > one->run->limit_bytes ? "yes" : "unknown", text);
	}
	snprintf(text, sizeof(text), "run %.100s completed", later->name);
	write_check(buf, "passed-step", "yes", text);
	if (limit && need) {
		snprintf(text, sizeof(text), "used at most %s of %s", HUMAN(need), HUMAN(limit));
		write_check(buf, "peak-below", need <= limit - limit / 10 ? "yes" : "no", text);
	}
	strbuf_addc(buf, ']');
}

static void write_since(const struct ended_run *one, struct strbuf *buf)
{
	const struct run *later = NULL;
	enum diagnosis_since since = kind_of(one) ? known_since(one->known, &later) : SINCE_NOTHING;

	json_write_text(buf, "since", since ? diagnosis_since_names[since] : NULL);
	json_write_text(buf, "sinceRun", since ? later->name : NULL);
	if (since)
		write_checks(one, later, buf);
}

int ended_runs_write_json(const struct ended_runs *self, struct strbuf *buf)
{
	json_write_open(buf, "runs", '[');
	for (size_t i = 0; i < self->items.n; i++) {
		const struct ended_run *one = &self->items.items[i];
		const struct run *run = one->run;

		json_write_line(buf, 4);
		json_write_open(buf, NULL, '{');
		json_write_time(buf, "ended", end_of(run));
		known_write_names(one->known, buf);
		json_write_text(buf, "run", run->name);
		json_write_int(buf, "durationSeconds", run->duration_ms / TIME_SECOND_MS);
		json_write_int(buf, "ranks", run->ranks);
		json_write_int_or_null(buf, "asked", run->limit_bytes);
		json_write_int_or_null(buf, "used", run->peak_bytes ? run_need_bytes(run) : 0);
		json_write_double(buf, "unusedGibHours", run_unused_gib_hours(run));
		json_write_int_or_null(buf, "gpuPeak", run->gpu.used_bytes);
		json_write_int_or_null(buf, "gpuCapacity", run->gpu.capacity_bytes);
		json_write_text(buf, "outcome", outcome_names[run->outcome]);
		json_write_text(buf, "diagnosis", kind_of(one));
		write_since(one, buf);
		json_write_int_or_null(buf, "next", one->next_bytes);
		strbuf_addc(buf, '}');
	}
	return strbuf_addc(buf, ']');
}
