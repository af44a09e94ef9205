/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/timefmt.h"
#include "policy/decide.h"
#include "serve/metrics.h"
#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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

static void test_states_can_be_removed(void **state)
{
	struct metrics *metrics = metrics_new();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_null(strstr(rendered(metrics, &text), "\nmemtamer_watch_synced{"));
		metrics_put(metrics, METRIC_WATCH_SYNCED, 0, 0, 0, 0);
		metrics_put(metrics, METRIC_WATCH_SYNCED, 1, 0, 0, 1);
		assert_non_null(strstr(rendered(metrics, &text), "\nmemtamer_watch_synced{"));
		assert_true(metrics_value(metrics, METRIC_WATCH_SYNCED, 1, 0, 0) == 1);
		metrics_remove(metrics, METRIC_WATCH_SYNCED);
	}
	metrics_free(metrics);
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

static double sample(struct metrics *metrics, struct strbuf *text, const char *name)
{
	char line[80];
	const char *found;

	snprintf(line, sizeof(line), "\n%s ", name);
	found = strstr(rendered(metrics, text), line);
	if (found)
		return strtod(found + strlen(line), NULL);
	fail_msg("no sample of %s", name);
	return 0;
}

static void test_process_figures(void **state)
{
	(void)state;
	double before_s = (double)time_now_ms() / 1000;
	struct metrics *metrics = metrics_new();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);
	double resident = sample(metrics, &text, "process_resident_memory_bytes");
	double files = sample(metrics, &text, "process_open_fds");
	double cpu = sample(metrics, &text, "process_cpu_seconds_total");
	struct rlimit limit;
	int fd = open("/dev/null", O_RDONLY);

	assert_true(sample(metrics, &text, "process_open_fds") == files + 1);
	close(fd);
	assert_true(sample(metrics, &text, "process_open_fds") == files);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(sample(metrics, &text, "process_max_fds") == (double)limit.rlim_cur);
	assert_true(resident > (double)MIB && resident < sample(metrics, &text, "process_virtual_memory_bytes"));
	assert_true(sample(metrics, &text, "memtamer_process_max_resident_memory_bytes") >= resident / 2);
	while (sample(metrics, &text, "process_cpu_seconds_total") == cpu)
		; /* rendering is work */
	assert_true(sample(metrics, &text, "process_start_time_seconds") >= before_s);
	assert_true(sample(metrics, &text, "process_start_time_seconds") <= (double)time_now_ms() / 1000);
	metrics_free(metrics);
}

/* A value that nobody knows has no sample: -1 or 0 would count in sums and averages. */
static void test_unknown_values_have_no_sample(void **state)
{
	(void)state;
	static const char *const names[] = {"\nmemtamer_snapshot_age_seconds",
					    "\nmemtamer_snapshot_built_timestamp_seconds"};
	struct metrics *metrics = metrics_new();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 << 20);

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_null(strstr(rendered(metrics, &text), names[i]));
	metrics_set(metrics, METRIC_SNAPSHOT_AGE, 2);
	assert_true(sample(metrics, &text, "memtamer_snapshot_age_seconds") == 2);
	metrics_free(metrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exposition),
		cmocka_unit_test(test_labels_outside_their_set),
		cmocka_unit_test(test_states_can_be_removed),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_process_figures),
		cmocka_unit_test(test_unknown_values_have_no_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
