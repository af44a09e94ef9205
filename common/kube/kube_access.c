/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_access.h"

int kube_access_open(const char *path, const char *context, const char *user_agent, struct kube_access *ret,
		     struct err *err)
{
	const struct kubeconfig_source source = kubeconfig_source_of_process(path, context);
	const struct kube_client_config config = {.user_agent = user_agent};
	int r;

	*ret = (struct kube_access)KUBE_ACCESS_INIT;
	r = kubeconfig_load(&source, &ret->kubeconfig, err);
	if (r)
		return r;
	ret->namespace = ret->kubeconfig->namespace ? ret->kubeconfig->namespace : "default";
	return kube_client_new(ret->kubeconfig, &config, &ret->client, err);
}

void kube_access_release(struct kube_access *self)
{
	kube_client_freep(&self->client);
	kubeconfig_freep(&self->kubeconfig);
}
