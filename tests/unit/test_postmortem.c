/* SPDX-License-Identifier: Apache-2.0 */
/* Pods as a cluster shows them (tests/triage/pods): what is read, and what follows. And which object a name means. */
#include "support/test.h"

#include "base/io.h"
#include "postmortem/owner.h"
#include "support/cluster_case.h"

#include <dirent.h>

/* ---- the cases ---- */

static struct json_object *load_case(const char *name)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct json_object *json = NULL;
	struct err err = ERR_INIT;
	char path[4096];

	snprintf(path, sizeof(path), "%s/triage/pods/%s", TEST_SOURCE_DIR, name);
	assert_int_equal(io_read_file(path, &text, &err), 0);
	if (json_parse(strbuf_text(&text), text.len, 64, &json, &err))
		fail_msg("%s: %s", name, err.msg);
	return json;
}

static void expect_text(const char *row, const char *what, const char *want, const char *got)
{
	if (*want && !streq(want, got ? got : "null"))
		fail_msg("%s: %s: %s, not %s", row, what, got ? got : "null", want);
}

static void expect_part(const char *row, const char *what, const char *part, const char *text)
{
	if (*part && !strstr(text, part))
		fail_msg("%s: %s: no \"%s\" in: %s", row, what, part, text);
}

static void expect_figures(const char *row, struct json_object *want, const struct figures *figures)
{
	for (int i = 0; i < FIGURE_COUNT_; i++) {
		int64_t bytes = object_int(want, figure_rows[i].name, FIGURE_NONE);

		if (bytes != FIGURE_NONE && bytes != figures->bytes[i])
			fail_msg("%s: %s: %lld, not %lld", row, figure_rows[i].name, (long long)figures->bytes[i],
				 (long long)bytes);
	}
}

static void expect_verdict(const char *row, struct json_object *want, const struct triage *triage)
{
	const struct verdict *verdict = &triage->verdict;
	const char *never = object_text(want, "not-why");

	if (*never && strstr(verdict->why, never))
		fail_msg("%s: \"%s\" in: %s", row, never, verdict->why);
	expect_text(row, "rule", object_text(want, "rule"), verdict->rule->name);
	expect_text(row, "kind", object_text(want, "kind"), triage_kinds[verdict->kind].name);
	expect_text(row, "cause", object_text(want, "cause"), verdict->cause);
	expect_text(row, "confidence", object_text(want, "confidence"), triage_confidence_names[verdict->confidence]);
	expect_part(row, "why", object_text(want, "why"), verdict->why);
	expect_part(row, "unseen", object_text(want, "unseen"), strbuf_text(&triage->unseen));
	if (object_int(want, "rank", verdict->rank) != verdict->rank)
		fail_msg("%s: rank %d", row, verdict->rank);
	if (object_int(want, "step", verdict->step) != verdict->step)
		fail_msg("%s: step %lld", row, (long long)verdict->step);
	expect_figures(row, object_at(want, "figures"), &verdict->figures);
}

static void expect_output(const char *row, struct json_object *want, const struct triage *triage)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES), json = text;
	CLEANUP(json_putp) struct json_object *answer = NULL;
	const char *never = object_text(want, "not-next");

	assert_int_equal(triage_markdown(triage, &text), 0);
	expect_part(row, "next", object_text(want, "next"), strbuf_text(&text));
	expect_part(row, "lever", object_text(want, "lever"), strbuf_text(&text));
	expect_part(row, "evidence", object_text(want, "evidence"), strbuf_text(&text));
	if (*never && strstr(strbuf_text(&text), never))
		fail_msg("%s: \"%s\" in: %s", row, never, strbuf_text(&text));
	assert_int_equal(triage_json(triage, &json), 0);
	assert_int_equal(json_parse(strbuf_text(&json), json.len, 32, &answer, NULL), 0);
}

static void run_case(const char *name)
{
	CLEANUP(json_putp) struct json_object *json = load_case(name);
	const struct postmortem_source source = {.fetch = cluster_case_fetch, .context = json};
	struct triage *triage = malloc(sizeof(*triage));
	struct postmortem postmortem;
	struct err err = ERR_INIT;
	struct owner owner;

	test_row(name);
	assert_non_null(triage);
	assert_int_equal(triage_init(triage), 0);
	assert_int_equal(owner_parse(object_text(json, "ask"), &owner, &err), 0);
	postmortem_init(&postmortem, triage, &source, "ml");
	if (postmortem_read(&postmortem, &owner, &err))
		fail_msg("%s: %s", name, err.msg);
	triage_decide(triage);
	postmortem_conclude(&postmortem);
	expect_verdict(name, object_at(json, "want"), triage);
	expect_output(name, object_at(json, "want"), triage);
	postmortem_release(&postmortem);
	triage_release(triage);
	free(triage);
}

static void cases(void **state)
{
	char path[4096];
	struct dirent *entry;
	size_t n = 0;
	DIR *folder;

	(void)state;
	snprintf(path, sizeof(path), "%s/triage/pods", TEST_SOURCE_DIR);
	folder = opendir(path);
	assert_non_null(folder);
	while ((entry = readdir(folder)))
		if (strstr(entry->d_name, ".json")) {
			run_case(entry->d_name);
			n++;
		}
	closedir(folder);
	assert_true(n >= 25);
}

/* ---- what is not there ---- */

static void nothing_to_read(void **state)
{
	static const struct {
		const char *name, *json, *ask;
		int want;
		const char *words;
	} rows[] = {
		{"no pod", "{}", "train-0", POSTMORTEM_NOT_FOUND, "there is no pod or job train-0 in namespace ml"},
		{"no owner", "{}", "rayjob/x", POSTMORTEM_NOT_FOUND, "neither a pod nor an event of rayjob.ray.io/x"},
		{"no right to the pod", "{\"forbidden\":[\"/pods/\"]}", "train-0", KUBE_FORBIDDEN, "forbidden"},
		{"no right to list", "{\"forbidden\":[\"labelSelector\"]}", "jobset/x", KUBE_FORBIDDEN, "forbidden"},
		{"no pod's object",
		 "{\"pods\":[{\"metadata\":{\"name\":\"a\",\"labels\":{\"ray.io/cluster\":\"x\"}}}]}", "raycluster/x",
		 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(json_putp) struct json_object *json = json_tokener_parse(rows[i].json);
		const struct postmortem_source source = {.fetch = cluster_case_fetch, .context = json};
		struct triage *triage = malloc(sizeof(*triage));
		struct postmortem postmortem;
		struct err err = ERR_INIT;
		struct owner owner;

		test_row(rows[i].name);
		assert_non_null(triage);
		assert_int_equal(triage_init(triage), 0);
		assert_int_equal(owner_parse(rows[i].ask, &owner, &err), 0);
		postmortem_init(&postmortem, triage, &source, "ml");
		assert_int_equal(postmortem_read(&postmortem, &owner, &err), rows[i].want);
		expect_part(rows[i].name, "message", rows[i].words, err.msg);
		postmortem_release(&postmortem);
		triage_release(triage);
		free(triage);
	}
}

/* ---- names ---- */

static void owners(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
		const char *stop;
	} rows[] = {
		{"train-0", "pod/train-0", "kubectl delete pod/train-0 -n ml"},
		{"Pods/train-0", "pod/train-0", "kubectl delete pod/train-0 -n ml"},
		{"job/x", "job/x", "kubectl patch job/x -n ml --type=merge -p '{\"spec\":{\"suspend\":true}}'"},
		{"Jobs.batch/x", "job/x", "kubectl patch job/x -n ml --type=merge -p '{\"spec\":{\"suspend\":true}}'"},
		{"job.batch.volcano.sh/x", "job.batch.volcano.sh/x", "kubectl delete job.batch.volcano.sh/x -n ml"},
		{"JOBSET/a.b-c", "jobset.jobset.x-k8s.io/a.b-c",
		 "kubectl patch jobset.jobset.x-k8s.io/a.b-c -n ml --type=merge -p '{\"spec\":{\"suspend\":true}}'"},
		{"trainjob/x", "trainjob.trainer.kubeflow.org/x",
		 "kubectl patch trainjob.trainer.kubeflow.org/x -n ml --type=merge -p '{\"spec\":{\"suspend\":true}}'"},
		{"mpijobs/x", "mpijob.kubeflow.org/x", "kubectl delete mpijob.kubeflow.org/x -n ml"},
		{"deployment/x", NULL, NULL},
		{"job/", NULL, NULL},
		{"", NULL, NULL},
		{"a/b/c", NULL, NULL},
		{"../../nodes", NULL, NULL},
		{"job/x?y", NULL, NULL},
		{"Job/X", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf stop = STRBUF_INIT(KIB);
		struct err err = ERR_INIT;
		struct owner owner;
		char text[512];

		test_row(rows[i].text);
		assert_int_equal(owner_parse(rows[i].text, &owner, &err), rows[i].want ? 0 : -EINVAL);
		if (!rows[i].want)
			continue;
		owner_render(&owner, text, sizeof(text));
		assert_string_equal(text, rows[i].want);
		owner_render_stop(&owner, "ml", &stop);
		assert_string_equal(strbuf_text(&stop), rows[i].stop);
	}
}

/* ---- ranks ---- */

static void ranks(void **state)
{
	static const struct {
		const char *name, *json;
		int want;
	} rows[] = {
		{"name", "{\"metadata\":{\"name\":\"train-worker-3\"}}", 3},
		{"random name", "{\"metadata\":{\"name\":\"train-12345\",\"generateName\":\"train-\"}}", RANK_NONE},
		{"label",
		 "{\"metadata\":{\"name\":\"a-worker-1\",\"labels\":{\"training.kubeflow.org/replica-index\":\"1\"}}}",
		 1},
		{"environment before label",
		 "{\"metadata\":{\"name\":\"a-worker-1\",\"labels\":{\"training.kubeflow.org/"
		 "replica-index\":\"1\"}},\"spec\":{"
		 "\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"RANK\",\"value\":\"2\"}]}]}}",
		 2},
		{"annotation",
		 "{\"metadata\":{\"name\":\"x\",\"annotations\":{\"batch.kubernetes.io/job-completion-index\":\"7\"}}}",
		 7},
		{"no number",
		 "{\"metadata\":{\"name\":\"x\",\"annotations\":{\"batch.kubernetes.io/"
		 "job-completion-index\":\"7a\"}}}",
		 RANK_NONE},
		{"second Job of a JobSet",
		 "{\"metadata\":{\"name\":\"x-1-0-abcde\",\"generateName\":\"x-1-0-\",\"labels\":{\"jobset.sigs.k8s.io/"
		 "job-index\":"
		 "\"1\",\"batch.kubernetes.io/job-completion-index\":\"0\"}}}",
		 RANK_NONE},
		{"launcher of an MPIJob",
		 "{\"metadata\":{\"name\":\"x-launcher\",\"labels\":{\"training.kubeflow.org/"
		 "replica-type\":\"launcher\","
		 "\"training.kubeflow.org/replica-index\":\"0\"}}}",
		 RANK_NONE},
		{"worker of an MPIJob",
		 "{\"metadata\":{\"name\":\"x-worker-2\",\"labels\":{\"training.kubeflow.org/replica-type\":\"worker\","
		 "\"training.kubeflow.org/replica-index\":\"2\"}}}",
		 2},
		{"initializer of a TrainJob",
		 "{\"metadata\":{\"name\":\"x\",\"labels\":{\"jobset.sigs.k8s.io/replicatedjob-name\":"
		 "\"dataset-initializer\",\"jobset.sigs.k8s.io/job-index\":\"0\","
		 "\"batch.kubernetes.io/job-completion-index\":\"0\"}}}",
		 RANK_NONE},
		{"node of a TrainJob",
		 "{\"metadata\":{\"name\":\"x\",\"labels\":{\"jobset.sigs.k8s.io/replicatedjob-name\":\"node\","
		 "\"jobset.sigs.k8s.io/job-index\":\"0\",\"batch.kubernetes.io/job-completion-index\":\"3\"}}}",
		 3},
		{"worker of Ray, of a group with a number",
		 "{\"metadata\":{\"name\":\"x-worker-1-abcde\",\"labels\":{\"ray.io/cluster\":\"x\",\"ray.io/group\":"
		 "\"worker-1\"}}}",
		 RANK_NONE},
		{"task of Volcano",
		 "{\"metadata\":{\"name\":\"x-worker-4\",\"annotations\":{\"volcano.sh/task-spec\":\"worker\","
		 "\"volcano.sh/task-index\":\"4\"}}}",
		 4},
		{"parameter server",
		 "{\"metadata\":{\"name\":\"x-ps-0\",\"labels\":{\"training.kubeflow.org/replica-type\":\"PS\","
		 "\"training.kubeflow.org/replica-index\":\"0\"}}}",
		 RANK_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = ERR_INIT;
		struct ended_pod pod;

		test_row(rows[i].name);
		assert_int_equal(ended_pod_read(json_tokener_parse(rows[i].json), &pod, &err), 0);
		assert_int_equal(pod.rank, rows[i].want);
		ended_pod_release(&pod);
	}
}

/* Of a job with a master, labels count the workers from 0; the variable RANK is right already. */
static void a_master_comes_first(void **state)
{
#define REPLICA(type, index, env)                                                                                      \
	"{\"metadata\":{\"name\":\"a-" type "-" index "\",\"labels\":{\"training.kubeflow.org/replica-type\":\"" type  \
	"\",\"training.kubeflow.org/replica-index\":\"" index "\"}},\"spec\":{\"containers\":[{\"env\":[" env "]}]}}"
	static const struct {
		const char *json;
		int alone, behind_master;
	} rows[] = {
		{REPLICA("worker", "0", ""), 0, 1},
		{REPLICA("worker", "1", "{\"name\":\"RANK\",\"value\":\"2\"}"), 2, 2},
		{REPLICA("master", "0", ""), 0, 0},
	};
	struct ended_pod pods[ARRAY_LEN(rows)];
	struct err err = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(ended_pod_read(json_tokener_parse(rows[i].json), &pods[i], &err), 0);
	ended_pods_rank_workers(pods, 2);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(pods[i].rank, rows[i].alone);
	for (int turn = 0; turn < 2; turn++)
		ended_pods_rank_workers(pods, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(pods[i].rank, rows[i].behind_master);
		ended_pod_release(&pods[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases), cmocka_unit_test(nothing_to_read),	 cmocka_unit_test(owners),
		cmocka_unit_test(ranks), cmocka_unit_test(a_master_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
