/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_quotas: a raise counts only if a quota has room for all pods of an owner at their new size, so it must be
 * known what those that exist hold already. Pods are watched for that, and only where such a quota is. */
#include "cluster/cluster_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "k8s/doc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct quota_namespace {
	char *name;
	VEC(uint64_t) quotas; /* hashes of their names */
	struct watch *pods;   /* NULL: too many such namespaces */
};

/* ---- pods ---- */

static const struct allow leaf = {.fields = NULL};
static const struct allow_field status_fields[] = {ALLOW_FIELD("phase", leaf)};
static const struct allow status = {.fields = status_fields, .n_fields = ARRAY_LEN(status_fields)};
static const struct allow_field phase_fields[] = {ALLOW_FIELD("status", status)};
static const struct allow phase = {.fields = phase_fields, .n_fields = ARRAY_LEN(phase_fields)};

/* Pods at their end are not counted by quotas. */
static int read_is_over(const struct kube_object *object, struct arena *arena, bool *ret, struct err *err)
{
	const struct doc *value;
	struct doc doc;
	int r = doc_read(object->text, object->n_text, &phase, arena, &doc, err);

	if (r)
		return r;
	value = doc_member(doc_member(&doc, "status"), "phase");
	*ret = value && value->type == DOC_STRING && (streq(value->text, "Succeeded") || streq(value->text, "Failed"));
	return 0;
}

static int64_t amount_of(const struct k8s_pod *pod, enum k8s_resource resource, bool is_limit)
{
	__int128 unit = k8s_bound_nano(resource, 1);
	__int128 amount = (k8s_pod_total(pod, resource, is_limit, true).nano + unit - 1) / unit;

	return amount > INT64_MAX ? INT64_MAX : (int64_t)amount;
}

static int put_pod(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct arena *arena = &watch->cluster->scratch;
	struct owner_pod facts = {.namespace = object->namespace, .name = object->name, .controller_uid = ""};
	const struct k8s_owner *controller;
	struct k8s_pod pod;
	struct doc doc;
	bool is_over = false;
	int r;

	arena_reset(arena);
	r = read_is_over(object, arena, &is_over, err);
	if (!r)
		r = doc_read(object->text, object->n_text, &allow_pod, arena, &doc, err);
	if (!r)
		r = k8s_pod_of_doc(&doc, arena, &pod, err);
	if (r)
		return doc_reading_ended(arena, r, err);
	controller = k8s_pod_controller(&pod);
	if (controller && !is_over) {
		facts.controller_uid = controller->uid;
		kinds_seen(watch->cluster, controller->api_version, controller->kind);
	}
	for (int resource = 0; resource < K8S_RESOURCE_COUNT_; resource++)
		for (int field = 0; field < K8S_QUOTA_FIELDS_; field++)
			facts.held[field][resource] = amount_of(&pod, (enum k8s_resource)resource,
								field == K8S_QUOTA_LIMITS);
	return owners_put_pod(&watch->cluster->owners, &facts) ? cluster_no_memory(err) : 0;
}

static int remove_pod(struct watch *watch, const struct kube_object *object)
{
	owners_remove_pod(&watch->cluster->owners, object->namespace, object->name);
	return 0;
}

static const struct watch_kind pods_kind = {CLUSTER_PODS, {"", "v1", "pods"}, false, true, put_pod, remove_pod, NULL};

/* ---- namespaces ---- */

static bool counts(const struct k8s_quota *quota)
{
	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		if (quota->amounts[f][K8S_MEMORY].hard != K8S_NO_BOUND ||
		    quota->amounts[f][K8S_EPHEMERAL_STORAGE].hard != K8S_NO_BOUND)
			return true;
	return false;
}

static struct quota_namespace *find(const struct cluster *cluster, const char *name, size_t *ret_at)
{
	for (size_t i = 0; i < cluster->quota_namespaces.n; i++)
		if (streq(cluster->quota_namespaces.items[i]->name, name)) {
			*ret_at = i;
			return cluster->quota_namespaces.items[i];
		}
	return NULL;
}

static void space_free(struct quota_namespace *self)
{
	if (!self)
		return;
	watch_free(self->pods);
	vec_release(&self->quotas);
	free(self->name);
	free(self);
}

static size_t n_watched(const struct cluster *cluster)
{
	size_t n = 0;

	for (size_t i = 0; i < cluster->quota_namespaces.n; i++)
		n += cluster->quota_namespaces.items[i]->pods != NULL;
	return n;
}

static int start_pods(struct cluster *cluster, struct quota_namespace *space, struct err *err)
{
	if (n_watched(cluster) < LIMIT_QUOTA_NAMESPACES)
		return watch_start(cluster, &pods_kind, space->name, &space->pods, err);
	if (!cluster->has_too_many_quotas)
		log_event(LOG_WARN,
			  "too many namespaces have quotas: in some of them what pods hold is not known, "
			  "and less is raised",
			  "namespaces", log_i64(cluster->quota_namespaces.n), "watched",
			  log_i64(LIMIT_QUOTA_NAMESPACES), NULL);
	cluster->has_too_many_quotas = true;
	return 0;
}

static struct quota_namespace *add_space(struct cluster *cluster, const char *name, struct err *err)
{
	struct quota_namespace *space = calloc(1, sizeof(*space));

	if (space)
		space->name = strdup(name);
	if (!space || !space->name || vec_push(&cluster->quota_namespaces, space)) {
		space_free(space);
		cluster_no_memory(err);
		return NULL;
	}
	if (start_pods(cluster, space, err)) {
		cluster->quota_namespaces.n--;
		space_free(space);
		return NULL;
	}
	return space;
}

/* Where there were too many, the place of one that is gone is for another. */
static void start_missing_pods(struct cluster *cluster)
{
	struct err err = ERR_INIT;
	size_t watched = n_watched(cluster);

	for (size_t i = 0; i < cluster->quota_namespaces.n && watched < LIMIT_QUOTA_NAMESPACES; i++) {
		struct quota_namespace *space = cluster->quota_namespaces.items[i];

		if (space->pods)
			continue;
		if (watch_start(cluster, &pods_kind, space->name, &space->pods, &err)) {
			/* the next that goes is another occasion */
			log_err(LOG_ERROR, "cannot watch pods", &err);
			return;
		}
		watched++;
	}
}

static void remove_space(struct cluster *cluster, struct quota_namespace *space, size_t at)
{
	cluster->quota_namespaces.items[at] = cluster->quota_namespaces.items[--cluster->quota_namespaces.n];
	owners_remove_pods(&cluster->owners, space->name);
	space_free(space);
	start_missing_pods(cluster);
}

static size_t place_of(const struct quota_namespace *space, uint64_t name)
{
	size_t i = 0;

	while (i < space->quotas.n && space->quotas.items[i] != name)
		i++;
	return i;
}

int quotas_put(struct cluster *cluster, const struct k8s_quota *quota, struct err *err)
{
	uint64_t name = table_hash(&quota->name, 1);
	struct quota_namespace *space;
	size_t at;

	if (!counts(quota)) {
		quotas_remove(cluster, quota->namespace_name, quota->name);
		return 0;
	}
	space = find(cluster, quota->namespace_name, &at);
	if (!space)
		space = add_space(cluster, quota->namespace_name, err);
	if (!space)
		return -ENOMEM;
	if (place_of(space, name) < space->quotas.n)
		return 0;
	return vec_push(&space->quotas, name) ? cluster_no_memory(err) : 0;
}

void quotas_remove(struct cluster *cluster, const char *namespace, const char *name)
{
	size_t at = 0, i;
	struct quota_namespace *space = find(cluster, namespace, &at);

	if (!space)
		return;
	i = place_of(space, table_hash(&name, 1));
	if (i < space->quotas.n)
		space->quotas.items[i] = space->quotas.items[--space->quotas.n];
	if (!space->quotas.n)
		remove_space(cluster, space, at);
}

void quotas_release(struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->quota_namespaces.n; i++)
		space_free(cluster->quota_namespaces.items[i]);
	vec_release(&cluster->quota_namespaces);
	cluster->has_too_many_quotas = false;
}
