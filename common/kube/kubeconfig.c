/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the files, choosing context, cluster and user in them, and the service account of a pod. */
#include "base/io.h"
#include "base/limits.h"
#include "kube/kubeconfig_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define ARENA_BYTES	(64 * MIB)

struct kubeconfig_source kubeconfig_source_of_process(const char *path, const char *context)
{
	return (struct kubeconfig_source){
		.path = path,
		.context = context,
		.environment = getenv("KUBECONFIG"),
		.home = getenv("HOME"),
		.service_host = getenv("KUBERNETES_SERVICE_HOST"),
		.service_port = getenv("KUBERNETES_SERVICE_PORT"),
	};
}

void kubeconfig_free(struct kubeconfig *self)
{
	if (!self)
		return;
	arena_release(&self->arena);
	free(self);
}

void kubeconfig_freep(struct kubeconfig **self)
{
	kubeconfig_free(*self);
	*self = NULL;
}

static int add_file(struct kubeconfig_loader *self, const char *path)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_KUBECONFIG_BYTES);
	struct kubeconfig_file file = {.path = arena_strdup(&self->config->arena, path)};
	struct yaml_documents documents;
	int r = file.path ? io_read_file(path, &text, self->err) : kubeconfig_no_memory(self);

	if (!r)
		r = yaml_tree_parse(strbuf_text(&text), text.len, file.path, &self->config->arena, &documents,
				    self->err);
	if (r)
		return r;
	if (documents.n == 0)
		return 0;
	file.root = documents.items;
	if (documents.n > 1)
		return kubeconfig_bad(self, &file, &documents.items[1], "a kubeconfig is one document");
	if (file.root->type != YAML_TREE_MAPPING)
		return kubeconfig_bad(self, &file, file.root, "this is no kubeconfig");
	return vec_push(&self->files, file) ? kubeconfig_no_memory(self) : 0;
}

/* $KUBECONFIG: files that do not exist are passed over. */
static int add_list(struct kubeconfig_loader *self, const char *list)
{
	int r = 0;

	while (*list && !r) {
		size_t n = strcspn(list, ":");
		char *path = arena_strndup(&self->config->arena, list, n);

		if (!path)
			return kubeconfig_no_memory(self);
		if (n && access(path, F_OK) == 0)
			r = add_file(self, path);
		list += n + (list[n] == ':');
	}
	return r;
}

static int add_files(struct kubeconfig_loader *self, const struct kubeconfig_source *source)
{
	const char *path;

	if (source->path && *source->path)
		return add_file(self, source->path);
	if (source->environment && *source->environment)
		return add_list(self, source->environment);
	if (!source->home || !*source->home)
		return 0;
	path = arena_printf(&self->config->arena, "%s/.kube/config", source->home);
	if (!path)
		return kubeconfig_no_memory(self);
	return access(path, F_OK) == 0 ? add_file(self, path) : 0;
}

/* The entry of `list` (clusters, users, contexts) called `name`, and in it the mapping `member`. */
static int find(struct kubeconfig_loader *self, const char *list, const char *name, const char *member,
		struct kubeconfig_node *ret)
{
	for (size_t i = 0; i < self->files.n; i++) {
		const struct kubeconfig_file *file = &self->files.items[i];
		const struct yaml_node *entries = yaml_tree_get(file->root, list);

		if (!entries || entries->type == YAML_TREE_NULL)
			continue;
		if (entries->type != YAML_TREE_SEQUENCE)
			return kubeconfig_bad(self, file, entries, "%s must be a list", list);
		for (size_t k = 0; k < entries->n; k++) {
			const struct yaml_node *key = yaml_tree_get(&entries->items[k], "name");
			const struct yaml_node *value = yaml_tree_get(&entries->items[k], member);

			if (!key || !key->text || !streq(key->text, name))
				continue;
			if (value && value->type != YAML_TREE_NULL && value->type != YAML_TREE_MAPPING)
				return kubeconfig_bad(self, file, value, "%s must be a mapping", member);
			*ret = (struct kubeconfig_node){file, value ? value : key};
			return 0;
		}
	}
	return 1;
}

/* The chosen context's name and where it was chosen (for errors). */
static int choose_context(struct kubeconfig_loader *self, const char *wanted, struct kubeconfig_node *ret_from)
{
	*ret_from = (struct kubeconfig_node){&self->files.items[0], NULL};
	if (wanted && *wanted)
		self->config->context = arena_strdup(&self->config->arena, wanted);
	for (size_t i = 0; i < self->files.n && !self->config->context; i++) {
		struct kubeconfig_node root = {&self->files.items[i], self->files.items[i].root};
		int r = kubeconfig_string(self, root, "current-context", &self->config->context);

		if (r)
			return r;
		*ret_from = (struct kubeconfig_node){root.file, yaml_tree_get(root.node, "current-context")};
	}
	if (!self->config->context)
		return kubeconfig_bad(self, ret_from->file, NULL,
				      "no context is chosen: set current-context or give --context");
	return 0;
}

static int check_server(struct kubeconfig_loader *self, struct kubeconfig_node cluster)
{
	struct kubeconfig *config = self->config;
	const struct yaml_node *node = yaml_tree_get(cluster.node, "server");

	if (!config->server)
		return kubeconfig_bad(self, cluster.file, cluster.node, "the cluster has no server");
	if (!strstarts(config->server, "http://") && !strstarts(config->server, "https://"))
		return kubeconfig_bad(self, cluster.file, node, "server must begin with https:// or http://");
	if (config->insecure_skip_tls_verify && (config->ca_file || config->ca_pem))
		return kubeconfig_bad(self, cluster.file, yaml_tree_get(cluster.node, "insecure-skip-tls-verify"),
				      "insecure-skip-tls-verify and a certificate authority exclude each other");
	return 0;
}

static int load_cluster(struct kubeconfig_loader *self, struct kubeconfig_node cluster)
{
	struct kubeconfig *config = self->config;
	int r = kubeconfig_string(self, cluster, "server", &config->server);

	if (!r)
		r = kubeconfig_path(self, cluster, "certificate-authority", &config->ca_file);
	if (!r)
		r = kubeconfig_pem(self, cluster, "certificate-authority-data", &config->ca_pem);
	if (!r)
		r = kubeconfig_bool(self, cluster, "insecure-skip-tls-verify", &config->insecure_skip_tls_verify);
	if (!r)
		r = kubeconfig_string(self, cluster, "tls-server-name", &config->tls_server_name);
	if (!r)
		r = kubeconfig_string(self, cluster, "proxy-url", &config->proxy_url);
	return r ? r : check_server(self, cluster);
}

static int load_from_files(struct kubeconfig_loader *self, const char *wanted_context)
{
	struct kubeconfig_node from = {0}, context = {0}, cluster = {0}, user = {0};
	const char *cluster_name = NULL, *user_name = NULL;
	int r = choose_context(self, wanted_context, &from);

	if (!r) {
		r = find(self, "contexts", self->config->context, "context", &context);
		if (r > 0)
			r = kubeconfig_bad(self, from.file, from.node, "there is no context \"%s\"",
					   self->config->context);
	}
	if (!r)
		r = kubeconfig_string(self, context, "cluster", &cluster_name);
	if (!r)
		r = kubeconfig_string(self, context, "user", &user_name);
	if (!r)
		r = kubeconfig_string(self, context, "namespace", &self->config->namespace);
	if (!r) {
		r = cluster_name ? find(self, "clusters", cluster_name, "cluster", &cluster) : 1;
		if (r > 0)
			r = kubeconfig_bad(self, context.file, context.node, "there is no cluster \"%s\"",
					   cluster_name ? cluster_name : "");
	}
	if (!r && user_name) {
		r = find(self, "users", user_name, "user", &user);
		if (r > 0)
			r = kubeconfig_bad(self, context.file, context.node, "there is no user \"%s\"", user_name);
	}
	if (!r)
		r = load_cluster(self, cluster);
	if (!r && user_name)
		r = kubeconfig_load_user(self, user, cluster);
	return r;
}

/* The service account of the pod we run in. The token and the CA stay files: the kubelet rotates them. */
static int load_in_pod(struct kubeconfig_loader *self, const struct kubeconfig_source *source)
{
	CLEANUP(strbuf_release) struct strbuf namespace = STRBUF_INIT(1 * KIB);
	struct kubeconfig *config = self->config;
	const char *folder = source->service_account ? source->service_account : SERVICE_ACCOUNT;
	bool is_ipv6 = strchr(source->service_host, ':') != NULL;
	const char *namespace_file = arena_printf(&config->arena, "%s/namespace", folder);
	int r;

	config->token_file = arena_printf(&config->arena, "%s/token", folder);
	config->ca_file = arena_printf(&config->arena, "%s/ca.crt", folder);
	config->server = arena_printf(&config->arena, "https://%s%s%s:%s", is_ipv6 ? "[" : "", source->service_host,
				      is_ipv6 ? "]" : "", source->service_port);
	if (!namespace_file || !config->token_file || !config->ca_file || !config->server)
		return kubeconfig_no_memory(self);
	if (access(config->token_file, R_OK) || access(config->ca_file, R_OK)) {
		err_set(self->err, -ENOENT, "this pod has no service account token (automountServiceAccountToken?)");
		return err_set_at(self->err, -ENOENT, folder, 0, 0,
				  "token or ca.crt of the service account is missing");
	}
	if (access(namespace_file, F_OK))
		return 0;
	r = io_read_file(namespace_file, &namespace, self->err);
	if (r)
		return r;
	config->namespace = arena_strndup(&config->arena, strbuf_text(&namespace),
					  strcspn(strbuf_text(&namespace), " \r\n\t"));
	return config->namespace ? 0 : kubeconfig_no_memory(self);
}

static int load(struct kubeconfig_loader *self, const struct kubeconfig_source *source)
{
	int r = add_files(self, source);

	if (r)
		return r;
	if (self->files.n)
		r = load_from_files(self, source->context);
	else if (source->path && *source->path)
		return err_set_at(self->err, -EINVAL, source->path, 0, 0, "this kubeconfig is empty");
	else if (source->context && *source->context)
		return err_set(self->err, -ENOENT, "there is no kubeconfig, so no context \"%s\"", source->context);
	else if (source->service_host && *source->service_host && source->service_port && *source->service_port)
		r = load_in_pod(self, source);
	else
		return err_set(self->err, -ENOENT,
			       "no kubeconfig found: give --kubeconfig, set KUBECONFIG, or run in a pod with a service "
			       "account");
	if (!r && (!self->config->namespace || !*self->config->namespace))
		self->config->namespace = "default";
	return r;
}

int kubeconfig_load(const struct kubeconfig_source *source, struct kubeconfig **ret, struct err *err)
{
	struct kubeconfig_loader loader = {.files = VEC_INIT, .err = err};
	int r;

	loader.config = calloc(1, sizeof(*loader.config));
	if (!loader.config)
		return err_set(err, -ENOMEM, "out of memory");
	loader.config->arena = (struct arena)ARENA_INIT(ARENA_BYTES);
	r = load(&loader, source);
	vec_release(&loader.files);
	if (r) {
		kubeconfig_free(loader.config);
		return r;
	}
	*ret = loader.config;
	return 0;
}
