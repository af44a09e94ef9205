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
};

static int rise(struct evidence_reader *base, struct evidence_curve *curves, size_t n, struct err *err)
{
	struct source *self = (struct source *)base;

	self->n_calls++;
	if (self->status)
		return err_set(err, self->status, "made up");
	for (size_t i = 0; i < n; i++) {
		snprintf(self->pods[self->n_curves++], sizeof(self->pods[0]), "%s", curves[i].pod);
		for (int k = 0; k < curves[i].n; k++)
			curves[i].max_bytes[k] = curves[i].mean_bytes[k] = GI * (k + 1) / curves[i].n;
	}
	return 0;
}

#define SOURCE                                                                                                         \
	{                                                                                                              \
		.base = {.curves = rise }                                                                              \
	}

/* Whole, an hour long, seen once a minute. */
static struct found_run found_run(char *namespace_name, char *container, const char *workload, int number)
{
	struct found_run run = {namespace_name, container, {.run = {.is_whole = true, .peak_bytes = GI}}};

	run.summary.run.start_ms = number * 3600 * SECOND_MS;
	snprintf(run.summary.run.uid, sizeof(run.summary.run.uid), "%s-%d", workload, number);
	snprintf(run.summary.identity.keys[0].text, sizeof(run.summary.identity.keys[0].text), "%s", workload);
	run.summary.identity.n_keys = 1;
	run.summary.widest = (struct run_widest){.peak_bytes = GI,
						 .start_ms = run.summary.run.start_ms,
						 .end_ms = run.summary.run.start_ms + 3600 * SECOND_MS,
						 .step_ms = 60 * SECOND_MS};
	snprintf(run.summary.widest.pod, sizeof(run.summary.widest.pod), "%s-%d", workload, number);
	return run;
}

static char ml[] = "ml", trainer[] = "main";

static void read_all(struct curves *self, struct source *source, struct found_run *runs, size_t n)
{
	assert_int_equal(curves_read(self, &source->base, runs, n, NULL, NULL), 0);
}

static void the_newest_of_each_workload_are_asked_for_once(void **state)
{
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run runs[24];
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 12; i++) {
		runs[n++] = found_run(ml, trainer, "a", i);
		runs[n++] = found_run(ml, trainer, "b", i);
	}
	read_all(&curves, &source, runs, n);
	assert_int_equal(source.n_curves, 2 * LIMIT_HISTORY_CURVES);
	for (size_t i = 0; i < n; i++) {
		bool is_new = i / 2 >= 12 - LIMIT_HISTORY_CURVES;

		assert_int_equal(runs[i].summary.run.n_curve, is_new ? 30 : 0);
	}
	assert_int_equal(runs[n - 1].summary.run.curve_max[29], GI);
	/* The same are found again: those that were left out before are not asked for either. */
	runs[n - 1].summary.run.n_curve = 0;
	read_all(&curves, &source, runs, n);
	assert_int_equal(source.n_curves, 2 * LIMIT_HISTORY_CURVES);
	curves_release(&curves);
}

static void roles_and_containers_have_their_own(void **state)
{
	static char sidecar[] = "sidecar";
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run runs[] = {found_run(ml, trainer, "a", 1), found_run(ml, sidecar, "a", 1),
				   found_run(ml, trainer, "a", 1)};

	(void)state;
	snprintf(runs[2].summary.identity.role, sizeof(runs[2].summary.identity.role), "worker");
	read_all(&curves, &source, runs, ARRAY_LEN(runs));
	assert_int_equal(source.n_curves, 3);
	curves_release(&curves);
}

/* Of one run that was found in a closed day and again, the later finding counts. */
static void the_last_finding_has_the_curve(void **state)
{
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run runs[] = {found_run(ml, trainer, "a", 1), found_run(ml, trainer, "a", 1)};

	(void)state;
	read_all(&curves, &source, runs, ARRAY_LEN(runs));
	assert_int_equal(source.n_curves, 1);
	assert_int_equal(runs[0].summary.run.n_curve, 0);
	assert_int_equal(runs[1].summary.run.n_curve, 30);
	curves_release(&curves);
}

static void what_has_no_curve_is_not_asked_for(void **state)
{
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run broken = found_run(ml, trainer, "a", 1), brief = found_run(ml, trainer, "b", 1);
	struct found_run unmeasured = found_run(ml, trainer, "c", 1), unscaled = found_run(ml, trainer, "d", 1);
	struct evidence_reader without = {.source = "pods"};

	(void)state;
	broken.summary.run.is_whole = false;
	brief.summary.widest.end_ms = brief.summary.widest.start_ms + 15 * 60 * SECOND_MS;
	*unmeasured.summary.widest.pod = '\0';
	unscaled.summary.widest.step_ms = 0;
	read_all(&curves, &source, &broken, 1);
	read_all(&curves, &source, &brief, 1);
	read_all(&curves, &source, &unmeasured, 1);
	read_all(&curves, &source, &unscaled, 1);
	assert_int_equal(source.n_calls, 0);
	broken.summary.run.is_whole = true;
	assert_int_equal(curves_read(&curves, &without, &broken, 1, NULL, NULL), 0);
	assert_int_equal(curves_read(&curves, NULL, &broken, 1, NULL, NULL), 0);
	read_all(&curves, &source, &broken, 1);
	assert_int_equal(source.n_curves, 1);
	curves_release(&curves);
}

static void count_call(void *context)
{
	++*(int *)context;
}

static void an_outage_only_postpones(void **state)
{
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;
	struct found_run runs[40];
	int n_between = 0;

	(void)state;
	for (int i = 0; i < 40; i++) {
		char name[8];

		snprintf(name, sizeof(name), "w%d", i);
		runs[i] = found_run(ml, trainer, name, i);
	}
	source.status = EVIDENCE_TOO_HEAVY;
	assert_int_equal(curves_read(&curves, &source.base, runs, 40, count_call, &n_between), 0);
	assert_int_equal(source.n_calls, 1); /* the second batch is not asked for */
	assert_int_equal(n_between, 1);
	assert_int_equal(runs[39].summary.run.n_curve, 0);
	source.status = 0;
	assert_int_equal(curves_read(&curves, &source.base, runs, 40, count_call, &n_between), 0);
	assert_int_equal(source.n_curves, 40);
	assert_int_equal(n_between, 3);
	assert_string_equal(source.pods[0], "w39-39"); /* the newest first */
	source.status = -ENOMEM;
	runs[0] = found_run(ml, trainer, "w0", 100);
	assert_int_equal(curves_read(&curves, &source.base, runs, 1, NULL, NULL), -ENOMEM);
	curves_release(&curves);
}

static void a_cycle_asks_for_so_many(void **state)
{
	static struct found_run runs[LIMIT_CYCLE_CURVES + 40];
	struct curves curves = {.asked = STRMAP_INIT};
	struct source source = SOURCE;

	(void)state;
	for (int i = 0; i < (int)ARRAY_LEN(runs); i++) {
		char name[8];

		snprintf(name, sizeof(name), "w%d", i);
		runs[i] = found_run(ml, trainer, name, i);
	}
	read_all(&curves, &source, runs, ARRAY_LEN(runs));
	assert_int_equal(source.n_curves, LIMIT_CYCLE_CURVES);
	read_all(&curves, &source, runs, ARRAY_LEN(runs)); /* those that are found again have their turn */
	assert_int_equal(source.n_curves, ARRAY_LEN(runs));
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

/* ---- in a history ---- */

static void learn_run(const struct config *config, struct history *history, const struct run_summary *found, bool *ret)
{
	struct learned_news news;

	*ret = false;
	assert_int_equal(learn_history_run(config, history, found, ret, &news, NULL), 0);
}

static void rise_to(struct run *run, int64_t top)
{
	run->n_curve = 16;
	for (int i = 0; i < run->n_curve; i++)
		run->curve_max[i] = run->curve_mean[i] = top * (i + 1) / run->n_curve;
}

static void what_was_told_once_stays(void **state)
{
	static const struct {
		const char *name;
		bool is_watched, is_known_better;
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
		struct run_summary found = found_run(ml, trainer, "a", 1).summary;
		const struct run *run;
		bool has_changed;

		test_row(rows[i].name);
		assert_non_null(history);
		found.run.outcome = OUTCOME_COMPLETED;
		found.run.source = "query";
		found.run.samples = 60;
		found.run.duration_ms = 3600 * SECOND_MS;
		found.run.activity_permille = -1;
		found.run.chosen_by = rows[i].is_watched ? CHOSEN_BY_USER : CHOSEN_BY_UNKNOWN;
		found.is_watched = rows[i].is_watched;
		found.is_seen = true;
		learn_run(config, history, &found, &has_changed);
		assert_true(has_changed);
		rise_to(&found.run, GI); /* told in a later cycle */
		learn_run(config, history, &found, &has_changed);
		assert_true(has_changed);
		run = &history->runs.items[0];
		assert_int_equal(run->n_curve, 16);
		found.run.n_curve = 0; /* asked for once, found in every cycle */
		found.run.samples = rows[i].is_known_better ? 50 : 60;
		found.is_seen = found.run.is_whole = !rows[i].is_known_better;
		learn_run(config, history, &found, &has_changed);
		assert_false(has_changed);
		found.run.samples = 60;
		found.is_seen = found.run.is_whole = true;
		rise_to(&found.run, GI - 1); /* asked for again, rounded in another way */
		learn_run(config, history, &found, &has_changed);
		assert_false(has_changed);
		assert_int_equal(history->runs.n, 1);
		run = &history->runs.items[0];
		assert_int_equal(run->n_curve, 16);
		assert_int_equal(run->curve_max[15], GI);
		assert_int_equal(run->curve_mean[0], GI / 16);
		history_free(history);
	}
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_of_each_workload_are_asked_for_once),
		cmocka_unit_test(roles_and_containers_have_their_own),
		cmocka_unit_test(the_last_finding_has_the_curve),
		cmocka_unit_test(what_has_no_curve_is_not_asked_for),
		cmocka_unit_test(an_outage_only_postpones),
		cmocka_unit_test(a_cycle_asks_for_so_many),
		cmocka_unit_test(steps_without_samples_are_bridged),
		cmocka_unit_test(what_was_told_once_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
