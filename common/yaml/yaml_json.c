/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml_internal.h"

#include <errno.h>
#include <math.h>

#define INT64_END 9223372036854775808.0 /* 2^63 */

static int to_json(const struct yaml_node *node, struct json_object **ret, struct err *err);

/* Go prints the float 1e3 as 1000: whole numbers become integers. */
static struct json_object *float_to_json(double value)
{
	char buf[40];

	if (value >= -INT64_END && value < INT64_END && floor(value) == value)
		return json_object_new_int64((int64_t)value);
	return json_object_new_double_s(value, yaml_scalar_render_float(value, buf));
}

static int scalar_to_json(const struct yaml_node *node, struct json_object **ret, struct err *err)
{
	struct yaml_scalar scalar = {.type = YAML_SCALAR_STRING};

	if (node->is_plain)
		scalar = yaml_scalar_resolve(node->text, node->n_text);
	switch (scalar.type) {
	case YAML_SCALAR_BOOL:
		*ret = json_object_new_boolean(scalar.bool_value);
		break;
	case YAML_SCALAR_INT:
		*ret = json_object_new_int64(scalar.int_value);
		break;
	case YAML_SCALAR_UINT:
		*ret = json_object_new_uint64(scalar.uint_value);
		break;
	case YAML_SCALAR_FLOAT:
		*ret = float_to_json(scalar.float_value);
		break;
	case YAML_SCALAR_NOT_FINITE:
		return err_set_at(err, -EINVAL, NULL, node->line, node->column, "%s is no number that JSON can hold",
				  node->text);
	default:
		*ret = json_object_new_string_len(node->text, (int)node->n_text);
	}
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int children_to_json(const struct yaml_node *node, struct json_object *object, struct err *err)
{
	for (size_t i = 0; i < node->n; i++) {
		struct json_object *value = NULL;
		int r = to_json(&node->items[i], &value, err);

		if (r)
			return r;
		if (node->keys ? json_object_object_add(object, node->keys[i].text, value)
			       : json_object_array_add(object, value)) {
			json_object_put(value);
			return err_set(err, -ENOMEM, "out of memory");
		}
	}
	return 0;
}

/* Recursion is bounded by LIMIT_YAML_DEPTH, which parsing held. null is a NULL pointer in json-c. */
static int to_json(const struct yaml_node *node, struct json_object **ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	int r;

	*ret = NULL;
	if (node->type == YAML_TREE_NULL)
		return 0;
	if (node->type == YAML_TREE_SCALAR)
		return scalar_to_json(node, ret, err);
	object = node->type == YAML_TREE_MAPPING ? json_object_new_object() : json_object_new_array();
	if (!object)
		return err_set(err, -ENOMEM, "out of memory");
	r = children_to_json(node, object, err);
	if (!r)
		*ret = TAKE_PTR(object);
	return r;
}

int yaml_tree_to_json(const struct yaml_node *node, struct json_object **ret, struct err *err)
{
	struct json_object *object;
	int r;

	if (node->type == YAML_TREE_NULL)
		return err_set_at(err, -EINVAL, NULL, node->line, node->column, "nothing but null");
	r = to_json(node, &object, err);
	if (!r)
		*ret = object;
	return r;
}
