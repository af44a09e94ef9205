/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* trace: past runs of workloads, from histories or read from a directory of two files.
 *   runs.csv: one row for each run, with columns run, workload, start_unix and duration_s (seconds, decimal), and
 *     optionally limit_bytes (empty or 0: none), outcome (as in MemoryHistories; default completed) and role.
 *   series.csv or series.csv.gz: memory use, with columns run, t_s (seconds since the run's start, rising) and bytes. A
 *     value holds until the next row, the first one also before its row and the last one to the end of the run. The
 *     rows of a run are together. Only at the end of a run may a row repeat the time of the row before it.
 * A workload is one name and one role. Everything else in the files is an error with file and line.
 * Cost: linear in the bytes of the files. Memory: one sketch for each run, so that it does not grow with the number of
 * samples. One thread. */
#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/vec.h"
#include "model/history.h"
#include "model/sketch.h"

struct trace_run {
	const char *name;
	size_t workload; /* index */
	size_t line;	 /* in runs.csv */
	int64_t start_ms, duration_ms;
	int64_t limit_bytes; /* that it had; 0: none or not known */
	enum outcome outcome;
	int64_t n_samples;
	int64_t peak_bytes;   /* > 0; of an OOM-killed run at least its limit */
	int64_t median_bytes; /* within the error of a sketch */
	double use_gibh;      /* memory use over time, in GiB times hours */
	struct sketch use;
};

/** The runs of a workload are neighbours, in the order of their starts; equal starts as in the file. */
struct trace_workload {
	const char *name;
	size_t first, n; /* runs */
};

struct trace {
	struct arena arena; /* of the names */
	VEC(struct trace_run) runs;
	VEC(struct trace_workload) workloads;
	int64_t n_samples;
};

#define TRACE_INIT                                                                                                     \
	{                                                                                                              \
		.arena = ARENA_INIT(LIMIT_TRACE_NAMES_BYTES), .runs = VEC_INIT, .workloads = VEC_INIT, .n_samples = 0  \
	}

/** Reports the share of the files that was read, 0 to 1. May be NULL where it is passed. */
typedef void trace_progress_fn(void *context, double share);

/** Reads a directory. @return 0; -EINVAL: the content, with file and line; -E2BIG: a cap of limits.h; -errno. */
int trace_read(struct trace *self, const char *folder, trace_progress_fn *progress, void *context,
	       struct err *err) ATTR_NODISCARD;
void trace_release(struct trace *self);
/** Adds a workload with the runs that a history lists and that have ended, as far as it has figures of them; see
 * trace_history.c. Cost: linear in the runs. @return 0; -ENOMEM. */
int trace_add_history(struct trace *self, const struct history *history) ATTR_NODISCARD;

/** Bytes that are held for a time, in GiB times hours. */
static inline double trace_gibh(double bytes, int64_t duration_ms)
{
	return bytes / (double)GIB * (double)duration_ms / 3600000.0;
}
