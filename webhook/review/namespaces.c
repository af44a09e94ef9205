/* SPDX-License-Identifier: Apache-2.0 */
#include "review/namespaces.h"

#include "base/limits.h"
#include "base/str.h"
#include "yaml/yaml_tree.h"

#include <errno.h>

#define TREE_BYTES (1 * GIB)

static const char *const kinds[] = {"Namespace", "LimitRange", "ResourceQuota"}; /* by enum namespace_object */

struct collecting {
	struct review *review;
	struct snapshot_builder *builder;
	const char *file; /* cleaned name */
};

/* Most files have none of them: these are not parsed twice. */
static bool may_hold_one(const struct strbuf *text)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (memmem(strbuf_text(text), text->len, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

static bool is_text(const struct yaml_node *node, const char *text)
{
	return node && node->type == YAML_TREE_SCALAR && streq(node->text, text);
}

static int kind_of(const struct yaml_node *node)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (is_text(yaml_tree_get(node, "apiVersion"), "v1") && is_text(yaml_tree_get(node, "kind"), kinds[i]))
			return (int)i;
	return -1;
}

/* "spec.limits[0].max" as a pointer; a key with a dot in it ends where it can be followed. */
static const struct yaml_node *node_at(const struct yaml_node *root, const char *where)
{
	char pointer[sizeof(((struct err *)NULL)->where) + 2];
	size_t n = 0;

	pointer[n++] = '/';
	for (const char *p = where; *p; p++)
		if (*p != ']')
			pointer[n++] = *p == '.' || *p == '[' ? '/' : *p;
	pointer[n] = '\0';
	return yaml_tree_at(root, pointer);
}

static void report(const struct collecting *self, const struct yaml_node *node, const struct err *cause)
{
	const struct yaml_node *at = node_at(node, cause->where);
	struct err err = ERR_INIT;

	err_set_at(&err, cause->code, self->file, at->line, at->column, "%s%s%s", cause->where,
		   cause->where[0] ? ": " : "", cause->msg);
	review_report(self->review, &err);
}

/* One object on its way into the builder. */
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
		r = json_get_string(labels, "metadata.labels", "memtamer.io/mode", &facts.mode, err);
	if (r >= 0)
		r = json_get_string(labels, "metadata.labels", "memtamer.io/ignore", &ignore, err);
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

int namespaces_put(struct review *self, enum namespace_object sort, struct json_object *object,
		   struct snapshot_builder *builder, struct err *err)
{
	static int (*const put[])(const struct putting *self, struct err *err) = {
		[NAMESPACE_ITSELF] = put_namespace,
		[NAMESPACE_LIMIT_RANGE] = put_limit_range,
		[NAMESPACE_QUOTA] = put_quota,
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
	if (r != -EINVAL)
		return r;
	report(self, node, &err);
	return 0;
}

int namespaces_collect(struct review *self, const struct manifest *manifest, struct snapshot_builder *builder)
{
	struct collecting collecting = {.review = self, .builder = builder};

	return namespaces_each_object(self, manifest, may_hold_one, collect_object, &collecting);
}

/* ---- objects of a file ---- */

struct walk {
	const char *file;
	namespaces_object_fn *object;
	void *context;
};

static int walk_document(const struct walk *self, const struct yaml_node *root)
{
	const struct yaml_node *items = yaml_tree_get(root, "items");
	int r = 0;

	if (!is_text(yaml_tree_get(root, "kind"), "List") || !items || items->type != YAML_TREE_SEQUENCE)
		return self->object(self->context, self->file, root);
	for (size_t i = 0; !r && i < items->n; i++)
		r = self->object(self->context, self->file, &items->items[i]);
	return r;
}

int namespaces_each_object(struct review *self, const struct manifest *manifest,
			   bool (*may_matter)(const struct strbuf *text), namespaces_object_fn *object, void *context)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(TREE_BYTES);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_MANIFEST_BYTES);
	struct walk walk = {.object = object, .context = context};
	struct yaml_documents documents = {0};
	int r = review_read(self, manifest->path, &text, NULL);

	if (r || !may_matter(&text))
		return r == -ENOMEM ? r : 0;
	walk.file = review_file_name(self, manifest);
	if (!walk.file)
		return -ENOMEM;
	r = yaml_tree_parse(strbuf_text(&text), text.len, walk.file, &arena, &documents, NULL);
	if (r)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; !r && i < documents.n; i++)
		r = walk_document(&walk, &documents.items[i]);
	return r;
}
