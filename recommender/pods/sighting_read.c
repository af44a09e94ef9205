/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_read: reads a Pod's text. Most pods of a cluster do not train, so the text is first walked only for the
 * fields that decide this, with the list and the function that admission uses. Only training pods are walked again for
 * their status. */
#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/accelerator.h"
#include "k8s/keys.h"
#include "k8s/kinds.h"
#include "model/identity.h"
#include "pods/sighting_internal.h"
#include "policy/annotation.h"
#include "policy/render.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The Job controller writes it only into pods of Jobs with a backoffLimitPerIndex (KEP-3850). */
#define INDEX_FAILURES "batch.kubernetes.io/job-index-failure-count"

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory left for a pod");
}

static int64_t bytes_of(const struct k8s_amount *amount)
{
	return amount->text && !amount->is_invalid ? MAX(amount->value, 0) : 0;
}

static int64_t accelerators_of(const struct k8s_pod *pod, size_t i)
{
	struct accelerator_ask ask;

	if (accelerator_of_container(&pod->containers[i], &ask))
		return ask.milli > 0 ? ask.milli : MAX(ask.count, 1) * 1000;
	/* A share of a device is requested by an annotation of the pod and belongs to the main container. */
	if (i == pod_main_container(pod) && accelerator_of_pod(pod, &ask) && ask.by_annotation)
		return ask.milli > 0 ? ask.milli : 1000;
	return 0;
}

static int add_container(struct sighting *self, const struct k8s_pod *pod, size_t i)
{
	const struct k8s_container *from = &pod->containers[i];
	const struct k8s_amount *requests = from->resources.requests, *limits = from->resources.limits;
	struct sighting_container container = {
		.request_bytes = bytes_of(&requests[K8S_MEMORY]),
		.limit_bytes = bytes_of(&limits[K8S_MEMORY]),
		.ephemeral_request_bytes = bytes_of(&requests[K8S_EPHEMERAL_STORAGE]),
		.ephemeral_limit_bytes = bytes_of(&limits[K8S_EPHEMERAL_STORAGE]),
		.accelerators_milli = accelerators_of(pod, i),
		.restarts_killed = k8s_container_restarts(pod, from),
	};
	int r = sighting_text_set(&container.name, from->name);

	r = r ? r : sighting_text_set(&container.image, from->image);
	r = r ? r : vec_push(&self->containers, container);
	if (r) {
		free(container.name);
		free(container.image);
	}
	return r;
}

/* The labels that workload_identify() reads. It gets only these. With `or_annotation`, an annotation of the same key
 * counts as the label. */
static const struct {
	const char *key;
	bool or_annotation;
} kept_labels[] = {
	{KEY_WORKLOAD, true},
	{KEY_TRAINING, true},
	{"batch.kubernetes.io/job-name", false},
	{"batch.kubernetes.io/job-completion-index", true},
	{"jobset.sigs.k8s.io/jobset-name", false},
	{"jobset.sigs.k8s.io/replicatedjob-name", false},
	{"training.kubeflow.org/job-name", false},
	{"training.kubeflow.org/operator-name", false},
	{"training.kubeflow.org/replica-type", false},
	{"training.kubeflow.org/replica-index", true},
	{"training.kubeflow.org/job-role", false},
	{"ray.io/cluster", false},
	{"ray.io/group", false},
	{"ray.io/node-type", false},
	{"ray.io/originated-from-cr-name", false},
	{"ray.io/originated-from-crd", false},
	{"sparkoperator.k8s.io/app-name", false},
	{"spark-app-name", false},
	{"spark-role", false},
	{"volcano.sh/job-name", false},
	{"volcano.sh/task-spec", false},
	{"volcano.sh/task-index", true},
	{"workflows.argoproj.io/workflow", false},
	{"leaderworkerset.sigs.k8s.io/name", false},
	{"katib.kubeflow.org/experiment", false},
	{"katib.kubeflow.org/trial", false},
	{"torchx.pytorch.org/app-name", false},
	{"torchx.pytorch.org/role-name", false},
	{"workflow-name", false},
	{"task-name", false},
	{"execution-id", false},
	{"action", false},
	{"dag_id", false},
	{"task_id", false},
	{"kueue.x-k8s.io/pod-group-name", false},
};

static const char *label_of(const struct k8s_pod *pod, size_t i)
{
	const char *value = k8s_label_get(&pod->labels, kept_labels[i].key);

	if (!value && kept_labels[i].or_annotation)
		value = k8s_label_get(&pod->annotations, kept_labels[i].key);
	return value;
}

static int add_labels(struct sighting *self, const struct k8s_pod *pod)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(kept_labels) && !r; i++) {
		const char *value = label_of(pod, i);
		struct k8s_label label = {kept_labels[i].key, value ? strdup(value) : NULL};

		if (!value)
			continue;
		r = label.value ? vec_push(&self->labels, label) : -ENOMEM;
		if (r)
			free((char *)(uintptr_t)label.value);
	}
	return r;
}

/* Sets the controller from the pod, and the topmost owner from `before` if the controller is the same. */
static int add_owners(struct sighting *self, const struct k8s_pod *pod, const struct sighting *before)
{
	const struct k8s_owner *owner = k8s_pod_controller(pod);
	int r;

	if (!owner) {
		self->is_root_known = true;
		return 0;
	}
	r = sighting_owner_set(&self->owner, owner->api_version, owner->kind, owner->name, owner->uid);
	if (r || !before || !streq(before->owner.uid, owner->uid))
		return r ? r
			 : sighting_owner_set(&self->root, owner->api_version, owner->kind, owner->name, owner->uid);
	self->is_root_known = before->is_root_known;
	return sighting_owner_set(&self->root, before->root.api_version, before->root.kind, before->root.name,
				  before->root.uid);
}

/* Sets the queue that counted the pod through its owner. A pod that Kueue manages as a workload of its own is left out:
 * when it is created again, Kueue counts it with the sizes that memtamer sets. */
static int fill_queue(struct sighting *self, const struct k8s_pod *pod)
{
	const char *queue = k8s_label_get(&pod->labels, "kueue.x-k8s.io/cluster-queue-name"), *kind = "ClusterQueue";
	char words[LIMIT_QUALIFIED_NAME_BYTES + 16];
	bool is_queued = false;

	for (size_t i = 0; i < pod->labels.n; i++)
		is_queued |= kind_is_queue_label(pod->labels.items[i].key);
	if (!is_queued || k8s_label_get(&pod->labels, "kueue.x-k8s.io/managed"))
		return 0;
	if (!queue) {
		kind = "LocalQueue";
		queue = k8s_label_get(&pod->labels, KIND_LABEL_QUEUE);
	}
	snprintf(words, sizeof(words), "%s %s", kind, queue ? queue : "");
	return sighting_text_set(&self->queue, queue ? words : "its queue");
}

static int fill_texts(struct sighting *self, const struct k8s_pod *pod, const struct doc *doc)
{
	const char *decision = k8s_label_get(&pod->annotations, KEY_DECISION);
	int r = sighting_text_set(&self->namespace_name, pod->namespace_name);

	r = r ? r : sighting_text_set(&self->name, pod->name);
	r = r ? r : sighting_text_set(&self->uid, pod->uid);
	r = r ? r : sighting_text_set(&self->node, doc_member_text(doc_member(doc, "spec"), "nodeName"));
	r = r ? r
	      : sighting_text_set(&self->resource_version,
				  doc_member_text(doc_member(doc, "metadata"), "resourceVersion"));
	r = r ? r : sighting_text_set(&self->priority_class, pod->priority_class);
	r = r ? r : fill_queue(self, pod);
	return r || !decision || !annotation_is_own(decision, pod) ? r : sighting_text_set(&self->decision, decision);
}

static int fill(struct sighting *self, const struct k8s_pod *pod, const struct doc *doc, const struct sighting *before)
{
	int r = fill_texts(self, pod, doc);

	r = r ? r : add_owners(self, pod, before);
	r = r ? r : add_labels(self, pod);
	/* Containers are found by name. The API server rejects duplicate names; if there are any, the first one
	 * counts. */
	for (size_t i = 0; i < pod->n_containers && !r; i++)
		if (pod->containers[i].type != K8S_CONTAINER_INIT && !sighting_container(self, pod->containers[i].name))
			r = add_container(self, pod, i);
	self->is_independent = k8s_label_get(&pod->annotations, INDEX_FAILURES) != NULL;
	self->qos = k8s_pod_qos(pod);
	return r;
}

/* ---- the text that decide() can read again ---- */

static void print_doc(const struct doc *doc, struct strbuf *buf);

static void print_items(const struct doc *doc, bool is_object, struct strbuf *buf)
{
	for (const struct doc *item = doc->first; item; item = item->next) {
		strbuf_adds(buf, item == doc->first ? "" : ",");
		if (is_object) {
			strbuf_add_json_string(buf, item->key);
			strbuf_addc(buf, ':');
		}
		print_doc(item, buf);
	}
}

static void print_doc(const struct doc *doc, struct strbuf *buf)
{
	static const char *const words[] = {[DOC_NULL] = "null", [DOC_FALSE] = "false", [DOC_TRUE] = "true"};
	bool is_object = doc->type == DOC_OBJECT;

	if (doc->type == DOC_STRING) {
		strbuf_add_json_string(buf, doc->text);
	} else if (doc->type == DOC_NUMBER) {
		strbuf_adds(buf, doc->text);
	} else if (doc->type == DOC_ARRAY || is_object) {
		strbuf_addc(buf, is_object ? '{' : '[');
		print_items(doc, is_object, buf);
		strbuf_addc(buf, is_object ? '}' : ']');
	} else {
		strbuf_adds(buf, words[doc->type]);
	}
}

static int keep_text(struct sighting *self, const struct doc *doc)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);

	print_doc(doc, &buf);
	if (buf.status)
		return buf.status;
	self->n_text = buf.len;
	self->text = strbuf_detach(&buf);
	return self->text ? 0 : -ENOMEM;
}

static bool is_running(const struct sighting *self)
{
	for (size_t i = 0; i < self->containers.n; i++)
		if (self->containers.items[i].is_running)
			return true;
	return false;
}

int sighting_read(const char *text, size_t n, const struct sighting_look *look, struct arena *arena,
		  struct sighting **ret, struct err *err)
{
	CLEANUP(sighting_freep) struct sighting *self = NULL;
	const struct sighting *before = look->before;
	struct k8s_pod pod;
	struct doc doc, rest;
	const char *why;
	int r;

	arena_reset(arena);
	r = doc_read(text, n, &allow_pod, arena, &doc, err);
	r = r ? r : k8s_pod_of_doc(&doc, arena, &pod, err);
	if (r)
		return r;
	*ret = NULL;
	if (pod_classify(&pod, &why) != POD_TRAINING)
		return 0;
	r = doc_read(text, n, &sighting_allow, arena, &rest, err);
	if (r)
		return r;
	if (before && !streq(before->uid, pod.uid))
		before = NULL; /* another pod of the same name */
	self = sighting_new();
	if (!self || fill(self, &pod, &rest, before))
		return no_memory(err);
	if (sighting_note_resizes(self, text, n))
		return no_memory(err);
	sighting_read_status(self, &pod, &rest, before, look->now_ms);
	sighting_identify(self);
	if (look->keeps_text && is_running(self) && keep_text(self, &doc))
		return no_memory(err);
	self->seen_ms = look->now_ms;
	*ret = TAKE_PTR(self);
	return 0;
}
