/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* history: MemoryHistory (memtamer.io/v1alpha1), what the recommender remembers of one workload, role and container:
 * up to 32 run summaries, curves of the last 8, aggregates that outlive the list, counters by day, the last decisions.
 * At most LIMIT_HISTORY_BYTES encoded. Same name as its MemoryProfile; everything in `spec`, so that backups keep it.
 * Only the recommender and the reading commands use it. */
#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"
#include "model/run.h"
#include "model/sketch.h"

/** What is known of all runs ever, also those that fell out of the list. Decays by evidence, not by age: when newer
 *  whole runs are many, a maximum that none of them came near loses weight (see history_aggregate_add). */
struct history_aggregate {
	int64_t runs, whole_runs, oom_runs;
	int64_t peak_bytes; /* need over whole runs */
	int64_t killed_limit_bytes;
	int64_t ephemeral_peak_bytes;
	double peak_mean_bytes, peak_m2; /* Welford, over whole runs */
};

struct history_day {
	int32_t day; /* days since 1970-01-01 */
	int32_t runs, oom_kills, evictions;
	int32_t mode; /* enum mode at work that day; -1 unknown */
};

struct history_decision {
	int64_t time_ms;
	int64_t revision;
	int64_t request_from_bytes, request_to_bytes, limit_from_bytes, limit_to_bytes;
	char rule[48];
	char cap[48];
};

struct history {
	char *namespace_name, *name, *workload, *role, *container; /* heap */
	char *aliases[LIMIT_PROFILE_ALIASES];			   /* heap; best first */
	size_t n_aliases;
	VEC(struct run) runs; /* by start, oldest first, at most LIMIT_HISTORY_RUNS */
	struct history_aggregate aggregate;
	struct sketch usage; /* all runs, time-weighted */
	VEC(struct history_day) days;
	VEC(struct history_decision) decisions;
};

struct history *history_new(const char *namespace_name, const char *name) ATTR_NODISCARD;
void history_free(struct history *self);
void history_freep(struct history **self);

/** Add or replace (by uid) a run; the oldest beyond the cap falls out of the list, its figures stay in the aggregate;
 *  a replayed uid changes nothing twice. @return 0 or -ENOMEM (unchanged). */
int history_add_run(struct history *self, const struct run *run) ATTR_NODISCARD;
/** Remember a key; @return 0 (also when already known or the list is full), -ENOMEM. */
int history_add_alias(struct history *self, const char *key) ATTR_NODISCARD;
int history_decode(struct json_object *object, struct history **ret, struct err *err) ATTR_NODISCARD;
/** Encode as one JSON object; drops curves, then the oldest runs, until it fits LIMIT_HISTORY_BYTES. */
int history_encode(const struct history *self, struct strbuf *buf);
