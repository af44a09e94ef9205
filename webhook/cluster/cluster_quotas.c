/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_quotas: ResourceQuotas, and the pods of namespaces where one counts memory or ephemeral storage.
 *
 * The status of a quota and the pods that use it are reported by different watches, and either may be ahead. In the
 * snapshot the use of a quota is the larger one of its status and of what the known pods use. So what is left, plus
 * what the known pods of an owner hold, is never more than the owner can have. */
#include "cluster/cluster_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/strmap.h"
#include "cluster/quota_pods.h"
#include "k8s/doc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct quota_namespace {
	struct hashtable_node by_name;
	struct strmap quotas; /* by name: struct k8s_quota as reported */
	size_t n_counting;    /* of these count memory or ephemeral storage */
	struct watch *watch;  /* of pods; NULL: no quota needs it, or there are too many such namespaces */
	struct quota_pods pods;
	bool is_dirty; /* the snapshot has other figures */
	char name[];
};

static struct quota_namespace *find(const struct cluster *cluster, const char *name)
{
	struct hashtable_node *node = hashtable_find(&cluster->quotas.namespaces, hashtable_hash(&name, 1));

	return node ? HASHTABLE_OBJECT(node, struct quota_namespace, by_name) : NULL;
}

static struct quota_namespace *next_of(const struct cluster *cluster, const struct quota_namespace *self)
{
	struct hashtable_node *node = hashtable_next(&cluster->quotas.namespaces, self ? &self->by_name : NULL);

	return node ? HASHTABLE_OBJECT(node, struct quota_namespace, by_name) : NULL;
}

static void mark(struct cluster *cluster, struct quota_namespace *space)
{
	space->is_dirty = cluster->quotas.is_dirty = true;
}

/* ---- pods ---- */

static const struct allow leaf = {.fields = NULL};
static const struct allow status = {ALLOW_ROWS(ALLOW_FIELD("phase", leaf))};
static const struct allow phase = {ALLOW_ROWS(ALLOW_FIELD("status", status))};

/* Quotas do not count pods that have ended. */
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

static int read_pod(const struct kube_object *object, struct arena *arena, struct k8s_pod *ret, bool *ret_is_over,
		    struct err *err)
{
	struct doc doc;
	int r = read_is_over(object, arena, ret_is_over, err);

	if (!r)
		r = doc_read(object->text, object->n_text, &allow_pod, arena, &doc, err);
	return r ? r : k8s_pod_of_doc(&doc, arena, ret, err);
}

static int remove_pod(struct watch *watch, const struct kube_object *object)
{
	struct quota_namespace *space = find(watch->cluster, object->namespace);

	if (!space)
		return 0;
	quota_pods_remove(&space->pods, &watch->cluster->owners, object->name);
	mark(watch->cluster, space);
	return 0;
}

static int put_pod(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct cluster *cluster = watch->cluster;
	struct quota_namespace *space = find(cluster, object->namespace);
	struct quota_pod facts = {.name = object->name, .controller_uid = ""};
	const struct k8s_owner *controller;
	struct k8s_pod pod;
	bool is_over = false;
	int r;

	r = read_pod(object, &cluster->scratch, &pod, &is_over, err);
	if (r)
		return r;
	if (is_over || !space)
		return remove_pod(watch, object);
	controller = k8s_pod_controller(&pod);
	if (controller) {
		facts.controller_uid = controller->uid;
		kinds_seen(cluster, controller->api_version, controller->kind);
	}
	facts.qos = k8s_pod_qos(&pod);
	facts.has_deadline = pod.has_deadline;
	facts.priority_class = pod.priority_class;
	for (int resource = 0; resource < K8S_RESOURCE_COUNT_; resource++)
		for (int field = 0; field < K8S_QUOTA_FIELDS_; field++)
			facts.use.amounts[field][resource] = amount_of(&pod, (enum k8s_resource)resource,
								       field == K8S_QUOTA_LIMITS);
	r = quota_pods_put(&space->pods, &cluster->owners, &facts);
	if (r > 0)
		mark(cluster, space);
	return r < 0 ? cluster_no_memory(err) : 0;
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

static int start_pods(struct cluster *cluster, struct quota_namespace *space, struct err *err)
{
	struct cluster_quotas *all = &cluster->quotas;
	int r;

	if (all->n_watched < LIMIT_QUOTA_NAMESPACES) {
		r = watch_start(cluster, &pods_kind, space->name, &space->watch, err);
		all->n_watched += r == 0;
		return r;
	}
	if (!all->is_too_many)
		log_event(LOG_WARN,
			  "too many namespaces have quotas: in some of them what pods hold is not known, "
			  "and less is raised",
			  "namespaces", log_i64(all->namespaces.n), "watched", log_i64(LIMIT_QUOTA_NAMESPACES), NULL);
	all->is_too_many = true;
	return 0;
}

/* If there were too many namespaces, one that is removed makes room for another. */
static void start_missing_pods(struct cluster *cluster)
{
	struct err err = ERR_INIT;

	for (struct quota_namespace *space = next_of(cluster, NULL);
	     space && cluster->quotas.n_watched < LIMIT_QUOTA_NAMESPACES; space = next_of(cluster, space)) {
		if (space->watch || !space->n_counting)
			continue;
		if (start_pods(cluster, space, &err)) {
			/* tried again when the next namespace is removed */
			log_err(LOG_ERROR, "cannot watch pods", &err);
			return;
		}
	}
}

static void stop_pods(struct cluster *cluster, struct quota_namespace *space)
{
	if (!space->watch)
		return;
	watch_free(TAKE_PTR(space->watch));
	cluster->quotas.n_watched--;
	quota_pods_release(&space->pods, &cluster->owners);
}

static void space_free(struct cluster *cluster, struct quota_namespace *space)
{
	stop_pods(cluster, space);
	hashtable_remove(&cluster->quotas.namespaces, &space->by_name);
	for (size_t i = 0; i < space->quotas.capacity; i++)
		free(space->quotas.slots[i].value);
	strmap_release(&space->quotas);
	free(space);
}

static struct quota_namespace *space_at(struct cluster *cluster, const char *name)
{
	struct quota_namespace *space = find(cluster, name);
	size_t size = strlen(name) + 1;

	if (space)
		return space;
	space = calloc(1, sizeof(*space) + size);
	if (!space)
		return NULL;
	memcpy(space->name, name, size);
	if (hashtable_add(&cluster->quotas.namespaces, &space->by_name, hashtable_hash(&name, 1))) {
		free(space);
		return NULL;
	}
	return space;
}

/* ---- quotas ---- */

/* The quotas changed: pods are watched only as long as one of them needs it. */
static int quotas_changed(struct cluster *cluster, struct quota_namespace *space, struct err *err)
{
	bool was_watched = space->watch;

	mark(cluster, space);
	if (space->n_counting)
		return was_watched ? 0 : start_pods(cluster, space, err);
	stop_pods(cluster, space);
	if (was_watched)
		start_missing_pods(cluster);
	return 0;
}

int quotas_put(struct cluster *cluster, const struct k8s_quota *quota, struct err *err)
{
	struct quota_namespace *space = space_at(cluster, quota->namespace_name);
	struct k8s_quota *copy = space ? k8s_quota_dup(quota) : NULL, *old;

	if (!copy)
		return cluster_no_memory(err);
	old = strmap_get(&space->quotas, copy->name);
	if (strmap_put(&space->quotas, copy->name, copy)) {
		free(copy);
		return cluster_no_memory(err);
	}
	space->n_counting += counts(copy);
	space->n_counting -= old && counts(old);
	free(old);
	return quotas_changed(cluster, space, err);
}

void quotas_remove(struct cluster *cluster, const char *namespace, const char *name)
{
	struct quota_namespace *space = find(cluster, namespace);
	struct k8s_quota *old = space ? strmap_remove(&space->quotas, name) : NULL;
	struct err err = ERR_INIT;

	if (!old)
		return;
	space->n_counting -= counts(old);
	free(old);
	if (quotas_changed(cluster, space, &err))
		log_err(LOG_ERROR, "cannot watch pods", &err);
}

void quotas_release(struct cluster *cluster)
{
	for (struct quota_namespace *space = next_of(cluster, NULL), *next; space; space = next) {
		next = next_of(cluster, space);
		space_free(cluster, space);
	}
	hashtable_release(&cluster->quotas.namespaces);
	cluster->quotas = (struct cluster_quotas){.n_watched = 0};
}

/* ---- the snapshot ---- */

static void take_use(struct k8s_quota *quota, const struct quota_use *use)
{
	quota->pods.used = MAX(quota->pods.used, use->pods);
	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			quota->amounts[f][r].used = MAX(quota->amounts[f][r].used, use->amounts[f][r]);
}

/* No sizes are set in a namespace with more quotas than the limit, so the snapshot gets only one more than that. */
static int flush(const struct quota_namespace *space, struct snapshot_builder *builder)
{
	bool is_too_many = space->quotas.n > LIMIT_NAMESPACE_QUOTAS;
	int r = snapshot_builder_clear_quotas(builder, space->name);

	for (size_t i = 0, n = 0; i < space->quotas.capacity && n <= LIMIT_NAMESPACE_QUOTAS && !r; i++) {
		struct k8s_quota quota;
		struct quota_use use = {.pods = 0};

		STEPS(1);
		if (!space->quotas.slots[i].key)
			continue;
		quota = *(const struct k8s_quota *)space->quotas.slots[i].value;
		if (!is_too_many)
			use = quota_pods_used(&space->pods, &quota);
		take_use(&quota, &use);
		r = snapshot_builder_put_quota(builder, &quota);
		n++;
	}
	return r;
}

int quotas_flush(struct cluster *cluster, struct snapshot_builder *builder)
{
	int r = 0;

	for (struct quota_namespace *space = cluster->quotas.is_dirty ? next_of(cluster, NULL) : NULL, *next;
	     space && !r; space = next) {
		next = next_of(cluster, space);
		if (!space->is_dirty)
			continue;
		r = flush(space, builder);
		space->is_dirty = r != 0;
		if (!r && !space->quotas.n)
			space_free(cluster, space);
	}
	cluster->quotas.is_dirty = r != 0;
	return r;
}
