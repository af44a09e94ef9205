/* SPDX-License-Identifier: Apache-2.0 */
/* Which OOM kills are told with the size to submit again with. */
#include "watched_pods_fixture.h"

#include "base/timefmt.h"
#include "service/unraised_kills.h"

#include <signal.h>

#define OF_JOB(name)                                                                                                   \
	",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"" name "\",\"uid\":\"" name    \
	"\",\"controller\":true}]"
#define QUEUED	     ",\"kueue.x-k8s.io/queue-name\":\"team\""
#define SIZE(memory) "{\"cpu\":\"1\",\"memory\":\"" memory "\"}"
#define POD(name, labels, owner, requests, limits, ended)                                                              \
	POD_OF(name, labels, owner, "\"restartPolicy\":\"Never\",", "", requests, limits, ended)
#define POD_OF(name, labels, owner, spec, container, requests, limits, ended)                                          \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"uid-" name                                \
	"\",\"resourceVersion\":\"1\",\"creationTimestamp\":\"2026-11-02T07:00:00Z\","                                 \
	"\"labels\":{\"memtamer.io/training\":\"true\"" labels "}" owner "},\"spec\":{" spec                           \
	"\"containers\":[{\"name\":\"main\",\"image\":\"i\"" container ",\"resources\":{\"requests\":" requests        \
	",\"limits\":" limits "}}]},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\","       \
	"\"state\":{\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":\"" ended "\"}}}]}}"
#define KILLED(name, labels, owner) POD(name, labels, owner, SIZE("64Mi"), SIZE("64Mi"), "2026-11-02T07:59:00Z")
#define JOB(name)                                                                                                      \
	{                                                                                                              \
		"GET /apis/batch/v1/namespaces/ml/jobs/" name " ",                                                     \
			.body = "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"" name "\"}}"     \
	}

static void a_queued_guaranteed_kill_is_told_once(void **state)
{
	static const struct fake_step steps[] = {
		{PODS,
		 .body = LIST(
			 KILLED("one-a", QUEUED, OF_JOB("one")) "," KILLED("one-b", QUEUED, OF_JOB("one")) "," KILLED(
				 "unqueued", "",
				 OF_JOB("two")) "," KILLED("bare", QUEUED,
							   "") "," POD("burstable", QUEUED, OF_JOB("three"),
								       SIZE("32Mi"), SIZE("64Mi"),
								       "2026-11-02T07:59:00Z") "," POD("past", QUEUED,
												       OF_JOB("four"),
												       SIZE("64Mi"),
												       SIZE("64Mi"),
												       "2026-11-02T07:"
												       "10:00Z"))},
		{PODS, .body = "", .end = FAKE_HOLD},
		JOB("one"),
		JOB("two"),
		JOB("three"),
		JOB("four"),
		{.fits = NULL},
	};
	struct world world;
	struct unraised_kills kills;
	struct notice notice;
	struct pods *pods;

	(void)state;
	pods = start_pods(&world, steps);
	unraised_kills_start(&kills, NOW_MS - 10 * TIME_MINUTE_MS, false);
	assert_false(unraised_kills_next(&kills, pods, 0, &notice)); /* no kill was seen */
	assert_true(unraised_kills_next(&kills, pods, 5, &notice));
	assert_string_equal(notice.owner, "Job/one");
	assert_string_equal(notice.reason, "MemoryNotRaised");
	assert_string_equal(notice.text, "main: OOM-killed at its limit of 64Mi, which cannot be raised: "
					 "LocalQueue team counted it; submit again with 128Mi");
	assert_false(unraised_kills_next(&kills, pods, 5, &notice));
	assert_false(unraised_kills_next(&kills, pods, 6, &notice)); /* another kill of one that was told */
	stop_pods(&world, pods);
}

#define BURST(name, owner, spec, container)                                                                            \
	POD_OF(name, "", owner, spec, container, SIZE("32Mi"), SIZE("64Mi"), "2026-11-02T07:59:00Z")
#define RULE                                                                                                           \
	",\"restartPolicy\":\"Never\",\"restartPolicyRules\":[{\"action\":\"Restart\",\"exitCodes\":{\"operator\":"    \
	"\"In\",\"values\":[137]}}]"

/* While resizes are on, they report it themselves. */
static void a_restart_is_told_while_resizes_are_off(void **state)
{
	static const struct {
		const char *pod, *owner; /* owner NULL: not told */
		bool resizes;
	} rows[] = {
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"OnFailure\",", ""), "Job/one", false},
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"OnFailure\",", ""), NULL, true},
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"Never\",", ""), NULL, false},
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"Never\",", RULE), "Job/one", false},
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"Never\",", RULE), NULL, true},
		{BURST("a", "", "\"restartPolicy\":\"Never\",", RULE), "Pod/a", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char list[2048];
		const struct fake_step steps[] = {
			{PODS, .body = list},
			{PODS, .body = "", .end = FAKE_HOLD},
			JOB("one"),
			{.fits = NULL},
		};
		struct world world;
		struct unraised_kills kills;
		struct notice notice;
		struct pods *pods;

		snprintf(list, sizeof(list), LIST("%s"), rows[i].pod);
		pods = start_pods(&world, steps);
		unraised_kills_start(&kills, NOW_MS - 10 * TIME_MINUTE_MS, rows[i].resizes);
		assert_int_equal(unraised_kills_next(&kills, pods, 1, &notice), rows[i].owner != NULL);
		if (rows[i].owner) {
			assert_string_equal(notice.owner, rows[i].owner);
			assert_string_equal(notice.reason, "MemoryNotRaised");
			assert_string_equal(notice.text,
					    "main: OOM-killed at its limit of 64Mi, with which it restarts, as "
					    "recommender.resize is off; submit again with 128Mi");
		}
		assert_false(unraised_kills_next(&kills, pods, 2, &notice));
		stop_pods(&world, pods);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queued_guaranteed_kill_is_told_once),
		cmocka_unit_test(a_restart_is_told_while_resizes_are_off),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
