/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a pod, its owner and its node, conditions of the node and of a Job. */
#include "postmortem/pod_facts_internal.h"

#include "base/timefmt.h"
#include "postmortem/object.h"

#include <stdio.h>

#define TEXT_BYTES KIB

/* How far a kill of the node's kernel and the end of a container that it caused may be apart: the kernel monitor polls,
 * and the kubelet notes whole seconds. */
#define KILL_MS TIME_MINUTE_MS
/* A health agent sees a fault a while after the program did. */
#define HEALTH_MS (15 * TIME_MINUTE_MS)

/* ---- events ---- */

static int64_t event_ms(struct json_object *event)
{
	static const char *const paths[] = {"series.lastObservedTime", "lastTimestamp", "eventTime", "firstTimestamp"};
	int64_t ms = 0;

	for (size_t i = 0; i < ARRAY_LEN(paths) && !ms; i++)
		ms = object_time_ms(event, paths[i]);
	return ms;
}

static const struct {
	const char *reason; /* of the event */
	const char *words;  /* that its message has, in lower case; NULL: any */
	enum signal_id signal;
	enum stop stop; /* where the signal has one */
} rows[] = {
	{"Preempted", NULL, SIGNAL_DISRUPTED, STOP_PREEMPTED},
	{"Preempting", NULL, SIGNAL_DISRUPTED, STOP_PREEMPTED},
	{"TaintManagerEviction", "marking for deletion", SIGNAL_DISRUPTED, STOP_NODE_LOST},
	{"NodeShutdown", NULL, SIGNAL_DISRUPTED, STOP_SHUTDOWN},
	{"DeadlineExceeded", NULL, SIGNAL_DISRUPTED, STOP_DEADLINE},
	{"Killing", "failed liveness probe|failed startup probe", SIGNAL_PROBE_KILLED, STOP_COUNT_},
	{"BackOff", "pulling image", SIGNAL_NOT_STARTED, STOP_IMAGE},
	{"BackOff", "restarting failed", SIGNAL_EXIT_CODE, STOP_COUNT_},
	{"BackoffLimitExceeded", NULL, SIGNAL_EXIT_CODE, STOP_COUNT_},
	{"PodFailurePolicy", "exit code 137", SIGNAL_EXIT_137, STOP_COUNT_},
	{"PodFailurePolicy", NULL, SIGNAL_EXIT_CODE, STOP_COUNT_},
};

static void lower_copy(char *buf, size_t size, const char *text)
{
	size_t n = MIN(strlen(text), size - 1);

	for (size_t i = 0; i < n; i++)
		buf[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
	buf[n] = '\0';
}

void pod_facts_of_event(struct facts *facts, const struct ended_pod *pod, struct json_object *event)
{
	const char *reason = object_text(event, "reason"), *message = object_text(event, "message");
	char text[TEXT_BYTES], lower[TEXT_BYTES];

	snprintf(text, sizeof(text), "%.60s: %.900s", reason, message);
	lower_copy(lower, sizeof(lower), message);
	if (streq(reason, "Evicted"))
		pod_facts_of_eviction(facts, message);
	/* A pod that has a node was scheduled in the end. */
	if (streq(reason, "FailedScheduling") && (!pod || !*pod->node))
		pod_facts_say(facts, SIGNAL_NOT_STARTED, STOP_UNSCHEDULABLE, text);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (streq(reason, rows[i].reason) && (!rows[i].words || text_has(lower, rows[i].words))) {
			pod_facts_say(facts, rows[i].signal, rows[i].stop, text);
			return;
		}
}

/* ---- the node ---- */

static bool is_near(const struct ended_pod *pod, int64_t ms)
{
	return ms && pod->ended_ms != INT64_MAX && ms >= pod->ended_ms - KILL_MS && ms <= pod->ended_ms + KILL_MS;
}

void pod_facts_of_node_event(struct facts *facts, const struct ended_pod *pod, struct json_object *event)
{
	const char *reason = object_text(event, "reason"), *message = object_text(event, "message");
	char text[TEXT_BYTES], lower[TEXT_BYTES];

	if (!is_near(pod, event_ms(event)))
		return;
	snprintf(text, sizeof(text), "node %.253s: %.60s: %.600s", pod->node, reason, message);
	lower_copy(lower, sizeof(lower), message);
	if (streq(reason, "SystemOOM") || (streq(reason, "OOMKilling") && strstarts(lower, "out of memory")))
		pod_facts_say(facts, SIGNAL_SYSTEM_OOM, -1, text);
	else if (streq(reason, "OOMKilling") && text_has(lower, "memory cgroup out of memory"))
		pod_facts_say(facts, SIGNAL_NODE_KILL, -1, text);
}

/* Whether a condition of a health agent calls a card faulty. Names that end in Ready or Healthy are good when true. */
static bool is_card_fault(const char *type, bool is_true)
{
	char lower[128];
	size_t n;

	lower_copy(lower, sizeof(lower), type);
	n = strlen(lower);
	if (!text_has(lower, "gpu|xid|nvlink|nvswitch|acceleratedhardware|accelerator|nvidia|amdgpu|neuron"))
		return false;
	if ((n > 5 && streq(lower + n - 5, "ready")) ||
	    (n > 7 && streq(lower + n - 7, "healthy") && !text_has(lower, "unhealthy")))
		return !is_true;
	return is_true;
}

/* "NvidiaXID79Error", "Xid 79": whether it is the card's or the program's is for the rules. */
static bool take_xid(struct facts *facts, const char *text)
{
	struct reading reading;
	char lower[TEXT_BYTES];
	const char *at;

	reading_init(&reading);
	lower_copy(lower, sizeof(lower), text);
	for (at = strstr(lower, "xid"); at; at = strstr(at + 3, "xid")) {
		const char *digits = at + 3 + strspn(at + 3, " :=(-_");

		if (!text_number(digits, &reading.value))
			continue;
		facts_add(facts, SIGNAL_XID, &reading, text);
		return true;
	}
	return false;
}

static void take_node_condition(struct facts *facts, const struct ended_pod *pod, struct json_object *condition)
{
	const char *type = object_text(condition, "type"), *status = object_text(condition, "status");
	bool is_true = streq(status, "True"), is_known = is_true || streq(status, "False");
	int64_t since_ms = object_time_ms(condition, "lastTransitionTime");
	char text[TEXT_BYTES];

	if (pod->ended_ms != INT64_MAX && since_ms > pod->ended_ms + HEALTH_MS)
		return;
	snprintf(text, sizeof(text), "node %.253s: condition %.60s=%.10s, %.60s: %.400s", pod->node, type, status,
		 object_text(condition, "reason"), object_text(condition, "message"));
	if ((streq(type, "MemoryPressure") || streq(type, "DiskPressure")) && is_true)
		pod_facts_say(facts, SIGNAL_NODE_PRESSURE, -1, text);
	else if (is_known && is_card_fault(type, is_true) && !take_xid(facts, text))
		pod_facts_say(facts, SIGNAL_DEVICE_UNHEALTHY, -1, text);
}

void pod_facts_of_node(struct facts *facts, const struct ended_pod *pod, struct json_object *node)
{
	struct json_object *conditions = object_at(node, "status.conditions");

	for (size_t i = 0; i < object_count(conditions); i++)
		take_node_condition(facts, pod, json_object_array_get_idx(conditions, i));
}

/* ---- a Job ---- */

void pod_facts_of_job(struct facts *facts, struct json_object *job)
{
	struct json_object *conditions = object_at(job, "status.conditions");
	char text[TEXT_BYTES];

	for (size_t i = 0; i < object_count(conditions); i++) {
		struct json_object *item = json_object_array_get_idx(conditions, i);
		const char *reason = object_text(item, "reason");

		if (!streq(object_text(item, "type"), "Failed") || !streq(object_text(item, "status"), "True"))
			continue;
		snprintf(text, sizeof(text), "condition Failed, %.60s: %.800s", reason, object_text(item, "message"));
		if (streq(reason, "DeadlineExceeded"))
			pod_facts_say(facts, SIGNAL_DISRUPTED, STOP_DEADLINE, text);
		else if (text_has(text, "exit code 137"))
			pod_facts_say(facts, SIGNAL_EXIT_137, -1, text);
		else
			pod_facts_say(facts, SIGNAL_EXIT_CODE, -1, text);
	}
}
