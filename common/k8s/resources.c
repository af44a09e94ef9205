/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/decode.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

const char *const k8s_resource_names[K8S_RESOURCE_COUNT_] = {"cpu", "memory", "ephemeral-storage"};

int decode_oom(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

int decode_at(int r, struct err *err, const char *fmt, ...)
{
	char prefix[sizeof(err->where)], rest[sizeof(err->where)];
	va_list args;

	if (!err || r >= 0)
		return r;
	va_start(args, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, args);
	va_end(args);
	memcpy(rest, err->where, sizeof(rest));
	rest[sizeof(rest) - 1] = '\0';
	/* A path that is too long keeps its beginning. */
	if (snprintf(err->where, sizeof(err->where), "%s%s%s", prefix, *rest && *rest != '[' ? "." : "", rest) < 0)
		err->where[0] = '\0';
	return r;
}

int decode_string(struct json_object *object, const char *key, struct arena *arena, const char **ret, struct err *err)
{
	const char *text;
	int r = json_get_string(object, "", key, &text, err);

	if (r)
		return r == JSON_ABSENT ? 0 : r;
	text = arena_strdup(arena, text);
	if (!text)
		return decode_oom(err);
	*ret = text;
	return 0;
}

int decode_array(struct json_object *object, const char *key, struct json_object **ret, size_t *ret_n, struct err *err)
{
	int r = json_get_array(object, "", key, ret, err);

	*ret_n = 0;
	if (r)
		return r == JSON_ABSENT ? 0 : r;
	*ret_n = json_object_array_length(*ret);
	for (size_t i = 0; i < *ret_n; i++) {
		struct json_object *item = json_object_array_get_idx(*ret, i);

		if (!json_object_is_type(item, json_type_object))
			return decode_at(err_set(err, -EINVAL, "expected object, found %s",
						 json_type_to_name(json_object_get_type(item))),
					 err, "%s[%zu]", key, i);
	}
	return 0;
}

int decode_labels(struct json_object *object, const char *key, struct arena *arena, struct k8s_labels *ret,
		  struct err *err)
{
	struct json_object *map;
	int r = json_get_object(object, "", key, &map, err);

	if (r)
		return r == JSON_ABSENT ? 0 : r;
	ret->is_present = true;
	ret->items = arena_array(arena, (size_t)json_object_object_length(map), sizeof(*ret->items));
	if (!ret->items)
		return decode_oom(err);
	json_object_object_foreach(map, name, value)
	{
		struct k8s_label *label = &ret->items[ret->n];

		if (value && !json_object_is_type(value, json_type_string))
			return decode_at(err_set(err, -EINVAL, "expected string, found %s",
						 json_type_to_name(json_object_get_type(value))),
					 err, "%s[\"%s\"]", key, name);
		label->key = arena_strdup(arena, name);
		label->value = value ? arena_strdup(arena, json_object_get_string(value)) : "";
		if (!label->key || !label->value)
			return decode_oom(err);
		ret->n++;
	}
	return 0;
}

int decode_amount(struct json_object *value, bool is_milli, struct arena *arena, struct k8s_amount *ret,
		  struct err *err)
{
	const char *text;

	switch (json_object_get_type(value)) {
	case json_type_null: /* as absent: templates hold them, the API server sends none */
		return 0;
	case json_type_string:
	case json_type_int: /* untyped objects (PyTorchJob and alike) keep a number a number */
	case json_type_double:
		break;
	default:
		return err_set(err, -EINVAL, "expected a quantity, found %s",
			       json_type_to_name(json_object_get_type(value)));
	}
	text = json_object_get_string(value);
	ret->text = text ? arena_strdup(arena, text) : NULL;
	if (!ret->text)
		return decode_oom(err);
	ret->is_invalid = quantity_parse(ret->text, strlen(ret->text), &ret->quantity, NULL) != 0;
	if (!ret->is_invalid)
		ret->value = is_milli ? quantity_milli_value(&ret->quantity) : quantity_value(&ret->quantity);
	return 0;
}

int decode_amounts(struct json_object *map, struct arena *arena, struct k8s_amount ret[K8S_RESOURCE_COUNT_],
		   struct err *err)
{
	for (int i = 0; i < K8S_RESOURCE_COUNT_; i++) {
		int r = decode_amount(json_member(map, k8s_resource_names[i]), i == K8S_CPU, arena, &ret[i], err);

		if (r)
			return decode_at(r, err, "%s", k8s_resource_names[i]);
	}
	return 0;
}

/* Extended resources have a domain; what has none belongs to Kubernetes (hugepages, storage). */
static size_t extended_count(struct json_object *map)
{
	size_t n = 0;

	if (!map)
		return 0;
	json_object_object_foreach(map, name, value)
	{
		if (value && strchr(name, '/'))
			n++;
	}
	return n;
}

static struct k8s_extended *extended_find(struct k8s_resources *self, const char *name)
{
	for (size_t i = 0; i < self->n_extended; i++)
		if (strcmp(self->extended[i].name, name) == 0)
			return &self->extended[i];
	return NULL;
}

static int decode_extended(struct json_object *map, struct arena *arena, struct k8s_resources *self, struct err *err)
{
	if (!map)
		return 0;
	json_object_object_foreach(map, name, value)
	{
		struct k8s_amount amount = {.text = NULL};
		struct k8s_extended *item;
		int r;

		if (!value || !strchr(name, '/'))
			continue;
		r = decode_amount(value, false, arena, &amount, err);
		if (r)
			return decode_at(r, err, "%s", name);
		item = extended_find(self, name);
		if (!item) {
			item = &self->extended[self->n_extended];
			item->name = arena_strdup(arena, name);
			if (!item->name)
				return decode_oom(err);
			self->n_extended++;
		}
		item->is_invalid |= amount.is_invalid;
		item->count = MAX(item->count, amount.value);
	}
	return 0;
}

static int decode_map(struct json_object *object, const char *key, struct json_object **ret, bool *ret_has,
		      struct err *err)
{
	int r = json_get_object(object, "", key, ret, err);

	*ret_has = r == 0;
	if (r == JSON_ABSENT)
		*ret = NULL;
	return r == JSON_ABSENT ? 0 : r;
}

static int decode_resources_in(struct json_object *object, struct arena *arena, struct k8s_resources *ret,
			       struct err *err)
{
	struct json_object *requests = NULL, *limits = NULL, *claims;
	int r = decode_map(object, "requests", &requests, &ret->has_requests, err);

	if (!r)
		r = decode_map(object, "limits", &limits, &ret->has_limits, err);
	if (!r)
		r = decode_array(object, "claims", &claims, &ret->n_claims, err);
	if (r)
		return r;
	r = decode_amounts(requests, arena, ret->requests, err);
	if (r)
		return decode_at(r, err, "requests");
	r = decode_amounts(limits, arena, ret->limits, err);
	if (r)
		return decode_at(r, err, "limits");
	ret->extended = arena_array(arena, extended_count(requests) + extended_count(limits), sizeof(*ret->extended));
	if (!ret->extended)
		return decode_oom(err);
	r = decode_extended(requests, arena, ret, err);
	if (r)
		return decode_at(r, err, "requests");
	return decode_at(decode_extended(limits, arena, ret, err), err, "limits");
}

int decode_resources(struct json_object *owner, struct arena *arena, struct k8s_resources *ret, struct err *err)
{
	struct json_object *object;
	int r = json_get_object(owner, "", "resources", &object, err);

	if (r)
		return r == JSON_ABSENT ? 0 : r;
	ret->is_present = true;
	return decode_at(decode_resources_in(object, arena, ret, err), err, "resources");
}
