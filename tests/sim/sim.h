/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* sim: runs one workload many times through the code of the product and judges the sizes that it gets. A scenario
 * (scenarios.c) says what each run needs and how it ends, and what is expected of the sizes. world.c does what the
 * cluster, the webhook and the recommender do with it: pods, decide(), kills, evidence, history, profile. The clock
 * and all chance come from the scenario and its seed, so the same seed gives the same result. One thread. */
#include "policy/policy.h"

#include <stdint.h>

#define SIM_RUNS 1000

/** Chance: splitmix64. */
struct sim_random {
	uint64_t state;
};
/** A number in `from`..`to`. */
int64_t sim_between(struct sim_random *self, int64_t from, int64_t to);
/** Whether an event of this probability happens. */
bool sim_happens(struct sim_random *self, int percent);

enum sim_fate {
	SIM_COMPLETES,
	SIM_FAILS,    /* exits with an error early, with less use than it would have needed */
	SIM_NODE_OOM, /* the node runs out of memory and the kernel kills it below its limit; the next attempt completes
		       */
	SIM_HANGS,    /* reported as running once and never again */
};

/** What happens to a pod that needs more than its limit. */
enum sim_shortage {
	SIM_IS_KILLED,
	SIM_EXITS,	/* exits with an error close to its limit */
	SIM_LOSES_CHILD /* a child is killed, and samples show 60 % of the limit */
};

/** One run as a scenario makes it, without the sizes that it gets. */
struct sim_run {
	int64_t wait_ms; /* from the start of the run before; 0: they start together */
	int64_t duration_ms;
	int64_t need_bytes, usual_bytes; /* the greatest use, and the use most of the time */
	int64_t own_request_bytes, own_limit_bytes;
	enum sim_fate fate;
	enum sim_shortage shortage;
	int image, ranks; /* ranks: pods at the same time, all alike; 0: one */
	bool is_growing;  /* the use rises evenly until the end */
	/* Use of the first attempt between two samples, which nobody sees: it is killed at a limit below that. 0: none.
	 */
	int64_t spike_bytes;
	bool is_bare; /* a bare pod, or a Job with backoffLimit 0: one attempt */
	/* What sizes are judged by: what runs need at most, and use most of the time, since the workload last changed.
	 */
	int64_t regime_need_bytes, regime_usual_bytes;
	bool begins_regime;
};

/** How long sizes were wrong, and what that cost. The age of a size is how many runs had completed since the last
 * change when a run was submitted, and 1: what has not ended tells nothing, nor do runs that failed. If none has
 * completed, HISTORY_EARLY_RUNS failed ones count as one, as they do for the product. */
struct sim_result {
	int low_after;	    /* the greatest age at which a run needed more than the recommended limit */
	int high_after;	    /* ... at which the limit was above SIM_HIGH_PERMILLE of the regime's need */
	int request_after;  /* ... at which the request was outside SIM_REQUEST_... of the regime's use */
	int kills;	    /* attempts that were OOM-killed at their limit, or failed because of it */
	int turns;	    /* changes of the limit by more than a tenth, against the direction of the change before */
	int regret_percent; /* memory x time above that of an oracle, which sets each limit to the need of its run */
	int waste_gibh;	    /* the same in GiB x hours; depends on the size of the workload, so nothing is expected */
};

enum { SIM_HIGH_PERMILLE = 1700, SIM_REQUEST_LOW_PERMILLE = 600, SIM_REQUEST_HIGH_PERMILLE = 1700 };

struct scenario {
	const char *name;
	enum mode mode;
	void (*make)(struct sim_random *random, int index, struct sim_run *ret);
	/* The expected results: at most these, with the seeds 1 to 6. In 17 of the seeds 7 to 46 one to three scenarios
	 * are above; docs/SIZING.md says how. */
	struct sim_result most;
};

extern const struct scenario sim_scenarios[];
extern const size_t sim_n_scenarios;

/** Runs a scenario. @return 0 or -ENOMEM. */
int sim_simulate(const struct scenario *scenario, uint64_t seed, struct sim_result *ret, struct err *err);
