/* SPDX-License-Identifier: Apache-2.0 */
/* From what the API server tells of pods to profiles, without Prometheus. */
#include "quick_fixture.h"

static void a_kill_raises_the_profile(void **state)
{
	CLEANUP(known_release) struct known known = {.n_profiles = 0};
	struct place place;

	(void)state;
	setup(&place);
	see(&place, &(struct told_pod){"t-1-a", "u1", "t-1", 0, "Running", "running", .limit = "64Mi"});
	place.now_ms += 2 * TIME_MINUTE_MS;
	see(&place, &(struct told_pod){"t-1-a", "u1", "t-1", 0, "Failed", "OOMKilled", 1, .limit = "64Mi"});
	assert_int_equal(quick(&place), 1);
	assert_int_equal(place.n_written, 1);
	assert_int_equal(place.reader.n_reads, 0); /* Prometheus is not asked */
	known = what_is_known(&place);
	assert_int_equal(known.n_profiles, 1);
	assert_int_equal(known.runs.n, 1);
	assert_string_equal(known.runs.items[0].name, "t-1");
	assert_string_equal(known.runs.items[0].source, "pods");
	assert_int_equal(known.runs.items[0].outcome, OUTCOME_OOM_KILLED);
	assert_int_equal(known.runs.items[0].chosen_by, CHOSEN_BY_USER);
	assert_int_equal(known.runs.items[0].own_limit_bytes, 64 * FAKE_MIB);
	assert_int_equal(known.runs.items[0].n_killed_limits, 1);
	assert_int_equal(known.runs.items[0].killed_limits[0], 64 * FAKE_MIB);
	assert_true(known.recommendation.limit_bytes > 64 * FAKE_MIB);
	assert_int_equal(quick(&place), 0); /* nothing new */
	teardown(&place);
}

/* An annotation is a claim: a value was set by us where the container carries it, or where another system has replaced
 * it in a pod that the annotation was written for. */
static void who_chose_is_what_the_pod_shows(void **state)
{
#define ENTRY(field, from, to)                                                                                         \
	"{\\\"c\\\":\\\"main\\\",\\\"r\\\":\\\"memory\\\",\\\"f\\\":\\\"" field "\\\"" from ",\\\"to\\\":\\\"" to      \
	"\\\"}"
#define FROM(quantity) ",\\\"from\\\":\\\"" quantity "\\\""
#define DECISION_OF(of, set)                                                                                           \
	"\"memtamer.io/decision\":\"{\\\"v\\\":1," of "\\\"mode\\\":\\\"raise\\\",\\\"rev\\\":7,\\\"set\\\":[" set     \
	"]}\""
#define DECISION(set) DECISION_OF("", set)
	static const struct {
		const char *name, *annotations, *limit;
		enum chosen_by by;
		int64_t own_request_mib, own_limit_mib;
	} rows[] = {
		{"nothing said", NULL, "64Mi", CHOSEN_BY_USER, 64, 64},
		{"raised", DECISION(ENTRY("limit", FROM("32Mi"), "64Mi")), "64Mi", CHOSEN_BY_MEMTAMER, 64, 32},
		{"filled", DECISION(ENTRY("limit", "", "64Mi")), "64Mi", CHOSEN_BY_MEMTAMER, 64, 0},
		{"both", DECISION(ENTRY("limit", FROM("32Mi"), "64Mi") "," ENTRY("request", FROM("16Mi"), "64Mi")),
		 "64Mi", CHOSEN_BY_MEMTAMER, 16, 32},
		{"looked at only", DECISION(""), "64Mi", CHOSEN_BY_USER, 64, 64},
		{"copied with a manifest, or edited since", DECISION(ENTRY("limit", FROM("32Mi"), "64Mi")), "96Mi",
		 CHOSEN_BY_USER, 96, 96},
		{"both replaced by a VerticalPodAutoscaler",
		 DECISION_OF("\\\"of\\\":\\\"j-t-1\\\",",
			     ENTRY("limit", "", "64Mi") "," ENTRY("request", FROM("16Mi"), "48Mi")),
		 "96Mi", CHOSEN_BY_MEMTAMER, 16, 0},
		{"its Job's", DECISION_OF("\\\"of\\\":\\\"j-t-1\\\",", ENTRY("limit", FROM("32Mi"), "64Mi")), "64Mi",
		 CHOSEN_BY_MEMTAMER, 64, 32},
		{"copied from another Job's pod, values and all",
		 DECISION_OF("\\\"of\\\":\\\"j-t-0\\\",", ENTRY("limit", FROM("32Mi"), "64Mi")), "64Mi", CHOSEN_BY_USER,
		 64, 64},
		{"garbage", "\"memtamer.io/decision\":\"{\\\"v\\\":1,[\"", "64Mi", CHOSEN_BY_USER, 64, 64},
		{"another version", "\"memtamer.io/decision\":\"{\\\"v\\\":9}\"", "64Mi", CHOSEN_BY_USER, 64, 64},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(known_release) struct known known = {.n_profiles = 0};
		struct place place;

		test_row(rows[i].name);
		setup(&place);
		place.now_ms += 5 * TIME_MINUTE_MS;
		see(&place, &(struct told_pod){"t-1-a", "u1", "t-1", 0, "Failed", "OOMKilled", 1,
					       .limit = rows[i].limit, .annotations = rows[i].annotations});
		assert_int_equal(quick(&place), 1);
		known = what_is_known(&place);
		assert_int_equal(known.runs.items[0].chosen_by, rows[i].by);
		assert_int_equal(known.runs.items[0].mode, rows[i].by == CHOSEN_BY_MEMTAMER ? MODE_RAISE : -1);
		assert_int_equal(known.runs.items[0].own_request_bytes, rows[i].own_request_mib * FAKE_MIB);
		assert_int_equal(known.runs.items[0].own_limit_bytes, rows[i].own_limit_mib * FAKE_MIB);
		teardown(&place);
	}
}

/* Any rank's kill is the run's; the same limit counts once, however many ranks and attempts it killed. */
static void a_gang_is_one_run(void **state)
{
	static const struct told_pod ranks[] = {
		{"g-0", "u1", "g", 0, "Failed", "OOMKilled", 10, .limit = "64Mi"},
		{"g-1", "u2", "g", 0, "Failed", "Error", 11, .limit = "64Mi"},
		{"g-2", "u3", "g", 0, "Failed", "OOMKilled", 10, .limit = "64Mi"},
		{"g-3", "u4", "g", 12, "Failed", "OOMKilled", 14, .limit = "64Mi"},
		{"g-4", "u5", "g", 12, "Running", "running", .limit = "64Mi"},
		{"g-5", "u6", "g", 12, "Running", "running", .limit = "64Mi"},
	};
	CLEANUP(known_release) struct known known = {.n_profiles = 0};
	struct place place;

	(void)state;
	setup(&place);
	place.now_ms += 20 * TIME_MINUTE_MS;
	for (size_t i = 0; i < ARRAY_LEN(ranks); i++)
		see(&place, &ranks[i]);
	assert_int_equal(quick(&place), 1);
	known = what_is_known(&place);
	assert_int_equal(known.runs.n, 1);
	assert_int_equal(known.runs.items[0].attempts, 2);
	assert_int_equal(known.runs.items[0].ranks, 3);
	assert_int_equal(known.runs.items[0].world_size, 3);
	assert_int_equal(known.runs.items[0].n_killed_limits, 1);
	assert_int_equal(known.runs.items[0].killed_limits[0], 64 * FAKE_MIB);
	teardown(&place);
}

/* The wall clock jumps an hour, forth and back again, in the middle of a run: it stays one run, whole times or not. */
static void a_jumping_clock_makes_no_runs(void **state)
{
	static const int minutes[] = {1, 61, 2, -30, 5};
	const struct told_pod runs = {"t-1-a", "u1", "t-1", 0, "Running", "running", .limit = "64Mi"};
	CLEANUP(known_release) struct known known = {.n_profiles = 0};
	struct place place;

	(void)state;
	setup(&place);
	for (size_t i = 0; i < ARRAY_LEN(minutes); i++) {
		place.now_ms = NOW_MS + minutes[i] * TIME_MINUTE_MS;
		see(&place, &runs);
		(void)quick(&place);
	}
	see(&place, &(struct told_pod){"t-1-a", "u1", "t-1", 0, "Failed", "OOMKilled", 5, .limit = "64Mi"});
	(void)quick(&place);
	known = what_is_known(&place);
	assert_int_equal(known.runs.n, 1);
	assert_int_equal(known.runs.items[0].outcome, OUTCOME_OOM_KILLED);
	assert_int_equal(known.runs.items[0].duration_ms, 5 * TIME_MINUTE_MS);
	teardown(&place);
}

/* A pod that waits for memory is a run without a try; it begins when it starts. */
static void waiting_is_no_try(void **state)
{
	const struct told_pod waits = {"t-1-a", "u1", "t-1", 0, "Pending", "waiting", .limit = "64Mi"};
	CLEANUP(known_release) struct known known = {.n_profiles = 0}, later = {.n_profiles = 0};
	struct place place;

	(void)state;
	setup(&place);
	place.now_ms += 10 * TIME_MINUTE_MS;
	see(&place, &waits);
	(void)quick(&place);
	known = what_is_known(&place);
	assert_int_equal(known.runs.n, 1);
	assert_int_equal(known.runs.items[0].attempts, 0);
	assert_int_equal(known.runs.items[0].pending_ms, 10 * TIME_MINUTE_MS);
	assert_int_equal(known.runs.items[0].outcome, OUTCOME_RUNNING);
	place.now_ms += 5 * TIME_MINUTE_MS;
	see(&place, &(struct told_pod){"t-1-a", "u1", "t-1", 12, "Running", "running", .limit = "64Mi"});
	(void)quick(&place);
	later = what_is_known(&place);
	assert_int_equal(later.runs.n, 1);
	assert_int_equal(later.runs.items[0].attempts, 1);
	assert_int_equal(later.runs.items[0].start_ms, NOW_MS + 12 * TIME_MINUTE_MS);
	teardown(&place);
}

/* Pods that completed beside each other, told one by one: quick cycles before all have ended change nothing twice. */
static void a_thousand_ends_are_one_cycle(void **state)
{
	CLEANUP(known_release) struct known known = {.n_profiles = 0};
	char names[1000][2][24];
	struct place place;

	(void)state;
	setup(&place);
	place.now_ms += 2 * TIME_MINUTE_MS;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(names[i][0], sizeof(names[i][0]), "j%zux-a", i);
		snprintf(names[i][1], sizeof(names[i][1]), "j%zux", i);
		see(&place, &(struct told_pod){names[i][0], names[i][0], names[i][1], 0, "Failed", "OOMKilled", 1,
					       .limit = "64Mi"});
	}
	assert_int_equal(quick(&place), ARRAY_LEN(names));
	assert_int_equal(quick(&place), 0);
	known = what_is_known(&place);
	assert_int_equal(known.n_profiles, ARRAY_LEN(names));
	teardown(&place);
}

#define TODAY (30 * 1440) /* NOW_MS in minutes */

static const struct told_pod killed[] = {
	{"t-4-a", "u4", "t-4", 19, "Failed", "OOMKilled", 21, .limit = "64Mi"},
	{"t-4-b", "u5", "t-4", 19, "Failed", "OOMKilled", 21, .limit = "64Mi"},
};

static void kill_once(void *context)
{
	struct place *place = context;

	if (place->n_written)
		return;
	place->now_ms += 2 * TIME_MINUTE_MS;
	see(place, &killed[0]);
	assert_int_equal(quick(place), 1);
}

/* The reading began before the pod was killed, and commits its days and the open time after the quick cycle. */
static void a_kill_during_the_first_reading_is_kept(void **state)
{
	static const struct fake_pod earlier[] = {
		{"t-1-a", "u1", "Job", "t-1", .start_min = TODAY - 2800, .end_min = TODAY - 2700, .ends = END_SUCCEEDED,
		 .limit_mib = 64, .usual_mib = 20, .peak_mib = 30, .rss_mib = 30},
		{"t-2-a", "u2", "Job", "t-2", .start_min = TODAY - 1800, .end_min = TODAY - 1700, .ends = END_SUCCEEDED,
		 .limit_mib = 64, .usual_mib = 20, .peak_mib = 30, .rss_mib = 30},
		{"t-3-a", "u3", "Job", "t-3", .start_min = TODAY - 800, .end_min = TODAY - 700, .ends = END_SUCCEEDED,
		 .limit_mib = 64, .usual_mib = 20, .peak_mib = 30, .rss_mib = 30},
	};
	CLEANUP(known_release) struct known known = {.n_profiles = 0};
	struct place place;

	(void)state;
	setup(&place);
	place.config->policy.sizing.buffer_fixed_bytes = 0;
	place.now_ms += 20 * TIME_MINUTE_MS;
	place.engine.between = kill_once;
	place.engine.between_context = &place;
	(void)whole(&place, earlier, ARRAY_LEN(earlier));
	assert_int_equal(place.n_written, 2);
	known = what_is_known(&place);
	assert_int_equal(known.n_histories, 1);
	assert_int_equal(known.runs.n, 4);
	assert_int_equal(known.recommendation.whole_runs, 3);
	assert_int_equal(known.recommendation.proven_bytes, 64 * FAKE_MIB);
	assert_int_equal(known.recommendation.limit_bytes, 128 * FAKE_MIB);
	teardown(&place);
}

/* The rise to the limit came after the last samples: what Prometheus shows later does not contradict the kill. */
static void samples_before_the_rise_do_not_excuse_a_kill(void **state)
{
	static const struct fake_pod sampled[] = {
		{"t-4-a", "u4", "Job", "t-4", .start_min = TODAY + 19, .end_min = TODAY + 21, .ends = END_FAILED,
		 .container_ends = END_OOM_KILLED, .limit_mib = 64, .usual_mib = 20, .peak_mib = 20, .rss_mib = 20},
		{"t-4-b", "u5", "Job", "t-4", .start_min = TODAY + 19, .end_min = TODAY + 21, .ends = END_FAILED,
		 .container_ends = END_OOM_KILLED, .limit_mib = 64, .usual_mib = 20, .peak_mib = 20, .rss_mib = 20},
	};
	CLEANUP(known_release) struct known known = {.n_profiles = 0};
	struct place place;

	(void)state;
	setup(&place);
	place.config->policy.sizing.buffer_fixed_bytes = 0;
	place.now_ms += 22 * TIME_MINUTE_MS;
	for (size_t i = 0; i < ARRAY_LEN(killed); i++)
		see(&place, &killed[i]);
	assert_int_equal(quick(&place), 1);
	(void)whole(&place, sampled, ARRAY_LEN(sampled));
	known = what_is_known(&place);
	assert_int_equal(known.runs.n, 1);
	assert_true(known.runs.items[0].samples > 3);
	assert_int_equal(known.runs.items[0].peak_bytes, 20 * FAKE_MIB);
	assert_int_equal(known.recommendation.limit_bytes, 128 * FAKE_MIB);
	teardown(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kill_raises_the_profile),
		cmocka_unit_test(who_chose_is_what_the_pod_shows),
		cmocka_unit_test(a_gang_is_one_run),
		cmocka_unit_test(a_jumping_clock_makes_no_runs),
		cmocka_unit_test(waiting_is_no_try),
		cmocka_unit_test(a_thousand_ends_are_one_cycle),
		cmocka_unit_test(a_kill_during_the_first_reading_is_kept),
		cmocka_unit_test(samples_before_the_rise_do_not_excuse_a_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
