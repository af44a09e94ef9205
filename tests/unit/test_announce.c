/* SPDX-License-Identifier: Apache-2.0 */
/* Which object the Event of a notice is on, also if the notice has its name truncated. */
#include "watched_pods_fixture.h"

#include "engine/hung.h"
#include "k8s/pod.h"
#include "model/identity.h"
#include "service/announce.h"

#include <signal.h>

#define TEN(digit) digit digit digit digit digit digit digit digit digit digit
#define LONG	   TEN("train-of-x") /* 100 characters */
#define LONGEST	   LONG TEN("and-more-x")
#define EVENTS	   "POST /api/v1/namespaces/ml/events "
#define OF_JOB(job)                                                                                                    \
	",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"" job                          \
	"\",\"uid\":\"of-job\",\"controller\":true}]"
#define POD(name, owner)                                                                                               \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"of-pod\",\"resourceVersion\":\"1\","      \
	"\"labels\":{\"memtamer.io/training\":\"true\"}" owner                                                         \
	"},\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"i\"}]},\"status\":{\"phase\":\"Running\"}}"

/* The owner as a history has it. */
static void owner_of_run(const char *kind, const char *name, const char *pod_name, char ret[RUN_NAME_BYTES])
{
	const struct k8s_labels labels = {.is_present = true};
	struct identity_facts facts = {.namespace_name = "ml",
				       .pod_name = pod_name,
				       .generate_name = "",
				       .labels = &labels,
				       .container = "main",
				       .n_owners = name != NULL};
	struct identity identity;

	facts.owners[0] = (struct identity_owner){"batch/v1", kind, name};
	workload_identify(&facts, &identity);
	identity_cut(identity.run_key, ret, RUN_NAME_BYTES);
}

static void an_event_is_on_the_object_of_the_notice(void **state)
{
	static const struct {
		const char *pods, *job, *pod_name; /* the notice is about the job, or if it is NULL about the pod */
		const char *found;		   /* NULL: no Event */
	} rows[] = {
		{POD("a", OF_JOB("train")), "train", "a",
		 "Job\",\"name\":\"train\",\"namespace\":\"ml\",\"uid\":\"of-job"},
		{POD("a", OF_JOB("train")), "train-2", "a", NULL},
		{POD("a", OF_JOB(LONG)), LONG, "a",
		 "Job\",\"name\":\"" LONG "\",\"namespace\":\"ml\",\"uid\":\"of-job"},
		{POD("a", OF_JOB(LONGEST)), LONGEST, "a",
		 "Job\",\"name\":\"" LONGEST "\",\"namespace\":\"ml\",\"uid\":\"of-job"},
		{POD("a", OF_JOB(LONG "-1")), LONG "-2", "a", NULL},
		{POD("a", ""), NULL, "a", "Pod\",\"name\":\"a\",\"namespace\":\"ml\",\"uid\":\"of-pod"},
		{POD(LONG, ""), NULL, LONG, "Pod\",\"name\":\"" LONG "\",\"namespace\":\"ml\",\"uid\":\"of-pod"},
		{POD(LONGEST, ""), NULL, LONGEST,
		 "Pod\",\"name\":\"" LONGEST "\",\"namespace\":\"ml\",\"uid\":\"of-pod"},
		{POD(LONG "-1", ""), NULL, LONG "-2", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char list[4096];
		const struct fake_step steps[] = {
			{PODS, .body = list},
			{PODS, .body = "", .end = FAKE_HOLD},
			{"GET /apis/batch/v1/namespaces/ml/jobs/", .body = "{\"metadata\":{\"uid\":\"of-job\"}}"},
			{EVENTS, .status = 201, .body = "{}"},
			{.fits = NULL},
		};
		struct notice notice = {.kind = NOTICE_SET, .namespace_name = "ml", .reason = "MemorySet", .text = "x"};
		struct announce announce = {.events = NULL};
		struct world world;

		test_row(rows[i].job ? rows[i].job : rows[i].pod_name);
		snprintf(list, sizeof(list), LIST("%s"), rows[i].pods);
		owner_of_run("Job", rows[i].job, rows[i].pod_name, notice.owner);
		announce.pods = start_pods(&world, steps);
		assert_int_equal(kube_events_new(world.client,
						 &(struct kube_events_config){.component = "c", .instance = "i"},
						 &announce.events, NULL),
				 0);
		assert_int_equal(announce_notice(&announce, &notice, NULL), 0);
		for (int n = 0; n < (rows[i].found ? 100 : 3) && !fake_api_count(world.api, EVENTS); n++)
			poll_once(&world);
		assert_int_equal(fake_api_count(world.api, EVENTS), rows[i].found != NULL);
		if (rows[i].found)
			assert_int_equal(fake_api_count(world.api, rows[i].found), 1);
		kube_events_free(announce.events);
		stop_pods(&world, announce.pods);
	}
}

/* Notices that do not come from a history have the same text. */
static void all_notices_name_an_owner_alike(void **state)
{
	static const char *const rows[] = {"train", LONG, LONGEST};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char of_run[RUN_NAME_BYTES], owner[RUN_NAME_BYTES];
		struct hung_gang gang = {.namespace_name = "ml"};
		struct notice notice;

		owner_of_run("Job", rows[i], "a", of_run);
		notice_owner("Job", rows[i], owner);
		assert_string_equal(owner, of_run);
		snprintf(gang.owner, sizeof(gang.owner), "Job/%s", rows[i]);
		notice_of_hung_gang(&gang, &notice);
		assert_string_equal(notice.owner, of_run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_on_the_object_of_the_notice),
		cmocka_unit_test(all_notices_name_an_owner_alike),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
