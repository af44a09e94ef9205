/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decode: what the decoders of this folder share. Private to k8s/.
 * Paths in errors are built backwards: a decoder names its own field, its caller prefixes where that object stands, so
 * that the normal path formats no text. */
#include "k8s/pod.h"

/** Fill err with "out of memory" and return -ENOMEM. */
int decode_oom(struct err *err);
/** Put "path." before err->where; returns r. */
int decode_at(int r, struct err *err, const char *fmt, ...) ATTR_PRINTF(3, 4);
/** A string member copied into the arena; `*ret` stays when it is absent. */
int decode_string(struct json_object *object, const char *key, struct arena *arena, const char **ret, struct err *err);
/** A map of strings. A null value is "". */
int decode_labels(struct json_object *object, const char *key, struct arena *arena, struct k8s_labels *ret,
		  struct err *err);
/** A quantity (string or number). */
int decode_amount(struct json_object *value, bool is_milli, struct arena *arena, struct k8s_amount *ret,
		  struct err *err);
/** A map of quantities: cpu, memory, ephemeral-storage; other names are left to the caller. */
int decode_amounts(struct json_object *map, struct arena *arena, struct k8s_amount ret[K8S_RESOURCE_COUNT_],
		   struct err *err);
/** `resources` of a container or pod; absent is fine. */
int decode_resources(struct json_object *owner, struct arena *arena, struct k8s_resources *ret, struct err *err);
/** Array member and its length; absent: NULL and 0. Items must be objects. */
int decode_array(struct json_object *object, const char *key, struct json_object **ret, size_t *ret_n, struct err *err);
