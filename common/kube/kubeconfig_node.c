/* SPDX-License-Identifier: Apache-2.0 */
/* Strict reading of one node. */
#include "base/limits.h"
#include "kube/base64.h"
#include "kube/kubeconfig_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int kubeconfig_bad(struct kubeconfig_loader *self, const struct kubeconfig_file *file, const struct yaml_node *node,
		   const char *fmt, ...)
{
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return err_set_at(self->err, -EINVAL, file->path, node ? node->line : 0, node ? node->column : 0, "%s", text);
}

int kubeconfig_no_memory(struct kubeconfig_loader *self)
{
	return err_set(self->err, -ENOMEM, "out of memory");
}

int kubeconfig_string(struct kubeconfig_loader *self, struct kubeconfig_node in, const char *key, const char **ret)
{
	const struct yaml_node *node = yaml_tree_get(in.node, key);
	CLEANUP(json_putp) struct json_object *value = NULL;

	if (!node || node->type == YAML_TREE_NULL)
		return 0;
	/* a plain 12345 or true is no string; kubectl says so too */
	if (node->type != YAML_TREE_SCALAR || (node->is_plain && (yaml_tree_to_json(node, &value, NULL) ||
								  !json_object_is_type(value, json_type_string))))
		return kubeconfig_bad(self, in.file, node, "%s must be a string%s", key,
				      node->type == YAML_TREE_SCALAR ? " (put it in quotes)" : "");
	for (size_t i = 0; i < node->n_text; i++)
		if (!node->text[i])
			return kubeconfig_bad(self, in.file, node, "%s holds a NUL character", key);
	if (node->n_text)
		*ret = node->text;
	return 0;
}

int kubeconfig_bool(struct kubeconfig_loader *self, struct kubeconfig_node in, const char *key, bool *ret)
{
	const struct yaml_node *node = yaml_tree_get(in.node, key);
	CLEANUP(json_putp) struct json_object *value = NULL;

	if (!node || node->type == YAML_TREE_NULL)
		return 0;
	if (yaml_tree_to_json(node, &value, NULL) || !json_object_is_type(value, json_type_boolean))
		return kubeconfig_bad(self, in.file, node, "%s must be true or false", key);
	*ret = json_object_get_boolean(value);
	return 0;
}

const char *kubeconfig_resolve(struct kubeconfig_loader *self, const struct kubeconfig_file *file, const char *path)
{
	const char *slash = strrchr(file->path, '/');

	if (path[0] == '/' || !slash)
		return path;
	return arena_printf(&self->config->arena, "%.*s/%s", (int)(slash - file->path), file->path, path);
}

int kubeconfig_path(struct kubeconfig_loader *self, struct kubeconfig_node in, const char *key, const char **ret)
{
	const char *path = NULL;
	int r = kubeconfig_string(self, in, key, &path);

	if (r || !path)
		return r;
	*ret = kubeconfig_resolve(self, in.file, path);
	return *ret ? 0 : kubeconfig_no_memory(self);
}

int kubeconfig_pem(struct kubeconfig_loader *self, struct kubeconfig_node in, const char *key, const char **ret)
{
	CLEANUP(strbuf_release) struct strbuf pem = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	const struct yaml_node *node = yaml_tree_get(in.node, key);
	const char *text = NULL;
	int r = kubeconfig_string(self, in, key, &text);

	if (r || !text)
		return r;
	r = base64_decode(text, strlen(text), &pem);
	if (r == -EINVAL)
		return kubeconfig_bad(self, in.file, node, "%s is not base64", key);
	if (r == -E2BIG)
		return kubeconfig_bad(self, in.file, node, "%s is longer than %zu bytes", key, LIMIT_CREDENTIAL_BYTES);
	if (!r && (!strstr(strbuf_text(&pem), "-----BEGIN ") || strlen(strbuf_text(&pem)) != pem.len))
		return kubeconfig_bad(self, in.file, node, "%s is base64, but not of PEM text", key);
	*ret = r ? NULL : arena_strdup(&self->config->arena, strbuf_text(&pem));
	return *ret ? 0 : kubeconfig_no_memory(self);
}
