/* SPDX-License-Identifier: Apache-2.0 */
/* kind_trainer: how the controller creates pods. The runtime's JobSet has one template for each step. In steps labelled
 * "trainer" (with mpi.runLauncherAsNode also in the step "node") the container "node" gets the TrainJob's image,
 * command, args, env and resources; resources are merged by name. runtimePatches, and podTemplateOverrides of older
 * versions, add volumes, mounts and node selectors to a step. Docs are shared where nothing changes. */
#include "k8s/kind_trainer.h"

#include "base/str.h"
#include "base/strmap.h"

#include <errno.h>
#include <stdio.h>

#define NODE	      "node"
#define ANCESTOR_STEP "trainer.kubeflow.org/trainjob-ancestor-step"
enum { JOINED_ITEMS = 512 };

static bool is_text(const struct doc *value, const char *text)
{
	return value && value->type == DOC_STRING && streq(value->text, text);
}

static const struct doc *at(const struct doc *doc, const char *const *path)
{
	for (; doc && *path; path++)
		doc = doc_member(doc, *path);
	return doc;
}

#define AT(doc, ...) at((doc), (const char *const[]){__VA_ARGS__, NULL})

static const struct doc *items_of(const struct doc *array)
{
	return doc_children(array, DOC_ARRAY);
}

static const struct doc *named(const struct doc *array, const char *name)
{
	for (const struct doc *item = items_of(array); item; item = item->next)
		if (is_text(doc_member(item, "name"), name))
			return item;
	return NULL;
}

/* ---- one step of the runtime with the TrainJob's settings ---- */

struct step {
	struct arena *arena;
	const struct doc *trainer; /* spec.trainer; NULL: not for this step */
	bool is_launched;	   /* image, command and args apply to this step too */
	/* Pod specs: the template's, then those of the patches, of which later ones have precedence. */
	const struct doc **specs;
	size_t n_specs;
	bool is_too_long, has_no_memory;
};

/* The containers of all patches are walked for each container, and a map for each item of the other; longer ones do not
 * occur in real manifests. @return the list, or NULL if it is too long. */
static const struct doc *bounded(struct step *self, const struct doc *list)
{
	if (!list || list->n_items <= JOINED_ITEMS)
		return list;
	self->is_too_long = true;
	return NULL;
}

/* The members of both objects; those of `over` have precedence. An object that is alone is shared. */
static void add_merged(struct step *self, struct doc *parent, const char *key, const struct doc *base,
		       const struct doc *over)
{
	struct doc *map;

	if (!base || !over) {
		(void)doc_add_as(parent, key, base ? base : over, self->arena);
		return;
	}
	if (!bounded(self, base) || !bounded(self, over))
		return;
	map = doc_add(parent, key, DOC_OBJECT, self->arena);
	doc_add_children(map, over, NULL, self->arena);
	for (const struct doc *item = doc_children(base, DOC_OBJECT); item; item = item->next)
		if (!doc_member(over, item->key))
			doc_add_copy(map, item, self->arena);
}

static void add_resources(struct step *self, struct doc *container, const struct doc *base, const struct doc *over)
{
	const struct doc *claims = doc_member(over, "claims");
	struct doc *resources;

	if (!base || !over) {
		(void)doc_add_as(container, "resources", base ? base : over, self->arena);
		return;
	}
	resources = doc_add(container, "resources", DOC_OBJECT, self->arena);
	add_merged(self, resources, "requests", doc_member(base, "requests"), doc_member(over, "requests"));
	add_merged(self, resources, "limits", doc_member(base, "limits"), doc_member(over, "limits"));
	doc_add_copy(resources, claims ? claims : doc_member(base, "claims"), self->arena);
}

/* Adds the container "node" of a step to which the trainer applies. */
static void add_node(struct step *self, struct doc *container, const struct doc *base)
{
	static const char *const fields[] = {"image", "command", "args"};
	struct doc *env;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const struct doc *value = self->is_launched ? doc_member(self->trainer, fields[i]) : NULL;

		doc_add_copy(container, value ? value : doc_member(base, fields[i]), self->arena);
	}
	env = doc_add(container, "env", DOC_ARRAY, self->arena);
	doc_add_children(env, bounded(self, doc_member(self->trainer, "env")), NULL, self->arena);
	doc_add_children(env, bounded(self, doc_member(base, "env")), NULL, self->arena);
	add_resources(self, container, doc_member(base, "resources"), doc_member(self->trainer, "resourcesPerNode"));
}

static void append_items(struct step *self, struct doc *ret, const struct doc *list, struct doc ***tail)
{
	for (const struct doc *item = items_of(list); item; item = item->next)
		(void)doc_append(ret, NULL, item, self->arena, tail);
}

static void add_container(struct step *self, struct doc *containers, const struct doc *base)
{
	static const char *const replaced[] = {"image", "command", "args", "env", "resources", "volumeMounts", NULL};
	const char *name = doc_member_text(base, "name");
	bool is_node = self->trainer && streq(name, NODE);
	struct doc *container = doc_add(containers, NULL, DOC_OBJECT, self->arena), *mounts, **tail;

	doc_add_children(container, base, is_node ? replaced : &replaced[ARRAY_LEN(replaced) - 2], self->arena);
	if (is_node)
		add_node(self, container, base);
	mounts = doc_add(container, "volumeMounts", DOC_ARRAY, self->arena);
	if (!mounts)
		return;
	tail = &mounts->first;
	append_items(self, mounts, doc_member(base, "volumeMounts"), &tail);
	for (size_t i = 1; i < self->n_specs; i++) {
		const struct doc *patch = named(doc_member(self->specs[i], "containers"), name);

		append_items(self, mounts, doc_member(patch, "volumeMounts"), &tail);
	}
}

/* Adds the items of a list or map of all specs; of those with one name the one of the last spec. */
static void add_last(struct step *self, struct doc *ret, const char *member)
{
	CLEANUP(strmap_release) struct strmap seen = STRMAP_INIT;
	struct doc **tail = &ret->first;

	for (size_t i = self->n_specs; i-- > 0;) {
		const struct doc *list = doc_member(self->specs[i], member);

		for (const struct doc *item = doc_children(list, ret->type); item; item = item->next) {
			const char *name = item->key ? item->key : doc_member_text(item, "name");

			if (*name && strmap_has(&seen, name))
				continue;
			if (!doc_append(ret, item->key, item, self->arena, &tail) ||
			    (*name && strmap_put(&seen, name, ret))) {
				self->has_no_memory = true;
				return;
			}
		}
	}
}

static bool has_few_patches(const struct step *self)
{
	size_t n = 0;

	for (size_t i = 1; i < self->n_specs; i++) {
		const struct doc *list = doc_member(self->specs[i], "containers");

		n += list ? list->n_items : 0;
	}
	return n <= JOINED_ITEMS;
}

static int pod_of_step(struct step *self, const struct doc *template_, const struct doc **ret)
{
	static const char *const joined[] = {"containers", "volumes", "nodeSelector", NULL};
	const struct doc *base = self->specs[0], *list = bounded(self, doc_member(base, "containers"));
	struct doc *pod = doc_new(self->arena), *spec = doc_add(pod, "spec", DOC_OBJECT, self->arena);
	struct doc *containers, *volumes, *selector;

	if (!has_few_patches(self))
		return -E2BIG;
	doc_add_copy(pod, doc_member(template_, "metadata"), self->arena);
	doc_add_children(spec, base, joined, self->arena);
	containers = doc_add(spec, "containers", DOC_ARRAY, self->arena);
	for (const struct doc *item = items_of(list); item; item = item->next)
		if (item->type == DOC_OBJECT)
			add_container(self, containers, item);
	volumes = doc_add(spec, "volumes", DOC_ARRAY, self->arena);
	selector = doc_add(spec, "nodeSelector", DOC_OBJECT, self->arena);
	if (!volumes || !selector)
		return -ENOMEM;
	add_last(self, volumes, "volumes");
	add_last(self, selector, "nodeSelector");
	*ret = pod;
	return self->arena->has_failed || self->has_no_memory ? -ENOMEM : self->is_too_long ? -E2BIG : 0;
}

/* ---- all steps ---- */

static bool is_target(const struct doc *override_, const char *step)
{
	const struct doc *targets = doc_member(override_, "targetJobs");

	return named(targets, step) != NULL;
}

/* Collects the pod specs of a step: its template's, and those that patch it. */
static int gather_specs(const struct doc *trainjob, const struct doc *template_, const char *name, struct step *ret)
{
	const struct doc *lists[] = {doc_member(trainjob, "runtimePatches"),
				     doc_member(trainjob, "podTemplateOverrides"),
				     doc_member(trainjob, "podSpecOverrides")};
	size_t n = 1;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		n += lists[i] ? lists[i]->n_items : 0;
	ret->specs = arena_array(ret->arena, n, sizeof(const struct doc *));
	if (!ret->specs)
		return -ENOMEM;
	ret->specs[ret->n_specs++] = doc_member(template_, "spec");
	for (const struct doc *item = items_of(lists[0]); item; item = item->next) {
		const struct doc *steps = AT(item, "trainingRuntimeSpec", "template", "spec", "replicatedJobs");
		const struct doc *spec = AT(named(steps, name), "template", "spec", "template", "spec");

		if (spec)
			ret->specs[ret->n_specs++] = spec;
	}
	for (size_t i = 1; i < ARRAY_LEN(lists); i++)
		for (const struct doc *item = items_of(lists[i]); item; item = item->next)
			if (is_target(item, name))
				ret->specs[ret->n_specs++] = i == 1 ? doc_member(item, "spec") : item;
	return 0;
}

/* The number of pods of a step. `policy`: mlPolicy of the runtime. */
static int64_t count_of_step(const struct doc *trainjob, const struct doc *policy, const struct doc *job,
			     bool is_trainer, bool is_launcher_node)
{
	const struct doc *asked = AT(trainjob, "trainer", "numNodes");
	bool is_mpi = doc_member(policy, "mpi") != NULL;
	int64_t nodes;

	if (!(is_mpi ? streq(doc_member_text(job, "name"), NODE) : is_trainer) ||
	    (!asked && !doc_member(policy, "numNodes")))
		return is_trainer ? 1 : doc_count(AT(job, "template", "spec", "parallelism"));
	nodes = doc_count(asked ? asked : doc_member(policy, "numNodes"));
	return is_mpi && is_launcher_node ? MAX(nodes - 1, 1) : nodes;
}

/* Index of the trainer's container in the pod of a step. */
static size_t trainer_container(const struct doc *pod)
{
	size_t i = 0;

	for (const struct doc *c = items_of(AT(pod, "spec", "containers")); c; c = c->next, i++)
		if (is_text(doc_member(c, "name"), NODE))
			return i;
	return SIZE_MAX;
}

const struct doc *kind_trainer_steps(const struct doc *runtime)
{
	return items_of(AT(runtime, "spec", "template", "spec", "replicatedJobs"));
}

int kind_trainer_step(const struct doc *trainjob, const struct doc *runtime, const struct doc *job, struct arena *arena,
		      struct kind_template *item)
{
	const struct doc *template_ = AT(job, "template", "spec", "template"),
			 *policy = AT(runtime, "spec", "mlPolicy");
	const struct doc *spec = doc_member(trainjob, "spec"), *as_node = AT(policy, "mpi", "runLauncherAsNode");
	const char *name = doc_member_text(job, "name");
	bool is_trainer = is_text(AT(job, "template", "metadata", "labels", ANCESTOR_STEP), "trainer");
	bool is_launcher_node = as_node && as_node->type == DOC_TRUE;
	struct step step = {.arena = arena, .is_launched = is_trainer};
	int r;

	if (!template_)
		return KIND_NO_POD;
	if (is_trainer || (is_launcher_node && streq(name, NODE)))
		step.trainer = doc_member(spec, "trainer");
	item->has_runtime = true;
	item->has_trainer_resources = doc_member(step.trainer, "resourcesPerNode");
	item->role = name;
	item->replicas = count_of_step(spec, policy, job, is_trainer, is_launcher_node);
	r = gather_specs(spec, template_, name, &step);
	if (!r)
		r = pod_of_step(&step, template_, &item->object);
	item->trainer_container = !r && step.trainer ? trainer_container(item->object) : SIZE_MAX;
	return r;
}

/* ---- a TrainJob alone ---- */

int kind_trainer_pod(const struct doc *trainer, struct arena *arena, struct kind_template *item)
{
	const struct doc name = {.type = DOC_STRING, .text = NODE, .n_text = strlen(NODE)};
	struct step step = {.arena = arena, .trainer = trainer, .is_launched = true};
	struct doc *pod, *containers, *container;

	if (!doc_children(doc_member(trainer, "resourcesPerNode"), DOC_OBJECT))
		return KIND_NO_POD;
	pod = doc_new(arena);
	containers = doc_add(doc_add(pod, "spec", DOC_OBJECT, arena), "containers", DOC_ARRAY, arena);
	container = doc_add(containers, NULL, DOC_OBJECT, arena);
	(void)doc_add_as(container, "name", &name, arena);
	add_node(&step, container, NULL);
	item->object = pod;
	item->role = NODE;
	item->replicas = doc_count(doc_member(trainer, "numNodes"));
	item->has_trainer_resources = true;
	item->trainer_container = 0;
	return arena->has_failed ? -ENOMEM : step.is_too_long ? -E2BIG : 0;
}

/* ---- pointers ---- */

/* The rest of a pointer after the trainer's container. NULL: the pointer leads elsewhere. */
static const char *behind_container(const struct kind_template *self, const char *pod_pointer)
{
	char container[48];
	int n = snprintf(container, sizeof(container), "/spec/containers/%zu", self->trainer_container);

	if (!strstarts(pod_pointer, container) || (pod_pointer[n] && pod_pointer[n] != '/'))
		return NULL;
	return pod_pointer + n;
}

/* Versions of the Trainer before 2.3 replace the runtime's resources by resourcesPerNode, so a TrainJob without them
 * gets none. */
bool kind_template_holds(const struct kind_template *self, const char *pod_pointer)
{
	return !self->owner_kind->has_trainer || (self->has_trainer_resources && behind_container(self, pod_pointer));
}

const char *kind_trainer_pointer(const struct kind_template *self, const char *pod_pointer, struct arena *arena)
{
	static const char resources[] = "/resources";
	const char *rest = behind_container(self, pod_pointer);

	if (!rest)
		return self->has_runtime ? "/spec/runtimeRef" : self->pointer;
	if (!strstarts(rest, resources))
		return arena_printf(arena, "%s%s", self->pointer, rest);
	return arena_printf(arena, "%s/resourcesPerNode%s", self->pointer, rest + sizeof(resources) - 1);
}
