/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_object: an object of a list or a watch with what every object has. */
#include "base/err.h"
#include "base/json.h"

/** Borrowed for a callback. `json` is NULL where only the name is known. */
struct kube_object {
	struct json_object *json;
	const char *namespace; /* "" for cluster-scoped kinds */
	const char *name;
	const char *uid, *resource_version; /* "" when not known */
};

/** Look into metadata. The texts belong to `json`. @return 0; -EINVAL (no name, wrong types). */
int kube_object_read(struct json_object *json, struct kube_object *ret, struct err *err) ATTR_NODISCARD;
