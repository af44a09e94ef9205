/* SPDX-License-Identifier: Apache-2.0 */
/* The user of a context: which credentials, and which of them are refused. */
#include "base/limits.h"
#include "kube/kubeconfig_internal.h"

#include <errno.h>
#include <string.h>

#define EXTENSION "client.authentication.k8s.io/exec"

static int refuse(struct kubeconfig_loader *self, struct kubeconfig_node user)
{
	static const char *const impersonation[] = {"as", "as-uid", "as-groups", "as-user-extra"};
	const struct yaml_node *node = yaml_tree_get(user.node, "auth-provider");
	const char *name = NULL;

	if (node && node->type != YAML_TREE_NULL) {
		int r = kubeconfig_string(self, (struct kubeconfig_node){user.file, node}, "name", &name);

		return r ? r
			 : kubeconfig_bad(
				   self, user.file, node,
				   "auth-provider%s%s is no longer supported by Kubernetes clients; use exec with a "
				   "credential plugin (such as gke-gcloud-auth-plugin or kubelogin)",
				   name ? " " : "", name ? name : "");
	}
	for (size_t i = 0; i < ARRAY_LEN(impersonation); i++) {
		node = yaml_tree_get(user.node, impersonation[i]);
		if (node && node->type != YAML_TREE_NULL)
			return kubeconfig_bad(self, user.file, node, "impersonation (%s) is not supported",
					      impersonation[i]);
	}
	return 0;
}

/* A list of strings into a NULL-terminated array. */
static int load_args(struct kubeconfig_loader *self, struct kubeconfig_node exec, struct kube_exec_config *ret)
{
	const struct yaml_node *list = yaml_tree_get(exec.node, "args");
	const char **args;

	if (list && list->type != YAML_TREE_NULL && list->type != YAML_TREE_SEQUENCE)
		return kubeconfig_bad(self, exec.file, list, "args must be a list");
	ret->n_args = list ? list->n : 0;
	args = arena_array(&self->config->arena, ret->n_args + 1, sizeof(*args));
	if (!args)
		return kubeconfig_no_memory(self);
	ret->args = args;
	for (size_t i = 0; i < ret->n_args; i++) {
		const struct yaml_node *item = &list->items[i];

		if (item->type != YAML_TREE_SCALAR || strlen(item->text) != item->n_text)
			return kubeconfig_bad(self, exec.file, item, "args must be strings");
		args[i] = item->text;
	}
	return 0;
}

static int load_env(struct kubeconfig_loader *self, struct kubeconfig_node exec, struct kube_exec_config *ret)
{
	const struct yaml_node *list = yaml_tree_get(exec.node, "env");
	const char **env;
	int r = 0;

	if (list && list->type != YAML_TREE_NULL && list->type != YAML_TREE_SEQUENCE)
		return kubeconfig_bad(self, exec.file, list, "env must be a list");
	ret->n_env = list ? list->n : 0;
	env = arena_array(&self->config->arena, ret->n_env + 1, sizeof(*env));
	if (!env)
		return kubeconfig_no_memory(self);
	ret->env = env;
	for (size_t i = 0; i < ret->n_env && !r; i++) {
		struct kubeconfig_node item = {exec.file, &list->items[i]};
		const char *name = NULL, *value = "";

		r = kubeconfig_string(self, item, "name", &name);
		if (!r)
			r = kubeconfig_string(self, item, "value", &value);
		if (!r && (!name || strchr(name, '=')))
			r = kubeconfig_bad(self, exec.file, item.node, "an env entry needs a name without '='");
		if (!r && !(env[i] = arena_printf(&self->config->arena, "%s=%s", name, value)))
			r = kubeconfig_no_memory(self);
	}
	return r;
}

static int check_exec(struct kubeconfig_loader *self, struct kubeconfig_node exec,
		      const struct kube_exec_config *config, const char *mode)
{
	const struct yaml_node *node = yaml_tree_get(exec.node, "apiVersion");
	bool is_v1 = streq(config->api_version, "client.authentication.k8s.io/v1");

	if (!config->command)
		return kubeconfig_bad(self, exec.file, exec.node, "exec needs a command");
	if (!config->api_version)
		return kubeconfig_bad(self, exec.file, exec.node, "exec needs an apiVersion");
	if (!is_v1 && !streq(config->api_version, "client.authentication.k8s.io/v1beta1"))
		return kubeconfig_bad(
			self, exec.file, node,
			"exec apiVersion %s is not supported: client.authentication.k8s.io/v1 and v1beta1 are",
			config->api_version);
	if (is_v1 && !mode)
		return kubeconfig_bad(self, exec.file, exec.node, "exec of version v1 needs an interactiveMode");
	if (!mode || streq(mode, "Never") || streq(mode, "IfAvailable"))
		return 0;
	node = yaml_tree_get(exec.node, "interactiveMode");
	if (streq(mode, "Always"))
		return kubeconfig_bad(
			self, exec.file, node,
			"the plugin %s wants a terminal (interactiveMode: Always), which it does not get here",
			config->command);
	return kubeconfig_bad(self, exec.file, node, "interactiveMode must be Never, IfAvailable or Always");
}

/* What the cluster has to say to plugins that ask for it. */
static int load_extension(struct kubeconfig_loader *self, struct kubeconfig_node cluster, struct kube_exec_config *ret)
{
	const struct yaml_node *list = yaml_tree_get(cluster.node, "extensions");

	for (size_t i = 0; list && list->type == YAML_TREE_SEQUENCE && i < list->n; i++) {
		CLEANUP(json_putp) struct json_object *value = NULL;
		const struct yaml_node *name = yaml_tree_get(&list->items[i], "name");
		const struct yaml_node *extension = yaml_tree_get(&list->items[i], "extension");

		if (!name || !streq(name->text, EXTENSION) || !extension || extension->type == YAML_TREE_NULL)
			continue;
		if (yaml_tree_to_json(extension, &value, NULL))
			return kubeconfig_bad(self, cluster.file, extension, "the extension cannot be written as JSON");
		ret->cluster_config_json = arena_strdup(
			&self->config->arena,
			json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
		return ret->cluster_config_json ? 0 : kubeconfig_no_memory(self);
	}
	return 0;
}

static int load_exec(struct kubeconfig_loader *self, struct kubeconfig_node user, struct kubeconfig_node cluster,
		     const struct kube_exec_config **ret)
{
	struct kubeconfig_node exec = {user.file, yaml_tree_get(user.node, "exec")};
	struct kube_exec_config *config;
	const char *mode = NULL;
	int r;

	if (!exec.node || exec.node->type == YAML_TREE_NULL)
		return 0;
	if (exec.node->type != YAML_TREE_MAPPING)
		return kubeconfig_bad(self, exec.file, exec.node, "exec must be a mapping");
	config = arena_alloc(&self->config->arena, sizeof(*config));
	if (!config)
		return kubeconfig_no_memory(self);
	r = kubeconfig_string(self, exec, "apiVersion", &config->api_version);
	if (!r)
		r = kubeconfig_string(self, exec, "command", &config->command);
	if (!r)
		r = kubeconfig_string(self, exec, "installHint", &config->install_hint);
	if (!r)
		r = kubeconfig_string(self, exec, "interactiveMode", &mode);
	if (!r)
		r = kubeconfig_bool(self, exec, "provideClusterInfo", &config->provides_cluster_info);
	if (!r)
		r = check_exec(self, exec, config, mode);
	if (!r)
		r = load_args(self, exec, config);
	if (!r)
		r = load_env(self, exec, config);
	if (!r && config->provides_cluster_info)
		r = load_extension(self, cluster, config);
	if (r)
		return r;
	if (strchr(config->command, '/'))
		config->command = kubeconfig_resolve(self, exec.file, config->command);
	*ret = config;
	return config->command ? 0 : kubeconfig_no_memory(self);
}

/* A token would become a header: one line. */
static int check_token(struct kubeconfig_loader *self, struct kubeconfig_node user)
{
	for (const char *p = self->config->token; p && *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return kubeconfig_bad(self, user.file, yaml_tree_get(user.node, "token"),
					      "token holds a space or a control character");
	return 0;
}

static int check_methods(struct kubeconfig_loader *self, struct kubeconfig_node user)
{
	struct kubeconfig *config = self->config;
	bool has_cert = config->client_cert_file || config->client_cert_pem;
	bool has_key = config->client_key_file || config->client_key_pem;

	if (has_cert != has_key)
		return kubeconfig_bad(self, user.file, user.node,
				      "client-certificate and client-key belong together; one of them is missing");
	if ((config->token || config->token_file) && config->username)
		return kubeconfig_bad(self, user.file, user.node, "both a token and a username are set; choose one");
	if (config->password && !config->username)
		return kubeconfig_bad(self, user.file, user.node, "a password without a username");
	if (config->username && strchr(config->username, ':'))
		return kubeconfig_bad(self, user.file, yaml_tree_get(user.node, "username"), "username holds a colon");
	/* as kubectl: whoever has a token is not asked for another */
	if (config->token || config->token_file || config->username || has_cert)
		config->exec = NULL;
	return check_token(self, user);
}

int kubeconfig_load_user(struct kubeconfig_loader *self, struct kubeconfig_node user, struct kubeconfig_node cluster)
{
	struct kubeconfig *config = self->config;
	int r = refuse(self, user);

	if (!r)
		r = kubeconfig_path(self, user, "client-certificate", &config->client_cert_file);
	if (!r)
		r = kubeconfig_pem(self, user, "client-certificate-data", &config->client_cert_pem);
	if (!r)
		r = kubeconfig_path(self, user, "client-key", &config->client_key_file);
	if (!r)
		r = kubeconfig_pem(self, user, "client-key-data", &config->client_key_pem);
	if (!r)
		r = kubeconfig_string(self, user, "token", &config->token);
	if (!r)
		r = kubeconfig_path(self, user, "tokenFile", &config->token_file);
	if (!r)
		r = kubeconfig_string(self, user, "username", &config->username);
	if (!r)
		r = kubeconfig_string(self, user, "password", &config->password);
	if (!r)
		r = load_exec(self, user, cluster, &config->exec);
	return r ? r : check_methods(self, user);
}
