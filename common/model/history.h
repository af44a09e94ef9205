/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* history: MemoryHistory (memtamer.io/v1alpha1), what the recommender keeps of one workload, role and container: up to
 * 32 run summaries, the curves of the last 8, aggregates that outlive the list, counters by day, the last decisions. It
 * has the name of its MemoryProfile, and all of it is in `spec`, so that backups keep it. The API server holds objects
 * as maps in memory, five times their length, so nearly all of a history is one compressed string. Used by the
 * recommender and the reading commands only. One thread. */
#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "model/run.h"

/** A maximum that was forgotten. */
struct history_forgotten {
	int64_t bytes, near_ms; /* near_ms: when the last run near it ended */
	int32_t later_runs;	/* the whole runs since then */
};

#define HISTORY_FORGOTTEN 2

/** The greatest value among runs that still counts. Runs near it reach HISTORY_NEAR_PERMILLE of it. Sizes in bytes; 0:
 * none. */
struct history_maximum {
	int64_t bytes;
	int64_t later_bytes;				       /* the greatest value since the last run near it */
	int32_t later_runs;				       /* the whole runs since then */
	int64_t near_ms;				       /* when that run ended */
	int32_t gap_runs;				       /* the most whole runs between two runs near it */
	int32_t near_runs;				       /* of the peak: all whole runs near it */
	struct history_forgotten forgotten[HISTORY_FORGOTTEN]; /* the greatest, within the last HISTORY_RECUR_MS */
};

#define HISTORY_FORGET_RUNS   20
#define HISTORY_NEAR_PERMILLE 700
#define HISTORY_RECUR_MS      (84 * TIME_DAY_MS) /* twelve weeks */
#define HISTORY_BLAME_KILL    3
#define HISTORY_BLAME_PROOF   2 /* a further kill after fewer than two whole runs, or in each third run */
#define HISTORY_BLAME_MOST    6 /* two kills, and no whole run since */
#define HISTORY_EARLY_RUNS    3 /* long runs that ended early say as much against a kill as one whole run */
/* After so many of them without a whole run they contradict peaks too. */
#define HISTORY_EARLY_ALONE (HISTORY_FORGET_RUNS * HISTORY_EARLY_RUNS)

/** Aggregate of all runs, including those that dropped out of the list. A maximum is forgotten by evidence, never by
 * age: when HISTORY_FORGET_RUNS whole runs in a row have needed less than 70 % of it. The greatest value of these runs
 * replaces it. If a run near a forgotten maximum comes again within HISTORY_RECUR_MS, then such runs are rare but
 * usual, and the maximum is only forgotten after twice as many runs as lay between the two, or after twice
 * HISTORY_RECUR_MS. So a kill or a peak that happened once does not stay, and the large run of each month is killed
 * once and not each month. A killed limit is also contradicted by whole runs under that limit or a smaller one,
 * whatever they needed, and by long runs that ended early (HISTORY_EARLY_RUNS of them for one), so that the kill of a
 * workload whose runs never complete does not stay. The same holds for peaks, of memory and of disk, where no whole run
 * comes: at once if there never was one, else after HISTORY_EARLY_ALONE long runs that ended early.
 */
struct history_aggregate {
	int64_t runs, whole_runs, oom_runs;
	struct history_maximum peak;   /* need; of runs that ended early, a lower bound of it */
	struct history_maximum killed; /* limits at which runs were OOM-killed */
	struct history_maximum ephemeral;
	/* How often nodes were blamed for a kill lately (run_is_killed_by_node): each such run adds
	 * HISTORY_BLAME_KILL, to HISTORY_BLAME_MOST at most, and each whole run takes 1. A node's lack of memory seldom
	 * meets a workload again soon: at HISTORY_BLAME_PROOF or more, the next such run is proof of its limit if it
	 * used an eighth of it, and at HISTORY_BLAME_MOST whatever it used. */
	int32_t node_blame;
	/* Whether the use of the run with the greatest killed limit was far below that, so that the use of later runs
	 * does not say what it needed. */
	bool is_kill_unseen;
	int32_t early_runs; /* long runs that ended early since the last whole run */
};

/** Adds one run. Runs should be added in the order of their ends: a long run says more of today than the short ones
 * that began after it and ended before it. Not idempotent: history_add_run adds each run exactly once. */
void history_aggregate_add(struct history_aggregate *self, const struct run *run);
/** Raises only the maxima to the values of the run. May be repeated. @return whether a maximum changed. */
bool history_aggregate_raise(struct history_aggregate *self, const struct run *run);

/** Counters of the runs that began on a UTC day, including runs that dropped out of the list. */
struct history_day {
	int32_t day; /* days since 1970-01-01 */
	int32_t runs, oom_kills, evictions;
	int32_t harms; /* runs with harm */
	int32_t mode;  /* enum mode in force that day; -1: unknown */
};

/** The values that were set in the pods of one root owner: one entry for each owner and set of values. */
struct history_decision {
	int64_t time_ms;	    /* of the first pod */
	char owner[RUN_NAME_BYTES]; /* "Job/train-7"; "Pod/..." for a bare pod; truncated as run.name */
	char pod[RUN_NAME_BYTES];   /* the first pod */
	int32_t pods;		    /* number of pods seen with these values */
	int mode;		    /* enum mode in force */
	int64_t revision;	    /* of the profile; 0: none */
	/* 0 in `to`: not set; 0 in `from`: there was no value. */
	int64_t request_from_bytes, request_to_bytes, limit_from_bytes, limit_to_bytes;
	int64_t ephemeral_request_to_bytes, ephemeral_limit_to_bytes;
	char rule[48]; /* of the limit, else of the request */
	char cap[96];  /* the reason why the change was limited, as text; "": none */
};

/** Whether both are of an owner of the same name and have the same values. Within one run they are one entry. */
bool history_decision_is_same(const struct history_decision *a, const struct history_decision *b);

struct history {
	char *namespace_name, *name, *workload, *role, *container; /* heap */
	char *aliases[LIMIT_PROFILE_ALIASES];			   /* heap; best first */
	size_t n_aliases;
	VEC(struct run) runs;		    /* in the order of their starts, oldest first, at most LIMIT_HISTORY_RUNS */
	struct history_aggregate aggregate; /* of all runs: `dropped` and the list; maintained by history_add_run */
	struct history_aggregate dropped;   /* of the runs that dropped out of the list */
	int64_t dropped_until_ms;	    /* latest start of a dropped run; 0: none */
	char dropped_uid[RUN_UID_BYTES];    /* greatest uid of the dropped runs with that start */
	VEC(struct history_day) days;	    /* in order, the last LIMIT_HISTORY_DAYS; maintained by history_add_run */
	VEC(struct history_decision) decisions;
};

/** An empty history with copies of the names and all other texts "". NULL: out of memory. */
struct history *history_new(const char *namespace_name, const char *name) ATTR_NODISCARD;
/** NULL is allowed. */
void history_free(struct history *self);
void history_freep(struct history **self);

/* An active run says little: of those without an OOM kill at most HISTORY_ACTIVE_RUNS are listed, and of those with one
 * twice as many, so that the list always has runs that ended. */
#define HISTORY_ACTIVE_RUNS 8

/** Adds a run, or replaces the one with the same uid. If the list is full, the oldest run that has ended drops out of
 * it and stays in the aggregate; if too many are active, because killed runs go on, the newest of these is left out.
 * Adding a run again changes nothing: a run that the history leaves out is ignored. Cost: linear in the list.
 * @return 0 or -ENOMEM (unchanged). */
int history_add_run(struct history *self, const struct run *run) ATTR_NODISCARD;
/** Whether this run, which is not in the list, dropped out of it. Decided by start, then by uid. */
bool history_has_dropped(const struct history *self, const struct run *run);
/** Whether a run that is not in the list will not be added: it dropped out, or it is active and as many active runs are
 * listed as may be. Such a run is added when it has ended. */
bool history_leaves_out(const struct history *self, const struct run *run);
/** Adds to the aggregate what is known of a run that is left out, and was not when it dropped out while it ran: killed
 * limits, and the peaks of a whole run. May be repeated. @return whether anything changed. */
bool history_raise_left_out(struct history *self, const struct run *run);
/** Adds the listed runs (variant NULL: all) to an aggregate, in the order of their ends. Cost: linear in the list if
 * the runs end in the order of their starts, else quadratic. */
void history_aggregate_list(const struct history *self, const char *variant, struct history_aggregate *ret);
/** Adds a key. @return 0, also if the key is known or the list is full; -ENOMEM. */
int history_add_alias(struct history *self, const char *key) ATTR_NODISCARD;
/** Decodes the text of an object; see profile_read. `*ret` is owned by the caller. @return 0; -EINVAL with the field,
 * also if a cap is exceeded; -E2BIG; -ENOMEM. */
int history_read(const char *text, size_t n, struct arena *scratch, struct history **ret,
		 struct err *err) ATTR_NODISCARD;
/** Encodes the history as one JSON object, of at most LIMIT_HISTORY_BYTES before the compression. To fit, it omits, in
 * this order: old decisions (but the last 8), curves from the oldest, further decisions, the oldest runs (which are
 * written as dropped). Curves are written for the last LIMIT_HISTORY_CURVES runs that have one, in permille of the
 * run's peak. @return the sticky status of `buf`. */
int history_encode(const struct history *self, struct strbuf *buf);
