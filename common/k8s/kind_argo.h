/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kind_argo: pod templates of Argo, whose templates hold a pod's parts in places of their own, and of a TrainJob, which
 * says only what differs from its runtime. Private to the layer k8s; the way back, kind_template_pointer(), is in
 * kinds.h. */
#include "k8s/kinds.h"

enum { KIND_ARGO_NO_POD = 1 };

/** Put a pod template together of an Argo template: `item->object` in the arena (it shares what it can with the
 *  template), its replicas and where its containers stand. `item->pointer` is the template's.
 *  @return 0; KIND_ARGO_NO_POD for templates that only call others; -E2BIG: too many containers; -ENOMEM. */
int kind_argo_pod(const struct doc *template_, struct arena *arena, struct kind_template *item) ATTR_NODISCARD;
/** The same of a TrainJob's trainer: container "node" with its image and resourcesPerNode, which take the place of the
 *  runtime's. Everything else of that pod is the runtime's and not known here.
 *  @return 0; KIND_ARGO_NO_POD without resourcesPerNode: then the runtime's resources stand; -ENOMEM. */
int kind_trainer_pod(const struct doc *trainer, struct arena *arena, struct kind_template *item) ATTR_NODISCARD;
