/* SPDX-License-Identifier: Apache-2.0 */
/* What status says of coverage and risk. */
#include "report_fixture.h"

#include "report/coverage.h"
#include "report/figures.h"
#include "report/riskiest.h"

/* ---- coverage ---- */

static void reasons_of_what_is_not_matched(void **state)
{
	static const struct {
		struct run_row run;
		enum coverage_reason want;
	} rows[] = {
		{{.hours_ago = 5, .peak = 100}, COVERAGE_TOO_FEW_RUNS},
		{{.hours_ago = 5}, COVERAGE_NO_USAGE},
		{{.hours_ago = 5, .peak = 100, .outcome = OUTCOME_RUNNING}, COVERAGE_STILL_RUNNING},
		{{.hours_ago = 5, .peak = 100, .outcome = OUTCOME_FAILED}, COVERAGE_ENDED_EARLY},
		{{.hours_ago = 5, .peak = 100, .outcome = OUTCOME_DELETED}, COVERAGE_ENDED_EARLY},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct knowledge knowledge = KNOWLEDGE_INIT;
		struct coverage coverage;

		know(&knowledge, "ml", "train", "main", NULL, &rows[i].run, 1);
		assert_int_equal(coverage_compute(&knowledge, 0, NOW_MS, &coverage), 0);
		assert_int_equal(coverage.total_runs, 1);
		assert_int_equal(coverage.runs[rows[i].want], 1);
		assert_int_equal(coverage_permille(&coverage), 0);
		knowledge_release(&knowledge);
	}
}

static void no_end_and_seen_in_part(void **state)
{
	static const struct run_row row = {.hours_ago = 5, .peak = 100};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct coverage coverage;
	struct run *run;

	(void)state;
	run = &know(&knowledge, "ml", "train", "main", NULL, &row, 1)->history->runs.items[0];
	run->is_whole = false;
	assert_int_equal(coverage_compute(&knowledge, 0, NOW_MS, &coverage), 0);
	assert_int_equal(coverage.runs[COVERAGE_SEEN_IN_PART], 1);
	run->outcome = OUTCOME_UNKNOWN;
	assert_int_equal(coverage_compute(&knowledge, 0, NOW_MS, &coverage), 0);
	assert_int_equal(coverage.runs[COVERAGE_NO_END], 1);
	run->is_whole = true;
	profile_free(knowledge.items.items[0].profile);
	knowledge.items.items[0].profile = NULL;
	assert_int_equal(coverage_compute(&knowledge, 0, NOW_MS, &coverage), 0);
	assert_int_equal(coverage.runs[COVERAGE_NO_PROFILE], 1);
	knowledge_release(&knowledge);
}

/* Three whole runs make a workload one with enough; the pods of a run count once, whatever containers they have. */
static void pod_hours_are_counted_once(void **state)
{
	static const struct run_row runs[] = {{.hours_ago = 30, .peak = 100, .ranks = 4},
					      {.hours_ago = 20, .peak = 100, .ranks = 4},
					      {.hours_ago = 10, .peak = 100, .ranks = 4}};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct coverage coverage;

	(void)state;
	know(&knowledge, "ml", "train", "helper", NULL, runs, 1);
	know(&knowledge, "ml", "train", "main", NULL, runs, 3);
	know(&knowledge, "other", "single", "main", NULL, runs, 1);
	assert_int_equal(coverage_compute(&knowledge, 0, NOW_MS, &coverage), 0);
	assert_int_equal(coverage.total_runs, 4);
	assert_true(coverage.total_pod_hours > 15.99 && coverage.total_pod_hours < 16.01);
	assert_int_equal(coverage_permille(&coverage), 750);
	/* half of one run is inside, two are before */
	assert_int_equal(coverage_compute(&knowledge, NOW_MS - 10 * TIME_HOUR_MS + TIME_HOUR_MS / 2, NOW_MS, &coverage),
			 0);
	assert_int_equal(coverage.total_runs, 1);
	assert_true(coverage.total_pod_hours > 1.99 && coverage.total_pod_hours < 2.01);
	/* nothing at all */
	assert_int_equal(coverage_compute(&knowledge, NOW_MS, NOW_MS, &coverage), 0);
	assert_int_equal(coverage_permille(&coverage), -1);
	knowledge_release(&knowledge);
}

static void what_fell_out_of_the_list_is_told(void **state)
{
	struct run_row runs[LIMIT_HISTORY_RUNS + 3] = {{.hours_ago = 0}};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct coverage coverage;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(runs); i++)
		runs[i] = (struct run_row){.hours_ago = 100 - (int)i, .peak = 100};
	know(&knowledge, "ml", "train", "main", NULL, runs, ARRAY_LEN(runs));
	assert_int_equal(coverage_compute(&knowledge, NOW_MS - 14 * TIME_DAY_MS, NOW_MS, &coverage), 0);
	assert_int_equal(coverage.total_runs, LIMIT_HISTORY_RUNS);
	assert_int_equal(coverage.cut_workloads, 1);
	/* those that fell out were before this window */
	assert_int_equal(coverage_compute(&knowledge, NOW_MS - 90 * TIME_HOUR_MS, NOW_MS, &coverage), 0);
	assert_int_equal(coverage.cut_workloads, 0);
	knowledge_release(&knowledge);
}

/* ---- risk ---- */

static void the_worst_comes_first(void **state)
{
	static const struct run_row oom[] = {{.hours_ago = 9,
					      .request = 100,
					      .limit = 512,
					      .peak = 500,
					      .outcome = OUTCOME_OOM_KILLED,
					      .killed = 512}},
				    below[] = {{.hours_ago = 9, .request = 100, .limit = 1024, .peak = 1024}},
				    none[] = {{.hours_ago = 9, .request = 100, .peak = 1024}},
				    evicted[] = {{.hours_ago = 9, .request = 100, .limit = 2048, .peak = 1024}},
				    well[] = {{.hours_ago = 9, .request = 1100, .limit = 2048, .peak = 1024}},
				    long_ago[] = {{.hours_ago = 900, .peak = 1024}},
				    wide[] = {{.hours_ago = 9, .request = 100, .peak = 1024, .ranks = 8}};
	static const char *const order[] = {"oom", "below", "wide", "none", "evicted"};
	static const char *const words[] = {"1 of 1 runs OOM-killed; limit still 512Mi",
					    "limit 1Gi is not above the peak of 1Gi", "no memory limit",
					    "no memory limit", "peak 1Gi is above the request of 100Mi"};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct risky risky[RISKIEST];

	(void)state;
	know(&knowledge, "ml", "well", "main", NULL, well, 1);
	know(&knowledge, "ml", "evicted", "main", NULL, evicted, 1);
	know(&knowledge, "ml", "none", "main", NULL, none, 1);
	know(&knowledge, "ml", "long-ago", "main", NULL, long_ago, 1);
	know(&knowledge, "ml", "oom", "main", NULL, oom, 1);
	know(&knowledge, "ml", "wide", "main", NULL, wide, 1);
	know(&knowledge, "ml", "below", "main", NULL, below, 1);
	assert_int_equal(riskiest_find(&knowledge, NOW_MS - 14 * TIME_DAY_MS, NOW_MS, true, risky), ARRAY_LEN(order));
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		assert_string_equal(known_workload(risky[i].known), order[i]);
		assert_non_null(strstr(risky[i].why, words[i]));
	}
	/* limits that nobody saw are no risk that we know of */
	assert_int_equal(riskiest_find(&knowledge, NOW_MS - 14 * TIME_DAY_MS, NOW_MS, false, risky), 3);
	knowledge_release(&knowledge);
}

static void only_ten_and_the_right_ones(void **state)
{
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct risky risky[RISKIEST];
	char name[16];

	(void)state;
	for (int i = 0; i < 25; i++) {
		const struct run_row run = {.hours_ago = 9, .peak = 100, .ranks = 1 + (i * 7) % 25};

		snprintf(name, sizeof(name), "w%d", run.ranks);
		know(&knowledge, "ml", name, "main", NULL, &run, 1);
	}
	assert_int_equal(riskiest_find(&knowledge, 0, NOW_MS, true, risky), RISKIEST);
	for (int i = 0; i < RISKIEST; i++) {
		snprintf(name, sizeof(name), "w%d", 25 - i);
		assert_string_equal(known_workload(risky[i].known), name);
	}
	knowledge_release(&knowledge);
}

/* ---- figures ---- */

static void waste_is_of_every_pod(void **state)
{
	static const struct run_row runs[] = {{.hours_ago = 30, .limit = 3072, .peak = 1024, .ranks = 8},
					      {.hours_ago = 20, .limit = 2048, .peak = 1024},
					      {.hours_ago = 10, .limit = 1024, .peak = 1024, .ranks = 8},
					      {.hours_ago = 5, .peak = 1024, .ranks = 8}};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct known *known = know(&knowledge, "ml", "train", "main", NULL, runs, ARRAY_LEN(runs));
	struct figures figures;

	(void)state;
	known->history->runs.items[1].ranks = 0; /* not known: one at least */
	figures_compute(&knowledge, known, &figures);
	assert_true(figures.waste_gibh > 16.99 && figures.waste_gibh < 17.01);
	known->history->runs.items[3].request_bytes = 3 * GI; /* and no limit: the request is what others cannot use */
	known->history->runs.items[1].request_bytes = 3 * GI; /* with a limit, the limit counts */
	figures_compute(&knowledge, known, &figures);
	assert_true(figures.waste_gibh > 32.99 && figures.waste_gibh < 33.01);
	knowledge_release(&knowledge);
}

/* Of runs that an OOM kill ended, not of those that completed after one. */
static void gpu_hours_are_of_every_pod(void **state)
{
	static const struct run_row runs[] = {{.hours_ago = 30, .limit = 2048, .peak = 1024, .ranks = 8},
					      {.hours_ago = 20, .limit = 2048, .peak = 1024, .killed = 1024},
					      {.hours_ago = 10,
					       .limit = 2048,
					       .peak = 2048,
					       .outcome = OUTCOME_OOM_KILLED,
					       .killed = 2048,
					       .ranks = 2},
					      {.hours_ago = 5, .peak = 1024, .ranks = 8}};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct known *known = know(&knowledge, "ml", "train", "main", NULL, runs, ARRAY_LEN(runs));
	struct figures figures;

	(void)state;
	known->history->runs.items[0].accelerators_milli = 2000;
	known->history->runs.items[1].ranks = 0;		 /* not known: one at least */
	known->history->runs.items[2].accelerators_milli = 1750; /* with a slice of a GPU */
	known->history->runs.items[3].accelerators_milli = 0;
	figures_compute(&knowledge, known, &figures);
	assert_true(figures.gpu_hours > 20.49 && figures.gpu_hours < 20.51); /* 16 + 1 + 3.5 */
	assert_true(figures.oom_gpu_hours > 3.49 && figures.oom_gpu_hours < 3.51);
	knowledge_release(&knowledge);
}

/* With request and limit as recommended, a peak above the request is intended. */
static void our_own_sizes_are_no_risk(void **state)
{
	struct run_row runs[] = {{.hours_ago = 40, .request = 100, .limit = 4096, .peak = 1000},
				 {.hours_ago = 30, .request = 100, .limit = 4096, .peak = 1000},
				 {.hours_ago = 20, .request = 100, .limit = 4096, .peak = 1000},
				 {.hours_ago = 10, .request = 100, .limit = 4096, .peak = 1000}};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct known *known = know(&knowledge, "ml", "train", "main", NULL, runs, ARRAY_LEN(runs));
	struct run *last = &known->history->runs.items[3];
	struct risky risky[RISKIEST];
	struct figures figures;

	(void)state;
	figures_compute(&knowledge, known, &figures);
	assert_int_equal(figures.risk, RISK_OVER_REQUEST);
	last->request_bytes = figures.new_request_bytes;
	last->limit_bytes = figures.new_limit_bytes;
	figures_compute(&knowledge, known, &figures);
	assert_true(figures.peak_bytes > figures.request_bytes);
	assert_int_equal(figures.risk, RISK_NONE);
	assert_int_equal(riskiest_find(&knowledge, 0, NOW_MS, true, risky), 0);
	knowledge_release(&knowledge);
}

/* What will not be lowered is told, with why, and a pin lowers anyway. */
static void what_will_not_be_lowered(void **state)
{
	static const struct run_row runs[] = {{.hours_ago = 40, .request = 4096, .limit = 4096, .peak = 1000},
					      {.hours_ago = 30, .request = 4096, .limit = 4096, .peak = 1000},
					      {.hours_ago = 20, .request = 4096, .limit = 4096, .peak = 1000},
					      {.hours_ago = 10, .request = 4096, .limit = 4096, .peak = 1000}};
	struct profile_spec pin = profile_spec_none;
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct known *known = know(&knowledge, "ml", "train", "main", NULL, runs, ARRAY_LEN(runs));
	struct figures figures;

	(void)state;
	figures_compute(&knowledge, known, &figures);
	assert_true(figures.is_limit_kept && figures.is_request_kept);
	assert_string_equal(figures.not_lowered, "too few complete runs are known (sizing.lowering.minRuns)");
	knowledge.config->policy.sizing.lower_min_runs = 4;
	known->profile->parent.flags = 0;
	figures_compute(&knowledge, known, &figures);
	assert_false(figures.is_limit_kept || figures.is_request_kept);
	assert_null(figures.not_lowered);
	known->profile->parent.flags = REC_LEAK;
	figures_compute(&knowledge, known, &figures);
	assert_true(figures.is_limit_kept && figures.is_request_kept && figures.is_leak);
	assert_string_equal(figures.not_lowered, "memory leak suspected");
	knowledge_release(&knowledge);
	pin.pin_limit_bytes = 2 * GI;
	known = know(&knowledge, "ml", "train", "main", &pin, runs, ARRAY_LEN(runs));
	figures_compute(&knowledge, known, &figures);
	assert_int_equal(figures.new_limit_bytes, 2 * GI);
	assert_false(figures.is_limit_kept || figures.not_lowered);
	knowledge_release(&knowledge);
}

/* A leak is a risk by itself, and nobody is told to give it more. */
static void a_leak_is_a_risk(void **state)
{
	static const struct run_row well[] = {{.hours_ago = 9, .request = 1100, .limit = 2048, .peak = 1024}},
				    none[] = {{.hours_ago = 9, .request = 100, .peak = 1024}};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct risky risky[RISKIEST];

	(void)state;
	know(&knowledge, "ml", "leaks", "main", NULL, well, 1)->profile->parent.flags |= REC_LEAK;
	know(&knowledge, "ml", "unlimited", "main", NULL, none, 1)->profile->parent.flags |= REC_LEAK;
	for (size_t i = 0; i < 2; i++)
		knowledge.items.items[i].profile->parent.confidence = CONFIDENCE_HIGH;
	knowledge.items.items[0].profile->parent.limit_bytes = 4 * GI;
	knowledge.items.items[1].profile->parent.limit_bytes = 4 * GI;
	for (int knows_limits = 0; knows_limits < 2; knows_limits++) {
		assert_int_equal(riskiest_find(&knowledge, 0, NOW_MS, knows_limits, risky), 2);
		for (size_t i = 0; i < 2; i++) {
			assert_non_null(strstr(risky[i].why, "possible leak"));
			assert_null(strstr(risky[i].why, "recommended"));
			assert_int_equal(strstr(risky[i].why, "no memory limit") != NULL,
					 knows_limits && streq(known_workload(risky[i].known), "unlimited"));
		}
	}
	knowledge_release(&knowledge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_of_what_is_not_matched),
		cmocka_unit_test(no_end_and_seen_in_part),
		cmocka_unit_test(pod_hours_are_counted_once),
		cmocka_unit_test(what_fell_out_of_the_list_is_told),
		cmocka_unit_test(gpu_hours_are_of_every_pod),
		cmocka_unit_test(waste_is_of_every_pod),
		cmocka_unit_test(the_worst_comes_first),
		cmocka_unit_test(only_ten_and_the_right_ones),
		cmocka_unit_test(our_own_sizes_are_no_risk),
		cmocka_unit_test(what_will_not_be_lowered),
		cmocka_unit_test(a_leak_is_a_risk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
