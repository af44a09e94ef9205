/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_objects: objects as facts of a snapshot, kind by kind. */
#include "cluster/cluster_internal.h"

#include "base/timefmt.h"
#include "k8s/doc.h"
#include "model/profile.h"

#include <errno.h>

/* ---- MemoryProfile ---- */

static int put_profile(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct cluster *cluster = watch->cluster;
	struct snapshot_builder *builder = cluster_builder(cluster);
	struct profile_draft draft;
	int r;

	arena_reset(&cluster->scratch);
	r = profile_read(object->text, object->n_text, &cluster->scratch, &draft, err);
	if (r)
		return doc_reading_ended(&cluster->scratch, r, err);
	draft.profile.n_reasons = 0; /* words for people; admission does not say them */
	if (!profile_previous_matters(&draft.profile, time_now_ms()))
		draft.profile.n_previous = 0;
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

/* Names of 100,000 profiles are in the snapshot already: the reflector need not keep them too. */
static int remove_gone_profiles(struct watch *watch)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);

	return builder ? snapshot_builder_keep(builder, is_there, watch) : -ENOMEM;
}

/* ---- NodeShape: few, kept here, because the configuration's shapes stand before them ---- */

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

	arena_reset(&cluster->scratch);
	r = node_shape_read(object->text, object->n_text, &cluster->scratch, &shape, err);
	if (r)
		return doc_reading_ended(&cluster->scratch, r, err);
	(void)remove_shape(watch, object);
	return vec_push(&cluster->shapes, shape) ? cluster_no_memory(err) : 0;
}

/* ---- Namespace, and what it holds ---- */

static int put_namespace(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);
	struct json_object *labels = json_member(json_member(object->json, "metadata"), "labels");
	struct namespace_facts facts = {.name = object->name};
	const char *ignore = "";
	int r = json_get_string(labels, "metadata.labels", "memtamer.io/mode", &facts.mode, err);

	if (r >= 0)
		r = json_get_string(labels, "metadata.labels", "memtamer.io/ignore", &ignore, err);
	if (r < 0)
		return r;
	facts.is_ignored = streq(ignore, "true");
	return !builder || snapshot_builder_put_namespace(builder, &facts) ? cluster_no_memory(err) : 0;
}

/* Only its labels: what it held goes by watches of its own, which may be ahead. */
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

	arena_reset(&watch->cluster->scratch);
	r = k8s_limit_range_decode(object->json, &watch->cluster->scratch, &range, err);
	if (r)
		return doc_reading_ended(&watch->cluster->scratch, r, err);
	return !builder || snapshot_builder_put_limit_range(builder, &range) ? cluster_no_memory(err) : 0;
}

static int remove_limit_range(struct watch *watch, const struct kube_object *object)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);

	return builder ? snapshot_builder_remove_limit_range(builder, object->namespace, object->name) : -ENOMEM;
}

static int put_quota(struct watch *watch, const struct kube_object *object, struct err *err)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);
	struct k8s_quota quota;
	int r;

	arena_reset(&watch->cluster->scratch);
	r = k8s_quota_decode(object->json, &watch->cluster->scratch, &quota, err);
	if (r)
		return doc_reading_ended(&watch->cluster->scratch, r, err);
	if (!builder || snapshot_builder_put_quota(builder, &quota))
		return cluster_no_memory(err);
	if (owners_put_quota(&watch->cluster->owners, &quota, bursts_version(object->resource_version),
			     time_monotonic_ms()))
		return cluster_no_memory(err);
	return quotas_put(watch->cluster, &quota, err);
}

static int remove_quota(struct watch *watch, const struct kube_object *object)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);

	quotas_remove(watch->cluster, object->namespace, object->name);
	owners_remove_quota(&watch->cluster->owners, object->namespace, object->name);
	return builder ? snapshot_builder_remove_quota(builder, object->namespace, object->name) : -ENOMEM;
}

/* ---- PriorityClass ---- */

static int remove_priority_class(struct watch *watch, const struct kube_object *object)
{
	struct snapshot_builder *builder = cluster_builder(watch->cluster);

	return builder ? snapshot_builder_remove_critical_class(builder, object->name) : -ENOMEM;
}

/* Those that the configuration names are critical whatever they say. */
static int put_priority_class(struct watch *watch, const struct kube_object *object, struct err *err)
{
	static const char *const maps[] = {"labels", "annotations"};
	struct snapshot_builder *builder = cluster_builder(watch->cluster);
	struct json_object *metadata = json_member(object->json, "metadata");
	bool is_critical = false;

	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		const char *value = "";

		if (json_get_string(json_member(metadata, maps[i]), maps[i], "memtamer.io/critical", &value, err) < 0)
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
