/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_objects: puts objects into the snapshot, kind by kind. */
#include "cluster/cluster_internal.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "k8s/doc.h"
#include "k8s/keys.h"
#include "model/profile.h"

#include <errno.h>

/* ---- MemoryProfile ---- */

static void report_unapplied(struct cluster *cluster, const struct kube_object *object, const char *why)
{
	static const struct log_kind line = {
		LOG_WARN, "spec of a profile is not applied; its workload is only observed", CLUSTER_OBJECT_LINES};

	log_limited(&cluster->unapplied, &line, "object", object->name, "namespace", object->namespace, "error", why,
		    NULL);
}

static int put_profile(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct cluster *cluster = watch->cluster;
	struct snapshot_builder *builder = cluster_builder(cluster);
	struct profile_draft draft;
	int r;

	r = profile_read(object->text, object->n_text, &cluster->scratch, &draft, err);
	if (r)
		return r;
	if (draft.spec.invalid)
		report_unapplied(cluster, object, draft.spec.invalid);
	profile_drop_unread(&draft.profile, time_now_ms());
	return !builder || snapshot_builder_put_copy(builder, &draft.profile) ? cluster_no_memory(err) : 0;
}

static int remove_profile(struct watch *watch, const struct kube_object *object)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);

	return builder ? snapshot_builder_remove(builder, object->namespace, object->name) : -ENOMEM;
}

static bool is_there(void *context, const char *namespace_name, const char *name)
{
	const struct watch *watch = context;

	return reflector_has(watch->reflector, namespace_name, name);
}

/* The snapshot contains the names of 100,000 profiles already, so the reflector does not keep them too. */
static int remove_gone_profiles(struct watch *watch)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);

	return builder ? snapshot_builder_keep(builder, is_there, watch) : -ENOMEM;
}

/* ---- NodeShape: few, kept here, because the configuration's shapes override them ---- */

static int remove_shape(struct watch *watch, const struct kube_object *object)
{
	struct cluster *cluster = watch->cluster;
	size_t kept = 0;

	for (size_t i = 0; i < cluster->shapes.n; i++)
		if (!streq(cluster->shapes.items[i].name, object->name))
			cluster->shapes.items[kept++] = cluster->shapes.items[i];
	cluster->shapes.n = kept;
	cluster->has_new_shapes = true;
	return 0;
}

static int put_shape(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct cluster *cluster = watch->cluster;
	struct node_shape shape;
	int r;

	r = node_shape_read(object->text, object->n_text, &cluster->scratch, &shape, err);
	if (r)
		return r;
	(void)remove_shape(watch, object);
	return vec_push(&cluster->shapes, shape) ? cluster_no_memory(err) : 0;
}

/* ---- Namespace, and objects in it ---- */

static int put_namespace(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);
	struct json_object *labels = json_member(json_member(object->json, "metadata"), "labels");
	struct namespace_facts facts = {.name = object->name};
	const char *ignore = "";
	int r = json_get_string(labels, "metadata.labels", KEY_MODE, &facts.mode, err);

	if (r >= 0)
		r = json_get_string(labels, "metadata.labels", KEY_IGNORE, &ignore, err);
	if (r < 0)
		return r;
	facts.is_ignored = streq(ignore, "true");
	return !builder || snapshot_builder_put_namespace(builder, &facts) ? cluster_no_memory(err) : 0;
}

/* Removes only its labels. The objects in it have watches of their own, which may be ahead. */
static int remove_namespace(struct watch *watch, const struct kube_object *object)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);
	const struct namespace_facts facts = {.name = object->name};

	return builder ? snapshot_builder_put_namespace(builder, &facts) : -ENOMEM;
}

static int put_limit_range(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);
	struct k8s_limit_range range;
	int r;

	r = k8s_limit_range_decode(object->json, &watch->cluster->scratch, &range, err);
	if (r)
		return r;
	return !builder || snapshot_builder_put_limit_range(builder, &range) ? cluster_no_memory(err) : 0;
}

static int remove_limit_range(struct watch *watch, const struct kube_object *object)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);

	return builder ? snapshot_builder_remove_limit_range(builder, object->namespace, object->name) : -ENOMEM;
}

static int put_quota(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct k8s_quota quota;
	int r;

	r = k8s_quota_decode(object->json, &watch->cluster->scratch, &quota, err);
	if (r)
		return r;
	return quotas_put(watch->cluster, &quota, err);
}

static int remove_quota(struct watch *watch, const struct kube_object *object)
{
	quotas_remove(watch->cluster, object->namespace, object->name);
	return 0;
}

/* ---- PriorityClass ---- */

static int remove_priority_class(struct watch *watch, const struct kube_object *object)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);

	return builder ? snapshot_builder_remove_critical_class(builder, object->name) : -ENOMEM;
}

/* Classes that are named in the configuration are critical, whatever their labels say. */
static int put_priority_class(struct watch *watch, const struct kube_object *object, struct err *err)
{
	static const char *const maps[] = {"labels", "annotations"};
	struct snapshot_builder *builder = cluster_builder(watch->cluster);
	struct json_object *metadata = json_member(object->json, "metadata");
	bool is_critical = false;

	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		const char *value = "";

		if (json_get_string(json_member(metadata, maps[i]), maps[i], KEY_CRITICAL, &value, err) < 0)
			return -EINVAL;
		is_critical |= streq(value, "true");
	}
	if (!is_critical)
		return remove_priority_class(watch, object) ? cluster_no_memory(err) : 0;
	return !builder || snapshot_builder_put_critical_class(builder, object->name) ? cluster_no_memory(err) : 0;
}

#define OURS(plural)                                                                                                   \
	{                                                                                                              \
		"memtamer.io", "v1alpha1", (plural)                                                                    \
	}

const struct watch_kind cluster_kinds[] = {
	{CLUSTER_PROFILES, OURS("memoryprofiles"), true, true, put_profile, remove_profile, remove_gone_profiles},
	{CLUSTER_NODE_SHAPES, OURS("nodeshapes"), true, true, put_shape, remove_shape, NULL},
	{CLUSTER_NAMESPACES, {"", "v1", "namespaces"}, true, false, put_namespace, remove_namespace, NULL},
	{CLUSTER_LIMIT_RANGES, {"", "v1", "limitranges"}, true, false, put_limit_range, remove_limit_range, NULL},
	{CLUSTER_QUOTAS, {"", "v1", "resourcequotas"}, true, false, put_quota, remove_quota, NULL},
	{CLUSTER_PRIORITY_CLASSES,
	 {"scheduling.k8s.io", "v1", "priorityclasses"},
	 false,
	 false,
	 put_priority_class,
	 remove_priority_class,
	 NULL},
};
const size_t cluster_kinds_n = ARRAY_LEN(cluster_kinds);
