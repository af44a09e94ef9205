/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on small traces whose results are computed by hand in the comments. Runs last one hour and use constantly what
 * is given, in GiB, unless a test says otherwise. */
#include "backtest_fixture.h"

#include "backtest/random.h"
#include "base/str.h"
#include "policy/size.h"

#include <math.h>

static const struct walk_variant_case {
	const char *name;
	enum walk_variant variant;
} variants[] = {{"walk-forward", WALK_FORWARD}, {"causal", WALK_CAUSAL}};

struct blocks {
	struct score warm, cold;
};

static void count(void *context, const struct rule_run *run, bool is_cold)
{
	struct blocks *blocks = context;

	score_add_run(is_cold ? &blocks->cold : &blocks->warm, run);
}

static struct blocks walk(const struct trace *trace, const struct rule *rule, enum walk_variant variant)
{
	struct sizing_policy sizing = sizing_default();
	struct blocks ret = {.warm = {{0}}};

	assert_int_equal(walk_workload(trace, &trace->workloads.items[0], rule, variant, &sizing, count, &ret), 0);
	score_finish_workload(&ret.warm);
	score_finish_workload(&ret.cold);
	return ret;
}

static double metric_of(const struct score *score, const char *name)
{
	for (int m = 0; m < METRIC_COUNT; m++)
		if (streq(score_metrics[m].name, name))
			return score_metric(score, &score_metrics[m]);
	fail_msg("no metric %s", name);
	return 0;
}

static void check_near(double got, double want)
{
	if (fabs(got - want) > 0.002)
		print_message("  got %.6f, want %.6f\n", got, want);
	assert_true(fabs(got - want) <= 0.002);
}

/* Peaks 1 1 1 | 1 4 1. The first three runs only teach.
 * krr: limits 1.15, 1.15, 4.6. The fifth run is killed at 1.15 and 2.3 and fits into 4.6.
 *   waste by the peak: 0.15 + (1.15 + 2.3 + 0.6) + 3.6 = 7.8; the use is constant, so by the use over time as well
 *   limit slack: 1 - 6 / (1.15 + 4.6 + 4.6); request slack: 1 - 6 / (1.15 + 1.15 + 4.6)
 * vpa-p90: the bucket of 1 ends at 1.0519, + 15 % = 1.2096; that of 4 ends at 4.0280, + 15 % = 4.6322, and has one
 *   sample of five, so it is the p90. Waste: 0.2096 + (1.2096 + 2.4193 + 0.8385) + 3.6322 = 8.3092
 * peak-20: limits 1.2, 1.2, 4.8; waste: 0.2 + (1.2 + 2.4 + 0.8) + 3.8 = 8.4; request 1 each: the fifth run is above it
 * oracle: nothing is killed or wasted. */
static void metrics_are_as_computed_by_hand(void **state)
{
	static const double gib[] = {1, 1, 1, 1, 4, 1, 0};
	static const struct {
		const struct rule *rule;
		double oom_rate, retries, waste, limit_slack, request_slack, over;
	} rows[] = {
		{&rule_krr, 1.0 / 3, 2.0 / 3, 7.8, 1 - 6 / 10.35, 1 - 6 / 6.9, 1.0 / 3},
		{&rule_vpa_p90, 1.0 / 3, 2.0 / 3, 8.3092, 1 - 6 / 10.6803, 1 - 6 / 7.0514, 1.0 / 3},
		{&rule_vpa_p95, 1.0 / 3, 2.0 / 3, 8.3092, 1 - 6 / 10.6803, 1 - 6 / 7.0514, 1.0 / 3},
		{&rule_peak_20, 1.0 / 3, 2.0 / 3, 8.4, 1 - 6 / 10.8, 1 - 6 / 3.0, 1.0 / 3},
		{&rule_oracle, 0, 0, 0, 0, 0, 0},
	};
	struct trace trace = TRACE_INIT;

	(void)state;
	trace_workload_of(&trace, "w", gib);
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(variants); i++) {
		size_t row = i / ARRAY_LEN(variants);
		struct blocks got = walk(&trace, rows[row].rule, variants[i % ARRAY_LEN(variants)].variant);

		test_row(rows[row].rule->name);
		assert_true(got.warm.sums[SUM_SCORED] == 3 && got.cold.sums[SUM_SCORED] == 2);
		check_near(metric_of(&got.warm, "oom_rate"), rows[row].oom_rate);
		check_near(metric_of(&got.warm, "oom_rate_macro"), rows[row].oom_rate);
		check_near(metric_of(&got.warm, "retries_per_run"), rows[row].retries);
		check_near(metric_of(&got.warm, "waste_peak_gibh"), rows[row].waste);
		check_near(metric_of(&got.warm, "waste_area_gibh"), rows[row].waste);
		check_near(metric_of(&got.warm, "limit_slack"), rows[row].limit_slack);
		check_near(metric_of(&got.warm, "request_slack"), rows[row].request_slack);
		check_near(metric_of(&got.warm, "peak_over_request"), rows[row].over);
		check_near(metric_of(&got.warm, "time_over_request"), rows[row].over);
	}
	trace_release(&trace);
}

/* The sixth run uses 1 for 30 min, 3 for 15 min and 4 for 15 min: 2.25 GiBh, peak 4. krr has seen a peak of 2: limit
 * and request 2.3, so it is killed once (2.3 GiBh) and fits into 4.6. By the peak 0.6 are wasted then, by use 2.35. The
 * use is above the request for 30 min. The two runs before it waste 0.3 each, and have a peak below their request. */
static void waste_by_area_counts_the_use_over_time(void **state)
{
	static const double gib[] = {2, 2, 2, 2, 2, 4, 0};
	struct trace trace = TRACE_INIT;
	struct trace_run *last;
	struct blocks got;

	(void)state;
	trace_workload_of(&trace, "w", gib);
	last = &trace.runs.items[5];
	sketch_release(&last->use);
	last->use_gibh = 2.25;
	assert_int_equal(sketch_add(&last->use, (int64_t)GIB, HOUR_MS / 2), 0);
	assert_int_equal(sketch_add(&last->use, 3 * (int64_t)GIB, HOUR_MS / 4), 0);
	assert_int_equal(sketch_add(&last->use, 4 * (int64_t)GIB, HOUR_MS / 4), 0);
	got = walk(&trace, &rule_krr, WALK_FORWARD);
	check_near(metric_of(&got.warm, "waste_peak_gibh"), 0.6 + 2.3 + 0.6);
	check_near(metric_of(&got.warm, "waste_area_gibh"), 0.6 + 2.3 + 2.35);
	check_near(metric_of(&got.warm, "peak_over_request"), 1.0 / 3);
	check_near(metric_of(&got.warm, "time_over_request"), 0.5 / 3);
	trace_release(&trace);
}

/* Peaks 0.5 0.5 0.01 | 0.01 0.01: krr gives at least 100Mi, the VerticalPodAutoscaler 250Mi. */
static void small_runs_get_the_floor(void **state)
{
	static const double gib[] = {0.01, 0.01, 0.01, 0.01, 0.01, 0};
	struct trace trace = TRACE_INIT;
	struct blocks krr, vpa, peak;

	(void)state;
	trace_workload_of(&trace, "w", gib);
	krr = walk(&trace, &rule_krr, WALK_FORWARD);
	vpa = walk(&trace, &rule_vpa_p90, WALK_FORWARD);
	peak = walk(&trace, &rule_peak_20, WALK_FORWARD);
	check_near(krr.warm.sums[SUM_LIMIT], 2 * 100.0 / 1024);
	check_near(vpa.warm.sums[SUM_LIMIT], 2 * 250.0 / 1024);
	check_near(peak.warm.sums[SUM_LIMIT], 2 * 0.012);
	trace_release(&trace);
}

/* A day halves the weight of a sample: after ten runs of 4, 30 days ago, one of 1 is more than 99 % of the weight. The
 * limit of both later runs is 1.2096. Two years between runs must not overflow the weights. */
static void samples_of_the_vpa_age(void **state)
{
	struct trace trace = TRACE_INIT;
	struct blocks got;

	(void)state;
	trace_start(&trace, "w");
	for (int i = 0; i < 10; i++)
		trace_add(&trace, i, 1, 4);
	trace_add(&trace, 30 * 24, 1, 1);
	trace_add(&trace, 30 * 24 + 2, 1, 1);
	trace_add(&trace, 6 * 365 * 24, 1, 1);
	trace_add(&trace, 6 * 365 * 24 + 2, 1, 1);
	got = walk(&trace, &rule_vpa_p95, WALK_FORWARD);
	/* seven runs at the limit of 4, the one of 1 as well, and then three at that of 1 */
	check_near(got.warm.sums[SUM_LIMIT], 8 * 4.6322 + 3 * 1.2096);
	trace_release(&trace);
}

/* Peaks 1 1 1 | 2 2. The fourth run starts at 3 h and takes 10 h, the fifth starts at 4 h. Walk-forward knows the peak
 * of the fourth by then; in causal order it has not ended, and the fifth run is killed too. */
static void causal_order_knows_only_runs_that_have_ended(void **state)
{
	struct trace trace = TRACE_INIT;

	(void)state;
	trace_start(&trace, "w");
	for (int i = 0; i < 3; i++)
		trace_add(&trace, i, 1, 1);
	trace_add(&trace, 3, 10, 2);
	trace_add(&trace, 4, 1, 2);
	assert_true(walk(&trace, &rule_krr, WALK_FORWARD).warm.sums[SUM_KILLED] == 1);
	assert_true(walk(&trace, &rule_krr, WALK_CAUSAL).warm.sums[SUM_KILLED] == 2);
	trace_release(&trace);
}

/* All runs start together. In causal order nobody has a history: runs 2, 4 and 5 keep their own limit of 3, run 3 has
 * none and is not scored. */
static void a_run_without_history_keeps_its_own_limit(void **state)
{
	struct trace trace = TRACE_INIT;
	struct blocks got;

	(void)state;
	trace_start(&trace, "w");
	for (int i = 0; i < 5; i++)
		trace_add(&trace, 0, 1, 1)->limit_bytes = i == 2 ? 0 : 3 * (int64_t)GIB;
	for (size_t i = 0; i < n_rules; i++) {
		test_row(rules[i]->name);
		got = walk(&trace, rules[i], WALK_CAUSAL);
		assert_true(got.cold.sums[SUM_SCORED] == 1 && got.warm.sums[SUM_SCORED] == 2);
		check_near(got.warm.sums[SUM_WASTE_PEAK], rules[i]->is_oracle ? 0 : 4);
	}
	trace_release(&trace);
}

static void workloads_with_few_runs_are_not_scored(void **state)
{
	static const double gib[] = {1, 1, 1, 1, 0};
	struct trace trace = TRACE_INIT;
	struct blocks got;

	(void)state;
	trace_workload_of(&trace, "w", gib);
	got = walk(&trace, &rule_krr, WALK_FORWARD);
	assert_true(got.cold.sums[SUM_SCORED] == 0 && got.warm.sums[SUM_SCORED] == 0);
	trace_release(&trace);
}

/* ---- memtamer ---- */

struct sizes {
	struct rule_size of[64];
	int n;
};

static void keep_size(void *context, const struct rule_run *run, bool is_cold)
{
	struct sizes *sizes = context;

	(void)is_cold;
	sizes->of[sizes->n++] = run->given;
}

/* The size that the recommender writes after these runs, and that a pod gets without a spec. */
static struct rule_size written_size(const double *gib, int n)
{
	CLEANUP(history_freep) struct history *history = history_new("ns", "w");
	struct sizing_policy sizing = sizing_default();
	struct arena arena = ARENA_INIT(MIB);
	struct recommendation recommendation;
	struct size_reasons reasons;
	enum size_by by[2];

	assert_non_null(history);
	for (int i = 0; i < n; i++) {
		int64_t bytes = (int64_t)(gib[i] * (double)GIB);
		struct run run = {.start_ms = (i + 1) * HOUR_MS,
				  .duration_ms = HOUR_MS,
				  .peak_bytes = bytes,
				  .median_bytes = bytes,
				  .limit_bytes = 8 * (int64_t)GIB,
				  .outcome = OUTCOME_COMPLETED,
				  .is_whole = true,
				  .attempts = 1,
				  .ranks = 1};

		snprintf(run.uid, sizeof(run.uid), "%d", i);
		assert_int_equal(history_add_run(history, &run), 0);
	}
	assert_int_equal(size_base(history, NULL, &sizing, NULL, &arena, &recommendation, &reasons, NULL), 0);
	size_apply(&sizing, &profile_spec_none, &recommendation, by);
	arena_release(&arena);
	return (struct rule_size){recommendation.request_bytes, recommendation.limit_bytes};
}

static void memtamer_is_what_the_recommender_writes(void **state)
{
	static const double gib[] = {1, 2, 1.5, 1, 2, 1.9, 0};
	struct sizing_policy sizing = sizing_default();
	struct trace trace = TRACE_INIT;
	struct sizes sizes = {.n = 0};

	(void)state;
	trace_workload_of(&trace, "w", gib);
	assert_int_equal(walk_workload(&trace, &trace.workloads.items[0], &rule_memtamer, WALK_FORWARD, &sizing,
				       keep_size, &sizes),
			 0);
	assert_int_equal(sizes.n, 5); /* all but the first run */
	for (int i = 0; i < sizes.n; i++) {
		struct rule_size want = written_size(gib, i + 1);

		assert_int_equal(sizes.of[i].limit_bytes, want.limit_bytes);
		assert_int_equal(sizes.of[i].request_bytes, want.request_bytes);
	}
	trace_release(&trace);
}

/* A run that failed proves only a lower bound, so the buffer is that of fewer whole runs. In walk-forward order all
 * runs count as completed. */
static void outcomes_count_in_causal_order_only(void **state)
{
	static const double gib[] = {1, 1, 1, 1, 1, 0};
	struct trace trace = TRACE_INIT;
	double limits[4];

	(void)state;
	trace_workload_of(&trace, "w", gib);
	limits[0] = walk(&trace, &rule_memtamer, WALK_FORWARD).warm.sums[SUM_LIMIT];
	limits[1] = walk(&trace, &rule_memtamer, WALK_CAUSAL).warm.sums[SUM_LIMIT];
	trace.runs.items[1].outcome = OUTCOME_FAILED;
	limits[2] = walk(&trace, &rule_memtamer, WALK_FORWARD).warm.sums[SUM_LIMIT];
	limits[3] = walk(&trace, &rule_memtamer, WALK_CAUSAL).warm.sums[SUM_LIMIT];
	assert_true(limits[0] == limits[1] && limits[0] == limits[2] && limits[3] > limits[1]);
	trace_release(&trace);
}

/* ---- what holds for every trace ---- */

static void random_workload(struct trace *trace, struct random *random, int n)
{
	double start = 0;

	trace_start(trace, "w");
	for (int i = 0; i < n; i++) {
		start += 3 * random_share(random) * (double)random_below(random, 2);
		trace_add(trace, start, 0.01 + 5 * random_share(random), exp2(10 * random_share(random) - 7));
		trace->runs.items[i].outcome = random_below(random, 5) ? OUTCOME_COMPLETED : OUTCOME_FAILED;
		trace->runs.items[i].limit_bytes = 64 * (int64_t)GIB;
	}
}

static void an_oracle_never_kills_nor_wastes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random random = {seed};
		struct trace trace = TRACE_INIT;

		random_workload(&trace, &random, 50);
		for (size_t v = 0; v < ARRAY_LEN(variants); v++) {
			struct blocks got = walk(&trace, &rule_oracle, variants[v].variant);

			assert_true(got.warm.sums[SUM_SCORED] == 47 && got.cold.sums[SUM_SCORED] == 2);
			assert_true(got.warm.sums[SUM_RETRIES] == 0 && got.cold.sums[SUM_RETRIES] == 0);
			assert_true(got.warm.sums[SUM_WASTE_PEAK] == 0 && got.cold.sums[SUM_WASTE_PEAK] == 0);
		}
		trace_release(&trace);
	}
}

static void a_later_run_never_changes_an_earlier_result(void **state)
{
	enum { RUNS = 60 };

	(void)state;
	for (uint64_t i = 0; i < 5 * n_rules * ARRAY_LEN(variants); i++) {
		const struct rule *rule = rules[i % n_rules];
		enum walk_variant variant = variants[i / n_rules % ARRAY_LEN(variants)].variant;
		struct sizing_policy sizing = sizing_default();
		struct sizes whole = {.n = 0};
		struct random random = {i + 1};
		struct trace trace = TRACE_INIT;

		random_workload(&trace, &random, RUNS);
		assert_int_equal(
			walk_workload(&trace, &trace.workloads.items[0], rule, variant, &sizing, keep_size, &whole), 0);
		assert_int_equal(whole.n, RUNS - 1);
		for (size_t n = WALK_MIN_RUNS; n < RUNS; n += 11) {
			struct trace_workload part = {.name = "w", .first = 0, .n = n};
			struct sizes sizes = {.n = 0};

			assert_int_equal(walk_workload(&trace, &part, rule, variant, &sizing, keep_size, &sizes), 0);
			assert_int_equal(sizes.n, n - 1);
			assert_memory_equal(sizes.of, whole.of, (n - 1) * sizeof(*sizes.of));
		}
		trace_release(&trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_are_as_computed_by_hand),
		cmocka_unit_test(waste_by_area_counts_the_use_over_time),
		cmocka_unit_test(small_runs_get_the_floor),
		cmocka_unit_test(samples_of_the_vpa_age),
		cmocka_unit_test(causal_order_knows_only_runs_that_have_ended),
		cmocka_unit_test(a_run_without_history_keeps_its_own_limit),
		cmocka_unit_test(workloads_with_few_runs_are_not_scored),
		cmocka_unit_test(memtamer_is_what_the_recommender_writes),
		cmocka_unit_test(outcomes_count_in_causal_order_only),
		cmocka_unit_test(an_oracle_never_kills_nor_wastes),
		cmocka_unit_test(a_later_run_never_changes_an_earlier_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
