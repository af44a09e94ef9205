/* SPDX-License-Identifier: Apache-2.0 */
#include "postmortem/known_workload.h"

#include "k8s/keys.h"
#include "kube/kube_client.h"
#include "model/identity_meant.h"
#include "postmortem/object.h"
#include "postmortem/postmortem_internal.h"

#include <stdio.h>

#define PROFILES_MOST 5000
#define TEXT_BYTES    KIB
#define RECOMMENDED   "status.recommendation."

int known_workload_fetch(struct postmortem *self, struct err *err)
{
	const char *path = postmortem_name(self, "/apis/memtamer.io/v1alpha1/namespaces/%s/memoryprofiles?limit=%d",
					   self->namespace, PROFILES_MOST);

	return self->profiles ? 0 : postmortem_get(self, path, &self->profiles, err);
}

/* ---- whose profile it is ---- */

bool known_workload_has_key(struct json_object *profile, const char *key)
{
	struct json_object *aliases = object_at(profile, "status.aliases");

	if (streq(object_text(profile, "status.workload"), key))
		return true;
	for (size_t i = 0; i < object_count(aliases); i++) {
		struct json_object *alias = json_object_array_get_idx(aliases, i);

		if (json_object_is_type(alias, json_type_string) && streq(json_object_get_string(alias), key))
			return true;
	}
	return false;
}

static bool has_object(struct json_object *profile, const char *kind, const char *name)
{
	char key[IDENTITY_KEY_BYTES];

	identity_key_of_object(kind, name, key);
	return known_workload_has_key(profile, key);
}

/* By the label that the webhook sets, or by the one that people set. */
static bool has_pod(struct json_object *profile, const struct ended_pod *pod)
{
	struct json_object *labels = object_at(pod->json, "metadata.labels");
	const char *id = object_label(labels, KEY_WORKLOAD_ID), *workload = object_label(labels, KEY_WORKLOAD);
	char key[IDENTITY_KEY_BYTES];

	if (*id && streq(id, object_text(profile, "metadata.name")))
		return true;
	snprintf(key, sizeof(key), IDENTITY_KIND_OF_LABEL ":%.100s", workload);
	return *workload && known_workload_has_key(profile, key);
}

bool known_workload_is_of_run(const struct postmortem *self, struct json_object *profile)
{
	if (has_object(profile, self->owner.kind, self->owner.name) ||
	    (self->siblings_of.kind && has_object(profile, self->siblings_of.kind, self->siblings_of.name)))
		return true;
	for (size_t i = 0; i < self->pods.n; i++)
		if (has_pod(profile, &self->pods.items[i]))
			return true;
	return false;
}

static enum identity_match match(const struct postmortem *self, const struct identity_meant *meant,
				 struct json_object *profile)
{
	struct json_object *aliases = object_at(profile, "status.aliases");
	enum identity_match best;

	if (!meant)
		return known_workload_is_of_run(self, profile) ? IDENTITY_MATCH_EXACT : IDENTITY_MATCH_NONE;
	best = identity_meant_match(meant, object_text(profile, "status.workload"));
	for (size_t i = 0; i < object_count(aliases); i++) {
		struct json_object *alias = json_object_array_get_idx(aliases, i);

		if (json_object_is_type(alias, json_type_string))
			best = MAX(best, identity_meant_match(meant, json_object_get_string(alias)));
	}
	return best;
}

/* ---- what it says ---- */

/* Anybody who may edit profiles writes them. */
static int64_t bytes_at(struct json_object *profile, const char *path)
{
	int64_t bytes = object_bytes(profile, path);

	return bytes > 0 && bytes <= FIGURE_MAX ? bytes : FIGURE_NONE;
}

static bool has_flag(struct json_object *profile, const char *flag)
{
	struct json_object *flags = object_at(profile, RECOMMENDED "flags");

	for (size_t i = 0; i < object_count(flags); i++) {
		struct json_object *item = json_object_array_get_idx(flags, i);

		if (json_object_is_type(item, json_type_string) && streq(json_object_get_string(item), flag))
			return true;
	}
	return false;
}

static void add_size(struct strbuf *text, const char *what, int64_t bytes)
{
	if (bytes != FIGURE_NONE)
		strbuf_addf(text, ", %s %s", what, FIGURE_TEXT(bytes));
}

static void render_runs(struct json_object *profile, const struct known_profile *known, char buf[TEXT_BYTES])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB);
	int64_t runs = object_int(profile, RECOMMENDED "runs", 0);
	int64_t kills = object_int(profile, RECOMMENDED "oomKills", 0);

	strbuf_addf(&text, "%.100s%s%.100s: %lld run%s, %lld complete", object_text(profile, "status.workload"),
		    *known->container ? " container " : "", known->container, (long long)runs, PLURAL(runs),
		    (long long)object_int(profile, RECOMMENDED "wholeRuns", 0));
	add_size(&text, "with a peak of", bytes_at(profile, RECOMMENDED "peak"));
	if (kills > 0)
		strbuf_addf(&text, "; %lld killed for memory", (long long)kills);
	add_size(&text, "at a limit of up to", bytes_at(profile, RECOMMENDED "proven"));
	strbuf_adds(&text, known->is_leak ? "; a leak is suspected: memory grows until runs end" : "");
	if (known->limit_bytes != FIGURE_NONE)
		strbuf_addf(&text, "; recommended limit %s", FIGURE_TEXT(known->limit_bytes));
	snprintf(buf, TEXT_BYTES, "%s", strbuf_text(&text));
}

static bool render_diagnosis(struct json_object *profile, char buf[TEXT_BYTES])
{
	const char *kind = object_text(profile, "status.diagnosis.kind");
	const char *cause = object_text(profile, "status.diagnosis.cause");

	if (!*kind)
		return false;
	snprintf(buf, TEXT_BYTES, "last diagnosis: %.40s%s%.40s, confidence %.10s, run %.100s, %.40s: %.300s", kind,
		 *cause ? ", cause " : "", cause, object_text(profile, "status.diagnosis.confidence"),
		 object_text(profile, "status.diagnosis.run"), object_text(profile, "status.diagnosis.time"),
		 object_text(profile, "status.diagnosis.evidence"));
	return true;
}

static int take_profile(struct postmortem *self, struct json_object *profile, struct known_workload *ret)
{
	struct facts *facts = &self->triage->facts;
	struct known_profile *known = &ret->items[ret->n];
	struct reading reading;
	char text[TEXT_BYTES];

	*known = (struct known_profile){.name = object_text(profile, "metadata.name"),
					.container = object_text(profile, "status.container"),
					.limit_bytes = bytes_at(profile, RECOMMENDED "limit"),
					.is_leak = has_flag(profile, "leak")};
	ret->n++;
	facts->origin = (struct origin){.rank = RANK_NONE, .limit_bytes = FIGURE_NONE};
	if (facts_open(facts, postmortem_name(self, "memoryprofile/%s status", known->name)))
		return -ENOMEM;
	reading_init(&reading);
	render_runs(profile, known, text);
	facts_add(facts, SIGNAL_RECORDED, &reading, text);
	if (render_diagnosis(profile, text))
		facts_add(facts, SIGNAL_RECORDED, &reading, text);
	return 0;
}

/* ---- reading ---- */

static int take_profiles(struct postmortem *self, const struct identity_meant *meant, struct known_workload *ret)
{
	struct json_object *items = object_at(self->profiles, "items");
	enum identity_match best = IDENTITY_MATCH_STEM;
	size_t n = MIN(object_count(items), (size_t)PROFILES_MOST);
	int r = 0;

	for (size_t i = 0; i < n; i++)
		best = MAX(best, match(self, meant, json_object_array_get_idx(items, i)));
	for (size_t i = 0; i < n && ret->n < KNOWN_PROFILES_MAX && !r; i++)
		if (match(self, meant, json_object_array_get_idx(items, i)) == best)
			r = take_profile(self, json_object_array_get_idx(items, i), ret);
	return r;
}

int known_workload_read(struct postmortem *self, const char *operand, struct known_workload *ret)
{
	struct strbuf *unseen = &self->triage->unseen;
	struct identity_meant meant;
	struct err err = ERR_INIT;
	int r = known_workload_fetch(self, &err);

	ret->n = 0;
	if (r == -ENOMEM)
		return r;
	if (r && (operand || r != KUBE_NOT_FOUND))
		triage_note(unseen, "What is recorded of the workload's runs was not read (list memoryprofiles): %s.",
			    r == KUBE_NOT_FOUND ? "the cluster has no MemoryProfiles" : postmortem_reason(r, &err));
	if (r)
		return 0;
	if (operand)
		identity_meant_init(&meant, operand);
	r = take_profiles(self, operand ? &meant : NULL, ret);
	if (!r && operand && !ret->n)
		triage_note(unseen, "There is no MemoryProfile of %.200s in namespace %s: nothing is recorded of it.",
			    operand, self->namespace);
	return r;
}

/* ---- the verdict ---- */

/* By the label of the pod and the container that was killed, where these are known. */
static bool is_meant(const struct postmortem *self, const struct known_profile *known)
{
	const struct verdict *verdict = &self->triage->verdict;
	size_t group = self->triage->facts.sources.items[verdict->fact->source].origin.group;
	bool has_name = verdict->fact->signal == SIGNAL_OOM_KILLED || verdict->fact->signal == SIGNAL_OOM_COUNTED;
	const char *container = has_name ? verdict->fact->reading.name : "";

	if (*container && *known->container && !streq(container, known->container))
		return false;
	for (size_t i = 0; i < self->pods.n; i++) {
		const struct ended_pod *pod = &self->pods.items[i];
		const char *id = object_label(object_at(pod->json, "metadata.labels"), KEY_WORKLOAD_ID);

		if (pod->group == group && *id && !streq(id, known->name))
			return false;
	}
	return true;
}

static void complete(struct verdict *verdict, const struct known_profile *known)
{
	size_t n = strlen(verdict->why);

	if (known->limit_bytes != FIGURE_NONE)
		figures_set(&verdict->figures, FIGURE_RECOMMENDED, known->limit_bytes);
	if (!known->is_leak || verdict->cause)
		return;
	verdict->cause = "leak";
	snprintf(verdict->why + n, sizeof(verdict->why) - n,
		 " In earlier runs its memory grew until they ended, so a larger limit only delays the end.");
}

void known_workload_apply(struct postmortem *self, const struct known_workload *known)
{
	struct verdict *verdict = &self->triage->verdict;
	const struct known_profile *found = NULL;

	if (verdict->kind != KIND_CONTAINER_LIMIT || !verdict->fact || verdict->fact->signal == SIGNAL_SLURM ||
	    verdict->fact->signal == SIGNAL_JOB_LIMIT || verdict->fact->signal == SIGNAL_YARN)
		return;
	for (size_t i = 0; i < known->n; i++) {
		if (!is_meant(self, &known->items[i]))
			continue;
		if (found)
			return;
		found = &known->items[i];
	}
	if (found)
		complete(verdict, found);
}
