/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decode: what the decoders of this folder share. Private to k8s/.
 * Paths in errors are built backwards: a decoder names its own field, its caller prefixes where that object stands, so
 * that the normal path formats no text. An absent member is never an error here, and leaves `ret` as it is. */
#include "k8s/doc.h"
#include "k8s/pod.h"

/** Fill err with "out of memory" and return -ENOMEM. */
int decode_oom(struct err *err);
/** Put "path." before err->where; returns r. */
int decode_at(int r, struct err *err, const char *fmt, ...) ATTR_PRINTF(3, 4);
/** -EINVAL: "expected `wanted`, found ...". */
int decode_type_error(const struct doc *found, const char *wanted, struct err *err);
/** A string member; borrowed from the doc. */
int decode_string(const struct doc *object, const char *key, const char **ret, struct err *err);
int decode_bool(const struct doc *object, const char *key, bool *ret, struct err *err);
int decode_object(const struct doc *object, const char *key, const struct doc **ret, struct err *err);
int decode_array(const struct doc *object, const char *key, const struct doc **ret, struct err *err);
/** The same; items must be objects. `*ret_first` is the first item, `*ret_n` their number (0 when absent). */
int decode_items(const struct doc *object, const char *key, const struct doc **ret_first, size_t *ret_n,
		 struct err *err);
/** A map of strings. A null value is "". */
int decode_labels(const struct doc *object, const char *key, struct arena *arena, struct k8s_labels *ret,
		  struct err *err);
/** A quantity (string or number); `value` may be NULL. */
int decode_amount(const struct doc *value, bool is_milli, struct k8s_amount *ret, struct err *err);
/** A map of quantities: cpu, memory, ephemeral-storage; other names are left to the caller. `map` may be NULL. */
int decode_amounts(const struct doc *map, struct k8s_amount ret[K8S_RESOURCE_COUNT_], struct err *err);
/** `resources` of a container or pod. */
int decode_resources(const struct doc *owner, struct arena *arena, struct k8s_resources *ret, struct err *err);
/** A Pod or pod template. Text is borrowed from the doc, which lives in an arena that must live as long. */
int decode_pod(const struct doc *pod, struct arena *arena, struct k8s_pod *ret, struct err *err);
