/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* namespaces: Namespace, LimitRange and ResourceQuota among the reviewed manifests, read before any pod is decided
 * about: in a cluster the webhook would know them. */
#include "review/review_internal.h"

/** Put what one file says of namespaces into the builder. A file that cannot be read or parsed is passed over: the
 * review itself will say so. @return 0 or -ENOMEM. */
int namespaces_collect(struct review *self, const struct manifest *manifest,
		       struct snapshot_builder *builder) ATTR_NODISCARD;
