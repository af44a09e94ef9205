/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/node.h"

#include "k8s/accelerator.h"
#include "k8s/quantity.h"

#include <errno.h>
#include <stdio.h>

#define WHOLE	   1000
#define NUMBER_MAX 1000000

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static int64_t amount_of(struct json_object *object, const char *key)
{
	const char *text = text_of(object, key);
	struct quantity quantity;

	if (!text || quantity_parse(text, strlen(text), &quantity, NULL))
		return 0;
	return MAX(quantity_value(&quantity), 0);
}

/* Clamped so that products of three numbers cannot overflow. */
static int64_t number_of(struct json_object *object, const char *key)
{
	return MIN(amount_of(object, key), NUMBER_MAX);
}

/* Copies the first of these labels that is present. */
static void copy_label(struct json_object *labels, const char *const *keys, char *ret, size_t size)
{
	for (*ret = '\0'; *keys && !*ret; keys++) {
		const char *text = text_of(labels, *keys);

		if (text && strlen(text) < size)
			snprintf(ret, size, "%s", text);
	}
}

static int64_t ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

/* ---- virtual nodes, nodes that are starting ---- */

/* Value NULL: any. */
struct label_row {
	const char *key, *value;
};

static bool has_label(struct json_object *labels, const struct label_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *value = text_of(labels, rows[i].key);

		if (value && *value && (!rows[i].value || streq(value, rows[i].value)))
			return true;
	}
	return false;
}

static const struct label_row virtual_rows[] = {
	{"eks.amazonaws.com/compute-type", "fargate"},
	{"type", "virtual-kubelet"},
	{"liqo.io/type", "virtual-node"},
};

/* Labels that the cloud or feature discovery sets before the device plugin has counted devices. */
static const struct label_row coming_rows[] = {
	{"nvidia.com/gpu.present", "true"},
	{"nvidia.com/gpu.product", NULL},
	{"amd.com/gpu.product-name", NULL},
	{"cloud.google.com/gke-accelerator", NULL},
	{"cloud.google.com/gke-tpu-accelerator", NULL},
	{"karpenter.k8s.aws/instance-gpu-count", NULL},
	{"karpenter.k8s.aws/instance-accelerator-count", NULL},
	{"k8s.amazonaws.com/accelerator", NULL},
};

static bool has_virtual_taint(struct json_object *json)
{
	struct json_object *taints = json_member(json_member(json, "spec"), "taints");
	size_t n = json_object_is_type(taints, json_type_array) ? json_object_array_length(taints) : 0;

	for (size_t i = 0; i < n; i++)
		if (streq(text_of(json_object_array_get_idx(taints, i), "key"), "virtual-kubelet.io/provider"))
			return true;
	return false;
}

/* ---- accelerators ---- */

struct offering {
	struct k8s_node *node;
	struct json_object *labels;
	/* Of NVIDIA: */
	/* what one unit of `nvidia.com/gpu` is with MIG strategy single; milli 0: a whole device */
	struct accelerator_mig single;
	int64_t device_mib; /* memory of one; 0: not known */
	/* whole devices; thousandths and compute slices used by MIG slices */
	int64_t full, mig_milli, mig_compute, compute_slices;
	bool is_full_known;
};

static bool is_nvidia(const struct k8s_node_offer *offer)
{
	return strstarts(offer->resource, "nvidia.com/");
}

static bool is_mig(const struct k8s_node_offer *offer)
{
	return strstarts(offer->resource, "nvidia.com/mig-");
}

/* A number from GPU feature discovery: "nvidia.com/gpu" + ".replicas"; 0: absent. */
static int64_t label_number(const struct offering *self, const char *base, const char *what)
{
	char key[160];

	snprintf(key, sizeof(key), "%s.%s", base, what);
	return number_of(self->labels, key);
}

/* How many units one device or slice has, by time-slicing or MPS. 0: not known. */
static int64_t replicas_of(const struct offering *self, const struct k8s_node_offer *offer)
{
	char base[96], key[160];
	const char *strategy;
	int64_t replicas;

	snprintf(base, sizeof(base), "%s", is_mig(offer) ? offer->resource : "nvidia.com/gpu");
	if (str_ends(str_c(base), STR(".shared")))
		base[strlen(base) - strlen(".shared")] = '\0';
	snprintf(key, sizeof(key), "%s.sharing-strategy", base);
	strategy = text_of(self->labels, key);
	replicas = label_number(self, base, "replicas");
	if (replicas < 1 || replicas > offer->count || (strategy && streq(strategy, "none")))
		return str_ends(str_c(offer->resource), STR(".shared")) ? 0 : 1;
	return replicas;
}

/* "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb" -> 81920; 0: not known. */
static int64_t product_mib(const char *product)
{
	for (const char *p = product; (p = strchr(p, '-'));) {
		int64_t gib = 0;

		for (p++; *p >= '0' && *p <= '9' && gib < 10000; p++)
			gib = gib * 10 + (*p - '0');
		if (gib > 0 && strstarts(p, "GB"))
			return gib * 1024;
	}
	return 0;
}

static void read_product(struct offering *self)
{
	const char *mig = strstr(self->node->product, "-MIG-");

	self->device_mib = product_mib(self->node->product);
	if (!mig) {
		/* of a slice with strategy single */
		self->device_mib = MAX(self->device_mib, label_number(self, "nvidia.com/gpu", "memory"));
		return;
	}
	if (!accelerator_mig_read(mig + strlen("-MIG-"), self->device_mib, &self->single))
		self->single.milli = 0;
}

static bool mig_of(const struct offering *self, const struct k8s_node_offer *offer, struct accelerator_mig *ret)
{
	return accelerator_mig_read(offer->resource + strlen("nvidia.com/mig-"), self->device_mib, ret);
}

/* Some devices are cut into four: their 2g and 4g slices show it; a 1g slice may be one with twice the memory. */
static int64_t compute_slices(const struct accelerator_mig *mig)
{
	return mig->compute > 1 && mig->milli == (int64_t)mig->compute * 250 ? 4 : 7;
}

/* The number of such slices of one device. */
static int64_t slices_of_device(const struct accelerator_mig *mig)
{
	return MAX(1, MIN(WHOLE / mig->milli, compute_slices(mig) / mig->compute));
}

/* Adds the number of devices behind an NVIDIA resource. */
static void add_nvidia(struct offering *self, const struct k8s_node_offer *offer)
{
	int64_t replicas = replicas_of(self, offer), units = replicas ? ceil_div(offer->count, replicas) : 0;
	struct accelerator_mig mig;

	if (is_mig(offer)) {
		if (!mig_of(self, offer, &mig))
			return;
		self->mig_milli += units * mig.milli;
		self->mig_compute += units * mig.compute;
		self->compute_slices = MIN(self->compute_slices, compute_slices(&mig));
		return;
	}
	if (!accelerator_milli(offer->resource) && !str_ends(str_c(offer->resource), STR(".shared")))
		units = 0; /* slices whose size is not known from the name */
	self->is_full_known = self->is_full_known && units > 0;
	self->full += self->single.milli ? ceil_div(units, slices_of_device(&self->single)) : units;
}

static int64_t nvidia_devices(const struct offering *self)
{
	int64_t cut = MAX(ceil_div(self->mig_milli, WHOLE), ceil_div(self->mig_compute, self->compute_slices));
	int64_t found = self->is_full_known ? self->full + cut : 0;

	/* with strategy single this counts slices */
	return self->single.milli ? found : MAX(found, label_number(self, "nvidia.com/gpu", "count"));
}

static int64_t parts_of(int64_t devices, int64_t replicas, int64_t milli)
{
	return devices * replicas * WHOLE / milli;
}

static void finish_nvidia(const struct offering *self, int64_t devices, struct k8s_node_offer *offer)
{
	int64_t replicas = replicas_of(self, offer), milli = self->single.milli ? self->single.milli : WHOLE;
	struct accelerator_mig mig;

	if (is_mig(offer))
		milli = mig_of(self, offer, &mig) ? mig.milli : 0;
	if (!replicas && devices)
		replicas = ceil_div(offer->count, devices); /* .shared, with an unknown number of replicas */
	offer->devices = devices;
	if (milli && replicas)
		offer->parts = parts_of(devices, replicas, milli);
}

/* For partitions, the name says how many make a device; all others are one device for each unit, or unknown. */
static void finish_other(struct k8s_node_offer *offer)
{
	int64_t milli = accelerator_milli(offer->resource);

	if (milli <= 0)
		return;
	offer->devices = ceil_div(offer->count * MIN(milli, WHOLE), WHOLE);
	offer->parts = parts_of(offer->devices, 1, MIN(milli, WHOLE));
}

static void finish_offers(struct offering *self)
{
	int64_t devices;

	for (size_t i = 0; i < self->node->n_offers; i++)
		if (is_nvidia(&self->node->offers[i]))
			add_nvidia(self, &self->node->offers[i]);
	devices = nvidia_devices(self);
	for (size_t i = 0; i < self->node->n_offers; i++) {
		struct k8s_node_offer *offer = &self->node->offers[i];

		if (is_nvidia(offer))
			finish_nvidia(self, devices, offer);
		else
			finish_other(offer);
		offer->parts = MAX(offer->parts, offer->count);
	}
}

static void take_offer(struct k8s_node *node, const char *resource, int64_t count)
{
	size_t i = 0;

	if (count <= 0 || strlen(resource) >= sizeof(node->offers[0].resource) || !accelerator_is_resource(resource))
		return;
	while (i < node->n_offers && !streq(node->offers[i].resource, resource))
		i++;
	if (i == K8S_NODE_OFFERS)
		return;
	if (i == node->n_offers) {
		node->offers[i] = (struct k8s_node_offer){.count = 0};
		snprintf(node->offers[i].resource, sizeof(node->offers[i].resource), "%s", resource);
		node->n_offers++;
	}
	/* A device that is out of order, or whose plugin is not running, is missing only from allocatable. */
	node->offers[i].count = MAX(node->offers[i].count, count);
}

static void take_resources(struct k8s_node *node, struct json_object *amounts)
{
	if (!json_object_is_type(amounts, json_type_object))
		return;
	json_object_object_foreach(amounts, key, value)
	{
		(void)value;
		take_offer(node, key, number_of(amounts, key));
	}
}

int k8s_node_read(struct json_object *json, struct k8s_node *ret, struct err *err)
{
	static const char *const products[] = {"nvidia.com/gpu.product",
					       "amd.com/gpu.product-name",
					       "beta.amd.com/gpu.product-name",
					       "cloud.google.com/gke-accelerator",
					       "cloud.google.com/gke-tpu-accelerator",
					       "k8s.amazonaws.com/accelerator",
					       "karpenter.k8s.aws/instance-gpu-name",
					       NULL};
	static const char *const types[] = {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type",
					    NULL};
	struct json_object *metadata = json_member(json, "metadata"), *status = json_member(json, "status");
	struct json_object *allocatable = json_member(status, "allocatable"),
			   *capacity = json_member(status, "capacity");
	struct json_object *labels = json_member(metadata, "labels");
	struct offering offering = {.node = ret, .labels = labels, .compute_slices = 7, .is_full_known = true};
	const char *name = NULL;
	int r = json_get_string(metadata, "metadata", "name", &name, err);

	if (r || strlen(name) >= sizeof(ret->name))
		return r < 0 ? r : err_set(err, -EINVAL, "a node without a name");
	*ret = (struct k8s_node){.is_virtual = has_label(labels, virtual_rows, ARRAY_LEN(virtual_rows)) ||
					       has_virtual_taint(json)};
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	copy_label(labels, products, ret->product, sizeof(ret->product));
	copy_label(labels, types, ret->instance_type, sizeof(ret->instance_type));
	ret->memory_bytes = amount_of(allocatable, "memory");
	ret->ephemeral_bytes = amount_of(allocatable, "ephemeral-storage");
	take_resources(ret, capacity);
	take_resources(ret, allocatable);
	ret->is_coming = !ret->n_offers && has_label(labels, coming_rows, ARRAY_LEN(coming_rows));
	read_product(&offering);
	finish_offers(&offering);
	return 0;
}
