/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* collect: reads Prometheus in windows: closed time once, in order, in parts of a day or less (collect_parts.h), then
 * the open time up to now. Each window gives runs, as the fold found them, and each part a state to continue from. The
 * caller stores the runs of a part before it closes the part, and saves the state before it reads the next one, so that
 * memory is that of one part and a crash loses one part:
 *
 *   collect_begin(); while (collect_has_closed_part()) { collect_part(); ...; collect_close_part(); ...; }
 *   collect_open();
 *
 * The runs of a part include those that are not over: a history lists only a limited number of runs, and rejects a run
 * that began before all runs that dropped out.
 *
 * The state moves past a part only if all of it could be read, or the rest of it failed in GAP_FAILURES cycles while
 * Prometheus answered other queries (gaps.h). What the open time adds to its pods is discarded, so the next cycle reads
 * the open time again. One thread. */
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
	/* Whether nothing is learned from a namespace, whatever the reader has of it. NULL: from all of them. */
	bool (*left_out)(void *context, const char *namespace_name);
	void *left_out_context;
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
	struct collector_state state;  /* as loaded; after collect_close_part as it should be saved */
	int64_t oldest_ms;	       /* the first day of the history */
	int64_t read_until_ms;	       /* the table has the time up to here */
	bool is_unsettled;	       /* what was read last is not closed in this cycle: a whole answer may come */
	int unsettled_status;	       /* EVIDENCE_TOO_HEAVY: some of it could not be read */
	bool has_read;		       /* a part was closed, or the open time was read */
	struct fold found;	       /* what was found in the window that was folded last */
	size_t n_final_runs;	       /* number of runs in all windows that are over */
	size_t n_open_runs;	       /* number of runs in the last window that are not */
	struct collect_progress done;
	int64_t begun_ms;	/* monotonic */
	bool has_overfull;	/* a pod with too many containers was logged */
	bool is_partial;	/* an answer was incomplete: reading stopped there, or its runs are marked */
	char warning[160];	/* of the first answer that had one */
	bool has_whole_answer;	/* an answer about closed time had no warning */
	bool has_changed_state; /* besides closed parts: `state` should be saved; the caller clears it */
};

#define COLLECT_SETTLE_MS ((int64_t)15 * 60 * 1000) /* a part closes this long after its end: late samples */
/** A closed day whose answers are still incomplete after this time is accepted; its runs do not count as whole runs. It
 * is accepted earlier if reading it again leaves too little time for what follows (collect_is_in_the_way). */
#define COLLECT_PARTIAL_PATIENCE_MS ((int64_t)48 * 3600 * 1000)

/** Prepares for reading. @return 0; -ENOMEM. */
int collect_begin(struct collect *self, struct err *err) ATTR_NODISCARD;
/** Whether closed time is not read yet. */
bool collect_has_closed_part(const struct collect *self);
/** Reads the next part of closed time and sets `found`, with time up to the end of the part. If `is_unsettled` is set
 * afterwards, `found` is empty and the part must not be closed. What is too heavy for Prometheus is split by namespaces
 * and then by time. After a failure only how reading goes on has changed in `state`, and only collect_end may follow.
 * @return 0; an enum evidence_condition or -errno, if reading ended early. */
int collect_part(struct collect *self, struct err *err) ATTR_NODISCARD;
/** Moves `state` past the part that was read. Its runs must be in the store. Removes pods of runs that are over.
 * @return 0; -ENOMEM; -E2BIG. */
int collect_close_part(struct collect *self, struct err *err) ATTR_NODISCARD;
/** Reads the open time and sets `found`, with time up to `now_ms`. @return as collect_part; EVIDENCE_TOO_HEAVY: `found`
 * has what could be read. */
int collect_open(struct collect *self, struct err *err) ATTR_NODISCARD;
/** Ends reading, whether it failed or not. */
void collect_end(struct collect *self);
/** Folds a table of pods, which has the time up to `now_ms`, into `found`. Without a reader the source of the runs is
 * "pods". @return 0 or -ENOMEM. */
int collect_fold(struct collect *self, const struct pod_table *table, int64_t now_ms, struct err *err) ATTR_NODISCARD;
void collect_release(struct collect *self);
