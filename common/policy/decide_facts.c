/* SPDX-License-Identifier: Apache-2.0 */
/* decide_facts: everything that decide() works from: the pod as it will be, its workload and histories, its nodes. */
#include "policy/decide_internal.h"

#include "base/str.h"
#include "policy/size_math.h"

#include <errno.h>
#include <string.h>

enum k8s_resource sized_resource_of(enum sized_resource resource)
{
	return resource == SIZED_MEMORY ? K8S_MEMORY : K8S_EPHEMERAL_STORAGE;
}

/* A template's pods will be owned by the object that holds it: classification and identity then see what they will see
 * at the pod's admission. */
static int add_owner_to_come(struct deciding *self)
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

/* NULL, or why nothing is looked at. Static text. */
static const char *decide_skip_reason(const struct deciding *self)
{
	const char *namespace_name = self->pod.namespace_name;
	const struct namespace_facts *facts = self->facts;

	if (streq(namespace_name, "kube-system"))
		return "kube-system";
	if (self->policy->own_namespace && streq(namespace_name, self->policy->own_namespace))
		return "own-namespace";
	if (is_in(self->policy->excluded_namespaces, namespace_name))
		return "excluded-namespace";
	if (facts && facts->is_ignored)
		return "ignored";
	if (self->ret->pod_class != POD_TRAINING)
		return self->ret->class_why;
	return NULL;
}

bool decide_is_critical(const struct deciding *self, const char **ret_why)
{
	*ret_why = "label memtamer.io/critical";
	if (streq(k8s_label_get(&self->pod.labels, "memtamer.io/critical"), "true"))
		return true;
	*ret_why = "priority class";
	return self->pod.priority_class[0] &&
	       (is_in(self->policy->critical_priority_classes, self->pod.priority_class) ||
		snapshot_is_critical_class(self->input->snapshot, self->pod.priority_class));
}

static struct k8s_container *copy_containers(const struct deciding *self)
{
	size_t n = self->pod.n_containers;
	struct k8s_container *copy = arena_array(self->arena, n + 1, sizeof(*copy));

	if (copy && n)
		memcpy(copy, self->pod.containers, n * sizeof(*copy));
	return copy;
}

/* One defaulting for pods, templates and files, so that all are decided alike; the API server's pods have passed it.
 * The input keeps its own words: the patch has to fit them. */
static int copy_pod(struct deciding *self)
{
	self->pod.containers = copy_containers(self);
	if (!self->pod.containers)
		return -ENOMEM;
	k8s_pod_default(&self->pod);
	for (size_t i = 0; self->facts && i < self->facts->n_limit_ranges; i++)
		k8s_limit_range_default(self->facts->limit_ranges[i], &self->pod);
	self->after = self->pod;
	self->after.containers = copy_containers(self);
	return self->after.containers ? 0 : -ENOMEM;
}

/* One entry of LimitRanger's annotation: "cpu, memory request for container a". */
static bool entry_names(const char *entry, size_t n, const char *resource, const char *field, const char *container)
{
	const char *joint = memmem(entry, n, " for ", 5), *end = entry + n, *name;
	size_t resource_len = strlen(resource), field_len = strlen(field);
	bool is_listed = false;

	if (!joint)
		return false;
	name = memrchr(joint, ' ', (size_t)(end - joint));
	if ((size_t)(end - name - 1) != strlen(container) || memcmp(name + 1, container, (size_t)(end - name - 1)) != 0)
		return false;
	if ((size_t)(joint - entry) < field_len || memcmp(joint - field_len, field, field_len) != 0)
		return false;
	for (const char *p = entry; p < joint && !is_listed;) {
		while (p < joint && (*p == ' ' || *p == ','))
			p++;
		is_listed = (size_t)(joint - p) > resource_len && memcmp(p, resource, resource_len) == 0 &&
			    (p[resource_len] == ',' || p[resource_len] == ' ');
		while (p < joint && *p != ' ' && *p != ',')
			p++;
	}
	return is_listed;
}

static bool is_set_by_limit_ranger(const struct deciding *self, const char *resource, const char *field,
				   const char *container)
{
	static const char prefix[] = "LimitRanger plugin set: ";
	const char *text = k8s_label_get(&self->pod.annotations, "kubernetes.io/limit-ranger");

	if (!text || !strstarts(text, prefix) || !container[0])
		return false;
	for (text += sizeof(prefix) - 1; *text;) {
		size_t n = strcspn(text, ";");

		if (entry_names(text, n, resource, field, container))
			return true;
		text += n;
		text += strspn(text, "; ");
	}
	return false;
}

/* Not in the input, nor made of its own limit: LimitRanger will set it. */
static bool is_to_be_set(const struct sized *item, enum k8s_resource resource, int f)
{
	const struct k8s_resources *written = &item->container->resources;

	return !written->limits[resource].text && (f == SIZE_LIMIT || !written->requests[resource].text);
}

static void read_fields(const struct deciding *self, struct sized *item)
{
	static const char *const names[2] = {"request", "limit"};

	for (int i = 0; i < SIZED_COUNT_; i++) {
		enum k8s_resource resource = sized_resource_of((enum sized_resource)i);
		const struct k8s_resources *resources = &item->after->resources;
		const struct k8s_amount *amounts[2] = {&resources->requests[resource], &resources->limits[resource]};

		for (int f = 0; f < 2; f++) {
			struct field *field = &item->fields[i][f];

			field->has = amounts[f]->text != NULL;
			field->is_invalid = field->has && (amounts[f]->is_invalid || amounts[f]->value < 0);
			field->now_bytes = field->is_invalid ? 0 : amounts[f]->value;
			field->is_default = field->has && (is_to_be_set(item, resource, f) ||
							   is_set_by_limit_ranger(self, k8s_resource_names[resource],
										  names[f], item->container->name));
		}
	}
}

static const struct profile *find_profile(const struct deciding *self, const struct k8s_container *container)
{
	const struct identity *identity = &self->ret->identity;
	const struct profile *profile = NULL;

	for (size_t i = 0; i < identity->n_keys && !profile; i++)
		profile = snapshot_profile(self->input->snapshot, self->pod.namespace_name, identity->keys[i].text,
					   identity->role, container->name);
	return profile;
}

static void add_item(struct deciding *self, size_t index, bool is_main)
{
	struct sized *item = &self->items[self->n_items++];

	item->container = &self->input->pod->containers[index];
	item->after = &self->after.containers[index];
	item->is_main = is_main;
	item->profile = find_profile(self, item->container);
	if (item->profile)
		decide_recommendation(self, item);
	read_fields(self, item);
}

static int gather_items(struct deciding *self)
{
	size_t main_index;

	if (!self->pod.n_containers)
		return 0;
	self->items = arena_array(self->arena, self->pod.n_containers, sizeof(*self->items));
	if (!self->items)
		return -ENOMEM;
	main_index = pod_main_container(&self->pod);
	add_item(self, main_index, true);
	for (size_t i = 0; i < self->pod.n_containers; i++)
		if (i != main_index)
			add_item(self, i, false);
	self->ret->profile = self->items[0].profile;
	return 0;
}

/* A TrainJob makes a JobSet of its own name, which is all that its pods and their metrics tell of it. */
static void add_owner_between(const struct deciding *self, struct identity_facts *facts)
{
	if (!self->is_trainer || facts->n_owners != 1)
		return;
	facts->owners[1] = facts->owners[0];
	facts->owners[0].group = "jobset.x-k8s.io";
	facts->owners[0].kind = "JobSet";
	facts->n_owners = 2;
}

static void identify(struct deciding *self)
{
	struct identity *identity = &self->ret->identity;
	struct identity_facts facts;
	size_t main_index = pod_main_container(&self->pod);

	identity_facts_of_pod(&self->pod, self->pod.containers[main_index].name, &facts);
	facts.namespace_name = self->pod.namespace_name;
	add_owner_between(self, &facts);
	workload_identify(&facts, identity);
	if (!identity->role[0] && self->input->role)
		strncat(identity->role, self->input->role, sizeof(identity->role) - 1);
}

/* The stamp of a known workload is its profile's name, so that it stays the same when a better key turns up later. */
static void stamp(struct deciding *self)
{
	struct decision *ret = self->ret;

	if (ret->profile)
		strncat(ret->workload_id, ret->profile->name, sizeof(ret->workload_id) - 1);
	else if (ret->identity.n_keys && self->n_items)
		identity_id(self->pod.namespace_name, ret->identity.keys[0].text, ret->identity.role,
			    self->items[0].container->name, ret->workload_id);
}

static const char *node_demand(const struct k8s_pod *pod, const char *const *keys)
{
	for (; *keys; keys++) {
		const char *value = k8s_label_get(&pod->node_selector, *keys);

		if (!value)
			value = k8s_label_get(&pod->required_affinity, *keys);
		if (value)
			return value;
	}
	return NULL;
}

/* MIG slices run on nodes that are listed by their whole devices, unless the list has the slices themselves. */
static bool is_slice_of(const char *asked, const char *offered)
{
	return strstarts(asked, "nvidia.com/mig-") && streq(offered, "nvidia.com/gpu");
}

static int64_t devices_milli(const struct node_shape *shape)
{
	return MIN(node_shape_devices(shape), INT64_MAX / 1000) * 1000;
}

/* The pod's part of the devices of such a node, in thousandths of a device; 0: not known. */
static int64_t part_milli(const struct accelerator_ask *ask, const struct node_shape *shape)
{
	if (streq(ask->resource, shape->resource) && ask->count > 0)
		return size_share(devices_milli(shape), ask->count, node_shape_all_units(shape));
	return ask->milli;
}

static int64_t share_of(const struct accelerator_ask *ask, const struct node_shape *shape, int64_t bytes)
{
	if (streq(ask->resource, shape->resource) && ask->count > 0)
		return size_share(bytes, ask->count, node_shape_all_units(shape));
	return size_share(bytes, ask->milli, devices_milli(shape));
}

/* What a node must be to be one that the pod may land on. */
struct demand {
	const char *product, *instance_type; /* NULL: any */
	bool takes_slices; /* nodes listed by whole devices may have the slices that the pod asks for */
};

static bool is_candidate(const struct deciding *self, const struct node_shape *shape, const struct demand *demand)
{
	const struct accelerator_ask *ask = &self->ret->ask;
	bool is_same = streq(ask->resource, shape->resource);
	const char *type = demand->instance_type;

	if (!is_same && !(demand->takes_slices && is_slice_of(ask->resource, shape->resource)))
		return false;
	if (ask->resource[0] && (shape->accelerators <= 0 || (is_same && ask->count > shape->accelerators)))
		return false;
	if (demand->product && shape->product[0] && !streq(demand->product, shape->product))
		return false;
	return !type || !shape->instance_type[0] || streq(type, shape->instance_type);
}

static void view_shape(struct deciding *self, const struct node_shape *shape)
{
	const struct accelerator_ask *ask = &self->ret->ask;
	struct node_view *view = &self->nodes;
	int64_t share = ask->resource[0] ? share_of(ask, shape, shape->memory_bytes) : 0;

	if (share > view->share_memory_bytes || !view->devices) {
		view->share_memory_bytes = share;
		view->devices = node_shape_devices(shape);
		view->part_milli = part_milli(ask, shape);
	}
	if (ask->resource[0])
		view->share_ephemeral_bytes = MAX(view->share_ephemeral_bytes,
						  share_of(ask, shape, shape->ephemeral_bytes));
	view->largest_memory_bytes = MAX(view->largest_memory_bytes, shape->memory_bytes);
	view->largest_ephemeral_bytes = MAX(view->largest_ephemeral_bytes, shape->ephemeral_bytes);
	if (shape->ephemeral_bytes > 0 &&
	    (!view->smallest_ephemeral_bytes || shape->ephemeral_bytes < view->smallest_ephemeral_bytes))
		view->smallest_ephemeral_bytes = shape->ephemeral_bytes;
}

static bool is_offered(const char *resource, const struct node_shape *shapes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (streq(resource, shapes[i].resource))
			return true;
	return false;
}

/* A size of which not every candidate's amount is known caps nothing: 0 makes it unknown. */
static void gather_nodes(struct deciding *self)
{
	static const char *const product_keys[] = {"nvidia.com/gpu.product", "amd.com/gpu.product-name",
						   "cloud.google.com/gke-accelerator", NULL};
	static const char *const type_keys[] = {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
						NULL};
	struct demand demand = {.product = node_demand(&self->pod, product_keys),
				.instance_type = node_demand(&self->pod, type_keys)};
	bool is_pinned = false, is_memory_known = true, is_ephemeral_known = true;
	const struct node_shape *shapes;
	size_t n;

	if (self->ret->ask.by_claim && !self->ret->ask.resource[0])
		return;
	shapes = snapshot_node_shapes(self->input->snapshot, &n);
	demand.takes_slices = !is_offered(self->ret->ask.resource, shapes, n);
	for (size_t i = 0; i < n; i++) {
		if (!is_candidate(self, &shapes[i], &demand))
			continue;
		view_shape(self, &shapes[i]);
		is_memory_known &= shapes[i].memory_bytes > 0;
		is_ephemeral_known &= shapes[i].ephemeral_bytes > 0;
		is_pinned |= demand.instance_type && streq(demand.instance_type, shapes[i].instance_type);
	}
	self->nodes.is_complete = is_pinned || snapshot_shapes_complete(self->input->snapshot, self->ret->ask.resource);
	if (!is_memory_known)
		self->nodes.largest_memory_bytes = 0;
	if (!is_ephemeral_known)
		self->nodes.largest_ephemeral_bytes = 0;
}

static const struct owner_facts *root_owner(const struct deciding *self)
{
	const struct k8s_owner *controller = k8s_pod_controller(&self->pod);

	if (self->input->subject == SUBJECT_TEMPLATE || !controller || !controller->uid[0])
		return NULL;
	return snapshot_root_owner(self->input->snapshot, controller->uid);
}

int decide_gather(struct deciding *self)
{
	const struct decide_input *input = self->input;
	int r;

	self->pod = *input->pod;
	if (input->namespace_name && input->namespace_name[0])
		self->pod.namespace_name = input->namespace_name;
	self->facts = snapshot_namespace(input->snapshot, self->pod.namespace_name);
	self->owner = root_owner(self);
	r = add_owner_to_come(self);
	if (r)
		return r;
	self->is_trainer = input->subject == SUBJECT_TEMPLATE && streq(input->root_kind, "TrainJob") &&
			   streq(input->root_group, "trainer.kubeflow.org");
	self->is_bare = input->subject == SUBJECT_POD && !k8s_pod_controller(&self->pod);
	self->ret->pod_class = pod_classify(&self->pod, &self->ret->class_why);
	self->ret->skip = decide_skip_reason(self);
	if (!self->ret->skip && !self->pod.n_containers)
		self->ret->skip = "no-containers";
	if (self->ret->skip)
		return 0;
	self->ret->ask.resource = "";
	(void)accelerator_of_pod(&self->pod, &self->ret->ask);
	identify(self);
	r = copy_pod(self);
	if (!r)
		r = gather_items(self);
	if (r)
		return r;
	stamp(self);
	gather_nodes(self);
	self->qos = k8s_pod_qos(&self->pod);
	self->has_pod_memory = self->pod.has_pod_resources && (self->pod.resources.requests[K8S_MEMORY].text ||
							       self->pod.resources.limits[K8S_MEMORY].text);
	return 0;
}
