/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/trace_internal.h"

#include "base/limits.h"

#include <errno.h>
#include <sys/stat.h>

enum { RUN, TIME, BYTES };

enum { PROGRESS_ROWS = 8192, LATE_MS = 1000 /* times may be rounded to seconds */ };

static const struct csv_column columns[] = {
	[RUN] = {"run", false},
	[TIME] = {"t_s", false},
	[BYTES] = {"bytes", false},
};

struct series {
	struct trace_reading *reading;
	struct csv csv;
	struct trace_run *run; /* whose rows are being read; NULL: none yet */
	int64_t at_ms, bytes;  /* the last row of it */
	size_t n_rows, file_bytes;
};

/* The last value holds until `until_ms`. */
static int hold(struct series *self, int64_t until_ms, struct err *err)
{
	int64_t until = MIN(until_ms, self->run->duration_ms), lasts_ms = MAX(until - self->at_ms, 0);

	self->run->use_gibh += trace_gibh((double)self->bytes, lasts_ms);
	if (sketch_add(&self->run->use, self->bytes, lasts_ms))
		return err_set(err, -ENOMEM, "no memory left for the trace");
	return 0;
}

static int finish_run(struct series *self, struct err *err)
{
	struct trace_run *run = self->run;
	int r;

	if (!run)
		return 0;
	r = hold(self, run->duration_ms, err);
	if (r)
		return r;
	if (!run->peak_bytes)
		return csv_error(&self->csv, err, "run %s, which ends before this line, used no memory", run->name);
	if (run->outcome == OUTCOME_OOM_KILLED)
		run->peak_bytes = MAX(run->peak_bytes, run->limit_bytes);
	run->median_bytes = MIN(sketch_quantile(&run->use, 0.5), run->peak_bytes);
	return 0;
}

static int start_run(struct series *self, struct err *err)
{
	struct trace *trace = self->reading->trace;
	char name[TRACE_NAME_BYTES + 1];
	size_t index;
	int r = finish_run(self, err);

	if (!r)
		r = trace_name(&self->csv, RUN, "run", name, err);
	if (r)
		return r;
	index = (size_t)(uintptr_t)strmap_get(&self->reading->runs, name);
	if (!index)
		return csv_error(&self->csv, err, "run %s is not in runs.csv", name);
	self->run = &trace->runs.items[index - 1];
	self->at_ms = 0;
	if (self->run->n_samples)
		return csv_error(&self->csv, err, "the rows of run %s are not together", name);
	return 0;
}

static int check_time(const struct series *self, int64_t at_ms, struct err *err)
{
	const struct trace_run *run = self->run;

	if (at_ms > run->duration_ms + LATE_MS)
		return csv_error(&self->csv, err, "t_s is after the end of run %s", run->name);
	if (!run->n_samples)
		return 0;
	if (at_ms < self->at_ms)
		return csv_error(&self->csv, err, "t_s falls: the rows of run %s are not in order", run->name);
	if (at_ms == self->at_ms && at_ms < run->duration_ms)
		return csv_error(&self->csv, err, "run %s has two rows for this t_s", run->name);
	return 0;
}

static int add_row(struct series *self, struct err *err)
{
	int64_t at_ms, milli_bytes;
	int r = 0;

	if (!self->run || !str_eq(csv_field(&self->csv, RUN), str_c(self->run->name)))
		r = start_run(self, err);
	if (!r)
		r = trace_milli(&self->csv, TIME, "t_s", 0, LIMIT_TRACE_RUN_MS + LATE_MS, &at_ms, err);
	if (!r)
		r = trace_milli(&self->csv, BYTES, "bytes", 0, LIMIT_TRACE_VALUE * 1000, &milli_bytes, err);
	if (!r)
		r = check_time(self, at_ms, err);
	if (!r && self->run->n_samples)
		r = hold(self, at_ms, err);
	if (r)
		return r;
	self->at_ms = self->run->n_samples ? at_ms : 0; /* the first value holds from the start */
	self->bytes = milli_bytes / 1000;
	self->run->n_samples++;
	self->run->peak_bytes = MAX(self->run->peak_bytes, self->bytes);
	self->reading->trace->n_samples++;
	return 0;
}

static void report_progress(struct series *self)
{
	const struct trace_reading *reading = self->reading;

	if (reading->progress && self->file_bytes && self->n_rows % PROGRESS_ROWS == 0)
		reading->progress(reading->context, (double)csv_offset(&self->csv) / (double)self->file_bytes);
	self->n_rows++;
}

int trace_read_series(struct trace_reading *self, const char *path, bool is_gzip, struct err *err)
{
	struct series series = {.reading = self, .csv = CSV_INIT};
	struct stat status;
	int r = csv_open(&series.csv, path, is_gzip, columns, ARRAY_LEN(columns), err);

	series.file_bytes = stat(path, &status) ? 0 : (size_t)status.st_size;
	while (!r) {
		r = csv_next(&series.csv, err);
		if (!r)
			r = add_row(&series, err);
		report_progress(&series);
	}
	if (r > 0)
		r = finish_run(&series, err);
	csv_release(&series.csv);
	return r;
}
