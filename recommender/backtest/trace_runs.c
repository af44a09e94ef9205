/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/trace_internal.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>

enum { RUN, WORKLOAD, START, DURATION, LIMIT, OUTCOME, ROLE };

static const struct csv_column columns[] = {
	[RUN] = {"run", false},		 [WORKLOAD] = {"workload", false},
	[START] = {"start_unix", false}, [DURATION] = {"duration_s", false},
	[LIMIT] = {"limit_bytes", true}, [OUTCOME] = {"outcome", true},
	[ROLE] = {"role", true},
};

static bool is_printable(struct str text)
{
	const unsigned char *p = (const unsigned char *)text.p;
	uint32_t code;

	for (size_t i = 0, n; i < text.n; i += n) {
		n = utf8_decode(p + i, text.n - i, &code);
		if (!n || code < 0x20 || (code >= 0x7f && code < 0xa0))
			return false;
	}
	return true;
}

int trace_name(const struct csv *csv, size_t column, const char *what, char ret[TRACE_NAME_BYTES + 1], struct err *err)
{
	struct str text = csv_field(csv, column);

	if (!text.n)
		return csv_error(csv, err, "the name of the %s is empty", what);
	if (text.n > TRACE_NAME_BYTES)
		return csv_error(csv, err, "the name of the %s is longer than %d bytes", what, TRACE_NAME_BYTES);
	if (!is_printable(text))
		return csv_error(csv, err, "the name of the %s is not printable UTF-8", what);
	memcpy(ret, text.p, text.n);
	ret[text.n] = '\0';
	return 0;
}

int trace_milli(const struct csv *csv, size_t column, const char *name, int64_t low, int64_t high, int64_t *ret,
		struct err *err)
{
	int r = csv_milli(csv_field(csv, column), low, high, ret);

	if (r == -ERANGE)
		return csv_error(csv, err, "%s is not between %lld and %lld", name, (long long)low / 1000,
				 (long long)high / 1000);
	return r ? csv_error(csv, err, "%s is not a decimal number", name) : 0;
}

static int parse_outcome(const struct csv *csv, enum outcome *ret, struct err *err)
{
	struct str text = csv_field(csv, OUTCOME);

	*ret = OUTCOME_COMPLETED;
	if (!text.n)
		return 0;
	for (int i = 0; i < OUTCOME_COUNT_; i++)
		if (str_eq(text, str_c(outcome_names[i])) && i != OUTCOME_RUNNING) {
			*ret = (enum outcome)i;
			return 0;
		}
	return csv_error(csv, err, "outcome is not that of a run that has ended, such as completed or failed");
}

static int parse_figures(const struct csv *csv, struct trace_run *ret, struct err *err)
{
	int r = trace_milli(csv, START, "start_unix", 1, LIMIT_TRACE_TIME_MS, &ret->start_ms, err);

	if (!r)
		r = trace_milli(csv, DURATION, "duration_s", 1, LIMIT_TRACE_RUN_MS, &ret->duration_ms, err);
	if (!r && csv_field(csv, LIMIT).n)
		r = trace_milli(csv, LIMIT, "limit_bytes", 0, LIMIT_TRACE_VALUE * 1000, &ret->limit_bytes, err);
	ret->limit_bytes /= 1000;
	return r ? r : parse_outcome(csv, &ret->outcome, err);
}

static int no_memory(struct trace *trace, struct err *err)
{
	return trace->arena.is_full ? err_set(err, -E2BIG, "the names of runs and workloads are too long together")
				    : err_set(err, -ENOMEM, "no memory left for the trace");
}

/* The index of the workload of the current row. */
static int find_workload(const struct csv *csv, struct trace *trace, struct strmap *index, size_t *ret, struct err *err)
{
	char name[TRACE_NAME_BYTES + 1], role[TRACE_NAME_BYTES + 1] = "";
	struct trace_workload workload = {.n = 0};
	int r = trace_name(csv, WORKLOAD, "workload", name, err);

	if (!r && csv_field(csv, ROLE).n)
		r = trace_name(csv, ROLE, "role", role, err);
	if (r)
		return r;
	workload.name = arena_printf(&trace->arena, "%s%s%s", name, *role ? "\n" : "", role);
	if (!workload.name)
		return no_memory(trace, err);
	*ret = (size_t)(uintptr_t)strmap_get(index, workload.name);
	if (!*ret) {
		*ret = trace->workloads.n + 1;
		if (vec_push(&trace->workloads, workload) || strmap_put(index, workload.name, (void *)(uintptr_t)*ret))
			return no_memory(trace, err);
	}
	--*ret;
	return 0;
}

static int add_run(struct trace_reading *self, const struct csv *csv, struct strmap *workloads, struct err *err)
{
	struct trace *trace = self->trace;
	struct trace_run run = {.line = csv->line, .use = SKETCH_INIT};
	char name[TRACE_NAME_BYTES + 1];
	size_t known;
	int r = trace_name(csv, RUN, "run", name, err);

	if (!r)
		r = find_workload(csv, trace, workloads, &run.workload, err);
	if (!r)
		r = parse_figures(csv, &run, err);
	if (r)
		return r;
	known = (size_t)(uintptr_t)strmap_get(&self->runs, name);
	if (known)
		return csv_error(csv, err, "run %s was in line %zu already", name, trace->runs.items[known - 1].line);
	if (trace->runs.n == LIMIT_TRACE_RUNS)
		return err_set_at(err, -E2BIG, csv->path, csv->line, 0, "more than %d runs", LIMIT_TRACE_RUNS);
	run.name = arena_strdup(&trace->arena, name);
	if (!run.name || vec_push(&trace->runs, run) ||
	    strmap_put(&self->runs, run.name, (void *)(uintptr_t)trace->runs.n))
		return no_memory(trace, err);
	return 0;
}

int trace_read_runs(struct trace_reading *self, const char *path, struct err *err)
{
	CLEANUP(csv_release) struct csv csv = CSV_INIT;
	struct strmap workloads = STRMAP_INIT;
	int r = csv_open(&csv, path, false, columns, ARRAY_LEN(columns), err);

	while (!r) {
		r = csv_next(&csv, err);
		if (!r)
			r = add_run(self, &csv, &workloads, err);
	}
	strmap_release(&workloads);
	if (r < 0)
		return r;
	return self->trace->runs.n ? 0 : err_set_at(err, -EINVAL, path, 1, 0, "there are no runs");
}
