/* SPDX-License-Identifier: Apache-2.0 */
#include "postmortem/diagnose_pod.h"

#include "postmortem/cluster.h"
#include "postmortem/object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_variable(const char *name)
{
	return streq(name, ALLOCATOR_VARIABLE) || streq(name, ALLOCATOR_VARIABLE_CUDA) ||
	       streq(name, ALLOCATOR_VARIABLE_HIP);
}

static bool has_setting(struct json_object *container)
{
	struct json_object *env = object_at(container, "env");

	for (size_t i = 0; i < object_count(env); i++) {
		struct json_object *item = json_object_array_get_idx(env, i);

		if (is_variable(object_text(item, "name")) && strstr(object_text(item, "value"), ALLOCATOR_SETTING))
			return true;
	}
	return false;
}

static bool is_any_set(const struct postmortem *postmortem)
{
	struct json_object *containers;
	bool is_any = false;

	if (!postmortem->pods.n)
		return false;
	containers = object_at(postmortem->pods.items[0].json, "spec.containers");
	for (size_t i = 0; i < object_count(containers) && i < LIMIT_POD_CONTAINERS && !is_any; i++)
		is_any = has_setting(json_object_array_get_idx(containers, i));
	return is_any;
}

static int64_t bounded(int64_t value, int64_t fallback)
{
	return value >= 0 && value <= DIAGNOSIS_NUMBER_MAX ? value : fallback;
}

/* Steps that start from 0 in each epoch say nothing of the run where the log does not name the epochs. */
static void take_progress(const struct triage *triage, struct diagnosis *ret)
{
	const struct position *position = triage_progress(triage);
	const struct furthest *furthest = position ? &position->furthest : NULL;

	if (!furthest || (furthest->epoch == EPOCH_NONE && furthest->n_falls))
		return;
	ret->epoch = bounded(furthest->epoch, DIAGNOSIS_NONE);
	ret->step = bounded(furthest->step, DIAGNOSIS_NONE);
	ret->n_steps = bounded(furthest->n_steps, DIAGNOSIS_NONE);
}

/* What a log says, also the part of it in a status, only where logs may be read. */
static void take_numbers(const struct triage *triage, bool reads_logs, struct diagnosis *ret)
{
	const int64_t *bytes = triage->verdict.figures.bytes;

	ret->peak_bytes = bounded(bytes[FIGURE_USAGE], 0);
	ret->limit_bytes = bounded(bytes[FIGURE_LIMIT], 0);
	if (!reads_logs)
		return;
	ret->tried_bytes = bounded(bytes[FIGURE_TRIED], 0);
	ret->capacity_bytes = bounded(bytes[FIGURE_CAPACITY], 0);
	ret->unallocated_bytes = bounded(bytes[FIGURE_UNALLOCATED], 0);
	ret->others_bytes = bounded(bytes[FIGURE_OTHERS], 0);
	take_progress(triage, ret);
}

/* 2.9.1 ignores the new variable that its message names (lever_variable); all versions read the old one, but for
 * Intel's devices. */
static const char *setting_variable(const struct verdict *verdict)
{
	const char *variable = lever_variable(verdict);

	if (verdict->torch_version < 0 && streq(variable, variable_names[VARIABLE_ANY]) &&
	    !strstr(verdict->fact->text, "XPU out of memory"))
		return variable_names[VARIABLE_CUDA];
	return variable;
}

static void take_verdict(const struct verdict *verdict, struct diagnosis *ret)
{
	bool is_torch = verdict->fact && verdict->fact->reading.framework == FRAMEWORK_TORCH;
	char evidence[LIMIT_DIAGNOSIS_EVIDENCE_BYTES + 1];

	*ret = (struct diagnosis)DIAGNOSIS_INIT;
	snprintf(ret->kind, sizeof(ret->kind), "%s", triage_kinds[verdict->kind].name);
	snprintf(ret->cause, sizeof(ret->cause), "%s", verdict->cause ? verdict->cause : "");
	snprintf(ret->confidence, sizeof(ret->confidence), "%s", triage_confidence_names[verdict->confidence]);
	if (verdict->fact) {
		text_excerpt(verdict->fact->text, signals[verdict->fact->signal].words,
			     LIMIT_DIAGNOSIS_EVIDENCE_BYTES - 2 * strlen("..."), evidence, sizeof(evidence));
		diagnosis_set_evidence(ret, evidence);
	}
	if (verdict->kind == KIND_FRAGMENTATION && is_torch && !lever_is_refused(ALLOCATOR_SETTING, verdict))
		snprintf(ret->variable, sizeof(ret->variable), "%s", setting_variable(verdict));
}

static int diagnose(struct triage *triage, const struct postmortem_source *source,
		    const struct diagnose_request *request, struct diagnose_result *ret, struct err *err)
{
	struct postmortem postmortem;
	int r;

	postmortem_init(&postmortem, triage, source, request->namespace);
	postmortem.log_bytes = request->reads_logs ? LIMIT_DIAGNOSE_LOG_BYTES : 0;
	postmortem.log_lines = LIMIT_DIAGNOSE_LOG_LINES;
	r = postmortem_read_single(&postmortem, request->pod, request->uid, err);
	if (!r) {
		triage_decide(triage);
		take_verdict(&triage->verdict, &ret->diagnosis);
		take_numbers(triage, request->reads_logs, &ret->diagnosis);
		ret->has_setting = is_any_set(&postmortem);
		ret->is_partial = postmortem.n_missed > 0;
	}
	postmortem_release(&postmortem);
	return r;
}

int diagnose_pod(struct kube_client *client, const struct diagnose_request *request, struct diagnose_result *ret,
		 struct err *err)
{
	struct triage *triage = malloc(sizeof(*triage));
	struct cluster_source requests;
	int r;

	if (!triage)
		return err_set(err, -ENOMEM, "no memory left");
	cluster_source_init(&requests, client, request->deadline_ms);
	r = triage_init(triage);
	r = r ? err_set(err, r, "no memory left") : diagnose(triage, &requests.source, request, ret, err);
	triage_release(triage);
	free(triage);
	return r;
}
