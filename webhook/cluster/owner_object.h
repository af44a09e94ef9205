/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* owner_object: what an object of a kind that owns pods says of them: how many, whose they are at last, whether it goes
 * on making them. Of its own it keeps nothing. Any thread. */
#include "base/arena.h"
#include "cluster/cluster_owners.h"
#include "k8s/kinds.h"
#include "kube/kube_object.h"

/** Are objects of this kind watched where they are served? Makers of pods whose number their object says, and what
 *  stands above those. */
bool owner_object_is_watched(const struct kind *kind);
/** Fill what the object itself says (not heard_ms, version, source). Texts are the object's or in the arena, which is
 *  reset first.
 *  @param ret_is_over  it makes no more pods; how many is not filled then.
 *  @return 0; -EINVAL with the field in err: what could be read is filled, and uid and namespace always where it has a
 *  uid; -ENOMEM. */
int owner_object_read(const struct kube_object *object, const struct kind *kind, struct arena *arena,
		      struct owner_object *ret, bool *ret_is_over, struct err *err) ATTR_NODISCARD;
