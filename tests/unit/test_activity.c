/* SPDX-License-Identifier: Apache-2.0 */
/* The activity of accelerators: from series of an exporter to a run that was found by several sources. */
#include "support/test.h"

#include "base/json.h"
#include "engine/learn_merge.h"
#include "evidence/metrics_internal.h"

#include <math.h>

/* ---- evidence ---- */

struct series {
	const char *labels;
	int argument;
	double value;
};

#define POD(name) "{\"exported_namespace\":\"ml\",\"exported_pod\":\"" name "\",\"pod\":\"dcgm-exporter-x\"}"
#define POD_UID(name, uid)                                                                                             \
	"{\"exported_namespace\":\"ml\",\"exported_pod\":\"" name "\",\"pod_uid\":\"" uid "\",\"pod\":\"dcgm-x\"}"
#define MAX_SERIES 4

static void take(struct evidence_batch *batch, const struct series *series)
{
	static const struct metric_labels spelling = {"exported_namespace", "exported_pod", "exported_container"};
	struct metric_sink sink = {.batch = batch, .labels = &spelling, .argument = series->argument};
	CLEANUP(json_putp) struct json_object *labels = NULL;

	assert_int_equal(json_parse(series->labels, strlen(series->labels), 4, &labels, NULL), 0);
	assert_int_equal(metric_take_activity(&sink, labels, series->value, NULL), 0);
}

/* Pods "a" (u1), "twin" (u2), "twin" (u3), which train, and "server" (u4), which does not. */
static void put_pods(struct evidence_batch *batch)
{
	static const char *const pods[][2] = {{"a", "u1"}, {"twin", "u2"}, {"twin", "u3"}, {"server", "u4"}};

	for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
		struct pod *pod = evidence_pod_put(batch, "ml", pods[i][0], pods[i][1]);

		assert_non_null(pod);
		assert_int_equal(pod->activity_sum, -1);
		pod->is_training = !streq(pods[i][0], "server");
	}
}

static void series_become_activity_of_pods(void **state)
{
	static const struct {
		const char *name;
		struct series series[MAX_SERIES];
		const char *pod, *uid;
		int64_t sum, samples;
	} rows[] = {
		{"shares", {{POD("a"), TARGET_RATIO, 90.5}, {POD("a"), TARGET_SAMPLES, 120}}, "a", "u1", 90500, 120},
		{"percents",
		 {{POD("a"), TARGET_PERCENT, 9050}, {POD("a"), TARGET_SAMPLES, 120}},
		 "a",
		 "u1",
		 90500,
		 120},
		{"never had work", {{POD("a"), TARGET_RATIO, 0}, {POD("a"), TARGET_SAMPLES, 120}}, "a", "u1", 0, 120},
		{"an exporter that began to tell uids",
		 {{POD("a"), TARGET_RATIO, 10},
		  {POD("a"), TARGET_SAMPLES, 20},
		  {POD_UID("a", "u1"), TARGET_RATIO, 5},
		  {POD_UID("a", "u1"), TARGET_SAMPLES, 10}},
		 "a",
		 "u1",
		 15000,
		 30},
		{"a sum that is no number",
		 {{POD("a"), TARGET_RATIO, NAN}, {POD("a"), TARGET_SAMPLES, 120}},
		 "a",
		 "u1",
		 -1,
		 120},
		{"absurd", {{POD("a"), TARGET_RATIO, 1e300}, {POD("a"), TARGET_RATIO, -1}}, "a", "u1", -1, 0},
		{"one of two of a name, by name", {{POD("twin"), TARGET_RATIO, 1}}, "twin", "u3", -1, 0},
		{"one of two of a name, by uid", {{POD_UID("twin", "u2"), TARGET_RATIO, 1}}, "twin", "u2", 1000, 0},
		{"an unknown pod of a known name", {{POD_UID("a", "u9"), TARGET_RATIO, 1}}, "a", "u1", -1, 0},
		{"of no pod", {{"{\"pod\":\"dcgm-exporter-x\"}", TARGET_RATIO, 1}}, "a", "u1", -1, 0},
		{"of a server", {{POD("server"), TARGET_RATIO, 1}}, "server", "u4", -1, 0},
	};
	const struct evidence_window window = {.start_ms = 0, .end_ms = 3600000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct pod *pod;
		struct evidence_batch batch;

		test_row(rows[i].name);
		evidence_batch_init(&batch, &window);
		put_pods(&batch);
		for (size_t k = 0; k < MAX_SERIES && rows[i].series[k].labels; k++)
			take(&batch, &rows[i].series[k]);
		pod = evidence_pod_get(&batch, "ml", rows[i].pod, rows[i].uid);
		assert_non_null(pod);
		assert_int_equal(pod->activity_sum, rows[i].sum);
		assert_int_equal(pod->activity_samples, rows[i].samples);
		evidence_batch_release(&batch);
	}
}

/* ---- merging what several sources found ---- */

static void what_is_not_told_stays(void **state)
{
	static const struct {
		const char *name;
		int32_t known, found;
		int64_t known_samples, found_samples;
		int32_t expected;
	} rows[] = {
		{"nobody measured", -1, -1, 60, 60, -1},
		{"pods are told once more", 640, -1, 60, 0, 640},
		{"measured later", -1, 640, 0, 60, 640},
		{"measured later, with less use than was known", -1, 640, 90, 60, 640},
		{"more was seen", 300, 640, 30, 60, 640},
		{"less was seen", 640, 300, 60, 30, 640},
		{"the exporter is gone", 640, -1, 30, 60, 640},
		{"nothing is a figure", 640, 0, 30, 60, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run known = {.name = "train-7",
				    .chosen_by = CHOSEN_BY_USER,
				    .outcome = OUTCOME_RUNNING,
				    .activity_permille = rows[i].known,
				    .samples = rows[i].known_samples,
				    .source = "query+pods"};
		struct found_run found = {.run = known};
		struct run merged;

		test_row(rows[i].name);
		found.run.activity_permille = rows[i].found;
		found.run.samples = rows[i].found_samples;
		merged = learn_merge(&known, &found);
		assert_int_equal(merged.activity_permille, rows[i].expected);
		/* Once more changes nothing. */
		assert_int_equal(learn_merge(&merged, &found).activity_permille, rows[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(series_become_activity_of_pods),
		cmocka_unit_test(what_is_not_told_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
