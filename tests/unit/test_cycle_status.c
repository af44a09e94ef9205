/* SPDX-License-Identifier: Apache-2.0 */
/* What a cycle leaves for `status`: as text, and when it is written. */
#include "support/test.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "service/cycle_record.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const struct evidence_finding findings[] = {
	{"kube_pod_owner", true, NULL, true},
	{"kube_pod_labels", false, "labels \"of\" pods", false},
};

static const struct gaps gaps = {.items = {{.start_ms = 1793600000000,
					    .end_ms = 1793600600000,
					    .namespace_name = "ml",
					    .open_from_ms = 1793590000000,
					    .tried_ms = 1793607300000,
					    .failures = GAP_FAILURES,
					    .why = "HTTP 422 \"execution\""}},
				 .n = 1};

static const struct hung_list hung = {.items = {{.namespace_name = "ml",
						 .owner = "Job/train",
						 .pod = "train-0",
						 .kind = "true-oom",
						 .died_ms = 1793606400000,
						 .n_dead = 2,
						 .n_pods = 7,
						 .accelerators_milli = 56000,
						 .command = "kubectl delete \"x\""}},
				      .n_items = 1,
				      .n = 3,
				      .accelerators_milli = 72000};

static const struct cycle_status full = {.time_ms = 1793607300000,
					 .duration_ms = 1234,
					 .silent_after_ms = 1800000,
					 .retry_after_ms = 1200000,
					 .version = "0.1.0",
					 .mode = "raise",
					 .result = "partial",
					 .why = "a \"quoted\" why",
					 .runs = 7,
					 .workloads = 3,
					 .profiles_changed = 2,
					 .days_done = 13,
					 .days_total = 14,
					 .webhook = "reached",
					 .watches_pods = true,
					 .findings = findings,
					 .n_findings = 2,
					 .warning = "since then: \"store-3\"",
					 .gaps = &gaps,
					 .hung = &hung};

static void what_is_written_is_read(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_STATUS_BYTES);
	CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT(LIMIT_STATUS_BYTES);
	struct cycle_status got;

	(void)state;
	assert_int_equal(cycle_status_encode(&full, &text), 0);
	assert_int_equal(cycle_status_decode(strbuf_text(&text), text.len, &arena, &got, NULL), 0);
	assert_int_equal(got.time_ms, full.time_ms);
	assert_int_equal(got.days_total, 14);
	assert_int_equal(got.silent_after_ms, 1800000);
	assert_int_equal(got.retry_after_ms, 1200000);
	assert_string_equal(got.why, full.why);
	assert_string_equal(got.warning, full.warning);
	assert_true(got.watches_pods);
	assert_int_equal(got.n_findings, 2);
	assert_int_equal(got.gaps->n, 1);
	assert_string_equal(got.gaps->items[0].why, gaps.items[0].why);
	assert_int_equal(got.hung->n, 3);
	assert_int_equal(got.hung->accelerators_milli, 72000);
	assert_int_equal(got.hung->n_items, 1);
	assert_int_equal(got.hung->items[0].n_pods, 7);
	assert_string_equal(got.hung->items[0].command, hung.items[0].command);
	assert_string_equal(got.hung->items[0].kind, "true-oom");
	assert_true(got.findings[0].is_of_pods && !got.findings[1].is_of_pods);
	assert_null(got.findings[0].without);
	assert_string_equal(got.findings[1].without, "labels \"of\" pods");
	assert_int_equal(cycle_status_encode(&got, &again), 0);
	assert_string_equal(strbuf_text(&again), strbuf_text(&text));
}

#define HEAD "{\"apiVersion\":\"status.memtamer.io/v1alpha1\",\"time\":\"2026-11-02T08:15:00Z\""

static void nonsense_is_refused(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{HEAD "}", 0},
		{HEAD ",\"newer\":{\"x\":[1]},\"metrics\":[]}", 0},
		{HEAD ",\"metrics\":[{}]}", 0},
		{"", -EINVAL},
		{"[]", -EINVAL},
		{"{}", -EINVAL},
		{"{\"apiVersion\":\"status.memtamer.io/v9\",\"time\":\"2026-11-02T08:15:00Z\"}", -EINVAL},
		{"{\"apiVersion\":\"status.memtamer.io/v1alpha1\",\"time\":\"yesterday\"}", -EINVAL},
		{HEAD ",\"runs\":\"many\"}", -EINVAL},
		{HEAD ",\"why\":7}", -EINVAL},
		{HEAD ",\"metrics\":{}}", -EINVAL},
		{HEAD ",\"gaps\":[]}", 0},
		{HEAD ",\"gaps\":7}", -EINVAL},
		{HEAD ",\"gaps\":[{}]}", -EINVAL},
		{HEAD ",\"hungGangs\":{}}", 0},
		{HEAD ",\"hungGangs\":{\"items\":[{\"killed\":\"2026-11-02T08:15:00Z\"}]}}", 0},
		{HEAD ",\"hungGangs\":{\"items\":[{}]}}", -EINVAL},
		{HEAD ",\"hungGangs\":{\"items\":[{\"killed\":\"2026-11-02T08:15:00Z\",\"owner\":7}]}}", -EINVAL},
		{HEAD ",\"hungGangs\":{\"items\":7}}", -EINVAL},
		{HEAD ",\"metrics\":[{\"name\":7}]}", -EINVAL},
		{HEAD, -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena arena = ARENA_INIT(MIB);
		struct cycle_status got;
		struct err err = ERR_INIT;

		if (cycle_status_decode(rows[i].text, strlen(rows[i].text), &arena, &got, &err) != rows[i].want)
			fail_msg("%s: %s", rows[i].text, err.msg);
		assert_true(rows[i].want || !got.silent_after_ms); /* older versions do not say it */
		assert_true(!rows[i].want || err.msg[0]);
		arena_release(&arena);
	}
}

static void it_is_left_when_it_says_something_new(void **state)
{
	struct cycle_status now = full;
	struct cycle_record record = {.said = NULL};
	struct store *store = NULL;
	char folder[64] = "/tmp/test_cycle_status.XXXXXX", path[128];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/p.json", folder);
	assert_int_equal(store_open_file(path, true, &store, NULL), 0);
	assert_int_equal(cycle_record_leave(&record, store, &now, 1000, NULL), 0);
	/* another time, another duration: nothing new */
	now.time_ms += 60000;
	now.duration_ms += 1;
	assert_int_equal(cycle_record_leave(&record, store, &now, 61000, NULL), 1);
	now.webhook = "failed-open";
	assert_int_equal(cycle_record_leave(&record, store, &now, 62000, NULL), 0);
	assert_int_equal(cycle_record_leave(&record, store, &now, 63000, NULL), 1);
	/* five minutes later it is said again */
	assert_int_equal(cycle_record_leave(&record, store, &now, 62000 + CYCLE_RECORD_MS - 1, NULL), 1);
	assert_int_equal(cycle_record_leave(&record, store, &now, 62000 + CYCLE_RECORD_MS, NULL), 0);
	store_close(store);
	/* what could not be written is tried again */
	assert_int_equal(store_open_file(path, false, &store, NULL), 0);
	now.runs++;
	assert_int_equal(cycle_record_leave(&record, store, &now, 400000, NULL), -EACCES);
	store_close(store);
	assert_int_equal(store_open_file(path, true, &store, NULL), 0);
	assert_int_equal(cycle_record_leave(&record, store, &now, 400001, NULL), 0);
	store_close(store);
	cycle_record_release(&record);
	snprintf(path, sizeof(path), "%s/p.json.status", folder);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/p.json.lock", folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(it_is_left_when_it_says_something_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
