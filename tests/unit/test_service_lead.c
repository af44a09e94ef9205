/* SPDX-License-Identifier: Apache-2.0 */
/* Which replica leads, against an API server that holds the Lease, and what it does then. */
#include "service_fixture.h"

#include "config/config.h"
#include "fake_objects.h"
#include "pods/pods.h"
#include "engine/hung.h"
#include "service/metrics.h"
#include "service/probe.h"
#include "service/replica.h"
#include "service/service.h"

#include <math.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/memtamer/leases"
#define THIEF                                                                                                          \
	"{\"metadata\":{\"namespace\":\"memtamer\",\"name\":\"lead\"},\"spec\":{\"holderIdentity\":\"thief\","         \
	"\"leaseDurationS"                                                                                             \
	"econds\":3,\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}}"

/* A configuration for the cluster that the fake plays. */
struct place {
	char kubeconfig[64], text[1024];
	struct config *config;
	struct metrics *metrics;
	atomic_int led, lost;
};

static void place_init(struct place *place, const char *server, const char *more)
{
	struct err err = ERR_INIT;

	*place = (struct place){.kubeconfig = "/tmp/memtamer-service-XXXXXX"};
	write_kubeconfig(place->kubeconfig, server);
	snprintf(place->text, sizeof(place->text),
		 "apiVersion: config.memtamer.io/v1alpha1\nstore: {kind: kube}\nkubernetes: {kubeconfig: %s}\n%s",
		 place->kubeconfig, more);
	if (config_parse(place->text, strlen(place->text), "test", "/tmp", &place->config, &err))
		fail_msg("%s: %s", err.where, err.msg);
	place->metrics = service_metrics_new();
	assert_non_null(place->metrics);
}

static void place_release(struct place *place)
{
	metrics_free(place->metrics);
	config_free(place->config);
	unlink(place->kubeconfig);
}

static void on_changed(void *context, bool leads)
{
	struct place *place = context;

	atomic_fetch_add(leads ? &place->led : &place->lost, 1);
}

static void wait_for(const atomic_int *counter, int value)
{
	while (atomic_load(counter) < value)
		usleep(1000);
}

static struct replica *replica_of(struct place *place)
{
	struct replica_config config = {.config = place->config,
					.metrics = place->metrics,
					.changed = on_changed,
					.context = place,
					.lease_ms = 5000,
					.renew_deadline_ms = 3000,
					.retry_ms = 20};
	struct replica *replica = NULL;

	assert_int_equal(replica_start(&config, &replica, NULL), 0);
	return replica;
}

/* Another one takes the Lease and then vanishes: we stop, wait, and lead again. */
static void leadership_is_lost_and_regained(void **state)
{
	struct fake_objects *api = fake_objects_start();
	struct shapes shapes = {.items = VEC_INIT};
	char words[REPLICA_WORDS];
	struct replica *replica;
	struct place place;

	(void)state;
	place_init(&place, fake_objects_url(api), "recommender: {lease: lead, probe: 0s, pods: false}\n");
	replica = replica_of(&place);
	wait_for(&place.led, 1);
	assert_true(replica_leads(replica));
	assert_null(replica_not_ready(replica, words));
	assert_true(metrics_value(place.metrics, METRIC_IS_LEADER, 0, 0, 0) == 1);
	fake_objects_put(api, "leases", THIEF);
	wait_for(&place.lost, 1); /* at once, not when it could not be renewed for long: the thief has it for 3 s */
	assert_false(replica_leads(replica));
	while (!replica_shapes(replica, &shapes)) /* what the leader did ends in a moment */
		usleep(1000);
	vec_release(&shapes.items);
	wait_for(&place.led, 2);
	assert_true(replica_leads(replica));
	assert_false(replica_is_stuck(replica));
	replica_stop(replica);
	/* Given up: the next one need not wait. */
	assert_string_equal(
		json_object_get_string(json_member(
			json_member(fake_objects_get(api, "leases", "memtamer", "lead"), "spec"), "holderIdentity")),
		"");
	assert_true(isnan(metrics_value(place.metrics, METRIC_IS_LEADER, 0, 0, 0)));
	place_release(&place);
	fake_objects_free(api);
}

struct failing {
	atomic_bool is_on;
};

static int fail_writes(void *context, struct fake_objects *self, const char *method, const char *path,
		       const char **ret_reason, const char **ret_message)
{
	struct failing *failing = context;

	(void)self, (void)path;
	*ret_reason = "InternalError";
	*ret_message = "no quorum";
	return streq(method, "PUT") && atomic_load(&failing->is_on) ? 500 : 0;
}

/* The API server takes no renewal: nobody took the Lease, and yet we may lead no longer than we could renew. */
static void a_leader_that_cannot_renew_stops(void **state)
{
	struct fake_objects *api = fake_objects_start();
	struct failing failing = {.is_on = false};
	struct replica *replica;
	struct place place;

	(void)state;
	fake_objects_hook(api, fail_writes, &failing);
	place_init(&place, fake_objects_url(api), "recommender: {lease: lead, probe: 0s, pods: false}\n");
	replica = replica_of(&place);
	wait_for(&place.led, 1);
	atomic_store(&failing.is_on, true);
	wait_for(&place.lost, 1);
	assert_false(replica_leads(replica));
	atomic_store(&failing.is_on, false);
	wait_for(&place.led, 2);
	assert_true(metrics_value(place.metrics, METRIC_LEASE_ERRORS, 0, 0, 0) >= 1);
	replica_stop(replica);
	place_release(&place);
	fake_objects_free(api);
}

/* Nobody answers the Lease: not ready, and in which words. */
static void without_rights_it_is_not_ready(void **state)
{
	static const struct fake_step steps[] = {
		{"GET " LEASES "/lead ", .status = 403, .body = STATUS("403", "Forbidden"), .times = 1000000},
		{.fits = NULL},
	};
	struct fake_api *api = fake_api_start(steps);
	char words[SERVICE_WORDS];
	struct service *service = NULL;
	struct place place;
	const char *said;

	(void)state;
	place_init(&place, fake_api_url(api), "recommender: {lease: lead, listen: '127.0.0.1:0'}\n");
	assert_int_equal(service_start(place.config, place.metrics, NULL, &service, NULL), 0);
	do {
		said = service_not_ready(service, words);
		assert_non_null(said);
	} while (!strstr(said, "the Lease cannot be read or written"));
	assert_non_null(strstr(said, "the words of the server"));
	assert_false(service_leads(service));
	assert_null(service_stuck(service, words));
	assert_true(metrics_value(place.metrics, METRIC_LEASE_ERRORS, 0, 0, 0) >= 1);
	service_stop(service);
	place_release(&place);
	fake_api_free(api);
}

#define POD_IN(namespace)                                                                                              \
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"" namespace "\",\"uid\":\"u\",\"labels\":{\"memtamer.io/"       \
								   "training\":"                                       \
								   "\"true\"}},\"spec\":{\"containers\":[{\"name\":"   \
								   "\"c\"}]},\"status\":{\"startTime\":\"2026-11-"     \
								   "02T08:00:00Z\"}}"

/* Without an election it leads at once, watches nodes, namespaces, pods and refusals, and probes. */
static void without_an_election_it_leads(void **state)
{
	static const struct fake_step steps[] = {
		{"GET /api/v1/namespaces?labelSelector=memtamer.io%2Fignore%3Dtrue&watch=", .body = "",
		 .end = FAKE_HOLD},
		{"GET /api/v1/namespaces?",
		 .body = LIST("{\"metadata\":{\"name\":\"still\",\"resourceVersion\":\"1\"}}")},
		{"GET /api/v1/nodes?", .body = LIST(NODE("a", "1", "", GPUS("8")))},
		{"GET /api/v1/nodes?watch=", .body = "", .end = FAKE_HOLD},
		{"GET /api/v1/pods?fieldSelector=metadata.namespace%21%3Dkube-system&watch=", .body = "",
		 .end = FAKE_HOLD},
		{"GET /api/v1/pods?", .body = LIST(POD_IN("ml") "," POD_IN("still"))},
		{"GET /api/v1/events?fieldSelector=reason%3DFailedCreate&watch=", .body = "", .end = FAKE_HOLD},
		{"GET /api/v1/events?fieldSelector=reason%3DFailedCreate", .body = LIST(REFUSED("e", "j"))},
		{DRY_RUN, .body = MARKED, .times = 1000000},
		{.fits = NULL},
	};
	struct fake_api *api = fake_api_start(steps);
	struct shapes shapes = {.items = VEC_INIT};
	struct service *service = NULL;
	struct replica *replica;
	struct place place;

	(void)state;
	place_init(&place, fake_api_url(api), "recommender: {lease: '', probe: 1s}\n");
	assert_int_equal(service_start(place.config, place.metrics, NULL, &service, NULL), 0);
	assert_true(service_leads(service));
	replica = service_replica(service);
	assert_non_null(replica);
	while (replica_shapes(replica, &shapes) > 0) {
		service_wait(service, 1);
		assert_int_equal(fake_api_unexpected(api), 0);
	}
	assert_int_equal(shapes.items.n, 1);
	assert_int_equal(shapes.items.items[0].accelerators, 8);
	while (!pods_is_synced(replica_pods(replica)))
		service_wait(service, 1);
	while (!(metrics_value(place.metrics, METRIC_PODS_WATCHED, 0, 0, 0) == 1))
		service_wait(service, 1);
	assert_true(service_urgent_since_ms(service) > 0); /* what there is is news */
	assert_int_equal(replica_ignores(replica, "ml"), ENGINE_LEARNED);
	assert_int_equal(replica_ignores(replica, "still"), ENGINE_LEFT_OUT);
	while (metrics_value(place.metrics, METRIC_PROBES, PROBE_REACHED, 0, 0) < 2)
		service_wait(service, 1);
	assert_true(metrics_value(place.metrics, METRIC_REACHABLE, 0, 0, 0) == 1);
	assert_true(metrics_value(place.metrics, METRIC_NODES, 0, 0, 0) == 1);
	assert_true(isnan(metrics_value(place.metrics, METRIC_IS_LEADER, 0, 0, 0)));
	service_stop(service);
	assert_int_equal(fake_api_unexpected(api), 0);
	assert_true(isnan(metrics_value(place.metrics, METRIC_REACHABLE, 0, 0, 0)));
	assert_true(isnan(metrics_value(place.metrics, METRIC_PODS_WATCHED, 0, 0, 0)));
	assert_true(isnan(metrics_value(place.metrics, METRIC_NODES, 0, 0, 0)));
	vec_release(&shapes.items);
	place_release(&place);
	fake_api_free(api);
}

#define RANK(name, version, status)                                                                                    \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"" name                                    \
	"\",\"resourceVersion\":\"" version "\",\"creationTimestamp\":\"2020-01-01T00:00:00Z\",\"labels\":{"           \
	"\"memtamer.io/training\":\"true\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","       \
	"\"name\":\"train\",\"uid\":\"j\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"c\","           \
	"\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"8\"}}}]},\"status\":{" status "}}"
#define STATUSES(state) "\"containerStatuses\":[{\"name\":\"c\",\"state\":{" state "}}]"
#define ENDED(phase, reason, code)                                                                                     \
	"\"phase\":\"" phase "\"," STATUSES("\"terminated\":{\"reason\":\"" reason "\",\"exitCode\":" code             \
					    ",\"finishedAt\":\"2020-01-01T01:00:00Z\"}")
#define RUNNING "\"phase\":\"Running\"," STATUSES("\"running\":{}")

static void wait_for_gangs(const struct place *place, struct service *service, struct fake_api *api, double n)
{
	while (!(metrics_value(place->metrics, METRIC_HUNG_GANGS, 0, 0, 0) == n)) {
		service_wait(service, 1);
		assert_int_equal(fake_api_unexpected(api), 0);
	}
}

/* A rank was OOM-killed long ago and its sibling holds eight accelerators, until it ends. */
static void a_hung_gang_is_shown_told_and_withdrawn(void **state)
{
	static const struct fake_step steps[] = {
		{"GET /api/v1/namespaces?labelSelector=memtamer.io%2Fignore%3Dtrue&watch=", .body = "",
		 .end = FAKE_HOLD},
		{"GET /api/v1/namespaces?", .body = LIST("")},
		{"GET /api/v1/nodes?", .body = LIST(NODE("a", "1", "", GPUS("8")))},
		{"GET /api/v1/nodes?watch=", .body = "", .end = FAKE_HOLD},
		{"GET /api/v1/pods?fieldSelector=metadata.namespace%21%3Dkube-system&watch=",
		 .body = "{\"type\":\"MODIFIED\",\"object\":" RANK("train-1-x7k2p", "11",
								   ENDED("Failed", "Error", "1")) "}\n",
		 .end = FAKE_HOLD, .after = "GET /release"},
		{"GET /api/v1/pods?",
		 .body = LIST(RANK("train-0-x7k2p", "1", ENDED("Failed", "OOMKilled", "137")) "," RANK("train-1-x7k2p",
												       "2", RUNNING))},
		{"GET /apis/batch/v1/namespaces/ml/jobs/train ", .body = "{}"},
		{"GET /api/v1/events?fieldSelector=reason%3DFailedCreate&watch=", .body = "", .end = FAKE_HOLD},
		{"GET /api/v1/events?fieldSelector=reason%3DFailedCreate", .body = LIST("")},
		{"POST /api/v1/namespaces/ml/events ", .status = 201, .body = "{\"metadata\":{}}"},
		{"GET /release ", .body = "{}"},
		{.fits = NULL},
	};
	struct fake_api *api = fake_api_start(steps);
	struct service *service = NULL;
	struct hung_list hung;
	struct place place;

	(void)state;
	place_init(&place, fake_api_url(api), "recommender: {lease: '', probe: 0s}\n");
	assert_int_equal(service_start(place.config, place.metrics, NULL, &service, NULL), 0);
	wait_for_gangs(&place, service, api, 1);
	assert_true(metrics_value(place.metrics, METRIC_HUNG_ACCELERATORS, 0, 0, 0) == 8);
	replica_hung(service_replica(service), &hung);
	assert_int_equal(hung.n_items, 1);
	assert_string_equal(hung.items[0].pod, "train-0-x7k2p");
	while (!fake_api_count(api, "\"GangHung\""))
		service_wait(service, 1);
	ask_for_release(api);
	wait_for_gangs(&place, service, api, 0);
	assert_true(metrics_value(place.metrics, METRIC_HUNG_ACCELERATORS, 0, 0, 0) == 0);
	replica_hung(service_replica(service), &hung);
	assert_int_equal(hung.n + (int64_t)hung.n_items, 0);
	service_stop(service);
	assert_int_equal(fake_api_count(api, "\"GangHung\""), 1);
	assert_int_equal(fake_api_unexpected(api), 0);
	assert_true(isnan(metrics_value(place.metrics, METRIC_HUNG_GANGS, 0, 0, 0)));
	assert_true(isnan(metrics_value(place.metrics, METRIC_HUNG_ACCELERATORS, 0, 0, 0)));
	place_release(&place);
	fake_api_free(api);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leadership_is_lost_and_regained),
		cmocka_unit_test(a_leader_that_cannot_renew_stops),
		cmocka_unit_test(without_rights_it_is_not_ready),
		cmocka_unit_test(without_an_election_it_leads),
		cmocka_unit_test(a_hung_gang_is_shown_told_and_withdrawn),
	};

	signal(SIGPIPE, SIG_IGN);
	use_fake_kubectl();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
