/* SPDX-License-Identifier: Apache-2.0 */
/* How large the volumes with the data are, where a program seems to read all of it into memory: sizes of the
 * PersistentVolumeClaims that its pod mounts. A size alone is no cause. */
#include "postmortem/postmortem_internal.h"

#include "k8s/quantity.h"
#include "kube/kube_client.h"
#include "postmortem/object.h"
#include "triage/rules.h"

/* The largest claim that could be read. */
struct largest {
	const char *claim, *path; /* borrowed from the pod; NULL: none */
	int64_t bytes;
};

/* The claims whose sizes were asked for. */
struct asked {
	const char *names[LIMIT_TRIAGE_CLAIMS];
	size_t n;
};

/* Whether all data in memory is what happened, or what the use of memory looks like. */
static bool is_wanted(const struct triage *triage)
{
	return streq(triage->verdict.cause, "load-everything") || facts_first(&triage->facts, SIGNAL_CLIMB);
}

static bool add_name(struct asked *self, const char *name)
{
	for (size_t i = 0; i < self->n; i++)
		if (streq(self->names[i], name))
			return false;
	if (self->n == LIMIT_TRIAGE_CLAIMS || !object_is_name(name))
		return false;
	self->names[self->n++] = name;
	return true;
}

/* @return 0, or why the size is not known: a kube_condition or -errno. */
static int read_size(struct postmortem *self, const char *claim, int64_t *ret, struct err *err)
{
	const char *path = postmortem_name(self, "/api/v1/namespaces/%s/persistentvolumeclaims/%s", self->namespace,
					   claim);
	CLEANUP(json_putp) struct json_object *json = NULL;
	int r = postmortem_get(self, path, &json, err);

	if (r)
		return r;
	*ret = object_bytes(json, "status.capacity.storage");
	if (*ret == FIGURE_NONE)
		*ret = object_bytes(json, "spec.resources.requests.storage");
	return 0;
}

static void take_mount(struct postmortem *self, const struct ended_pod *pod, struct json_object *mount,
		       struct asked *asked, struct largest *largest)
{
	struct json_object *volumes = object_at(pod->json, "spec.volumes");
	const char *claim = object_text(object_find(volumes, "name", object_text(mount, "name")),
					"persistentVolumeClaim.claimName");
	struct err err = ERR_INIT;
	int64_t bytes;
	int r;

	if (!*claim || !add_name(asked, claim))
		return;
	r = read_size(self, claim, &bytes, &err);
	if (r)
		triage_note(&self->triage->unseen,
			    "The size of the volume of persistentvolumeclaim/%s was not read: %s.", claim,
			    postmortem_reason(r, &err));
	else if (bytes > largest->bytes)
		*largest = (struct largest){claim, object_text(mount, "mountPath"), bytes};
}

static void say_largest(struct verdict *verdict, const struct largest *largest)
{
	int64_t limit = verdict->figures.bytes[FIGURE_LIMIT];

	rules_say(verdict, " The largest volume that it mounts, %.253s at %.200s, has %s", largest->claim,
		  largest->path, HUMAN(largest->bytes));
	if (limit > 0 && limit <= FIGURE_MAX)
		rules_say(verdict, "; the memory limit is %s", HUMAN(limit));
	rules_say(verdict, ".");
}

void postmortem_say_claims(struct postmortem *self, const struct ended_pod *pod)
{
	struct json_object *containers = object_at(pod->json, "spec.containers");
	const struct fact *fact = self->triage->verdict.fact;
	const char *name = fact ? fact->reading.name : "";
	struct largest largest = {.bytes = 0};
	struct asked asked = {.n = 0};

	if (!is_wanted(self->triage))
		return;
	for (size_t i = 0; i < object_count(containers) && i < LIMIT_POD_CONTAINERS; i++) {
		struct json_object *container = json_object_array_get_idx(containers, i);
		struct json_object *mounts = object_at(container, "volumeMounts");

		/* Where the container that died is known, the others' data is not what it read. */
		if (fact && fact->signal == SIGNAL_OOM_KILLED && *name && !streq(name, object_text(container, "name")))
			continue;
		for (size_t k = 0; k < object_count(mounts); k++)
			take_mount(self, pod, json_object_array_get_idx(mounts, k), &asked, &largest);
	}
	if (largest.claim)
		say_largest(&self->triage->verdict, &largest);
}
