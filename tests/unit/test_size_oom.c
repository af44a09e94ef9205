/* SPDX-License-Identifier: Apache-2.0 */
/* What kills, suspicions, leaks, page cache and active runs do to a recommendation. */
#include "size_fixture.h"

#include "base/timefmt.h"

static void a_kill_is_censored_data(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		add_whole(f, 10 * GI, 8 * GI);
	add_killed(f, 16 * GI, OUTCOME_OOM_KILLED);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 32 * GI);
	assert_int_equal(f->rec.proven_bytes, 16 * GI);
	assert_true(f->rec.flags & REC_NO_LOWER);
	assert_true(has_reason(f, "one step beyond a limit that was OOM-killed, 16Gi"));
	/* The same limit again proves nothing new. */
	add_killed(f, 16 * GI, OUTCOME_OOM_KILLED);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 32 * GI);
	/* A greater one does. */
	add_killed(f, 32 * GI, OUTCOME_OOM_KILLED);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 64 * GI);
	/* A whole run above it answers: now the need is known, the old kills are bounds with a buffer. */
	struct run answer = run_of(f, 40 * GI, 20 * GI);

	answer.limit_bytes = 64 * GI;
	add(f, answer);
	size(f);
	assert_int_equal(f->rec.limit_bytes, size_round_up(size_scale_permille(40 * GI, 1180)));
	assert_int_equal(f->rec.proven_bytes, 32 * GI);
}

/* The later runs have the limit that the kills led to, and need far less than that. */
static void kills_that_later_runs_contradict_are_forgotten(void **state)
{
	struct fixture *f = *state;
	int64_t limit;

	for (int i = 0; i < 10; i++)
		add_whole(f, 10 * GI, 8 * GI);
	for (limit = 12 * GI; limit <= 96 * GI; limit *= 2)
		add_killed(f, limit, OUTCOME_OOM_KILLED);
	for (int i = 0; i < HISTORY_FORGET_RUNS; i++) {
		struct run run;

		size(f);
		assert_true(f->rec.limit_bytes > 96 * GI);
		run = run_of(f, 10 * GI, 8 * GI);
		run.limit_bytes = f->rec.limit_bytes;
		add(f, run);
	}
	size(f);
	assert_true(f->rec.limit_bytes < 12 * GI);
	assert_int_equal(f->rec.proven_bytes, 0);
	assert_false(f->rec.flags & REC_NO_LOWER);
}

static void a_kill_far_below_the_limit_is_the_nodes(void **state)
{
	static const struct {
		const char *name;
		int64_t peak, samples, limit; /* limit: the recommended one, rounded */
		int runs, attempts;
		enum outcome outcome;
		int minutes, ranks;
	} rows[] = {
		{"killed once", 11 * GI, 20, 13 * GI, 1, 1, OUTCOME_OOM_KILLED, 60, 1},
		{"the next attempt runs", 11 * GI, 20, 13 * GI, 1, 2, OUTCOME_RUNNING, 60, 1},
		{"the next attempt is lost", 11 * GI, 20, 13 * GI, 1, 2, OUTCOME_UNKNOWN, 60, 1},
		{"the next attempt is deleted", 11 * GI, 20, 13 * GI, 1, 2, OUTCOME_DELETED, 60, 1},
		{"the next attempt fails", 11 * GI, 20, 128 * GI, 1, 2, OUTCOME_FAILED, 60, 1},
		{"the next attempt is killed too", 11 * GI, 20, 128 * GI, 1, 2, OUTCOME_OOM_KILLED, 60, 1},
		{"the next run is killed too", 11 * GI, 20, 128 * GI, 2, 1, OUTCOME_OOM_KILLED, 60, 1},
		{"its use was not observed", 11 * GI, 2, 128 * GI, 1, 1, OUTCOME_OOM_KILLED, 60, 1},
		{"it used more than half", 33 * GI, 20, 128 * GI, 1, 1, OUTCOME_OOM_KILLED, 60, 1},
		{"after three minutes", 11 * GI, 20, 13 * GI, 1, 1, OUTCOME_OOM_KILLED, 3, 1},
		{"before, it may have grown since the last sample", 11 * GI, 20, 128 * GI, 1, 1, OUTCOME_OOM_KILLED, 2,
		 1},
		{"each rank was observed", 11 * GI, 24, 13 * GI, 1, 1, OUTCOME_OOM_KILLED, 60, 8},
		{"the samples are those of many ranks", 11 * GI, 20, 128 * GI, 1, 1, OUTCOME_OOM_KILLED, 60, 8},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture *f = *state;

		test_row(rows[i].name);
		for (int k = 0; k < 6; k++)
			add_whole(f, 10 * GI, 8 * GI);
		for (int k = 0; k < rows[i].runs; k++) {
			struct run run = run_of(f, rows[i].peak, 8 * GI);

			run.is_whole = false;
			run.outcome = rows[i].outcome;
			run.attempts = rows[i].attempts;
			run.samples = rows[i].samples;
			run.duration_ms = rows[i].minutes * TIME_MINUTE_MS;
			run.ranks = run.world_size = rows[i].ranks;
			run.killed_limits[run.n_killed_limits++] = run.limit_bytes = 64 * GI;
			add(f, run);
		}
		size(f);
		assert_int_equal((f->rec.limit_bytes + GI - 1) / GI * GI, rows[i].limit);
		assert_int_equal(f->rec.oom_kills, rows[i].runs);
		teardown(state);
		assert_int_equal(setup(state), 0);
	}
}

/* Spikes between two samples. Where the retry completes, no two runs that ended so follow each other; a bare pod has no
 * retry. */
static void kills_far_below_the_limit_that_come_again_count(void **state)
{
	static const struct {
		const char *name;
		int64_t limit;
		bool is_retried;
		int every, runs;
		bool counts;
	} rows[] = {
		{"once", 20 * GI, true, 10, 8, false},
		{"every second run", 20 * GI, true, 2, 4, true},
		{"every third run, twice", 20 * GI, true, 3, 6, false},
		{"every third run, three times", 20 * GI, true, 3, 9, true},
		{"every fourth run", 20 * GI, true, 4, 100, false},
		{"with less than an eighth of the limit", 96 * GI, true, 2, 100, false},
		{"... twice in a row, without a retry", 96 * GI, false, 1, 2, false},
		{"... three times", 96 * GI, false, 1, 3, true},
		{"... in every second run, without a retry", 96 * GI, false, 2, 100, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture *f = *state;

		test_row(rows[i].name);
		for (int k = 0; k < 6; k++)
			add_whole(f, 8 * GI, 6 * GI);
		for (int k = 1; k <= rows[i].runs; k++) {
			struct run run = run_of(f, 8 * GI, 6 * GI);

			run.samples = 60;
			run.limit_bytes = rows[i].limit;
			if (k % rows[i].every == 0) {
				run.killed_limits[run.n_killed_limits++] = rows[i].limit;
				run.is_whole = rows[i].is_retried;
				run.attempts = rows[i].is_retried ? 2 : 1;
				run.outcome = rows[i].is_retried ? OUTCOME_COMPLETED : OUTCOME_OOM_KILLED;
			}
			add(f, run);
		}
		size(f);
		assert_int_equal(f->rec.proven_bytes, rows[i].counts ? rows[i].limit : 0);
		assert_int_equal(f->rec.limit_bytes > 20 * GI, rows[i].counts);
		teardown(state);
		assert_int_equal(setup(state), 0);
	}
}

/* Three runs that were killed at 96Gi, of which their samples show a twelfth. */
static void add_three_kills(struct fixture *f)
{
	for (int k = 0; k < 3; k++) {
		struct run run = run_of(f, 8 * GI, 6 * GI);

		run.samples = 60;
		run.is_whole = false;
		run.outcome = OUTCOME_OOM_KILLED;
		run.killed_limits[run.n_killed_limits++] = run.limit_bytes = 96 * GI;
		add(f, run);
	}
}

/* Whole runs at twice that limit, which is recommended before each of them. */
static void add_runs_at_192gi(struct fixture *f, int n)
{
	for (int k = 0; k < n; k++) {
		struct run run = run_of(f, 8 * GI, 6 * GI);

		size(f);
		assert_int_equal(f->rec.limit_bytes, 192 * GI);
		run.limit_bytes = 192 * GI;
		add(f, run);
	}
}

/* The samples of later runs do not show the spike either, so the limit stays until the kill is forgotten, also when the
 * kill has dropped out of the list of runs. */
static void a_kill_that_no_sample_shows_is_not_answered(void **state)
{
	struct fixture *f = *state;

	add_three_kills(f);
	add_runs_at_192gi(f, HISTORY_FORGET_RUNS);
	add_three_kills(f);
	add_runs_at_192gi(f, LIMIT_HISTORY_RUNS + 3);
}

/* A smaller limit that remains was another kill, and later runs may answer that. */
static void a_smaller_kill_that_remains_is_answered(void **state)
{
	struct fixture *f = *state;

	add_three_kills(f);
	add_killed(f, 16 * GI, OUTCOME_OOM_KILLED);
	add_runs_at_192gi(f, HISTORY_FORGET_RUNS);
	size(f);
	assert_int_equal(f->rec.proven_bytes, 16 * GI);
	assert_true(f->rec.limit_bytes < 20 * GI);
}

static void a_run_under_way_doubles_once(void **state)
{
	struct fixture *f = *state;
	struct run run = run_of(f, 8 * GI, 4 * GI);

	run.is_whole = false;
	run.outcome = OUTCOME_RUNNING;
	run.killed_limits[run.n_killed_limits++] = 8 * GI;
	add(f, run);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 16 * GI);
	run.killed_limits[run.n_killed_limits++] = 16 * GI;
	add(f, run);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 16 * GI);
	assert_true(has_reason(f, "doubled once"));
	/* The next submission may double again. */
	run.outcome = OUTCOME_OOM_KILLED;
	add(f, run);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 32 * GI);
}

static void add_suspected(struct fixture *f, int64_t limit)
{
	struct run run = run_of(f, limit, 5 * GI);

	run.is_whole = false;
	run.outcome = OUTCOME_SUSPECTED_OOM;
	run.limit_bytes = limit;
	add(f, run);
}

static void a_suspicion_raises_once_for_each_limit(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		add_whole(f, 5 * GI, 4 * GI);
	for (int i = 0; i < 3; i++) {
		add_suspected(f, 10 * GI);
		size(f);
		assert_int_equal(f->rec.limit_bytes, 15 * GI);
	}
	assert_int_equal(f->rec.confidence, CONFIDENCE_MEDIUM);
	test_row("close to the greater limit too");
	add_suspected(f, 15 * GI);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 23040 * MI);
	test_row("a run that began before the raise");
	add_suspected(f, 10 * GI);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 23040 * MI);
	test_row("a complete run with a greater limit answers");
	add_whole(f, 12 * GI, 8 * GI);
	size(f);
	assert_true(f->rec.limit_bytes < 20 * GI);
}

/* All runs that show a leak came to their end, so a finite limit suffices. */
static void a_leak_is_stepped_once_a_kill(void **state)
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
	size(f);
	assert_true(f->rec.flags & REC_LEAK);
	assert_int_equal(f->rec.limit_bytes, 32 * GI);
	add_killed(f, 32 * GI, OUTCOME_OOM_KILLED);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 64 * GI);
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
	size(f);
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
		size(f);
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
	size(f);
	assert_int_equal(f->rec.limit_bytes, at_growing_limits.limit_bytes);
	assert_int_equal(f->rec.request_bytes, at_growing_limits.request_bytes);
	/* Failing close to the limit says nothing where the limit is full of cache. */
	struct run run = reading_run(f, 8 * GI);

	run.is_whole = false;
	run.outcome = OUTCOME_SUSPECTED_OOM;
	add(f, run);
	size(f);
	assert_int_equal(f->rec.limit_bytes, at_growing_limits.limit_bytes);
}

/* In sweeps a run is always active. Its own pods get equal sizes by model/profile_effect. */
static void an_active_run_delays_nothing(void **state)
{
	struct fixture *f = *state;
	struct recommendation ended;
	struct run active;

	for (int i = 0; i < 3; i++)
		add_whole(f, 10 * GI, 8 * GI);
	add_whole(f, 20 * GI, 16 * GI);
	size(f);
	ended = f->rec;
	active = run_of(f, 5 * GI, 5 * GI);
	active.is_whole = false;
	active.outcome = OUTCOME_RUNNING;
	add(f, active);
	size(f);
	assert_int_equal(f->rec.runs, ended.runs + 1);
	assert_int_equal(f->rec.limit_bytes, ended.limit_bytes);
	assert_int_equal(f->rec.request_bytes, ended.request_bytes);
	test_row("a kill moves the limit");
	active.killed_limits[active.n_killed_limits++] = ended.limit_bytes;
	add(f, active);
	size(f);
	assert_int_equal(f->rec.limit_bytes, 2 * ended.limit_bytes);
	test_row("a run that used more than the limit moves it");
	add_whole(f, 60 * GI, 8 * GI);
	size(f);
	assert_true(f->rec.limit_bytes > 60 * GI);
	assert_int_equal(f->rec.peak_bytes, 60 * GI);
}

/* A sweep of more trials than the history lists, and the next one while it runs. */
static void active_runs_leave_room_for_the_others(void **state)
{
	struct fixture *f = *state;
	struct recommendation before;

	for (int i = 0; i < HISTORY_FORGET_RUNS; i++)
		add_whole(f, 10 * GI, 8 * GI);
	size(f);
	before = f->rec;
	assert_true(before.request_bytes >= 8 * GI);
	for (int i = 0; i < 2 * LIMIT_HISTORY_RUNS; i++) {
		struct run active = run_of(f, 5 * GI, 5 * GI);

		active.is_whole = false;
		active.outcome = OUTCOME_RUNNING;
		add(f, active);
		size(f);
		assert_int_equal(f->rec.request_bytes, before.request_bytes);
		assert_int_equal(f->rec.limit_bytes, before.limit_bytes);
	}
	/* All are killed, and their next attempts run. */
	for (int i = 0; i < 2 * LIMIT_HISTORY_RUNS; i++) {
		struct run active = run_of(f, 5 * GI, 5 * GI);

		active.is_whole = false;
		active.killed_limits[active.n_killed_limits++] = 12 * GI;
		active.outcome = OUTCOME_OOM_KILLED;
		add(f, active);
		active.outcome = OUTCOME_RUNNING;
		add(f, active);
		size(f);
		assert_int_equal(f->rec.request_bytes, before.request_bytes);
		assert_int_equal(f->rec.limit_bytes, 24 * GI);
	}
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
			size(f);
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
		T(kills_that_later_runs_contradict_are_forgotten),
		T(a_kill_far_below_the_limit_is_the_nodes),
		T(kills_far_below_the_limit_that_come_again_count),
		T(a_kill_that_no_sample_shows_is_not_answered),
		T(a_smaller_kill_that_remains_is_answered),
		T(a_run_under_way_doubles_once),
		T(a_suspicion_raises_once_for_each_limit),
		T(a_leak_is_stepped_once_a_kill),
		T(a_plateau_is_no_leak),
		T(page_cache_is_no_need),
		T(an_active_run_delays_nothing),
		T(active_runs_leave_room_for_the_others),
		T(limits_are_monotone_in_peaks),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
