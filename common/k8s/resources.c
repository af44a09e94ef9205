/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/decode.h"

const char *const k8s_resource_names[K8S_RESOURCE_COUNT_] = {"cpu", "memory", "ephemeral-storage"};

int decode_amount(const struct doc *value, bool is_milli, struct k8s_amount *ret, struct err *err)
{
	if (!value || value->type == DOC_NULL) /* as absent: templates hold nulls, the API server sends none */
		return 0;
	/* Untyped objects (PyTorchJob and alike) keep a number a number. */
	if (value->type != DOC_STRING && value->type != DOC_NUMBER)
		return decode_type_error(value, "a quantity", err);
	ret->text = value->text;
	ret->is_invalid = quantity_parse(value->text, value->n_text, &ret->quantity, NULL) != 0;
	if (!ret->is_invalid)
		ret->value = is_milli ? quantity_milli_value(&ret->quantity) : quantity_value(&ret->quantity);
	return 0;
}

int decode_amounts(const struct doc *map, struct k8s_amount ret[K8S_RESOURCE_COUNT_], struct err *err)
{
	for (int i = 0; i < K8S_RESOURCE_COUNT_; i++) {
		int r = decode_amount(doc_member(map, k8s_resource_names[i]), i == K8S_CPU, &ret[i], err);

		if (r)
			return decode_at(r, err, "%s", k8s_resource_names[i]);
	}
	return 0;
}

/* Extended resources have a domain; what has none belongs to Kubernetes (hugepages, storage). */
static bool is_extended(const struct doc *item)
{
	return item->type != DOC_NULL && memchr(item->key, '/', item->n_key);
}

static size_t extended_count(const struct doc *map)
{
	size_t n = 0;

	for (const struct doc *item = map ? map->first : NULL; item; item = item->next)
		n += is_extended(item);
	return n;
}

static struct k8s_extended *extended_find(struct k8s_resources *self, const char *name)
{
	for (size_t i = 0; i < self->n_extended; i++)
		if (strcmp(self->extended[i].name, name) == 0)
			return &self->extended[i];
	return NULL;
}

static int decode_extended(const struct doc *map, struct k8s_resources *self, struct err *err)
{
	for (const struct doc *item = map ? map->first : NULL; item; item = item->next) {
		struct k8s_amount amount = {.text = NULL};
		struct k8s_extended *extended;
		int r;

		if (!is_extended(item))
			continue;
		r = decode_amount(item, false, &amount, err);
		if (r)
			return decode_at(r, err, "%s", item->key);
		extended = extended_find(self, item->key);
		if (!extended) {
			extended = &self->extended[self->n_extended++];
			extended->name = item->key;
		}
		extended->is_invalid |= amount.is_invalid;
		extended->count = MAX(extended->count, amount.value);
	}
	return 0;
}

static int decode_resources_in(const struct doc *object, struct arena *arena, struct k8s_resources *ret,
			       struct err *err)
{
	const struct doc *requests = NULL, *limits = NULL, *claims;
	size_t n_extended;
	int r = decode_object(object, "requests", &requests, err);

	if (!r)
		r = decode_object(object, "limits", &limits, err);
	if (!r)
		r = decode_items(object, "claims", &claims, &ret->n_claims, err);
	if (r)
		return r;
	ret->has_requests = requests != NULL;
	ret->has_limits = limits != NULL;
	r = decode_amounts(requests, ret->requests, err);
	if (r)
		return decode_at(r, err, "requests");
	r = decode_amounts(limits, ret->limits, err);
	if (r)
		return decode_at(r, err, "limits");
	n_extended = extended_count(requests) + extended_count(limits);
	if (!n_extended)
		return 0;
	ret->extended = arena_array(arena, n_extended, sizeof(*ret->extended));
	if (!ret->extended)
		return decode_oom(err);
	r = decode_extended(requests, ret, err);
	if (r)
		return decode_at(r, err, "requests");
	return decode_at(decode_extended(limits, ret, err), err, "limits");
}

int decode_resources(const struct doc *owner, struct arena *arena, struct k8s_resources *ret, struct err *err)
{
	const struct doc *object = NULL;
	int r = decode_object(owner, "resources", &object, err);

	if (r || !object)
		return r;
	ret->is_present = true;
	return decode_at(decode_resources_in(object, arena, ret, err), err, "resources");
}
