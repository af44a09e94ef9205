/* SPDX-License-Identifier: Apache-2.0 */
#include "review/namespaces.h"

#include "base/limits.h"
#include "base/str.h"
#include "k8s/keys.h"
#include "yaml/yaml_tree.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
	const char *api_version, *kind;
} kinds[] = {
	[NAMESPACE_ITSELF] = {"v1", "Namespace"},
	[NAMESPACE_LIMIT_RANGE] = {"v1", "LimitRange"},
	[NAMESPACE_QUOTA] = {"v1", "ResourceQuota"},
	[NAMESPACE_VPA] = {"autoscaling.k8s.io/v1", "VerticalPodAutoscaler"},
};

struct collecting {
	struct review *review;
	struct snapshot_builder *builder;
	const struct manifest *manifest;
	const char *file; /* cleaned name */
};

/* Most files have no such object and need not be parsed for them. */
static bool may_hold_one(const struct strbuf *text)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (memmem(strbuf_text(text), text->len, kinds[i].kind, strlen(kinds[i].kind)))
			return true;
	return false;
}

static int kind_of(const struct yaml_node *node)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (streq(yaml_tree_text(node, "apiVersion"), kinds[i].api_version) &&
		    streq(yaml_tree_text(node, "kind"), kinds[i].kind))
			return (int)i;
	return -1;
}

static int report(const struct collecting *self, const struct yaml_node *node, const struct err *cause)
{
	char pointer[REVIEW_POINTER_BYTES];
	const struct yaml_node *at = yaml_tree_at(node, review_pointer(cause, pointer));
	struct err err = ERR_INIT;

	err_set_at(&err, cause->code, self->file, at->line, at->column, "%s%s%s", cause->where,
		   cause->where[0] ? ": " : "", cause->msg);
	return review_report(self->review, self->manifest, &err);
}

/* One object that is put into the builder. */
struct putting {
	struct json_object *object;
	struct review *review;
	struct snapshot_builder *builder;
	struct arena *arena;
};

static int put_namespace(const struct putting *self, struct err *err)
{
	struct json_object *metadata = json_member(self->object, "metadata"), *labels = json_member(metadata, "labels");
	struct namespace_facts facts = {.name = NULL};
	const char *ignore = "";
	int r = json_get_string(metadata, "metadata", "name", &facts.name, err);

	if (r >= 0)
		r = json_get_string(labels, "metadata.labels", KEY_MODE, &facts.mode, err);
	if (r >= 0)
		r = json_get_string(labels, "metadata.labels", KEY_IGNORE, &ignore, err);
	if (r < 0 || !facts.name)
		return r < 0 ? r : 0;
	facts.is_ignored = streq(ignore, "true");
	return snapshot_builder_put_namespace(self->builder, &facts);
}

static int put_limit_range(const struct putting *self, struct err *err)
{
	struct k8s_limit_range range;
	int r = k8s_limit_range_decode(self->object, self->arena, &range, err);

	if (r)
		return r;
	if (!range.namespace_name[0])
		range.namespace_name = self->review->default_namespace;
	return snapshot_builder_put_limit_range(self->builder, &range);
}

static int put_quota(const struct putting *self, struct err *err)
{
	struct k8s_quota quota;
	int r = k8s_quota_decode(self->object, self->arena, &quota, err);

	if (r)
		return r;
	if (!quota.namespace_name[0])
		quota.namespace_name = self->review->default_namespace;
	return snapshot_builder_put_quota(self->builder, &quota);
}

/* Keeps it for namespaces_put_vpas(). An object of the manifests replaces that of the cluster, which was read
 * before. */
static int put_vpa(const struct putting *self, struct err *err)
{
	struct review *review = self->review;
	struct k8s_vpa *vpa = arena_alloc(&review->arena, sizeof(*vpa));
	int r = vpa ? k8s_vpa_decode(self->object, review->default_namespace, &review->arena, vpa, err) : -ENOMEM;
	const char *key;

	if (r)
		return r;
	key = arena_printf(&review->arena, "%s/%s", vpa->namespace_name, vpa->name);
	return key ? strmap_put(&review->vpas, key, vpa) : -ENOMEM;
}

int namespaces_put_vpas(const struct review *self, struct snapshot_builder *builder)
{
	const struct k8s_vpa **all = calloc(self->vpas.n + 1, sizeof(struct k8s_vpa *));
	size_t n = 0;
	int r;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < self->vpas.capacity; i++)
		if (self->vpas.slots[i].key)
			all[n++] = self->vpas.slots[i].value;
	r = snapshot_builder_set_vpas(builder, all, n);
	free(all);
	return r;
}

int namespaces_put(struct review *self, enum namespace_object sort, struct json_object *object,
		   struct snapshot_builder *builder, struct err *err)
{
	static int (*const put[])(const struct putting *self, struct err *err) = {
		[NAMESPACE_ITSELF] = put_namespace,
		[NAMESPACE_LIMIT_RANGE] = put_limit_range,
		[NAMESPACE_QUOTA] = put_quota,
		[NAMESPACE_VPA] = put_vpa,
	};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	const struct putting putting = {object, self, builder, &arena};

	return put[sort](&putting, err);
}

static int collect_object(void *context, const char *file, const struct yaml_node *node)
{
	struct collecting *self = context;
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct err err = ERR_INIT;
	int kind = kind_of(node), r;

	self->file = file;
	if (kind < 0)
		return 0;
	r = yaml_tree_to_json(node, &object, &err);
	if (r == -EINVAL)
		err.where[0] = '\0'; /* a line and column, not a field */
	if (!r)
		r = namespaces_put(self->review, (enum namespace_object)kind, object, self->builder, &err);
	return r == -EINVAL ? report(self, node, &err) : r;
}

int namespaces_collect(struct review *self, const struct manifest *manifest, struct snapshot_builder *builder)
{
	struct collecting collecting = {.review = self, .builder = builder, .manifest = manifest};

	return review_each_object(self, manifest, may_hold_one, collect_object, &collecting);
}
