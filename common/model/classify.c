/* SPDX-License-Identifier: Apache-2.0 */
/* classify: the checks run in the order of precedence: pods that are never changed, what the user says, what must not
 * be mistaken for training, what is training. */
#include "base/str.h"
#include "k8s/accelerator.h"
#include "k8s/keys.h"
#include "k8s/kinds.h"
#include "model/identity.h"

static const char *label_of(const struct k8s_pod *pod, const char *key)
{
	const char *value = k8s_label_get(&pod->labels, key);

	return value ? value : "";
}

static bool has_label(const struct k8s_pod *pod, const char *key)
{
	return k8s_label_get(&pod->labels, key) != NULL;
}

/* ---- marks ---- */

static const struct pod_mark marks[] = {
	{POD_SIGN_SERVING, "serving.kserve.io/", NULL},
	{POD_SIGN_SERVING, "serving.knative.dev/", NULL},
	{POD_SIGN_SERVING, "leaderworkerset.sigs.k8s.io/name", NULL},
	{POD_SIGN_SERVING, "ray.io/serve", NULL},
	{POD_SIGN_SERVING, "ray.io/originated-from-crd", "RayService"},
	{POD_SIGN_SERVING, "seldon-deployment-id", NULL},
	{POD_SIGN_SERVING, "seldon-app", NULL},
	{POD_SIGN_SERVING, "yatai.ai/bento-deployment", NULL},
	{POD_SIGN_SERVING, "kubevirt.io", NULL},
	{POD_SIGN_SERVING, "app.kubernetes.io/name", "vllm"},
	{POD_SIGN_SERVING, "app.kubernetes.io/name", "triton"},
	{POD_SIGN_SERVING, "app.kubernetes.io/name", "text-generation-inference"},
	{POD_SIGN_INTERACTIVE, "notebook-name", NULL},
	{POD_SIGN_INTERACTIVE, "component", "singleuser-server"},
	{POD_SIGN_INTERACTIVE, "app", "jupyterhub"},
	{POD_SIGN_INTERACTIVE, "hub.jupyter.org/username", NULL},
	{POD_SIGN_INTERACTIVE, "app.kubernetes.io/name", "jupyterhub"},
	{POD_SIGN_INTERACTIVE, "app.kubernetes.io/name", "jupyter-notebook"},
	{POD_SIGN_INTERACTIVE, "app.kubernetes.io/name", "coder-workspace"},
	{POD_SIGN_INTERACTIVE, "app.kubernetes.io/name", "code-server"},
	{POD_SIGN_INTERACTIVE, "controller.devfile.io/devworkspace_id", NULL},
	{POD_SIGN_FRAMEWORK, "jobset.sigs.k8s.io/jobset-name", NULL},
	{POD_SIGN_FRAMEWORK, "training.kubeflow.org/job-name", NULL},
	{POD_SIGN_FRAMEWORK, "katib.kubeflow.org/trial", NULL},
	{POD_SIGN_FRAMEWORK, "katib.kubeflow.org/experiment", NULL},
	{POD_SIGN_FRAMEWORK, "torchx.pytorch.org/app-name", NULL},
};

const struct pod_mark *pod_marks(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(marks);
	return marks;
}

static bool mark_matches(const struct pod_mark *mark, const struct k8s_label *label)
{
	size_t n;

	STEPS(1);
	if (mark->key[0] != label->key[0])
		return false;
	n = strlen(mark->key);
	if (mark->key[n - 1] == '/' ? !strstarts(label->key, mark->key) : !streq(label->key, mark->key))
		return false;
	return !mark->value || streq(label->value, mark->value);
}

static bool has_mark(const struct k8s_pod *pod, enum pod_sign sign)
{
	for (size_t i = 0; i < pod->labels.n; i++)
		for (size_t j = 0; j < ARRAY_LEN(marks); j++)
			if (marks[j].sign == sign && mark_matches(&marks[j], &pod->labels.items[i]))
				return true;
	return false;
}

/* ---- Ray ---- */

/* Whether this custom resource made the pod's RayCluster. KubeRay sets no such label on pods, but an environment
 * variable for Ray's usage statistics ("kuberay_version=v1.4.0;kuberay_crd=RayJob"). */
static bool is_made_by_ray_crd(const struct k8s_pod *pod, const char *crd)
{
	if (streq(label_of(pod, "ray.io/originated-from-crd"), crd))
		return true;
	for (size_t i = 0; i < pod->n_containers; i++) {
		const char *tags = pod->containers[i].ray_tags, *at;

		STEPS(1);
		STEPS(strlen(tags));
		at = strstr(tags, "kuberay_crd=");
		if (at && strstarts(at + strlen("kuberay_crd="), crd))
			return true;
	}
	return false;
}

static bool is_ray_node(const struct k8s_pod *pod, const struct k8s_owner *owner)
{
	return has_label(pod, "ray.io/is-ray-node") || (owner && streq(owner->kind, "RayCluster"));
}

/* ---- checks ---- */

/* stdin and tty together: a person works in this container. */
static bool has_terminal(const struct k8s_pod *pod)
{
	for (size_t i = 0; i < pod->n_main; i++)
		if (pod->containers[i].has_stdin && pod->containers[i].has_tty)
			return true;
	return false;
}

/* "serving" or "interactive" if the pod is one of these; else NULL. */
static const char *not_training_why(const struct k8s_pod *pod, const struct k8s_owner *owner, const struct kind *kind)
{
	if (has_mark(pod, POD_SIGN_SERVING))
		return "serving";
	if (has_mark(pod, POD_SIGN_INTERACTIVE))
		return "interactive";
	if (is_ray_node(pod, owner)) {
		if (is_made_by_ray_crd(pod, "RayService"))
			return "serving";
		if (!is_made_by_ray_crd(pod, "RayJob") && !(owner && streq(owner->kind, "RayJob")))
			return "interactive";
	} else if (kind && kind->class_ == KIND_INTERACTIVE) {
		return "interactive";
	}
	if (kind && kind->class_ == KIND_SERVING)
		return "serving";
	return has_terminal(pod) ? "interactive" : NULL;
}

static bool has_framework(const struct k8s_pod *pod, const struct k8s_owner *owner, const struct kind *kind)
{
	return (kind && kind->class_ == KIND_TRAINING) || is_ray_node(pod, owner) || has_mark(pod, POD_SIGN_FRAMEWORK);
}

/* The user's value of KEY_TRAINING: the label, else the annotation. */
static const char *training_word(const struct k8s_pod *pod)
{
	const char *word = k8s_label_get(&pod->labels, KEY_TRAINING);

	if (!word)
		word = k8s_label_get(&pod->annotations, KEY_TRAINING);
	return word ? word : "";
}

/* Why the pod is never changed, whatever its labels say; NULL: it may be. */
static const char *untouchable_why(const struct k8s_pod *pod)
{
	if (k8s_label_get(&pod->annotations, KEY_MIRROR))
		return "mirror";
	if (streq(pod->namespace_name, "kube-system"))
		return "kube-system";
	return streq(label_of(pod, KEY_IGNORE), "true") ? "ignored" : NULL;
}

enum pod_class pod_classify(const struct k8s_pod *pod, const char **ret_why)
{
	const struct k8s_owner *owner = k8s_pod_controller(pod);
	const struct kind *kind = owner ? kind_find_api_version(owner->api_version, owner->kind) : NULL;
	const char *why = untouchable_why(pod), *word = training_word(pod);
	enum pod_class class_ = POD_NOT_TRAINING;
	struct accelerator_ask ask;

	if (!why && (streq(word, "true") || streq(word, "false"))) {
		why = "label";
		class_ = streq(word, "true") ? POD_TRAINING : POD_NOT_TRAINING;
	}
	if (!why)
		why = not_training_why(pod, owner, kind);
	if (!why && has_framework(pod, owner, kind)) {
		why = "framework";
		class_ = POD_TRAINING;
	}
	if (!why && accelerator_of_pod(pod, &ask)) {
		why = "accelerator";
		class_ = POD_TRAINING;
	}
	*ret_why = why ? why : "no-sign";
	return class_;
}

/* ---- the main container ---- */

bool pod_container_is_helper(const char *name)
{
	/* A name that ends in '*' is a prefix. */
	static const char *const helpers[] = {
		"wait",
		"init",
		"supervisor",
		"artifact-plugin-*",
		"init-pytorch",
		"kubectl-delivery",
		"wait-gcs-ready",
		"autoscaler",
		"ray-history-collector",
		"ray-job-submitter",
		"gke-gcsfuse-*",
		"gke-parallelstore-sidecar",
		"metrics-logger-and-collector",
		"in-place-restart-agent",
		"flyte-copilot-*",
		"flux-installer",
		"istio-proxy",
		"istio-init",
		"istio-validation",
		"linkerd-proxy",
		"linkerd-init",
		"vault-agent*",
		"queue-proxy",
		"cloud-sql-proxy",
		"filebeat",
		"fluent-bit",
		"fluentd",
		"otel-collector",
	};

	for (size_t i = 0; i < ARRAY_LEN(helpers); i++) {
		size_t n = strlen(helpers[i]);

		if (helpers[i][n - 1] == '*' ? strncmp(name, helpers[i], n - 1) == 0 : streq(name, helpers[i]))
			return true;
	}
	return false;
}

static bool find_container(const struct k8s_pod *pod, const char *name, size_t *ret)
{
	for (size_t i = 0; i < pod->n_main; i++) {
		if (streq(pod->containers[i].name, name)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool find_accelerated(const struct k8s_pod *pod, size_t *ret)
{
	struct accelerator_ask ask;

	for (size_t i = 0; i < pod->n_main; i++) {
		if (accelerator_of_container(&pod->containers[i], &ask)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

size_t pod_main_container(const struct k8s_pod *pod)
{
	static const char *const names[] = {"node", "pytorch", "tensorflow", "xgboost",	 "jax",	     "paddle",	  "mpi",
					    "main", "trainer", "train",	     "training", "ray-head", "ray-worker"};
	const char *chosen = k8s_label_get(&pod->annotations, KEY_DEFAULT_CONTAINER);
	size_t found;

	if (find_accelerated(pod, &found) || (chosen && find_container(pod, chosen, &found)))
		return found;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (find_container(pod, names[i], &found))
			return found;
	for (size_t i = 0; i < pod->n_main; i++)
		if (!pod_container_is_helper(pod->containers[i].name))
			return i;
	return 0;
}
