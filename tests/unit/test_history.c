/* SPDX-License-Identifier: Apache-2.0 */
#include "support/history_text.h"
#include "support/test.h"
#include "support/object_json.h"

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

static void assert_same_maximum(const struct history_maximum *a, const struct history_maximum *b)
{
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->later_bytes, b->later_bytes);
	assert_int_equal(a->later_runs, b->later_runs);
	assert_int_equal(a->near_ms, b->near_ms);
	assert_int_equal(a->near_runs, b->near_runs);
	assert_int_equal(a->gap_runs, b->gap_runs);
	for (size_t i = 0; i < HISTORY_FORGOTTEN; i++) {
		assert_int_equal(a->forgotten[i].bytes, b->forgotten[i].bytes);
		assert_int_equal(a->forgotten[i].near_ms, b->forgotten[i].near_ms);
		assert_int_equal(a->forgotten[i].later_runs, b->forgotten[i].later_runs);
	}
}

static void assert_same_aggregate(const struct history_aggregate *a, const struct history_aggregate *b)
{
	assert_int_equal(a->runs, b->runs);
	assert_int_equal(a->whole_runs, b->whole_runs);
	assert_int_equal(a->oom_runs, b->oom_runs);
	assert_same_maximum(&a->peak, &b->peak);
	assert_same_maximum(&a->killed, &b->killed);
	assert_same_maximum(&a->ephemeral, &b->ephemeral);
	assert_int_equal(a->node_blame, b->node_blame);
	assert_int_equal(a->is_kill_unseen, b->is_kill_unseen);
	assert_int_equal(a->early_runs, b->early_runs);
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
	assert_int_equal(history->aggregate.peak.bytes, 12 * GI);
	before = history->aggregate;
	for (int i = 0; i < 100; i++)
		add(history, whole_run(i, (10 + i % 3) * GI));
	assert_same_aggregate(&history->aggregate, &before);
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
	struct run running = whole_run(0, 5 * GI), ended;

	(void)state;
	running.outcome = OUTCOME_RUNNING;
	running.is_whole = false;
	running.peak_bytes = GI; /* so far */
	running.duration_ms = 50 * TIME_HOUR_MS;
	add(history, running);
	assert_int_equal(history->aggregate.whole_runs, 0);
	for (int i = 1; i < 50; i++)
		add(history, whole_run(i, GI));
	assert_string_equal(history->runs.items[0].uid, "run-0");
	assert_int_equal(history->aggregate.peak.bytes, GI);
	ended = whole_run(0, 9 * GI);
	ended.duration_ms = running.duration_ms;
	add(history, ended);
	assert_int_equal(history->runs.n, LIMIT_HISTORY_RUNS);
	assert_int_equal(history->aggregate.runs, 50);
	assert_int_equal(history->aggregate.whole_runs, 50);
	/* It ended last, so the shorter runs that began after it do not contradict it. */
	assert_int_equal(history->aggregate.peak.bytes, 9 * GI);
}

static void runs_that_end_early_are_lower_bounds(void **state)
{
	struct history_aggregate aggregate = {0};
	struct run run;

	(void)state;
	for (int i = 1; i <= 5; i++) {
		run = whole_run(i, i * GI);
		history_aggregate_add(&aggregate, &run);
	}
	run.is_whole = false;
	run.outcome = OUTCOME_FAILED;
	run.peak_bytes = 4 * GI;
	history_aggregate_add(&aggregate, &run);
	assert_int_equal(aggregate.peak.bytes, 5 * GI);
	run.peak_bytes = 100 * GI;
	history_aggregate_add(&aggregate, &run);
	assert_int_equal(aggregate.runs, 7);
	assert_int_equal(aggregate.whole_runs, 5);
	assert_int_equal(aggregate.peak.bytes, 100 * GI);
}

/* Hourly runs. */
static void add_peaks(struct history_aggregate *aggregate, int n, int64_t peak)
{
	for (int i = 0; i < n; i++) {
		struct run run = whole_run((int)aggregate->runs, peak);

		history_aggregate_add(aggregate, &run);
	}
}

static void a_peak_is_forgotten_by_evidence(void **state)
{
	struct history_aggregate aggregate = {0};
	struct run early = whole_run(0, 10 * GI);

	(void)state;
	early.is_whole = false;
	early.outcome = OUTCOME_FAILED;
	add_peaks(&aggregate, 1, 100 * GI);
	add_peaks(&aggregate, 1, 50 * GI);
	add_peaks(&aggregate, HISTORY_FORGET_RUNS - 2, 20 * GI);
	for (int i = 0; i < HISTORY_FORGET_RUNS; i++)
		history_aggregate_add(&aggregate, &early); /* what it would have needed is not known */
	assert_true(aggregate.peak.bytes == 100 * GI);
	add_peaks(&aggregate, 1, 20 * GI);
	assert_true(aggregate.peak.bytes == 50 * GI); /* the greatest of the later runs */
	add_peaks(&aggregate, HISTORY_FORGET_RUNS - 1, 20 * GI);
	assert_true(aggregate.peak.bytes == 50 * GI);
	add_peaks(&aggregate, 1, 20 * GI);
	assert_true(aggregate.peak.bytes == 20 * GI);
	add_peaks(&aggregate, 1, 200 * GI);
	assert_true(aggregate.peak.bytes == 200 * GI);
}

static void runs_near_the_peak_are_counted(void **state)
{
	struct history_aggregate aggregate = {0};

	(void)state;
	add_peaks(&aggregate, 400, 10 * GI);
	assert_int_equal(aggregate.peak.near_runs, 400);
	add_peaks(&aggregate, 1, 19 * GI); /* far more than ever before */
	assert_int_equal(aggregate.peak.near_runs, 1);
	add_peaks(&aggregate, 1, 20 * GI);
	add_peaks(&aggregate, HISTORY_FORGET_RUNS - 1, 10 * GI);
	assert_int_equal(aggregate.peak.near_runs, 2);
	add_peaks(&aggregate, 1, 10 * GI); /* that is forgotten */
	assert_int_equal(aggregate.peak.near_runs, HISTORY_FORGET_RUNS);
}

static void runs_that_end_early_near_the_peak_are_not_counted(void **state)
{
	struct history_aggregate aggregate = {0};
	struct run early = whole_run(0, 10 * GI);

	(void)state;
	early.is_whole = false;
	early.outcome = OUTCOME_FAILED;
	early.samples = 60;
	for (int i = 0; i < 3 * HISTORY_EARLY_RUNS; i++)
		history_aggregate_add(&aggregate, &early);
	assert_int_equal(aggregate.peak.near_runs, 0);
	early.peak_bytes = 1 * GI;
	for (int i = 0; i < 12 * HISTORY_EARLY_RUNS; i++)
		history_aggregate_add(&aggregate, &early);
	add_peaks(&aggregate, HISTORY_FORGET_RUNS - 13, 1 * GI);
	assert_int_equal(aggregate.peak.bytes, 10 * GI);
	assert_int_equal(aggregate.peak.near_runs, 0);
	add_peaks(&aggregate, 1, 1 * GI); /* that is forgotten */
	assert_int_equal(aggregate.peak.bytes, 1 * GI);
	assert_int_equal(aggregate.peak.near_runs, HISTORY_FORGET_RUNS - 12);
}

static void a_rare_peak_that_comes_again_stays(void **state)
{
	static const struct {
		const char *name;
		int64_t again_bytes;
		int gap, patience;
	} rows[] = {
		{"after 100 runs: for 200", 90 * GI, 101, 200},
		{"each month", 90 * GI, 720, 1438},
		{"after fewer than are forgotten: no longer", 90 * GI, 5, HISTORY_FORGET_RUNS},
		{"so long ago that it is another one", 90 * GI, HISTORY_RECUR_MS / TIME_HOUR_MS + 2,
		 HISTORY_FORGET_RUNS},
		{"a much greater one is new", 300 * GI, 101, HISTORY_FORGET_RUNS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct history_aggregate aggregate = {0};

		test_row(rows[i].name);
		add_peaks(&aggregate, 1, 100 * GI);
		add_peaks(&aggregate, rows[i].gap - 1, 10 * GI);
		add_peaks(&aggregate, 1, rows[i].again_bytes);
		add_peaks(&aggregate, rows[i].patience - 1, 10 * GI);
		assert_true(aggregate.peak.bytes >= rows[i].again_bytes);
		add_peaks(&aggregate, 2, 10 * GI);
		assert_true(aggregate.peak.bytes == 10 * GI);
	}
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
	assert_true(aggregate.peak.bytes == 100 * GI);
}

/* An object may be damaged or written by anybody. */
static void greatest_counters_of_an_object_are_forgotten_too(void **state)
{
	struct history_aggregate aggregate = {.peak = {.bytes = 100 * GI,
						       .later_runs = INT32_MAX,
						       .near_ms = INT64_MAX,
						       .gap_runs = INT32_MAX,
						       .forgotten = {{100 * GI, INT64_MAX, INT32_MAX}}}};

	(void)state;
	add_peaks(&aggregate, 2 * HISTORY_RECUR_MS / TIME_HOUR_MS + 1, 10 * GI);
	assert_int_equal(aggregate.peak.bytes, 10 * GI);
}

/* A daily run and a monthly one among hourly runs: the greater one does not hide the other. */
static void two_rare_peaks_are_remembered(void **state)
{
	struct history_aggregate aggregate = {0};

	(void)state;
	add_peaks(&aggregate, 1, 60 * GI);
	add_peaks(&aggregate, 23, 10 * GI);
	add_peaks(&aggregate, 1, 25 * GI);
	add_peaks(&aggregate, 23, 10 * GI);
	assert_true(aggregate.peak.bytes == 10 * GI);
	add_peaks(&aggregate, 1, 25 * GI); /* the next day */
	add_peaks(&aggregate, 23, 10 * GI);
	assert_true(aggregate.peak.bytes == 25 * GI);
	for (int day = 3; day < 30; day++) {
		add_peaks(&aggregate, 1, 25 * GI);
		add_peaks(&aggregate, 23, 10 * GI);
		assert_true(aggregate.peak.bytes == 25 * GI);
	}
	add_peaks(&aggregate, 1, 60 * GI); /* the next month */
	add_peaks(&aggregate, 1000, 10 * GI);
	assert_true(aggregate.peak.bytes == 60 * GI);
}

/* Killed once at 12Gi; how many further runs it takes until that is forgotten. */
static void a_kill_is_contradicted(void **state)
{
	static const struct {
		const char *name;
		int64_t peak, limit;
		bool is_whole;
		int minutes, runs; /* 0: it stays */
	} rows[] = {
		{"far less", 8 * GI, 24 * GI, true, 30, HISTORY_FORGET_RUNS},
		{"nearly as much", 9 * GI, 24 * GI, true, 30, 0},
		{"nearly as much, without a limit", 9 * GI, 0, true, 30, 0},
		{"nearly as much, under the same limit", 9 * GI, 12 * GI, true, 30, HISTORY_FORGET_RUNS},
		{"nearly as much, under a smaller limit", 9 * GI, 10 * GI, true, 30, HISTORY_FORGET_RUNS},
		{"failed", 8 * GI, 24 * GI, false, 30, HISTORY_EARLY_RUNS * HISTORY_FORGET_RUNS},
		{"failed soon", 8 * GI, 24 * GI, false, 9, 0},
		{"failed with nearly as much", 9 * GI, 12 * GI, false, 30, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct history_aggregate aggregate = {0};
		struct run killed = whole_run(0, 12 * GI), run = whole_run(1, rows[i].peak);

		test_row(rows[i].name);
		killed.outcome = OUTCOME_OOM_KILLED;
		killed.is_whole = false;
		killed.killed_limits[killed.n_killed_limits++] = 12 * GI;
		history_aggregate_add(&aggregate, &killed);
		run.limit_bytes = rows[i].limit;
		run.is_whole = rows[i].is_whole;
		run.outcome = run.is_whole ? OUTCOME_COMPLETED : OUTCOME_FAILED;
		run.duration_ms = rows[i].minutes * TIME_MINUTE_MS;
		run.samples = 60;
		for (int k = 1; k < (rows[i].runs ? rows[i].runs : 200); k++)
			history_aggregate_add(&aggregate, &run);
		assert_true(aggregate.killed.bytes == 12 * GI);
		history_aggregate_add(&aggregate, &run);
		assert_int_equal(!aggregate.killed.bytes, rows[i].runs != 0);
	}
}

/* One run that was deleted at 200Gi of memory and of disk; what is left of that after further runs that were deleted at
 * 100Gi. */
static void peaks_are_contradicted_by_early_ends_where_no_run_completes(void **state)
{
	enum { CONTRADICT = HISTORY_EARLY_RUNS * HISTORY_FORGET_RUNS };
	static const struct {
		const char *name;
		int whole_runs, runs, whole_after; /* whole_after: one more completes after so many; 0: none */
		int64_t peak;
	} rows[] = {
		{"one run less", 0, CONTRADICT - 1, 0, 200 * GI},
		{"no run completes", 0, CONTRADICT, 0, 100 * GI},
		{"one completed", 1, HISTORY_EARLY_ALONE + CONTRADICT - 1, 0, 200 * GI},
		{"one completed long ago", 1, HISTORY_EARLY_ALONE + CONTRADICT, 0, 100 * GI},
		{"one completes in between", 1, HISTORY_EARLY_ALONE + CONTRADICT, HISTORY_EARLY_ALONE, 200 * GI},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct history_aggregate aggregate = {0};
		struct run run = whole_run(1, 200 * GI);

		test_row(rows[i].name);
		add_peaks(&aggregate, rows[i].whole_runs, 10 * GI);
		run.is_whole = false;
		run.outcome = OUTCOME_DELETED;
		run.peak_ephemeral_bytes = 200 * GI;
		history_aggregate_add(&aggregate, &run);
		run.peak_bytes = run.peak_ephemeral_bytes = 100 * GI;
		run.samples = 60;
		for (int k = 1; k <= rows[i].runs; k++) {
			history_aggregate_add(&aggregate, &run);
			if (k == rows[i].whole_after)
				add_peaks(&aggregate, 1, 10 * GI);
		}
		assert_int_equal(aggregate.peak.bytes / GI, rows[i].peak / GI);
		assert_int_equal(aggregate.ephemeral.bytes / GI, rows[i].peak / GI);
	}
}

static void a_killed_limit_is_forgotten_by_smaller_needs(void **state)
{
	struct history_aggregate aggregate = {0};
	struct run killed = whole_run(0, 39 * GI);

	(void)state;
	killed.outcome = OUTCOME_OOM_KILLED;
	killed.is_whole = false;
	killed.killed_limits[0] = 40 * GI;
	killed.n_killed_limits = 1;
	history_aggregate_add(&aggregate, &killed);
	assert_int_equal(aggregate.oom_runs, 1);
	assert_true(aggregate.peak.bytes == 0); /* the peak of a killed run is its limit */
	add_peaks(&aggregate, 100, 30 * GI);	/* nearly as much */
	assert_true(aggregate.killed.bytes == 40 * GI);
	add_peaks(&aggregate, HISTORY_FORGET_RUNS - 1, 20 * GI);
	assert_true(aggregate.killed.bytes == 40 * GI);
	killed.killed_limits[0] = 16 * GI;
	history_aggregate_add(&aggregate, &killed);
	add_peaks(&aggregate, 1, 20 * GI);
	assert_true(aggregate.killed.bytes == 16 * GI); /* the greatest of the later kills */
	killed.killed_limits[0] = -1;			/* without any limit: no size is proven */
	history_aggregate_add(&aggregate, &killed);
	assert_true(aggregate.killed.bytes == 16 * GI);
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
	run.gpu = (struct gpu_memory){84912000017, 85912000019};
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
	CLEANUP(strbuf_release)
	struct strbuf text = STRBUF_INIT(2 * LIMIT_HISTORY_BYTES), again = text, plain = text;

	(void)state;
	assert_int_equal(history_encode(history, &text), 0);
	history_text(strbuf_text(&text), &plain);
	print_message("  a full history has %zu bytes, and %zu when it is decompressed\n", text.len, plain.len);
	assert_true(text.len <= LIMIT_HISTORY_BYTES / 2);
	assert_int_equal(count(strbuf_text(&plain), "\"uid\""), LIMIT_HISTORY_RUNS);
	assert_int_equal(count(strbuf_text(&plain), "\"curveMax\""), LIMIT_HISTORY_CURVES);
	assert_int_equal(count(strbuf_text(&plain), "\"day\""), LIMIT_HISTORY_DAYS);
	assert_in_range(count(strbuf_text(&plain), "\"time\""), LIMIT_HISTORY_DECISIONS / 4, LIMIT_HISTORY_DECISIONS);
	back = decode_text(strbuf_text(&text));
	assert_same_aggregate(&back->aggregate, &history->aggregate);
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

static void recurrence_survives(void **state)
{
	CLEANUP(history_freep) struct history *history = new_history(), *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2 * LIMIT_HISTORY_BYTES);

	(void)state;
	for (int i = 0; i < 350; i++)
		add(history, whole_run(i, i % 100 == 50 ? 40 * GI : 10 * GI));
	assert_true(history->aggregate.peak.gap_runs >= 99);
	assert_int_equal(history_encode(history, &text), 0);
	back = decode_text(strbuf_text(&text));
	assert_same_aggregate(&back->dropped, &history->dropped);
	assert_same_aggregate(&back->aggregate, &history->aggregate);
}

static void too_long_history_sheds_curves_then_runs(void **state)
{
	CLEANUP(history_freep) struct history *history = full_history(), *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2 * LIMIT_HISTORY_BYTES), plain = text;

	(void)state;
	for (size_t i = 0; i < history->runs.n; i++) /* each character is written as \u0001 */
		memset(history->runs.items[i].name, 1, sizeof(history->runs.items[i].name) - 1);
	assert_int_equal(history_encode(history, &text), 0);
	history_text(strbuf_text(&text), &plain);
	assert_int_equal(count(strbuf_text(&plain), "\"curveMax\""), 0);
	assert_in_range(count(strbuf_text(&plain), "\"uid\""), 1, LIMIT_HISTORY_RUNS - 1);
	back = decode_text(strbuf_text(&text));
	assert_same_aggregate(&back->aggregate, &history->aggregate);
	assert_int_equal(back->runs.items[back->runs.n - 1].start_ms, history->runs.items[31].start_ms);
}

static void killed_limits_survive(void **state)
{
	CLEANUP(history_freep) struct history *history = new_history(), *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_HISTORY_BYTES), plain = text;
	struct run run = whole_run(0, 39 * GI);

	(void)state;
	run.outcome = OUTCOME_OOM_KILLED;
	run.n_killed_limits = 2;
	run.killed_limits[0] = 40 * GI;
	run.killed_limits[1] = -1;
	add(history, run);
	assert_int_equal(history_encode(history, &text), 0);
	history_text(strbuf_text(&text), &plain);
	assert_non_null(strstr(strbuf_text(&plain), "\"killedAt\":[\"40Gi\",\"none\"]"));
	back = decode_text(strbuf_text(&text));
	assert_int_equal(back->runs.items[0].n_killed_limits, 2);
	assert_true(back->runs.items[0].killed_limits[0] == 40 * GI);
	assert_int_equal(back->runs.items[0].killed_limits[1], -1);
	assert_int_equal(back->runs.items[0].mode, -1);
	assert_int_equal(back->runs.items[0].chosen_by, CHOSEN_BY_USER);
}

/* The oldest was accepted last, as it was killed. When another one ends, it is not counted as a further run. */
static void all_active_runs_survive(void **state)
{
	CLEANUP(history_freep) struct history *history = new_history(), *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_HISTORY_BYTES), a = text, b = text;

	(void)state;
	for (int i = HISTORY_ACTIVE_RUNS; i >= 0; i--) {
		struct run run = whole_run(i, 10 * GI);

		run.outcome = OUTCOME_RUNNING;
		run.n_killed_limits = i == 0;
		run.killed_limits[0] = 8 * GI;
		add(history, run);
	}
	assert_int_equal(history->runs.n, HISTORY_ACTIVE_RUNS + 1);
	assert_int_equal(history_encode(history, &text), 0);
	back = decode_text(strbuf_text(&text));
	assert_int_equal(back->runs.n, HISTORY_ACTIVE_RUNS + 1);
	add(history, whole_run(HISTORY_ACTIVE_RUNS, 10 * GI));
	add(back, whole_run(HISTORY_ACTIVE_RUNS, 10 * GI));
	assert_int_equal(history_encode(history, &a), 0);
	assert_int_equal(history_encode(back, &b), 0);
	assert_string_equal(strbuf_text(&a), strbuf_text(&b));
}

/* 0 is a figure, not the lack of one. */
static void activity_survives(void **state)
{
	CLEANUP(history_freep) struct history *history = new_history(), *back = NULL;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_HISTORY_BYTES), plain = text;
	const int32_t permille[] = {-1, 0, 437, 1000};

	(void)state;
	for (int i = 0; i < (int)ARRAY_LEN(permille); i++) {
		struct run run = whole_run(i, 39 * GI);

		run.activity_permille = permille[i];
		add(history, run);
	}
	assert_int_equal(history_encode(history, &text), 0);
	history_text(strbuf_text(&text), &plain);
	assert_int_equal(count(strbuf_text(&plain), "\"activity\":"), 3);
	assert_int_equal(count(strbuf_text(&plain), "\"activity\":0,"), 1);
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
		{"run no object", HEAD("\"runs\":[1]"), "spec.runs[0]"},
		{"run without uid", HEAD("\"runs\":[{}]"), "spec.runs[0]"},
		{"outcome", HEAD("\"runs\":[{\"uid\":\"a\"},{\"outcome\":\"exploded\"}]"), "spec.runs[1].outcome"},
		{"duration", HEAD("\"runs\":[{\"uid\":\"a\",\"duration\":\"long\"}]"), "spec.runs[0].duration"},
		{"activity over 1000", HEAD("\"runs\":[{\"uid\":\"a\",\"activity\":1001}]"), "spec.runs[0].activity"},
		{"curve over 1000", HEAD("\"runs\":[{\"uid\":\"a\",\"curveMax\":[1001]}]"), "spec.runs[0].curveMax"},
		{"uneven curves", HEAD("\"runs\":[{\"uid\":\"a\",\"curveMax\":[1]}]"), "spec.runs[0].curveMean"},
		{"killed limit", HEAD("\"runs\":[{\"uid\":\"a\",\"killedAt\":[\"x\"]}]"), "spec.runs[0].killedAt"},
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

/* An object with `json` as its compressed data. */
static void packed(const char *json, size_t n, struct strbuf *ret)
{
	CLEANUP(strbuf_release) struct strbuf gzip = STRBUF_INIT(MIB);

	assert_int_equal(gzip_pack(json, n, GZIP_USUAL, &gzip), 0);
	strbuf_clear(ret);
	strbuf_adds(ret, "{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryHistory\","
			 "\"metadata\":{\"name\":\"a\"},\"spec\":{\"data\":\"v1:");
	base64_encode(gzip.text, gzip.len, ret);
	assert_int_equal(strbuf_adds(ret, "\"}}"), 0);
}

static void assert_refused(const char *text, const char *where, const char *says)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct history *history = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(history_read(text, strlen(text), &scratch, &history, &err), -EINVAL);
	assert_null(history);
	assert_string_equal(err.where, where);
	if (!strstr(err.msg, says))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, says);
}

static void refused_data(void **state)
{
	static const struct {
		const char *json, *where, *says;
	} rows[] = {
		{"", "spec.data", "in what is compressed: "},
		{"{\"runs\":[", "spec.data", "in what is compressed: "},
		{"[]", "spec.data", "expected an object, found"},
		{"{\"dropped\":{\"runs\":-1}}", "spec.data.dropped.runs", "out of range"},
		{"{\"droppedUntil\":\"lately\"}", "spec.data.droppedUntil", "not a time"},
		{"{\"runs\":[{\"uid\":\"a\"},{\"outcome\":\"exploded\"}]}", "spec.data.runs[1].outcome", "exploded"},
	};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].json);
		packed(rows[i].json, strlen(rows[i].json), &text);
		assert_refused(strbuf_text(&text), rows[i].where, rows[i].says);
	}
	assert_refused(HEAD("\"data\":\"\""), "spec.data", "later release");
	assert_refused(HEAD("\"data\":\"v2:H4sI\""), "spec.data", "later release");
	assert_refused(HEAD("\"data\":\"v1:\""), "spec.data", "damaged");
	assert_refused(HEAD("\"data\":\"v1:H4s\""), "spec.data", "damaged");
	assert_refused(HEAD("\"data\":\"v1:!!!!\""), "spec.data", "damaged");
	assert_refused(HEAD("\"data\":7"), "spec.data", "expected");
}

/* A few bytes may stand for very many. */
static void what_is_decompressed_is_bounded(void **state)
{
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(64 * MIB), text = STRBUF_INIT(MIB);

	(void)state;
	for (size_t i = 0; i < 32 * MIB / 64; i++)
		strbuf_addf(&json, "%64s", "");
	packed(strbuf_text(&json), json.len, &text);
	assert_true(text.len < 64 * KIB);
	assert_refused(strbuf_text(&text), "spec.data", "longer than 128 KiB when it is decompressed");
}

/* Release 0.1 would else take the object for an empty history, and write that. */
static void release_0_1_refuses_what_is_written_now(void **state)
{
	CLEANUP(history_freep) struct history *history = full_history();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB), old = text;
	const char *data, *end;

	(void)state;
	assert_int_equal(history_encode(history, &text), 0);
	data = strstr(strbuf_text(&text), "\"data\":");
	assert_non_null(data);
	end = strchr(data, ',');
	strbuf_add(&old, strbuf_text(&text), (size_t)(data - strbuf_text(&text)));
	strbuf_adds(&old, end + 1);
	assert_refused(strbuf_text(&old), "spec.runs[0]", "uid: missing");
}

static void people_see_the_last_of_it(void **state)
{
	CLEANUP(history_freep) struct history *history = full_history();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);

	(void)state;
	assert_int_equal(history_encode(history, &text), 0);
	assert_non_null(strstr(strbuf_text(&text), "\"lastDays\":[\"day=2026-10-26 mode=raise runs=12 ooms=1\","
						   "\"day=2026-10-27 mode=raise runs=12\","));
	assert_int_equal(count(strbuf_text(&text), "\"day="), 7);
	assert_int_equal(count(strbuf_text(&text), "\"time="), 8);
	assert_non_null(
		strstr(strbuf_text(&text),
		       "owner=Job/llama-3-8b-sft-nightly-29300001 pod=llama-3-8b-sft-nightly-29300001-worker-0-x4k2p "
		       "pods=64 mode=raise revision=131 "));
	assert_non_null(strstr(strbuf_text(&text), "rule=peak + buffer cap=LimitRange team allows at most 96Gi\"]"));
	assert_int_equal(count(strbuf_text(&text), "\"outcome\":\"completed\""), 1);
	assert_int_equal(count(strbuf_text(&text), "\"uid\""), 0);
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
		cmocka_unit_test(runs_that_end_early_are_lower_bounds),
		cmocka_unit_test(a_peak_is_forgotten_by_evidence),
		cmocka_unit_test(runs_near_the_peak_are_counted),
		cmocka_unit_test(runs_that_end_early_near_the_peak_are_not_counted),
		cmocka_unit_test(a_rare_peak_that_comes_again_stays),
		cmocka_unit_test(near_runs_confirm_a_peak),
		cmocka_unit_test(greatest_counters_of_an_object_are_forgotten_too),
		cmocka_unit_test(two_rare_peaks_are_remembered),
		cmocka_unit_test(a_kill_is_contradicted),
		cmocka_unit_test(peaks_are_contradicted_by_early_ends_where_no_run_completes),
		cmocka_unit_test(a_killed_limit_is_forgotten_by_smaller_needs),
		cmocka_unit_test(full_history_fits_and_survives),
		cmocka_unit_test(recurrence_survives),
		cmocka_unit_test(too_long_history_sheds_curves_then_runs),
		cmocka_unit_test(killed_limits_survive),
		cmocka_unit_test(all_active_runs_survive),
		cmocka_unit_test(activity_survives),
		cmocka_unit_test(refused_rows),
		cmocka_unit_test(refused_data),
		cmocka_unit_test(what_is_decompressed_is_bounded),
		cmocka_unit_test(release_0_1_refuses_what_is_written_now),
		cmocka_unit_test(people_see_the_last_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
