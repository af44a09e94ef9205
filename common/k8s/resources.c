/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/decode.h"

#include "base/limits.h"
#include "k8s/accelerator.h"

#include <errno.h>

const char *const k8s_resource_names[K8S_RESOURCE_COUNT_] = {"cpu", "memory", "ephemeral-storage"};

/* The API server ignores blanks around a quantity. */
static int parse_trimmed(const char *text, size_t n, struct quantity *ret)
{
	static const char blanks[] = " \t\r\n";

	while (n && strchr(blanks, text[n - 1]))
		n--;
	for (; n && strchr(blanks, *text); n--)
		text++;
	return quantity_parse(text, n, ret, NULL);
}

int decode_amount(const struct doc *value, bool is_milli, struct k8s_amount *ret, struct err *err)
{
	if (!value || value->type == DOC_NULL) /* absent: templates contain nulls, the API server sends none */
		return 0;
	/* Untyped objects (PyTorchJob and similar) may contain numbers. */
	if (value->type != DOC_STRING && value->type != DOC_NUMBER)
		return decode_type_error(value, "a quantity", err);
	ret->text = value->text;
	ret->is_invalid = parse_trimmed(value->text, value->n_text, &ret->quantity) != 0;
	if (!ret->is_invalid)
		ret->value = is_milli ? quantity_milli_value(&ret->quantity) : quantity_value(&ret->quantity);
	return 0;
}

int decode_amounts(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	struct k8s_amount *amounts = ret;
	const struct doc *map = NULL;
	int r = decode_object(object, key, &map, err);

	(void)arena;
	for (int i = 0; i < K8S_RESOURCE_COUNT_ && !r; i++) {
		const struct doc *value = doc_member(map, k8s_resource_names[i]);

		r = decode_at(decode_amount(value, i == K8S_CPU, &amounts[i], err), err, "%s.%s", key,
			      k8s_resource_names[i]);
	}
	return r;
}

/* Extended resources have a domain; names without one belong to Kubernetes (hugepages-2Mi, storage). A text that is too
 * long for a name is no resource. */
static bool is_extended(const struct doc *item)
{
	const char *slash;

	STEPS(1);
	if (item->type == DOC_NULL || item->n_key > LIMIT_QUALIFIED_NAME_BYTES)
		return false;
	STEPS_BULK(item->n_key);
	slash = memchr(item->key, '/', item->n_key);
	if (!slash)
		return strstarts(item->key, K8S_HUGEPAGES) && item->n_key <= LIMIT_NAME_PART_BYTES;
	return item->n_key - (size_t)(slash + 1 - item->key) <= LIMIT_NAME_PART_BYTES;
}

bool k8s_extended_takes(const char *name, const struct quantity *quantity)
{
	const __int128 nano_of_milli = 1000000;
	struct quantity page;
	const char *size;

	if (quantity->nano < 0)
		return false;
	if (!strstarts(name, K8S_HUGEPAGES))
		return (quantity->nano + nano_of_milli - 1) / nano_of_milli % 1000 == 0;
	size = name + strlen(K8S_HUGEPAGES);
	return !quantity_parse(size, strlen(size), &page, NULL) && quantity_value(&page) > 0 &&
	       quantity_value(quantity) % quantity_value(&page) == 0;
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
	for (size_t i = 0; i < self->n_extended; i++) {
		STEPS_BULK(strlen(name));
		if (streq(self->extended[i].name, name))
			return &self->extended[i];
	}
	return NULL;
}

static int decode_extended(const struct doc *map, bool is_limit, struct k8s_resources *self, struct err *err)
{
	for (const struct doc *item = map ? map->first : NULL; item; item = item->next) {
		struct k8s_amount amount = {.text = NULL};
		struct k8s_extended *extended;
		int r;

		if (!is_extended(item))
			continue;
		r = decode_amount(item, false, &amount, err);
		if (r)
			return decode_at(r, err, "%s.%s", is_limit ? "limits" : "requests", item->key);
		extended = extended_find(self, item->key);
		if (!extended) {
			extended = &self->extended[self->n_extended++];
			extended->name = item->key;
			extended->milli = accelerator_milli(item->key);
		}
		if (!extended->refused && (amount.is_invalid || !k8s_extended_takes(item->key, &amount.quantity))) {
			extended->refused = amount.text;
			extended->is_limit = is_limit;
		}
		extended->is_invalid |= amount.is_invalid;
		extended->count = MAX(extended->count, amount.value);
	}
	return 0;
}

/* Extended resources of both maps; most names are in both. */
static int decode_all_extended(const struct doc *object, const char *key, struct arena *arena, void *ret,
			       struct err *err)
{
	const struct doc *requests = doc_member(object, "requests"), *limits = doc_member(object, "limits");
	size_t n = extended_count(requests) + extended_count(limits);
	struct k8s_resources *resources = ret;
	int r;

	(void)key;
	if (!n)
		return 0;
	if (n > 2 * LIMIT_EXTENDED_RESOURCES)
		return err_set(err, -E2BIG, "more than %d extended resources", LIMIT_EXTENDED_RESOURCES);
	resources->extended = arena_array(arena, n, sizeof(*resources->extended));
	if (!resources->extended)
		return decode_oom(err);
	r = decode_extended(requests, false, resources, err);
	return r ? r : decode_extended(limits, true, resources, err);
}

#define F(key, type, member)                                                                                           \
	{                                                                                                              \
		(key), (type), .offset = offsetof(struct k8s_resources, member)                                        \
	}
#define BY(key, member, fn)                                                                                            \
	{                                                                                                              \
		(key), DECODE_BY, .offset = offsetof(struct k8s_resources, member), .decode = (fn)                     \
	}
static const struct decode_table resources_table = DECODE_TABLE(
	DECODE(struct k8s_resources, has_requests, "requests", DECODE_IS_PRESENT),
	DECODE(struct k8s_resources, has_limits, "limits", DECODE_IS_PRESENT),
	DECODE(struct k8s_resources, n_claims, "claims", DECODE_COUNT),
	DECODE_WITH(struct k8s_resources, requests, "requests", decode_amounts),
	DECODE_WITH(struct k8s_resources, limits, "limits", decode_amounts),
	{"", DECODE_BY, .decode = decode_all_extended});

int decode_resources(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	const struct doc *member = NULL;
	int r = decode_object(object, key, &member, err);

	((struct k8s_resources *)ret)->is_present = member != NULL;
	return r ? r : decode_at(decode_fields(&resources_table, member, arena, ret, err), err, "%s", key);
}
