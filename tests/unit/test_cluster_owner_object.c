/* SPDX-License-Identifier: Apache-2.0 */
/* What an object says of itself and its parent. */
#include "base/limits.h"
#include "base/strbuf.h"
#include "cluster/owner_object.h"
#include "support/test.h"

#include <errno.h>

/* Texts are in `arena`. */
static int read_text(const char *text, struct arena *arena, struct owner_object *ret)
{
	const struct kube_object object = {
		.text = text, .n_text = strlen(text), .namespace = "ml", .name = "j", .uid = "job"};
	struct err err = ERR_INIT;
	bool is_over = true;
	int r = owner_object_read(&object, kind_find("batch", "Job"), arena, ret, &is_over, &err);

	assert_true(r || !is_over);
	return r;
}

#define OWNED(api_version, kind, more)                                                                                 \
	"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"creationTimestamp\":\"2026-11-02T08:15:00Z\","  \
	"\"ownerReferences\":[{\"apiVersion\":\"" api_version "\",\"kind\":\"" kind                                    \
	"\",\"name\":\"n\",\"uid\":\"p\"" more "}]},"                                                                  \
	"\"spec\":{\"parallelism\":4,\"template\":{}}}"
#define CONTROLLED(api_version, kind) OWNED(api_version, kind, ",\"controller\":true")

static void test_the_controller_is_known_by_its_name(void **state)
{
	static const struct {
		const char *text, *kind; /* NULL: none */
	} rows[] = {
		{CONTROLLED("jobset.x-k8s.io/v1alpha2", "JobSet"), "JobSet"},
		{CONTROLLED("batch/v1", "CronJob"), "CronJob"},
		{CONTROLLED("example.com/v1", "Pipeline"), "Pipeline"},
		{OWNED("batch/v1", "CronJob", ""), NULL},
		{OWNED("batch/v1", "CronJob", ",\"controller\":false"), NULL},
	};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct owner_object object = {.source = NULL};

		test_row(rows[i].text);
		assert_int_equal(read_text(rows[i].text, &arena, &object), 0);
		assert_true(object.parent_target == (rows[i].kind ? k8s_vpa_target("ml", rows[i].kind, "n") : 0));
	}
}

/* Of what nobody watches there will be no news: the object itself is the root. */
static void test_parents_that_are_watched(void **state)
{
	static const struct {
		const char *text;
		bool is_parent;
	} rows[] = {
		{CONTROLLED("jobset.x-k8s.io/v1alpha2", "JobSet"), true},
		{CONTROLLED("batch.volcano.sh/v1alpha1", "Job"), true},
		{CONTROLLED("kubeflow.org/v1beta1", "Trial"), true},
		{OWNED("jobset.x-k8s.io/v1alpha2", "JobSet", ""), false},
		/* makes one submission after the other */
		{CONTROLLED("batch/v1", "CronJob"), false},
		{CONTROLLED("kubeflow.org/v1beta1", "Experiment"), false},
		/* does not say how many pods there are */
		{CONTROLLED("argoproj.io/v1alpha1", "Workflow"), false},
		{CONTROLLED("flyte.lyft.com/v1alpha1", "flyteworkflow"), false},
		{CONTROLLED("tekton.dev/v1", "TaskRun"), false},
		{CONTROLLED("apps/v1", "StatefulSet"), false},
		/* not in the table */
		{CONTROLLED("example.com/v1", "Pipeline"), false},
		{CONTROLLED("example.com/v1", "Job"), false},
	};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct owner_object object = {.source = NULL};

		test_row(rows[i].text);
		assert_int_equal(read_text(rows[i].text, &arena, &object), 0);
		assert_int_equal(object.parent_uid != NULL, rows[i].is_parent);
		assert_string_equal(object.parent_uid ? object.parent_uid : "p", "p");
		assert_int_equal(object.pods, 4);
		assert_int_equal(object.created_ms, 1793607300000);
	}
}

/* No lack of memory, which would pass. */
static void test_what_is_too_large_cannot_be_read(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
	struct owner_object object = {.source = NULL};

	(void)state;
	strbuf_addf(&text, "{\"metadata\":{\"ownerReferences\":[{}");
	for (int i = 0; i < 2000; i++)
		strbuf_addf(&text, ",{\"uid\":\"%d\"}", i);
	strbuf_addf(&text, "]},\"spec\":{\"template\":{}}}");
	assert_int_equal(read_text(strbuf_text(&text), &arena, &object), -EINVAL);
}

#define MEMORY(amount)                                                                                                 \
	"{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"memory\":\"" amount "\"}}}]}}"
#define LIMITED(amount)                                                                                                \
	"{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"limits\":{\"memory\":\"" amount "\"}}}]}}"
#define SIDECARS                                                                                                       \
	"{\"spec\":{\"overhead\":{\"memory\":\"9\"},\"initContainers\":[{\"name\":\"i\",\"resources\":{\"requests\":{" \
	"\"memory\":\"50\"}}}],\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"memory\":\"10\"}}},{"    \
	"\"name\":"                                                                                                    \
	"\"b\"}]}}"
#define TWO_ROLES(master, n, worker)                                                                                   \
	"{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"spec\":{\"pytorchReplicaSpecs\":{\"Master\":{"  \
	"\"template\":" master "},\"Worker\":{\"replicas\":" n ",\"template\":" worker "}}}}"

/* What all templates ask for together, each as many times as it makes pods. */
static void test_what_its_templates_ask_for(void **state)
{
	static const struct {
		const char *text, *group, *kind;
		int64_t pods, variants, requests, limits, lacking_requests, lacking_limits;
	} rows[] = {
		{TWO_ROLES(MEMORY("60"), "4", MEMORY("10")), "kubeflow.org", "PyTorchJob", 5, 2, 100, 0, 0, 5},
		{TWO_ROLES(MEMORY("10"), "4", MEMORY("10")), "kubeflow.org", "PyTorchJob", 5, 1, 50, 0, 0, 5},
		{TWO_ROLES(MEMORY("60"), "0", MEMORY("10")), "kubeflow.org", "PyTorchJob", 1, 1, 60, 0, 0, 1},
		/* the API server makes a request of a lone limit */
		{TWO_ROLES(LIMITED("60"), "4", MEMORY("10")), "kubeflow.org", "PyTorchJob", 5, 2, 100, 60, 0, 4},
		/* what is run before counts where it is more; the overhead comes with the pods */
		{TWO_ROLES(SIDECARS, "2", MEMORY("10")), "kubeflow.org", "PyTorchJob", 3, 2, 70, 0, 1, 4},
		/* one that cannot be read */
		{TWO_ROLES("{\"spec\":{\"containers\":3}}", "4", MEMORY("10")), "kubeflow.org", "PyTorchJob", 5, 0, 0,
		 0, 0, 0},
		{"{\"spec\":{\"parallelism\":4,\"template\":" MEMORY("10") "}}", "batch", "Job", 4, 1, 40, 0, 0, 4},
		/* its runtime makes the pods */
		{"{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\",\"spec\":{\"trainer\":{"
		 "\"numNodes\":4,\"resourcesPerNode\":{\"requests\":{\"memory\":\"10\"}}}}}",
		 "trainer.kubeflow.org", "TrainJob", 0, 0, 0, 0, 0, 0},
	};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct kube_object text = {.text = rows[i].text,
						 .n_text = strlen(rows[i].text),
						 .namespace = "ml",
						 .name = "j",
						 .uid = "job"};
		struct owner_object object = {.source = NULL};
		const struct k8s_declared *declared = &object.declared;
		struct err err = ERR_INIT;
		bool is_over;

		test_row(rows[i].text);
		assert_int_equal(owner_object_read(&text, kind_find(rows[i].group, rows[i].kind), &arena, &object,
						   &is_over, &err),
				 0);
		assert_int_equal(object.pods, rows[i].pods);
		assert_int_equal(declared->variants, rows[i].variants);
		assert_int_equal(declared->names, rows[i].variants ? declared->names | k8s_name_bits("a") : 0);
		assert_int_equal(declared->amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY], rows[i].requests);
		assert_int_equal(declared->amounts[K8S_QUOTA_LIMITS][K8S_MEMORY], rows[i].limits);
		assert_int_equal(declared->lacking[K8S_QUOTA_REQUESTS][K8S_MEMORY], rows[i].lacking_requests);
		assert_int_equal(declared->lacking[K8S_QUOTA_LIMITS][K8S_MEMORY], rows[i].lacking_limits);
	}
}

/* Kueue does not always mark the pods of an object that it counts. */
static void test_marks_of_queues(void **state)
{
#define MARKED(labels)                                                                                                 \
	"{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"labels\":{" labels                              \
	"}},\"spec\":{\"template\":{}}}"
	static const struct {
		const char *text;
		bool is_queued;
	} rows[] = {
		{MARKED("\"kueue.x-k8s.io/queue-name\":\"team\""), true},
		{MARKED("\"app\":\"a\",\"kai.scheduler/queue\":\"q\""), true},
		{MARKED("\"app\":\"a\""), false},
		{MARKED(""), false},
		/* all of its pods come from its runtime */
		{"{\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\",\"kind\":\"TrainJob\",\"metadata\":{\"labels\":{"
		 "\"kueue.x-k8s.io/queue-name\":\"team\"}},\"spec\":{\"runtimeRef\":{\"name\":\"r\"}}}",
		 true},
	};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct owner_object object = {.source = NULL};

		test_row(rows[i].text);
		assert_int_equal(read_text(rows[i].text, &arena, &object), 0);
		assert_int_equal(object.is_queued, rows[i].is_queued);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_too_large_cannot_be_read),
		cmocka_unit_test(test_parents_that_are_watched),
		cmocka_unit_test(test_the_controller_is_known_by_its_name),
		cmocka_unit_test(test_what_its_templates_ask_for),
		cmocka_unit_test(test_marks_of_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
