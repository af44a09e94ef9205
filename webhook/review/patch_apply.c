/* SPDX-License-Identifier: Apache-2.0 */
#include "review/patch_apply.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

/* The next token of a pointer, unescaped, in the arena; moves *pointer behind it. */
static char *take_token(const char **pointer, struct arena *arena)
{
	const char *from = *pointer + 1;
	size_t n = strcspn(from, "/"), length = 0;
	char *token = arena_strndup(arena, from, n);

	*pointer = from + n;
	for (size_t i = 0; token && i < n; i++) {
		bool is_escape = from[i] == '~' && i + 1 < n;

		token[length++] = !is_escape ? from[i] : from[i + 1] == '1' ? '/' : '~';
		i += is_escape;
	}
	if (token)
		token[length] = '\0';
	return token;
}

static struct json_object *child_of(struct json_object *parent, const char *token)
{
	char *end;
	unsigned long index;

	if (!json_object_is_type(parent, json_type_array))
		return json_member(parent, token);
	index = strtoul(token, &end, 10);
	return *token && !*end ? json_object_array_get_idx(parent, index) : NULL;
}

/* The child of that name; made when an object has none. */
static struct json_object *reach(struct json_object *parent, const char *token)
{
	struct json_object *child = child_of(parent, token);

	if (child || !json_object_is_type(parent, json_type_object))
		return child;
	if (json_add(parent, token, json_object_new_object()))
		return NULL;
	return json_member(parent, token);
}

static int apply_one(struct json_object *object, const char *pointer, struct json_object *value, struct arena *arena,
		     struct err *err)
{
	const char *rest = pointer;
	char *token = *rest == '/' ? take_token(&rest, arena) : NULL;
	struct json_object *parent = object;

	while (token && *rest) {
		parent = reach(parent, token);
		token = take_token(&rest, arena);
	}
	if (!token || !json_object_is_type(parent, json_type_object))
		return err_set(err, -EINVAL, "no place for the patch at %.200s", pointer);
	/* An empty parent that is to be added may be there already, made on the way by an operation before it. */
	if (json_object_is_type(value, json_type_object) && json_object_object_length(value) == 0 &&
	    json_member(parent, token))
		return 0;
	if (json_add(parent, token, json_object_get(value)))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int patch_apply(struct json_object *object, const struct kind_template *template_, const char *patch, size_t n,
		struct arena *arena, struct err *err)
{
	CLEANUP(json_putp) struct json_object *operations = NULL;
	int r = json_parse(patch, n, 64, &operations, err);

	for (size_t i = 0; !r && i < json_object_array_length(operations); i++) {
		struct json_object *operation = json_object_array_get_idx(operations, i);
		const char *path = NULL, *pointer;

		r = json_get_string(operation, "patch", "path", &path, err);
		if (r)
			return err_set(err, -EINVAL, "an operation without path");
		pointer = kind_template_pointer(template_, path, arena);
		if (!pointer)
			return err_set(err, -ENOMEM, "out of memory");
		r = apply_one(object, pointer, json_member(operation, "value"), arena, err);
	}
	return r;
}
