/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/owner_object.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "k8s/doc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct allow leaf = {.fields = NULL};
static const struct allow owner = {ALLOW_ROWS(ALLOW_FIELD("apiVersion", leaf), ALLOW_FIELD("kind", leaf),
					      ALLOW_FIELD("name", leaf), ALLOW_FIELD("uid", leaf),
					      ALLOW_FIELD("controller", leaf))};
static const struct allow metadata = {
	ALLOW_ROWS(ALLOW_FIELD("ownerReferences", owner), ALLOW_FIELD("creationTimestamp", leaf))};
static const struct allow spec = {ALLOW_ROWS(ALLOW_FIELD("completions", leaf))};
static const struct allow condition = {ALLOW_ROWS(ALLOW_FIELD("type", leaf), ALLOW_FIELD("status", leaf))};
static const struct allow state = {ALLOW_ROWS(ALLOW_FIELD("phase", leaf))};
static const struct allow status = {ALLOW_ROWS(ALLOW_FIELD("conditions", condition), ALLOW_FIELD("succeeded", leaf),
					       ALLOW_FIELD("state", state), ALLOW_FIELD("jobDeploymentStatus", leaf))};
static const struct allow object_allow = {
	ALLOW_ROWS(ALLOW_FIELD("metadata", metadata), ALLOW_FIELD("spec", spec), ALLOW_FIELD("status", status))};

static bool is_end(const char *word)
{
	static const char *const ends[] = {"Complete", "Completed", "Succeeded", "Failed", "Terminated"};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (streq(word, ends[i]))
			return true;
	return false;
}

/* Whether the object creates no more pods. */
static bool is_over(const struct doc *object)
{
	const struct doc *of = doc_member(object, "status"), *conditions = doc_member(of, "conditions");

	/* Volcano has a state with a phase, a RayJob a field of its own */
	if (is_end(doc_member_text(doc_member(of, "state"), "phase")) ||
	    is_end(doc_member_text(of, "jobDeploymentStatus")))
		return true;
	for (const struct doc *item = conditions && conditions->type == DOC_ARRAY ? conditions->first : NULL; item;
	     item = item->next)
		if (is_end(doc_member_text(item, "type")) && streq(doc_member_text(item, "status"), "True"))
			return true;
	return false;
}

/* Objects that create one submission after the other are not owners: each submission is a root of its own. */
bool owner_object_is_watched(const struct kind *kind)
{
	static const char *const others[] = {"TrainingRuntime", "ClusterTrainingRuntime", "Experiment", "Notebook"};

	if (!kind->group[0] || kind->class_ == KIND_SERVING || kind->is_recurring || kind->has_argo_templates)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (streq(kind->name, others[i]))
			return false;
	return kind->template_paths || kind->object_paths;
}

/* Sets the parent's uid only if the parent's kind is watched; otherwise the object is the root of the known chain. */
static void read_parent(const struct doc *object, const char *namespace, struct owner_object *ret)
{
	const struct doc *owners = doc_member(doc_member(object, "metadata"), "ownerReferences");

	for (const struct doc *item = owners && owners->type == DOC_ARRAY ? owners->first : NULL; item;
	     item = item->next) {
		const struct doc *controller = doc_member(item, "controller");
		const struct kind *kind = kind_find_api_version(doc_member_text(item, "apiVersion"),
								doc_member_text(item, "kind"));

		if (!controller || controller->type != DOC_TRUE || !*doc_member_text(item, "uid"))
			continue;
		ret->parent_target = k8s_vpa_target(namespace, doc_member_text(item, "kind"),
						    doc_member_text(item, "name"));
		if (kind && owner_object_is_watched(kind))
			ret->parent_uid = doc_member_text(item, "uid");
		return;
	}
}

static int64_t created_ms_of(const struct doc *object)
{
	const char *text = doc_member_text(doc_member(object, "metadata"), "creationTimestamp");
	int64_t created_ms = 0;

	return time_parse(text, strlen(text), &created_ms) ? 0 : created_ms;
}

/* A number that is not negative; -1: absent. */
static int64_t number_in(const struct doc *object, const char *key)
{
	const struct doc *value = doc_member(object, key);
	long long number;
	char *end;

	if (!value || value->type != DOC_NUMBER)
		return -1;
	errno = 0;
	number = strtoll(value->text, &end, 10);
	return errno || *end || number < 0 ? -1 : number;
}

/* Adds `apiVersion` and `kind`, which items in a list of a built-in kind lack. */
static int say_kind(const struct kind *kind, struct arena *arena, struct doc *doc)
{
	struct doc *said = arena_array(arena, 2, sizeof(*said));
	char *api_version = arena_printf(arena, "%s/v1", kind->group);

	if (doc->type != DOC_OBJECT || doc_member(doc, "kind"))
		return 0;
	if (!said || !api_version)
		return -ENOMEM;
	said[0] = (struct doc){.type = DOC_STRING, .key = "kind", .n_key = 4, .text = kind->name};
	said[0].n_text = strlen(kind->name);
	said[0].next = &said[1];
	said[1] = (struct doc){.type = DOC_STRING, .key = "apiVersion", .n_key = 10, .text = api_version};
	said[1].n_text = strlen(api_version);
	said[1].next = doc->first;
	doc->first = said;
	doc->n_items += 2;
	return 0;
}

/* Sums up the resources in the templates. Nothing is known if a template cannot be read, which the API server will
 * report. */
static int declare(const struct kind_template *templates, size_t n, struct arena *arena, struct k8s_declared *ret)
{
	struct k8s_declared sum = {.pods = 0};

	for (size_t i = 0; i < n; i++) {
		const struct kind *kind = templates[i].owner_kind;
		struct err err = ERR_INIT;
		struct k8s_pod pod;
		int r;

		if (kind->has_trainer || kind->has_argo_templates)
			return 0;
		r = k8s_pod_of_doc(templates[i].object, arena, &pod, &err);
		if (r)
			return r == -ENOMEM ? r : 0;
		if (k8s_declared_add(&sum, &pod, templates[i].replicas, arena))
			return -ENOMEM;
	}
	*ret = sum;
	return 0;
}

/* The number of pods by the current templates. A Job with few completions, or with few of them left, has fewer pods. */
static int count_pods(const struct kube_object *object, const struct kind *kind, const struct doc *more,
		      struct arena *arena, struct owner_object *ret, struct err *err)
{
	struct kind_template *templates;
	int64_t pods = 0, completions = number_in(doc_member(more, "spec"), "completions");
	struct doc doc;
	size_t n = 0;
	int r = doc_read(object->text, object->n_text, &allow_workload, arena, &doc, err);

	if (!r)
		r = say_kind(kind, arena, &doc);
	if (!r)
		r = kind_templates_of_doc(&doc, arena, &templates, &n, err);
	if (r)
		return r;
	ret->is_queued = kind_is_queued(&doc); /* a TrainJob may have no template here */
	for (size_t i = 0; i < n; i++)
		ret->is_queued |= templates[i].owner_facts.is_queued;
	/* a TrainJob contains only a part of what its JobSet creates: the JobSet counts */
	for (size_t i = 0; i < n && !kind->has_trainer; i++)
		if (__builtin_add_overflow(pods, templates[i].replicas, &pods))
			pods = INT64_MAX;
	if (completions >= 0) {
		completions -= MAX(number_in(doc_member(more, "status"), "succeeded"), 0);
		pods = MIN(pods, MAX(completions, 1));
	}
	ret->pods = pods;
	ret->ranks = n && !kind->has_trainer ? MAX(templates[0].ranks, pods) : 0;
	return declare(templates, n, arena, &ret->declared);
}

int owner_object_read(const struct kube_object *object, const struct kind *kind, struct arena *arena,
		      struct owner_object *ret, bool *ret_is_over, struct err *err)
{
	struct doc doc;
	int r;

	*ret_is_over = false;
	if (!*object->uid)
		return err_set_at(err, -EINVAL, "metadata.uid", 0, 0, "is missing");
	ret->uid = object->uid;
	arena_reset(arena);
	r = doc_read(object->text, object->n_text, &object_allow, arena, &doc, err);
	if (!r) {
		*ret_is_over = is_over(&doc);
		read_parent(&doc, object->namespace, ret);
		ret->created_ms = created_ms_of(&doc);
	}
	if (!r && !*ret_is_over)
		r = count_pods(object, kind, &doc, arena, ret, err);
	return doc_reading_ended(arena, r, err);
}
