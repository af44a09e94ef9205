/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* history: MemoryHistory (memtamer.io/v1alpha1), what the recommender remembers of one workload, role and container:
 * up to 32 run summaries, curves of the last 8, aggregates that outlive the list, counters by day, the last decisions.
 * At most LIMIT_HISTORY_BYTES encoded. Same name as its MemoryProfile; everything in `spec`, so that backups keep it.
 * Only the recommender and the reading commands use it. */
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"
#include "model/run.h"
#include "model/sketch.h"

/** The later runs that speak against a maximum: how many in a row stayed clear of it, and their own greatest value. */
struct history_window {
	int64_t max_bytes;
	int32_t runs;
};

#define HISTORY_DECAY_AFTER_RUNS    20	/* so many runs in a row before a maximum loses weight */
#define HISTORY_DECAY_NEAR_PERMILLE 700 /* a run this near to the maximum confirms it */
#define HISTORY_DECAY_STEP_PERMILLE 100 /* what each further run takes off */

/** What is known of all runs ever, also those that fell out of the list. Maxima decay by evidence, never by age:
 *  - A peak stands until 20 later whole runs in a row stayed below 70 % of it. From then on each further whole run
 * takes a tenth off, but never below the greatest need among those later runs, where the decay ends and counting starts
 *    anew. A run at 70 % or more before that confirms the peak; a greater one replaces it at any time.
 *  - A killed limit is the same, but what speaks against it are whole runs that completed at a limit below it: only
 *    they prove that the need is smaller. The floor is the greatest limit among them. A kill at 70 % of it or more
 *    confirms it.
 *  - Ephemeral-storage peaks decay as peaks do, over whole runs that measured any.
 *  Reason: forgetting by age or by a list of the last ten runs raised OOMs twentyfold on a real trace (rare large
 * inputs come back), while a maximum kept for ever makes one freak run the size of a workload that has since been
 * rewritten. Twenty misses in a row put the chance that an input of 1 in 10 runs was merely not seen at 12 %, and steps
 * of a tenth let an OOM correct the rule before much is taken away. */
struct history_aggregate {
	int64_t runs, whole_runs, oom_runs;
	int64_t peak_bytes; /* need over whole runs */
	int64_t killed_limit_bytes;
	int64_t ephemeral_peak_bytes;
	double peak_mean_bytes, peak_m2; /* Welford, over whole runs */
	struct history_window peak_window, killed_window, ephemeral_window;
};

/** Add one run, in order of start. Not idempotent: history_add_run calls it for each run exactly once. */
void history_aggregate_add(struct history_aggregate *self, const struct run *run);
/** Only the maxima, as far as the run is above them: any number of times. @return whether one was. */
bool history_aggregate_raise(struct history_aggregate *self, const struct run *run);

/** Runs that began on a UTC day: those of the list and those that fell out of it. */
struct history_day {
	int32_t day; /* days since 1970-01-01 */
	int32_t runs, oom_kills, evictions;
	int32_t harms; /* runs with a harm */
	int32_t mode;  /* enum mode at work that day; -1 unknown */
};

/** What was set in the pods of one root owner: an entry for each owner and set of values. */
struct history_decision {
	int64_t time_ms;	    /* of the first pod */
	char owner[RUN_NAME_BYTES]; /* "Job/train-7", cut; "Pod/..." for a bare pod */
	char pod[RUN_NAME_BYTES];   /* the first one */
	int32_t pods;		    /* how many were seen with these values */
	int mode;		    /* enum mode at work */
	int64_t revision;	    /* of the profile; 0: none */
	/* 0 in `to`: not set; 0 in `from`: there was none. */
	int64_t request_from_bytes, request_to_bytes, limit_from_bytes, limit_to_bytes;
	int64_t ephemeral_request_to_bytes, ephemeral_limit_to_bytes;
	char rule[48]; /* of the limit, else of the request */
	char cap[96];  /* what kept it from more or less, in words; "" nothing */
};

/** Are both of an owner of that name, with the same values? In one run they are one entry. */
bool history_decision_is_same(const struct history_decision *a, const struct history_decision *b);

struct history {
	char *namespace_name, *name, *workload, *role, *container; /* heap */
	char *aliases[LIMIT_PROFILE_ALIASES];			   /* heap; best first */
	size_t n_aliases;
	VEC(struct run) runs;		    /* by start, oldest first, at most LIMIT_HISTORY_RUNS */
	struct history_aggregate aggregate; /* of all runs: `dropped` and the list; kept by history_add_run */
	struct history_aggregate dropped;   /* of the runs that fell out of the list */
	int64_t dropped_until_ms;	    /* latest start among those; 0: none */
	char dropped_uid[RUN_UID_BYTES];    /* greatest uid among those that started then */
	struct sketch usage;		    /* all runs, time-weighted */
	VEC(struct history_day) days;	    /* in order, the last LIMIT_HISTORY_DAYS; kept by history_add_run */
	VEC(struct history_decision) decisions;
};

struct history *history_new(const char *namespace_name, const char *name) ATTR_NODISCARD;
void history_free(struct history *self);
void history_freep(struct history **self);

/** Add or replace (by uid) a run; beyond the cap the oldest that is not running falls out of the list, its figures stay
 *  in the aggregate; a replayed uid changes nothing twice: a run that is not in the list and did not start after all
 *  that fell out is taken for one of them and ignored. `usage` is the caller's. @return 0 or -ENOMEM (unchanged). */
int history_add_run(struct history *self, const struct run *run) ATTR_NODISCARD;
/** Is this run, which is not in the list, one of those that fell out of it? By start, then by uid. */
bool history_has_dropped(const struct history *self, const struct run *run);
/** Of such a run, what may have been learned only after it fell out while it ran: limits that it was killed at, and the
 *  peaks of a whole run. The same again changes nothing. @return whether anything changed. */
bool history_raise_dropped(struct history *self, const struct run *run);
/** Remember a key; @return 0 (also when already known or the list is full), -ENOMEM. */
int history_add_alias(struct history *self, const char *key) ATTR_NODISCARD;
/** @return 0; -EINVAL with the field (over a cap too); -ENOMEM. */
int history_decode(struct json_object *object, struct history **ret, struct err *err) ATTR_NODISCARD;
/** The same from text, as profile_read. */
int history_read(const char *text, size_t n, struct arena *scratch, struct history **ret,
		 struct err *err) ATTR_NODISCARD;
/** Encode as one JSON object; leaves out old decisions (the last 8 stay), then curves from the oldest, then further
 *  decisions, then the oldest runs (their figures go to what is
 *  written as `dropped`), until it fits LIMIT_HISTORY_BYTES. Curves are written for the last LIMIT_HISTORY_CURVES runs
 *  that have one, as thousandths of the run's peak. Sticky status of `buf`. */
int history_encode(const struct history *self, struct strbuf *buf);
