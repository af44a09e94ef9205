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
	/* Current owner. */
	struct json_object *owner;
	const char *owner_pointer;
	const struct kind *owner_kind;
};

/* Where the walk stands. */
struct place {
	struct json_object *object;
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

static void argo_delete(struct json_object *object, void *pod)
{
	(void)object;
	json_object_put(pod);
}

static int share_members(struct json_object *to, struct json_object *from)
{
	json_object_object_foreach(from, key, value)
	{
		if (json_object_object_add(to, key, json_object_get(value))) {
			json_object_put(value);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Add a container; the one of a template has no name of its own, and Argo calls it "main". */
static int argo_add_container(struct json_object *containers, struct json_object *container, bool is_main)
{
	struct json_object *copy;
	int r;

	if (!is_main)
		return json_append(containers, json_object_get(container));
	copy = json_object_new_object();
	r = copy ? share_members(copy, container) : -ENOMEM;
	if (!r)
		r = json_add(copy, "name", json_object_new_string("main"));
	if (r) {
		json_object_put(copy);
		return r;
	}
	return json_append(containers, copy);
}

struct argo_list {
	struct json_object *array;
	const char *path;
};

/* Main containers of a template: container or script, or a set; then its sidecars. */
static int argo_containers(struct walk *walk, struct json_object *template_, struct json_object *containers,
			   struct kind_template *item)
{
	static const char *const singles[] = {"container", "script"};
	const struct argo_list lists[] = {
		{json_member(json_member(template_, "containerSet"), "containers"), "containerSet/containers"},
		{json_member(template_, "sidecars"), "sidecars"},
	};
	const char **pointers = arena_array(walk->arena, LIMIT_POD_CONTAINERS, sizeof(*pointers));
	size_t n = 0;

	if (!pointers)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LEN(singles); i++) {
		struct json_object *container = json_member(template_, singles[i]);

		if (!json_object_is_type(container, json_type_object))
			continue;
		pointers[n] = arena_printf(walk->arena, "%s/%s", item->pointer, singles[i]);
		if (!pointers[n++] || argo_add_container(containers, container, true))
			return -ENOMEM;
	}
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		size_t length = json_object_is_type(lists[k].array, json_type_array)
					? json_object_array_length(lists[k].array)
					: 0;

		for (size_t i = 0; i < length; i++) {
			struct json_object *container = json_object_array_get_idx(lists[k].array, i);

			if (!json_object_is_type(container, json_type_object))
				continue;
			if (n == LIMIT_POD_CONTAINERS)
				return -E2BIG;
			pointers[n] = arena_printf(walk->arena, "%s/%s/%zu", item->pointer, lists[k].path, i);
			if (!pointers[n++] || argo_add_container(containers, container, false))
				return -ENOMEM;
		}
	}
	item->container_pointers = pointers;
	item->n_container_pointers = n;
	return 0;
}

/* Fields of a pod's spec that stand in the template itself. */
static int argo_spec(struct json_object *spec, struct json_object *template_)
{
	static const char *const fields[] = {"initContainers", "volumes",	"nodeSelector",
					     "affinity",       "schedulerName", "priorityClassName"};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		struct json_object *value = json_member(template_, fields[i]);

		if (value && json_add(spec, fields[i], json_object_get(value)))
			return -ENOMEM;
	}
	return 0;
}

static int argo_pod(struct walk *walk, struct json_object *template_, struct json_object *pod,
		    struct kind_template *item)
{
	struct json_object *metadata = json_member(template_, "metadata");
	struct json_object *spec = json_object_new_object(), *containers;

	if (json_add(pod, "spec", spec))
		return -ENOMEM;
	containers = json_object_new_array();
	if (json_add(spec, "containers", containers))
		return -ENOMEM;
	if (metadata && json_add(pod, "metadata", json_object_get(metadata)))
		return -ENOMEM;
	if (argo_spec(spec, template_))
		return -ENOMEM;
	return argo_containers(walk, template_, containers, item);
}

static int walk_argo(struct walk *walk, const struct place *at)
{
	struct kind_template *item = walk_add(walk, at);
	struct json_object *pod;
	int r;

	if (!item)
		return too_many(walk);
	pod = json_object_new_object();
	r = pod ? argo_pod(walk, at->object, pod, item) : -ENOMEM;
	if (r) {
		json_object_put(pod);
		return r == -ENOMEM ? decode_oom(walk->err) : too_many(walk);
	}
	if (!item->n_container_pointers) { /* steps, dag, resource: no pod of its own shape */
		json_object_put(pod);
		walk->n--;
		return 0;
	}
	json_object_set_userdata(at->object, pod, argo_delete);
	item->object = pod;
	item->replicas = 1; /* `parallelism` of a workflow is a cap, not a count */
	return 0;
}

/* --- The walk --- */

static int64_t count_in(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return 1;
	return json_object_get_int64(value);
}

/* How many times `object` makes what stands under its member `key`. */
static int64_t factor_of(struct json_object *object, const char *key)
{
	static const char *const counts[] = {"replicas", "parallelism", "numOfHosts"};
	int64_t factor = 1;

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (__builtin_mul_overflow(factor, count_in(object, counts[i]), &factor))
			return INT64_MAX;
	/* LeaderWorkerSet: size pods a group; one of them is the leader if that has a template of its own. */
	if (strcmp(key, "workerTemplate") == 0 && json_object_is_type(json_member(object, "size"), json_type_int))
		factor = MAX(count_in(object, "size") - (json_member(object, "leaderTemplate") != NULL), 0);
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

static const char *role_of_item(struct json_object *item)
{
	static const char *const keys[] = {"name", "groupName"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		struct json_object *value = json_member(item, keys[i]);

		if (json_object_is_type(value, json_type_string))
			return json_object_get_string(value);
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
	size_t n = json_object_is_type(at->object, json_type_array) ? json_object_array_length(at->object) : 0;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		struct place next = *at;
		const char *role;

		next.object = json_object_array_get_idx(at->object, i);
		role = role_of_item(next.object);
		if (role)
			next.role = arena_strdup(walk->arena, role);
		next.pointer = arena_printf(walk->arena, "%s/%zu", at->pointer, i);
		if (!next.role || !next.pointer)
			return decode_oom(walk->err);
		r = walk_path(walk, &next, rest);
	}
	return r;
}

static int walk_any_key(struct walk *walk, const struct place *at, const char *rest)
{
	int r = 0;

	json_object_object_foreach(at->object, key, value)
	{
		struct place next = *at;
		const char *token = k8s_pointer_escape(walk->arena, key);
		char *role = arena_strdup(walk->arena, key);

		for (char *p = role; p && *p; p++)
			*p = (char)tolower((unsigned char)*p);
		next.object = value;
		next.role = role;
		next.pointer = token ? arena_printf(walk->arena, "%s/%s", at->pointer, token) : NULL;
		if (!next.role || !next.pointer)
			return decode_oom(walk->err);
		r = walk_path(walk, &next, rest);
		if (r)
			break;
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
	next.object = json_member(at->object, name);
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

	if (!json_object_is_type(at->object, json_type_object))
		return 0;
	if (!*path)
		return walk_end(walk, at);
	if (n == 1 && *path == '*')
		return walk_any_key(walk, at, rest);
	memcpy(key, path, MIN(n, sizeof(key) - 1));
	return walk_key(walk, at, key, rest);
}

static const struct kind *kind_of(struct json_object *object)
{
	struct json_object *api_version = json_member(object, "apiVersion"), *kind = json_member(object, "kind");

	if (!json_object_is_type(api_version, json_type_string) || !json_object_is_type(kind, json_type_string))
		return NULL;
	return kind_find_api_version(json_object_get_string(api_version), json_object_get_string(kind));
}

static int walk_object(struct walk *walk, const struct place *at)
{
	const struct kind *kind = kind_of(at->object);
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

int kind_templates(struct json_object *object, struct arena *arena, struct kind_template **ret_items, size_t *ret_n,
		   struct err *err)
{
	struct walk walk = {.arena = arena, .err = err};
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
