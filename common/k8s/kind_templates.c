/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/kinds.h"

#include "base/limits.h"
#include "k8s/decode.h"

#include <ctype.h>
#include <errno.h>

/* How it works: one recursive walk along each path of the kind's row. On the way it collects the role (the name at the
 * last `[]` or `*`) and multiplies the counts that stand in the objects it passes. At the end of a path stands a pod
 * template, an Argo template, or a whole object of another kind, whose own row then takes over. */

#define NESTING_MAX 4 /* List of AppWrapper of List ...: more is no workload */

enum path_end { END_TEMPLATE, END_OBJECT, END_ARGO };

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
	int64_t replicas;
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

/* --- Argo: a pod template put together from a template's parts --- */

/* Docs hang together by their `next`: a node that stands in a second list is a copy, what is inside is shared. */
static struct doc *add_copy(struct doc *parent, const struct doc *node, struct arena *arena)
{
	struct doc *copy = arena_alloc(arena, sizeof(*copy)), **tail = &parent->first;

	if (!copy)
		return NULL;
	while (*tail)
		tail = &(*tail)->next;
	*copy = *node;
	copy->next = NULL;
	*tail = copy;
	parent->n_items++;
	return copy;
}

static struct doc *add_new(struct doc *parent, const char *key, enum doc_type type, struct arena *arena)
{
	struct doc node = {.type = type, .key = key, .n_key = key ? strlen(key) : 0};

	return add_copy(parent, &node, arena);
}

/* Add a container; the one of a template has no name of its own, and Argo calls it "main". */
static int argo_add_container(struct doc *containers, const struct doc *container, bool is_main, struct arena *arena)
{
	struct doc *copy, *name;

	copy = add_new(containers, NULL, DOC_OBJECT, arena);
	if (!copy)
		return -ENOMEM;
	for (const struct doc *item = container->first; item; item = item->next)
		if (!(is_main && streq(item->key, "name")) && !add_copy(copy, item, arena))
			return -ENOMEM;
	if (!is_main)
		return 0;
	name = add_new(copy, "name", DOC_STRING, arena);
	if (!name)
		return -ENOMEM;
	name->text = "main";
	name->n_text = strlen(name->text);
	return 0;
}

/* The containers of a template as they are put together. */
struct argo_containers {
	struct walk *walk;
	const struct doc *template_;
	const char *pointer; /* of the template */
	struct doc *containers;
	const char **pointers;
	size_t n;
};

static int argo_add(struct argo_containers *self, const struct doc *container, bool is_main, const char *pointer)
{
	if (container->type != DOC_OBJECT)
		return 0;
	if (self->n == LIMIT_POD_CONTAINERS)
		return -E2BIG;
	if (!pointer)
		return -ENOMEM;
	self->pointers[self->n++] = pointer;
	return argo_add_container(self->containers, container, is_main, self->walk->arena);
}

static int argo_add_single(struct argo_containers *self, const char *key)
{
	const struct doc *container = doc_member(self->template_, key);

	return container ? argo_add(self, container, true, arena_printf(self->walk->arena, "%s/%s", self->pointer, key))
			 : 0;
}

static int argo_add_list(struct argo_containers *self, const struct doc *list, const char *path)
{
	size_t i = 0;
	int r = 0;

	if (!list || list->type != DOC_ARRAY)
		return 0;
	for (const struct doc *item = list->first; !r && item; item = item->next, i++)
		r = argo_add(self, item, false, arena_printf(self->walk->arena, "%s/%s/%zu", self->pointer, path, i));
	return r;
}

/* Main containers of a template: container or script, or a set; then its sidecars. */
static int argo_containers(struct walk *walk, const struct doc *template_, struct doc *containers,
			   struct kind_template *item)
{
	struct argo_containers self = {
		.walk = walk,
		.template_ = template_,
		.pointer = item->pointer,
		.containers = containers,
		.pointers = arena_array(walk->arena, LIMIT_POD_CONTAINERS, sizeof(*self.pointers)),
	};
	int r = self.pointers ? argo_add_single(&self, "container") : -ENOMEM;

	if (!r)
		r = argo_add_single(&self, "script");
	if (!r)
		r = argo_add_list(&self, doc_member(doc_member(template_, "containerSet"), "containers"),
				  "containerSet/containers");
	if (!r)
		r = argo_add_list(&self, doc_member(template_, "sidecars"), "sidecars");
	item->container_pointers = self.pointers;
	item->n_container_pointers = self.n;
	return r;
}

/* Fields of a pod's spec that stand in the template itself. */
static int argo_spec(struct doc *spec, const struct doc *template_, struct arena *arena)
{
	static const char *const fields[] = {"initContainers", "volumes",	"nodeSelector",
					     "affinity",       "schedulerName", "priorityClassName"};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct doc *value = doc_member(template_, fields[i]);

		if (value && !add_copy(spec, value, arena))
			return -ENOMEM;
	}
	return 0;
}

static int argo_pod(struct walk *walk, const struct doc *template_, struct doc *pod, struct kind_template *item)
{
	const struct doc *metadata = doc_member(template_, "metadata");
	struct doc *spec = add_new(pod, "spec", DOC_OBJECT, walk->arena);
	struct doc *containers = spec ? add_new(spec, "containers", DOC_ARRAY, walk->arena) : NULL;

	if (!containers || (metadata && !add_copy(pod, metadata, walk->arena)))
		return -ENOMEM;
	if (argo_spec(spec, template_, walk->arena))
		return -ENOMEM;
	return argo_containers(walk, template_, containers, item);
}

static int walk_argo(struct walk *walk, const struct place *at)
{
	struct kind_template *item = walk_add(walk, at);
	struct doc *pod;
	int r;

	if (!item)
		return too_many(walk);
	pod = arena_alloc(walk->arena, sizeof(*pod));
	if (!pod)
		return decode_oom(walk->err);
	pod->type = DOC_OBJECT;
	r = argo_pod(walk, at->object, pod, item);
	if (r)
		return r == -ENOMEM ? decode_oom(walk->err) : too_many(walk);
	if (!item->n_container_pointers) { /* steps, dag, resource: no pod of its own shape */
		walk->n--;
		return 0;
	}
	item->object = pod;
	item->replicas = 1; /* `parallelism` of a workflow is a cap, not a count */
	return 0;
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

static int walk_path(struct walk *walk, const struct place *at, const char *path);

static int walk_end(struct walk *walk, const struct place *at)
{
	switch (walk->end) {
	case END_ARGO:
		return walk_argo(walk, at);
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

	memcpy(name, key, MIN(is_list ? n - 2 : n, sizeof(name) - 1));
	next.object = doc_member(at->object, name);
	if (!next.object)
		return 0;
	if (__builtin_mul_overflow(at->replicas, factor_of(at->object, name), &next.replicas))
		next.replicas = INT64_MAX;
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
	struct place start = {at->object, at->pointer, "", at->replicas};
	int r = 0;

	if (!kind || walk->nesting == NESTING_MAX)
		return 0;
	walk->nesting++;
	walk->owner = at->object;
	walk->owner_pointer = at->pointer;
	walk->owner_kind = kind;
	walk->end = kind->has_argo_templates ? END_ARGO : END_TEMPLATE;
	for (const char *const *path = kind->template_paths; !r && path && *path; path++)
		r = walk_path(walk, &start, *path);
	walk->end = END_OBJECT;
	for (const char *const *path = kind->object_paths; !r && path && *path; path++)
		r = walk_path(walk, &start, *path);
	saved.n = walk->n;
	*walk = saved;
	return r;
}

int kind_templates_of_doc(const struct doc *object, struct arena *arena, struct kind_template **ret_items,
			  size_t *ret_n, struct err *err)
{
	struct walk walk = {.arena = arena, .err = err, .root = object};
	struct place start = {.object = object, .pointer = "", .role = "", .replicas = 1};
	int r;

	walk.items = arena_array(arena, LIMIT_POD_CONTAINERS, sizeof(*walk.items));
	if (!walk.items)
		return decode_oom(err);
	r = walk_object(&walk, &start);
	if (r)
		return r;
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

bool kind_is_controlled(const struct doc *object)
{
	const struct doc *owners = doc_member(doc_member(object, "metadata"), "ownerReferences");

	for (const struct doc *item = owners ? owners->first : NULL; item; item = item->next) {
		const struct doc *controller = doc_member(item, "controller");

		if (controller && controller->type == DOC_TRUE)
			return true;
	}
	return false;
}

/* --- Pointers --- */

const char *kind_template_pointer(const struct kind_template *self, const char *pod_pointer, struct arena *arena)
{
	static const char spec[] = "/spec", containers[] = "/spec/containers/";
	size_t index = 0;
	const char *p;

	if (!self->container_pointers || !strstarts(pod_pointer, spec))
		return arena_printf(arena, "%s%s", self->pointer, pod_pointer);
	if (!strstarts(pod_pointer, containers)) /* what a pod has in its spec stands in the template itself */
		return arena_printf(arena, "%s%s", self->pointer, pod_pointer + sizeof(spec) - 1);
	for (p = pod_pointer + sizeof(containers) - 1; isdigit((unsigned char)*p) && index < LIMIT_POD_CONTAINERS; p++)
		index = index * 10 + (size_t)(*p - '0');
	if (index >= self->n_container_pointers)
		return arena_printf(arena, "%s", self->pointer);
	return arena_printf(arena, "%s%s", self->container_pointers[index], p);
}
