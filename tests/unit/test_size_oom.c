/* SPDX-License-Identifier: Apache-2.0 */
/* What kills, suspicions, leaks, page cache and active runs do to a recommendation. */
#include "size_fixture.h"

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
		run_judge_shape(&run);
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
		run_judge_shape(&run);
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

static void nothing_moves_while_a_run_is_active(void **state)
{
	struct fixture *f = *state;
	struct recommendation previous;
	struct run active;

	for (int i = 0; i < 3; i++)
		add_whole(f, 10 * GI, 8 * GI);
	size(f, NULL);
	previous = f->rec;
	add_whole(f, 11 * GI, 8 * GI);
	active = run_of(f, 5 * GI, 5 * GI);
	active.is_whole = false;
	active.outcome = OUTCOME_RUNNING;
	add(f, active);
	size(f, &previous);
	assert_int_equal(f->rec.limit_bytes, previous.limit_bytes);
	assert_int_equal(f->rec.request_bytes, previous.request_bytes);
	assert_int_equal(f->rec.runs, 5);
	assert_true(has_reason(f, "unchanged while a run is active"));
	assert_int_equal(f->rec.peak_bytes, 11 * GI); /* nobody is to be cut below that meanwhile */
	test_row("a kill moves the limit");
	active.killed_limits[active.n_killed_limits++] = previous.limit_bytes;
	add(f, active);
	size(f, &previous);
	assert_int_equal(f->rec.limit_bytes, 2 * previous.limit_bytes);
	assert_int_equal(f->rec.request_bytes, previous.request_bytes);
	test_row("a run that used more than the limit moves it");
	add_whole(f, 30 * GI, 8 * GI);
	size(f, &previous);
	assert_true(f->rec.limit_bytes > 30 * GI);
	assert_int_equal(f->rec.peak_bytes, 30 * GI);
	test_row("a pin counts at once");
	f->spec.pin_limit_bytes = 9 * GI;
	size(f, &previous);
	assert_int_equal(f->rec.limit_bytes, 9 * GI);
}

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

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_kill_is_censored_data),
		T(a_run_under_way_doubles_once),
		T(a_suspicion_raises_once),
		T(a_leak_is_not_stepped),
		T(a_plateau_is_no_leak),
		T(page_cache_is_no_need),
		T(nothing_moves_while_a_run_is_active),
		T(limits_are_monotone_in_peaks),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
