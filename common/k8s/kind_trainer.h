/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kind_trainer: pod templates of a TrainJob of the Kubeflow Trainer, which contains only what differs from its runtime:
 * alone, or joined with the runtime as the controller joins them (pkg/runtime/core, pkg/runtime/framework/plugins:
 * jobset, mpi). Private to the layer k8s; the public functions are in kinds.h. */
#include "k8s/kind_object.h"

/** Makes a pod with the container "node" of a TrainJob's trainer, with its image and its resourcesPerNode, which
 * override the runtime's. Everything else of that pod is in the runtime and not known here. @return 0; KIND_NO_POD: no
 * resourcesPerNode, so the runtime's resources apply; -E2BIG; -ENOMEM. */
int kind_trainer_pod(const struct doc *trainer, struct arena *arena, struct kind_template *item) ATTR_NODISCARD;
/** The first step of a runtime; the others are its siblings. NULL: none. */
const struct doc *kind_trainer_steps(const struct doc *runtime);
/** Makes the template of one step of a TrainJob with its runtime. Cost: linear in what is read of both objects
 * (LIMIT_PROJECTED_TOKENS values each), and the step's containers times the patches of the TrainJob and the containers
 * in these (512; with more, -E2BIG). @return 0; KIND_NO_POD: the step has no template; -E2BIG; -ENOMEM. */
int kind_trainer_step(const struct doc *trainjob, const struct doc *runtime, const struct doc *job, struct arena *arena,
		      struct kind_template *item) ATTR_NODISCARD;
/** Maps a pointer within such a template's pod to a pointer within the TrainJob. NULL: out of memory. */
const char *kind_trainer_pointer(const struct kind_template *self, const char *pod_pointer, struct arena *arena);
