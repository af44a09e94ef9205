/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/vpa.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "k8s/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static const struct allow leaf = {.fields = NULL};
static const struct allow metadata = {
	ALLOW_ROWS(ALLOW_FIELD("namespace", leaf), ALLOW_FIELD("name", leaf), ALLOW_FIELD("creationTimestamp", leaf))};
static const struct allow target = {ALLOW_ROWS(ALLOW_FIELD("kind", leaf), ALLOW_FIELD("name", leaf))};
static const struct allow update = {ALLOW_ROWS(ALLOW_FIELD("updateMode", leaf))};
static const struct allow container_policy = {ALLOW_ROWS(ALLOW_FIELD("containerName", leaf), ALLOW_FIELD("mode", leaf),
							 ALLOW_FIELD("controlledResources", leaf))};
static const struct allow resource = {ALLOW_ROWS(ALLOW_FIELD("containerPolicies", container_policy))};
static const struct allow spec = {ALLOW_ROWS(ALLOW_FIELD("targetRef", target), ALLOW_FIELD("updatePolicy", update),
					     ALLOW_FIELD("resourcePolicy", resource))};
static const struct allow object_allow = {ALLOW_ROWS(ALLOW_FIELD("metadata", metadata), ALLOW_FIELD("spec", spec))};

/* The text of a string member of at most `max` bytes; "": none. */
static const char *name_in(const struct doc *object, const char *key, size_t max)
{
	const char *text = doc_member_text(object, key);

	return strlen(text) <= max ? text : "";
}

static const char *container_of(const struct doc *policy)
{
	return name_in(policy, "containerName", LIMIT_NAMESPACE_BYTES);
}

static bool policy_sets_memory(const struct doc *policy)
{
	const struct doc *resources = doc_member(policy, "controlledResources");
	bool sets_memory = !resources || resources->type != DOC_ARRAY;

	for (const struct doc *one = sets_memory ? NULL : resources->first; one; one = one->next)
		sets_memory |= one->type == DOC_STRING && streq(one->text, "memory");
	return sets_memory && !streq(name_in(policy, "mode", LIMIT_NAME_BYTES), "Off");
}

static bool is_named_before(const struct doc *first, const struct doc *policy)
{
	for (const struct doc *item = first; item != policy; item = item->next)
		if (streq(container_of(item), container_of(policy)))
			return true;
	return false;
}

/* If there are several policies for one container, the first applies; of those for "*", the last. */
static int read_policies(const struct doc *policies, struct arena *arena, struct k8s_vpa *ret, struct err *err)
{
	const struct doc *first = policies && policies->type == DOC_ARRAY ? policies->first : NULL;
	const char **others = arena_array(arena, LIMIT_VPA_POLICIES, sizeof(*others));

	if (!others)
		return decode_oom(err);
	if (first && policies->n_items > LIMIT_VPA_POLICIES)
		return err_set_at(err, -EINVAL, "spec.resourcePolicy.containerPolicies", 0, 0, "more than %d items",
				  LIMIT_VPA_POLICIES);
	ret->sets_memory = true;
	ret->others = others;
	for (const struct doc *item = first; item; item = item->next)
		if (streq(container_of(item), "*"))
			ret->sets_memory = policy_sets_memory(item);
	for (const struct doc *item = first; item; item = item->next)
		if (!streq(container_of(item), "*") && policy_sets_memory(item) != ret->sets_memory &&
		    !is_named_before(first, item))
			others[ret->n_others++] = container_of(item);
	return 0;
}

/* `r`: the result of reading the document. One with too many values cannot be read by retrying. */
static int decode(int r, const struct doc *object, const char *namespace_name, struct arena *arena, struct k8s_vpa *ret,
		  struct err *err)
{
	const struct doc *meta, *of, *ref;
	const char *created, *own;

	if (r)
		return r == -E2BIG ? err_set(err, -EINVAL, "too many values") : r;
	meta = doc_member(object, "metadata");
	of = doc_member(object, "spec");
	ref = doc_member(of, "targetRef");
	created = name_in(meta, "creationTimestamp", LIMIT_NAME_BYTES);
	own = name_in(meta, "namespace", LIMIT_NAME_BYTES);
	*ret = (struct k8s_vpa){
		.namespace_name = *own ? own : namespace_name,
		.name = name_in(meta, "name", LIMIT_NAME_BYTES),
		.is_off = streq(name_in(doc_member(of, "updatePolicy"), "updateMode", LIMIT_NAME_BYTES), "Off"),
	};
	ret->target = k8s_vpa_target(ret->namespace_name, name_in(ref, "kind", LIMIT_NAME_BYTES),
				     name_in(ref, "name", LIMIT_NAME_BYTES));
	if (time_parse(created, strlen(created), &ret->created_ms))
		ret->created_ms = 0;
	return read_policies(doc_member(doc_member(of, "resourcePolicy"), "containerPolicies"), arena, ret, err);
}

int k8s_vpa_read(const char *text, size_t n, struct arena *arena, struct k8s_vpa *ret, struct err *err)
{
	struct doc doc;

	return decode(doc_read(text, n, &object_allow, arena, &doc, err), &doc, "", arena, ret, err);
}

int k8s_vpa_decode(struct json_object *object, const char *namespace_name, struct arena *arena, struct k8s_vpa *ret,
		   struct err *err)
{
	struct doc doc;

	return decode(doc_of_json(object, &object_allow, arena, &doc, err), &doc, namespace_name, arena, ret, err);
}

/* ---- copies ---- */

static const char *copy_text(char **at, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = memcpy(*at, text, size);

	*at += size;
	return copy;
}

struct k8s_vpa *k8s_vpa_dup(const struct k8s_vpa *self)
{
	size_t bytes = sizeof(*self) + self->n_others * sizeof(*self->others);
	struct k8s_vpa *copy;
	const char **others;
	char *at;

	bytes += strlen(self->namespace_name) + 1 + strlen(self->name) + 1;
	for (size_t i = 0; i < self->n_others; i++)
		bytes += strlen(self->others[i]) + 1;
	copy = malloc(bytes);
	if (!copy)
		return NULL;
	*copy = *self;
	copy->others = others = (const char **)(copy + 1);
	at = (char *)(others + self->n_others);
	copy->namespace_name = copy_text(&at, self->namespace_name);
	copy->name = copy_text(&at, self->name);
	for (size_t i = 0; i < self->n_others; i++)
		others[i] = copy_text(&at, self->others[i]);
	return copy;
}

bool k8s_vpa_equal(const struct k8s_vpa *a, const struct k8s_vpa *b)
{
	bool is_equal = a->target == b->target && a->created_ms == b->created_ms && a->is_off == b->is_off &&
			a->sets_memory == b->sets_memory && a->n_others == b->n_others;

	for (size_t i = 0; is_equal && i < a->n_others; i++)
		is_equal = streq(a->others[i], b->others[i]);
	return is_equal;
}

/* ---- which pods ---- */

bool k8s_vpa_sets_memory(const struct k8s_vpa *self, const char *container)
{
	for (size_t i = 0; i < self->n_others; i++)
		if (streq(self->others[i], container))
			return !self->sets_memory;
	return self->sets_memory;
}

static uint64_t target_of(const char *namespace_name, const char *kind, const char *name, size_t n_name)
{
	const uint64_t hashes[] = {hash_seeded(namespace_name, strlen(namespace_name)), hash_seeded(kind, strlen(kind)),
				   hash_seeded(name, n_name)};
	uint64_t hash = hash_seeded(hashes, sizeof(hashes));

	return hash ? hash : 1;
}

uint64_t k8s_vpa_target(const char *namespace_name, const char *kind, const char *name)
{
	return target_of(namespace_name, kind, name, strlen(name));
}

uint64_t k8s_vpa_target_of_maker(const char *namespace_name, const char *kind, const char *name)
{
	const char *dash = strrchr(name, '-');
	bool is_job = streq(kind, "Job");

	if (!dash || !dash[1] || (!is_job && !streq(kind, "ReplicaSet")) ||
	    (is_job && dash[1 + strspn(dash + 1, "0123456789")]))
		return 0;
	return target_of(namespace_name, is_job ? "CronJob" : "Deployment", name, (size_t)(dash - name));
}
