/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "model/history.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MI	  ((int64_t)1 << 20)
#define GI	  ((int64_t)1 << 30)
#define FIRST_RUN 1793607300000 /* 2026-11-02T08:15:00Z */

static struct run whole_run(int index, int64_t peak)
{
	struct run run = {.attempts = 1,
			  .ranks = 1,
			  .world_size = 1,
			  .start_ms = FIRST_RUN + index * TIME_HOUR_MS,
			  .duration_ms = 30 * TIME_MINUTE_MS,
			  .limit_bytes = 64 * GI,
			  .mode = -1,
			  .peak_bytes = peak,
			  .outcome = OUTCOME_COMPLETED,
			  .is_whole = true,
			  .source = "query"};

	snprintf(run.uid, sizeof(run.uid), "run-%d", index);
	return run;
}

static void add(struct history *history, struct run run)
{
	assert_int_equal(history_add_run(history, &run), 0);
}

static struct history *new_history(void)
{
	struct history *history = history_new("ml", "bert-0123456789");

	assert_non_null(history);
	return history;
}

static void replay_changes_nothing(void **state)
{
	CLEANUP(history_freep) struct history *history = new_history();
	struct history_aggregate before;

	(void)state;
	for (int i = 0; i < 100; i++)
		add(history, whole_run(i, (10 + i % 3) * GI));
	assert_int_equal(history->runs.n, LIMIT_HISTORY_RUNS);
	assert_string_equal(history->runs.items[0].uid, "run-68");
	assert_int_equal(history->aggregate.runs, 100);
	assert_int_equal(history->aggregate.whole_runs, 100);
	assert_int_equal(history->aggregate.peak_bytes, 12 * GI);
	before = history->aggregate;
	for (int i = 0; i < 100; i++)
		add(history, whole_run(i, (10 + i % 3) * GI));
	assert_memory_equal(&history->aggregate, &before, sizeof(before));
	assert_string_equal(history->runs.items[0].uid, "run-68");
}

static void order_of_arrival_does_not_matter_inside_the_list(void **state)
{
	CLEANUP(history_freep) struct history *up = new_history(), *down = new_history();
	CLEANUP(strbuf_release)
	struct strbuf a = STRBUF_INIT(LIMIT_HISTORY_BYTES), b = STRBUF_INIT(LIMIT_HISTORY_BYTES);

	(void)state;
	for (int i = 0; i < LIMIT_HISTORY_RUNS; i++) {
		add(up, whole_run(i, (1 + i) * GI));
		add(down, whole_run(LIMIT_HISTORY_RUNS - 1 - i, (LIMIT_HISTORY_RUNS - i) * GI));
	}
	assert_int_equal(history_encode(up, &a), 0);
	assert_int_equal(history_encode(down, &b), 0);
	assert_string_equal(strbuf_text(&a), strbuf_text(&b));
}

static void running_run_is_replaced_and_kept(void **state)
{
	CLEANUP(history_freep) struct history *history = new_history();
	struct run running = whole_run(0, 5 * GI);

	(void)state;
	running.outcome = OUTCOME_RUNNING;
	running.is_whole = false;
	add(history, running);
	assert_int_equal(history->aggregate.whole_runs, 0);
	for (int i = 1; i < 50; i++)
		add(history, whole_run(i, GI));
	assert_string_equal(history->runs.items[0].uid, "run-0");
	assert_int_equal(history->aggregate.peak_bytes, GI);
	add(history, whole_run(0, 9 * GI));
	assert_int_equal(history->runs.n, LIMIT_HISTORY_RUNS);
	assert_int_equal(history->aggregate.runs, 50);
	assert_int_equal(history->aggregate.whole_runs, 50);
	assert_true(history->aggregate.peak_bytes > GI);
}

static void mean_and_spread(void **state)
{
	struct history_aggregate aggregate = {0};
	struct run run;

	(void)state;
	for (int i = 1; i <= 5; i++) {
		run = whole_run(i, i * GI);
		history_aggregate_add(&aggregate, &run);
	}
	assert_true(aggregate.peak_mean_bytes / (double)GI > 2.999 && aggregate.peak_mean_bytes / (double)GI < 3.001);
	assert_true(aggregate.peak_m2 / (double)GI / (double)GI > 9.999 &&
		    aggregate.peak_m2 / (double)GI / (double)GI < 10.001);
	run.is_whole = false;
	run.outcome = OUTCOME_FAILED;
	run.peak_bytes = 100 * GI;
	history_aggregate_add(&aggregate, &run);
	assert_int_equal(aggregate.runs, 6);
	assert_int_equal(aggregate.whole_runs, 5);
	assert_int_equal(aggregate.peak_bytes, 5 * GI);
}

static void peaks_decay_by_evidence(void **state)
{
	struct history_aggregate aggregate = {0};
	struct run run = whole_run(0, 100 * GI);
	int64_t before;

	(void)state;
	history_aggregate_add(&aggregate, &run);
	for (int i = 0; i < HISTORY_DECAY_AFTER_RUNS; i++) {
		run.peak_bytes = (20 + i) * GI;
		history_aggregate_add(&aggregate, &run);
		assert_true(aggregate.peak_bytes == 100 * GI);
	}
	/* One near the maximum confirms it, were it not that the decay has begun: it takes a tenth off at a time. */
	run.peak_bytes = 50 * GI;
	history_aggregate_add(&aggregate, &run);
	assert_true(aggregate.peak_bytes == 90 * GI);
	for (int i = 0; i < 10 && aggregate.peak_bytes > 50 * GI; i++) {
		before = aggregate.peak_bytes;
		run.peak_bytes = 30 * GI;
		history_aggregate_add(&aggregate, &run);
		assert_true(aggregate.peak_bytes < before && aggregate.peak_bytes >= before / 10 * 9 - 1);
	}
	assert_true(aggregate.peak_bytes == 50 * GI); /* the greatest of the later runs */
	for (int i = 0; i < HISTORY_DECAY_AFTER_RUNS; i++) {
		assert_true(aggregate.peak_bytes == 50 * GI);
		history_aggregate_add(&aggregate, &run); /* counting began anew */
	}
	assert_true(aggregate.peak_bytes == 50 * GI);
	run.peak_bytes = 200 * GI;
	history_aggregate_add(&aggregate, &run);
	assert_true(aggregate.peak_bytes == 200 * GI);
}

static void near_runs_confirm_a_peak(void **state)
{
	struct history_aggregate aggregate = {0};
	struct run run;

	(void)state;
	for (int i = 0; i < 200; i++) {
		run = whole_run(i, i == 0 ? 100 * GI : i % 20 == 0 ? 70 * GI : 10 * GI);
		history_aggregate_add(&aggregate, &run);
	}
	assert_true(aggregate.peak_bytes == 100 * GI);
}

static void killed_limits_decay_only_by_lower_limits(void **state)
{
	struct history_aggregate aggregate = {0};
	struct run killed = whole_run(0, 39 * GI), run;

	(void)state;
	killed.outcome = OUTCOME_OOM_KILLED;
	killed.is_whole = false;
	killed.killed_limits[0] = 40 * GI;
	killed.n_killed_limits = 1;
	history_aggregate_add(&aggregate, &killed);
	assert_int_equal(aggregate.oom_runs, 1);
	for (int i = 1; i < 100; i++) { /* completed above the killed limit: says nothing about it */
		run = whole_run(i, 20 * GI);
		history_aggregate_add(&aggregate, &run);
	}
	assert_true(aggregate.killed_limit_bytes == 40 * GI);
	for (int i = 0; i < HISTORY_DECAY_AFTER_RUNS + 1; i++) {
		run.limit_bytes = 30 * GI;
		assert_true(aggregate.killed_limit_bytes == 40 * GI);
		history_aggregate_add(&aggregate, &run);
	}
	assert_true(aggregate.killed_limit_bytes == 36 * GI);
	history_aggregate_add(&aggregate, &killed);
	assert_true(aggregate.killed_limit_bytes == 40 * GI);
	assert_int_equal(aggregate.killed_window.runs, 0);
	killed.killed_limits[0] = -1; /* without any limit: no size is proven */
	history_aggregate_add(&aggregate, &killed);
	assert_true(aggregate.killed_limit_bytes == 40 * GI);
	assert_int_equal(aggregate.oom_runs, 3);
}

/* A run with every field at a realistic length. */
static struct run full_run(int index)
{
	struct run run = whole_run(index, 91912000001 + index);

	snprintf(run.uid, sizeof(run.uid), "%016x", index);
	snprintf(run.name, sizeof(run.name), "llama-3-8b-sft-nightly-293%05d", index);
	snprintf(run.variant, sizeof(run.variant), "%010x", index % 4);
	run.attempts = 2;
	run.ranks = run.world_size = 8;
	run.duration_ms = 13 * TIME_HOUR_MS + 17 * TIME_MINUTE_MS + 39 * TIME_SECOND_MS;
	run.accelerators_milli = 8000;
	run.request_bytes = 85899345920;
	run.limit_bytes = 105698800003;
	run.chosen_by = CHOSEN_BY_MEMTAMER;
	run.mode = 3;
	run.own_request_bytes = 85899345921;
	run.own_limit_bytes = 105698800001;
	run.revision = 117;
	run.pending_ms = 17 * TIME_SECOND_MS;
	run.peak_rss_bytes = 81912000003;
	run.peak_active_file_bytes = 7912000005;
	run.median_bytes = 71912000007;
	run.p95_bytes = 90912000009;
	run.min_rank_peak_bytes = 70912000011;
	run.peak_ephemeral_bytes = 10912000013;
	run.is_quantile_exact = true;
	run.samples = 123456;
	run.activity_permille = 973;
	run.n_curve = LIMIT_CURVE_POINTS;
	for (int i = 0; i < LIMIT_CURVE_POINTS; i++) {
		run.curve_max[i] = run.peak_bytes * (i + 1) / LIMIT_CURVE_POINTS;
		run.curve_mean[i] = run.curve_max[i] * 9 / 10;
	}
	return run;
}

static struct history *full_history(void)
{
	struct history *history = new_history();

	free(history->workload);
	history->workload = strdup("CronJob/llama-3-8b-sft-nightly");
	assert_int_equal(history_add_alias(history, "CronJob/llama-3-8b-sft-nightly"), 0);
	assert_int_equal(history_add_alias(history, "Job/llama-3-8b-sft-nightly"), 0);
	assert_int_equal(history_add_alias(history, "Job/llama-3-8b-sft-nightly"), 0);
	for (int i = 0; i < 40; i++)
		add(history, full_run(i));
	for (int i = 0; i < 200; i++)
		assert_int_equal(sketch_add(&history->usage, (int64_t)(1 + i) * 450 * MI, 123456789 + i), 0);
	for (int i = 0; i < LIMIT_HISTORY_DAYS; i++) {
		struct history_day day = {.day = 20759 - 90 + i, .runs = 12, .oom_kills = i % 2, .mode = 3};

		assert_int_equal(vec_push(&history->days, day), 0);
	}
	for (int i = 0; i < LIMIT_HISTORY_DECISIONS; i++) {
		struct history_decision decision = {.time_ms = FIRST_RUN + i * TIME_DAY_MS,
						    .revision = 100 + i,
						    .request_from_bytes = 85899345920,
						    .request_to_bytes = 71940702208,
						    .limit_from_bytes = 105226698752,
						    .limit_to_bytes = 103079215104,
						    .owner = "Job/llama-3-8b-sft-nightly-29300001",
						    .pod = "llama-3-8b-sft-nightly-29300001-worker-0-x4k2p",
						    .pods = 64,
						    .mode = 3,
						    .rule = "peak + buffer",
						    .cap = "LimitRange team allows at most 96Gi"};

		assert_int_equal(vec_push(&history->decisions, decision), 0);
	}
	return history;
}

static struct history *decode_text(const char *text)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct history *history = NULL;
	struct err err = ERR_INIT;

	if (json_parse(text, strlen(text), 32, &object, &err) || history_decode(object, &history, &err))
		fail_msg("%s: %s", err.where, err.msg);
	return history;
}

static int count(const char *text, const char *word)
{
	int n = 0;

	for (const char *p = strstr(text, word); p; p = strstr(p + 1, word))
		n++;
	return n;
}

static void full_history_fits_and_survives(void **state)
{
	CLEANUP(history_freep) struct history *history = full_history(), *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2 * LIMIT_HISTORY_BYTES), again = text;

	(void)state;
	assert_int_equal(history_encode(history, &text), 0);
	print_message("  a full history has %zu bytes\n", text.len);
	assert_true(text.len <= LIMIT_HISTORY_BYTES);
	assert_int_equal(count(strbuf_text(&text), "\"uid\""), LIMIT_HISTORY_RUNS);
	assert_int_equal(count(strbuf_text(&text), "\"curveMax\""), LIMIT_HISTORY_CURVES);
	assert_int_equal(count(strbuf_text(&text), "\"day\""), LIMIT_HISTORY_DAYS);
	assert_in_range(count(strbuf_text(&text), "\"time\""), LIMIT_HISTORY_DECISIONS / 4, LIMIT_HISTORY_DECISIONS);
	back = decode_text(strbuf_text(&text));
	assert_memory_equal(&back->aggregate, &history->aggregate, sizeof(back->aggregate));
	assert_int_equal(back->dropped_until_ms, history->dropped_until_ms);
	assert_int_equal(back->runs.items[31].peak_bytes, history->runs.items[31].peak_bytes);
	assert_int_equal(back->runs.items[31].duration_ms, history->runs.items[31].duration_ms);
	assert_string_equal(back->runs.items[31].source, "query");
	assert_int_equal(back->runs.items[0].n_curve, 0);
	assert_int_equal(back->runs.items[31].n_curve, LIMIT_CURVE_POINTS);
	assert_true(llabs(back->runs.items[31].curve_mean[7] - history->runs.items[31].curve_mean[7]) <
		    history->runs.items[31].peak_bytes / 1000);
	assert_int_equal(back->n_aliases, 2);
	assert_int_equal(history_encode(back, &again), 0);
	assert_string_equal(strbuf_text(&again), strbuf_text(&text));
	/* A replayed run that fell out long ago still counts once after the trip. */
	add(back, full_run(3));
	assert_int_equal(back->aggregate.runs, 40);
}

static void too_long_history_sheds_curves_then_runs(void **state)
{
	CLEANUP(history_freep) struct history *history = full_history(), *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2 * LIMIT_HISTORY_BYTES);

	(void)state;
	for (int i = 0; i < 2000; i++) /* a sketch that takes half of the room */
		assert_int_equal(sketch_add(&history->usage, (int64_t)(1 + i) * (1 + i) * 50000, 123456789), 0);
	assert_int_equal(history_encode(history, &text), 0);
	assert_true(text.len <= LIMIT_HISTORY_BYTES);
	assert_int_equal(count(strbuf_text(&text), "\"curveMax\""), 0);
	assert_in_range(count(strbuf_text(&text), "\"uid\""), 1, LIMIT_HISTORY_RUNS - 1);
	back = decode_text(strbuf_text(&text));
	assert_memory_equal(&back->aggregate, &history->aggregate, sizeof(back->aggregate));
	assert_int_equal(back->runs.items[back->runs.n - 1].start_ms, history->runs.items[31].start_ms);
}

static void killed_limits_survive(void **state)
{
	CLEANUP(history_freep) struct history *history = new_history(), *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_HISTORY_BYTES);
	struct run run = whole_run(0, 39 * GI);

	(void)state;
	run.outcome = OUTCOME_OOM_KILLED;
	run.n_killed_limits = 2;
	run.killed_limits[0] = 40 * GI;
	run.killed_limits[1] = -1;
	add(history, run);
	assert_int_equal(history_encode(history, &text), 0);
	assert_non_null(strstr(strbuf_text(&text), "\"killedAt\":[\"40Gi\",\"none\"]"));
	back = decode_text(strbuf_text(&text));
	assert_int_equal(back->runs.items[0].n_killed_limits, 2);
	assert_true(back->runs.items[0].killed_limits[0] == 40 * GI);
	assert_int_equal(back->runs.items[0].killed_limits[1], -1);
	assert_int_equal(back->runs.items[0].mode, -1);
	assert_int_equal(back->runs.items[0].chosen_by, CHOSEN_BY_USER);
}

/* 0 is a figure, not the lack of one. */
static void activity_survives(void **state)
{
	CLEANUP(history_freep) struct history *history = new_history(), *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_HISTORY_BYTES);
	const int32_t permille[] = {-1, 0, 437, 1000};

	(void)state;
	for (int i = 0; i < (int)ARRAY_LEN(permille); i++) {
		struct run run = whole_run(i, 39 * GI);

		run.activity_permille = permille[i];
		add(history, run);
	}
	assert_int_equal(history_encode(history, &text), 0);
	assert_int_equal(count(strbuf_text(&text), "\"activity\":"), 3);
	assert_int_equal(count(strbuf_text(&text), "\"activity\":0,"), 1);
	back = decode_text(strbuf_text(&text));
	for (size_t i = 0; i < ARRAY_LEN(permille); i++)
		assert_int_equal(back->runs.items[i].activity_permille, permille[i]);
}

#define HEAD(spec)                                                                                                     \
	"{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryHistory\",\"metadata\":{\"name\":\"a\"},"           \
	"\"spec\":{" spec "}}"

static void refused_rows(void **state)
{
	static const struct {
		const char *name, *text, *where;
	} rows[] = {
		{"sketch", HEAD("\"usage\":\"none\""), "spec.usage"},
		{"run no object", HEAD("\"runs\":[1]"), "spec.runs[0]"},
		{"run without uid", HEAD("\"runs\":[{}]"), "spec.runs[0]"},
		{"outcome", HEAD("\"runs\":[{\"uid\":\"a\"},{\"outcome\":\"exploded\"}]"), "spec.runs[1].outcome"},
		{"duration", HEAD("\"runs\":[{\"uid\":\"a\",\"duration\":\"long\"}]"), "spec.runs[0].duration"},
		{"activity over 1000", HEAD("\"runs\":[{\"uid\":\"a\",\"activity\":1001}]"), "spec.runs[0].activity"},
		{"curve over 1000", HEAD("\"runs\":[{\"uid\":\"a\",\"curveMax\":[1001]}]"), "spec.runs[0]"},
		{"uneven curves", HEAD("\"runs\":[{\"uid\":\"a\",\"curveMax\":[1]}]"), "spec.runs[0]"},
		{"killed limit", HEAD("\"runs\":[{\"uid\":\"a\",\"killedAt\":[\"x\"]}]"), "spec.runs[0]"},
		{"day", HEAD("\"days\":[{\"day\":\"2026-13-01\"}]"), "spec.days[0].day"},
		{"decisions no list", HEAD("\"decisions\":{}"), "spec.decisions"},
		{"dropped", HEAD("\"dropped\":{\"runs\":-1}"), "spec.dropped.runs"},
		{"role", HEAD("\"role\":7"), "spec.role"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_putp) struct json_object *object = NULL;
		struct history *history = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		assert_int_equal(json_parse(rows[i].text, strlen(rows[i].text), 32, &object, &err), 0);
		assert_int_equal(history_decode(object, &history, &err), -EINVAL);
		assert_null(history);
		assert_string_equal(err.where, rows[i].where);
	}
}

/* A sweep of many runs submitted in the same second: each counts once, also when the list is read again. */
static void runs_of_one_second_all_count(void **state)
{
	struct history *history = history_new("ml", "sweep");

	(void)state;
	for (int again = 0; again < 2; again++)
		for (int i = 0; i < LIMIT_HISTORY_RUNS + 20; i++) {
			struct run run = {.start_ms = 1000,
					  .duration_ms = 1000,
					  .outcome = OUTCOME_COMPLETED,
					  .is_whole = true,
					  .peak_bytes = 1000,
					  .source = "query"};

			snprintf(run.uid, sizeof(run.uid), "run-%02d", i);
			assert_int_equal(history_add_run(history, &run), 0);
			if (!again)
				assert_int_equal(history->aggregate.runs, i + 1);
		}
	assert_int_equal(history->runs.n, LIMIT_HISTORY_RUNS);
	assert_int_equal(history->aggregate.runs, LIMIT_HISTORY_RUNS + 20);
	history_free(history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_of_one_second_all_count),
		cmocka_unit_test(replay_changes_nothing),
		cmocka_unit_test(order_of_arrival_does_not_matter_inside_the_list),
		cmocka_unit_test(running_run_is_replaced_and_kept),
		cmocka_unit_test(mean_and_spread),
		cmocka_unit_test(peaks_decay_by_evidence),
		cmocka_unit_test(near_runs_confirm_a_peak),
		cmocka_unit_test(killed_limits_decay_only_by_lower_limits),
		cmocka_unit_test(full_history_fits_and_survives),
		cmocka_unit_test(too_long_history_sheds_curves_then_runs),
		cmocka_unit_test(killed_limits_survive),
		cmocka_unit_test(activity_survives),
		cmocka_unit_test(refused_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
