/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between rules with their intervals, packed nodes, and the formats. */
#include "backtest_fixture.h"

#include "backtest/backtest_print.h"
#include "backtest/packing.h"
#include "base/str.h"

#include <json-c/json.h>
#include <math.h>

static void test_trace(const struct trace *trace, struct backtest *ret)
{
	struct sizing_policy sizing = sizing_default();
	struct backtest_options options = {
		.rules = rules, .n_rules = n_rules, .sizing = &sizing, .node_bytes = 8 * (int64_t)GIB};

	assert_int_equal(backtest_run(trace, &options, ret, NULL), 0);
	assert_int_equal(ret->rows.n, n_rules * WALK_VARIANT_COUNT_);
}

static void one_workload_gives_a_difference_without_width(void **state)
{
	static const double gib[] = {1, 1, 1, 1, 4, 1, 0};
	struct trace trace = TRACE_INIT;
	struct backtest backtest = BACKTEST_INIT;

	(void)state;
	trace_workload_of(&trace, "w", gib);
	test_trace(&trace, &backtest);
	assert_int_equal(backtest.n_first_runs, 1);
	for (size_t i = 0; i < backtest.rows.n; i++)
		for (int m = 0; m < METRIC_COUNT; m++) {
			struct interval difference = backtest.rows.items[i].warm.differences[m];

			assert_true(fabs(difference.low - difference.value) < 1e-9);
			assert_true(fabs(difference.high - difference.value) < 1e-9);
		}
	/* The oracle is not killed where memtamer is, once in three runs. */
	assert_true(streq(backtest.rows.items[n_rules - 1].rule->name, "oracle"));
	assert_true(fabs(backtest.rows.items[n_rules - 1].warm.differences[METRIC_OOM_RATE].value + 1.0 / 3) < 1e-9);
	backtest_release(&backtest);
	trace_release(&trace);
}

/* In one of four workloads the oracle avoids one kill in two scored runs: in the whole trace one in eight. A resample
 * draws this workload 0 to 4 times, more than twice with a probability of 5 %, so the interval reaches from -3/8 or
 * -2/8 to 0. */
static void intervals_come_from_drawing_workloads(void **state)
{
	static const double steady[] = {1, 1, 1, 1, 1, 0}, jump[] = {1, 1, 1, 1, 4, 0};
	struct trace trace = TRACE_INIT;
	struct backtest backtest = BACKTEST_INIT;
	struct interval difference;

	(void)state;
	trace_workload_of(&trace, "jump", jump);
	for (int i = 0; i < 3; i++)
		trace_workload_of(&trace, "steady", steady);
	test_trace(&trace, &backtest);
	difference = backtest.rows.items[n_rules - 1].warm.differences[METRIC_OOM_RATE];
	assert_true(fabs(difference.value + 1.0 / 8) < 1e-9);
	assert_true(difference.low <= -2.0 / 8 + 1e-9 && difference.low >= -3.0 / 8 - 1e-9);
	assert_true(fabs(difference.high) < 1e-9);
	backtest_release(&backtest);
	trace_release(&trace);
}

static void a_backtest_can_be_repeated(void **state)
{
	static const double a[] = {1, 2, 3, 1, 2, 5, 0}, b[] = {4, 1, 2, 2, 9, 1, 1, 0};
	struct trace trace = TRACE_INIT;
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf second = STRBUF_INIT(MIB);

	(void)state;
	trace_workload_of(&trace, "a", a);
	trace_workload_of(&trace, "b", b);
	for (int i = 0; i < 2; i++) {
		struct backtest backtest = BACKTEST_INIT;

		test_trace(&trace, &backtest);
		assert_int_equal(backtest_json(&backtest, &trace, i ? &second : &first), 0);
		backtest_release(&backtest);
	}
	assert_string_equal(strbuf_text(&first), strbuf_text(&second));
	trace_release(&trace);
}

/* A node of 8 GiB is filled with runs that use 2 GiB. With requests of 1 GiB there are eight of them and 16 GiB are
 * used; with requests of 2 GiB four of them just fit. A request above the node is never placed. */
static void a_node_overruns_if_requests_are_below_use(void **state)
{
	static const double gib[] = {2, 2, 2, 2, 2, 0};
	static const struct {
		const char *name;
		int64_t request_gib;
		double want;
	} rows[] = {{"half", 1, 1}, {"equal", 2, 0}, {"above the node", 9, 0}, {"not scored", 0, 0}};
	struct trace trace = TRACE_INIT;
	struct packing *packing;

	(void)state;
	trace_workload_of(&trace, "w", gib);
	/* 0.8 % more than the quantiles of a sketch may say */
	packing = packing_new(&trace, 8 * (int64_t)GIB + 80 * (int64_t)MIB);
	assert_non_null(packing);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t requests[5];
		double share = -1;

		test_row(rows[i].name);
		for (int k = 0; k < 5; k++)
			requests[k] = rows[i].request_gib * (int64_t)GIB;
		assert_int_equal(packing_overrun_share(packing, requests, &share), 0);
		assert_true(share == rows[i].want);
	}
	packing_free(packing);
	trace_release(&trace);
}

static void json_has_all_figures_of_every_rule(void **state)
{
	static const char *const keys[] = {"rule",
					   "variant",
					   "workloads",
					   "scored",
					   "oom_rate",
					   "oom_rate_macro",
					   "retries_per_run",
					   "waste_peak_gibh",
					   "waste_area_gibh",
					   "limit_slack",
					   "request_slack",
					   "peak_over_request",
					   "time_over_request",
					   "node_overrun_share"};
	static const double gib[] = {1, 2, 3, 1, 2, 5, 0};
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
	struct backtest backtest = BACKTEST_INIT;
	struct trace trace = TRACE_INIT;
	struct json_object *object, *list, *difference;

	(void)state;
	trace_workload_of(&trace, "w", gib);
	test_trace(&trace, &backtest);
	assert_int_equal(backtest_json(&backtest, &trace, &buf), 0);
	object = json_tokener_parse(strbuf_text(&buf));
	assert_non_null(object);
	assert_true(json_object_object_get_ex(object, "rules", &list));
	assert_int_equal(json_object_array_length(list), 12);
	for (size_t i = 0; i < 12; i++) {
		struct json_object *row = json_object_array_get_idx(list, i), *value;

		for (size_t k = 0; k < ARRAY_LEN(keys); k++)
			assert_true(json_object_object_get_ex(row, keys[k], &value));
		/* Only memtamer has no difference to itself. */
		assert_int_equal(json_object_object_get_ex(row, "difference", &difference), i % 6 != 0);
	}
	assert_true(json_object_object_get_ex(object, "cold_start", &list));
	assert_true(json_object_object_get_ex(list, "first_runs", &list));
	assert_int_equal(json_object_get_int(list), 1);
	json_object_put(object);
	backtest_release(&backtest);
	trace_release(&trace);
}

static int count_of(const char *text, const char *part)
{
	int n = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		n++;
	return n;
}

/* Each row is a point and a line of the legend; the rest are points of the curve. Peaks of 1, so the curve wastes 2 %
 * to 100 % of 2 GiBh and the widest rule memtamer or vpa about 25 %: points beyond the axis are left out. */
static void the_plot_has_every_rule_in_both_modes_of_colour(void **state)
{
	static const double gib[] = {1, 1, 1, 1, 1, 0};
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
	struct frontier_point points[FRONTIER_POINTS];
	struct backtest backtest = BACKTEST_INIT;
	struct trace trace = TRACE_INIT;
	const char *text;
	int n_knots;

	(void)state;
	trace_workload_of(&trace, "w", gib);
	test_trace(&trace, &backtest);
	assert_int_equal(frontier_compute(&trace, points), 0);
	for (int i = 0; i < FRONTIER_POINTS; i++)
		assert_true(fabs(points[i].waste_gibh - 2 * points[i].buffer_percent / 100.0) < 1e-6);
	assert_int_equal(backtest_plot(&backtest, points, &buf), 0);
	text = strbuf_text(&buf);
	n_knots = count_of(text, "class=\"knot\"");
	assert_true(n_knots >= 4 && n_knots < FRONTIER_POINTS);
	assert_int_equal(count_of(text, "<circle"), 2 * 12 + n_knots);
	assert_non_null(strstr(text, "@media (prefers-color-scheme: dark)"));
	for (size_t i = 0; i < n_rules; i++) {
		char name[64];

		snprintf(name, sizeof(name), ">%s, causal</text>", rules[i]->name);
		assert_int_equal(count_of(text, name), 1);
	}
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf"));
	backtest_release(&backtest);
	trace_release(&trace);
}

/* A trace without a workload that is long enough is not an error. */
static void nothing_to_score_gives_zeros(void **state)
{
	static const double gib[] = {1, 2, 0};
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(MIB);
	struct frontier_point points[FRONTIER_POINTS];
	struct backtest backtest = BACKTEST_INIT;
	struct trace trace = TRACE_INIT;

	(void)state;
	trace_workload_of(&trace, "w", gib);
	test_trace(&trace, &backtest);
	assert_int_equal(frontier_compute(&trace, points), 0);
	assert_int_equal(backtest_json(&backtest, &trace, &buf), 0);
	assert_int_equal(backtest_plot(&backtest, points, &buf), 0);
	assert_non_null(strstr(strbuf_text(&buf), "\"scored\":0"));
	assert_null(strstr(strbuf_text(&buf), "nan"));
	backtest_release(&backtest);
	trace_release(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_workload_gives_a_difference_without_width),
		cmocka_unit_test(intervals_come_from_drawing_workloads),
		cmocka_unit_test(a_backtest_can_be_repeated),
		cmocka_unit_test(a_node_overruns_if_requests_are_below_use),
		cmocka_unit_test(json_has_all_figures_of_every_rule),
		cmocka_unit_test(the_plot_has_every_rule_in_both_modes_of_colour),
		cmocka_unit_test(nothing_to_score_gives_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
