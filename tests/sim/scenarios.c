/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios: what a workload does for SIM_RUNS runs, and what is expected of its sizes. Most workloads have sizes that
 * are far too small and mode raise, so that each pod gets exactly what is recommended. */
#include "sim.h"

#include "base/attr.h"
#include "base/limits.h"
#include "base/timefmt.h"

#define GI   ((int64_t)GIB)
#define BASE (10 * GI)

/* An hourly run that needs 90 to 100 % of `need_bytes`, and uses 60 % of that most of the time. */
static void hourly(struct sim_random *random, int64_t need_bytes, struct sim_run *ret)
{
	int64_t permille = sim_between(random, 900, 1000);

	*ret = (struct sim_run){
		.wait_ms = TIME_HOUR_MS,
		.duration_ms = sim_between(random, 30, 50) * TIME_MINUTE_MS,
		.need_bytes = need_bytes / 1000 * permille,
		.usual_bytes = need_bytes / 1000 * permille * 6 / 10,
		.own_request_bytes = (int64_t)(32 * MIB),
		.own_limit_bytes = (int64_t)(64 * MIB),
		.fate = SIM_COMPLETES,
		.regime_need_bytes = need_bytes,
		.regime_usual_bytes = need_bytes * 6 / 10,
	};
}

/* The need changes at two runs. */
static void in_steps(struct sim_random *random, int index, const int64_t needs[3], int first, int second,
		     struct sim_run *ret)
{
	hourly(random, needs[(index >= first) + (index >= second)], ret);
	ret->begins_regime = index == first || index == second;
}

static void stationary(struct sim_random *random, int index, struct sim_run *ret)
{
	(void)index;
	hourly(random, BASE, ret);
}

/* Each run is a change. That its limit is right soon after shows in the kills: each run that needs more than its limit
 * is killed. */
static void growing(struct sim_random *random, int index, struct sim_run *ret)
{
	hourly(random, BASE + BASE * 4 * index / SIM_RUNS, ret);
	ret->begins_regime = true;
}

static void shrinking(struct sim_random *random, int index, struct sim_run *ret)
{
	hourly(random, 5 * BASE - BASE * 4 * index / SIM_RUNS, ret);
}

static void model_doubles(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 2 * BASE, 4 * BASE}, 300, 600, ret);
}

static void model_is_halved(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){4 * BASE, 2 * BASE, BASE}, 300, 600, ret);
}

/* Another data set: longer runs that need and use more; later a small one. */
static void new_data_sets(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 7 * BASE / 2, BASE / 2}, 400, 700, ret);
	if (index > 400 && index <= 700) /* the run before is over */
		ret->wait_ms *= 8;
	if (index >= 400 && index < 700) {
		ret->duration_ms *= 8;
		ret->usual_bytes = ret->need_bytes * 9 / 10;
		ret->regime_usual_bytes = ret->regime_need_bytes * 9 / 10;
	}
}

/* Hourly runs, and once a week one that needs four times as much. */
static void rare_large_run(struct sim_random *random, int index, struct sim_run *ret)
{
	bool is_large = index % 168 == 100;

	hourly(random, is_large ? 4 * BASE : BASE, ret);
	ret->regime_need_bytes = 4 * BASE;
	ret->regime_usual_bytes = BASE * 6 / 10;
}

/* The same, with a new image for each day. */
static void daily_images(struct sim_random *random, int index, struct sim_run *ret)
{
	rare_large_run(random, index, ret);
	ret->image = index / 24;
}

/* Runs with two pods need four times as much in each as those with eight. */
static void two_worlds(struct sim_random *random, int index, struct sim_run *ret)
{
	bool is_small = sim_happens(random, 50);

	(void)index;
	hourly(random, is_small ? 4 * BASE : BASE, ret);
	ret->ranks = is_small ? 2 : 8;
}

/* One run of three days between hourly ones. */
static void one_long_run(struct sim_random *random, int index, struct sim_run *ret)
{
	hourly(random, index == 60 ? 6 * BASE : BASE, ret);
	ret->begins_regime = index == 60 || index == 61;
	if (index == 61) /* all attempts of the long run are over */
		ret->wait_ms = 12 * TIME_DAY_MS;
	if (index != 60)
		return;
	ret->duration_ms = 3 * TIME_DAY_MS;
	ret->regime_need_bytes = 6 * BASE;
	ret->regime_usual_bytes = BASE * 6 / 10;
}

/* 30 trials start together every day; the model doubles between two sweeps. */
static void sweeps(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 2 * BASE, BASE}, 300, 600, ret);
	ret->wait_ms = index % 30 ? 0 : TIME_DAY_MS;
}

/* More trials at once than a history lists. */
static void large_sweeps(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 2 * BASE, BASE}, 310, 630, ret);
	ret->wait_ms = (index + 10) % 40 ? 0 : TIME_DAY_MS;
}

/* 40 runs at any time. */
static void many_active(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 2 * BASE, BASE}, 300, 600, ret);
	ret->wait_ms = 2 * TIME_MINUTE_MS;
	ret->duration_ms = sim_between(random, 75, 85) * TIME_MINUTE_MS;
}

/* A bug for one night: runs need more than any limit that they reach. */
static void bad_night(struct sim_random *random, int index, struct sim_run *ret)
{
	bool is_bad = index >= 300 && index < 304;

	hourly(random, is_bad ? 200 * BASE : BASE, ret);
	ret->begins_regime = index == 300 || index == 304;
	if (index == 304) /* all attempts of the bad runs are over */
		ret->wait_ms = 12 * TIME_HOUR_MS;
	ret->regime_usual_bytes = BASE * 6 / 10;
}

/* One run with three times the need of the others. */
static void bad_run(struct sim_random *random, int index, struct sim_run *ret)
{
	hourly(random, index == 300 ? 3 * BASE : BASE, ret);
	ret->begins_regime = index == 300 || index == 301;
	if (index == 301) /* all attempts of the bad run are over */
		ret->wait_ms = 6 * TIME_HOUR_MS;
	ret->regime_usual_bytes = BASE * 6 / 10;
}

/* Nodes run out of memory, and pods with much room below their limit are killed. If that happens to two of six runs,
 * it is taken for the container's own, until later runs contradict it. */
static void node_ooms(struct sim_random *random, int index, struct sim_run *ret)
{
	hourly(random, BASE, ret);
	ret->own_limit_bytes = 64 * GI;
	if (index > 10 && sim_happens(random, 2)) {
		ret->fate = SIM_NODE_OOM;
		ret->begins_regime = true;
	}
}

/* The need grows to four times as much; what has too little exits with an error, or loses a child, and is not retried.
 */
static void exits_near_the_limit(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 4 * BASE, BASE}, 300, 600, ret);
	ret->is_bare = true;
	ret->shortage = SIM_EXITS;
}

static void loses_children(struct sim_random *random, int index, struct sim_run *ret)
{
	exits_near_the_limit(random, index, ret);
	ret->shortage = SIM_LOSES_CHILD;
}

/* From run 300 on, runs need a tenth of what those before needed, and none completes until run 800. */
static void seldom_completes(struct sim_random *random, int index, struct sim_run *ret)
{
	bool fails = index >= 300 && index < 800;

	hourly(random, index < 300 ? 10 * BASE : BASE, ret);
	ret->begins_regime = index == 300 || index == 800;
	if (!fails)
		return;
	ret->fate = SIM_FAILS;
	ret->duration_ms *= 4;
	ret->regime_usual_bytes = BASE * 6 / 10 * 45 / 100;
}

/* One run needs more than any limit that it reaches. After it no run completes: they fail after 10 to 80 % of their
 * durations, with as much of their use. */
static void never_complete(struct sim_random *random, int index, struct sim_run *ret)
{
	hourly(random, index == 300 ? 1000 * BASE : BASE, ret);
	ret->begins_regime = index == 300 || index == 301;
	if (index == 301) /* all attempts of the bad run are over */
		ret->wait_ms = TIME_DAY_MS;
	ret->regime_usual_bytes = BASE * 6 / 10;
	if (index <= 300)
		return;
	ret->fate = SIM_FAILS;
	ret->duration_ms *= 4;
	ret->regime_usual_bytes = BASE * 6 / 10 * 45 / 100;
}

/* Runs whose end is never reported. */
static void phantom_runs(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 2 * BASE, BASE}, 500, 800, ret);
	if (index % 10 == 5)
		ret->fate = SIM_HANGS;
}

/* Bare pods with a spike far above what samples show: each is killed at the limit that people set. After the third one
 * the limit is raised, and after 20 complete runs that is forgotten, the next time after twice as many. */
static void spikes_of_bare_pods(struct sim_random *random, int index, struct sim_run *ret)
{
	hourly(random, 4 * GI, ret);
	(void)index;
	ret->own_limit_bytes = 64 * GI;
	ret->regime_need_bytes = ret->spike_bytes = 80 * GI;
	ret->is_bare = true;
}

/* Spikes in each third run, whose retry completes. */
static void spikes_in_each_third_run(struct sim_random *random, int index, struct sim_run *ret)
{
	hourly(random, BASE, ret);
	ret->own_limit_bytes = 20 * GI;
	ret->regime_need_bytes = 30 * GI;
	ret->spike_bytes = index % 3 ? 0 : 30 * GI;
}

/* Nothing runs for months; after it the model has changed. */
static void gaps(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 2 * BASE, BASE}, 300, 600, ret);
	if (index % 300 == 0)
		ret->wait_ms = 120 * TIME_DAY_MS;
}

static void flaky_runs(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 2 * BASE, BASE}, 300, 600, ret);
	if (sim_happens(random, 40))
		ret->fate = SIM_FAILS;
}

/* People set limits of their own, from too small to far too large, and memtamer also lowers. */
static void changed_by_hand(struct sim_random *random, int index, struct sim_run *ret)
{
	static const int64_t limits[] = {128 * GI, 16 * GI, 4 * GI, 64 * GI, 11 * GI};

	hourly(random, BASE, ret);
	ret->own_limit_bytes = limits[(size_t)index / 40 % ARRAY_LEN(limits)];
	ret->own_request_bytes = ret->own_limit_bytes / 2;
}

/* Memory rises until the end of each run for a while, and the data grows; then the leak is mended. */
static void leak_and_mended(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){BASE, 3 * BASE, BASE}, 320, 400, ret);
	ret->is_growing = index >= 300 && index < 400;
}

/* The limits that people set are far too large, and memtamer lowers them. */
static void lowered(struct sim_random *random, int index, struct sim_run *ret)
{
	in_steps(random, index, (const int64_t[]){2 * BASE, BASE, 2 * BASE}, 300, 600, ret);
	ret->own_limit_bytes = 128 * GI;
	ret->own_request_bytes = 64 * GI;
}

/* Right within five complete runs after growth, within twenty after shrinking, and never wrong while nothing changes.
 * Of runs that start together, all have the old size; where 40 are active, some of the old size end after twenty of the
 * new one. Kills are those that nobody could foresee: two at each doubling of the need, and by steps of a half four or
 * five where it grows to four times as much. The rare large run is killed in the first two weeks, and once more if it
 * then needs more than before; its limit is that of the large run from then on; where the image changes each day, the
 * first runs of an image have the wider buffer of few runs. Of two world sizes each has its own limit, which shows as
 * turns. One bad night and one long run cost 20 runs at their limit. */
const struct scenario sim_scenarios[] = {
	{"stationary", MODE_RAISE, stationary, {.kills = 0, .regret_percent = 16}},
	{"growing", MODE_RAISE, growing, {.low_after = 1, .kills = 1, .turns = 2, .regret_percent = 12}},
	{"shrinking", MODE_RAISE, shrinking, {.regret_percent = 37}},
	{"the model doubles",
	 MODE_RAISE,
	 model_doubles,
	 {.low_after = 5, .high_after = 5, .request_after = 12, .kills = 3, .turns = 3, .regret_percent = 13}},
	{"the model is halved",
	 MODE_RAISE,
	 model_is_halved,
	 {.high_after = 20, .request_after = 12, .regret_percent = 20}},
	{"new data sets",
	 MODE_RAISE,
	 new_data_sets,
	 {.low_after = 5, .high_after = 20, .request_after = 20, .kills = 3, .turns = 2, .regret_percent = 14}},
	{"rare large run",
	 MODE_RAISE,
	 rare_large_run,
	 {.low_after = 269, .kills = 5, .turns = 4, .regret_percent = 290}},
	{"rare large run, daily images",
	 MODE_RAISE,
	 daily_images,
	 {.low_after = 269, .kills = 5, .turns = 21, .regret_percent = 290}},
	{"two world sizes",
	 MODE_RAISE,
	 two_worlds,
	 {.high_after = 18, .request_after = 14, .turns = 550, .regret_percent = 18}},
	{"one long run",
	 MODE_RAISE,
	 one_long_run,
	 {.low_after = 1, .high_after = 20, .kills = 3, .turns = 2, .regret_percent = 95}},
	{"sweeps",
	 MODE_RAISE,
	 sweeps,
	 {.low_after = 1, .high_after = 1, .request_after = 1, .kills = 30, .turns = 1, .regret_percent = 22}},
	{"sweeps of 40",
	 MODE_RAISE,
	 large_sweeps,
	 {.low_after = 1, .high_after = 1, .request_after = 1, .kills = 40, .turns = 1, .regret_percent = 24}},
	{"40 runs at any time",
	 MODE_RAISE,
	 many_active,
	 {.low_after = 1, .high_after = 24, .request_after = 12, .kills = 30, .turns = 3, .regret_percent = 24}},
	{"one bad night",
	 MODE_RAISE,
	 bad_night,
	 {.low_after = 2, .high_after = 20, .kills = 19, .turns = 2, .regret_percent = 420}},
	{"one bad run",
	 MODE_RAISE,
	 bad_run,
	 {.low_after = 1, .high_after = 20, .kills = 2, .turns = 2, .regret_percent = 22}},
	{"never complete after a kill",
	 MODE_RAISE,
	 never_complete,
	 {.low_after = 1, .high_after = 20, .request_after = 12, .kills = 6, .turns = 2, .regret_percent = 55}},
	{"exits near the limit",
	 MODE_RAISE,
	 exits_near_the_limit,
	 {.low_after = 5, .high_after = 20, .request_after = 12, .kills = 5, .turns = 4, .regret_percent = 16}},
	{"loses children",
	 MODE_RAISE,
	 loses_children,
	 {.low_after = 5, .high_after = 20, .request_after = 12, .kills = 5, .turns = 4, .regret_percent = 16}},
	{"none completes for 500 runs",
	 MODE_RAISE,
	 seldom_completes,
	 {.low_after = 1, .high_after = 41, .request_after = 20, .kills = 2, .turns = 2, .regret_percent = 40}},
	{"nodes out of memory", MODE_RAISE, node_ooms, {.high_after = 20, .turns = 2, .regret_percent = 620}},
	{"spikes of bare pods", MODE_RAISE, spikes_of_bare_pods, {.kills = 18, .turns = 11, .regret_percent = 3400}},
	{"spikes in each third run",
	 MODE_RAISE,
	 spikes_in_each_third_run,
	 {.kills = 15, .turns = 9, .regret_percent = 340}},
	{"phantom runs",
	 MODE_RAISE,
	 phantom_runs,
	 {.low_after = 5, .high_after = 20, .request_after = 12, .kills = 2, .turns = 2, .regret_percent = 18}},
	{"gaps",
	 MODE_RAISE,
	 gaps,
	 {.low_after = 5, .high_after = 20, .request_after = 12, .kills = 2, .turns = 2, .regret_percent = 18}},
	{"flaky runs",
	 MODE_RAISE,
	 flaky_runs,
	 {.low_after = 5, .high_after = 20, .request_after = 12, .kills = 2, .turns = 2, .regret_percent = 20}},
	{"limits changed by hand", MODE_ENFORCE, changed_by_hand, {.regret_percent = 15}},
	{"a leak, mended",
	 MODE_RAISE,
	 leak_and_mended,
	 {.low_after = 5, .high_after = 20, .request_after = 12, .kills = 3, .turns = 2, .regret_percent = 20}},
	{"limits lowered",
	 MODE_ENFORCE,
	 lowered,
	 {.low_after = 5, .high_after = 20, .request_after = 12, .kills = 2, .turns = 1, .regret_percent = 43}},
};
const size_t sim_n_scenarios = ARRAY_LEN(sim_scenarios);
