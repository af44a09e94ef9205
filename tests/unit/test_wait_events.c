/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that wait for a node that no autoscaler will add: whose Events are read, and what becomes of them. */
#include "service_fixture.h"

#include "base/timefmt.h"
#include "pods/pods.h"
#include "service/wait_events.h"

#include <signal.h>

#define SET                                                                                                            \
	"{\\\"v\\\":1,\\\"mode\\\":\\\"fill\\\",\\\"rev\\\":1,\\\"runs\\\":3,\\\"set\\\":[{\\\"c\\\":\\\"main\\\","    \
	"\\\"r\\\":\\\"ephemeral-storage\\\",\\\"f\\\":\\\"request\\\",\\\"to\\\":\\\"1Gi\\\",\\\"rule\\\":\\\"no-"    \
	"history\\\"}]}"
#define DECIDED ",\"annotations\":{\"memtamer.io/decision\":\"" SET "\"}"
#define OF_JOB(name)                                                                                                   \
	",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"" name "\",\"uid\":\"" name    \
	"\",\"controller\":true}]"
#define CREATED "2026-11-02T07:00:00Z"
#define NOW_MS	((int64_t)1793606400000) /* 08:00 */
#define POD(name, version, created, more, condition)                                                                   \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"uid-" name                                \
	"\",\"resourceVersion\":\"" version "\",\"creationTimestamp\":\"" created                                      \
	"\",\"labels\":{\"memtamer.io/training\":\"true\"}" more                                                       \
	"},\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"i\",\"resources\":{\"requests\":{\"memory\":"      \
	"\"64Mi\","                                                                                                    \
	"\"ephemeral-storage\":\"1Gi\"}}}]},\"status\":{\"phase\":\"Pending\",\"conditions\":[" condition "]}}"
#define SCHEDULED(is, message)                                                                                         \
	"{\"type\":\"PodScheduled\",\"status\":\"" is "\",\"lastTransitionTime\":\"" CREATED                           \
	"\",\"message\":\"" message "\"}"
#define NO_GPU	    SCHEDULED("False", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
#define EVENTS(pod) "GET /api/v1/namespaces/ml/events?fieldSelector=involvedObject.uid%3Duid-" pod "&limit=500 "
#define EVENT(reason, first, message)                                                                                  \
	"{\"metadata\":{\"name\":\"e\",\"namespace\":\"ml\",\"resourceVersion\":\"1\",\"creationTimestamp\":\"" first  \
	"\"},\"firstTimestamp\":\"" first "\",\"reason\":\"" reason "\",\"message\":\"" message "\"}"
#define DECLINED "pod didn't trigger scale-up: 1 Insufficient ephemeral-storage"
#define AFTER_MS (10 * TIME_MINUTE_MS)
#define PODS	 "/api/v1/pods?fieldSelector"

static _Atomic int64_t clock_ms;

static int64_t read_clock(void)
{
	return clock_ms;
}

static void fail_loudly(void *context, const struct err *why)
{
	(void)context;
	fail_msg("%s", why->msg);
}

struct table {
	struct world world;
	struct pods *pods;
	struct wait_events *events;
};

static void start(struct table *self, const struct fake_step *steps)
{
	const struct pods_config config = {.failed = fail_loudly};

	clock_ms = NOW_MS;
	*self = (struct table){.world = {.api = fake_api_start(steps)}};
	self->world.server.url = fake_api_url(self->world.api);
	assert_int_equal(kube_client_new(&self->world.server, &(struct kube_client_config){.now_ms = read_clock},
					 &self->world.client, NULL),
			 0);
	assert_int_equal(pods_new(&config, &self->pods, NULL), 0);
	assert_int_equal(pods_watch(self->pods, self->world.client, NULL), 0);
	assert_int_equal(wait_events_new(self->world.client,
					 &(struct wait_events_config){
						 .pods = self->pods, .after_ms = AFTER_MS, .failed = fail_loudly},
					 &self->events, NULL),
			 0);
	while (!fake_api_count(self->world.api, "watch="))
		poll_once(&self->world);
}

static void stop(struct table *self)
{
	wait_events_free(self->events);
	pods_unwatch(self->pods);
	pods_free(self->pods);
	world_stop(&self->world);
}

/* Of all pods: how many lack this, and the longest wait for room. */
static size_t count_lacking(struct table *self, unsigned int lacks, int64_t *ret_waited_ms)
{
	const struct evidence_window window = {.end_ms = clock_ms, .is_open = true};
	struct evidence_batch batch;
	size_t n = 0;

	*ret_waited_ms = 0;
	evidence_batch_init(&batch, &window);
	assert_int_equal(pods_batch(self->pods, clock_ms, 0, &batch, NULL), 0);
	for (size_t i = 0; i < batch.pods.n; i++) {
		n += (batch.pods.items[i]->ends & END_UNSCHEDULABLE) == lacks;
		*ret_waited_ms = MAX(*ret_waited_ms, batch.pods.items[i]->room_wait_ms);
	}
	evidence_batch_release(&batch);
	return n;
}

/* One pod of a run; no pod without sizes of ours, no young one, none that has a node. */
static void only_pods_that_wait_at_our_sizes_are_asked_about(void **state)
{
	static const struct fake_step steps[] = {
		{PODS,
		 .body = LIST(POD("gang-0", "1", CREATED, DECIDED OF_JOB("gang"), NO_GPU) "," POD(
			 "gang-1", "2", CREATED, DECIDED OF_JOB("gang"),
			 NO_GPU) "," POD("own", "3", CREATED, "",
					 NO_GPU) "," POD("young", "4", "2026-11-02T07:59:59Z", DECIDED,
							 NO_GPU) "," POD("placed", "5", CREATED, DECIDED,
									 SCHEDULED("True",
										   "")) "," POD("said", "6", CREATED,
												DECIDED,
												SCHEDULED(
													"False",
													"0/1 nodes are "
													"available: 1 "
													"Insufficient "
													"ephemeral-"
													"storage.")))},
		{PODS, .body = "", .end = FAKE_HOLD},
		{"GET /apis/batch/v1/namespaces/ml/jobs/gang ",
		 .body = "{\"metadata\":{\"name\":\"gang\",\"namespace\":\"ml\",\"uid\":\"gang\"}}"},
		{"/events?fieldSelector=involvedObject.uid%3Duid-gang-", .body = LIST(""), .times = 3},
		{EVENTS("said"), .body = LIST(EVENT("NotTriggerScaleUp", "2026-11-02T07:10:00Z", DECLINED)),
		 .times = 2},
		{EVENTS("young"), .body = LIST("")},
		{.fits = NULL},
	};
	struct table self;

	(void)state;
	start(&self, steps);
	for (int i = 0; i < 20; i++) {
		wait_events_turn(self.events);
		poll_once(&self.world);
	}
	assert_int_equal(fake_api_count(self.world.api, "uid-gang-"), 1);
	assert_int_equal(fake_api_count(self.world.api, "uid-said"), 1);
	assert_int_equal(fake_api_count(self.world.api, "/events"), 2);
	/* and again only after as long */
	clock_ms = NOW_MS + AFTER_MS - 2 * TIME_SECOND_MS;
	wait_events_turn(self.events);
	poll_once(&self.world);
	assert_int_equal(fake_api_count(self.world.api, "/events"), 2);
	clock_ms = NOW_MS + AFTER_MS;
	while (fake_api_count(self.world.api, "uid-gang-") < 2) {
		wait_events_turn(self.events);
		poll_once(&self.world);
	}
	/* but not where they said enough */
	assert_int_equal(fake_api_count(self.world.api, "uid-said"), 1);
	/* The clock is set back: they are asked about at once, not when it is as late again. */
	clock_ms = NOW_MS;
	for (int i = 0; i < 20; i++) {
		wait_events_turn(self.events);
		poll_once(&self.world);
	}
	assert_int_equal(fake_api_count(self.world.api, "uid-gang-"), 3);
	stop(&self);
}

static void what_an_autoscaler_says_is_kept_until_there_is_a_node(void **state)
{
	static const struct fake_step steps[] = {
		{PODS, .body = LIST(POD("train", "1", CREATED, DECIDED, NO_GPU))},
		{PODS "=metadata.namespace%21%3Dkube-system&watch=true&allowWatchBookmarks=true&resourceVersion=10&",
		 .body = "", .end = FAKE_HOLD},
		{EVENTS("train"),
		 .body = LIST(EVENT("Scheduled", "2026-11-02T07:01:00Z", DECLINED) "," EVENT(
			 "FailedScheduling", "2026-11-02T07:02:00Z",
			 "0/1 nodes are available: 1 Insufficient memory.") "," EVENT("NotTriggerScaleUp",
										      "2026-11-02T07:30:00Z",
										      DECLINED) "," EVENT("NotTriggerSc"
													  "aleUp",
													  "2026-11-"
													  "02T07:10:"
													  "00Z",
													  DECLINED))},
		{.fits = NULL},
	};
	int64_t waited_ms = 0, seq = 0;
	struct table self;

	(void)state;
	start(&self, steps);
	assert_int_equal(count_lacking(&self, END_UNSCHEDULABLE_EPHEMERAL, &waited_ms), 0);
	while (!count_lacking(&self, END_UNSCHEDULABLE_EPHEMERAL, &waited_ms)) {
		wait_events_turn(self.events);
		poll_once(&self.world);
	}
	assert_int_equal(waited_ms, 50 * TIME_MINUTE_MS);
	assert_true(pods_has_changes(self.pods, seq));
	clock_ms += TIME_MINUTE_MS;
	assert_int_equal(count_lacking(&self, END_UNSCHEDULABLE_EPHEMERAL, &waited_ms), 1);
	assert_int_equal(waited_ms, 51 * TIME_MINUTE_MS);
	stop(&self);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_pods_that_wait_at_our_sizes_are_asked_about),
		cmocka_unit_test(what_an_autoscaler_says_is_kept_until_there_is_a_node),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
