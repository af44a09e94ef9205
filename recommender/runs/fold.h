/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fold: pods -> ranks and attempts -> runs -> one summary for each role and container of a run.
 *
 * Pods with the same run key (model/identity.h: the topmost controller that does not recur) belong together. In the
 * order of their starts they fall apart into runs: a pod that starts when all before it have ended begins a new run if
 * the last attempt completed or ended more than FOLD_RETRY_MS ago, else it is a new attempt of the same run. Within a
 * run a pod follows another one of its rank: the same index where it is known, else one that ended without completing
 * before this one started. What is left side by side are ranks.
 *
 * Pure but for memory; the table is only read. */
#include "model/history.h"
#include "model/identity.h"
#include "model/run.h"
#include "runs/pod_table.h"

/** A pod that starts so long after the last one failed is another submission. */
#define FOLD_RETRY_MS ((int64_t)30 * 60 * 1000)
/** Without a sample or a sign of life for so long a pod without an end is gone. */
#define FOLD_GONE_MS ((int64_t)10 * 60 * 1000)

/** The rank of a run whose curve is the run's: of the last attempt the one with the greatest peak. */
struct run_widest {
	char pod[EVIDENCE_NAME_BYTES + 1]; /* "": none was measured */
	int64_t peak_bytes;
	int64_t start_ms, end_ms; /* of its samples, as far as they are known to more than the hour */
	int64_t step_ms;	  /* between two samples; 0: not known */
};

/** One role and container of one run. */
struct run_summary {
	const char *namespace_name, *container; /* borrowed from the table */
	struct identity identity;		/* of the run's first pod; role and keys */
	struct run run;
	struct sketch usage; /* working set of the last attempt, all ranks of the role */
	/* What was set in its pods, by their annotations: an entry for each set of values. */
	VEC(struct history_decision) decisions;
	struct run_widest widest;
	/* How long a pod waited for memory with a request that we had set above its own; 0: none did. */
	int64_t harm_waited_ms;
	int64_t activity_sum, activity_samples; /* of its pods so far: struct run has their mean */
	bool is_final;				/* ended, and too long ago for another attempt */
	bool is_seen;	 /* the use of the last attempt was seen from start to end, however it ended */
	bool is_watched; /* the API server itself told of it */
};

/** Frees what it holds. */
void run_summary_release(struct run_summary *self);

struct fold {
	VEC(struct run_summary) summaries; /* by namespace, run key, start, role, container */
	bool *is_open;			   /* by index of the table's pods: belongs to a run that is not final; heap */
};

struct fold_options {
	int64_t now_ms;		 /* the end of the newest window */
	int64_t history_from_ms; /* nothing was read before: pods that began earlier were not seen from their start */
	const char *source;	 /* static, for struct run */
};

/** @return 0 or -ENOMEM. `ret` is zeroed by the caller and released by fold_release in any case. */
int fold_runs(const struct pod_table *table, const struct fold_options *options, struct fold *ret,
	      struct err *err) ATTR_NODISCARD;
void fold_release(struct fold *self);
