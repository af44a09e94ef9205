/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* collect: windows in their order: closed UTC days once, then the open time up to now. What comes out is the summaries
 * of runs, and the state to go on from next time.
 *
 * A closed day counts only when all of it could be read: then the state moves on. The open time is read on a copy of
 * the state and never becomes part of it, so it is simply read again. */
#include "engine/state.h"
#include "runs/fold.h"

/** A summary that owns its names. */
struct found_run {
	char *namespace_name, *container; /* heap */
	struct run_summary summary;
};

struct collect_progress {
	size_t days_done, days_total;
	size_t n_series, n_queries;
	int64_t n_samples, elapsed_ms;
	const char *day; /* "2026-11-02" */
};
typedef void collect_progress_fn(void *context, const struct collect_progress *progress);

/** What pods there are and were, by someone who watches them, into an initialised batch: those of runs of which
 * something is newer than what was told to be written; unless `only_news` also those of runs that were there in the
 * batch's window, or all, where that has no start. `is_partial`: of some runs not everything is known yet, and they are
 * left out. @return 0; 1 not known (yet); -ENOMEM. */
typedef int collect_pods_fn(void *context, bool only_news, struct evidence_batch *batch);

struct collect {
	struct evidence_reader *reader;
	collect_pods_fn *pods; /* NULL: only the reader tells of pods */
	void *pods_context;
	void (*between)(void *context); /* between two readings, while nothing is held that is in the store; or NULL */
	void *between_context;
	int64_t now_ms, history_ms, step_ms; /* step 0: measured */
	collect_progress_fn *progress;	     /* may be NULL */
	void *progress_context;

	struct evidence_batch watched; /* pods that were watched when reading began */
	bool has_told_all;	       /* and of no run an owner was not known yet */
	bool has_told_pods;	       /* the last fold had the pods as they were told to `pods` then */
	struct collector_state state;  /* as it was, then as it shall be saved */
	VEC(struct found_run) runs;    /* later ones of the same uid replace earlier ones */
	struct collect_progress done;
	bool is_partial; /* something was answered in part only: stopped there, or runs are marked */
	char warning[160];
	bool has_changed_state;
};

#define COLLECT_SETTLE_MS ((int64_t)15 * 60 * 1000) /* a day closes so long after its end: late samples */
/** A day that stays partial for so long is taken as it is: its runs are no whole runs. */
#define COLLECT_PARTIAL_PATIENCE_MS ((int64_t)48 * 3600 * 1000)

/** Read what is due. Whatever the return value, `runs` and `state` hold what was read completely.
 *  @return 0; an enum evidence_condition or -errno that ended it early. */
int collect_run(struct collect *self, struct err *err) ATTR_NODISCARD;
/** Fold a table of pods into `runs`, of all that is known up to `now_ms`. Without a reader they are "pods" runs.
 *  @return 0 or -ENOMEM. */
int collect_fold(struct collect *self, struct pod_table *table, int64_t now_ms, struct err *err) ATTR_NODISCARD;
void collect_release(struct collect *self);
