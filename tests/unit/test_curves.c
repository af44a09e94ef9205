/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/limits.h"
#include "engine/curves.h"
#include "engine/learn.h"

#include <errno.h>
#include <stdio.h>

#define SECOND_MS ((int64_t)1000)
#define GI	  ((int64_t)1 << 30)

/* A source whose curves rise evenly to 1 GiB. */
struct source {
	struct evidence_reader base;
	size_t n_calls, n_curves;
	char pods[LIMIT_CYCLE_CURVES + 64][16]; /* asked for, in order */
	int status;
	size_t n_before_status; /* told before that */
};

static int rise(struct evidence_reader *base, struct evidence_curve *curves, size_t n, struct err *err)
{
	struct source *self = (struct source *)base;

	self->n_calls++;
	for (size_t i = 0; i < n && (!self->status || i < self->n_before_status); i++) {
		snprintf(self->pods[self->n_curves++], sizeof(self->pods[0]), "%s", curves[i].pod);
		for (int k = 0; k < curves[i].n; k++)
			curves[i].max_bytes[k] = curves[i].mean_bytes[k] = GI * (k + 1) / curves[i].n;
	}
	return self->status ? err_set(err, self->status, "made up") : 0;
}

#define SOURCE                                                                                                         \
	{                                                                                                              \
		.base = {.curves = rise }                                                                              \
	}

/* Whole, an hour long, seen once a minute. */
static struct found_run found_run(const char *container, const char *workload, int number)
{
	struct found_run run = {.namespace_name = "ml", .run = {.is_whole = true, .peak_bytes = GI}};

	snprintf(run.container, sizeof(run.container), "%s", container);
	run.run.start_ms = number * 3600 * SECOND_MS;
	snprintf(run.run.uid, sizeof(run.run.uid), "%s-%d", workload, number);
	snprintf(run.identity.keys[0].text, sizeof(run.identity.keys[0].text), "%s", workload);
	run.identity.n_keys = 1;
	run.widest = (struct run_widest){.peak_bytes = GI,
					 .start_ms = run.run.start_ms,
					 .end_ms = run.run.start_ms + 3600 * SECOND_MS,
					 .step_ms = 60 * SECOND_MS};
	snprintf(run.widest.pod, sizeof(run.widest.pod), "%s-%d", workload, number);
	return run;
}

static const char trainer[] = "main";

static void count_call(void *context)
{
	++*(int *)context;
}

static int read_with(struct curves *self, struct evidence_reader *reader, struct found_run *runs, size_t n,
		     int *n_between)
{
	struct found_run *wanted[LIMIT_CYCLE_CURVES + 64];

	assert_true(n <= ARRAY_LEN(wanted));
	for (size_t i = 0; i < n; i++)
		wanted[i] = &runs[i];
	return curves_read(self, reader, wanted, n, n_between ? count_call : NULL, n_between);
}

static void read_all(struct curves *self, struct source *source, struct found_run *runs, size_t n, int came)
{
	assert_int_equal(read_with(self, &source->base, runs, n, NULL), came);
}

static void the_newest_of_each_workload_are_asked_for_once(void **state)
{
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run runs[24];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 12; i++) {
		runs[n++] = found_run(trainer, "a", i);
		runs[n++] = found_run(trainer, "b", i);
	}
	read_all(&curves, &source, runs, n, 2 * LIMIT_HISTORY_CURVES);
	assert_int_equal(source.n_curves, 2 * LIMIT_HISTORY_CURVES);
	for (size_t i = 0; i < n; i++) {
		bool is_new = i / 2 >= 12 - LIMIT_HISTORY_CURVES;

		assert_int_equal(runs[i].run.n_curve, is_new ? 30 : 0);
		assert_int_equal(runs[i].run.shape, is_new ? RUN_SHAPE_GROWING : RUN_SHAPE_UNKNOWN);
	}
	assert_int_equal(runs[n - 1].run.curve_max[29], GI);
	runs[n - 1] = found_run(trainer, "b", 11); /* the same is found again */
	read_all(&curves, &source, &runs[n - 1], 1, 0);
	assert_int_equal(source.n_curves, 2 * LIMIT_HISTORY_CURVES);
	curves_release(&curves);
}

static void roles_and_containers_have_their_own(void **state)
{
	static const char sidecar[] = "sidecar";
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run runs[] = {found_run(trainer, "a", 1), found_run(sidecar, "a", 1), found_run(trainer, "a", 1)};

	(void)state;
	snprintf(runs[2].identity.role, sizeof(runs[2].identity.role), "worker");
	read_all(&curves, &source, runs, ARRAY_LEN(runs), 3);
	curves_release(&curves);
}

/* One run that was found in a closed day and again. */
static void a_run_that_is_found_twice_is_asked_for_once(void **state)
{
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run runs[] = {found_run(trainer, "a", 1), found_run(trainer, "a", 1)};

	(void)state;
	read_all(&curves, &source, runs, ARRAY_LEN(runs), 1);
	assert_int_equal(source.n_curves, 1);
	assert_int_equal(runs[1].run.n_curve, 30);
	curves_release(&curves);
}

static void what_is_too_short_has_no_curve(void **state)
{
	struct found_run run = found_run(trainer, "a", 1);

	(void)state;
	assert_true(curves_can_be_of(&run));
	run.widest.end_ms = run.widest.start_ms + 31 * 60 * SECOND_MS;
	assert_false(curves_can_be_of(&run));
	run.widest.end_ms = run.widest.start_ms + 32 * 60 * SECOND_MS;
	assert_true(curves_can_be_of(&run));
	*run.widest.pod = '\0';
	assert_false(curves_can_be_of(&run));
	run = found_run(trainer, "a", 1);
	run.widest.step_ms = 0;
	assert_false(curves_can_be_of(&run));
}

static void a_source_without_curves_has_none(void **state)
{
	struct curves curves = {.asked = STRMAP_INIT};
	struct found_run run = found_run(trainer, "a", 1);
	struct evidence_reader without = {.source = "pods"};

	(void)state;
	assert_int_equal(read_with(&curves, &without, &run, 1, NULL), 0);
	assert_int_equal(read_with(&curves, NULL, &run, 1, NULL), 0);
	curves_release(&curves);
}

static void fill_runs(struct found_run *runs, int n)
{
	for (int i = 0; i < n; i++) {
		char name[8];

		snprintf(name, sizeof(name), "w%d", i);
		runs[i] = found_run(trainer, name, i);
	}
}

static void an_outage_only_postpones(void **state)
{
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run runs[40];
	int n_between = 0;

	(void)state;
	fill_runs(runs, 40);
	source.status = EVIDENCE_UNREACHABLE;
	assert_int_equal(read_with(&curves, &source.base, runs, 40, &n_between), 0);
	assert_int_equal(source.n_calls, 1); /* the second batch is not asked for */
	assert_int_equal(n_between, 1);
	source.status = 0;
	assert_int_equal(read_with(&curves, &source.base, runs, 40, &n_between), 40);
	assert_int_equal(n_between, 3);
	assert_string_equal(source.pods[0], "w39-39"); /* the newest first */
	source.status = -ENOMEM;
	runs[0] = found_run(trainer, "w0", 100);
	assert_int_equal(read_with(&curves, &source.base, runs, 1, NULL), -ENOMEM);
	curves_release(&curves);
}

/* What an engine finds too much is not asked for again and again, and the others are. */
static void one_that_is_too_heavy_spoils_no_other(void **state)
{
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run runs[40];

	(void)state;
	fill_runs(runs, 40);
	source.status = EVIDENCE_TOO_HEAVY;
	source.n_before_status = 3; /* of each batch */
	read_all(&curves, &source, runs, 40, 6);
	assert_int_equal(source.n_calls, 2);
	assert_int_equal(runs[39].run.n_curve, 30);
	assert_int_equal(runs[36].run.n_curve, 0);
	source.status = 0;
	fill_runs(runs, 40);
	read_all(&curves, &source, runs, 40, 0);
	curves_release(&curves);
}

static void a_cycle_asks_for_so_many(void **state)
{
	static struct found_run runs[LIMIT_CYCLE_CURVES + 40];
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;

	(void)state;
	fill_runs(runs, ARRAY_LEN(runs));
	read_all(&curves, &source, runs, ARRAY_LEN(runs), LIMIT_CYCLE_CURVES);
	fill_runs(runs, ARRAY_LEN(runs)); /* those that are found again have their turn */
	read_all(&curves, &source, runs, ARRAY_LEN(runs), 40);
	curves_release(&curves);
}

/* Of many runs of some workloads and an old one of another, that one has its turn before any has all that it may. */
static void a_rare_workload_has_its_turn(void **state)
{
	static struct found_run runs[LIMIT_CYCLE_CURVES + 1];
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;

	(void)state;
	for (int i = 0; i < LIMIT_CYCLE_CURVES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "w%d", i / LIMIT_HISTORY_CURVES);
		runs[i] = found_run(trainer, name, 100 + i);
	}
	runs[LIMIT_CYCLE_CURVES] = found_run(trainer, "rare", 1);
	read_all(&curves, &source, runs, ARRAY_LEN(runs), LIMIT_CYCLE_CURVES);
	assert_int_equal(runs[LIMIT_CYCLE_CURVES].run.n_curve, 30);
	curves_release(&curves);
}

static void steps_without_samples_are_bridged(void **state)
{
	static const struct {
		const char *name;
		int64_t max[8], mean[8];
		int n;
		int64_t want_max[8], want_mean[8];
	} cases[] = {
		{"all known",
		 {1, 2, 3, 4, 5, 6, 7, 8},
		 {1, 1, 2, 3, 4, 5, 6, 7},
		 8,
		 {1, 2, 3, 4, 5, 6, 7, 8},
		 {1, 1, 2, 3, 4, 5, 6, 7}},
		{"the first and one between",
		 {-1, 2, 3, -1, 5, 6, 7, 8},
		 {-1, 1, 2, -1, 4, 5, 6, 7},
		 8,
		 {2, 2, 3, 3, 5, 6, 7, 8},
		 {1, 1, 2, 2, 4, 5, 6, 7}},
		{"too many", {-1, -1, -1, 4, 5, 6, 7, 8}, {1, 1, 2, 3, 4, 5, 6, 7}, 0, {0}, {0}},
		{"one half only", {1, 2, 3, 4, 5, 6, 7, 8}, {-1, -1, -1, -1, -1, -1, -1, -1}, 0, {0}, {0}},
		{"never above what the run is said to have used",
		 {1, 2, 3, 4, 5, 6, 7, 12},
		 {1, 2, 3, 4, 9, 6, 7, 11},
		 8,
		 {1, 2, 3, 4, 5, 6, 7, 8},
		 {1, 2, 3, 4, 5, 6, 7, 8}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct evidence_curve curve = {.n = 8};
		struct run run = {.peak_bytes = 8};

		memcpy(curve.max_bytes, cases[i].max, sizeof(cases[i].max));
		memcpy(curve.mean_bytes, cases[i].mean, sizeof(cases[i].mean));
		curve_settle(&curve, &run);
		if (run.n_curve != cases[i].n)
			fail_msg("%s: %d points", cases[i].name, run.n_curve);
		for (int k = 0; k < run.n_curve; k++)
			if (run.curve_max[k] != cases[i].want_max[k] || run.curve_mean[k] != cases[i].want_mean[k])
				fail_msg("%s: point %d is %lld, %lld", cases[i].name, k, (long long)run.curve_max[k],
					 (long long)run.curve_mean[k]);
	}
}

/* ---- what it says ---- */

#define POINTS LIMIT_CURVE_POINTS

static int64_t even(int i)
{
	return 100 * (i + 1);
}

static int64_t even_with_spikes(int i)
{
	return 100 * (i + 1) + (i % 5 == 4 ? 300 : 0);
}

static int64_t even_after_loading(int i)
{
	return 1600 + 50 * i;
}

static int64_t plateau(int i)
{
	return MIN(100 * (i + 1), 800);
}

static int64_t slow_loading(int i)
{
	return MIN(100 * (i + 1), 2600); /* four fifths of the run */
}

static int64_t four_phases(int i)
{
	return 2000 + i / 8 * 1500;
}

static int64_t five_phases(int i)
{
	static const int64_t phases[] = {1000, 2000, 3200, 4400, 5600};

	return phases[i * 5 / POINTS];
}

static int64_t last_quarter(int i)
{
	return i < 24 ? 500 : 500 + 100 * (i - 23);
}

static int64_t slower_and_slower(int i)
{
	return 4000 - 4000 / (i + 1);
}

static int64_t hardly(int i)
{
	return 10000 + 10 * i;
}

static int64_t shrinking(int i)
{
	return 3300 - 100 * i;
}

static void only_even_growth_to_the_end_is_growing(void **state)
{
	static const struct {
		const char *name;
		int64_t (*at)(int i);
		enum run_shape shape;
	} rows[] = {
		{"even", even, RUN_SHAPE_GROWING},
		{"even, with checkpoints", even_with_spikes, RUN_SHAPE_GROWING},
		{"even, after a data set was loaded", even_after_loading, RUN_SHAPE_GROWING},
		{"plateau", plateau, RUN_SHAPE_BOUNDED},
		{"a data set that takes long to load", slow_loading, RUN_SHAPE_BOUNDED},
		{"four phases", four_phases, RUN_SHAPE_BOUNDED},
		{"five phases, one for about a quarter each", five_phases, RUN_SHAPE_BOUNDED},
		{"only at the end", last_quarter, RUN_SHAPE_BOUNDED},
		{"slower and slower", slower_and_slower, RUN_SHAPE_BOUNDED},
		{"hardly", hardly, RUN_SHAPE_BOUNDED},
		{"shrinking", shrinking, RUN_SHAPE_BOUNDED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int n = LIMIT_CURVE_POINTS_MIN; n <= POINTS; n++) {
			struct run run = {.n_curve = n};

			for (int k = 0; k < n; k++)
				run.curve_mean[k] = rows[i].at(k * POINTS / n);
			run_judge_shape(&run);
			if (run.shape != rows[i].shape)
				fail_msg("%s, %d points: %s", rows[i].name, n, run_shape_names[run.shape]);
		}
}

static void few_points_say_nothing(void **state)
{
	struct run run = {.n_curve = LIMIT_CURVE_POINTS_MIN - 1};

	(void)state;
	for (int k = 0; k < run.n_curve; k++)
		run.curve_mean[k] = even(k);
	run_judge_shape(&run);
	assert_int_equal(run.shape, RUN_SHAPE_UNKNOWN);
}

/* ---- in a history ---- */

static struct found_run found_in_cluster(int number, bool is_watched)
{
	struct found_run found = found_run(trainer, "a", number);

	found.run.outcome = OUTCOME_COMPLETED;
	found.run.source = is_watched ? "query+pods" : "query";
	found.run.samples = 60;
	found.run.duration_ms = 3000 * SECOND_MS;
	found.run.activity_permille = -1;
	found.run.chosen_by = is_watched ? CHOSEN_BY_USER : CHOSEN_BY_UNKNOWN;
	snprintf(found.run.name, sizeof(found.run.name), "a-%d", number);
	found.is_watched = is_watched;
	found.is_seen = true;
	return found;
}

static bool learn_run(const struct config *config, struct history *history, const struct found_run *found)
{
	struct learned_news news;
	bool has_changed = false;

	assert_int_equal(learn_history_run(config, history, found, &has_changed, &news, NULL), 0);
	return has_changed;
}

static bool learn_curve(struct history *history, struct run run, int64_t top)
{
	bool has_changed = false;

	run.n_curve = 16;
	for (int i = 0; i < run.n_curve; i++)
		run.curve_max[i] = run.curve_mean[i] = top * (i + 1) / run.n_curve;
	run_judge_shape(&run);
	assert_int_equal(learn_history_curve(history, &run, &has_changed, NULL), 0);
	return has_changed;
}

static void what_was_told_once_stays(void **state)
{
	static const struct {
		const char *name;
		bool is_watched, is_less_told;
	} rows[] = {
		{"of Prometheus alone", false, false},
		{"of Prometheus alone, and less of it later", false, true},
		{"of a watched pod", true, false},
		{"of a watched pod, of which Prometheus knows less later", true, true},
	};
	struct config *config = config_new_default();

	(void)state;
	assert_non_null(config);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct history *history = history_new("ml", "train");
		struct found_run found = found_in_cluster(1, rows[i].is_watched);

		test_row(rows[i].name);
		assert_non_null(history);
		assert_false(learn_curve(history, found.run, GI)); /* of a run that is not there */
		assert_true(learn_run(config, history, &found));
		assert_true(learn_history_wants_curve(history, &found.run));
		assert_true(learn_curve(history, found.run, GI));
		assert_false(learn_history_wants_curve(history, &found.run));
		found.run.samples = rows[i].is_less_told ? 50 : 60;
		found.is_seen = found.run.is_whole = !rows[i].is_less_told;
		assert_false(learn_run(config, history, &found));      /* found in every cycle, without a curve */
		assert_false(learn_curve(history, found.run, GI - 1)); /* told once more */
		assert_int_equal(history->runs.n, 1);
		assert_int_equal(history->runs.items[0].shape, RUN_SHAPE_GROWING);
		assert_int_equal(history->runs.items[0].n_curve, 16);
		assert_int_equal(history->runs.items[0].curve_max[15], GI);
		/* a curve that gave way to what is newer is not asked for again */
		history->runs.items[0].n_curve = 0;
		assert_false(learn_history_wants_curve(history, &found.run));
		history_free(history);
	}
	config_free(config);
}

static void only_the_newest_whole_runs_want_one(void **state)
{
	struct config *config = config_new_default();
	struct history *history = history_new("ml", "train");
	struct found_run found;

	(void)state;
	assert_non_null(config);
	assert_non_null(history);
	for (int i = 1; i <= LIMIT_HISTORY_CURVES + 2; i++) {
		found = found_in_cluster(i, false);
		found.run.is_whole = i != 5;
		assert_true(learn_run(config, history, &found));
	}
	for (int i = 1; i <= LIMIT_HISTORY_CURVES + 2; i++) {
		found = found_in_cluster(i, false);
		assert_int_equal(learn_history_wants_curve(history, &found.run), i != 1 && i != 5);
	}
	history_free(history);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_of_each_workload_are_asked_for_once),
		cmocka_unit_test(roles_and_containers_have_their_own),
		cmocka_unit_test(a_run_that_is_found_twice_is_asked_for_once),
		cmocka_unit_test(what_is_too_short_has_no_curve),
		cmocka_unit_test(a_source_without_curves_has_none),
		cmocka_unit_test(an_outage_only_postpones),
		cmocka_unit_test(one_that_is_too_heavy_spoils_no_other),
		cmocka_unit_test(a_rare_workload_has_its_turn),
		cmocka_unit_test(a_cycle_asks_for_so_many),
		cmocka_unit_test(steps_without_samples_are_bridged),
		cmocka_unit_test(only_even_growth_to_the_end_is_growing),
		cmocka_unit_test(few_points_say_nothing),
		cmocka_unit_test(what_was_told_once_stays),
		cmocka_unit_test(only_the_newest_whole_runs_want_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
