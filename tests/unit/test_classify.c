/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/json.h"
#include "base/limits.h"
#include "model/identity.h"

#define GPU	 "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"8\"}}"
#define POD(m)	 "{\"metadata\":{" m "},\"spec\":{\"containers\":[{\"name\":\"main\"," GPU "}]}}"
#define PLAIN(m) "{\"metadata\":{" m "},\"spec\":{\"containers\":[{\"name\":\"main\"}]}}"
#define OWNER(api, kind)                                                                                               \
	"\"ownerReferences\":[{\"apiVersion\":\"" api "\",\"kind\":\"" kind                                            \
	"\",\"name\":\"o\",\"uid\":\"u\",\"controller\":true}]"
#define LABEL(key, value) "\"labels\":{\"" key "\":\"" value "\"}"
#define NOTE(key, value)  "\"annotations\":{\"" key "\":\"" value "\"}"
#define RAY_POD(env)                                                                                                   \
	"{\"metadata\":{\"labels\":{\"ray.io/is-ray-node\":\"yes\"}," OWNER(                                           \
		"ray.io/v1", "RayCluster") "},"                                                                        \
					   "\"spec\":{\"containers\":[{\"name\":\"ray-worker\",\"env\":[" env "]," GPU \
					   "}]}}"
#define RAY_TAGS(crd)                                                                                                  \
	"{\"name\":\"RAY_USAGE_STATS_EXTRA_TAGS\",\"value\":\"kuberay_version=v1.4.0;kuberay_crd=" crd "\"}"
#define TERMINAL(flags) "{\"metadata\":{},\"spec\":{\"containers\":[{\"name\":\"main\"," flags "," GPU "}]}}"

static const struct {
	const char *name, *pod;
	enum pod_class class_;
	const char *why;
} rows[] = {
	{"nothing", PLAIN(""), POD_NOT_TRAINING, "no-sign"},
	{"Job without accelerator", PLAIN(OWNER("batch/v1", "Job")), POD_NOT_TRAINING, "no-sign"},
	{"accelerator", POD(""), POD_TRAINING, "accelerator"},
	{"Job with accelerator", POD(OWNER("batch/v1", "Job")), POD_TRAINING, "accelerator"},
	{"Volcano Job with accelerator", POD(OWNER("batch.volcano.sh/v1alpha1", "Job")), POD_TRAINING, "accelerator"},
	{"claim",
	 "{\"metadata\":{},\"spec\":{\"resourceClaims\":[{\"name\":\"g\"}],\"containers\":[{\"name\":\"main\","
	 "\"resources\":{\"claims\":[{\"name\":\"g\"}]}}]}}",
	 POD_TRAINING, "accelerator"},
	{"KAI fraction", PLAIN(NOTE("gpu-fraction", "0.5")), POD_TRAINING, "accelerator"},
	{"PyTorchJob", PLAIN(OWNER("kubeflow.org/v1", "PyTorchJob")), POD_TRAINING, "framework"},
	{"JobSet by label", PLAIN(OWNER("batch/v1", "Job") "," LABEL("jobset.sigs.k8s.io/jobset-name", "bert")),
	 POD_TRAINING, "framework"},
	{"Kubeflow by label", PLAIN(LABEL("training.kubeflow.org/job-name", "bert")), POD_TRAINING, "framework"},
	{"Katib by label", PLAIN(LABEL("katib.kubeflow.org/trial", "hpo-1")), POD_TRAINING, "framework"},
	{"user says so", PLAIN(LABEL("memtamer.io/training", "true")), POD_TRAINING, "label"},
	{"user's annotation", PLAIN(NOTE("memtamer.io/training", "true")), POD_TRAINING, "label"},
	{"user says no", POD(LABEL("memtamer.io/training", "false")), POD_NOT_TRAINING, "label"},
	{"user's word unclear", PLAIN(LABEL("memtamer.io/training", "yes")), POD_NOT_TRAINING, "no-sign"},
	{"ReplicaSet", POD(OWNER("apps/v1", "ReplicaSet")), POD_NOT_TRAINING, "serving"},
	{"StatefulSet", POD(OWNER("apps/v1", "StatefulSet")), POD_NOT_TRAINING, "serving"},
	{"DaemonSet", POD(OWNER("apps/v1", "DaemonSet")), POD_NOT_TRAINING, "serving"},
	{"StatefulSet labelled", POD(OWNER("apps/v1", "StatefulSet") "," LABEL("memtamer.io/training", "true")),
	 POD_TRAINING, "label"},
	{"Kubeflow notebook", POD(OWNER("apps/v1", "StatefulSet") "," LABEL("notebook-name", "n")), POD_NOT_TRAINING,
	 "interactive"},
	{"JupyterHub", POD(LABEL("app", "jupyterhub")), POD_NOT_TRAINING, "interactive"},
	{"JupyterHub single user", POD(LABEL("component", "singleuser-server")), POD_NOT_TRAINING, "interactive"},
	{"another app", POD(LABEL("app", "bert")), POD_TRAINING, "accelerator"},
	{"KServe", POD(LABEL("serving.kserve.io/inferenceservice", "llm")), POD_NOT_TRAINING, "serving"},
	{"Knative", POD(LABEL("serving.knative.dev/revision", "r")), POD_NOT_TRAINING, "serving"},
	{"LeaderWorkerSet", POD(LABEL("leaderworkerset.sigs.k8s.io/name", "l")), POD_NOT_TRAINING, "serving"},
	{"RayCluster", RAY_POD(""), POD_NOT_TRAINING, "interactive"},
	{"RayCluster of a RayJob", RAY_POD(RAY_TAGS("RayJob")), POD_TRAINING, "framework"},
	{"RayCluster of a RayService", RAY_POD(RAY_TAGS("RayService")), POD_NOT_TRAINING, "serving"},
	{"RayCluster by itself", RAY_POD(RAY_TAGS("RayCluster")), POD_NOT_TRAINING, "interactive"},
	{"RayJob's submitter", PLAIN(OWNER("batch/v1", "Job") "," LABEL("ray.io/originated-from-crd", "RayJob")),
	 POD_NOT_TRAINING, "no-sign"},
	{"terminal", TERMINAL("\"stdin\":true,\"tty\":true"), POD_NOT_TRAINING, "interactive"},
	{"tty alone", TERMINAL("\"tty\":true"), POD_TRAINING, "accelerator"},
	{"mirror", POD(NOTE("kubernetes.io/config.mirror", "x") "," LABEL("memtamer.io/training", "true")),
	 POD_NOT_TRAINING, "mirror"},
	{"kube-system", POD("\"namespace\":\"kube-system\"," LABEL("memtamer.io/training", "true")), POD_NOT_TRAINING,
	 "kube-system"},
	{"ignored", POD("\"labels\":{\"memtamer.io/ignore\":\"true\",\"memtamer.io/training\":\"true\"}"),
	 POD_NOT_TRAINING, "ignored"},
	{"ignore is not true", POD(LABEL("memtamer.io/ignore", "false")), POD_TRAINING, "accelerator"},
};

static void decode(const char *text, struct arena *arena, struct k8s_pod *ret)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct err err = ERR_INIT;

	if (json_parse(text, strlen(text), 32, &object, &err) || k8s_pod_decode(object, arena, ret, &err))
		fail_msg("%s: %s in %s", err.where, err.msg, text);
}

static void class_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(1 * MIB);
		const char *why = NULL;
		struct k8s_pod pod;

		test_row(rows[i].name);
		decode(rows[i].pod, &arena, &pod);
		assert_int_equal(pod_classify(&pod, &why), rows[i].class_);
		assert_string_equal(why, rows[i].why);
	}
}

static void main_container_rows(void **state)
{
	static const struct {
		const char *name, *pod;
		size_t index;
	} pods[] = {
		{"first", "{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}", 0},
		{"accelerator beats annotation",
		 "{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/default-container\":\"a\"}},"
		 "\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"," GPU "}]}}",
		 1},
		{"annotation beats known name",
		 "{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/default-container\":\"b\"}},"
		 "\"spec\":{\"containers\":[{\"name\":\"main\"},{\"name\":\"b\"}]}}",
		 1},
		{"annotation of nobody",
		 "{\"metadata\":{\"annotations\":{\"kubectl.kubernetes.io/default-container\":\"c\"}},"
		 "\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"main\"}]}}",
		 1},
		{"known name", "{\"spec\":{\"containers\":[{\"name\":\"wait\"},{\"name\":\"pytorch\"}]}}", 1},
		{"no helper", "{\"spec\":{\"containers\":[{\"name\":\"istio-proxy\"},{\"name\":\"job\"}]}}", 1},
		{"helpers only", "{\"spec\":{\"containers\":[{\"name\":\"istio-proxy\"},{\"name\":\"wait\"}]}}", 0},
		{"init containers never",
		 "{\"spec\":{\"initContainers\":[{\"name\":\"node\"," GPU "}],\"containers\":[{\"name\":\"a\"}]}}", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(1 * MIB);
		struct k8s_pod pod;

		test_row(pods[i].name);
		decode(pods[i].pod, &arena, &pod);
		assert_int_equal(pod_main_container(&pod), pods[i].index);
	}
}

static void helpers_by_name(void **state)
{
	(void)state;
	assert_true(pod_container_is_helper("gke-gcsfuse-sidecar"));
	assert_true(pod_container_is_helper("wait"));
	assert_false(pod_container_is_helper("waiter"));
	assert_false(pod_container_is_helper("pytorch"));
	assert_false(pod_container_is_helper(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(class_rows),
		cmocka_unit_test(main_container_rows),
		cmocka_unit_test(helpers_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
