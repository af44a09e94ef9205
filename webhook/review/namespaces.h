/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* namespaces: Namespace, LimitRange and ResourceQuota among the reviewed manifests, read before any pod is decided
 * about: in a cluster the webhook would know them. */
#include "review/review_internal.h"
#include "yaml/yaml_tree.h"

/** Put what one file says of namespaces into the builder. A file that cannot be read or parsed is passed over: the
 * review itself will say so. @return 0 or -ENOMEM. */
int namespaces_collect(struct review *self, const struct manifest *manifest,
		       struct snapshot_builder *builder) ATTR_NODISCARD;

/** Sorts of objects that say what a namespace allows. */
enum namespace_object { NAMESPACE_ITSELF, NAMESPACE_LIMIT_RANGE, NAMESPACE_QUOTA };
/** Put one object into the builder. @return 0; -EINVAL with the field in err; -ENOMEM. */
int namespaces_put(struct review *self, enum namespace_object sort, struct json_object *object,
		   struct snapshot_builder *builder, struct err *err) ATTR_NODISCARD;

/** Each object of one file, of Lists each item. A file that cannot be read or parsed is passed over.
 *  @return 0; -ENOMEM; what `object` returned. */
typedef int namespaces_object_fn(void *context, const char *file, const struct yaml_node *object);
int namespaces_each_object(struct review *self, const struct manifest *manifest,
			   bool (*may_matter)(const struct strbuf *text), namespaces_object_fn *object,
			   void *context) ATTR_NODISCARD;
