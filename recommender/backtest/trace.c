/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/trace.h"

#include "backtest/trace_internal.h"
#include "base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH_BYTES 512

void trace_release(struct trace *self)
{
	for (size_t i = 0; i < self->runs.n; i++)
		sketch_release(&self->runs.items[i].use);
	vec_release(&self->runs);
	vec_release(&self->workloads);
	arena_release(&self->arena);
}

static int make_path(const char *folder, const char *name, char ret[PATH_BYTES], struct err *err)
{
	if (snprintf(ret, PATH_BYTES, "%s/%s", folder, name) >= PATH_BYTES)
		return err_set(err, -ENAMETOOLONG, "the path of the trace is too long");
	return 0;
}

/* The series may be compressed. Of two files nobody could say which one counts. */
static int read_series(struct trace_reading *self, const char *folder, struct err *err)
{
	char plain[PATH_BYTES], gzip[PATH_BYTES];
	int r = make_path(folder, "series.csv", plain, err);

	if (!r)
		r = make_path(folder, "series.csv.gz", gzip, err);
	if (r)
		return r;
	if (access(gzip, F_OK))
		return trace_read_series(self, plain, false, err);
	if (!access(plain, F_OK))
		return err_set(err, -EINVAL, "%s has both series.csv and series.csv.gz; remove one", folder);
	return trace_read_series(self, gzip, true, err);
}

static int compare_runs(const void *a, const void *b)
{
	const struct trace_run *x = a, *y = b;

	if (x->workload != y->workload)
		return x->workload < y->workload ? -1 : 1;
	if (x->start_ms != y->start_ms)
		return x->start_ms < y->start_ms ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static void sort_runs(struct trace *self)
{
	qsort(self->runs.items, self->runs.n, sizeof(*self->runs.items), compare_runs);
	for (size_t i = self->runs.n; i-- > 0;) {
		struct trace_workload *workload = &self->workloads.items[self->runs.items[i].workload];

		workload->first = i;
		workload->n++;
	}
}

static int check_complete(const struct trace *self, const char *path, struct err *err)
{
	for (size_t i = 0; i < self->runs.n; i++) {
		const struct trace_run *run = &self->runs.items[i];

		if (!run->n_samples)
			return err_set_at(err, -EINVAL, path, run->line, 0, "run %s has no rows in the series",
					  run->name);
	}
	return 0;
}

int trace_read(struct trace *self, const char *folder, trace_progress_fn *progress, void *context, struct err *err)
{
	struct trace_reading reading = {.trace = self, .runs = STRMAP_INIT, .progress = progress, .context = context};
	char path[PATH_BYTES];
	int r = make_path(folder, "runs.csv", path, err);

	if (!r)
		r = trace_read_runs(&reading, path, err);
	if (!r)
		r = read_series(&reading, folder, err);
	strmap_release(&reading.runs);
	if (!r)
		r = check_complete(self, path, err);
	if (!r)
		sort_runs(self);
	return r;
}
