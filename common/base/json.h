/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* json: strict use of json-c. Getters check the type and never coerce; a wrong type is an error that names the field.
 * json-c pitfalls that this file holds in one place: null is a NULL pointer, NaN and duplicate keys are accepted by the
 * parser, getters coerce, serialising caches inside the object (a tree belongs to one thread). */
#include "base/err.h"
#include "base/str.h"

#include <json-c/json.h>
#include <stdint.h>

/** Parse exactly one JSON value of `n` bytes (strict, UTF-8 checked, nothing behind it, depth <= `depth`).
 *  @param ret_object  owned by the caller (json_object_put); never NULL on success ("null" is -EINVAL).
 *  @return 0, -EINVAL with the byte offset in err, -ENOMEM. */
int json_parse(const char *text, size_t n, int depth, struct json_object **ret_object, struct err *err) ATTR_NODISCARD;
/** Cleanup: json_object_put. */
void json_putp(struct json_object **object);

/* Members of an object. `object` may be NULL (then the member is absent). Absent and null members are the same.
 * @return 0 with the value, JSON_ABSENT, or -EINVAL when the type is wrong (err->where is `path`.`key`). */
#define JSON_ABSENT 1
int json_get_string(struct json_object *object, const char *path, const char *key, const char **ret,
		    struct err *err) ATTR_NODISCARD;
int json_get_int64(struct json_object *object, const char *path, const char *key, int64_t *ret,
		   struct err *err) ATTR_NODISCARD;
int json_get_object(struct json_object *object, const char *path, const char *key, struct json_object **ret,
		    struct err *err) ATTR_NODISCARD;
int json_get_array(struct json_object *object, const char *path, const char *key, struct json_object **ret,
		   struct err *err) ATTR_NODISCARD;

/** Member by key without any check; NULL when absent or `object` is no object. */
struct json_object *json_member(struct json_object *object, const char *key);
/** Add a member and take `value`; on failure it is put. `object` must be an object. 0 or -ENOMEM (also for a NULL
 * value). */
int json_add(struct json_object *object, const char *key, struct json_object *take_value) ATTR_NODISCARD;
/** Append to an array and take `value`. 0 or -ENOMEM. */
int json_append(struct json_object *array, struct json_object *take_value) ATTR_NODISCARD;

/** Sets a member of an object and takes `value`. In `path`, "metadata.name", dots separate the keys, and missing
 * objects on the way are made. Failures are sticky, so a chain of calls needs one check at its end: out of memory, a
 * NULL value or a key on the way whose value is no object puts the object, and `*object` becomes NULL. With NULL
 * nothing is done. */
void json_set(struct json_object **object, const char *path, struct json_object *take_value);
/** The same for a string, which is copied. NULL: nothing is set. */
void json_set_text(struct json_object **object, const char *path, const char *text);

/** Length of the number at `p` by JSON's grammar, of at most `n` bytes; 0 when there is none. */
size_t json_number_length(const char *p, size_t n);
