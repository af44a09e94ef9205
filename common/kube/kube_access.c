/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_access.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "kube/kubectl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVICE_ACCOUNT	   "/var/run/secrets/kubernetes.io/serviceaccount"
#define KUBECTL_TIMEOUT_MS (30 * TIME_SECOND_MS)

static bool is_set(const char *text)
{
	return text && *text;
}

static bool has_content(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && status.st_size > 0;
}

/* Whether kubectl would find a kubeconfig by itself. */
static bool has_kubeconfig(void)
{
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(LIMIT_KUBECTL_BYTES);
	const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
	bool has_any = false;

	if (!is_set(list))
		return is_set(home) && !strbuf_addf(&path, "%s/.kube/config", home) && has_content(strbuf_text(&path));
	while (*list && !has_any) {
		size_t n = strcspn(list, ":");

		strbuf_clear(&path);
		has_any = !strbuf_add(&path, list, n) && has_content(strbuf_text(&path));
		list += n + (list[n] == ':');
	}
	return has_any;
}

int kube_access_of_pod(const char *folder, const char *host, const char *port, struct kube_access *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1 * KIB);
	bool is_ipv6 = strchr(host, ':') != NULL;
	const char *namespace_file = arena_printf(&ret->arena, "%s/namespace", folder);
	int r;

	/* the kubelet rotates token and CA, so both are read from their files */
	ret->server.token_file = arena_printf(&ret->arena, "%s/token", folder);
	ret->server.ca_file = arena_printf(&ret->arena, "%s/ca.crt", folder);
	ret->server.url = arena_printf(&ret->arena, "https://%s%s%s:%s", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "",
				       port);
	if (ret->arena.has_failed)
		return err_set(err, -ENOMEM, "out of memory");
	if (access(ret->server.token_file, R_OK) || access(ret->server.ca_file, R_OK))
		return err_set_at(err, -ENOENT, folder, 0, 0,
				  "token or ca.crt of the service account is missing (automountServiceAccountToken?)");
	if (access(namespace_file, F_OK))
		return 0;
	r = io_read_file(namespace_file, &text, err);
	if (r)
		return r;
	ret->namespace = arena_strndup(&ret->arena, strbuf_text(&text), strcspn(strbuf_text(&text), " \r\n\t"));
	return ret->namespace ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int with_kubectl(const char *path, const char *context, struct kube_access *ret, struct err *err)
{
	int r = kubectl_start(path, context, KUBECTL_TIMEOUT_MS, &ret->server.kubectl, err);

	if (r)
		return r;
	ret->server.url = ret->server.kubectl->server;
	ret->namespace = ret->server.kubectl->namespace;
	return 0;
}

static int find_server(const char *path, const char *context, struct kube_access *ret, struct err *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");

	if (is_set(path) && access(path, R_OK))
		return err_set_at(err, -errno, path, 0, 0, "cannot open: %s", strerror(errno));
	if (is_set(path) || is_set(context) || has_kubeconfig())
		return with_kubectl(path, context, ret, err);
	if (is_set(host) && is_set(port))
		return kube_access_of_pod(SERVICE_ACCOUNT, host, port, ret, err);
	return err_set(
		err, -ENOENT,
		"no kubeconfig found: give --kubeconfig, set KUBECONFIG, or run in a pod with a service account");
}

int kube_access_open(const char *path, const char *context, const char *user_agent, struct kube_access *ret,
		     struct err *err)
{
	const struct kube_client_config config = {.user_agent = user_agent};
	int r;

	*ret = (struct kube_access){.arena = ARENA_INIT(16 * KIB), .namespace = "default"};
	r = find_server(path, context, ret, err);
	return r ? r : kube_client_new(&ret->server, &config, &ret->client, err);
}

void kube_access_release(struct kube_access *self)
{
	kube_client_free(TAKE_PTR(self->client));
	kubectl_stop(TAKE_PTR(self->server.kubectl));
	arena_release(&self->arena);
}
