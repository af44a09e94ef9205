/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/decide.h"
#include "serve/metrics.h"
#include "support/test.h"

#include <pthread.h>
#include <string.h>

#define THREADS 4
#define ROUNDS	20000

static const char *rendered(struct metrics *metrics, struct strbuf *text)
{
	strbuf_clear(text);
	assert_int_equal(metrics_render(metrics, text), 0);
	return strbuf_text(text);
}

static void test_exposition(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"\n# TYPE memtamer_admission_requests_total counter\n",
		"\nmemtamer_admission_requests_total{result=\"patched\",mode=\"raise\",dry_run=\"true\"} 2\n",
		"\nmemtamer_findings_total{check=\"besteffort-qos\",action=\"patch\"} 1\n",
		"\nmemtamer_snapshot_profiles 12\n",
		"\n# TYPE memtamer_admission_duration_seconds histogram\n",
		"\nmemtamer_admission_duration_seconds_bucket{le=\"2.5e-05\"} 1\n",
		"\nmemtamer_admission_duration_seconds_bucket{le=\"5e-05\"} 1\n",
		"\nmemtamer_admission_duration_seconds_bucket{le=\"0.0001\"} 2\n",
		"\nmemtamer_admission_duration_seconds_bucket{le=\"1\"} 2\n",
		"\nmemtamer_admission_duration_seconds_bucket{le=\"+Inf\"} 3\n",
		"\nmemtamer_admission_duration_seconds_sum 2.000085000\n",
		"\nmemtamer_admission_duration_seconds_count 3\n",
		"\nmemtamer_watchdog_closed_total 0\n",
		"\nmemtamer_http_requests_total{path=\"other\",code=\"404\"} 1\n",
		"\nmemtamer_build_info{version=\"",
	};
	struct metrics *metrics = metrics_new();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);

	for (int i = 0; i < 2; i++)
		metrics_count(metrics, METRIC_ADMISSIONS, RESULT_PATCHED, MODE_RAISE, true);
	metrics_count(metrics, METRIC_FINDINGS, CHECK_BESTEFFORT_QOS, ACTION_PATCH, 0);
	metrics_count(metrics, METRIC_HTTP_REQUESTS, metrics_label(METRIC_HTTP_REQUESTS, 0, "/etc/passwd"),
		      metrics_label(METRIC_HTTP_REQUESTS, 1, "404"), 0);
	metrics_set(metrics, METRIC_PROFILES, 12);
	metrics_observe_ns(metrics, METRIC_DURATION, 25000); /* a bound belongs to its bucket */
	metrics_observe_ns(metrics, METRIC_DURATION, 60000);
	metrics_observe_ns(metrics, METRIC_DURATION, 2000000000);
	rendered(metrics, &text);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		test_row(lines[i]);
		assert_non_null(strstr(strbuf_text(&text), lines[i]));
	}
	/* what has not happened takes no lines */
	assert_null(strstr(strbuf_text(&text), "result=\"denied\""));
	assert_null(strstr(strbuf_text(&text), "/etc/passwd"));
	metrics_free(metrics);
}

static void test_labels_outside_their_set(void **state)
{
	(void)state;
	assert_int_equal(metrics_label(METRIC_HTTP_REQUESTS, 1, "299"),
			 metrics_label(METRIC_HTTP_REQUESTS, 1, "other"));
	assert_int_equal(metrics_label(METRIC_SKIPPED, 0, "never heard of"), metrics_label(METRIC_SKIPPED, 0, "other"));
	assert_int_equal(metrics_label(METRIC_SKIPPED, 0, NULL), metrics_label(METRIC_SKIPPED, 0, "other"));
	assert_int_not_equal(metrics_label(METRIC_SKIPPED, 0, "mirror"), metrics_label(METRIC_SKIPPED, 0, "other"));
}

static void *count_main(void *context)
{
	for (int i = 0; i < ROUNDS; i++) {
		metrics_count(context, METRIC_WATCHDOG_CLOSED, 0, 0, 0);
		metrics_observe_ns(context, METRIC_DURATION, i);
		metrics_set(context, METRIC_PROFILES, i);
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	(void)state;
	struct metrics *metrics = metrics_new();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);
	pthread_t threads[THREADS];
	char line[80];

	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_main, metrics), 0);
	for (int i = 0; i < 50; i++)
		rendered(metrics, &text);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(metrics_value(metrics, METRIC_WATCHDOG_CLOSED, 0, 0, 0) == THREADS * ROUNDS);
	snprintf(line, sizeof(line), "\nmemtamer_admission_duration_seconds_count %d\n", THREADS * ROUNDS);
	assert_non_null(strstr(rendered(metrics, &text), line));
	metrics_free(metrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exposition),
		cmocka_unit_test(test_labels_outside_their_set),
		cmocka_unit_test(test_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
