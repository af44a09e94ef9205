/* SPDX-License-Identifier: Apache-2.0 */
/* Who looks for what rises to its limit, and when, against an API server and a Prometheus that are played. */
#include "service_fixture.h"

#include "config/config.h"
#include "evidence/query.h"
#include "evidence/query_usage.h"
#include "pods/pods.h"
#include "service/cycles.h"
#include "service/metrics.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POD                                                                                                            \
	"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ml\",\"uid\":\"u\",\"labels\":{\"memtamer.io/training\":"       \
	"\"true\"}},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{"         \
	"\"memory\":\"64Mi\"}}}]},\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-11-02T08:00:00Z\","           \
	"\"containerStatuses\":[{\"name\":\"c\",\"state\":{\"running\":{}}}]}}"

static const struct fake_step cluster_steps[] = {
	{"GET /api/v1/namespaces?labelSelector=memtamer.io%2Fignore%3Dtrue&watch=", .body = "", .end = FAKE_HOLD},
	{"GET /api/v1/namespaces?", .body = LIST("")},
	{"GET /api/v1/nodes?watch=", .body = "", .end = FAKE_HOLD},
	{"GET /api/v1/nodes?", .body = LIST(NODE("n1", "1", "", GPUS("8")))},
	{"GET /api/v1/pods?fieldSelector=metadata.namespace%21%3Dkube-system&watch=", .body = "", .end = FAKE_HOLD},
	{"GET /api/v1/pods?", .body = LIST(POD)},
	{"GET /api/v1/events?fieldSelector=reason%3DFailedCreate&watch=", .body = "", .end = FAKE_HOLD},
	{"GET /api/v1/events?", .body = LIST("")},
	{.fits = NULL},
};
static const struct fake_step prometheus_steps[] = {
	{"POST /api/v1/query", .body = "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}",
	 .times = 1000},
	{.fits = NULL},
};

/* A session that leads in a cluster with a pod that runs, and reads. */
struct place {
	struct fake_api *cluster, *prometheus;
	char kubeconfig[64];
	struct session session;
};

static void place_start(struct place *place)
{
	struct session *session = &place->session;
	struct query_config query = {.prometheus = NULL};
	struct err err = ERR_INIT;
	char text[1024];

	*place = (struct place){.kubeconfig = "/tmp/memtamer-resize-XXXXXX",
				.cluster = fake_api_start(cluster_steps),
				.prometheus = fake_api_start(prometheus_steps)};
	write_kubeconfig(place->kubeconfig, fake_api_url(place->cluster));
	snprintf(text, sizeof(text),
		 "apiVersion: config.memtamer.io/v1alpha1\nstore: {kind: kube}\nkubernetes: {kubeconfig: %s}\n"
		 "prometheus: {url: '%s'}\nrecommender: {lease: '', probe: 0s, resize: beforeOOM}\n",
		 place->kubeconfig, fake_api_url(place->prometheus));
	if (config_parse(text, strlen(text), "test", "/tmp", &session->config, &err))
		fail_msg("%s: %s", err.where, err.msg);
	session->metrics = service_metrics_new();
	assert_non_null(session->metrics);
	query.prometheus = &session->config->prometheus;
	assert_int_equal(query_reader_new(&query, &session->reader, NULL), 0);
	assert_int_equal(service_start(session->config, session->metrics, NULL, &session->service, NULL), 0);
	assert_int_equal(resize_watch_new(session->config, service_replica(session->service), session->reader, NULL,
					  &session->resizes, NULL),
			 0);
	while (!pods_is_synced(replica_pods(service_replica(session->service))))
		service_wait(session->service, 1);
}

static void place_stop(struct place *place)
{
	struct session *session = &place->session;

	resize_watch_free(session->resizes);
	service_stop(session->service);
	query_reader_freep(&session->reader);
	metrics_free(session->metrics);
	config_free(session->config);
	assert_int_equal(fake_api_unexpected(place->cluster), 0);
	assert_int_equal(fake_api_unexpected(place->prometheus), 0);
	fake_api_free(place->cluster);
	fake_api_free(place->prometheus);
	unlink(place->kubeconfig);
}

static void it_looks_while_a_cycle_reads(void **state)
{
	struct place place;

	(void)state;
	place_start(&place);
	cycles_between(&place.session);
	assert_int_equal(fake_api_count(place.prometheus, "deriv"), 2);
	cycles_between(&place.session); /* it is not time for another look */
	assert_int_equal(fake_api_count(place.prometheus, "deriv"), 2);
	place_stop(&place);
}

/* The deadline of a cycle that has read for too long stands after a look. */
static void a_look_leaves_the_deadline_of_the_cycle(void **state)
{
	int64_t over_ms = time_monotonic_ms() - 1;
	struct usage usage;
	struct place place;

	(void)state;
	place_start(&place);
	query_reader_deadline(place.session.reader, over_ms);
	resize_watch_deadline(place.session.resizes, over_ms);
	cycles_between(&place.session);
	assert_int_equal(fake_api_count(place.prometheus, "deriv"), 2);
	usage_init(&usage);
	assert_int_equal(query_pod_usage(place.session.reader, time_now_ms(), &usage, NULL), EVIDENCE_STOPPED);
	usage_release(&usage);
	place_stop(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_looks_while_a_cycle_reads),
		cmocka_unit_test(a_look_leaves_the_deadline_of_the_cycle),
	};

	signal(SIGPIPE, SIG_IGN);
	use_fake_kubectl();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
