/* SPDX-License-Identifier: Apache-2.0 */
/* decide_facts: gathers everything that decide() works from: the pod as it will be, its workload and histories, its
 * nodes. */
#include "policy/decide/decide_internal.h"

#include "base/str.h"
#include "k8s/keys.h"
#include "policy/size_math.h"

#include <errno.h>
#include <string.h>

/* A template's pods will be owned by the object that contains it. Classification and identity thus see what they will
 * see at the pod's admission. */
static int add_owner_to_come(struct pod_facts *self)
{
	const struct decide_input *input = self->input;
	const char *group = input->root_group ? input->root_group : "";
	struct k8s_owner *owner;

	if (input->subject != SUBJECT_TEMPLATE || !input->root_kind || self->pod.n_owners ||
	    streq(input->root_kind, "Pod"))
		return 0;
	owner = arena_alloc(self->arena, sizeof(*owner));
	if (!owner)
		return -ENOMEM;
	owner->api_version = arena_printf(self->arena, "%s%sv1", group, group[0] ? "/" : "");
	owner->kind = input->root_kind;
	owner->name = input->root_name ? input->root_name : "";
	owner->uid = "";
	owner->is_controller = true;
	self->pod.owners = owner;
	self->pod.n_owners = 1;
	return owner->api_version ? 0 : -ENOMEM;
}

static bool is_in(const char *const *names, const char *name)
{
	for (; names && *names; names++)
		if (streq(*names, name))
			return true;
	return false;
}

/* Why the pod is not examined; NULL: it is. Static text. */
static const char *decide_skip_reason(const struct pod_facts *self)
{
	const char *namespace_name = self->pod.namespace_name;
	const struct namespace_facts *facts = self->namespace;

	if (streq(namespace_name, "kube-system"))
		return "kube-system";
	if (self->policy->own_namespace && streq(namespace_name, self->policy->own_namespace))
		return "own-namespace";
	if (is_in(self->policy->excluded_namespaces, namespace_name))
		return "excluded-namespace";
	if (facts && facts->is_ignored)
		return "ignored";
	if (self->pod_class != POD_TRAINING)
		return self->class_why;
	return NULL;
}

bool decide_is_critical(const struct pod_facts *self, const char **ret_why)
{
	*ret_why = "label " KEY_CRITICAL;
	if (streq(k8s_label_get(&self->pod.labels, KEY_CRITICAL), "true"))
		return true;
	*ret_why = "priority class";
	return self->pod.priority_class[0] &&
	       (is_in(self->policy->critical_priority_classes, self->pod.priority_class) ||
		snapshot_is_critical_class(self->input->snapshot, self->pod.priority_class));
}

struct k8s_container *decide_copy_containers(const struct k8s_pod *pod, struct arena *arena)
{
	struct k8s_container *copy = arena_array(arena, pod->n_containers + 1, sizeof(*copy));

	if (copy && pod->n_containers)
		memcpy(copy, pod->containers, pod->n_containers * sizeof(*copy));
	return copy;
}

/* Pods, templates and files get the same defaults, so that all are decided alike; pods from the API server have them
 * already. The input is not changed, as the patch must fit it. */
static int copy_pod(struct pod_facts *self)
{
	self->pod.containers = decide_copy_containers(&self->pod, self->arena);
	if (!self->pod.containers)
		return -ENOMEM;
	k8s_pod_default(&self->pod);
	if (self->namespace)
		k8s_limit_rules_default(&self->namespace->rules, &self->pod);
	return 0;
}

/* Neither in the input nor defaulted from its own limit: LimitRanger will set it. */
static bool is_to_be_set(const struct sized *item, enum k8s_resource resource, int f)
{
	const struct k8s_resources *written = &item->container->resources;

	return !written->limits[resource].text && (f == SIZE_LIMIT || !written->requests[resource].text);
}

/* `defaulted`: the container with the API server's defaults. */
static void read_fields(struct sized *item, const struct k8s_container *defaulted)
{
	for (int i = 0; i < SIZED_COUNT_; i++) {
		enum k8s_resource resource = sized_resource_of((enum sized_resource)i);
		const struct k8s_resources *resources = &defaulted->resources;
		const struct k8s_amount *amounts[2] = {&resources->requests[resource], &resources->limits[resource]};

		for (int f = 0; f < 2; f++) {
			struct field *field = &item->fields[i][f];

			field->has = k8s_amount_is_set(amounts[f]);
			field->is_zero = amounts[f]->text && !field->has;
			field->is_invalid = field->has && (amounts[f]->is_invalid || amounts[f]->value < 0);
			field->now_bytes = field->is_invalid ? 0 : amounts[f]->value;
			field->is_default = field->has && is_to_be_set(item, resource, f);
		}
	}
}

/* Containers with different kinds of devices are compared by whole devices, if these are known. */
static void read_part(const struct pod_facts *self, struct sized *item)
{
	const struct accelerator_ask *own = &item->ask, *all = &self->ask;

	if (own->count > 0 && own->count <= all->count && streq(own->resource, all->resource) &&
	    (__int128)own->milli * all->count == (__int128)all->milli * own->count) {
		item->part = own->count;
		item->whole = all->count;
	} else if (own->milli > 0 && own->milli <= all->milli) {
		item->part = own->milli;
		item->whole = all->milli;
	}
}

int64_t decide_part_of(const struct sized *item, int64_t share)
{
	return item->whole > 0 ? size_share(share, item->part, item->whole) : 0;
}

static void add_item(struct pod_facts *self, size_t index, bool is_main)
{
	struct sized *item = &self->items[self->n_items++];
	const struct k8s_container *container = &self->input->pod->containers[index];
	const struct snapshot_found found = snapshot_find(self->input->snapshot, self->pod.namespace_name,
							  &self->identity, container->name, is_main);

	item->container = container;
	item->ask = (struct accelerator_ask){.resource = ""};
	if (item->container->type != K8S_CONTAINER_INIT && accelerator_of_container(item->container, &item->ask))
		is_main = true;
	item->is_main = is_main;
	if (self->vpa && container->type == K8S_CONTAINER_MAIN && k8s_vpa_sets_memory(self->vpa, container->name))
		item->vpa = self->vpa;
	read_part(self, item);
	item->profile = found.learned;
	item->decided = found.decided;
	item->spec = found.decided ? found.decided->spec : &profile_spec_none;
	decide_recommendation(self, item);
	read_fields(item, &self->pod.containers[index]);
}

static int gather_items(struct pod_facts *self)
{
	bool is_alone = true;

	if (!self->pod.n_containers)
		return 0;
	self->items = arena_array(self->arena, self->pod.n_containers, sizeof(*self->items));
	if (!self->items)
		return -ENOMEM;
	add_item(self, self->main_index, true);
	for (size_t i = 0; i < self->pod.n_containers; i++)
		if (i != self->main_index)
			add_item(self, i, false);
	/* A single main container has all accelerators, even if only the pod says what they are. */
	for (size_t i = 1; i < self->n_items; i++)
		if (self->items[i].is_main)
			is_alone = false;
	if (is_alone)
		self->items[0].part = self->items[0].whole = 1;
	decide_read_defaults(self);
	self->profile = self->items[0].profile;
	return 0;
}

/* A TrainJob creates a JobSet of its own name, and its pods and their metrics name only that. */
static void add_owner_between(const struct pod_facts *self, struct identity_facts *facts)
{
	if (!self->is_trainer || facts->n_owners != 1)
		return;
	facts->owners[1] = facts->owners[0];
	facts->owners[0].group = "jobset.x-k8s.io";
	facts->owners[0].kind = "JobSet";
	facts->n_owners = 2;
}

static void identify(struct pod_facts *self)
{
	struct identity *identity = &self->identity;
	struct identity_facts facts;

	self->main_index = pod_main_container(&self->pod);
	identity_facts_of_pod(&self->pod, self->pod.containers[self->main_index].name, &facts);
	facts.namespace_name = self->pod.namespace_name;
	add_owner_between(self, &facts);
	workload_identify(&facts, identity);
	if (!identity->role[0] && self->input->role)
		strncat(identity->role, self->input->role, sizeof(identity->role) - 1);
}

/* The label of a known workload is its profile's name, so that it stays the same when a better key appears later. A
 * name that people chose may be too long for a label value. */
static void stamp(struct pod_facts *self)
{
	if (self->profile && strlen(self->profile->name) < sizeof(self->workload_id))
		strncat(self->workload_id, self->profile->name, sizeof(self->workload_id) - 1);
	else if (self->identity.n_keys && self->n_items)
		identity_id(self->pod.namespace_name, self->identity.keys[0].text, self->identity.role,
			    self->items[0].container->name, self->workload_id);
}

static bool has_disk_emptydir(const struct k8s_pod *pod)
{
	STEPS(pod->n_volumes);
	for (size_t i = 0; i < pod->n_volumes; i++)
		if (pod->volumes[i].is_emptydir && !pod->volumes[i].is_memory)
			return true;
	return false;
}

static const struct owner_facts *root_owner(const struct pod_facts *self)
{
	const struct k8s_owner *controller = k8s_pod_controller(&self->pod);

	if (self->input->subject == SUBJECT_TEMPLATE || !controller || !controller->uid[0])
		return NULL;
	return snapshot_root_owner(self->input->snapshot, controller->uid);
}

static const struct k8s_vpa *find_vpa(const struct pod_facts *self)
{
	const struct k8s_owner *controller = k8s_pod_controller(&self->pod);

	return controller ? snapshot_vpa(self->input->snapshot, self->pod.namespace_name, controller) : NULL;
}

bool decide_has_unknown_vpa(const struct pod_facts *self)
{
	return !self->vpa && k8s_label_get(&self->pod.annotations, KEY_VPA_UPDATES);
}

static bool is_template_of(const struct decide_input *input, const char *group, const char *kind)
{
	return input->subject == SUBJECT_TEMPLATE && streq(input->root_group, group) && streq(input->root_kind, kind);
}

int decide_facts(const struct decide_input *input, struct arena *arena, struct pod_facts *self)
{
	int r;

	*self = (struct pod_facts){
		.input = input, .policy = input->policy, .arena = arena, .pod = *input->pod, .ask = {.resource = ""}};
	if (input->namespace_name && input->namespace_name[0])
		self->pod.namespace_name = input->namespace_name;
	self->namespace = snapshot_namespace(input->snapshot, self->pod.namespace_name);
	self->owner = root_owner(self);
	r = add_owner_to_come(self);
	if (r)
		return r;
	self->is_trainer = is_template_of(input, "trainer.kubeflow.org", "TrainJob");
	self->is_runtime = is_template_of(input, "trainer.kubeflow.org", "TrainingRuntime") ||
			   is_template_of(input, "trainer.kubeflow.org", "ClusterTrainingRuntime");
	self->vpa = find_vpa(self);
	self->is_bare = input->subject == SUBJECT_POD && !k8s_pod_controller(&self->pod);
	self->pod_class = pod_classify(&self->pod, &self->class_why);
	self->skip = decide_skip_reason(self);
	if (!self->skip && !self->pod.n_containers)
		self->skip = "no-containers";
	if (self->skip)
		return 0;
	(void)accelerator_of_pod(&self->pod, &self->ask);
	identify(self);
	r = copy_pod(self);
	if (!r)
		r = gather_items(self);
	if (!r)
		r = decide_read_annotation(self);
	if (r)
		return r;
	stamp(self);
	decide_nodes(self);
	self->has_disk_emptydir = has_disk_emptydir(&self->pod);
	self->qos = k8s_pod_qos(&self->pod);
	self->has_pod_memory = self->pod.has_pod_resources && (self->pod.resources.requests[K8S_MEMORY].text ||
							       self->pod.resources.limits[K8S_MEMORY].text);
	return 0;
}
