/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to one run and what does not: what is told after a restart, and by Prometheus beside the API server. */
#include "quick_fixture.h"

static void a_restart_changes_nothing_and_a_retry_joins(void **state)
{
	const struct told_pod first = {"t-1-a", "u1", "t-1", 0, "Failed", "OOMKilled", 1, .limit = "64Mi"};
	const struct told_pod second = {"t-1-b", "u2", "t-1", 2, "Failed", "OOMKilled", 4, .limit = "96Mi"};
	CLEANUP(known_release) struct known known = {.n_profiles = 0}, later = {.n_profiles = 0};
	struct place place;

	(void)state;
	setup(&place);
	place.now_ms += 5 * TIME_MINUTE_MS;
	see(&place, &first);
	assert_int_equal(quick(&place), 1);
	restart(&place);
	see(&place, &first);
	assert_int_equal(quick(&place), 0);
	restart(&place); /* and the first pod is gone by now */
	see(&place, &second);
	assert_int_equal(quick(&place), 1);
	known = what_is_known(&place);
	assert_int_equal(known.runs.n, 1);
	assert_int_equal(known.runs.items[0].start_ms, NOW_MS);
	assert_int_equal(known.runs.items[0].attempts, 2);
	assert_int_equal(known.runs.items[0].n_killed_limits, 2);
	restart(&place);
	see(&place, &second);
	assert_int_equal(quick(&place), 0);
	later = what_is_known(&place);
	assert_int_equal(later.runs.n, 1);
	assert_int_equal(later.runs.items[0].attempts, 2);
	teardown(&place);
}

/* Killed in the middle of runs: of what went unseen nobody says that it still runs, and what still runs goes on. */
static void what_went_unseen_is_unknown(void **state)
{
	const struct told_pod gone = {"t-1-a", "u1", "t-1", 0, "Running", "running", .limit = "64Mi"};
	const struct told_pod stays = {"s-1-a", "u2", "s-1", 0, "Running", "running", .limit = "64Mi"};
	struct place place;

	(void)state;
	setup(&place);
	place.now_ms += TIME_MINUTE_MS;
	see(&place, &gone);
	see(&place, &stays);
	assert_int_equal(quick(&place), 2);
	for (int round = 0; round < 4; round++) {
		CLEANUP(known_release) struct known known = {.n_profiles = 0};
		bool is_restarted = round > 0;

		if (is_restarted)
			restart(&place);
		place.now_ms += TIME_MINUTE_MS;
		if (is_restarted)
			see(&place, &stays);
		(void)quick(&place);
		/* With an empty Prometheus, or without any. */
		place.reader.detect_status = round % 2 ? EVIDENCE_UNREACHABLE : 0;
		(void)!engine_cycle(&place.engine, place.now_ms, &(struct engine_result){.n_runs = 0},
				    &(struct err)ERR_INIT);
		known = what_is_known(&place);
		assert_int_equal(known.runs.n, 2);
		for (size_t i = 0; i < known.runs.n; i++)
			assert_int_equal(known.runs.items[i].outcome,
					 streq(known.runs.items[i].name, "t-1") && is_restarted ? OUTCOME_UNKNOWN
												: OUTCOME_RUNNING);
	}
	teardown(&place);
}

/* As long as not every owner is known, nobody can say that a run is not there. */
static void half_a_view_settles_nothing(void **state)
{
	CLEANUP(known_release) struct known known = {.n_profiles = 0};
	struct place place;

	(void)state;
	setup(&place);
	place.now_ms += TIME_MINUTE_MS;
	see(&place, &(struct told_pod){"t-1-a", "u1", "t-1", 0, "Running", "running", .limit = "64Mi"});
	assert_int_equal(quick(&place), 1);
	restart(&place);
	place.now_ms += TIME_MINUTE_MS;
	place.is_half_known = true;
	place.reader.detect_status = EVIDENCE_UNREACHABLE;
	(void)!engine_cycle(&place.engine, place.now_ms, &(struct engine_result){.n_runs = 0}, &(struct err)ERR_INIT);
	known = what_is_known(&place);
	assert_int_equal(known.runs.n, 1);
	assert_int_equal(known.runs.items[0].outcome, OUTCOME_RUNNING);
	teardown(&place);
}

/* A Job of the same name long after is another run, a Job of the same name soon after a failure another attempt. */
static void a_name_taken_again_later_is_another_run(void **state)
{
	CLEANUP(known_release) struct known known = {.n_profiles = 0};
	struct place place;

	(void)state;
	setup(&place);
	place.now_ms += 2 * TIME_MINUTE_MS;
	see(&place, &(struct told_pod){"t-a", "u1", "t", 0, "Failed", "OOMKilled", 1, .limit = "64Mi"});
	assert_int_equal(quick(&place), 1);
	restart(&place);
	place.now_ms += TIME_HOUR_MS;
	see(&place, &(struct told_pod){"t-b", "u2", "t", 60, "Failed", "OOMKilled", 61, .limit = "96Mi"});
	assert_int_equal(quick(&place), 1);
	known = what_is_known(&place);
	assert_int_equal(known.runs.n, 2);
	assert_int_equal(known.runs.items[0].n_killed_limits, 1);
	assert_int_equal(known.runs.items[1].n_killed_limits, 1);
	teardown(&place);
}

#define MINUTE(n) (30 * 1440 + (n))
#define USE	  .usual_mib = 40, .peak_mib = 50, .rss_mib = 50, .peak_after_min = 9

static void use_and_ends_are_one_run(void **state)
{
	/* What Prometheus has, with and without kube-state-metrics. What that calls the image says little. */
	static const struct fake_pod complete = {"t-1-a",
						 "u1",
						 "Job",
						 "t-1",
						 .start_min = MINUTE(0),
						 .end_min = MINUTE(20),
						 .ends = END_SUCCEEDED,
						 .container_ends = END_COMPLETED,
						 .limit_mib = 64,
						 .request_mib = 64,
						 USE,
						 .image = "sha256:0123"};
	static const struct fake_pod silent = {"t-1-a",
					       "u1",
					       "Job",
					       "t-1",
					       .start_min = MINUTE(0),
					       .end_min = MINUTE(20),
					       .is_gone_silently = true,
					       USE,
					       .image = "sha256:0123"};
	static const char decision[] =
		"\"memtamer.io/decision\":\"{\\\"v\\\":1,\\\"mode\\\":\\\"raise\\\",\\\"rev\\\":7,\\\"runs\\\":4,"
		"\\\"set\\\":[{\\\"c\\\":\\\"main\\\",\\\"r\\\":\\\"memory\\\",\\\"f\\\":\\\"limit\\\",\\\"from\\\":"
		"\\\"32Mi\\\",\\\"to\\\":\\\"64Mi\\\",\\\"rule\\\":\\\"oom\\\"}]}\"";
	const struct told_pod runs = {"t-1-a",	 "u1",	    "t-1",	     0,
				      "Running", "running", .limit = "64Mi", .annotations = decision};
	const struct told_pod over = {
		"t-1-a", "u1", "t-1", 0, "Succeeded", "Completed", 20, .limit = "64Mi", .annotations = decision};
	/* In which order the two sources come, p: pods, w: whole cycle, W: without kube-state-metrics, r: a restart
	 * after which the pod is gone. */
	static const char *const orders[] = {"pw",  "wp",  "pwp",  "pW",   "Wp",    "prw",
					     "prW", "wrp", "pwrW", "pWrw", "pwrwrW"};

	char variant[11];

	(void)state;
	identity_variant("trainer:1", NULL, 0, NULL, 0, 1, variant);
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		CLEANUP(known_release) struct known known = {.n_profiles = 0};
		struct place place;

		test_row(orders[i]);
		setup(&place);
		place.now_ms += 10 * TIME_MINUTE_MS;
		see(&place, &runs);
		assert_int_equal(quick(&place), 1);
		place.now_ms += 12 * TIME_MINUTE_MS;
		for (const char *step = orders[i]; *step; step++) {
			if (*step == 'r') {
				restart(&place);
				place.now_ms += 15 * TIME_MINUTE_MS; /* until samples that stopped say that it ended */
				continue;
			}
			if (!strchr(orders[i], 'r') || strchr(step, 'r'))
				see(&place, &over);
			if (*step == 'p')
				(void)quick(&place);
			else
				(void)whole(&place, *step == 'w' ? &complete : &silent, 1);
		}
		known = what_is_known(&place);
		assert_int_equal(known.runs.n, 1);
		assert_int_equal(known.runs.items[0].start_ms, NOW_MS);
		assert_int_equal(known.runs.items[0].duration_ms, 20 * TIME_MINUTE_MS);
		assert_int_equal(known.runs.items[0].outcome, OUTCOME_COMPLETED);
		assert_int_equal(known.runs.items[0].peak_bytes, 50 * FAKE_MIB);
		/* How long use lasted is known to the hour only, without anybody who knows the end. */
		assert_int_equal(known.runs.items[0].is_whole, !streq(orders[i], "prW"));
		assert_int_equal(known.runs.items[0].attempts, 1);
		assert_int_equal(known.runs.items[0].chosen_by, CHOSEN_BY_MEMTAMER);
		assert_int_equal(known.runs.items[0].mode, MODE_RAISE);
		assert_int_equal(known.runs.items[0].revision, 7);
		assert_int_equal(known.runs.items[0].own_limit_bytes, 32 * FAKE_MIB);
		assert_int_equal(known.runs.items[0].own_request_bytes, 64 * FAKE_MIB);
		assert_string_equal(known.runs.items[0].source, "query+pods");
		assert_string_equal(known.runs.items[0].variant, variant);
		teardown(&place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_restart_changes_nothing_and_a_retry_joins),
		cmocka_unit_test(use_and_ends_are_one_run),
		cmocka_unit_test(a_name_taken_again_later_is_another_run),
		cmocka_unit_test(what_went_unseen_is_unknown),
		cmocka_unit_test(half_a_view_settles_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
