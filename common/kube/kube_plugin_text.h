/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_plugin_text: what a credential plugin is asked and what it answers, as JSON. Pure but for a CA file. */
#include "kube/kubeconfig.h"

#include <stdint.h>

/** Heap texts; NULL: not given. */
struct kube_plugin_answer {
	char *token, *cert_pem, *key_pem;
	int64_t expires_ms; /* wall clock; 0: never */
};

void kube_plugin_answer_release(struct kube_plugin_answer *self);
/** "KUBERNETES_EXEC_INFO={...}", on the heap. 0; -ENOMEM; -errno of the CA file. */
int kube_plugin_info(const struct kubeconfig *config, char **ret, struct err *err) ATTR_NODISCARD;
/** Read an ExecCredential. `ret` must be empty. @return 0; -EINVAL with what is wrong; -ENOMEM. */
int kube_plugin_parse(const char *text, size_t n, const char *api_version, struct kube_plugin_answer *ret,
		      struct err *err) ATTR_NODISCARD;
