/* SPDX-License-Identifier: Apache-2.0 */
#include "size_fixture.h"

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

/* The same file-reading job at growing limits: its working set fills each of them, its need stays. */
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
		T(peaks_outlive_the_list),
		T(floors_ceilings_and_pins),
		T(pins_need_no_history),
		T(lowering_is_forbidden_by),
		T(variants_are_counted_apart),
		T(share_above_the_request),
		T(disk_only_as_measured),
		T(memory_runs_out),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
