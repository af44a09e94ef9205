/* SPDX-License-Identifier: Apache-2.0 */
/* The recommender as a service without a cluster: what the endpoint says, what wakes it, which notices wait to be told,
 * and which configurations make another service. */
#include "support/test.h"

#include "base/attr.h"
#include "base/log.h"
#include "config/config.h"
#include "http_client/http_client.h"
#include "program/log_buffer.h"
#include "service/metrics.h"
#include "service/outbox.h"
#include "service/probe.h"
#include "service/service.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void of_one_subject_the_last_notice_is_told(void **state)
{
	struct outbox *outbox = outbox_new();
	struct notice notice = {.namespace_name = "ml", .owner = "Job/a", .subject = "1", .text = "1 pod"}, got;

	(void)state;
	assert_non_null(outbox);
	outbox_put(outbox, &notice, 1000);
	snprintf(notice.text, sizeof(notice.text), "8 pods");
	notice.is_update = true;
	outbox_put(outbox, &notice, 2000);
	assert_false(outbox_take(outbox, 1000 + OUTBOX_SETTLE_MS - 1, &got));
	assert_true(outbox_take(outbox, 1000 + OUTBOX_SETTLE_MS, &got));
	assert_string_equal(got.text, "8 pods");
	/* what was told is not told again for a pod more, but another subject is */
	outbox_put(outbox, &notice, 9000);
	assert_false(outbox_take(outbox, 90000, &got));
	notice.is_update = false;
	for (int i = 0; i < OUTBOX_MAX + 5; i++) {
		snprintf(notice.subject, sizeof(notice.subject), "%d", i);
		outbox_put(outbox, &notice, 10000);
	}
	assert_true(outbox_take(outbox, 90000, &got));
	/* nobody led for long: it would look like news */
	assert_false(outbox_take(outbox, 10001 + OUTBOX_KEPT_MS, &got));
	assert_false(outbox_take(outbox, 90000, &got));
	assert_string_equal(got.subject, "5"); /* the oldest had to go */
	outbox_free(outbox);
}

/* ---- the endpoint ---- */

static long get(unsigned int port, const char *path, struct strbuf *body)
{
	char url[64];
	struct http_client_config config = {.base_url = url};
	struct http_client *client = NULL;
	struct http_request request = {.path = path};
	struct err err = ERR_INIT;
	long status = 0;

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	strbuf_clear(body);
	assert_int_equal(http_client_new(&config, &client, &err), 0);
	(void)!http_client_fetch(client, &request, 0, body, &status, &err); /* a status of failure is one, too */
	http_client_free(client);
	return status;
}

static void the_endpoint_says_how_it_is(void **state)
{
	static const char text[] = "apiVersion: config.memtamer.io/v1alpha1\nrecommender: {listen: '127.0.0.1:0'}\n";
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(1 << 20);
	char words[SERVICE_WORDS];
	struct metrics *metrics = service_metrics_new();
	struct service *service = NULL;
	struct config *config = NULL;

	(void)state;
	assert_int_equal(config_parse(text, sizeof(text) - 1, "test", "/tmp", &config, NULL), 0);
	assert_int_equal(service_start(config, metrics, NULL, &service, NULL), 0);
	assert_true(service_leads(service));
	assert_null(service_replica(service));
	assert_int_equal(get(service_port(service), "/healthz", &body), 200);
	assert_int_equal(get(service_port(service), "/readyz", &body), 200);
	service_promise(service, 60000);
	assert_int_equal(get(service_port(service), "/healthz", &body), 200);
	service_promise(service, -5000);
	assert_int_equal(get(service_port(service), "/healthz", &body), 503);
	assert_non_null(strstr(service_stuck(service, words), "should have ended a step 5 s ago"));
	assert_int_equal(get(service_port(service), "/readyz", &body), 200);
	assert_int_equal(get(service_port(service), "/secrets", &body), 404);
	metrics_add(metrics, METRIC_PROM_SAMPLES, 0, 0, 0, 4000000000);
	metrics_count(metrics, METRIC_PROBES, PROBE_FAILED_OPEN, 0, 0);
	assert_int_equal(get(service_port(service), "/metrics", &body), 200);
	assert_non_null(strstr(strbuf_text(&body), "\nmemtamer_prometheus_samples_total 4000000000\n"));
	assert_non_null(strstr(strbuf_text(&body), "\nmemtamer_webhook_probe_total{result=\"failed-open\"} 1\n"));
	assert_non_null(strstr(strbuf_text(&body), "# TYPE process_cpu_seconds_total counter\n"));
	assert_non_null(
		strstr(strbuf_text(&body), "\nmemtamer_http_requests_total{path=\"/healthz\",code=\"503\"} 1\n"));
	/* What is not known is not said. */
	assert_null(strstr(strbuf_text(&body), "memtamer_webhook_reachable"));
	assert_null(strstr(strbuf_text(&body), "memtamer_is_leader"));
	metrics_set(metrics, METRIC_REACHABLE, 0);
	assert_int_equal(get(service_port(service), "/metrics", &body), 200);
	assert_non_null(strstr(strbuf_text(&body), "\nmemtamer_webhook_reachable 0\n"));
	service_stop(service);
	metrics_free(metrics);
	config_free(config);
}

static void dropped_log_lines_are_counted(void **state)
{
	static const char text[] = "apiVersion: config.memtamer.io/v1alpha1\nrecommender: {listen: '127.0.0.1:0'}\n";
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(1 << 20);
	struct metrics *metrics = service_metrics_new();
	int fds[2], old_stderr = dup(STDERR_FILENO);
	struct service *service = NULL;
	struct config *config = NULL;
	struct log_buffer *log;
	char line[80];

	(void)state;
	assert_int_equal(config_parse(text, sizeof(text) - 1, "test", "/tmp", &config, NULL), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0); /* nobody reads it */
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	close(fds[1]);
	assert_int_equal(log_buffer_start(&log, NULL), 0);
	assert_int_equal(service_start(config, metrics, log, &service, NULL), 0);
	while (!log_buffer_dropped(log))
		log_event(LOG_INFO, "line", NULL);
	assert_int_equal(get(service_port(service), "/metrics", &body), 200);
	snprintf(line, sizeof(line), "\nmemtamer_log_lines_dropped_total %llu\n",
		 (unsigned long long)log_buffer_dropped(log));
	service_stop(service);
	close(fds[0]);
	log_buffer_stop(log, 60000);
	assert_true(dup2(old_stderr, STDERR_FILENO) >= 0);
	close(old_stderr);
	assert_non_null(strstr(strbuf_text(&body), line));
	metrics_free(metrics);
	config_free(config);
}

static void wakes_are_not_lost(void **state)
{
	static const char text[] = "apiVersion: config.memtamer.io/v1alpha1\n";
	struct metrics *metrics = service_metrics_new();
	struct service *service = NULL;
	struct config *config = NULL;

	(void)state;
	assert_int_equal(config_parse(text, sizeof(text) - 1, "test", "/tmp", &config, NULL), 0);
	assert_int_equal(service_start(config, metrics, NULL, &service, NULL), 0);
	assert_int_equal(service_port(service), 0);
	service_wake(service); /* before the wait: it ends at once, or the test takes for ever */
	service_wait(service, INT64_MAX);
	service_wait(service, 1);
	service_stop(service);
	metrics_free(metrics);
	config_free(config);
}

static void which_configurations_make_another_service(void **state)
{
	static const struct {
		const char *text;
		bool differs;
	} rows[] = {
		{"", false},
		{"mode: fill\n", false},
		{"recommender: {interval: 1m}\n", false},
		{"recommender: {lease: memtamer-recommender}\n", false},
		{"recommender: {lease: other}\n", true},
		{"recommender: {listen: '127.0.0.1:0'}\n", true},
		{"recommender: {probe: 2m}\n", true},
		{"recommender: {pods: false}\n", true},
		{"recommender: {namespaces: [a]}\n", true},
		{"namespaces: {exclude: [a]}\n", true},
		{"namespaces: {own: x}\n", true},
		{"store: {kind: kube}\n", true},
		{"kubernetes: {context: x}\n", true},
		{"webhook: {configurations: {mutating: x}}\n", true},
	};
	struct config *base = config_new_default();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(config_freep) struct config *other = NULL;
		char text[256];

		test_row(rows[i].text);
		snprintf(text, sizeof(text), "apiVersion: config.memtamer.io/v1alpha1\n%s", rows[i].text);
		assert_int_equal(config_parse(text, strlen(text), "test", "/tmp", &other, NULL), 0);
		assert_int_equal(service_differs(base, other), rows[i].differs);
	}
	config_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_one_subject_the_last_notice_is_told),
		cmocka_unit_test(the_endpoint_says_how_it_is),
		cmocka_unit_test(dropped_log_lines_are_counted),
		cmocka_unit_test(wakes_are_not_lost),
		cmocka_unit_test(which_configurations_make_another_service),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
