/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* object_json: reads a history or a node shape from a json-c tree, by way of its text. */
#include "base/json.h"
#include "base/limits.h"
#include "model/history.h"
#include "model/node_shape.h"

static inline int history_decode(struct json_object *object, struct history **ret, struct err *err)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	const char *text = json_object_to_json_string(object);

	return history_read(text, strlen(text), &scratch, ret, err);
}

static inline int node_shape_decode(struct json_object *object, struct node_shape *ret, struct err *err)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	const char *text = json_object_to_json_string(object);

	return node_shape_read(text, strlen(text), &scratch, ret, err);
}
