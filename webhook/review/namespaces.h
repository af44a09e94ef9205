/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* namespaces: Namespaces, LimitRanges, ResourceQuotas and VerticalPodAutoscalers among the reviewed manifests. They are
 * read before any pod is decided about, as the webhook knows them in a cluster. One thread. */
#include "review/review_internal.h"
#include "yaml/yaml_tree.h"

/** Puts the objects of one file that concern namespaces into the builder. A file that cannot be read or parsed is
 * skipped, as the review itself reports it. An object that cannot be decoded is reported. @return 0 or -ENOMEM. */
int namespaces_collect(struct review *self, const struct manifest *manifest,
		       struct snapshot_builder *builder) ATTR_NODISCARD;

/** Kinds of objects that concern namespaces. */
enum namespace_object { NAMESPACE_ITSELF, NAMESPACE_LIMIT_RANGE, NAMESPACE_QUOTA, NAMESPACE_VPA };
/** Puts one object into the builder; a VerticalPodAutoscaler is kept for namespaces_put_vpas(). @return 0; -EINVAL with
 * the field in err; -ENOMEM. */
int namespaces_put(struct review *self, enum namespace_object sort, struct json_object *object,
		   struct snapshot_builder *builder, struct err *err) ATTR_NODISCARD;

/** Puts all VerticalPodAutoscalers that were read into the builder. @return 0; -ENOMEM. */
int namespaces_put_vpas(const struct review *self, struct snapshot_builder *builder) ATTR_NODISCARD;
