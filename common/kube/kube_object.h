/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_object: an object of a list or a watch, with the fields of metadata that every object has. Pure functions, any
 * thread. */
#include "base/err.h"
#include "base/json.h"

/** Borrowed for a callback. `json` and `text` are NULL when only the name is known. */
struct kube_object {
	struct json_object *json; /* NULL when the caller asked for text */
	const char *text;	  /* as the server sent it; not NULL-terminated */
	size_t n_text;
	const char *namespace; /* "" for cluster-scoped kinds */
	const char *name;
	const char *uid, *resource_version; /* "" when unknown */
};

/** Reads metadata. The strings of `ret` belong to `json`; `text` is not set. @return 0; -EINVAL there is no name, or a
 *  field has the wrong type. */
int kube_object_read(struct json_object *json, struct kube_object *ret, struct err *err) ATTR_NODISCARD;
/** Reads metadata from JSON text, without json-c: eight times faster, for resources with many objects. The function
 *  checks that the text is one JSON value. Strings of `ret` are in the arena; `json` is not set. Cost: linear in `n`.
 *  @return 0; -EINVAL; -E2BIG; -ENOMEM. */
struct arena;
int kube_object_scan(const char *text, size_t n, struct arena *arena, struct kube_object *ret,
		     struct err *err) ATTR_NODISCARD;

/** An event of a watch. */
struct kube_event {
	const char *type;
	struct kube_object object; /* has `text` and no `json`; name is NULL in a bookmark and in an error */
};
/** Reads a line of a watch; as kube_object_scan. @return 0; -EINVAL the text is not one JSON object with a type and an
 *  object; -E2BIG the object is deeper or has more tokens than a list accepts; -ENOMEM. With -E2BIG `ret` has what was
 *  read, usually all; otherwise name and resource_version are NULL. */
int kube_event_scan(const char *text, size_t n, struct arena *arena, struct kube_event *ret,
		    struct err *err) ATTR_NODISCARD;
