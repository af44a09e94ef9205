/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/limits.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS_MAX = 1024 }; /* of one LimitRange, scopes of one quota, values of one scope */

static const __int128 nano_of_unit = 1000000000, nano_of_milli = 1000000;

/* How an amount that is no whole number of units is cut: never so that more seems allowed than is. */
enum rounding { ROUND_DOWN, ROUND_UP };

static int64_t whole(const struct quantity *quantity, bool is_milli, enum rounding rounding)
{
	__int128 unit = is_milli ? nano_of_milli : nano_of_unit, n = quantity->nano / unit;

	n += rounding == ROUND_UP && quantity->nano % unit > 0;
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static int oom(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* ---- decoding ---- */

/* A quantity may be written as a number. Absent: K8S_NO_BOUND. */
static int decode_amount_of(struct json_object *map, const char *path, const char *key, bool is_milli,
			    enum rounding rounding, int64_t *ret, struct err *err)
{
	struct json_object *value = json_member(map, key);
	struct quantity quantity;
	char where[128];
	const char *text;

	*ret = K8S_NO_BOUND;
	if (!value)
		return 0;
	snprintf(where, sizeof(where), "%s.%s", path, key);
	if (json_object_is_type(value, json_type_object) || json_object_is_type(value, json_type_array) ||
	    json_object_is_type(value, json_type_boolean))
		return err_set_at(err, -EINVAL, where, 0, 0, "expected a quantity, found %s",
				  json_type_to_name(json_object_get_type(value)));
	text = json_object_get_string(value);
	if (!text)
		return oom(err);
	if (quantity_parse(text, strlen(text), &quantity, NULL) != 0 || quantity.nano < 0)
		return err_set_at(err, -EINVAL, where, 0, 0, "\"%.60s\" is no amount that can be a bound", text);
	*ret = whole(&quantity, is_milli, rounding);
	return 0;
}

static int decode_names(struct json_object *object, struct arena *arena, const char **ret_namespace, const char **ret,
			struct err *err)
{
	struct json_object *metadata = NULL;
	const char *namespace_name = "", *name = "";
	int r = json_get_object(object, "", "metadata", &metadata, err);

	if (r >= 0)
		r = json_get_string(metadata, "metadata", "namespace", &namespace_name, err);
	if (r >= 0)
		r = json_get_string(metadata, "metadata", "name", &name, err);
	if (r < 0)
		return r;
	*ret_namespace = arena_strdup(arena, namespace_name);
	*ret = arena_strdup(arena, name);
	return *ret_namespace && *ret ? 0 : oom(err);
}

static const struct {
	const char *key;
	enum rounding rounding;
} bound_table[K8S_BOUND_COUNT_] = {
	[K8S_BOUND_MIN] = {"min", ROUND_UP},
	[K8S_BOUND_MAX] = {"max", ROUND_DOWN},
	[K8S_BOUND_DEFAULT] = {"default", ROUND_UP},
	[K8S_BOUND_DEFAULT_REQUEST] = {"defaultRequest", ROUND_UP},
	[K8S_BOUND_RATIO] = {"maxLimitRequestRatio", ROUND_DOWN},
};

static void default_item(struct k8s_limit_item *item)
{
	for (int i = 0; i < K8S_RESOURCE_COUNT_ && !item->is_pod; i++) {
		int64_t *limit = &item->bounds[K8S_BOUND_DEFAULT][i];
		int64_t *request = &item->bounds[K8S_BOUND_DEFAULT_REQUEST][i];

		if (*limit == K8S_NO_BOUND)
			*limit = item->bounds[K8S_BOUND_MAX][i];
		if (*request == K8S_NO_BOUND)
			*request = *limit;
		if (*request == K8S_NO_BOUND)
			*request = item->bounds[K8S_BOUND_MIN][i];
	}
}

static int decode_item(struct json_object *object, const char *path, struct k8s_limit_item *ret, struct err *err)
{
	for (int b = 0; b < K8S_BOUND_COUNT_; b++) {
		struct json_object *map = NULL;
		char where[96];
		int r = json_get_object(object, path, bound_table[b].key, &map, err);

		snprintf(where, sizeof(where), "%s.%s", path, bound_table[b].key);
		for (int i = 0; i < K8S_RESOURCE_COUNT_ && r >= 0; i++)
			r = decode_amount_of(map, where, k8s_resource_names[i], i == K8S_CPU || b == K8S_BOUND_RATIO,
					     bound_table[b].rounding, &ret->bounds[b][i], err);
		if (r < 0)
			return r;
	}
	default_item(ret);
	return 0;
}

static int decode_items(struct json_object *limits, struct arena *arena, struct k8s_limit_range *ret, struct err *err)
{
	size_t n = limits ? json_object_array_length(limits) : 0;
	struct k8s_limit_item *items;

	if (n > ITEMS_MAX)
		return err_set_at(err, -EINVAL, "spec.limits", 0, 0, "more than %d items", ITEMS_MAX);
	items = arena_array(arena, n + 1, sizeof(*items));
	if (!items)
		return oom(err);
	ret->items = items;
	for (size_t i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(limits, i);
		const char *type = "";
		char path[48];
		int r;

		snprintf(path, sizeof(path), "spec.limits[%zu]", i);
		r = json_get_string(item, path, "type", &type, err);
		if (r < 0)
			return r;
		items[ret->n_items].is_pod = streq(type, "Pod");
		if (!streq(type, "Pod") && !streq(type, "Container"))
			continue;
		r = decode_item(item, path, &items[ret->n_items++], err);
		if (r)
			return r;
	}
	return 0;
}

int k8s_limit_range_decode(struct json_object *object, struct arena *arena, struct k8s_limit_range *ret,
			   struct err *err)
{
	struct k8s_limit_range decoded = {.n_items = 0};
	struct json_object *spec = NULL, *limits = NULL;
	int r = decode_names(object, arena, &decoded.namespace_name, &decoded.name, err);

	if (!r)
		r = json_get_object(object, "", "spec", &spec, err);
	if (r >= 0)
		r = json_get_array(spec, "spec", "limits", &limits, err);
	if (r >= 0)
		r = decode_items(limits, arena, &decoded, err);
	if (r < 0)
		return r;
	*ret = decoded;
	return 0;
}

/* "memory" is "requests.memory" by its first name; where a quota has both, both must hold. */
static int decode_counted(struct json_object *map, const char *path, int resource, int field, enum rounding rounding,
			  int64_t *ret, struct err *err)
{
	static const char *const prefixes[K8S_QUOTA_FIELDS_] = {"requests.", "limits."};
	int64_t first = K8S_NO_BOUND;
	char key[40];
	int r;

	snprintf(key, sizeof(key), "%s%s", prefixes[field], k8s_resource_names[resource]);
	r = decode_amount_of(map, path, key, resource == K8S_CPU, rounding, ret, err);
	if (!r && field == K8S_QUOTA_REQUESTS)
		r = decode_amount_of(map, path, k8s_resource_names[resource], resource == K8S_CPU, rounding, &first,
				     err);
	if (!r && first != K8S_NO_BOUND && (*ret == K8S_NO_BOUND || (rounding == ROUND_DOWN) == (first < *ret)))
		*ret = first;
	return r;
}

/* One list of amounts of a quota. */
static int decode_amounts_of(struct json_object *parent, const char *parent_name, const char *key,
			     enum rounding rounding, int64_t ret[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_],
			     int64_t *ret_pods, struct err *err)
{
	struct json_object *map = NULL;
	int r = json_get_object(parent, parent_name, key, &map, err);
	char path[32];

	snprintf(path, sizeof(path), "%s.%s", parent_name, key);
	for (int f = 0; f < K8S_QUOTA_FIELDS_ && r >= 0; f++)
		for (int i = 0; i < K8S_RESOURCE_COUNT_ && r >= 0; i++)
			r = decode_counted(map, path, i, f, rounding, &ret[f][i], err);
	return r < 0 ? r : decode_amount_of(map, path, "pods", false, rounding, ret_pods, err);
}

static int64_t lower_bound(int64_t a, int64_t b)
{
	if (a == K8S_NO_BOUND || b == K8S_NO_BOUND)
		return MAX(a, b);
	return MIN(a, b);
}

static int decode_quota_amounts(struct json_object *spec, struct json_object *status, struct k8s_quota *ret,
				struct err *err)
{
	int64_t hard[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_], live[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_],
		used[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_], pods, live_pods, used_pods;
	int r = decode_amounts_of(spec, "spec", "hard", ROUND_DOWN, hard, &pods, err);

	if (!r)
		r = decode_amounts_of(status, "status", "hard", ROUND_DOWN, live, &live_pods, err);
	if (!r)
		r = decode_amounts_of(status, "status", "used", ROUND_UP, used, &used_pods, err);
	if (r)
		return r;
	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int i = 0; i < K8S_RESOURCE_COUNT_; i++)
			ret->amounts[f][i] = (struct k8s_quota_amount){.hard = lower_bound(hard[f][i], live[f][i]),
								       .used = MAX(used[f][i], 0)};
	ret->pods = (struct k8s_quota_amount){.hard = lower_bound(pods, live_pods), .used = MAX(used_pods, 0)};
	return 0;
}

static int name_index(const char *const *names, int n, const char *name, int otherwise)
{
	for (int i = 0; i < n; i++)
		if (streq(names[i], name))
			return i;
	return otherwise;
}

static enum k8s_scope scope_of(const char *name)
{
	static const char *const names[] = {
		[K8S_SCOPE_TERMINATING] = "Terminating",
		[K8S_SCOPE_NOT_TERMINATING] = "NotTerminating",
		[K8S_SCOPE_BEST_EFFORT] = "BestEffort",
		[K8S_SCOPE_NOT_BEST_EFFORT] = "NotBestEffort",
		[K8S_SCOPE_PRIORITY_CLASS] = "PriorityClass",
		[K8S_SCOPE_CROSS_NAMESPACE_AFFINITY] = "CrossNamespacePodAffinity",
		[K8S_SCOPE_CLAIMS] = "VolumeAttributesClass",
	};

	return (enum k8s_scope)name_index(names, (int)ARRAY_LEN(names), name, K8S_SCOPE_UNKNOWN);
}

static int decode_values(struct json_object *expression, const char *path, struct arena *arena,
			 struct k8s_quota_scope *ret, struct err *err)
{
	struct json_object *values = NULL;
	int r = json_get_array(expression, path, "values", &values, err);
	size_t n = values ? json_object_array_length(values) : 0;
	const char **copy;

	if (r < 0)
		return r;
	copy = arena_array(arena, n + 1, sizeof(*copy));
	if (!copy)
		return oom(err);
	for (size_t i = 0; i < n; i++) {
		struct json_object *value = json_object_array_get_idx(values, i);

		if (!json_object_is_type(value, json_type_string))
			return err_set_at(err, -EINVAL, path, 0, 0, "values must be strings");
		copy[i] = arena_strdup(arena, json_object_get_string(value));
		if (!copy[i])
			return oom(err);
	}
	ret->values = copy;
	ret->n_values = n;
	return 0;
}

static int decode_expression(struct json_object *expression, const char *path, struct arena *arena,
			     struct k8s_quota_scope *ret, struct err *err)
{
	static const char *const operators[] = {"Exists", "DoesNotExist", "In", "NotIn"};
	const char *name = "", *operator_ = "";
	int r = json_get_string(expression, path, "scopeName", &name, err);

	if (r >= 0)
		r = json_get_string(expression, path, "operator", &operator_, err);
	if (r < 0)
		return r;
	ret->scope = scope_of(name);
	r = name_index(operators, (int)ARRAY_LEN(operators), operator_, -1);
	if (r < 0)
		return err_set_at(err, -EINVAL, path, 0, 0, "no operator is called \"%.40s\"", operator_);
	ret->operator_ = (enum k8s_scope_operator)r;
	return decode_values(expression, path, arena, ret, err);
}

static int decode_scopes(struct json_object *spec, struct arena *arena, struct k8s_quota *ret, struct err *err)
{
	struct json_object *names = NULL, *selector = NULL, *expressions = NULL;
	struct k8s_quota_scope *scopes;
	size_t n_names, n_expressions;
	int r = json_get_array(spec, "spec", "scopes", &names, err);

	if (r >= 0)
		r = json_get_object(spec, "spec", "scopeSelector", &selector, err);
	if (r >= 0)
		r = json_get_array(selector, "spec.scopeSelector", "matchExpressions", &expressions, err);
	if (r < 0)
		return r;
	n_names = names ? json_object_array_length(names) : 0;
	n_expressions = expressions ? json_object_array_length(expressions) : 0;
	if (n_names > ITEMS_MAX || n_expressions > ITEMS_MAX)
		return err_set_at(err, -EINVAL, "spec", 0, 0, "more than %d scopes", ITEMS_MAX);
	scopes = arena_array(arena, n_names + n_expressions + 1, sizeof(*scopes));
	if (!scopes)
		return oom(err);
	ret->scopes = scopes;
	for (size_t i = 0; i < n_names; i++) {
		struct json_object *name = json_object_array_get_idx(names, i);

		if (!json_object_is_type(name, json_type_string))
			return err_set_at(err, -EINVAL, "spec.scopes", 0, 0, "scopes must be strings");
		scopes[ret->n_scopes++].scope = scope_of(json_object_get_string(name));
	}
	for (size_t i = 0; i < n_expressions; i++) {
		char path[64];

		snprintf(path, sizeof(path), "spec.scopeSelector.matchExpressions[%zu]", i);
		r = decode_expression(json_object_array_get_idx(expressions, i), path, arena, &scopes[ret->n_scopes++],
				      err);
		if (r)
			return r;
	}
	return 0;
}

int k8s_quota_decode(struct json_object *object, struct arena *arena, struct k8s_quota *ret, struct err *err)
{
	struct k8s_quota decoded = {.n_scopes = 0};
	struct json_object *spec = NULL, *status = NULL;
	int r = decode_names(object, arena, &decoded.namespace_name, &decoded.name, err);

	if (!r)
		r = json_get_object(object, "", "spec", &spec, err);
	if (r >= 0)
		r = json_get_object(object, "", "status", &status, err);
	if (r >= 0)
		r = decode_quota_amounts(spec, status, &decoded, err);
	if (!r)
		r = decode_scopes(spec, arena, &decoded, err);
	if (r < 0)
		return r;
	*ret = decoded;
	return 0;
}
