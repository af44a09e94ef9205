/* SPDX-License-Identifier: Apache-2.0 */
#include "size_fixture.h"

#include "policy/decide.h"

static void buffer_rows(void **state)
{
	static const struct {
		int64_t n, peak_bytes;
		int32_t permille; /* 20 + 600 / n + 384Mi / peak */
	} rows[] = {{0, 96 * GI, 624},
		    {1, 96 * GI, 624},
		    {2, 96 * GI, 324},
		    {3, 96 * GI, 224},
		    {10, 96 * GI, 84},
		    {600, 96 * GI, 25},
		    {1000000000, 96 * GI, 25},
		    {10, 384 * MI, 1080},
		    {10, 1, SIZE_BUFFER_PERMILLE_MAX},
		    {10, 0, 80},
		    {10, INT64_MAX, 81}};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(size_buffer_permille(&f->sizing, rows[i].n, rows[i].peak_bytes), rows[i].permille);
}

/* 400 smaller runs do not say how far the next large one goes. */
static void the_buffer_is_wider_while_few_runs_came_near_the_peak(void **state)
{
	static const struct {
		int64_t peak, limit_mib;
		int32_t permille; /* 20 + 600 / n + 384Mi / peak; n is at most 12 for each run near the peak */
	} rows[] = {{10 * GI, 10880, 60}, {19 * GI, 21248, 90}, {20 * GI, 22016, 64}};
	struct fixture *f = *state;

	for (int i = 0; i < 399; i++)
		add_whole(f, 10 * GI, 6 * GI);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		add_whole(f, rows[i].peak, 6 * GI);
		size(f);
		assert_int_equal(f->rec.buffer_permille, rows[i].permille);
		assert_int_equal(f->rec.limit_bytes / MI, rows[i].limit_mib);
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

	size(f);
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
	size(f);
	assert_int_equal(f->rec.whole_runs, 15);
	assert_int_equal(f->rec.peak_bytes, 80 * GI + 13 * GI / 16);
	assert_int_equal(f->rec.buffer_permille, 65);
	assert_int_equal(f->rec.limit_bytes, 87 * GI);
	assert_int_equal(f->rec.request_bytes, 60 * GI);
	assert_int_equal(f->rec.median_bytes, 60 * GI);
	assert_int_equal(f->rec.confidence, CONFIDENCE_HIGH);
	assert_int_equal(f->rec.flags, 0);
	assert_true(has_reason(f, "limit 87Gi = peak 82752Mi of 15 complete runs + 7 %"));
	assert_true(has_reason(f, "request 60Gi = median use over time"));
}

static void the_median_is_weighted_by_time(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 6; i++) {
		struct run run = run_of(f, 20 * GI, i < 2 ? 16 * GI : 4 * GI);

		run.duration_ms = i < 2 ? 5 * HOUR_MS : HOUR_MS;
		add(f, run);
	}
	size(f);
	assert_int_equal(f->rec.median_bytes, 16 * GI);
}

static void no_run_decides_the_request_alone(void **state)
{
	struct fixture *f = *state;
	struct run longest = run_of(f, 60 * GI, 50 * GI);

	longest.duration_ms = (int64_t)1000 * HOUR_MS;
	for (int i = 0; i < 8; i++)
		add_whole(f, 10 * GI, 8 * GI);
	add(f, longest);
	size(f);
	assert_int_equal(f->rec.request_bytes, 8 * GI);
}

static void the_request_follows_the_newest_runs(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 300; i++)
		add_whole(f, 12 * GI, 10 * GI);
	for (int i = 0; i < HISTORY_FORGET_RUNS; i++)
		add_whole(f, 36 * GI, 30 * GI);
	size(f);
	assert_int_equal(f->rec.request_bytes, 30 * GI);
}

/* Ten runs with medians of 1Gi to 10Gi, and p95 8Gi above. */
static void quantiles_are_of_runs_and_of_their_time(void **state)
{
	static const struct {
		int32_t permille;
		int64_t bytes;
	} rows[] = {{100, 1 * GI}, {500, 5 * GI}, {700, 7 * GI + 8 * GI * 4 / 9}, {900, 9 * GI + 8 * GI * 8 / 9}};
	struct fixture *f = *state;

	for (int i = 1; i <= 10; i++) {
		struct run run = run_of(f, 30 * GI, i * GI);

		run.p95_bytes = (i + 8) * GI;
		add(f, run);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		f->spec.quantile_permille = rows[i].permille;
		size(f);
		assert_int_equal(f->rec.request_bytes, size_round_up(rows[i].bytes));
	}
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
		size(f);
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
	size(f);
	assert_int_equal(f->rec.request_bytes, 19 * GI);
	snprintf(f->spec.size_class, sizeof(f->spec.size_class), "guaranteed");
	size(f);
	assert_int_equal(f->rec.request_bytes, f->rec.limit_bytes);
	snprintf(f->spec.size_class, sizeof(f->spec.size_class), "dense");
	f->spec.quantile_permille = 950;
	size(f);
	assert_true(f->rec.request_bytes > GI / 2);
	assert_true(f->rec.request_bytes <= f->rec.limit_bytes);
	f->spec.buffer_permille = 0;
	size(f);
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
	size(f);
	limit = f->rec.limit_bytes;
	for (size_t i = 0; i < ARRAY_LEN(early); i++) {
		struct run run = run_of(f, 2 * GI, GI);

		run.is_whole = false;
		run.outcome = early[i];
		add(f, run);
		size(f);
		assert_int_equal(f->rec.limit_bytes, limit);
		assert_int_equal(f->rec.median_bytes, 8 * GI);
		assert_int_equal(f->rec.whole_runs, 3);
	}
	struct run run = run_of(f, 30 * GI, GI);

	run.is_whole = false;
	run.outcome = OUTCOME_FAILED;
	add(f, run);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 37 * GI);
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
	size(f);
	assert_int_equal(f->rec.peak_bytes, 50 * GI);
	assert_int_equal(f->rec.whole_runs, 4);
	f->history->aggregate.killed.bytes = 20 * GI;
	size(f);
	/* Lived through by later runs at the same limit: still unanswered, they were not above it. */
	assert_int_equal(f->rec.proven_bytes, 20 * GI);
}

/* Sizes in Mi; 0: not there. */
struct apply_row {
	const char *name;
	int64_t request, limit;		      /* learned */
	int64_t config_floor, config_ceiling; /* config_floor: of both */
	struct profile_spec spec;	      /* bytes in Mi, too */
	int64_t want_request, want_limit;
	enum size_by request_by, limit_by;
};

#define SPEC(...) .spec = {.quantile_permille = -1, .buffer_permille = -1, __VA_ARGS__}

static const struct apply_row apply_rows[] = {
	{"nothing decided", 10, 20, 1, 0, SPEC(), 10, 20, SIZE_BY_RUNS, SIZE_BY_RUNS},
	{"nothing known", 0, 0, 32, 64, SPEC(.floor_bytes = 8), 0, 0, SIZE_BY_RUNS, SIZE_BY_RUNS},
	{"use never seen", 0, 100, 32, 0, SPEC(), 32, 100, SIZE_BY_FLOOR, SIZE_BY_RUNS},
	{"floors of the configuration", 10, 20, 32, 0, SPEC(), 32, 32, SIZE_BY_FLOOR, SIZE_BY_FLOOR},
	{"ceiling of the configuration", 10, 200, 1, 64, SPEC(), 10, 64, SIZE_BY_RUNS, SIZE_BY_CEILING},
	{"a ceiling bounds the request too", 100, 200, 1, 64, SPEC(), 64, 64, SIZE_BY_CEILING, SIZE_BY_CEILING},
	{"the spec's ceiling replaces the other, up", 10, 200, 1, 64, SPEC(.ceiling_bytes = 128), 10, 128, SIZE_BY_RUNS,
	 SIZE_BY_SPEC_CEILING},
	{"... and down", 10, 200, 1, 64, SPEC(.ceiling_bytes = 32), 10, 32, SIZE_BY_RUNS, SIZE_BY_SPEC_CEILING},
	{"the spec's floor replaces the other, down", 4, 6, 32, 0, SPEC(.floor_bytes = 5), 5, 6, SIZE_BY_SPEC_FLOOR,
	 SIZE_BY_RUNS},
	{"the spec's floor above the other ceiling", 4, 80, 1, 64, SPEC(.floor_bytes = 70), 70, 70, SIZE_BY_SPEC_FLOOR,
	 SIZE_BY_CEILING},
	{"the spec's ceiling below the other floor", 4, 6, 32, 0, SPEC(.ceiling_bytes = 16), 16, 16, SIZE_BY_FLOOR,
	 SIZE_BY_FLOOR},
	{"a pinned limit beats every bound", 10, 20, 32, 64,
	 SPEC(.pin_limit_bytes = 500, .ceiling_bytes = 40, .floor_bytes = 30), 30, 500, SIZE_BY_SPEC_FLOOR,
	 SIZE_BY_PIN_LIMIT},
	{"a pinned limit below the request", 10, 20, 1, 0, SPEC(.pin_limit_bytes = 8), 8, 8, SIZE_BY_LIMIT,
	 SIZE_BY_PIN_LIMIT},
	{"a pinned limit without history", 0, 0, 1, 0, SPEC(.pin_limit_bytes = 8), 8, 8, SIZE_BY_LIMIT,
	 SIZE_BY_PIN_LIMIT},
	{"a pinned request below the limit", 10, 20, 1, 0, SPEC(.pin_request_bytes = 2), 2, 20, SIZE_BY_PIN_REQUEST,
	 SIZE_BY_RUNS},
	{"the limit makes room for a pinned request", 10, 20, 1, 16, SPEC(.pin_request_bytes = 30), 30, 30,
	 SIZE_BY_PIN_REQUEST, SIZE_BY_PIN_REQUEST},
	{"a pinned request without history", 0, 0, 1, 0, SPEC(.pin_request_bytes = 30), 30, 0, SIZE_BY_PIN_REQUEST,
	 SIZE_BY_RUNS},
	{"both pinned", 10, 20, 1, 16, SPEC(.pin_request_bytes = 30, .pin_limit_bytes = 40), 30, 40,
	 SIZE_BY_PIN_REQUEST, SIZE_BY_PIN_LIMIT},
	{"class guaranteed", 10, 20, 1, 0, SPEC(.size_class = "guaranteed"), 20, 20, SIZE_BY_LIMIT, SIZE_BY_RUNS},
	{"class guaranteed, pinned limit", 10, 20, 1, 0, SPEC(.size_class = "guaranteed", .pin_limit_bytes = 9), 9, 9,
	 SIZE_BY_LIMIT, SIZE_BY_PIN_LIMIT},
	{"class guaranteed, pinned request", 10, 20, 1, 0, SPEC(.size_class = "guaranteed", .pin_request_bytes = 9), 9,
	 20, SIZE_BY_PIN_REQUEST, SIZE_BY_RUNS},
};

static void pins_before_bounds_of_the_spec_before_those_of_the_configuration(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(apply_rows); i++) {
		const struct apply_row *row = &apply_rows[i];
		struct recommendation rec = {
			.request_bytes = row->request * MI, .limit_bytes = row->limit * MI, .runs = row->limit > 0};
		struct profile_spec spec = row->spec;
		enum size_by by[2];

		test_row(row->name);
		spec.pin_request_bytes *= MI;
		spec.pin_limit_bytes *= MI;
		spec.floor_bytes *= MI;
		spec.ceiling_bytes *= MI;
		f->sizing.floor_request_bytes = f->sizing.floor_limit_bytes = row->config_floor * MI;
		f->sizing.ceiling_bytes = row->config_ceiling * MI;
		size_apply(&f->sizing, &spec, &rec, by);
		assert_int_equal(rec.request_bytes, row->want_request * MI);
		assert_int_equal(rec.limit_bytes, row->want_limit * MI);
		assert_int_equal(by[SIZE_REQUEST], row->request_by);
		assert_int_equal(by[SIZE_LIMIT], row->limit_by);
	}
}

static void a_limit_that_may_be_too_small_is_not_advised(void **state)
{
	static const struct {
		const char *name;
		uint8_t flags;
		enum size_by by;
		int64_t now;
		bool is_advised;
	} rows[] = {
		{"any other", 0, SIZE_BY_RUNS, 0, true},
		{"any other, smaller", 0, SIZE_BY_RUNS, 64 * GI, true},
		{"cache-bound, none", REC_CACHE_BOUND, SIZE_BY_RUNS, 0, false},
		{"cache-bound, smaller", REC_CACHE_BOUND, SIZE_BY_RUNS, 64 * GI, false},
		{"cache-bound, larger", REC_CACHE_BOUND, SIZE_BY_RUNS, 16 * GI, true},
		{"cache-bound, pinned", REC_CACHE_BOUND, SIZE_BY_PIN_LIMIT, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct recommendation rec = {.limit_bytes = 24 * GI, .flags = rows[i].flags};
		const enum size_by by[2] = {[SIZE_LIMIT] = rows[i].by};

		test_row(rows[i].name);
		assert_int_equal(size_advised_limit(&rec, by, rows[i].now), rows[i].is_advised ? 24 * GI : 0);
	}
}

static void what_is_learned_knows_no_pins_nor_bounds(void **state)
{
	struct fixture *f = *state;
	struct recommendation learned;

	for (int i = 0; i < 3; i++)
		add_whole(f, 20 * MI, 10 * MI);
	size(f);
	learned = f->rec;
	assert_int_equal(learned.request_bytes, 10 * MI);
	f->sizing.ceiling_bytes = 16 * MI;
	f->spec.floor_bytes = f->spec.pin_request_bytes = f->spec.pin_limit_bytes = 9 * GI;
	size(f);
	assert_int_equal(f->rec.request_bytes, learned.request_bytes);
	assert_int_equal(f->rec.limit_bytes, learned.limit_bytes);
	assert_int_equal(f->rec.confidence, learned.confidence);
}

static void lowering_is_forbidden_by(void **state)
{
	struct fixture *f = *state;
	struct run odd;

	for (int i = 0; i < 4; i++)
		add_whole(f, 10 * GI, 8 * GI);
	size(f);
	assert_true(f->rec.flags & REC_NO_LOWER);
	add_whole(f, 10 * GI, 8 * GI);
	size(f);
	assert_false(f->rec.flags & REC_NO_LOWER);
	test_row("new variant");
	odd = run_of(f, 10 * GI, 8 * GI);
	snprintf(odd.variant, sizeof(odd.variant), "abcdef0123");
	add(f, odd);
	size(f);
	assert_true(f->rec.flags & REC_NO_LOWER);
	for (int i = 0; i < 4; i++) {
		odd = run_of(f, 10 * GI, 8 * GI);
		snprintf(odd.variant, sizeof(odd.variant), "abcdef0123");
		add(f, odd);
	}
	size(f);
	assert_false(f->rec.flags & REC_NO_LOWER);
	test_row("bimodal peaks");
	for (int i = 0; i < 2; i++) {
		odd = run_of(f, 19 * GI, 8 * GI);
		snprintf(odd.variant, sizeof(odd.variant), "abcdef0123");
		add(f, odd);
	}
	size(f);
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
		size_base(f->history, "abcdef0123", &f->sizing, &f->spec, &f->arena, &f->rec, &f->reasons, NULL), 0);
	assert_string_equal(f->rec.variant, "abcdef0123");
	assert_int_equal(f->rec.whole_runs, 1);
	assert_int_equal(f->rec.peak_bytes, 40 * GI);
	assert_int_equal(f->rec.confidence, CONFIDENCE_LOW);
	assert_int_equal(
		size_base(f->history, "0123456789", &f->sizing, &f->spec, &f->arena, &f->rec, &f->reasons, NULL), 0);
	assert_int_equal(f->rec.peak_bytes, 10 * GI);
	assert_int_equal(f->rec.whole_runs, 3);
}

static void share_above_the_request(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		add_whole(f, 20 * GI, 10 * GI);
	size(f);
	assert_int_equal(f->rec.request_bytes, 10 * GI);
	assert_int_equal(f->rec.over_request_permille, 500);
	snprintf(f->spec.size_class, sizeof(f->spec.size_class), "guaranteed");
	size(f);
	assert_int_equal(f->rec.over_request_permille, 0);
}

static void disk_only_as_measured(void **state)
{
	struct fixture *f = *state;
	static const int64_t peaks[] = {2 * GI, 40 * GI, 3 * GI};

	for (size_t i = 0; i < ARRAY_LEN(peaks); i++)
		add_whole(f, 10 * GI, 8 * GI);
	size(f);
	assert_int_equal(f->rec.ephemeral_request_bytes, 0);
	assert_int_equal(f->rec.ephemeral_limit_bytes, 0);
	for (size_t i = 0; i < ARRAY_LEN(peaks); i++) {
		struct run run = run_of(f, 10 * GI, 8 * GI);

		run.peak_ephemeral_bytes = peaks[i];
		add(f, run);
	}
	size(f);
	assert_int_equal(f->rec.ephemeral_request_bytes, 3 * GI);
	assert_int_equal(f->rec.ephemeral_limit_bytes, size_round_up(size_scale_permille(40 * GI, 1130)));
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

		r = size_base(f->history, NULL, &f->sizing, NULL, &arena, &f->rec, &f->reasons, &err);
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
		T(the_buffer_is_wider_while_few_runs_came_near_the_peak),
		T(round_rows),
		T(math_is_exact),
		T(nothing_known_sizes_nothing),
		T(whole_runs_make_a_size),
		T(the_median_is_weighted_by_time),
		T(no_run_decides_the_request_alone),
		T(the_request_follows_the_newest_runs),
		T(quantiles_are_of_runs_and_of_their_time),
		T(confidence_rows),
		T(class_rows),
		T(early_ends_are_lower_bounds),
		T(peaks_outlive_the_list),
		T(pins_before_bounds_of_the_spec_before_those_of_the_configuration),
		T(a_limit_that_may_be_too_small_is_not_advised),
		T(what_is_learned_knows_no_pins_nor_bounds),
		T(lowering_is_forbidden_by),
		T(variants_are_counted_apart),
		T(share_above_the_request),
		T(disk_only_as_measured),
		T(memory_runs_out),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
