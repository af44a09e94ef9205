/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* runtimes: TrainingRuntimes and ClusterTrainingRuntimes among the reviewed manifests. They are read before any
 * TrainJob, whose pods are made of both. */
#include "review/review_internal.h"

/** Keeps the runtimes of one file; if several have the same name, the first. A file that cannot be read or parsed is
 * skipped, as the review itself reports it. @return 0 or -ENOMEM. */
int runtimes_collect(struct review *self, const struct manifest *manifest) ATTR_NODISCARD;
/** The runtime that a TrainJob names, read with allow_workload. It lives as long as the review. NULL: it is not among
 * the manifests, or the object is not a TrainJob. `*ret_name`: the name, or "" for other objects. */
const struct doc *runtimes_find(struct review *self, struct json_object *object, const char **ret_name);
