/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_object: an object of a list or a watch with what every object has. */
#include "base/err.h"
#include "base/json.h"

/** Borrowed for a callback. Where only the name is known, `json` and `text` are NULL. */
struct kube_object {
	struct json_object *json; /* NULL: whoever asked wants text */
	const char *text;	  /* as it was sent; not NUL-terminated */
	size_t n_text;
	const char *namespace; /* "" for cluster-scoped kinds */
	const char *name;
	const char *uid, *resource_version; /* "" when not known */
};

/** Look into metadata. The texts belong to `json`, `text` is left out. @return 0; -EINVAL (no name, wrong types). */
int kube_object_read(struct json_object *json, struct kube_object *ret, struct err *err) ATTR_NODISCARD;
/** The same of a text, without json-c: eight times faster, for kinds of which there are many. The whole text is checked
 *  to be one JSON value; the texts of `ret` are in the arena. @return 0; -EINVAL; -E2BIG; -ENOMEM. */
struct arena;
int kube_object_scan(const char *text, size_t n, struct arena *arena, struct kube_object *ret,
		     struct err *err) ATTR_NODISCARD;

/** An event of a watch. */
struct kube_event {
	const char *type;
	struct kube_object object; /* its text only; the name is NULL in a bookmark and in an error */
};
/** @return 0; -EINVAL (not one JSON object with a type and an object); -E2BIG; -ENOMEM. */
int kube_event_scan(const char *text, size_t n, struct arena *arena, struct kube_event *ret,
		    struct err *err) ATTR_NODISCARD;
