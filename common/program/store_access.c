/* SPDX-License-Identifier: Apache-2.0 */
#include "program/store_access.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int open_cluster(const char *path, const char *context, const struct config *config, bool is_writer,
			const char *user_agent, struct store_access *ret, struct err *err)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	int r = kube_access_open(path, context, user_agent, &ret->kube, err);

	if (r)
		return r;
	ret->has_pipe_action = sigaction(SIGPIPE, &ignore, &ret->pipe_action) == 0;
	ret->own_namespace = config->policy.own_namespace && *config->policy.own_namespace
				     ? config->policy.own_namespace
				     : ret->kube.namespace;
	return store_open_kube(ret->kube.client, ret->own_namespace, is_writer, &ret->store, err);
}

int store_access_open(const struct config *config, bool is_writer, const char *user_agent, struct store_access *ret,
		      struct err *err)
{
	*ret = (struct store_access)STORE_ACCESS_INIT;
	if (config->store.kind == STORE_FILE)
		return store_open_file(config->store.path, is_writer, &ret->store, err);
	return open_cluster(config->kubernetes.kubeconfig, config->kubernetes.context, config, is_writer, user_agent,
			    ret, err);
}

int store_access_open_args(const struct cli_args *args, const struct config *config, bool is_writer,
			   const char *user_agent, struct store_access *ret, struct err *err)
{
	const char *path = cli_get(args, "store"), *kubeconfig = cli_get(args, "kubeconfig"),
		   *context = cli_get(args, "context");
	int r;

	*ret = (struct store_access)STORE_ACCESS_INIT;
	if (path && (kubeconfig || context))
		return err_set(err, -EINVAL, "--store names a file, --%s a cluster: only one of them can be read",
			       kubeconfig ? "kubeconfig" : "context");
	if (path && access(path, F_OK))
		return err_set_at(err, -errno, path, 0, 0, "cannot open: %s", strerror(errno));
	if (path)
		return store_open_file(path, is_writer, &ret->store, err);
	if (cli_get(args, "config") && !kubeconfig && !context)
		return store_access_open(config, is_writer, user_agent, ret, err);
	ret->is_implied = !kubeconfig && !context;
	r = open_cluster(kubeconfig ? kubeconfig : config->kubernetes.kubeconfig,
			 context ? context : config->kubernetes.context, config, is_writer, user_agent, ret, err);
	if (r == -ENOENT && ret->is_implied)
		return err_set(err, -ENOENT,
			       "no source is given, and there is no kubeconfig: give --store PATH, --config FILE "
			       "or --kubeconfig FILE");
	return r;
}

void store_access_release(struct store_access *self)
{
	store_closep(&self->store);
	kube_access_release(&self->kube);
	if (self->has_pipe_action)
		sigaction(SIGPIPE, &self->pipe_action, NULL);
	self->has_pipe_action = false;
}
