/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/limits.h"
#include "policy/size.h"
#include "policy/size_math.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GI	((int64_t)GIB)
#define MI	((int64_t)MIB)
#define HOUR_MS 3600000

/* A history is built by adding runs; what a row does not say is a whole run of one hour. */
struct fixture {
	struct history *history;
	struct arena arena;
	struct sizing_policy sizing;
	struct profile_spec spec;
	struct recommendation rec;
	struct size_reasons reasons;
	int n;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct policy policy;

	policy_default(&policy);
	f->history = history_new("ns", "w");
	f->arena = (struct arena)ARENA_INIT(GIB);
	f->sizing = policy.sizing;
	f->spec = (struct profile_spec){.quantile_permille = -1, .buffer_permille = -1};
	*state = f;
	return f->history ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	history_free(f->history);
	arena_release(&f->arena);
	free(f);
	return 0;
}

static struct run run_of(struct fixture *f, int64_t peak, int64_t median)
{
	struct run run = {.attempts = 1,
			  .ranks = 1,
			  .world_size = 1,
			  .start_ms = (int64_t)(++f->n) * 2 * HOUR_MS,
			  .duration_ms = HOUR_MS,
			  .limit_bytes = 2 * peak,
			  .mode = -1,
			  .peak_bytes = peak,
			  .peak_rss_bytes = peak,
			  .median_bytes = median,
			  .p95_bytes = (median + peak) / 2,
			  .outcome = OUTCOME_COMPLETED,
			  .is_whole = true,
			  .source = "trace"};

	snprintf(run.uid, sizeof(run.uid), "run-%d", f->n);
	snprintf(run.variant, sizeof(run.variant), "0123456789");
	return run;
}

static void add(struct fixture *f, struct run run)
{
	assert_int_equal(history_add_run(f->history, &run), 0);
}

static void add_whole(struct fixture *f, int64_t peak, int64_t median)
{
	add(f, run_of(f, peak, median));
}

static void add_killed(struct fixture *f, int64_t limit, enum outcome outcome)
{
	struct run run = run_of(f, limit, limit / 2);

	run.is_whole = false;
	run.outcome = outcome;
	run.limit_bytes = limit;
	run.killed_limits[run.n_killed_limits++] = limit;
	add(f, run);
}

static void size(struct fixture *f, const struct recommendation *previous)
{
	assert_int_equal(
		size_base(f->history, NULL, &f->sizing, &f->spec, previous, &f->arena, &f->rec, &f->reasons, NULL), 0);
}

static bool has_reason(const struct fixture *f, const char *part)
{
	for (size_t i = 0; i < f->reasons.n; i++)
		if (strstr(f->reasons.items[i], part))
			return true;
	return false;
}

static void buffer_rows(void **state)
{
	static const struct {
		int64_t n;
		int32_t permille;
	} rows[] = {{0, 440},  {1, 440},  {2, 280},  {3, 200},	{4, 180},	 {5, 167},
		    {12, 125}, {14, 120}, {27, 100}, {300, 65}, {1000000000, 51}};
	const struct fixture *f = *state;
	int32_t last = INT32_MAX;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(size_buffer_permille(&f->sizing, rows[i].n), rows[i].permille);
		assert_true(rows[i].permille <= last);
		last = rows[i].permille;
	}
}

static void round_rows(void **state)
{
	static const struct {
		int64_t bytes, rounded;
	} rows[] = {{-1, 0},
		    {0, 0},
		    {1, MI},
		    {MI, MI},
		    {63 * MI + 1, 64 * MI},
		    {64 * MI, 64 * MI},
		    {100 * MI + 1, 101 * MI},
		    {1000 * MI + 1, 1008 * MI},
		    {96 * GI - 5 * MI, 96 * GI},
		    {96 * GI + 1, 97 * GI},
		    {INT64_MAX, INT64_MAX - INT64_MAX % ((int64_t)1 << 56)}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(size_round_up(rows[i].bytes), rows[i].rounded);
	for (int64_t bytes = 65 * MI; bytes < INT64_MAX / 8; bytes += bytes / 7 + 12345) {
		int64_t rounded = size_round_up(bytes);

		assert_true(rounded >= bytes);
		assert_true(rounded - bytes <= bytes / 64);
		assert_int_equal(rounded % MI, 0);
		assert_int_equal(size_round_up(rounded), rounded);
	}
}

static void math_is_exact(void **state)
{
	struct size_point points[] = {{30, 1}, {10, 2}, {20, 1}};

	(void)state;
	assert_int_equal(size_scale_permille(1, 1), 1);
	assert_int_equal(size_scale_permille(1000, 1119), 1119);
	assert_int_equal(size_scale_permille(1001, 1119), 1121);
	assert_int_equal(size_scale_permille(INT64_MAX, 2000), INT64_MAX);
	assert_int_equal(size_share(INT64_MAX, 3, 8), INT64_MAX / 8 * 3 + 2);
	assert_int_equal(size_share(8, 1, 0), 0);
	assert_int_equal(size_weighted_quantile(points, 3, 500), 10);
	assert_int_equal(size_weighted_quantile(points, 3, 501), 20);
	assert_int_equal(size_weighted_quantile(points, 3, 1000), 30);
	assert_int_equal(size_weighted_quantile(points, 0, 500), 0);
}

static void nothing_known_sizes_nothing(void **state)
{
	struct fixture *f = *state;

	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 0);
	assert_int_equal(f->rec.request_bytes, 0);
	assert_int_equal(f->rec.confidence, CONFIDENCE_NONE);
	assert_int_equal(f->reasons.n, 0);
}

static void whole_runs_make_a_size(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 14; i++)
		add_whole(f, 80 * GI + i * GI / 16, 60 * GI);
	add_whole(f, 60 * GI, 50 * GI);
	size(f, NULL);
	assert_int_equal(f->rec.whole_runs, 15);
	assert_int_equal(f->rec.peak_bytes, 80 * GI + 13 * GI / 16);
	assert_int_equal(f->rec.buffer_permille, 118);
	assert_int_equal(f->rec.limit_bytes, 91 * GI);
	assert_int_equal(f->rec.request_bytes, 60 * GI);
	assert_int_equal(f->rec.median_bytes, 60 * GI);
	assert_int_equal(f->rec.confidence, CONFIDENCE_HIGH);
	assert_int_equal(f->rec.flags, 0);
	assert_true(has_reason(f, "limit 91Gi = peak 80.9Gi of 15 whole runs + 12%"));
	assert_true(has_reason(f, "request 60Gi = median use over time"));
}

static void the_median_is_weighted_by_time(void **state)
{
	struct fixture *f = *state;
	struct run longest = run_of(f, 20 * GI, 16 * GI);

	longest.duration_ms = 10 * HOUR_MS;
	add(f, longest);
	add_whole(f, 20 * GI, 4 * GI);
	add_whole(f, 20 * GI, 5 * GI);
	size(f, NULL);
	assert_int_equal(f->rec.median_bytes, 16 * GI);
}

static void the_sketch_is_preferred(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		add_whole(f, 20 * GI, 4 * GI);
	assert_int_equal(sketch_add(&f->history->usage, 8 * GI, HOUR_MS), 0);
	size(f, NULL);
	assert_in_range(f->rec.median_bytes, 8 * GI - 8 * GI / 100, 8 * GI + 8 * GI / 100);
}

static void confidence_rows(void **state)
{
	static const struct {
		const char *name;
		int whole;
		bool has_kill;
		enum confidence confidence;
	} rows[] = {{"one run", 1, false, CONFIDENCE_LOW},
		    {"two runs", 2, false, CONFIDENCE_LOW},
		    {"minRuns", 3, false, CONFIDENCE_MEDIUM},
		    {"nine", 9, false, CONFIDENCE_MEDIUM},
		    {"ten", 10, false, CONFIDENCE_HIGH},
		    {"only an OOM", 0, true, CONFIDENCE_MEDIUM},
		    {"one run and an OOM", 1, true, CONFIDENCE_MEDIUM}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture *f = *state;

		test_row(rows[i].name);
		if (rows[i].has_kill)
			add_killed(f, 8 * GI, OUTCOME_OOM_KILLED);
		for (int k = 0; k < rows[i].whole; k++)
			add_whole(f, 4 * GI, 2 * GI);
		size(f, NULL);
		assert_int_equal(f->rec.confidence, rows[i].confidence);
		teardown(state);
		assert_int_equal(setup(state), 0);
	}
}

static void class_rows(void **state)
{
	struct fixture *f = *state;

	for (int i = 1; i <= 20; i++)
		add_whole(f, i * GI, GI / 2);
	snprintf(f->spec.size_class, sizeof(f->spec.size_class), "standing");
	size(f, NULL);
	assert_int_equal(f->rec.request_bytes, 19 * GI);
	snprintf(f->spec.size_class, sizeof(f->spec.size_class), "guaranteed");
	size(f, NULL);
	assert_int_equal(f->rec.request_bytes, f->rec.limit_bytes);
	snprintf(f->spec.size_class, sizeof(f->spec.size_class), "dense");
	f->spec.quantile_permille = 950;
	size(f, NULL);
	assert_true(f->rec.request_bytes > GI / 2);
	assert_true(f->rec.request_bytes <= f->rec.limit_bytes);
	f->spec.buffer_permille = 0;
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 20 * GI);
}

static void early_ends_are_lower_bounds(void **state)
{
	static const enum outcome early[] = {OUTCOME_FAILED, OUTCOME_EVICTED_MEMORY, OUTCOME_DELETED,
					     OUTCOME_PREEMPTED};
	struct fixture *f = *state;
	int64_t limit;

	for (int i = 0; i < 3; i++)
		add_whole(f, 10 * GI, 8 * GI);
	size(f, NULL);
	limit = f->rec.limit_bytes;
	for (size_t i = 0; i < ARRAY_LEN(early); i++) {
		struct run run = run_of(f, 2 * GI, GI);

		run.is_whole = false;
		run.outcome = early[i];
		add(f, run);
		size(f, NULL);
		assert_int_equal(f->rec.limit_bytes, limit);
		assert_int_equal(f->rec.median_bytes, 8 * GI);
		assert_int_equal(f->rec.whole_runs, 3);
	}
	struct run run = run_of(f, 30 * GI, GI);

	run.is_whole = false;
	run.outcome = OUTCOME_FAILED;
	add(f, run);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 36 * GI);
	assert_true(has_reason(f, "a run that ended early"));
}

static void a_kill_is_censored_data(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		add_whole(f, 10 * GI, 8 * GI);
	add_killed(f, 16 * GI, OUTCOME_OOM_KILLED);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 32 * GI);
	assert_int_equal(f->rec.proven_bytes, 16 * GI);
	assert_true(f->rec.flags & REC_NO_LOWER);
	assert_true(has_reason(f, "one step beyond a limit that was OOM-killed, 16Gi"));
	/* The same limit again proves nothing new. */
	add_killed(f, 16 * GI, OUTCOME_OOM_KILLED);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 32 * GI);
	/* A greater one does. */
	add_killed(f, 32 * GI, OUTCOME_OOM_KILLED);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 64 * GI);
	/* A whole run above it answers: now the need is known, the old kills are bounds with a buffer. */
	struct run answer = run_of(f, 40 * GI, 20 * GI);

	answer.limit_bytes = 64 * GI;
	add(f, answer);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, size_round_up(size_scale_permille(40 * GI, 1180)));
	assert_int_equal(f->rec.proven_bytes, 32 * GI);
}

static void a_run_under_way_doubles_once(void **state)
{
	struct fixture *f = *state;
	struct run run = run_of(f, 8 * GI, 4 * GI);

	run.is_whole = false;
	run.outcome = OUTCOME_RUNNING;
	run.killed_limits[run.n_killed_limits++] = 8 * GI;
	add(f, run);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 16 * GI);
	run.killed_limits[run.n_killed_limits++] = 16 * GI;
	add(f, run);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 16 * GI);
	assert_true(has_reason(f, "doubled once"));
	/* The next submission may double again. */
	run.outcome = OUTCOME_OOM_KILLED;
	add(f, run);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 32 * GI);
}

static void a_suspicion_raises_once(void **state)
{
	struct fixture *f = *state;
	struct run run = run_of(f, 10 * GI, 5 * GI);

	run.is_whole = false;
	run.outcome = OUTCOME_SUSPECTED_OOM;
	run.limit_bytes = 10 * GI;
	add(f, run);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 15 * GI);
	assert_int_equal(f->rec.confidence, CONFIDENCE_MEDIUM);
	run = run_of(f, 10 * GI, 5 * GI);
	run.is_whole = false;
	run.outcome = OUTCOME_SUSPECTED_OOM;
	run.limit_bytes = 15 * GI;
	add(f, run);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 15 * GI);
}

static void a_leak_is_not_stepped(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++) {
		struct run run = run_of(f, 8 * GI, 4 * GI);

		run.n_curve = LIMIT_CURVE_POINTS;
		for (int k = 0; k < LIMIT_CURVE_POINTS; k++)
			run.curve_mean[k] = run.curve_max[k] = (k + 1) * 8 * GI / LIMIT_CURVE_POINTS;
		add(f, run);
	}
	add_killed(f, 16 * GI, OUTCOME_OOM_KILLED);
	size(f, NULL);
	assert_true(f->rec.flags & REC_LEAK);
	assert_int_equal(f->rec.limit_bytes, 16 * GI);
	assert_true(has_reason(f, "grows to the end"));
}

static void a_plateau_is_no_leak(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++) {
		struct run run = run_of(f, 8 * GI, 8 * GI);

		run.n_curve = LIMIT_CURVE_POINTS;
		for (int k = 0; k < LIMIT_CURVE_POINTS; k++)
			run.curve_mean[k] = MIN(8 * GI, (k + 1) * GI);
		add(f, run);
	}
	size(f, NULL);
	assert_false(f->rec.flags & REC_LEAK);
}

static struct run reading_run(struct fixture *f, int64_t limit)
{
	struct run run = run_of(f, limit, limit - limit / 20);

	run.limit_bytes = limit;
	run.peak_rss_bytes = 3 * GI;
	run.peak_active_file_bytes = limit - 3 * GI;
	run.is_cache_bound = true;
	return run;
}

/* The same file-reading job at growing limits: its working set fills each of them, its need stays. */
static void page_cache_is_no_need(void **state)
{
	struct fixture *f = *state;
	int64_t limit, last = INT64_MAX;
	struct recommendation at_growing_limits;

	for (limit = 8 * GI; limit <= 128 * GI; limit *= 2) {
		add(f, reading_run(f, limit));
		size(f, NULL);
		assert_true(f->rec.limit_bytes <= last);
		last = f->rec.limit_bytes;
	}
	at_growing_limits = f->rec;
	assert_true(at_growing_limits.flags & REC_CACHE_BOUND);
	assert_int_equal(at_growing_limits.peak_bytes, 3 * GI);
	assert_int_equal(at_growing_limits.request_bytes, 3 * GI);
	assert_true(has_reason(f, "page cache left out"));
	teardown(state);
	assert_int_equal(setup(state), 0);
	f = *state;
	for (int i = 0; i < 5; i++)
		add(f, reading_run(f, 8 * GI));
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, at_growing_limits.limit_bytes);
	assert_int_equal(f->rec.request_bytes, at_growing_limits.request_bytes);
	/* Failing close to the limit says nothing where the limit is full of cache. */
	struct run run = reading_run(f, 8 * GI);

	run.is_whole = false;
	run.outcome = OUTCOME_SUSPECTED_OOM;
	add(f, run);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, at_growing_limits.limit_bytes);
}

static void peaks_outlive_the_list(void **state)
{
	struct fixture *f = *state;

	add_whole(f, 50 * GI, 8 * GI);
	for (int i = 0; i < 3; i++)
		add_whole(f, 10 * GI, 8 * GI);
	/* As if the first had fallen out of the list. */
	memmove(f->history->runs.items, f->history->runs.items + 1,
		(f->history->runs.n - 1) * sizeof(*f->history->runs.items));
	f->history->runs.n--;
	size(f, NULL);
	assert_int_equal(f->rec.peak_bytes, 50 * GI);
	assert_int_equal(f->rec.whole_runs, 4);
	f->history->aggregate.killed_limit_bytes = 20 * GI;
	size(f, NULL);
	/* Lived through by later runs at the same limit: still unanswered, they were not above it. */
	assert_int_equal(f->rec.proven_bytes, 20 * GI);
}

static void floors_ceilings_and_pins(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		add_whole(f, 20 * MI, 10 * MI);
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 100 * MI);
	assert_int_equal(f->rec.request_bytes, 32 * MI);
	assert_true(has_reason(f, "limit raised to the floor 100Mi"));
	f->spec.floor_bytes = GI;
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, GI);
	assert_int_equal(f->rec.request_bytes, GI);
	f->spec.floor_bytes = 0;
	f->sizing.ceiling_bytes = 80 * MI;
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 80 * MI);
	assert_true(has_reason(f, "cut to the ceiling 80Mi"));
	f->spec.ceiling_bytes = 64 * MI;
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 64 * MI);
	f->spec.pin_limit_bytes = 12345678;
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 12345678);
	assert_int_equal(f->rec.request_bytes, 12345678);
	assert_int_equal(f->rec.confidence, CONFIDENCE_HIGH);
	f->spec.pin_limit_bytes = 0;
	f->spec.pin_request_bytes = 2 * GI;
	size(f, NULL);
	assert_int_equal(f->rec.request_bytes, 2 * GI);
	assert_int_equal(f->rec.limit_bytes, 2 * GI);
}

static void pins_need_no_history(void **state)
{
	struct fixture *f = *state;

	f->spec.pin_limit_bytes = 4 * GI;
	f->spec.pin_request_bytes = 3 * GI;
	size(f, NULL);
	assert_int_equal(f->rec.limit_bytes, 4 * GI);
	assert_int_equal(f->rec.request_bytes, 3 * GI);
	assert_int_equal(f->rec.confidence, CONFIDENCE_HIGH);
}

static void lowering_is_forbidden_by(void **state)
{
	struct fixture *f = *state;
	struct run odd;

	for (int i = 0; i < 4; i++)
		add_whole(f, 10 * GI, 8 * GI);
	size(f, NULL);
	assert_true(f->rec.flags & REC_NO_LOWER);
	add_whole(f, 10 * GI, 8 * GI);
	size(f, NULL);
	assert_false(f->rec.flags & REC_NO_LOWER);
	test_row("new variant");
	odd = run_of(f, 10 * GI, 8 * GI);
	snprintf(odd.variant, sizeof(odd.variant), "abcdef0123");
	add(f, odd);
	size(f, NULL);
	assert_true(f->rec.flags & REC_NO_LOWER);
	for (int i = 0; i < 4; i++) {
		odd = run_of(f, 10 * GI, 8 * GI);
		snprintf(odd.variant, sizeof(odd.variant), "abcdef0123");
		add(f, odd);
	}
	size(f, NULL);
	assert_false(f->rec.flags & REC_NO_LOWER);
	test_row("bimodal peaks");
	for (int i = 0; i < 2; i++) {
		odd = run_of(f, 19 * GI, 8 * GI);
		snprintf(odd.variant, sizeof(odd.variant), "abcdef0123");
		add(f, odd);
	}
	size(f, NULL);
	assert_true(f->rec.flags & REC_UNSTABLE);
	assert_true(f->rec.flags & REC_NO_LOWER);
}

static void variants_are_counted_apart(void **state)
{
	struct fixture *f = *state;
	struct run other;

	for (int i = 0; i < 3; i++)
		add_whole(f, 10 * GI, 8 * GI);
	other = run_of(f, 40 * GI, 30 * GI);
	snprintf(other.variant, sizeof(other.variant), "abcdef0123");
	add(f, other);
	assert_int_equal(
		size_base(f->history, "abcdef0123", &f->sizing, &f->spec, NULL, &f->arena, &f->rec, &f->reasons, NULL),
		0);
	assert_string_equal(f->rec.variant, "abcdef0123");
	assert_int_equal(f->rec.whole_runs, 1);
	assert_int_equal(f->rec.peak_bytes, 40 * GI);
	assert_int_equal(f->rec.confidence, CONFIDENCE_LOW);
	assert_int_equal(
		size_base(f->history, "0123456789", &f->sizing, &f->spec, NULL, &f->arena, &f->rec, &f->reasons, NULL),
		0);
	assert_int_equal(f->rec.peak_bytes, 10 * GI);
	assert_int_equal(f->rec.whole_runs, 3);
}

static void nothing_moves_while_a_run_is_active(void **state)
{
	struct fixture *f = *state;
	struct recommendation previous;
	struct run active;

	for (int i = 0; i < 3; i++)
		add_whole(f, 10 * GI, 8 * GI);
	size(f, NULL);
	previous = f->rec;
	add_whole(f, 20 * GI, 8 * GI);
	active = run_of(f, 5 * GI, 5 * GI);
	active.is_whole = false;
	active.outcome = OUTCOME_RUNNING;
	add(f, active);
	size(f, &previous);
	assert_int_equal(f->rec.limit_bytes, previous.limit_bytes);
	assert_int_equal(f->rec.request_bytes, previous.request_bytes);
	assert_int_equal(f->rec.runs, 5);
	assert_true(has_reason(f, "unchanged while a run is active"));
	test_row("a kill moves the limit");
	active.killed_limits[active.n_killed_limits++] = previous.limit_bytes;
	add(f, active);
	size(f, &previous);
	assert_int_equal(f->rec.limit_bytes, 2 * previous.limit_bytes);
	assert_int_equal(f->rec.request_bytes, previous.request_bytes);
	test_row("a pin counts at once");
	f->spec.pin_limit_bytes = 9 * GI;
	size(f, &previous);
	assert_int_equal(f->rec.limit_bytes, 9 * GI);
}

static void share_above_the_request(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		add_whole(f, 20 * GI, 10 * GI);
	size(f, NULL);
	assert_int_equal(f->rec.request_bytes, 10 * GI);
	assert_int_equal(f->rec.over_request_permille, 500);
	snprintf(f->spec.size_class, sizeof(f->spec.size_class), "guaranteed");
	size(f, NULL);
	assert_int_equal(f->rec.over_request_permille, 0);
}

static void disk_only_as_measured(void **state)
{
	struct fixture *f = *state;
	static const int64_t peaks[] = {2 * GI, 40 * GI, 3 * GI};

	for (size_t i = 0; i < ARRAY_LEN(peaks); i++)
		add_whole(f, 10 * GI, 8 * GI);
	size(f, NULL);
	assert_int_equal(f->rec.ephemeral_request_bytes, 0);
	assert_int_equal(f->rec.ephemeral_limit_bytes, 0);
	for (size_t i = 0; i < ARRAY_LEN(peaks); i++) {
		struct run run = run_of(f, 10 * GI, 8 * GI);

		run.peak_ephemeral_bytes = peaks[i];
		add(f, run);
	}
	size(f, NULL);
	assert_int_equal(f->rec.ephemeral_request_bytes, 3 * GI);
	assert_int_equal(f->rec.ephemeral_limit_bytes, size_round_up(size_scale_permille(40 * GI, 1157)));
}

/* A higher peak never makes a lower limit, whatever the other runs were. */
static void limits_are_monotone_in_peaks(void **state)
{
	uint32_t seed = 20261121;

	for (int round = 0; round < 300; round++) {
		struct fixture *f = *state;
		int64_t limits[2];
		uint32_t start = seed;

		for (int pass = 0; pass < 2; pass++) {
			seed = start;
			for (int i = 0; i < 6; i++) {
				struct run run;
				int64_t peak;

				seed = seed * 1664525 + 1013904223;
				peak = (int64_t)(seed >> 8) * 4096 + MI;
				if ((seed & 7) == 0) {
					add_killed(f, peak, OUTCOME_OOM_KILLED);
					continue;
				}
				run = run_of(f, peak, peak / 2);
				if (i == round % 6 && pass)
					run.peak_bytes += peak / 3;
				add(f, run);
			}
			size(f, NULL);
			limits[pass] = f->rec.limit_bytes;
			assert_true(f->rec.request_bytes <= f->rec.limit_bytes);
			teardown(state);
			assert_int_equal(setup(state), 0);
			f = *state;
		}
		assert_true(limits[1] >= limits[0]);
	}
}

static void memory_runs_out(void **state)
{
	struct fixture *f = *state;
	int fails = 0, r = -ENOMEM;

	for (int i = 0; i < 3; i++)
		add_whole(f, 10 * GI, 8 * GI);
	for (size_t max = 0; r; max += 16) {
		struct arena arena = ARENA_INIT(max);
		struct err err = ERR_INIT;

		r = size_base(f->history, NULL, &f->sizing, NULL, NULL, &arena, &f->rec, &f->reasons, &err);
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(err.code, r);
		fails += r != 0;
		arena_release(&arena);
	}
	assert_true(fails > 5);
	assert_int_equal(f->rec.whole_runs, 3);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(buffer_rows),
		T(round_rows),
		T(math_is_exact),
		T(nothing_known_sizes_nothing),
		T(whole_runs_make_a_size),
		T(the_median_is_weighted_by_time),
		T(the_sketch_is_preferred),
		T(confidence_rows),
		T(class_rows),
		T(early_ends_are_lower_bounds),
		T(a_kill_is_censored_data),
		T(a_run_under_way_doubles_once),
		T(a_suspicion_raises_once),
		T(a_leak_is_not_stepped),
		T(a_plateau_is_no_leak),
		T(page_cache_is_no_need),
		T(peaks_outlive_the_list),
		T(floors_ceilings_and_pins),
		T(pins_need_no_history),
		T(lowering_is_forbidden_by),
		T(variants_are_counted_apart),
		T(nothing_moves_while_a_run_is_active),
		T(share_above_the_request),
		T(disk_only_as_measured),
		T(limits_are_monotone_in_peaks),
		T(memory_runs_out),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
