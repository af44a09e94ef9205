/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_vpas: VerticalPodAutoscalers by name, without those of update mode Off. VPA's recommender writes the status
 * of each once a minute, which makes no new snapshot; any other change replaces the snapshot's whole list. */
#include "cluster/cluster_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "k8s/doc.h"

#include <errno.h>
#include <stdlib.h>

struct cluster_vpa {
	struct hashtable_node by_name;
	struct k8s_vpa *vpa;
};

static uint64_t name_of(const struct kube_object *object)
{
	return hashtable_hash((const char *const[]){object->namespace, object->name}, 2);
}

static struct cluster_vpa *find(const struct cluster_vpas *self, uint64_t name)
{
	struct hashtable_node *node = hashtable_find(&self->by_name, name);

	return node ? HASHTABLE_OBJECT(node, struct cluster_vpa, by_name) : NULL;
}

static void drop(struct cluster_vpas *self, struct cluster_vpa *known)
{
	hashtable_remove(&self->by_name, &known->by_name);
	free(known->vpa);
	free(known);
	self->is_dirty = true;
}

static void remove_named(struct cluster_vpas *self, uint64_t name)
{
	struct cluster_vpa *known = find(self, name);

	if (known)
		drop(self, known);
}

static int remove_vpa(struct watch *watch, const struct kube_object *object)
{
	remove_named(&watch->cluster->vpas, name_of(object));
	return 0;
}

/* Logs this once, and counts it every time. */
static int too_many(struct cluster *cluster)
{
	if (!cluster->vpas.is_too_many)
		log_event(LOG_WARN,
			  "too many VerticalPodAutoscalers; those beyond the limit are ignored, and their workloads "
			  "are sized",
			  "read", log_i64(LIMIT_VPAS), NULL);
	cluster->vpas.is_too_many = true;
	cluster->config.failed(cluster->config.context, CLUSTER_VPAS, cluster_failure_name(CLUSTER_FAILURES - 1));
	return 0;
}

static int keep(struct cluster *cluster, uint64_t name, const struct k8s_vpa *vpa, struct err *err)
{
	struct cluster_vpas *self = &cluster->vpas;
	struct cluster_vpa *known = find(self, name), *fresh;

	if (known && k8s_vpa_equal(known->vpa, vpa))
		return 0;
	remove_named(self, name);
	if (self->by_name.n >= LIMIT_VPAS)
		return too_many(cluster);
	self->is_dirty = true;
	fresh = calloc(1, sizeof(*fresh));
	if (fresh)
		fresh->vpa = k8s_vpa_dup(vpa);
	if (fresh && fresh->vpa && !hashtable_add(&self->by_name, &fresh->by_name, name))
		return 0;
	free(fresh ? fresh->vpa : NULL);
	free(fresh);
	return cluster_no_memory(err);
}

static int put_vpa(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct cluster *cluster = watch->cluster;
	struct k8s_vpa vpa;
	int r;

	r = k8s_vpa_read(object->text, object->n_text, &cluster->scratch, &vpa, err);
	if (r)
		return r;
	return vpa.is_off ? remove_vpa(watch, object) : keep(cluster, name_of(object), &vpa, err);
}

int vpas_flush(struct cluster *cluster, struct snapshot_builder *builder)
{
	struct cluster_vpas *self = &cluster->vpas;
	const struct k8s_vpa **all;
	size_t n = 0;
	int r;

	if (!self->is_dirty)
		return 0;
	all = calloc(self->by_name.n + 1, sizeof(struct k8s_vpa *));
	if (!all)
		return -ENOMEM;
	for (struct hashtable_node *node = hashtable_next(&self->by_name, NULL); node;
	     node = hashtable_next(&self->by_name, node))
		all[n++] = HASHTABLE_OBJECT(node, struct cluster_vpa, by_name)->vpa;
	r = snapshot_builder_set_vpas(builder, all, n);
	free(all);
	self->is_dirty = r != 0;
	return r;
}

int vpas_forget(struct cluster *cluster)
{
	struct cluster_vpas *self = &cluster->vpas;

	for (struct hashtable_node *node = hashtable_next(&self->by_name, NULL), *next; node; node = next) {
		next = hashtable_next(&self->by_name, node);
		drop(self, HASHTABLE_OBJECT(node, struct cluster_vpa, by_name));
	}
	hashtable_release(&self->by_name);
	return 0;
}

const struct optional_kind vpa_kind = {
	"autoscaling.k8s.io",
	"VerticalPodAutoscaler",
	{.id = CLUSTER_VPAS, .wants_text = true, .put = put_vpa, .remove = remove_vpa},
	vpas_forget,
};
