/* SPDX-License-Identifier: Apache-2.0 */
/* LabelSelectors, as the API server evaluates them. */
#include "base/str.h"
#include "registration/compare.h"

static const char *value_of(const char *const *labels, const char *key)
{
	for (size_t i = 0; labels[i]; i += 2)
		if (streq(labels[i], key))
			return labels[i + 1];
	return NULL;
}

static bool holds(struct json_object *values, const char *value)
{
	size_t n = json_object_is_type(values, json_type_array) ? json_object_array_length(values) : 0;

	for (size_t i = 0; i < n; i++)
		if (streq(json_object_get_string(json_object_array_get_idx(values, i)), value))
			return true;
	return false;
}

static bool meets(struct json_object *expression, const char *const *labels)
{
	const char *key = "", *operator_ = "", *value;

	if (json_get_string(expression, "", "key", &key, NULL) ||
	    json_get_string(expression, "", "operator", &operator_, NULL))
		return false;
	value = value_of(labels, key);
	if (streq(operator_, "Exists"))
		return value != NULL;
	if (streq(operator_, "DoesNotExist"))
		return value == NULL;
	if (streq(operator_, "NotIn"))
		return !value || !holds(json_member(expression, "values"), value);
	return streq(operator_, "In") && value && holds(json_member(expression, "values"), value);
}

bool compare_selects(struct json_object *selector, const char *const *labels)
{
	struct json_object *expressions = json_member(selector, "matchExpressions");
	struct json_object *equal = json_member(selector, "matchLabels");
	size_t n = json_object_is_type(expressions, json_type_array) ? json_object_array_length(expressions) : 0;

	if (json_object_is_type(equal, json_type_object)) {
		json_object_object_foreach(equal, key, value)
		{
			if (!streq(value_of(labels, key), json_object_get_string(value)))
				return false;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (!meets(json_object_array_get_idx(expressions, i), labels))
			return false;
	return true;
}
