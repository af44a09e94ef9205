/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/metrics_internal.h"

#include "k8s/accelerator.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>

static bool is_name(const char *text)
{
	return *text && strlen(text) <= EVIDENCE_NAME_BYTES;
}

static bool has_names(const struct metric_sink *sink, struct json_object *labels)
{
	return is_name(label(labels, sink->labels->namespace_label)) &&
	       is_name(label(labels, sink->labels->pod_label)) && strlen(label(labels, "uid")) <= EVIDENCE_NAME_BYTES;
}

/* Finds or adds the pod of a kube-state-metrics series, in the first phase. NULL: the series has no valid name. */
static int pod_put(struct metric_sink *sink, struct json_object *labels, struct pod **ret, struct err *err)
{
	*ret = NULL;
	if (!has_names(sink, labels))
		return 0;
	*ret = evidence_pod_put(sink->batch, label(labels, sink->labels->namespace_label),
				label(labels, sink->labels->pod_label), label(labels, "uid"));
	return *ret ? 0 : no_memory(err);
}

/* Finds the pod of a series in the second phase. NULL: it is not a training pod. */
static struct pod *pod_get(struct metric_sink *sink, struct json_object *labels)
{
	struct pod *pod;

	if (!has_names(sink, labels))
		return NULL;
	pod = evidence_pod_get(sink->batch, label(labels, sink->labels->namespace_label),
			       label(labels, sink->labels->pod_label), label(labels, "uid"));
	return pod && pod->is_training ? pod : NULL;
}

/* Finds or adds the container of a series. NULL: `pod` is NULL, or the series has no valid name of a container. */
static int container_put(struct metric_sink *sink, struct json_object *labels, struct pod *pod,
			 struct pod_container **ret, struct err *err)
{
	const char *name = label(labels, sink->labels->container_label);

	*ret = NULL;
	if (!pod || !is_name(name))
		return 0;
	*ret = pod_container_put(&sink->batch->pods, pod, name);
	return *ret ? 0 : no_memory(err);
}

/* The same for the second phase, in which the pod must be known. */
static int container_get(struct metric_sink *sink, struct json_object *labels, struct pod_container **ret,
			 struct err *err)
{
	return container_put(sink, labels, pod_get(sink, labels), ret, err);
}

/* Sets a string of the batch; on failure it keeps its old value, never NULL. */
static int set_text(struct metric_sink *sink, const char **text, const char *value)
{
	const char *copy = pod_set_text(&sink->batch->pods, value);

	if (!copy)
		return -ENOMEM;
	*text = copy;
	return 0;
}

int metric_take_owner(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct pod *pod;
	int r = pod_put(sink, labels, &pod, err);

	(void)value;
	if (r || !pod)
		return r;
	pod->is_owner_known = true;
	if (!*label(labels, "owner_kind") || streq(label(labels, "owner_is_controller"), "false"))
		return 0;
	return set_text(sink, &pod->owner_kind, label(labels, "owner_kind")) ||
			       set_text(sink, &pod->owner_name, label(labels, "owner_name"))
		       ? no_memory(err)
		       : 0;
}

int metric_take_job_owner(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct evidence_batch *batch = sink->batch;
	struct metric_owner *owner;
	const char *key;

	(void)value;
	if (!*label(labels, "owner_kind"))
		return 0;
	owner = arena_alloc(&batch->pods.arena, sizeof(*owner));
	key = arena_printf(&batch->pods.arena, "%s/%s", label(labels, sink->labels->namespace_label),
			   label(labels, "job_name"));
	if (!owner || !key)
		return no_memory(err);
	owner->kind = pod_set_text(&batch->pods, label(labels, "owner_kind"));
	owner->name = pod_set_text(&batch->pods, label(labels, "owner_name"));
	if (!owner->kind || !owner->name || strmap_put(sink->job_owners, key, owner))
		return no_memory(err);
	return 0;
}

int metric_take_size(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	const char *resource = label(labels, "resource");
	struct pod_container *container;
	struct pod *pod;
	bool is_limit = sink->argument == TARGET_LIMIT;
	int r;

	if (!is_name(label(labels, sink->labels->container_label)))
		return 0;
	r = pod_put(sink, labels, &pod, err);
	r = r ? r : container_put(sink, labels, pod, &container, err);
	if (r || !container)
		return r;
	if (streq(resource, "memory"))
		*(is_limit ? &container->limit_bytes : &container->request_bytes) = whole(value);
	else if (streq(resource, "ephemeral_storage"))
		*(is_limit ? &container->ephemeral_limit_bytes : &container->ephemeral_request_bytes) = whole(value);
	else
		container->accelerators_milli = MAX(container->accelerators_milli,
						    evidence_accelerators_milli(resource, whole(value)));
	return 0;
}

/* "label_training_kubeflow_org_job_name" for "training.kubeflow.org/job-name". */
static bool is_metric_label(const char *metric_label, const char *true_name)
{
	if (!strstarts(metric_label, "label_"))
		return false;
	for (metric_label += strlen("label_"); *true_name; metric_label++, true_name++)
		if (*metric_label != (isalnum((unsigned char)*true_name) ? *true_name : '_'))
			return false;
	return *metric_label == '\0';
}

static int add_label(struct metric_sink *sink, struct pod *pod, const char *metric_label, const char *text)
{
	struct k8s_label found = {.value = text};

	for (size_t i = 0; metric_pod_labels[i] && !found.key; i++)
		if (is_metric_label(metric_label, metric_pod_labels[i]))
			found.key = metric_pod_labels[i];
	if (!found.key || !text || !*text)
		return 0;
	found.value = pod_set_text(&sink->batch->pods, text);
	return found.value ? vec_push(&pod->labels, found) : -ENOMEM;
}

int metric_take_pod_labels(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct pod *pod;
	int r = pod_put(sink, labels, &pod, err);

	(void)value;
	/* the API server knows all labels; kube-state-metrics reports only those that it is configured for */
	if (r || !pod || pod->is_watched)
		return r;
	pod->labels.n = 0;
	json_object_object_foreach(labels, key, item)
	{
		if (add_label(sink, pod, key, json_object_get_string(item)))
			return no_memory(err);
	}
	return 0;
}

int metric_take_image(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct pod_container *container;
	const char *image;
	int r = container_get(sink, labels, &container, err);

	(void)value;
	if (r || !container)
		return r;
	/* The runtime's name of the image may be another tag of it, or its digest; newer versions also report the name
	 * in the pod's spec (github.com/kubernetes/kube-state-metrics/pull/1583). */
	image = label(labels, "image_spec");
	return set_text(sink, &container->image, *image ? image : label(labels, "image")) ? no_memory(err) : 0;
}

int metric_take_time(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct pod *pod = pod_get(sink, labels);

	(void)err;
	/* the end that the API server reports is correct; this metric counts from the first container that ended */
	if (pod && pod->is_watched && sink->argument == TARGET_COMPLETION)
		return 0;
	if (pod && isfinite(value) && value > 0 && value < 1e11)
		*(sink->argument == TARGET_START ? &pod->start_ms : &pod->completion_ms) = llround(value * 1000.0);
	return 0;
}

int metric_take_pod_end(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	const char *reason = label(labels, "reason"), *phase = label(labels, "phase");
	struct pod *pod = pod_get(sink, labels);

	(void)err;
	if (!pod || !(value > 0))
		return 0;
	if (streq(phase, "Succeeded"))
		pod->ends |= END_SUCCEEDED;
	else if (streq(phase, "Failed"))
		pod->ends |= END_FAILED;
	else if (streq(reason, "Evicted"))
		pod->ends |= END_EVICTED;
	else if (streq(reason, "Preempting") || streq(reason, "PreemptionByScheduler"))
		pod->ends |= END_PREEMPTED;
	return 0;
}

int metric_take_container_end(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	const char *reason = label(labels, "reason");
	struct pod_container *container;
	bool is_last = sink->argument == TARGET_LAST_END;
	int r;

	if (!(value > 0))
		return 0;
	r = container_get(sink, labels, &container, err);
	if (r || !container)
		return r;
	if (streq(reason, "OOMKilled"))
		container->ends |= is_last ? END_OOM_KILLED : END_OOM_RESTARTED;
	else if (streq(reason, "Completed"))
		container->ends |= is_last ? END_COMPLETED : 0;
	else
		container->ends |= is_last ? END_ERROR : END_ERROR_RESTARTED;
	return 0;
}

int metric_take_restarts(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct pod_container *container;
	int r = container_get(sink, labels, &container, err);

	if (r || !container)
		return r;
	container->restarts = (int)MIN(whole(value), 1000000);
	return 0;
}

int metric_take_alive(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct pod *pod = pod_get(sink, labels);

	(void)err;
	if (pod && value > 0)
		pod->is_alive = true;
	return 0;
}

/* Finds the pod of an exporter that knows pods by name, and perhaps their uids. NULL: it is not a training pod. */
static struct pod *pod_of(struct metric_sink *sink, struct json_object *labels, const char *uid)
{
	const char *namespace_name = label(labels, sink->labels->namespace_label);
	const char *name = label(labels, sink->labels->pod_label);
	struct pod *pod;

	if (!has_names(sink, labels))
		return NULL;
	pod = evidence_pod_get(sink->batch, namespace_name, name, uid);
	if (!pod)
		pod = evidence_pod_get(sink->batch, namespace_name, name, NULL);
	/* The last condition is for a uid that kube-state-metrics does not know, although it knows another pod of this
	 * name. */
	if (!pod || !pod->is_training || (*uid && *pod->uid && !streq(uid, pod->uid)))
		return NULL;
	return pod;
}

static bool is_doubtful(const struct pod *pod, const char *uid)
{
	return pod->is_name_shared && (!*uid || !*pod->uid);
}

/* Finds what a cAdvisor series belongs to: by the uid in its cgroup's path, else by name. */
static int usage_of(struct metric_sink *sink, struct json_object *labels, struct evidence_usage **ret, struct err *err)
{
	const char *cgroup = label(labels, "id");
	struct pod_container *container;
	struct pod *pod;
	char uid[40] = "";
	int r;

	*ret = NULL;
	evidence_cgroup_uid(cgroup, uid);
	pod = pod_of(sink, labels, uid);
	r = container_put(sink, labels, pod, &container, err);
	if (r || !container)
		return r;
	*ret = evidence_usage_put(sink->batch, container, cgroup);
	if (!*ret)
		return no_memory(err);
	(*ret)->is_doubtful |= is_doubtful(pod, uid);
	return 0;
}

/* A kill that may belong to another pod of the same name counts for nothing. */
int metric_take_oom_events(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct pod_container *container;
	struct pod *pod;
	char uid[40] = "";
	int r;

	evidence_cgroup_uid(label(labels, "id"), uid);
	pod = pod_of(sink, labels, uid);
	if (!pod || is_doubtful(pod, uid) || !(value > 0))
		return 0;
	r = container_put(sink, labels, pod, &container, err);
	if (!r && container)
		container->ends |= END_OOM_EVENTS;
	return r;
}

int metric_take_peak(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct evidence_usage *usage;
	int r = usage_of(sink, labels, &usage, err);
	int64_t *target;

	if (r || !usage)
		return r;
	target = sink->argument == TARGET_WORKING_SET ? &usage->peak_bytes
		 : sink->argument == TARGET_RSS	      ? &usage->peak_rss_bytes
						      : &usage->peak_active_file_bytes;
	*target = MAX(*target, whole(value));
	return 0;
}

int metric_take_ladder(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct evidence_usage *usage;
	int r = usage_of(sink, labels, &usage, err);

	if (r || !usage || !isfinite(value) || value < 0)
		return r;
	usage->ladder_bytes[sink->argument] = MAX(usage->ladder_bytes[sink->argument], whole(value));
	usage->ladder_seen |= 1u << sink->argument;
	return 0;
}

int metric_take_hours(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct evidence_usage *usage;
	int r = usage_of(sink, labels, &usage, err);

	if (!r && usage)
		evidence_usage_add_hour(usage, sink->time_ms + 1 - sink->hour_ms, sink->time_ms + 1, whole(value));
	return r;
}

int metric_take_ephemeral(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct pod *pod = pod_get(sink, labels);

	(void)err;
	if (pod)
		pod->peak_ephemeral_bytes = MAX(pod->peak_ephemeral_bytes, whole(value));
	return 0;
}

/* Exporters report the name of the pod that uses a device; newer ones also report its uid. NaN: there is no sample. */
int metric_take_activity(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	const char *uid = label(labels, "pod_uid");
	struct pod *pod = pod_of(sink, labels, uid);

	(void)err;
	if (!pod || is_doubtful(pod, uid) || !isfinite(value) || value < 0 || value > 1e9)
		return 0;
	if (sink->argument == TARGET_SAMPLES)
		pod->activity_samples += whole(value);
	else
		pod->activity_sum = MAX(pod->activity_sum, 0) + llround(value * sink->argument);
	return 0;
}

/* The metrics are in MiB. */
int metric_take_gpu_memory(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	const char *uid = label(labels, "pod_uid");
	struct pod *pod = pod_of(sink, labels, uid);
	struct pod_container *container;
	int64_t *target;
	int r;

	if (!pod || is_doubtful(pod, uid) || !(value > 0 && value < 1e9))
		return 0;
	r = container_put(sink, labels, pod, &container, err);
	if (r || !container)
		return r;
	target = sink->argument == TARGET_GPU_USED ? &container->gpu.used_bytes : &container->gpu.capacity_bytes;
	*target = MAX(*target, whole(value) * (int64_t)MIB);
	return 0;
}
