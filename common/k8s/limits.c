/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/limits.h"

#include "base/limits.h"
#include "base/str.h"
#include "k8s/decode.h"

#include <errno.h>
#include <stdio.h>

enum { ITEMS_MAX = 1024 }; /* of one LimitRange */

static const struct allow leaf = {.fields = NULL};
static const struct allow amounts = {.any = &leaf};
static const struct allow allow_names = {ALLOW_ROWS(ALLOW_FIELD("namespace", leaf), ALLOW_FIELD("name", leaf))};

struct names {
	const char *namespace_name, *name;
};
static const struct decode_table names_table = DECODE_TABLE(
	DECODE(struct names, namespace_name, "namespace", DECODE_NAME),
	DECODE(struct names, name, "name", DECODE_NAME));

/* ---- amounts ---- */

/* How an amount is rounded to whole units: never so that more seems allowed than is. */
enum rounding { ROUND_DOWN, ROUND_UP };

static int64_t whole(const struct quantity *quantity, bool is_milli, enum rounding rounding)
{
	__int128 unit = is_milli ? 1000000 : 1000000000, n = quantity->nano / unit;

	n += rounding == ROUND_UP && quantity->nano % unit > 0;
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* A quantity, which may be written as a number. Absent: K8S_NO_BOUND. */
static int decode_bound(const struct doc *map, const char *key, bool is_milli, enum rounding rounding, int64_t *ret,
			struct err *err)
{
	struct k8s_amount amount = {.text = NULL};
	int r = decode_amount(doc_member(map, key), is_milli, &amount, err);

	if (!r && (amount.is_invalid || amount.quantity.nano < 0))
		r = err_set(err, -EINVAL, "\"%.60s\" is no amount that can be a bound", amount.text);
	*ret = amount.text ? whole(&amount.quantity, is_milli, rounding) : K8S_NO_BOUND;
	return decode_at(r, err, "%s", key);
}

/* ---- LimitRange ---- */

struct range_item {
	const char *type;
	struct k8s_limit_item item;
};

struct range {
	struct names names; /* first, as the rows of its members are those of names_table */
	struct range_item *items;
	size_t n_items;
};

static int decode_bounds(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	bool is_ratio = streq(key, "maxLimitRequestRatio");
	enum rounding rounding = is_ratio || streq(key, "max") ? ROUND_DOWN : ROUND_UP;
	const struct doc *map = NULL;
	int64_t *bounds = ret;
	int r = decode_object(object, key, &map, err);

	(void)arena;
	for (int i = 0; i < K8S_RESOURCE_COUNT_ && !r; i++)
		r = decode_at(
			decode_bound(map, k8s_resource_names[i], i == K8S_CPU || is_ratio, rounding, &bounds[i], err),
			err, "%s", key);
	return r;
}

#define BOUND(bound, key) DECODE_WITH(struct range_item, item.bounds[bound], key, decode_bounds)
static const struct decode_table item_table = DECODE_TABLE(
	DECODE(struct range_item, type, "type", DECODE_NAME), BOUND(K8S_BOUND_MIN, "min"), BOUND(K8S_BOUND_MAX, "max"),
	BOUND(K8S_BOUND_DEFAULT, "default"), BOUND(K8S_BOUND_DEFAULT_REQUEST, "defaultRequest"),
	BOUND(K8S_BOUND_RATIO, "maxLimitRequestRatio"));
#undef BOUND
static const struct decode_table range_spec = DECODE_TABLE(
	DECODE_ARRAY(struct range, items, "limits", DECODE_LIST, .table = &item_table, .max = ITEMS_MAX));
static const struct decode_table range_table = DECODE_TABLE(DECODE_INSIDE("metadata", names_table),
							    DECODE_INSIDE("spec", range_spec));

static const struct allow allow_item = {ALLOW_ROWS(ALLOW_FIELD("type", leaf), ALLOW_FIELD("min", amounts),
						   ALLOW_FIELD("max", amounts), ALLOW_FIELD("default", amounts),
						   ALLOW_FIELD("defaultRequest", amounts),
						   ALLOW_FIELD("maxLimitRequestRatio", amounts))};
static const struct allow allow_limits = {ALLOW_ROWS(ALLOW_FIELD("limits", allow_item))};
static const struct allow allow_range = {
	ALLOW_ROWS(ALLOW_FIELD("metadata", allow_names), ALLOW_FIELD("spec", allow_limits))};

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

/* An object with more values than a document may have cannot be read by retrying. */
static int read_object(struct json_object *object, const struct allow *allow, const struct decode_table *table,
		       struct arena *arena, void *ret, struct err *err)
{
	struct doc doc;
	int r = doc_of_json(object, allow, arena, &doc, err);

	r = r ? r : decode_fields(table, &doc, arena, ret, err);
	return r == -E2BIG ? -EINVAL : r;
}

int k8s_limit_range_decode(struct json_object *object, struct arena *arena, struct k8s_limit_range *ret,
			   struct err *err)
{
	struct range range = {.n_items = 0};
	int r = read_object(object, &allow_range, &range_table, arena, &range, err);
	struct k8s_limit_item *items = r ? NULL : arena_array(arena, range.n_items, sizeof(*items));
	size_t n = 0;

	if (!items)
		return r ? r : decode_oom(err);
	for (size_t i = 0; i < range.n_items; i++) {
		if (!streq(range.items[i].type, "Pod") && !streq(range.items[i].type, "Container"))
			continue;
		items[n] = range.items[i].item;
		items[n].is_pod = streq(range.items[i].type, "Pod");
		default_item(&items[n++]);
	}
	*ret = (struct k8s_limit_range){range.names.namespace_name, range.names.name, items, n};
	return 0;
}

/* ---- ResourceQuota ---- */

struct quota_list {
	int64_t amounts[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_], pods;
};

struct quota_expression {
	const char *name, *operator_, **values;
	size_t n_values;
};

struct quota {
	struct names names;
	const char **scopes;
	struct quota_list hard, status_hard, used;
	struct quota_expression *expressions;
	size_t n_scopes, n_expressions;
};

/* "memory" is an old name of "requests.memory"; if a quota has both, both must hold. */
static int decode_counted(const struct doc *map, int resource, int field, enum rounding rounding, int64_t *ret,
			  struct err *err)
{
	static const char *const prefixes[K8S_QUOTA_FIELDS_] = {"requests.", "limits."};
	int64_t first = K8S_NO_BOUND;
	char key[40];
	int r;

	snprintf(key, sizeof(key), "%s%s", prefixes[field], k8s_resource_names[resource]);
	r = decode_bound(map, key, resource == K8S_CPU, rounding, ret, err);
	if (!r && field == K8S_QUOTA_REQUESTS)
		r = decode_bound(map, k8s_resource_names[resource], resource == K8S_CPU, rounding, &first, err);
	if (!r && first != K8S_NO_BOUND && (*ret == K8S_NO_BOUND || (rounding == ROUND_DOWN) == (first < *ret)))
		*ret = first;
	return r;
}

/* Decodes "hard" or "used". */
static int decode_quota_list(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	enum rounding rounding = streq(key, "hard") ? ROUND_DOWN : ROUND_UP;
	struct quota_list *list = ret;
	const struct doc *map = NULL;
	int r = decode_object(object, key, &map, err);

	(void)arena;
	if (r)
		return r;
	for (int f = 0; f < K8S_QUOTA_FIELDS_ && !r; f++)
		for (int i = 0; i < K8S_RESOURCE_COUNT_ && !r; i++)
			r = decode_counted(map, i, f, rounding, &list->amounts[f][i], err);
	if (!r)
		r = decode_bound(map, "pods", false, rounding, &list->pods, err);
	return decode_at(r, err, "%s", key);
}

static const struct decode_table expression_table = DECODE_TABLE(
	DECODE(struct quota_expression, name, "scopeName", DECODE_NAME),
	DECODE(struct quota_expression, operator_, "operator", DECODE_NAME),
	DECODE_ARRAY(struct quota_expression, values, "values", DECODE_TEXTS));
static const struct decode_table selector_table = DECODE_TABLE(
	DECODE_ARRAY(struct quota, expressions, "matchExpressions", DECODE_LIST, .table = &expression_table));
static const struct decode_table quota_spec = DECODE_TABLE(DECODE_WITH(struct quota, hard, "hard", decode_quota_list),
							   DECODE_ARRAY(struct quota, scopes, "scopes", DECODE_TEXTS),
							   DECODE_INSIDE("scopeSelector", selector_table));
static const struct decode_table quota_status = DECODE_TABLE(
	DECODE_WITH(struct quota, status_hard, "hard", decode_quota_list),
	DECODE_WITH(struct quota, used, "used", decode_quota_list));
static const struct decode_table quota_table = DECODE_TABLE(DECODE_INSIDE("metadata", names_table),
							    DECODE_INSIDE("spec", quota_spec),
							    DECODE_INSIDE("status", quota_status));

static const struct allow allow_expression = {
	ALLOW_ROWS(ALLOW_FIELD("scopeName", leaf), ALLOW_FIELD("operator", leaf), ALLOW_FIELD("values", leaf))};
static const struct allow allow_selector = {ALLOW_ROWS(ALLOW_FIELD("matchExpressions", allow_expression))};
static const struct allow allow_quota_part = {ALLOW_ROWS(ALLOW_FIELD("hard", amounts), ALLOW_FIELD("used", amounts),
							 ALLOW_FIELD("scopes", leaf),
							 ALLOW_FIELD("scopeSelector", allow_selector))};
static const struct allow allow_quota = {ALLOW_ROWS(ALLOW_FIELD("metadata", allow_names),
						    ALLOW_FIELD("spec", allow_quota_part),
						    ALLOW_FIELD("status", allow_quota_part))};

static struct k8s_quota_amount amount_of(int64_t hard, int64_t status_hard, int64_t used)
{
	bool is_absent = hard == K8S_NO_BOUND || status_hard == K8S_NO_BOUND;

	return (struct k8s_quota_amount){.hard = is_absent ? MAX(hard, status_hard) : MIN(hard, status_hard),
					 .used = MAX(used, 0)};
}

static int name_index(const char *const *all, int n, const char *name, int otherwise)
{
	for (int i = 0; i < n; i++)
		if (streq(all[i], name))
			return i;
	return otherwise;
}

static enum k8s_scope scope_of(const char *name)
{
	static const char *const all[] = {
		[K8S_SCOPE_TERMINATING] = "Terminating",
		[K8S_SCOPE_NOT_TERMINATING] = "NotTerminating",
		[K8S_SCOPE_BEST_EFFORT] = "BestEffort",
		[K8S_SCOPE_NOT_BEST_EFFORT] = "NotBestEffort",
		[K8S_SCOPE_PRIORITY_CLASS] = "PriorityClass",
		[K8S_SCOPE_CROSS_NAMESPACE_AFFINITY] = "CrossNamespacePodAffinity",
		[K8S_SCOPE_CLAIMS] = "VolumeAttributesClass",
	};

	return (enum k8s_scope)name_index(all, (int)ARRAY_LEN(all), name, K8S_SCOPE_UNKNOWN);
}

/* `n_values` counts the values of the whole quota. */
static int take_expression(const struct quota_expression *from, size_t *n_values, struct k8s_quota_scope *ret,
			   struct err *err)
{
	static const char *const operators[] = {"Exists", "DoesNotExist", "In", "NotIn"};
	int index = name_index(operators, (int)ARRAY_LEN(operators), from->operator_, -1);

	if (index < 0)
		return err_set(err, -EINVAL, "no operator is called \"%.40s\"", from->operator_);
	*n_values += from->n_values;
	*ret = (struct k8s_quota_scope){scope_of(from->name), (enum k8s_scope_operator)index, from->values,
					from->n_values};
	if (*n_values > LIMIT_QUOTA_VALUES)
		*ret = (struct k8s_quota_scope){K8S_SCOPE_UNKNOWN, (enum k8s_scope_operator)index, NULL, 0};
	return 0;
}

static int take_scopes(const struct quota *from, struct arena *arena, struct k8s_quota *ret, struct err *err)
{
	size_t n_names = MIN(from->n_scopes, LIMIT_QUOTA_SCOPES), n_values = 0;
	size_t n_expressions = MIN(from->n_expressions, LIMIT_QUOTA_SCOPES);
	struct k8s_quota_scope *scopes = arena_array(arena, n_names + n_expressions, sizeof(*scopes));
	int r = 0;

	if (!scopes)
		return decode_oom(err);
	ret->scopes = scopes;
	for (size_t i = 0; i < n_names; i++)
		scopes[ret->n_scopes++].scope = scope_of(from->scopes[i]);
	for (size_t i = 0; i < n_expressions && !r; i++) {
		r = take_expression(&from->expressions[i], &n_values, &scopes[ret->n_scopes++], err);
		decode_at(r, err, "spec.scopeSelector.matchExpressions[%zu]", i);
	}
	return r;
}

int k8s_quota_decode(struct json_object *object, struct arena *arena, struct k8s_quota *ret, struct err *err)
{
	struct quota from = {.n_scopes = 0};
	int r = read_object(object, &allow_quota, &quota_table, arena, &from, err);
	struct k8s_quota quota = {.namespace_name = from.names.namespace_name,
				  .name = from.names.name,
				  .pods = amount_of(from.hard.pods, from.status_hard.pods, from.used.pods)};

	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int i = 0; i < K8S_RESOURCE_COUNT_; i++)
			quota.amounts[f][i] = amount_of(from.hard.amounts[f][i], from.status_hard.amounts[f][i],
							from.used.amounts[f][i]);
	r = r ? r : take_scopes(&from, arena, &quota, err);
	if (!r)
		*ret = quota;
	return r;
}
