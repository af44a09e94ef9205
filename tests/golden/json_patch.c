/* SPDX-License-Identifier: Apache-2.0 */
#include "json_patch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_BYTES = 512 };

static int fail(const char *path, const char *what)
{
	fprintf(stderr, "patch %s: %s\n", path, what);
	return -1;
}

/* Next token of a JSON Pointer, unescaped; `*path` moves behind it. */
static int next_token(const char **path, char token[TOKEN_BYTES])
{
	size_t n = 0;

	if (*(*path)++ != '/')
		return -1;
	for (; **path && **path != '/'; (*path)++) {
		char c = **path;

		if (c == '~') {
			c = (*path)[1] == '1' ? '/' : (*path)[1] == '0' ? '~' : '\0';
			(*path)++;
		}
		if (!c || n + 1 >= TOKEN_BYTES)
			return -1;
		token[n++] = c;
	}
	token[n] = '\0';
	return 0;
}

static struct json_object *child_of(struct json_object *parent, const char *token)
{
	struct json_object *child = NULL;
	char *end;

	if (json_object_is_type(parent, json_type_array)) {
		unsigned long index = strtoul(token, &end, 10);

		return *end || !*token ? NULL : json_object_array_get_idx(parent, index);
	}
	if (json_object_is_type(parent, json_type_object))
		json_object_object_get_ex(parent, token, &child);
	return child;
}

static int apply_one(struct json_object *document, struct json_object *op)
{
	const char *name = json_object_get_string(child_of(op, "op"));
	const char *path = json_object_get_string(child_of(op, "path")), *rest = path;
	struct json_object *parent = document, *value = child_of(op, "value");
	char token[TOKEN_BYTES];

	if (!name || !path || !value)
		return fail(path ? path : "?", "not an operation of ours");
	for (;;) {
		if (next_token(&rest, token))
			return fail(path, "bad pointer");
		if (!*rest)
			break;
		parent = child_of(parent, token);
		if (!parent)
			return fail(path, "no such parent");
	}
	if (json_object_is_type(parent, json_type_array) && strcmp(name, "add") == 0 && strcmp(token, "-") == 0)
		return json_object_array_add(parent, json_object_get(value));
	if (!json_object_is_type(parent, json_type_object))
		return fail(path, "parent is no object");
	if (strcmp(name, "replace") == 0 ? !child_of(parent, token) : strcmp(name, "add") != 0)
		return fail(path, "cannot be done");
	return json_object_object_add(parent, token, json_object_get(value));
}

int json_patch_apply(struct json_object *document, struct json_object *patch)
{
	for (size_t i = 0; i < json_object_array_length(patch); i++)
		if (apply_one(document, json_object_array_get_idx(patch, i)))
			return -1;
	return 0;
}
