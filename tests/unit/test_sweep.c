/* SPDX-License-Identifier: Apache-2.0 */
/* More runs of one workload at once than its history lists. */
#include "learn_fixture.h"

#include "engine/caps.h"

#define SWEEP (LIMIT_HISTORY_RUNS + 8)

/* Trial `n` of a sweep, a minute after the one before it: it runs. */
static void make_trial(struct found_run *ret, char job[32], int n)
{
	struct run *run = &ret->run;

	snprintf(job, 32, "train-%d", n);
	make_run(ret, "ml", job, n, 0);
	ret->is_watched = true;
	run->start_ms = NOW_MS - TIME_HOUR_MS + n * TIME_MINUTE_MS;
	run->duration_ms = NOW_MS - run->start_ms;
	run->outcome = OUTCOME_RUNNING;
	run->is_whole = false;
}

static void learn_trials(struct place *place, int n)
{
	struct found_run *runs = calloc((size_t)n, sizeof(*runs));
	char(*jobs)[32] = calloc((size_t)n, sizeof(*jobs));
	struct learn learn;

	assert_non_null(runs);
	assert_non_null(jobs);
	for (int i = 0; i < n; i++)
		make_trial(&runs[i], jobs[i], i);
	learn_from(place, runs, (size_t)n, &learn);
	assert_int_equal(learn.items.n, 1);
	learn_release(&learn);
	free(runs);
	free(jobs);
}

static void kill_trial(struct run *run, int64_t limit, unsigned int harm)
{
	run->outcome = OUTCOME_OOM_KILLED;
	run->harm = (uint8_t)harm;
	run_add_killed_limit(run->killed_limits, &run->n_killed_limits, limit);
}

static void a_run_that_was_not_listed_counts_when_it_has_ended(void **state)
{
	struct found_run found;
	struct history *history;
	struct learn learn;
	struct place place;
	char job[32];

	(void)state;
	setup(&place);
	learn_trials(&place, SWEEP);
	make_trial(&found, job, SWEEP - 1);
	history = history_of(&place);
	assert_int_equal(history->runs.n, HISTORY_ACTIVE_RUNS);
	assert_null(learn_history_find(history, &found.run));
	history_free(history);
	kill_trial(&found.run, 96 * MI, 1U << HARM_OOM);
	learn_from(&place, &found, 1, &learn);
	assert_int_equal(learn.n_profiles_changed, 1);
	assert_int_equal(harms_of(&learn), 1);
	assert_int_equal(learn.notices.items[0].harm, HARM_OOM);
	learn_release(&learn);
	history = history_of(&place);
	assert_int_equal(history->aggregate.runs, HISTORY_ACTIVE_RUNS + 1);
	assert_int_equal(history->aggregate.killed.bytes, 96 * MI);
	assert_int_equal(history->days.items[0].runs, HISTORY_ACTIVE_RUNS + 1);
	assert_int_equal(history->days.items[0].oom_kills, 1);
	assert_int_equal(history->days.items[0].harms, 1);
	history_free(history);
	/* told again, as after a restart */
	learn_from(&place, &found, 1, &learn);
	assert_int_equal(learn.n_profiles_changed, 0);
	assert_int_equal(harms_of(&learn), 0);
	learn_release(&learn);
	teardown(&place);
}

/* The next attempts of all trials depend on it. */
static void a_killed_trial_counts_while_it_runs(void **state)
{
	struct history *history = history_new("ml", "train");
	struct found_run found;
	char job[32];

	(void)state;
	assert_non_null(history);
	for (int i = 0; i < SWEEP; i++) {
		make_trial(&found, job, i);
		assert_int_equal(history_add_run(history, &found.run), 0);
	}
	for (int i = 0; i < SWEEP; i++) {
		make_trial(&found, job, i);
		found.run.attempts = 2;
		run_add_killed_limit(found.run.killed_limits, &found.run.n_killed_limits, (96 + i) * MI);
		assert_int_equal(history_add_run(history, &found.run), 0);
		history_raise_left_out(history, &found.run);
		assert_int_equal(history->aggregate.killed.bytes, (96 + i) * MI);
		assert_in_range(history->runs.n, HISTORY_ACTIVE_RUNS, 3 * HISTORY_ACTIVE_RUNS);
	}
	history_free(history);
}

/* Prometheus lost the pods: nobody reports the ends of these runs. */
static void a_run_that_is_not_seen_for_a_day_has_ended(void **state)
{
	static const struct {
		const char *name;
		int64_t later_ms;
		enum chosen_by by;
		enum outcome outcome;
	} rows[] = {
		{"a day", LEARN_LOST_MS, CHOSEN_BY_UNKNOWN, OUTCOME_RUNNING},
		{"more", LEARN_LOST_MS + 1, CHOSEN_BY_UNKNOWN, OUTCOME_UNKNOWN},
		{"a watch was there once", LEARN_LOST_MS + 1, CHOSEN_BY_USER, OUTCOME_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct learn learn;
		struct found_run found[2];
		struct history *history;
		struct place place;
		char job[32];

		test_row(rows[i].name);
		setup(&place);
		make_trial(&found[0], job, 0);
		found[0].run.chosen_by = rows[i].by;
		found[0].is_watched = rows[i].by != CHOSEN_BY_UNKNOWN;
		learn_from(&place, found, 1, &learn);
		learn_release(&learn);
		make_run(&found[1], "ml", "train-7", 7, 0);
		learn = (struct learn){.config = place.config,
				       .store = place.store,
				       .now_ms = NOW_MS + rows[i].later_ms,
				       .lost_before_ms = NOW_MS + rows[i].later_ms - LEARN_LOST_MS};
		assert_int_equal(learn_runs(&learn, &found[1], 1, NULL), 0);
		assert_int_equal(learn_commit(&learn, NULL, 0, NULL), 0);
		learn_release(&learn);
		history = history_of(&place);
		assert_int_equal(history->runs.items[0].outcome, rows[i].outcome);
		history_free(history);
		learn_from(&place, found, 1, &learn); /* found again */
		learn_release(&learn);
		history = history_of(&place);
		assert_int_equal(history->runs.items[0].outcome, OUTCOME_RUNNING);
		history_free(history);
		teardown(&place);
	}
}

/* It had ended when it fell out, and its limit was forgotten since. */
static void a_kill_of_long_ago_does_not_come_back(void **state)
{
	struct history *history = history_new("ml", "train");
	struct run killed, run;
	struct found_run found;
	char job[32];

	(void)state;
	assert_non_null(history);
	make_trial(&found, job, 0);
	found.run.duration_ms = TIME_SECOND_MS;
	killed = run = found.run;
	kill_trial(&killed, 192 * MI, 0);
	assert_int_equal(history_add_run(history, &killed), 0);
	run.outcome = OUTCOME_COMPLETED;
	run.is_whole = true;
	for (int i = 1; i < 3 * LIMIT_HISTORY_RUNS; i++) {
		run.start_ms += TIME_MINUTE_MS;
		snprintf(run.uid, sizeof(run.uid), "later-%d", i);
		assert_int_equal(history_add_run(history, &run), 0);
	}
	assert_true(history->aggregate.killed.bytes < 192 * MI);
	assert_true(history_has_dropped(history, &killed));
	assert_false(history_raise_left_out(history, &killed));
	assert_true(history->aggregate.killed.bytes < 192 * MI);
	history_free(history);
}

/* ---- by day ---- */

#define DAILY 400

/* `n` runs of today, from `first` on, ten seconds apart, of which the first `harmed` are harmed. */
static void learn_daily(struct place *place, int first, int n, int harmed, struct namespace_caps *caps)
{
	struct found_run *runs = calloc((size_t)n, sizeof(*runs));
	struct learn learn = {.config = place->config, .store = place->store, .now_ms = NOW_MS, .caps = caps};
	bool is_changed = false;
	struct capped capped;

	assert_non_null(runs);
	for (int i = 0; i < n; i++) {
		make_run(&runs[i], "ml", "train", first + i, i < harmed ? 1U << HARM_QUOTA : 0);
		runs[i].run.start_ms = NOW_MS - 2 * TIME_HOUR_MS + (first + i) * 10 * TIME_SECOND_MS;
		runs[i].run.duration_ms = 500;
	}
	assert_int_equal(learn_runs(&learn, runs, (size_t)n, NULL), 0);
	assert_int_equal(learn_commit(&learn, NULL, 0, NULL), 0);
	if (caps)
		assert_int_equal(caps_check(caps, &learn, &is_changed, &capped, NULL), 0);
	learn_release(&learn);
	free(runs);
}

static struct history_day today_of(struct place *place)
{
	struct history *history = history_of(place);
	struct history_day day;

	assert_int_equal(history->days.n, 1);
	day = history->days.items[0];
	history_free(history);
	return day;
}

static void what_falls_out_of_the_list_stays_counted(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	learn_daily(&place, 0, DAILY / 2, 7, NULL);
	learn_daily(&place, DAILY / 2, DAILY / 2, 2, NULL);
	assert_int_equal(today_of(&place).runs, DAILY);
	assert_int_equal(today_of(&place).harms, 9);
	/* again, as after a crash: each counts once */
	learn_daily(&place, DAILY / 2, DAILY / 2, 2, NULL);
	assert_int_equal(today_of(&place).runs, DAILY);
	assert_int_equal(today_of(&place).harms, 9);
	teardown(&place);
}

static int find_cap(void *context, struct profile *take_profile, struct err *err)
{
	(void)err;
	if (streq(take_profile->name, PROFILE_OF_NAMESPACE))
		*(bool *)context = true;
	profile_free(take_profile);
	return 0;
}

static void check_capped(int harmed, int later_harmed, bool is_capped)
{
	struct namespace_caps caps = {.items = VEC_INIT};
	struct place place;
	bool found = false;
	const struct store_visitor visitor = {.context = &found, .profile = find_cap};

	setup(&place);
	learn_daily(&place, 0, DAILY - 1, harmed, NULL);
	learn_daily(&place, DAILY - 1, 1, later_harmed, &caps);
	assert_int_equal(store_visit(place.store, &visitor, NULL), 0);
	assert_int_equal(found, is_capped);
	caps_release(&caps);
	teardown(&place);
}

static void harm_beyond_the_list_caps(void **state)
{
	(void)state;
	check_capped(3, 1, false); /* one percent is not too much */
	check_capped(4, 1, true);
}

static void a_few_of_many_are_not_too_much(void **state)
{
	struct namespace_caps caps = {.items = VEC_INIT};
	struct place place;
	bool found = false;
	const struct store_visitor visitor = {.context = &found, .profile = find_cap};

	(void)state;
	setup(&place);
	for (int i = 0; i < DAILY; i += 20) /* as quick cycles do: some at a time */
		learn_daily(&place, i, 20, 0, NULL);
	learn_daily(&place, DAILY, 3, 3, &caps);
	assert_int_equal(store_visit(place.store, &visitor, NULL), 0);
	assert_false(found);
	caps_release(&caps);
	teardown(&place);
}

/* A run that is known better, or began on another day than was thought, counts once. */
static void a_better_known_run_counts_once(void **state)
{
	struct history *history = history_new("ml", "train");
	struct found_run found;
	struct run *run = &found.run;
	char job[32];

	(void)state;
	assert_non_null(history);
	make_trial(&found, job, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(history_add_run(history, run), 0);
		kill_trial(run, (96 + i) * MI, 1U << HARM_OOM);
	}
	assert_int_equal(history->days.n, 1);
	assert_int_equal(history->days.items[0].runs, 1);
	assert_int_equal(history->days.items[0].oom_kills, 1);
	assert_int_equal(history->days.items[0].harms, 1);
	run->start_ms -= TIME_DAY_MS;
	assert_int_equal(history_add_run(history, run), 0);
	assert_int_equal(history->days.n, 1);
	assert_int_equal(history->days.items[0].day, 19999);
	history_free(history);
}

static void put_bare_pod(struct pod_table *table, const char *name)
{
	struct pod *pod = pod_set_add(&table->pods, "ml", name, name);
	struct pod_container container = {.name = "main", .image = "i"};

	assert_non_null(pod);
	pod->start_ms = pod->seen_from_ms = NOW_MS - TIME_HOUR_MS;
	pod->is_alive = true;
	container.peak_bytes = 80 * MI;
	assert_int_equal(vec_push(&pod->containers, container), 0);
}

/* What tells them apart stands behind the part of the name that a run keeps. */
static void bare_pods_of_long_names_are_runs_of_their_own(void **state)
{
	enum { N = 3, LONG = 110 };
	static const char *const suffixes[N] = {"-x7k2p", "-b5xw7", "-mnvdq"};
	const struct fold_options options = {.now_ms = NOW_MS, .source = "pods"};
	struct pod_table table = POD_TABLE_INIT;
	struct fold fold = {.is_open = NULL};
	struct history *history;
	struct learn learn;
	struct place place;
	char name[LONG + 8];

	(void)state;
	setup(&place);
	memset(name, 'a', LONG);
	for (size_t i = 0; i < N; i++) {
		snprintf(name + LONG, sizeof(name) - LONG, "%s", suffixes[i]);
		put_bare_pod(&table, name);
	}
	assert_int_equal(fold_runs(&table, &options, &fold, NULL), 0);
	assert_int_equal(fold.runs.n, N);
	learn_from(&place, fold.runs.items, N, &learn);
	learn_release(&learn);
	history = history_of(&place);
	assert_int_equal(history->runs.n, N);
	assert_int_equal(history->aggregate.runs, N);
	history_free(history);
	fold_release(&fold);
	pod_table_release(&table);
	teardown(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_that_was_not_listed_counts_when_it_has_ended),
		cmocka_unit_test(a_killed_trial_counts_while_it_runs),
		cmocka_unit_test(a_run_that_is_not_seen_for_a_day_has_ended),
		cmocka_unit_test(what_falls_out_of_the_list_stays_counted),
		cmocka_unit_test(harm_beyond_the_list_caps),
		cmocka_unit_test(a_few_of_many_are_not_too_much),
		cmocka_unit_test(a_better_known_run_counts_once),
		cmocka_unit_test(a_kill_of_long_ago_does_not_come_back),
		cmocka_unit_test(bare_pods_of_long_names_are_runs_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
