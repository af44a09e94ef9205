/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a pod. */
#include "postmortem/pod_facts_internal.h"

#include "base/strbuf.h"
#include "base/timefmt.h"
#include "k8s/accelerator.h"
#include "k8s/keys.h"
#include "k8s/pod.h"
#include "k8s/quantity.h"
#include "postmortem/object.h"

#include <stdio.h>

#define TEXT_BYTES KIB

static const char *const places[] = {
	[PLACE_MAIN] = "container", [PLACE_INIT] = "init container", [PLACE_SIDECAR] = "sidecar"};

/* ---- ends of containers ---- */

/* "container trainer: terminated, reason OOMKilled, exit code 137, at 2026-11-02T08:15:00Z; memory limit 64Mi" */
static void render_end(const struct ended_pod *pod, const struct ended_container *item, char buf[TEXT_BYTES])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB);
	char time[TIME_TEXT_BYTES];

	strbuf_addf(&text, "%s %.253s: terminated, reason %.60s, exit code %lld", places[item->place], item->name,
		    *item->reason ? item->reason : "none", (long long)item->exit_code);
	if (item->finished_ms)
		strbuf_addf(&text, ", at %s", time_render(item->finished_ms, time));
	if (item->limit_bytes != FIGURE_NONE)
		strbuf_addf(&text, "; memory limit %s", HUMAN(item->limit_bytes));
	else if (pod->limit_bytes != FIGURE_NONE)
		strbuf_addf(&text, "; no memory limit of its own, that of the pod %s", HUMAN(pod->limit_bytes));
	else
		strbuf_adds(&text, "; no memory limit");
	if (item->request_bytes != FIGURE_NONE)
		strbuf_addf(&text, ", request %s", HUMAN(item->request_bytes));
	if (item->restarts)
		strbuf_addf(&text, "; restarts %lld", (long long)item->restarts);
	strbuf_addf(&text, "; QoS %.20s", object_text(pod->json, "status.qosClass"));
	snprintf(buf, TEXT_BYTES, "%s", strbuf_text(&text));
}

/* When somebody asked for the deletion of the pod; 0: nobody. */
static int64_t deleted_ms(const struct ended_pod *pod)
{
	int64_t due_ms = object_time_ms(pod->json, "metadata.deletionTimestamp");
	int64_t grace_s = object_int(pod->json, "metadata.deletionGracePeriodSeconds", 0);

	return due_ms && grace_s >= 0 && grace_s <= 365 * TIME_DAY_MS / TIME_SECOND_MS
		       ? due_ms - grace_s * TIME_SECOND_MS
		       : 0;
}

static enum signal_id signal_of_exit(const struct ended_container *item)
{
	static const struct {
		int64_t exit_code;
		enum signal_id signal;
	} rows[] = {{0, SIGNAL_DONE},
		    {135, SIGNAL_CHILD_BUS},
		    {137, SIGNAL_EXIT_137},
		    {139, SIGNAL_SEGFAULT},
		    {143, SIGNAL_TERMINATED}};

	if (streq(item->reason, "ContainerStatusUnknown") || streq(item->reason, K8S_REASON_RESTARTED_WITH_POD))
		return SIGNAL_STATUS_UNKNOWN;
	if (streq(item->reason, "OOMKilled"))
		return SIGNAL_OOM_KILLED;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (item->exit_code == rows[i].exit_code)
			return rows[i].signal;
	return SIGNAL_EXIT_CODE;
}

static bool is_start_failure(const char *reason)
{
	return streq(reason, "StartError") || streq(reason, "ContainerCannotRun");
}

static void take_end(struct facts *facts, const struct ended_pod *pod, const struct ended_container *item)
{
	int64_t limit = item->limit_bytes != FIGURE_NONE ? item->limit_bytes : pod->limit_bytes;
	struct reading reading;
	char text[TEXT_BYTES];

	reading_init(&reading);
	reading.value = item->exit_code;
	reading.scope = item->limit_bytes != FIGURE_NONE  ? SCOPE_CONTAINER
			: pod->limit_bytes != FIGURE_NONE ? SCOPE_POD
							  : SCOPE_NODE;
	reading_copy(reading.name, sizeof(reading.name), item->name, "");
	if (limit != FIGURE_NONE)
		figures_set(&reading.figures, FIGURE_LIMIT, limit);
	if (item->request_bytes != FIGURE_NONE)
		figures_set(&reading.figures, FIGURE_REQUEST, item->request_bytes);
	render_end(pod, item, text);
	/* The runtime's error may say that the kernel killed the container before its program began. */
	if (is_start_failure(item->reason)) {
		snprintf(text, sizeof(text), "%s %s: %s: %.500s", places[item->place], item->name, item->reason,
			 item->message);
		if (!facts_add_read(facts, SIGNAL_OOM_KILLED, text))
			pod_facts_say(facts, SIGNAL_NOT_STARTED, STOP_CONFIGURATION, text);
		return;
	}
	facts_add(facts, signal_of_exit(item), &reading, text);
	if (item->has_failed && deleted_ms(pod) && item->finished_ms >= deleted_ms(pod))
		pod_facts_say(facts, SIGNAL_DISRUPTED, STOP_DELETED, text);
}

/* ---- containers that wait ---- */

static void take_waiting(struct facts *facts, const struct ended_container *item)
{
	bool is_image = text_has(item->waiting, "ImagePull|ErrImage|InvalidImageName|RegistryUnavailable");
	char text[TEXT_BYTES];

	if (!is_image && !text_has(item->waiting, "CreateContainer|RunContainerError|PreCreateHook|PreStartHook"))
		return;
	snprintf(text, sizeof(text), "%s %s: waiting, reason %s: %.500s", places[item->place], item->name,
		 item->waiting, item->waiting_message);
	pod_facts_say(facts, SIGNAL_NOT_STARTED, is_image ? STOP_IMAGE : STOP_CONFIGURATION, text);
}

/* ---- devices ---- */

static bool is_device(const char *resource)
{
	return strstarts(resource, "claim:") ||
	       (strlen(resource) <= LIMIT_QUALIFIED_NAME_BYTES && accelerator_is_resource(resource));
}

static void take_devices(struct facts *facts, const struct ended_container *item)
{
	struct json_object *resources = object_at(item->status, "allocatedResourcesStatus");
	char text[TEXT_BYTES];

	for (size_t i = 0; i < object_count(resources); i++) {
		struct json_object *resource = json_object_array_get_idx(resources, i);
		struct json_object *devices = object_at(resource, "resources");

		for (size_t k = 0; is_device(object_text(resource, "name")) && k < object_count(devices); k++) {
			struct json_object *device = json_object_array_get_idx(devices, k);

			if (!streq(object_text(device, "health"), "Unhealthy"))
				continue;
			snprintf(text, sizeof(text), "%s %s: %.300s %.300s is Unhealthy", places[item->place],
				 item->name, object_text(resource, "name"), object_text(device, "resourceID"));
			pod_facts_say(facts, SIGNAL_DEVICE_UNHEALTHY, -1, text);
		}
	}
}

/* ---- the pod as a whole ---- */

void pod_facts_of_eviction(struct facts *facts, const char *message)
{
	char text[TEXT_BYTES];

	snprintf(text, sizeof(text), "Evicted: %.900s", message);
	if (facts_add_read(facts, SIGNAL_EVICTED_MEMORY, text) || facts_add_read(facts, SIGNAL_EVICTED_STORAGE, text))
		return;
	pod_facts_say(facts, SIGNAL_DISRUPTED, STOP_EVICTED, text);
}

/* What status.reason of a pod says; the words are those of the kubelet and of the controllers that end pods. */
static const struct {
	const char *reason;
	enum signal_id signal;
	enum stop stop;
} reasons[] = {
	{"Preempting", SIGNAL_DISRUPTED, STOP_PREEMPTED},
	{"NodeShutdown", SIGNAL_DISRUPTED, STOP_SHUTDOWN},
	{"Shutdown", SIGNAL_DISRUPTED, STOP_SHUTDOWN},
	{"NodeLost", SIGNAL_DISRUPTED, STOP_NODE_LOST},
	{"DeadlineExceeded", SIGNAL_DISRUPTED, STOP_DEADLINE},
	{"UnexpectedAdmissionError", SIGNAL_NOT_STARTED, STOP_ADMISSION},
	{"NodeAffinity", SIGNAL_NOT_STARTED, STOP_ADMISSION},
	{"NodePorts", SIGNAL_NOT_STARTED, STOP_ADMISSION},
	{"TopologyAffinityError", SIGNAL_NOT_STARTED, STOP_ADMISSION},
};

static void take_reason(struct facts *facts, const struct ended_pod *pod)
{
	const char *reason = object_text(pod->json, "status.reason"),
		   *message = object_text(pod->json, "status.message");
	char text[TEXT_BYTES];

	snprintf(text, sizeof(text), "pod: %.60s: %.800s", reason, message);
	if (streq(reason, "Evicted")) {
		pod_facts_of_eviction(facts, message);
		return;
	}
	if (text_has(message, "unhealthy devices|no healthy devices")) {
		pod_facts_say(facts, SIGNAL_DEVICE_UNHEALTHY, -1, text);
		return;
	}
	if (streq(reason, "Terminated") && text_has(message, "shutdown"))
		pod_facts_say(facts, SIGNAL_DISRUPTED, STOP_SHUTDOWN, text);
	else if (strstarts(reason, "OutOf"))
		pod_facts_say(facts, SIGNAL_NOT_STARTED, STOP_ADMISSION, text);
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (streq(reason, reasons[i].reason))
			pod_facts_say(facts, reasons[i].signal, reasons[i].stop, text);
}

/* The reasons of the condition DisruptionTarget. TerminationByKubelet: an eviction, a shutdown or a preemption by the
 * kubelet, which the pod's reason says. */
static const struct {
	const char *reason;
	enum stop stop;
} disruptions[] = {
	{"PreemptionByScheduler", STOP_PREEMPTED},  {"PreemptionByKubeScheduler", STOP_PREEMPTED},
	{"DeletionByTaintManager", STOP_NODE_LOST}, {"EvictionByEvictionAPI", STOP_DRAINED},
	{"DeletionByPodGC", STOP_NODE_LOST},
};

static void take_disruption(struct facts *facts, struct json_object *condition, const char *text)
{
	const char *reason = object_text(condition, "reason"), *message = object_text(condition, "message");

	for (size_t i = 0; i < ARRAY_LEN(disruptions); i++)
		if (streq(reason, disruptions[i].reason))
			pod_facts_say(facts, SIGNAL_DISRUPTED, disruptions[i].stop, text);
	if (!streq(reason, "TerminationByKubelet"))
		return;
	if (text_has(message, "shutdown"))
		pod_facts_say(facts, SIGNAL_DISRUPTED, STOP_SHUTDOWN, text);
	else if (text_has(message, "reempt"))
		pod_facts_say(facts, SIGNAL_DISRUPTED, STOP_PREEMPTED, text);
	else
		pod_facts_of_eviction(facts, message);
}

static void take_condition(struct facts *facts, const struct ended_pod *pod, struct json_object *condition)
{
	const char *type = object_text(condition, "type");
	bool is_true = streq(object_text(condition, "status"), "True");
	char text[TEXT_BYTES];

	snprintf(text, sizeof(text), "condition %.60s=%.10s, %.60s: %.700s", type, object_text(condition, "status"),
		 object_text(condition, "reason"), object_text(condition, "message"));
	if (streq(type, "DisruptionTarget") && is_true)
		take_disruption(facts, condition, text);
	else if (streq(type, "PodScheduled") && !is_true && !*pod->node)
		pod_facts_say(facts, SIGNAL_NOT_STARTED, STOP_UNSCHEDULABLE, text);
	else if ((streq(type, "PodResizePending") || streq(type, "PodResizeInProgress")) && is_true)
		pod_facts_say(facts, SIGNAL_RESIZE_PENDING, -1, text);
}

void pod_facts_of_status(struct facts *facts, const struct ended_pod *pod)
{
	struct json_object *conditions = object_at(pod->json, "status.conditions");
	bool is_failed = ended_pod_has_failed(pod) || streq(pod->phase, "Failed");

	for (size_t i = 0; i < pod->containers.n; i++) {
		const struct ended_container *item = &pod->containers.items[i];

		/* Init containers always end, and main containers of a failed pod may have ended well. */
		if (item->has_failed || (item->has_ended && item->place == PLACE_MAIN && !is_failed))
			take_end(facts, pod, item);
		take_waiting(facts, item);
		take_devices(facts, item);
	}
	take_reason(facts, pod);
	for (size_t i = 0; i < object_count(conditions); i++)
		take_condition(facts, pod, json_object_array_get_idx(conditions, i));
}

/* ---- its life ---- */

/* The last end of a container; INT64_MAX: one may still run, or its end is not known. */
static int64_t find_last_end_ms(const struct ended_pod *pod)
{
	int64_t last_ms = 0;

	for (size_t i = 0; i < pod->containers.n; i++) {
		const struct ended_container *item = &pod->containers.items[i];

		if (item->is_running || *item->waiting || (item->has_ended && !item->finished_ms))
			return INT64_MAX;
		last_ms = MAX(last_ms, item->finished_ms);
	}
	return last_ms ? last_ms : INT64_MAX;
}

/* Pods of files of the kubelet have another uid in their cgroups than in the API. */
void pod_facts_of_life(struct facts *facts, const struct ended_pod *pod)
{
	const char *mirror = object_label(object_at(pod->json, "metadata.annotations"), KEY_MIRROR);

	if (*pod->uid)
		facts_add_life(facts, *mirror ? mirror : pod->uid, pod->created_ms, find_last_end_ms(pod));
}
