/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about what Kubernetes says of a pod: its status, its events, the conditions of its node. */
#include "triage/rules.h"

#include <stdio.h>

const struct stop_row triage_stops[STOP_COUNT_] = {
	[STOP_PREEMPTED] = {"preempted", "The scheduler or the kubelet took the pod's place for a more important one."},
	[STOP_SHUTDOWN] = {"node-shutdown", "The node was shut down."},
	[STOP_NODE_LOST] = {"node-lost", "The node was lost or got a taint that the pod does not tolerate."},
	[STOP_DRAINED] = {"drained", "Somebody evicted the pod by the API, as kubectl drain does."},
	[STOP_DEADLINE] = {"deadline", "The pod or its Job reached activeDeadlineSeconds."},
	[STOP_DELETED] = {"deleted", "The pod was being deleted when its container ended."},
	[STOP_EVICTED] = {"evicted",
			  "The kubelet evicted the pod for something else than memory or its use of the disk."},
	[STOP_UNSCHEDULABLE] = {"unschedulable", "No node has room for the pod, so it has not run."},
	[STOP_IMAGE] = {"image", "The image could not be pulled, so the container has not run."},
	[STOP_CONFIGURATION] = {"configuration", "The container could not be created or started."},
	[STOP_ADMISSION] = {"refused-by-kubelet", "The kubelet refused the pod, so it has not run."},
};

/* ---- OOMKilled ---- */

/* The status of a pod before other lines with the word. */
static const struct fact *find_oomkilled(const struct facts *facts)
{
	for (size_t i = 0; i < facts->items.n; i++)
		if (facts->items.items[i].signal == SIGNAL_OOM_KILLED &&
		    facts->items.items[i].reading.scope != SCOPE_NONE)
			return &facts->items.items[i];
	return facts_first(facts, SIGNAL_OOM_KILLED);
}

/* Takes the status of a container if its limit was of this scope. */
static bool take_oomkilled(const struct facts *facts, struct verdict *ret, enum scope scope)
{
	ret->fact = find_oomkilled(facts);
	if (!ret->fact || ret->fact->reading.scope != scope)
		return false;
	ret->figures = ret->fact->reading.figures;
	ret->cause = rules_run_cause(facts, ret->fact);
	/* The runtime says OOMKilled for any task of the container; process 1 ended with another code by itself. */
	if (!ret->cause && ret->fact->reading.value >= 0 && ret->fact->reading.value != 137)
		ret->cause = "child-killed";
	return true;
}

bool rule_oomkilled_pod(const struct facts *facts, struct verdict *ret)
{
	if (!take_oomkilled(facts, ret, SCOPE_POD))
		return false;
	snprintf(ret->why, sizeof(ret->why),
		 "Container %s has no limit of its own and was OOM-killed at the pod's memory limit of %s.",
		 ret->fact->reading.name, FIGURE_TEXT(ret->figures.bytes[FIGURE_LIMIT]));
	rules_say_data(facts, ret, ret->fact->reading.name);
	return true;
}

bool rule_oomkilled_node(const struct facts *facts, struct verdict *ret)
{
	if (!take_oomkilled(facts, ret, SCOPE_NODE))
		return false;
	snprintf(ret->why, sizeof(ret->why),
		 "Container %s was OOM-killed, and neither it nor its pod has a memory limit, so the node ran out of "
		 "memory.",
		 ret->fact->reading.name);
	return true;
}

/* Whether Prometheus saw the container far below its limit. */
static bool is_far_below(const struct facts *facts, const char *container)
{
	for (size_t i = 0; i < facts->items.n; i++)
		if (facts->items.items[i].signal == SIGNAL_PEAK && facts->items.items[i].reading.scope == SCOPE_NODE &&
		    streq(facts->items.items[i].reading.name, container))
			return true;
	return false;
}

static bool is_oomkilled_with_limit(const struct facts *facts, struct verdict *ret)
{
	const char *node = "";

	if (!take_oomkilled(facts, ret, SCOPE_CONTAINER))
		return false;
	if (facts_first(facts, SIGNAL_SYSTEM_OOM))
		node = ", or because the node had no memory left at that time";
	else if (is_far_below(facts, ret->fact->reading.name))
		node = ", or because the node had no memory left, as the container used less than half of that";
	if (*node)
		ret->confidence = CONFIDENCE_MEDIUM;
	snprintf(ret->why, sizeof(ret->why), "Container %s was OOM-killed at its memory limit of %s%s.",
		 ret->fact->reading.name, FIGURE_TEXT(ret->figures.bytes[FIGURE_LIMIT]), node);
	rules_say_data(facts, ret, ret->fact->reading.name);
	return true;
}

bool rule_oomkilled(const struct facts *facts, struct verdict *ret)
{
	if (is_oomkilled_with_limit(facts, ret))
		return true;
	ret->fact = facts_first(facts, SIGNAL_OOM_KILLED);
	if (!ret->fact)
		return false;
	/* A counter without the reason: process 1 lives, and a child of it was killed. */
	ret->cause = "child-killed";
	for (size_t i = 0; i < facts->items.n; i++)
		if (facts->items.items[i].signal == SIGNAL_OOM_KILLED && !facts->items.items[i].reading.is_exact)
			ret->cause = rules_run_cause(facts, ret->fact);
	return true;
}

/* ---- a killed child in a container with a limit ---- */

static const struct fact *find_killed_child(const struct facts *facts)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (facts->sources.items[fact->source].origin.limit_bytes == FIGURE_NONE)
			continue;
		if (fact->signal == SIGNAL_WORKER_KILLED ||
		    (fact->signal == SIGNAL_CHILD_KILLED && !rules_has_error_before(facts, fact)))
			return fact;
	}
	return NULL;
}

static bool is_log_of(const char *source, const char *container)
{
	const char *at = strstr(source, " container ");

	return at && streq(at + strlen(" container "), container);
}

/* Whether Prometheus has the counter of kills of the container whose log has this fact, and it stayed 0. */
static bool is_not_counted(const struct facts *facts, const struct fact *fact)
{
	const struct source *log = &facts->sources.items[fact->source];

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *peak = &facts->items.items[i];

		if (peak->signal == SIGNAL_PEAK && peak->reading.is_exact &&
		    facts->sources.items[peak->source].origin.group == log->origin.group &&
		    is_log_of(log->name, peak->reading.name))
			return true;
	}
	return false;
}

bool rule_hidden_kill(const struct facts *facts, struct verdict *ret)
{
	bool is_zero;

	ret->fact = find_killed_child(facts);
	if (!ret->fact)
		return false;
	is_zero = is_not_counted(facts, ret->fact);
	ret->figures = ret->fact->reading.figures;
	figures_set(&ret->figures, FIGURE_LIMIT, facts->sources.items[ret->fact->source].origin.limit_bytes);
	if (ret->fact->signal != SIGNAL_WORKER_KILLED || is_zero)
		ret->confidence = CONFIDENCE_LOW;
	snprintf(ret->why, sizeof(ret->why),
		 "A child got SIGKILL, %s from the OOM killer at the container's memory limit of %s; process 1 was not "
		 "killed, so Kubernetes does not say OOMKilled. %s",
		 is_zero ? "perhaps" : "most likely", FIGURE_TEXT(ret->figures.bytes[FIGURE_LIMIT]),
		 is_zero ? "In Prometheus container_oom_events_total stayed 0: either it was not the OOM killer, or "
			   "the container ended before the next scrape. The kernel log of the node can tell which."
			 : "container_oom_events_total or the kernel log of the node can prove it.");
	rules_say_data(facts, ret, NULL);
	return true;
}

/* ---- kills that only a counter shows ---- */

static bool take_counted(const struct facts *facts, struct verdict *ret, enum scope scope)
{
	const struct fact *child = find_killed_child(facts);

	for (size_t i = 0; i < facts->items.n && !ret->fact; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_OOM_COUNTED && fact->reading.scope == scope && !fact->reading.is_caught)
			ret->fact = fact;
	}
	if (!ret->fact)
		return false;
	ret->figures = ret->fact->reading.figures;
	ret->cause = rules_run_cause(facts, ret->fact);
	if (!ret->cause && ret->fact->reading.value != 137)
		ret->cause = "child-killed";
	/* The log of the same run names the child that was killed. */
	if (child)
		ret->confidence++;
	else if (rules_has_error_before(facts, ret->fact))
		ret->confidence = CONFIDENCE_LOW;
	return true;
}

bool rule_oom_counted(const struct facts *facts, struct verdict *ret)
{
	if (!take_counted(facts, ret, SCOPE_CONTAINER))
		return false;
	snprintf(ret->why, sizeof(ret->why),
		 "The kernel killed a task of container %s, most likely at its memory limit of %s, and Kubernetes does "
		 "not say OOMKilled.",
		 ret->fact->reading.name, FIGURE_TEXT(ret->figures.bytes[FIGURE_LIMIT]));
	rules_say_data(facts, ret, ret->fact->reading.name);
	return true;
}

bool rule_oom_counted_pod(const struct facts *facts, struct verdict *ret)
{
	if (!take_counted(facts, ret, SCOPE_POD))
		return false;
	snprintf(ret->why, sizeof(ret->why),
		 "The kernel killed a task of container %s, which has no limit of its own, most likely at the pod's "
		 "memory limit of %s.",
		 ret->fact->reading.name, FIGURE_TEXT(ret->figures.bytes[FIGURE_LIMIT]));
	rules_say_data(facts, ret, ret->fact->reading.name);
	return true;
}

bool rule_oom_counted_node(const struct facts *facts, struct verdict *ret)
{
	if (!take_counted(facts, ret, SCOPE_NODE))
		return false;
	snprintf(ret->why, sizeof(ret->why),
		 "The kernel killed a task of container %s, which was not at a memory limit, so most likely the node "
		 "had no memory left.",
		 ret->fact->reading.name);
	return true;
}

/* ---- an end at the limit, by Prometheus alone ---- */

#define AT_LIMIT_PERCENT 95 /* the history calls such a run suspected-oom */

static bool is_at_limit(const struct figures *figures)
{
	int64_t peak = figures->bytes[FIGURE_USAGE], limit = figures->bytes[FIGURE_LIMIT];

	return peak > 0 && limit > 0 && peak <= FIGURE_MAX && limit <= FIGURE_MAX &&
	       peak * 100 >= limit * AT_LIMIT_PERCENT;
}

/* Page cache at the limit is given back before a task is killed. */
static bool is_mostly_cache(const struct figures *figures)
{
	return figures_has(figures, FIGURE_CGROUP_ANON) &&
	       figures->bytes[FIGURE_CGROUP_ANON] < figures->bytes[FIGURE_USAGE] / 2;
}

static bool take_peak(const struct facts *facts, struct verdict *ret, enum scope scope)
{
	const struct reading *reading;

	for (size_t i = 0; i < facts->items.n && !ret->fact; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_PEAK && fact->reading.value > 0 && fact->reading.scope == scope &&
		    is_at_limit(&fact->reading.figures))
			ret->fact = fact;
	}
	if (!ret->fact)
		return false;
	reading = &ret->fact->reading;
	ret->figures = reading->figures;
	ret->cause = rules_run_cause(facts, ret->fact);
	if (!ret->cause && reading->value != 137)
		ret->cause = "child-killed";
	if (reading->value != 137 || reading->is_exact || is_mostly_cache(&reading->figures) ||
	    facts_first(facts, SIGNAL_STATUS_UNKNOWN))
		ret->confidence = CONFIDENCE_LOW;
	snprintf(ret->why, sizeof(ret->why),
		 "Container %s ended with %lld, nothing says why, and it had used %s, at least %d %% of the %smemory "
		 "limit of %s: most likely the kernel killed %s there.%s%s",
		 reading->name, (long long)reading->value, FIGURE_TEXT(ret->figures.bytes[FIGURE_USAGE]),
		 AT_LIMIT_PERCENT, scope == SCOPE_POD ? "pod's " : "", FIGURE_TEXT(ret->figures.bytes[FIGURE_LIMIT]),
		 reading->value == 137 ? "it" : "a child of it",
		 is_mostly_cache(&reading->figures) ? " Less than half of it was memory of processes, so it may have "
						      "been page cache, which is given "
						      "back before a kill."
						    : "",
		 reading->is_exact ? " In Prometheus container_oom_events_total stayed 0." : "");
	rules_say_data(facts, ret, reading->name);
	return true;
}

bool rule_peak_at_limit(const struct facts *facts, struct verdict *ret)
{
	return take_peak(facts, ret, SCOPE_CONTAINER);
}

bool rule_peak_at_pod_limit(const struct facts *facts, struct verdict *ret)
{
	return take_peak(facts, ret, SCOPE_POD);
}

/* ---- evictions ---- */

bool rule_evicted_memory(const struct facts *facts, struct verdict *ret)
{
	const int64_t *bytes = ret->figures.bytes;
	int n = 0;

	ret->fact = facts_first(facts, SIGNAL_EVICTED_MEMORY);
	if (!ret->fact)
		return false;
	ret->figures = ret->fact->reading.figures;
	if (text_has(ret->fact->text, "had condition")) {
		ret->cause = "refused-at-admission";
		snprintf(
			ret->why, sizeof(ret->why),
			"The kubelet did not start the pod: its node was short of memory (MemoryPressure), and the pod "
			"is BestEffort. It never ran.");
		return true;
	}
	if (!figures_has(&ret->figures, FIGURE_USAGE) || !figures_has(&ret->figures, FIGURE_REQUEST))
		return true;
	if (bytes[FIGURE_USAGE] > bytes[FIGURE_REQUEST])
		ret->cause = bytes[FIGURE_REQUEST] ? "over-request" : "no-request";
	if (figures_has(&ret->figures, FIGURE_AVAILABLE))
		n = snprintf(ret->why, sizeof(ret->why), "The node had only %s of memory left",
			     FIGURE_TEXT(bytes[FIGURE_AVAILABLE]));
	else
		n = snprintf(ret->why, sizeof(ret->why), "The node was short of memory");
	if (figures_has(&ret->figures, FIGURE_THRESHOLD))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, ", below its threshold of %s",
			      FIGURE_TEXT(bytes[FIGURE_THRESHOLD]));
	snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, "; the pod used %s, and its request was %s.",
		 FIGURE_TEXT(bytes[FIGURE_USAGE]), FIGURE_TEXT(bytes[FIGURE_REQUEST]));
	return true;
}

bool rule_evicted_storage(const struct facts *facts, struct verdict *ret)
{
	const struct fact *checkpoint = facts_first(facts, SIGNAL_CHECKPOINT);
	const char *text;

	ret->fact = facts_first(facts, SIGNAL_EVICTED_STORAGE);
	if (!ret->fact)
		return false;
	text = ret->fact->text;
	ret->figures = ret->fact->reading.figures;
	if (checkpoint && checkpoint->order < ret->fact->order)
		ret->cause = "checkpoint";
	else if (strcasestr(text, "emptydir"))
		ret->cause = "volume-limit";
	else if (figures_has(&ret->figures, FIGURE_LIMIT))
		ret->cause = "storage-limit";
	else
		ret->cause = "node-pressure";
	if (streq(ret->cause, "node-pressure") && figures_has(&ret->figures, FIGURE_USAGE))
		snprintf(ret->why, sizeof(ret->why),
			 "The node's disk was nearly full, and the kubelet chose this pod, which used %s.",
			 FIGURE_TEXT(ret->figures.bytes[FIGURE_USAGE]));
	else if (streq(ret->cause, "node-pressure"))
		snprintf(ret->why, sizeof(ret->why),
			 "The node's disk was nearly full, and the kubelet chose this pod.");
	return true;
}

/* ---- stopped, or never started ---- */

static bool take_stop(const struct facts *facts, struct verdict *ret, enum signal_id signal)
{
	ret->fact = facts_first(facts, signal);
	if (!ret->fact || ret->fact->reading.value < 0 || ret->fact->reading.value >= STOP_COUNT_)
		return false;
	ret->cause = triage_stops[ret->fact->reading.value].cause;
	snprintf(ret->why, sizeof(ret->why), "%s", triage_stops[ret->fact->reading.value].why);
	return true;
}

bool rule_disrupted(const struct facts *facts, struct verdict *ret)
{
	return take_stop(facts, ret, SIGNAL_DISRUPTED);
}

bool rule_not_started(const struct facts *facts, struct verdict *ret)
{
	const struct fact *run = facts_first(facts, SIGNAL_EXIT_137);

	if (!take_stop(facts, ret, SIGNAL_NOT_STARTED))
		return false;
	/* Text may tell of an image that could be pulled at last, or of a container that did start. */
	return facts->sources.items[ret->fact->source].input == INPUT_STATUS ||
	       ret->fact->reading.value == STOP_UNSCHEDULABLE || (!run && !rules_has_steps(facts));
}
