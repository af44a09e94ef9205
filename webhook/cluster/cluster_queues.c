/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_queues: the largest request that each ClusterQueue of Kueue can admit. Reads versions v1beta1 and v1beta2 of
 * the API.
 *
 * All requests of a workload for one resource come from one flavor. A ClusterQueue has nominalQuota of it. In a cohort
 * it can also borrow what the other queues of the cohort lend (nominalQuota, at most lendingLimit), at most
 * borrowingLimit. Quotas of Cohort objects and parents of cohorts are not read, so in a tree of cohorts the figure may
 * be too small, but not too large. */
#include "cluster/cluster_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "k8s/quantity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_LIMIT INT64_MAX

/* The quota of one resource of one flavor; bytes. */
struct queue_quota {
	uint64_t pool; /* hash of cohort, flavor and resource, which share quota; 0: no cohort */
	int64_t resource, nominal, borrowing, lending;
};

struct cluster_queue {
	struct hashtable_node by_name;
	bool is_known; /* all of its quotas were read */
	struct queue_quota quotas[LIMIT_QUEUE_QUOTAS];
	size_t n_quotas;
	struct queue_facts facts; /* `most` is computed by queues_flush */
	char name[];
};

static int resource_of(const char *name)
{
	for (int i = 0; i < K8S_RESOURCE_COUNT_; i++)
		if (streq(k8s_resource_names[i], name))
			return i;
	return -1;
}

/* ---- reading ---- */

static int read_bytes(struct json_object *quota, const char *key, int64_t otherwise, int64_t *ret, struct err *err)
{
	struct json_object *value = json_member(quota, key);
	struct quantity quantity;
	const char *text = value ? json_object_get_string(value) : NULL;

	*ret = otherwise;
	if (!text)
		return 0;
	if (quantity_parse(text, strlen(text), &quantity, NULL))
		return err_set_at(err, -EINVAL, "spec.resourceGroups", 0, 0, "%s is no quantity", key);
	*ret = MAX(quantity_value(&quantity), 0);
	return 0;
}

static int read_quota(struct json_object *quota, const char *cohort, const char *flavor, struct cluster_queue *ret,
		      struct err *err)
{
	const char *name = "";
	struct queue_quota read = {.pool = 0};
	int r = json_get_string(quota, "spec.resourceGroups.flavors.resources", "name", &name, err);

	read.resource = resource_of(name);
	if (r < 0 || (read.resource != K8S_MEMORY && read.resource != K8S_EPHEMERAL_STORAGE))
		return MIN(r, 0);
	if (ret->n_quotas == LIMIT_QUEUE_QUOTAS) {
		ret->is_known = false;
		return 0;
	}
	r = read_bytes(quota, "nominalQuota", 0, &read.nominal, err);
	if (!r)
		r = read_bytes(quota, "borrowingLimit", NO_LIMIT, &read.borrowing, err);
	if (!r)
		r = read_bytes(quota, "lendingLimit", NO_LIMIT, &read.lending, err);
	if (*cohort)
		read.pool = hashtable_hash((const char *const[]){cohort, flavor, name}, 3);
	ret->quotas[ret->n_quotas++] = read;
	return r;
}

static int read_flavor(struct json_object *flavor, const char *cohort, struct cluster_queue *ret, struct err *err)
{
	struct json_object *resources = NULL;
	const char *name = "";
	int r = json_get_string(flavor, "spec.resourceGroups.flavors", "name", &name, err);

	if (r >= 0)
		r = json_get_array(flavor, "spec.resourceGroups.flavors", "resources", &resources, err);
	for (size_t i = 0; r >= 0 && resources && i < json_object_array_length(resources); i++)
		r = read_quota(json_object_array_get_idx(resources, i), cohort, name, ret, err);
	return MIN(r, 0);
}

static int read_group(struct json_object *group, const char *cohort, struct cluster_queue *ret, struct err *err)
{
	struct json_object *covered = NULL, *flavors = NULL;
	int r = json_get_array(group, "spec.resourceGroups", "coveredResources", &covered, err);

	for (size_t i = 0; r >= 0 && covered && i < json_object_array_length(covered); i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(covered, i));
		int resource = name ? resource_of(name) : -1;

		if (resource >= 0)
			ret->facts.is_covered[resource] = true;
	}
	if (r >= 0)
		r = json_get_array(group, "spec.resourceGroups", "flavors", &flavors, err);
	for (size_t i = 0; r >= 0 && flavors && i < json_object_array_length(flavors); i++)
		r = read_flavor(json_object_array_get_idx(flavors, i), cohort, ret, err);
	return MIN(r, 0);
}

static int read_queue(const struct kube_object *object, struct cluster_queue *ret, struct err *err)
{
	struct json_object *spec = json_member(object->json, "spec"), *groups = NULL;
	const char *cohort = "";
	int r = json_get_string(spec, "spec", "cohortName", &cohort, err);

	if (r == JSON_ABSENT)
		r = json_get_string(spec, "spec", "cohort", &cohort, err);
	if (r >= 0)
		r = json_get_array(spec, "spec", "resourceGroups", &groups, err);
	ret->is_known = true;
	for (size_t i = 0; r >= 0 && groups && i < json_object_array_length(groups); i++)
		r = read_group(json_object_array_get_idx(groups, i), cohort, ret, err);
	return MIN(r, 0);
}

/* ---- ClusterQueue ---- */

static struct cluster_queue *queue_new(const char *name)
{
	size_t size = strlen(name) + 1;
	struct cluster_queue *self = calloc(1, sizeof(*self) + size);

	if (self)
		self->facts.name = memcpy(self->name, name, size);
	return self;
}

static struct cluster_queue *queue_of(struct hashtable_node *node)
{
	return node ? HASHTABLE_OBJECT(node, struct cluster_queue, by_name) : NULL;
}

static struct cluster_queue *find(const struct cluster_queues *self, const char *name)
{
	return queue_of(hashtable_find(&self->by_name, hashtable_hash(&name, 1)));
}

static struct cluster_queue *next_of(const struct cluster_queues *self, const struct cluster_queue *queue)
{
	return queue_of(hashtable_next(&self->by_name, queue ? &queue->by_name : NULL));
}

static void drop(struct cluster_queues *self, struct cluster_queue *queue)
{
	hashtable_remove(&self->by_name, &queue->by_name);
	free(queue);
	self->is_dirty = true;
}

/* Whether the specs are equal; most changes concern the status. */
static bool is_same(const struct cluster_queue *a, const struct cluster_queue *b)
{
	return a->is_known == b->is_known && a->n_quotas == b->n_quotas &&
	       !memcmp(a->facts.is_covered, b->facts.is_covered, sizeof(a->facts.is_covered)) &&
	       !memcmp(a->quotas, b->quotas, a->n_quotas * sizeof(*a->quotas));
}

static int too_many(struct cluster *cluster, const char *what, int64_t most)
{
	if (!cluster->queues.is_too_many)
		log_event(LOG_WARN, "too many queues: some count as not known, and nothing is added to their objects",
			  "resource", what, "read", log_i64(most), NULL);
	cluster->queues.is_too_many = true;
	return 0;
}

static int put_cluster_queue(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct cluster_queues *queues = &watch->cluster->queues;
	struct cluster_queue *old = find(queues, object->name), *queue = queue_new(object->name);
	int r = queue ? read_queue(object, queue, err) : cluster_no_memory(err);

	if (r || (old && is_same(old, queue))) {
		free(queue);
		return r;
	}
	if (old)
		drop(queues, old);
	if (queues->by_name.n >= LIMIT_CLUSTER_QUEUES) {
		free(queue);
		return too_many(watch->cluster, "clusterqueues", LIMIT_CLUSTER_QUEUES);
	}
	if (hashtable_add(&queues->by_name, &queue->by_name, hashtable_hash(&object->name, 1))) {
		free(queue);
		return cluster_no_memory(err);
	}
	queues->is_dirty = true;
	return 0;
}

static int remove_cluster_queue(struct watch *watch, const struct kube_object *object)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);
	struct cluster_queue *queue = find(&watch->cluster->queues, object->name);

	if (queue)
		drop(&watch->cluster->queues, queue);
	return builder ? snapshot_builder_remove_queue(builder, object->name) : -ENOMEM;
}

static int forget_cluster_queues(struct cluster *cluster)
{
	struct snapshot_builder *builder = cluster_builder(cluster);
	int r = builder ? 0 : -ENOMEM;

	for (struct cluster_queue *queue = next_of(&cluster->queues, NULL); queue && !r;
	     queue = next_of(&cluster->queues, queue))
		r = snapshot_builder_remove_queue(builder, queue->name);
	queues_release(cluster);
	return r;
}

/* ---- admissible amounts ---- */

/* The quota of one resource of one flavor that the queues of a cohort lend. */
struct pool {
	uint64_t hash;
	int64_t lendable;
};

static int64_t add(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int compare_pools(const void *a, const void *b)
{
	uint64_t x = ((const struct pool *)a)->hash, y = ((const struct pool *)b)->hash;

	return (x > y) - (x < y);
}

/* Makes the sorted pools of all queues. @return 0; -ENOMEM. */
static int make_pools(const struct cluster_queues *queues, struct pool **ret, size_t *ret_n)
{
	struct pool *pools = calloc(queues->by_name.n * LIMIT_QUEUE_QUOTAS + 1, sizeof(*pools));
	size_t n = 0, kept = 0;

	if (!pools)
		return -ENOMEM;
	for (struct cluster_queue *queue = next_of(queues, NULL); queue; queue = next_of(queues, queue))
		for (size_t i = 0; i < queue->n_quotas; i++)
			pools[n++] = (struct pool){queue->quotas[i].pool,
						   MIN(queue->quotas[i].nominal, queue->quotas[i].lending)};
	qsort(pools, n, sizeof(*pools), compare_pools);
	for (size_t i = 0; i < n; i++)
		if (kept && pools[kept - 1].hash == pools[i].hash)
			pools[kept - 1].lendable = add(pools[kept - 1].lendable, pools[i].lendable);
		else
			pools[kept++] = pools[i];
	*ret = pools;
	*ret_n = kept;
	return 0;
}

static int64_t most_of(const struct queue_quota *quota, const struct pool *pools, size_t n)
{
	const struct pool key = {.hash = quota->pool}, *pool;
	int64_t others;

	if (!quota->pool)
		return quota->nominal;
	pool = bsearch(&key, pools, n, sizeof(*pools), compare_pools);
	others = pool ? pool->lendable - MIN(quota->nominal, quota->lending) : 0;
	return add(quota->nominal, MIN(MAX(others, 0), quota->borrowing));
}

static void compute_most(struct cluster_queue *queue, const struct pool *pools, size_t n)
{
	memset(queue->facts.most, 0, sizeof(queue->facts.most));
	for (size_t i = 0; i < queue->n_quotas; i++) {
		int64_t *most = &queue->facts.most[queue->quotas[i].resource];

		*most = MAX(*most, most_of(&queue->quotas[i], pools, n));
	}
}

int queues_flush(struct cluster *cluster, struct snapshot_builder *builder)
{
	struct cluster_queues *queues = &cluster->queues;
	struct pool *pools;
	size_t n;
	int r = 0;

	if (!queues->is_dirty)
		return 0;
	if (make_pools(queues, &pools, &n))
		return -ENOMEM;
	for (struct cluster_queue *queue = next_of(queues, NULL); queue && !r; queue = next_of(queues, queue)) {
		compute_most(queue, pools, n);
		r = queue->is_known ? snapshot_builder_put_queue(builder, &queue->facts)
				    : snapshot_builder_remove_queue(builder, queue->name);
	}
	free(pools);
	queues->is_dirty = false;
	return r;
}

void queues_release(struct cluster *cluster)
{
	struct cluster_queues *queues = &cluster->queues;

	for (struct cluster_queue *queue = next_of(queues, NULL), *next; queue; queue = next) {
		next = next_of(queues, queue);
		drop(queues, queue);
	}
	hashtable_release(&queues->by_name);
	queues->is_dirty = false;
}

/* ---- LocalQueue ---- */

/* Whether the snapshot has this LocalQueue already. Most changes concern the status and need no new snapshot. */
static bool is_known(const struct cluster *cluster, const struct kube_object *object, const char *queue)
{
	return !cluster->builder && cluster->current &&
	       streq(snapshot_local_queue(cluster->current, object->namespace, object->name), queue);
}

static int put_local_queue(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct snapshot_builder *builder;
	const char *queue = "";
	int r = json_get_string(json_member(object->json, "spec"), "spec", "clusterQueue", &queue, err);

	if (r < 0 || is_known(watch->cluster, object, queue))
		return MIN(r, 0);
	builder = cluster_builder(watch->cluster);
	r = builder ? snapshot_builder_put_local_queue(builder, object->namespace, object->name, queue) : -ENOMEM;
	if (r > 0)
		return too_many(watch->cluster, "localqueues", LIMIT_LOCAL_QUEUES);
	return r ? cluster_no_memory(err) : 0;
}

static int remove_local_queue(struct watch *watch, const struct kube_object *object)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);

	return builder ? snapshot_builder_remove_local_queue(builder, object->namespace, object->name) : -ENOMEM;
}

static int forget_local_queues(struct cluster *cluster)
{
	struct snapshot_builder *builder = cluster_builder(cluster);

	if (builder)
		snapshot_builder_clear_local_queues(builder);
	return builder ? 0 : -ENOMEM;
}

const struct optional_kind local_queue_kind = {
	"kueue.x-k8s.io",
	"LocalQueue",
	{.id = CLUSTER_LOCAL_QUEUES, .put = put_local_queue, .remove = remove_local_queue},
	forget_local_queues,
};

const struct optional_kind cluster_queue_kind = {
	"kueue.x-k8s.io",
	"ClusterQueue",
	{.id = CLUSTER_CLUSTER_QUEUES, .put = put_cluster_queue, .remove = remove_cluster_queue},
	forget_cluster_queues,
};
