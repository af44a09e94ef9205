/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kubeconfig: where the API server is and who we are there, by kubectl's rules.
 *
 * Looked for in this order: `path` (--kubeconfig); the list in $KUBECONFIG (merged as kubectl does: the first file that
 * names a cluster, user, context or current context wins, missing files are passed over); $HOME/.kube/config when it
 * exists; the service account of the pod we run in. Errors name file:line:col. Paths in a file are relative to it.
 *
 * Refused, because ignoring it would change who we are: `auth-provider`, impersonation (`as`, `as-groups` ...), plugins
 * that want a terminal. Unknown keys are passed over as kubectl does. Threads: read-only after loading. */
#include "base/arena.h"
#include "base/err.h"

/** A credential plugin as the kubeconfig names it. */
struct kube_exec_config {
	const char *api_version; /* client.authentication.k8s.io/v1 or /v1beta1 */
	const char *command;	 /* looked up in PATH when it holds no slash */
	const char *const *args; /* n_args, then NULL */
	size_t n_args;
	const char *const *env; /* "NAME=value", n_env, then NULL */
	size_t n_env;
	const char *install_hint; /* NULL: none */
	bool provides_cluster_info;
	const char *cluster_config_json; /* the cluster's client.authentication.k8s.io/exec extension; NULL: none */
};

/** Texts live in the arena; NULL means not set. */
struct kubeconfig {
	struct arena arena;
	const char *context; /* NULL in a pod */
	const char *server;  /* http or https URL */
	const char *namespace;
	const char *ca_file, *ca_pem;
	bool insecure_skip_tls_verify;
	const char *tls_server_name, *proxy_url;
	const char *client_cert_file, *client_cert_pem, *client_key_file, *client_key_pem;
	const char *token, *token_file; /* the file is read anew for every request and goes first */
	const char *username, *password;
	const struct kube_exec_config *exec; /* NULL: none, or a token goes before it */
};

/** What to look for and where; everything may be NULL. */
struct kubeconfig_source {
	const char *path, *context; /* --kubeconfig, --context */
	const char *environment;    /* $KUBECONFIG */
	const char *home;
	const char *service_host, *service_port; /* $KUBERNETES_SERVICE_HOST, _PORT */
	const char *service_account;		 /* folder with token, ca.crt, namespace; NULL: the usual one */
};

/** `environment`, `home` and the service's address from the process's environment; `path` and `context` as given. */
struct kubeconfig_source kubeconfig_source_of_process(const char *path, const char *context);
/** @return 0; -ENOENT no configuration anywhere; -EINVAL with file:line:col; -errno. */
int kubeconfig_load(const struct kubeconfig_source *source, struct kubeconfig **ret, struct err *err) ATTR_NODISCARD;
void kubeconfig_free(struct kubeconfig *self);
void kubeconfig_freep(struct kubeconfig **self);
