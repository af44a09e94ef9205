/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* owner_object: reads from an object of a kind that owns pods how many pods it creates, its owner, and whether a queue
 * counts it and it still creates pods. No state. Any thread. */
#include "base/arena.h"
#include "cluster/cluster_owners.h"
#include "k8s/kinds.h"
#include "kube/kube_object.h"

/** Whether objects of this kind are watched if the cluster serves it: kinds whose objects say how many pods they
 * create, and their owners. */
bool owner_object_is_watched(const struct kind *kind);
/** Fills the fields that the object itself provides (not source). Texts are borrowed from the object
 * or the arena, which is reset first. Cost: linear in the object's text.
 * @param ret_is_over  the object creates no more pods; numbers of pods are not filled then.
 * @return 0; -EINVAL with the field in err; -ENOMEM. */
int owner_object_read(const struct kube_object *object, const struct kind *kind, struct arena *arena,
		      struct owner_object *ret, bool *ret_is_over, struct err *err) ATTR_NODISCARD;
