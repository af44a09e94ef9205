/* SPDX-License-Identifier: Apache-2.0 */
/* When a line through a pod's use is worth a resize, and what names, annotations and pods say of resizes. All pure:
 * pods are texts. */
#include "resize_fixture.h"

#include "k8s/keys.h"
#include "k8s/pod.h"
#include "resize/resize_forecast.h"

#include <stdlib.h>

/* ---- words ---- */

static void names_of_managers_say_the_own_limit(void **state)
{
	static const struct {
		const char *name;
		bool is_ours;
		enum resize_kind kind;
		int64_t own;
	} rows[] = {
		{"memtamer-resize-oom-64Mi", true, RESIZE_KIND_OOM, 64 * MI},
		{"memtamer-resize-before-100000000", true, RESIZE_KIND_BEFORE, 100000000},
		{"memtamer-resize-oom-", false, 0, 0},
		{"memtamer-resize-oom", false, 0, 0},
		{"memtamer-resize-oom-0", false, 0, 0},
		{"memtamer-resize-oom-much", false, 0, 0},
		{"memtamer-resize-later-1Gi", false, 0, 0},
		{"kubectl-patch", false, 0, 0},
		{"", false, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum resize_kind kind = RESIZE_KIND_COUNT_;
		int64_t own = 0;
		char name[RESIZE_MANAGER_BYTES];

		assert_int_equal(resize_manager_parse(rows[i].name, &kind, &own), rows[i].is_ours);
		if (!rows[i].is_ours)
			continue;
		assert_int_equal(kind, rows[i].kind);
		assert_int_equal(own, rows[i].own);
		resize_manager_name(kind, own, name);
		assert_string_equal(name, rows[i].name);
	}
	assert_false(resize_manager_parse(NULL, &(enum resize_kind){0}, &(int64_t){0}));
}

static void an_annotation_only_narrows(void **state)
{
	static const struct {
		enum resize_mode configured;
		const char *said;
		enum resize_mode mode;
	} rows[] = {
		{RESIZE_BEFORE_OOM, NULL, RESIZE_BEFORE_OOM},
		{RESIZE_BEFORE_OOM, "onOOM", RESIZE_ON_OOM},
		{RESIZE_BEFORE_OOM, "off", RESIZE_OFF},
		{RESIZE_BEFORE_OOM, "beforeOOM", RESIZE_BEFORE_OOM},
		{RESIZE_ON_OOM, "beforeOOM", RESIZE_ON_OOM},
		{RESIZE_ON_OOM, "off", RESIZE_OFF},
		{RESIZE_ON_OOM, "never", RESIZE_OFF},
		{RESIZE_OFF, "onOOM", RESIZE_OFF},
		{RESIZE_OFF, NULL, RESIZE_OFF},
		{RESIZE_ON_OOM, "", RESIZE_OFF},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct k8s_label label = {KEY_RESIZE, rows[i].said};
		const struct k8s_labels labels = {.items = &label, .n = rows[i].said != NULL};

		assert_int_equal(resize_mode_of(rows[i].configured, &labels), rows[i].mode);
	}
}

/* ---- the forecast ---- */

static void a_line_is_trusted_near_the_limit_only(void **state)
{
	static const struct {
		const char *name;
		struct resize_trend trend; /* limit, used, slope, ran, usual, peak */
		bool is_due;
		int64_t want_bytes;
	} rows[] = {
		{"reached in a minute", {100 * MI, 80 * MI, 0.3 * MI, 60000, 0, 0}, true, 150 * MI},
		{"slow, but soon", {100 * MI, 99 * MI, 0.01 * MI, 60000, 0, 0}, true, 125 * MI},
		{"far below its limit", {100 * MI, 40 * MI, 2.0 * MI, 60000, 0, 0}, false, 0},
		{"not within minutes", {100 * MI, 80 * MI, 0.01 * MI, 60000, 0, 0}, false, 0},
		{"does not rise", {100 * MI, 99 * MI, 0, 60000, 0, 0}, false, 0},
		{"falls", {100 * MI, 99 * MI, -1.0 * MI, 60000, 0, 0}, false, 0},
		{"ends before", {100 * MI, 80 * MI, 0.1 * MI, 60000, 160000, 0}, false, 0},
		{"does not end before", {100 * MI, 80 * MI, 0.1 * MI, 60000, 400000, 0}, true, 125 * MI + 14 * MI / 10},
		{"hours ahead, and near", {100 * MI, 91 * MI, 0.005 * MI, 0, 3600000, 0}, true, 125 * MI},
		{"hours ahead, not so near", {100 * MI, 85 * MI, 0.005 * MI, 0, 7200000, 0}, false, 0},
		{"as runs before it", {100 * MI, 80 * MI, 0.3 * MI, 60000, 0, 85 * MI}, false, 0},
		{"beyond what runs before it used", {100 * MI, 86 * MI, 0.3 * MI, 60000, 0, 85 * MI}, true, 150 * MI},
		{"less than runs before it used", {100 * MI, 80 * MI, 0.3 * MI, 60000, 0, 120 * MI}, true, 150 * MI},
		{"over its usual time", {100 * MI, 91 * MI, 0.005 * MI, 4000000, 3600000, 0}, false, 0},
		{"above the limit", {100 * MI, 101 * MI, 0.1 * MI, 0, 0, 0}, true, 150 * MI},
		{"no limit", {0, 80 * MI, 1.0 * MI, 0, 0, 0}, false, 0},
		{"nothing measured", {100 * MI, 0, 1.0 * MI, 0, 0, 0}, false, 0},
		{"a steep line", {100 * MI, 80 * MI, 1e300, 0, 0, 0}, true, 150 * MI},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct resize_forecast forecast;

		resize_forecast(&rows[i].trend, &forecast);
		if (forecast.is_due != rows[i].is_due || llabs(forecast.want_bytes - rows[i].want_bytes) > MI)
			fail_msg("%s: %d, %lld Mi", rows[i].name, forecast.is_due,
				 (long long)(forecast.want_bytes / MI));
	}
}

/* ---- the pod ---- */

static void what_a_pod_says_of_its_resize(void **state)
{
	static const struct {
		const char *status;
		enum resize_pending pending;
		int64_t live_bytes;
	} rows[] = {
		{"\"phase\":\"Running\"", RESIZE_PENDING_NONE, 0},
		{"\"containerStatuses\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"memory\":\"128Mi\"}}}]",
		 RESIZE_PENDING_NONE, 128 * MI},
		{"\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\"}]",
		 RESIZE_PENDING_INFEASIBLE, 0},
		{"\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"False\",\"reason\":\"Infeasible\"}]",
		 RESIZE_PENDING_NONE, 0},
		{"\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Deferred\"},"
		 "{\"type\":\"PodResizeInProgress\",\"status\":\"True\"}]",
		 RESIZE_PENDING_DEFERRED, 0},
		{"\"conditions\":[{\"type\":\"PodResizeInProgress\",\"status\":\"True\",\"reason\":\"Error\"}]",
		 RESIZE_PENDING_ERROR, 0},
		{"\"conditions\":[{\"type\":\"PodResizeInProgress\",\"status\":\"True\"}]", RESIZE_PENDING_IN_PROGRESS,
		 0},
		{"\"conditions\":7,\"containerStatuses\":\"x\"", RESIZE_PENDING_NONE, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_object *pod = make_pod(&(struct world){.status = rows[i].status});
		struct resize_container container;
		struct resize_pod read;

		assert_int_equal(resize_pod_read(pod, &read, NULL), 0);
		assert_true(resize_container_read(pod, "main", &container));
		assert_false(resize_container_read(pod, "other", &container) && container.limit_bytes);
		assert_int_equal(read.pending, rows[i].pending);
		assert_true(resize_container_read(pod, "main", &container));
		assert_int_equal(container.live_limit_bytes, rows[i].live_bytes);
		json_object_put(pod);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_managers_say_the_own_limit),
		cmocka_unit_test(an_annotation_only_narrows),
		cmocka_unit_test(a_line_is_trusted_near_the_limit_only),
		cmocka_unit_test(what_a_pod_says_of_its_resize),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
