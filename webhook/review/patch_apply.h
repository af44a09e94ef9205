/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* patch_apply: put the patch of a pod into the object that holds the pod or its template. */
#include "base/arena.h"
#include "k8s/kinds.h"

/** Apply the `add` and `replace` operations of an RFC 6902 patch whose paths start at the pod. Parents that are missing
 *  are made. `template` says where the pod stands in `object`.
 *  @return 0; -EINVAL when a path leads nowhere; -ENOMEM. */
int patch_apply(struct json_object *object, const struct kind_template *template_, const char *patch, size_t n,
		struct arena *arena, struct err *err) ATTR_NODISCARD;
