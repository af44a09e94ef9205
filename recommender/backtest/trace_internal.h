/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* trace_internal: what the readers of the two files share. Private to trace*.c. */
#include "backtest/csv.h"
#include "backtest/trace.h"
#include "base/strmap.h"

#define TRACE_NAME_BYTES 253 /* longest name of a run, workload or role */

struct trace_reading {
	struct trace *trace;
	struct strmap runs; /* name -> index + 1 */
	trace_progress_fn *progress;
	void *context;
};

/** Copies a field that is a name into `ret`. @return 0; -EINVAL: it is empty, too long, or not printable UTF-8. */
int trace_name(const struct csv *csv, size_t column, const char *what, char ret[TRACE_NAME_BYTES + 1],
	       struct err *err) ATTR_NODISCARD;
/** Reads a field in thousandths; the error names the column. */
int trace_milli(const struct csv *csv, size_t column, const char *name, int64_t low, int64_t high, int64_t *ret,
		struct err *err) ATTR_NODISCARD;

/* trace_runs.c */
/** Reads runs.csv. */
int trace_read_runs(struct trace_reading *self, const char *path, struct err *err) ATTR_NODISCARD;

/* trace_series.c */
/** Reads the series of all runs. */
int trace_read_series(struct trace_reading *self, const char *path, bool is_gzip, struct err *err) ATTR_NODISCARD;
