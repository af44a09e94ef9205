/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/kinds.h"

#include "base/limits.h"
#include "k8s/decode.h"
#include "k8s/kind_argo.h"

#include <ctype.h>
#include <errno.h>

/* How it works: one recursive walk along each path of the kind's row. On the way it collects the role (the name at the
 * last `[]` or `*`) and multiplies the counts that stand in the objects it passes. At the end of a path stands a pod
 * template, an Argo template, or a whole object of another kind, whose own row then takes over. */

#define NESTING_MAX 4 /* List of AppWrapper of List ...: more is no workload */

enum path_end { END_TEMPLATE, END_OBJECT, END_ARGO, END_TRAINER };

struct walk {
	struct arena *arena;
	struct err *err;
	struct kind_template *items;
	size_t n;
	int nesting;
	enum path_end end;
	const struct doc *root;
	/* Current owner. */
	const struct doc *owner;
	const char *owner_pointer;
	const struct kind *owner_kind;
};

/* Where the walk stands. */
struct place {
	const struct doc *object;
	const char *pointer, *role;
	int64_t replicas, ranks;
};

static int walk_object(struct walk *walk, const struct place *at);

static struct kind_template *walk_add(struct walk *walk, const struct place *at)
{
	struct kind_template *item;

	if (walk->n == LIMIT_POD_CONTAINERS)
		return NULL;
	item = &walk->items[walk->n++];
	*item = (struct kind_template){
		.object = at->object,
		.pointer = at->pointer,
		.role = at->role,
		.replicas = at->replicas,
		.ranks = at->ranks,
		.root = walk->root,
		.owner = walk->owner,
		.owner_pointer = walk->owner_pointer,
		.owner_kind = walk->owner_kind,
	};
	return item;
}

static int too_many(struct walk *walk)
{
	return err_set(walk->err, -E2BIG, "more than %d pod templates", LIMIT_POD_CONTAINERS);
}

/* --- The walk --- */

/* A whole number that is not negative; anything else counts as one. */
static int64_t count_of(const struct doc *value)
{
	int64_t count = 0;

	if (!value || value->type != DOC_NUMBER)
		return 1;
	for (size_t i = 0; i < value->n_text; i++) {
		if (!isdigit((unsigned char)value->text[i]))
			return 1;
		if (__builtin_mul_overflow(count, 10, &count) ||
		    __builtin_add_overflow(count, value->text[i] - '0', &count))
			return INT64_MAX;
	}
	return count;
}

static int64_t count_in(const struct doc *object, const char *key)
{
	return count_of(doc_member(object, key));
}

/* How many times `object` makes what stands under its member `key`. */
static int64_t factor_of(const struct doc *object, const char *key)
{
	static const char *const counts[] = {"replicas", "parallelism", "numOfHosts"};
	int64_t factor = 1;

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (__builtin_mul_overflow(factor, count_in(object, counts[i]), &factor))
			return INT64_MAX;
	/* LeaderWorkerSet: size pods a group; one of them is the leader if that has a template of its own. */
	if (strcmp(key, "workerTemplate") == 0 && doc_member(object, "size"))
		factor = MAX(count_in(object, "size") - (doc_member(object, "leaderTemplate") != NULL), 0);
	return factor;
}

/* The same until all of them are done: a Job whose completions are said makes so many, be it more or fewer at a time.
 */
static int64_t ranks_of(const struct doc *object, const char *key, int64_t factor)
{
	return strcmp(key, "template") == 0 && doc_member(object, "completions") ? count_in(object, "completions")
										 : factor;
}

/* Roles that a path's own key gives. */
static const char *role_of_key(const char *key)
{
	static const char *const roles[][2] = {
		{"headGroupSpec", "head"},
		{"submitterPodTemplate", "submitter"},
		{"leaderTemplate", "leader"},
		{"workerTemplate", "worker"},
	};

	for (size_t i = 0; i < ARRAY_LEN(roles); i++)
		if (strcmp(key, roles[i][0]) == 0)
			return roles[i][1];
	return NULL;
}

static const char *role_of_item(const struct doc *item)
{
	static const char *const keys[] = {"name", "groupName"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct doc *value = doc_member(item, keys[i]);

		if (value && value->type == DOC_STRING)
			return value->text;
	}
	return NULL;
}

/* A pod template that has to be put together first. */
static int walk_parts(struct walk *walk, const struct place *at)
{
	struct kind_template *item = walk_add(walk, at);
	int r;

	if (!item)
		return too_many(walk);
	if (walk->end == END_TRAINER) {
		item->replicas = count_in(at->object, "numNodes");
		r = kind_trainer_pod(at->object, walk->arena, item);
	} else {
		r = kind_argo_pod(at->object, walk->arena, item);
	}
	if (r < 0)
		return r == -ENOMEM ? decode_oom(walk->err) : too_many(walk);
	if (r == KIND_ARGO_NO_POD)
		walk->n--;
	return 0;
}

static int walk_path(struct walk *walk, const struct place *at, const char *path);

static int walk_end(struct walk *walk, const struct place *at)
{
	switch (walk->end) {
	case END_ARGO:
	case END_TRAINER:
		return walk_parts(walk, at);
	case END_OBJECT:
		return walk_object(walk, at);
	default:
		return walk_add(walk, at) ? 0 : too_many(walk);
	}
}

static int walk_items(struct walk *walk, const struct place *at, const char *rest)
{
	size_t i = 0;
	int r = 0;

	if (at->object->type != DOC_ARRAY)
		return 0;
	for (const struct doc *item = at->object->first; !r && item; item = item->next, i++) {
		const char *role = role_of_item(item);
		struct place next = *at;

		next.object = item;
		if (role)
			next.role = role;
		next.pointer = arena_printf(walk->arena, "%s/%zu", at->pointer, i);
		if (!next.pointer)
			return decode_oom(walk->err);
		r = walk_path(walk, &next, rest);
	}
	return r;
}

static int walk_any_key(struct walk *walk, const struct place *at, const char *rest)
{
	int r = 0;

	for (const struct doc *item = at->object->first; !r && item; item = item->next) {
		struct place next = *at;
		const char *token = k8s_pointer_escape(walk->arena, item->key);
		char *role = arena_strdup(walk->arena, item->key);

		for (char *p = role; p && *p; p++)
			*p = (char)tolower((unsigned char)*p);
		next.object = item;
		next.role = role;
		next.pointer = token ? arena_printf(walk->arena, "%s/%s", at->pointer, token) : NULL;
		if (!next.role || !next.pointer)
			return decode_oom(walk->err);
		r = walk_path(walk, &next, rest);
	}
	return r;
}

static int walk_key(struct walk *walk, const struct place *at, const char *key, const char *rest)
{
	struct place next = *at;
	size_t n = strlen(key);
	bool is_list = n > 2 && strcmp(key + n - 2, "[]") == 0;
	char name[64] = "";
	const char *role;
	int64_t factor;

	memcpy(name, key, MIN(is_list ? n - 2 : n, sizeof(name) - 1));
	next.object = doc_member(at->object, name);
	if (!next.object)
		return 0;
	factor = factor_of(at->object, name);
	if (__builtin_mul_overflow(at->replicas, factor, &next.replicas))
		next.replicas = INT64_MAX;
	if (__builtin_mul_overflow(at->ranks, ranks_of(at->object, name, factor), &next.ranks))
		next.ranks = INT64_MAX;
	role = role_of_key(name);
	if (role)
		next.role = role;
	next.pointer = arena_printf(walk->arena, "%s/%s", at->pointer, name);
	if (!next.pointer)
		return decode_oom(walk->err);
	return is_list ? walk_items(walk, &next, rest) : walk_path(walk, &next, rest);
}

static int walk_path(struct walk *walk, const struct place *at, const char *path)
{
	char key[64] = "";
	size_t n = strcspn(path, ".");
	const char *rest = path + n + (path[n] == '.');

	if (!at->object || at->object->type != DOC_OBJECT)
		return 0;
	if (!*path)
		return walk_end(walk, at);
	if (n == 1 && *path == '*')
		return walk_any_key(walk, at, rest);
	memcpy(key, path, MIN(n, sizeof(key) - 1));
	return walk_key(walk, at, key, rest);
}

static const char *text_in(const struct doc *object, const char *key)
{
	const struct doc *value = doc_member(object, key);

	return value && value->type == DOC_STRING ? value->text : NULL;
}

static int walk_object(struct walk *walk, const struct place *at)
{
	const struct kind *kind = kind_find_api_version(text_in(at->object, "apiVersion"), text_in(at->object, "kind"));
	struct walk saved = *walk;
	/* The name of a component or list item is no role. */
	struct place start = {at->object, at->pointer, "", at->replicas, at->ranks};
	int r = 0;

	if (!kind || walk->nesting == NESTING_MAX)
		return 0;
	walk->nesting++;
	walk->owner = at->object;
	walk->owner_pointer = at->pointer;
	walk->owner_kind = kind;
	walk->end = kind->has_argo_templates ? END_ARGO : kind->has_trainer ? END_TRAINER : END_TEMPLATE;
	for (const char *const *path = kind->template_paths; !r && path && *path; path++)
		r = walk_path(walk, &start, *path);
	walk->end = END_OBJECT;
	for (const char *const *path = kind->object_paths; !r && path && *path; path++)
		r = walk_path(walk, &start, *path);
	saved.n = walk->n;
	*walk = saved;
	return r;
}

static int64_t ranks_from(const struct kind_template *items, size_t n, const struct doc *owner)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (items[i].owner == owner && __builtin_add_overflow(sum, items[i].ranks, &sum))
			return INT64_MAX;
	return sum;
}

/* From each template's own to that of all templates of its owner, in order: those before have theirs. */
static void sum_ranks(struct kind_template *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t first = 0;

		while (items[first].owner != items[i].owner)
			first++;
		items[i].ranks = first < i ? items[first].ranks : ranks_from(items + i, n - i, items[i].owner);
		/* a TrainJob's runtime may make others */
		if (items[i].owner_kind->has_trainer)
			items[i].ranks = 0;
	}
}

int kind_templates_of_doc(const struct doc *object, struct arena *arena, struct kind_template **ret_items,
			  size_t *ret_n, struct err *err)
{
	struct walk walk = {.arena = arena, .err = err, .root = object};
	struct place start = {.object = object, .pointer = "", .role = "", .replicas = 1, .ranks = 1};
	int r;

	walk.items = arena_array(arena, LIMIT_POD_CONTAINERS, sizeof(*walk.items));
	if (!walk.items)
		return decode_oom(err);
	r = walk_object(&walk, &start);
	if (r)
		return r;
	sum_ranks(walk.items, walk.n);
	*ret_items = walk.items;
	*ret_n = walk.n;
	return 0;
}

int kind_templates(struct json_object *object, struct arena *arena, struct kind_template **ret_items, size_t *ret_n,
		   struct err *err)
{
	struct doc *doc = arena_alloc(arena, sizeof(*doc));
	int r = doc ? doc_of_json(object, &allow_workload, arena, doc, err) : decode_oom(err);

	return r ? r : kind_templates_of_doc(doc, arena, ret_items, ret_n, err);
}

/* --- The owner --- */

/* What is no text is no label. */
static void add_labels(const struct doc *map, struct k8s_labels *ret)
{
	for (const struct doc *item = map->first; item; item = item->next)
		if (item->type == DOC_STRING)
			ret->items[ret->n++] = (struct k8s_label){item->key, item->text};
	ret->is_present = true;
}

static const struct doc *labels_of(const struct doc *object)
{
	const struct doc *labels = doc_member(doc_member(object, "metadata"), "labels");

	return labels && labels->type == DOC_OBJECT ? labels : NULL;
}

int kind_template_owner(const struct kind_template *self, struct arena *arena, struct kind_owner *ret)
{
	const struct doc *metadata = doc_member(self->owner, "metadata");
	const struct doc *own = labels_of(self->owner);
	const struct doc *outer = self->root == self->owner ? NULL : labels_of(self->root);
	const char *texts[] = {text_in(metadata, "name"), text_in(metadata, "generateName"),
			       text_in(metadata, "namespace")};

	*ret = (struct kind_owner){
		.name = texts[0] && *texts[0] ? texts[0]
			: texts[1]	      ? texts[1]
					      : "",
		.namespace_name = texts[2] ? texts[2] : "",
	};
	ret->labels.items = arena_array(arena, (own ? own->n_items : 0) + (outer ? outer->n_items : 0) + 1,
					sizeof(*ret->labels.items));
	if (!ret->labels.items)
		return -ENOMEM;
	if (own)
		add_labels(own, &ret->labels);
	if (outer)
		add_labels(outer, &ret->labels);
	return 0;
}

/* NULL: none made it. */
static const struct doc *controller_of(const struct doc *object)
{
	const struct doc *owners = doc_member(doc_member(object, "metadata"), "ownerReferences");

	for (const struct doc *item = owners ? owners->first : NULL; item; item = item->next) {
		const struct doc *controller = doc_member(item, "controller");

		if (controller && controller->type == DOC_TRUE)
			return item;
	}
	return NULL;
}

bool kind_is_controlled(const struct doc *object)
{
	return controller_of(object) != NULL;
}

bool kind_is_submitted(const struct doc *object)
{
	const struct doc *controller = controller_of(object);
	const char *api_version = controller ? text_in(controller, "apiVersion") : NULL;
	const char *name = controller ? text_in(controller, "kind") : NULL;
	const struct kind *kind = api_version && name ? kind_find_api_version(api_version, name) : NULL;

	return !controller || (kind && kind->is_recurring);
}

int kind_annotations(const struct doc *object, struct arena *arena, struct k8s_labels *ret, struct err *err)
{
	*ret = (struct k8s_labels){.items = NULL};
	return decode_labels(doc_member(object, "metadata"), "annotations", arena, ret, err);
}
