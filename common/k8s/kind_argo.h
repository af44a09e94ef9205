/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kind_argo: makes pod templates from Argo templates, which have the parts of a pod in other places. Private to the
 * layer k8s; kind_template_pointer(), which maps back, is in kinds.h. Cost: linear in the template's own members, and
 * each of its containers, at most LIMIT_POD_CONTAINERS, times those before it. */
#include "k8s/kind_object.h"

/** Makes a pod template from an Argo template: `item->object` in the arena (it shares parts with the Argo template),
 * its replicas, and the pointers of its containers. `item->pointer` is that of the Argo template. @return 0;
 * KIND_NO_POD: the template only calls others; -E2BIG: too many containers; -ENOMEM. */
int kind_argo_pod(const struct doc *template_, struct arena *arena, struct kind_template *item) ATTR_NODISCARD;
