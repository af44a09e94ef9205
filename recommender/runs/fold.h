/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fold: groups pods into ranks and attempts, these into runs, and makes one struct found_run for each role and
 * container of a run. The engine keeps these structs until their figures (struct run) are in a history.
 *
 * Pods with the same run key (model/identity.h: the topmost controller that does not recur) belong together. In the
 * order of their starts they are divided into runs. A pod that starts after all pods before it have ended begins a new
 * run if the last attempt completed, or ended more than FOLD_RETRY_MS ago; otherwise it is a new attempt of the same
 * run. Within a run, a pod continues the rank of an earlier pod of the same role: the one with the same index, if
 * indexes are known, else one that ended without completing before this one started. Pods that continue no other one
 * are ranks of their own.
 *
 * Pure; allocates memory and only reads the table. Cost: n log n in the pods, and quadratic in the pods of one run. */
#include "model/history.h"
#include "model/identity.h"
#include "model/run.h"
#include "runs/pod_table.h"

/** A pod that starts later than this after the last one failed belongs to another submission. */
#define FOLD_RETRY_MS ((int64_t)30 * 60 * 1000)
/** A pod without a known end is gone when it has no sample and is not reported for this time. */
#define FOLD_GONE_MS ((int64_t)10 * 60 * 1000)

/** The rank that provides the curve of a run: the one of the last attempt with the greatest peak. */
struct run_widest {
	char pod[EVIDENCE_NAME_BYTES + 1]; /* "": no rank was measured */
	int64_t peak_bytes;
	int64_t start_ms, end_ms; /* of its samples; 0 if they are known only to the hour */
	int64_t step_ms;	  /* between two samples; 0: not known */
};

/** One role and container of one run, as found in the pods. */
struct found_run {
	char namespace_name[EVIDENCE_NAME_BYTES + 1], container[EVIDENCE_NAME_BYTES + 1];
	struct identity identity; /* of the first pod of the run, with role and keys */
	struct run run;
	struct sketch usage; /* working set of the last attempt, all ranks of the role */
	/* Values that were set in the pods according to their annotations: one entry for each distinct set of
	 * values. */
	VEC(struct history_decision) decisions;
	struct run_widest widest;
	/* The longest time that a pod waited for memory while its request was above its own because of us; 0: none
	 * did. */
	int64_t harm_waited_ms;
	int64_t activity_sum, activity_samples; /* sums over the pods; struct run has the mean */
	bool has_setting;			/* memtamer set the allocator variable in its pods */
	bool is_main;				/* the main container of its pod */
	bool is_final;				/* ended, and too long ago for another attempt */
	bool is_seen;	 /* the use of the last attempt was observed from start to end, however it ended */
	bool is_watched; /* the API server itself reported the run */
	/* In the last attempt the kernel killed a process of a container, by its counter, near enough to the limit,
	 * and Kubernetes shows no OOM kill. */
	bool has_lost_child;
};

/** Frees the members, not `self`. */
void found_run_release(struct found_run *self);

struct fold {
	VEC(struct found_run) runs; /* in the order of namespace, run key, start, role, container */
	/* by index of the table's pods: the pod belongs to a run that is not final; heap */
	bool *is_open;
};

struct fold_options {
	int64_t now_ms; /* end of the newest window */
	/* start of the first window that was read: pods that began earlier were not observed from their start */
	int64_t history_from_ms;
	const char *source; /* static text, for struct run */
};

/** Folds all pods of the table. `ret` must be zeroed; call fold_release even after a failure. @return 0 or -ENOMEM. */
int fold_runs(const struct pod_table *table, const struct fold_options *options, struct fold *ret,
	      struct err *err) ATTR_NODISCARD;
void fold_release(struct fold *self);

/** The parts of struct run that come from one finding of a run, if there are several. */
enum run_part {
	RUN_PART_USE,	 /* figures of memory use, without its peaks, and the activity of accelerators */
	RUN_PART_CHOICE, /* the sizes of the run, and who chose them */
	RUN_PART_END,	 /* how and when the run ended */
	RUN_PART_CURVE,	 /* the curve and its shape */
	RUN_PART_MAXIMA, /* figures of which the greatest of all findings counts */
};
/** Replaces a part of `run` by that of another finding; of RUN_PART_MAXIMA only smaller figures. */
void run_take_part(struct run *run, const struct run *other, enum run_part part);
