/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/kinds.h"

#include "base/limits.h"
#include "k8s/decode.h"
#include "k8s/kind_argo.h"
#include "k8s/kind_trainer.h"

#include <ctype.h>
#include <errno.h>

/* kind_templates: a recursive walk along each path of the kind's row. On the way it collects the role (the name at the
 * last `[]` or `*`) and multiplies the counts in the objects that it passes. At the end of a path is a pod template, an
 * Argo template, or a whole object of another kind, whose own row is then used. */

#define NESTING_MAX 4 /* List of AppWrapper of List ...: deeper nesting is not a real workload */

struct walk {
	struct arena *arena;
	struct err *err;
	struct kind_template *items;
	size_t n, n_containers;
	int nesting;
	bool is_path_of_objects;	  /* the path leads to whole objects */
	const struct doc *root, *runtime; /* runtime: of a TrainJob at the root; NULL: not known */
	/* Current owner. */
	const struct doc *owner;
	const char *owner_pointer;
	const struct kind *owner_kind;
	struct kind_owner owner_facts; /* of the current owner; set when a template is found */
	bool has_owner_facts;
	bool is_root_queued;
};

/* The current position of the walk. */
struct place {
	const struct doc *object;
	const char *pointer, *role;
	int64_t replicas, ranks;
	bool has_shm;
};

static int walk_object(struct walk *walk, const struct place *at);

static struct kind_template *walk_add(struct walk *walk, const struct place *at)
{
	struct kind_template *item;

	if (walk->n == LIMIT_POD_CONTAINERS)
		return NULL;
	if (!walk->has_owner_facts)
		walk->owner_facts = kind_owner_facts(walk->owner, walk->root, walk->is_root_queued);
	walk->has_owner_facts = true;
	item = &walk->items[walk->n++];
	*item = (struct kind_template){
		.object = at->object,
		.pointer = at->pointer,
		.role = at->role,
		.replicas = at->replicas,
		.ranks = at->ranks,
		.has_shm = at->has_shm,
		.root = walk->root,
		.owner = walk->owner,
		.owner_pointer = walk->owner_pointer,
		.owner_kind = walk->owner_kind,
		.owner_facts = walk->owner_facts,
	};
	return item;
}

static int too_many(struct walk *walk)
{
	return err_set(walk->err, -E2BIG, "more than %d pod templates", LIMIT_POD_CONTAINERS);
}

/* Containers are counted before any of them is decoded, as a decoded container takes hundreds of times the memory of
 * its text. */
static int count_containers(struct walk *walk, const struct kind_template *item)
{
	const struct doc *spec = doc_member(item->object, "spec");
	const struct doc *mains = doc_member(spec, "containers"), *inits = doc_member(spec, "initContainers");

	walk->n_containers += (mains ? mains->n_items : 0) + (inits ? inits->n_items : 0);
	return walk->n_containers <= LIMIT_OBJECT_CONTAINERS
		       ? 0
		       : err_set(walk->err, -E2BIG, "more than %d containers in all pod templates",
				 LIMIT_OBJECT_CONTAINERS);
}

/* --- The walk --- */

static int64_t count_in(const struct doc *object, const char *key)
{
	return doc_count(doc_member(object, key));
}

/* How many times `object` creates what is under its member `key`. */
static int64_t factor_of(const struct doc *object, const char *key)
{
	static const char *const counts[] = {"replicas", "parallelism", "numOfHosts"};
	int64_t factor = 1;

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		if (__builtin_mul_overflow(factor, count_in(object, counts[i]), &factor))
			return INT64_MAX;
	/* LeaderWorkerSet: `size` pods for each group; one of them is the leader, if that has a template of its own. */
	if (strcmp(key, "workerTemplate") == 0 && doc_member(object, "size"))
		factor = MAX(count_in(object, "size") - (doc_member(object, "leaderTemplate") != NULL), 0);
	return factor;
}

/* The number of pods until all are done: a Job with completions creates that many, whatever the number at a time. */
static int64_t ranks_of(const struct doc *object, const char *key, int64_t factor)
{
	return strcmp(key, "template") == 0 && doc_member(object, "completions") ? count_in(object, "completions")
										 : factor;
}

/* Roles from a key in the path itself. */
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
		const char *name = kind_name_in(item, keys[i]);

		if (name)
			return name;
	}
	return NULL;
}

/* KubeRay mounts a memory emptyDir at /dev/shm, unless the group says that Ray's object store is elsewhere. */
static bool has_shm_of_ray(const struct walk *walk, const struct doc *group, const char *key)
{
	return strcmp(walk->owner_kind->group, "ray.io") == 0 && strcmp(key, "template") == 0 &&
	       !doc_member(doc_member(group, "rayStartParams"), "plasma-directory");
}

static int walk_path(struct walk *walk, const struct place *at, const char *path);

/* Adds the template at a place. `step`: the step of a TrainJob's runtime that has it, or NULL. */
static int walk_template(struct walk *walk, const struct place *at, const struct doc *step)
{
	struct kind_template *item = walk_add(walk, at);
	int r = 0;

	if (!item)
		return too_many(walk);
	if (step)
		r = kind_trainer_step(walk->root, walk->runtime, step, walk->arena, item);
	else if (walk->owner_kind->has_trainer)
		r = kind_trainer_pod(at->object, walk->arena, item);
	else if (walk->owner_kind->has_argo_templates)
		r = kind_argo_pod(at->object, walk->arena, item);
	if (r == KIND_NO_POD) {
		walk->n--;
		return 0;
	}
	if (r)
		return r == -ENOMEM ? decode_oom(walk->err) : too_many(walk);
	return count_containers(walk, item);
}

static int walk_items(struct walk *walk, const struct place *at, const char *rest)
{
	size_t i = 0;
	int r = 0;

	for (const struct doc *item = doc_children(at->object, DOC_ARRAY); !r && item; item = item->next, i++) {
		const char *role = role_of_item(item);
		struct place next = *at;

		STEPS(1);
		if (item->type != DOC_OBJECT)
			continue;
		next.object = item;
		if (role)
			next.role = role;
		next.pointer = arena_printf(walk->arena, "%s/%zu", at->pointer, i);
		r = walk_path(walk, &next, rest);
	}
	return r;
}

static int walk_any_key(struct walk *walk, const struct place *at, const char *rest)
{
	int r = 0;

	for (const struct doc *item = at->object->first; !r && item; item = item->next) {
		struct place next = *at;
		const char *token;
		char *role;

		STEPS(1);
		if (item->type != DOC_OBJECT || item->n_key > LIMIT_QUALIFIED_NAME_BYTES)
			continue;
		token = k8s_pointer_escape(walk->arena, item->key);
		role = arena_strdup(walk->arena, item->key);
		for (char *p = role; p && *p; p++)
			*p = (char)tolower((unsigned char)*p);
		next.object = item;
		next.role = role;
		next.pointer = token ? arena_printf(walk->arena, "%s/%s", at->pointer, token) : NULL;
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
	next.has_shm = has_shm_of_ray(walk, at->object, name);
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

	if (walk->arena->has_failed)
		return decode_oom(walk->err);
	if (!at->object || at->object->type != DOC_OBJECT)
		return 0;
	if (!*path)
		return walk->is_path_of_objects ? walk_object(walk, at) : walk_template(walk, at, NULL);
	if (n == 1 && *path == '*')
		return walk_any_key(walk, at, rest);
	memcpy(key, path, MIN(n, sizeof(key) - 1));
	return walk_key(walk, at, key, rest);
}

/* The templates of a TrainJob that is joined with its runtime. */
static int walk_steps(struct walk *walk)
{
	const struct place place = {.pointer = "/spec/trainer"};
	int r = 0;

	for (const struct doc *step = kind_trainer_steps(walk->runtime); !r && step; step = step->next)
		r = walk_template(walk, &place, step);
	return r;
}

static int walk_object(struct walk *walk, const struct place *at)
{
	const struct kind *kind = kind_find_api_version(kind_name_in(at->object, "apiVersion"),
							kind_name_in(at->object, "kind"));
	struct walk saved = *walk;
	/* The name of a component or list item is not a role. */
	struct place start = {at->object, at->pointer, "", at->replicas, at->ranks, false};
	int r = 0;

	if (!kind || walk->nesting == NESTING_MAX)
		return 0;
	walk->nesting++;
	walk->owner = at->object;
	walk->owner_pointer = at->pointer;
	walk->owner_kind = kind;
	walk->has_owner_facts = false;
	walk->is_path_of_objects = false;
	if (kind->has_trainer && walk->runtime && at->object == walk->root)
		r = walk_steps(walk);
	else
		for (const char *const *path = kind->template_paths; !r && path && *path; path++)
			r = walk_path(walk, &start, *path);
	walk->is_path_of_objects = true;
	for (const char *const *path = kind->object_paths; !r && path && *path; path++)
		r = walk_path(walk, &start, *path);
	saved.n = walk->n;
	saved.n_containers = walk->n_containers;
	*walk = saved;
	return r;
}

static int64_t ranks_from(const struct kind_template *items, size_t n, const struct doc *owner)
{
	int64_t sum = 0;

	STEPS(n);
	for (size_t i = 0; i < n; i++)
		if (items[i].owner == owner && __builtin_add_overflow(sum, items[i].ranks, &sum))
			return INT64_MAX;
	return sum;
}

/* Replaces each template's own ranks by the sum over all templates of its owner, in order: earlier items have their sum
 * already. */
static void sum_ranks(struct kind_template *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t first = 0;

		while (items[first].owner != items[i].owner)
			first++;
		STEPS(first);
		items[i].ranks = first < i ? items[first].ranks : ranks_from(items + i, n - i, items[i].owner);
		/* a TrainJob's runtime may create more pods */
		if (items[i].owner_kind->has_trainer)
			items[i].ranks = 0;
	}
}

static int find_templates(const struct doc *object, const struct doc *runtime, struct arena *arena,
			  struct kind_template **ret_items, size_t *ret_n, struct err *err)
{
	struct walk walk = {.arena = arena,
			    .err = err,
			    .root = object,
			    .runtime = runtime,
			    .is_root_queued = kind_is_queued(object)};
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

int kind_templates_of_doc(const struct doc *object, struct arena *arena, struct kind_template **ret_items,
			  size_t *ret_n, struct err *err)
{
	return find_templates(object, NULL, arena, ret_items, ret_n, err);
}

int kind_templates(struct json_object *object, const struct doc *runtime, struct arena *arena,
		   struct kind_template **ret_items, size_t *ret_n, struct err *err)
{
	struct doc *doc = arena_alloc(arena, sizeof(*doc));
	int r = doc ? doc_of_json(object, &allow_workload, arena, doc, err) : decode_oom(err);

	return r ? r : find_templates(doc, runtime, arena, ret_items, ret_n, err);
}
