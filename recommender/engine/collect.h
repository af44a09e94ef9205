/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* collect: reads Prometheus in windows: each closed UTC day once, in order, then the open time up to now. The results
 * are runs, as the fold found them, and the state to continue from.
 *
 * The state moves past a closed day only if all of the day could be read, or the rest of it failed in GAP_FAILURES
 * cycles while Prometheus answered other queries (gaps.h). What the open time adds to its pods is
 * discarded, so the next cycle reads the open time again. One thread. */
#include "engine/split.h"
#include "engine/state.h"
#include "runs/fold.h"
#include "runs/pod_table.h"

struct collect_progress {
	size_t days_done, days_total;
	size_t n_series, n_queries;
	int64_t n_samples, elapsed_ms;
	const char *day; /* day that is being read, "2026-11-02" */
};
typedef void collect_progress_fn(void *context, const struct collect_progress *progress);

/** Fills an initialised batch with the pods that somebody watches. With `only_news`: the pods of runs that changed
 * since the changes that are in the store. Otherwise also the pods of runs that existed in the batch's window, or all
 * pods if the window has no start. `is_partial` is set if runs were left out because not all of their owners are
 * known.
 * @return 0; 1: not known (yet); -ENOMEM. */
typedef int collect_pods_fn(void *context, bool only_news, struct evidence_batch *batch);

struct collect {
	struct evidence_reader *reader;
	collect_pods_fn *pods; /* NULL: pods are only known from the reader */
	void *pods_context;
	void (*between)(void *context); /* called between two queries, while no data of the store is held; or NULL */
	void *between_context;
	int64_t now_ms, history_ms, step_ms; /* step 0: measured */
	collect_progress_fn *progress;	     /* may be NULL */
	void *progress_context;
	struct split *split; /* kept between cycles by the caller; NULL: nothing is remembered */

	struct evidence_batch watched; /* pods that were watched when reading began */
	struct pod_table table;	       /* decoded from the state, with what was read since */
	bool has_told_all;	       /* the last fold had all watched pods: no run was left out */
	bool has_told_pods;	       /* the last fold contained the pods of the last call of `pods` */
	struct collector_state state;  /* as loaded; after collect_run as it should be saved */
	VEC(struct found_run) runs;    /* if a uid occurs twice, the later entry counts */
	struct collect_progress done;
	bool has_overfull; /* a pod with too many containers was logged */
	bool is_partial;   /* an answer was incomplete: reading stopped there, or its runs are marked */
	char warning[160];
	bool has_changed_state;
	bool has_changed_gaps; /* state.gaps changed, or days are to be read again because of a gap */
};

#define COLLECT_SETTLE_MS ((int64_t)15 * 60 * 1000) /* a day closes this long after its end: late samples */
/** A closed day whose answers are still incomplete after this time is accepted; its runs do not count as whole runs. */
#define COLLECT_PARTIAL_PATIENCE_MS ((int64_t)48 * 3600 * 1000)

/** Reads all windows that are due. Whatever it returns, `runs` and `state` hold what was read completely. A window that
 * is too heavy for Prometheus is split by namespaces and then by time.
 * @return 0; an enum evidence_condition or -errno, if reading ended early. */
int collect_run(struct collect *self, struct err *err) ATTR_NODISCARD;
/** Folds a table of pods, which has the time up to `now_ms`, into `runs`. Without a reader the source of the runs is
 * "pods". `is_closed`: adds only runs that are over and removes their pods from the table; the other runs are found
 * again later. @return 0 or -ENOMEM. */
int collect_fold(struct collect *self, struct pod_table *table, int64_t now_ms, bool is_closed,
		 struct err *err) ATTR_NODISCARD;
void collect_release(struct collect *self);
