/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* object: reads members of objects that the API server sent. A member of another type than expected counts as absent.
 * Texts are borrowed from the object. Pure. */
#include "base/json.h"

/** The value at a path of keys with dots between, such as "status.reason"; NULL: absent. Keys have no dots. */
struct json_object *object_at(struct json_object *object, const char *path);
/** The text at a path; "": absent, or not a string. */
const char *object_text(struct json_object *object, const char *path);
/** The text of one key, which may contain dots, as labels do. */
const char *object_label(struct json_object *object, const char *key);
/** A whole number; `fallback`: absent. */
int64_t object_int(struct json_object *object, const char *path, int64_t fallback);
/** A time in milliseconds; 0: absent. */
int64_t object_time_ms(struct json_object *object, const char *path);
/** A quantity in bytes, at most INT64_MAX; FIGURE_NONE: absent. */
int64_t object_bytes(struct json_object *object, const char *path);
/** Whether a text can be the name of an object in a path: an RFC 1123 subdomain. */
bool object_is_name(const char *text);
/** The number of items of an array; 0: absent. */
size_t object_count(struct json_object *array);
/** The first item of an array that has this text at a path; NULL: none. */
struct json_object *object_find(struct json_object *array, const char *path, const char *text);
