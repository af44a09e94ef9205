/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fake_objects: an API server's objects, as far as a store sees them: resourceVersions and conflicts, the subresource
 * status, pages, preconditions. For faults and races that a real one cannot be made to show; a hook sees each request
 * before it is answered, may change objects, and may answer instead. */
#include "base/json.h"
#include "fake_api.h"

struct fake_objects;

/** @return 0: answer it; else an HTTP status with `reason` and `message` for the Status. Runs in a server thread, under
 *  the server's mutex. */
typedef int fake_hook_fn(void *context, struct fake_objects *self, const char *method, const char *path,
			 const char **ret_reason, const char **ret_message);

struct fake_objects *fake_objects_start(void);
void fake_objects_free(struct fake_objects *self);
const char *fake_objects_url(const struct fake_objects *self);
/** Before the first request, or from the hook itself. */
void fake_objects_hook(struct fake_objects *self, fake_hook_fn *hook, void *context);

/** As somebody else: put (or replace) an object from text, by its kind's plural. From the hook, or between requests. */
void fake_objects_put(struct fake_objects *self, const char *plural, const char *text);
/** Borrowed until it changes; NULL: not there. */
struct json_object *fake_objects_get(struct fake_objects *self, const char *plural, const char *namespace_name,
				     const char *name);
void fake_objects_delete(struct fake_objects *self, const char *plural, const char *namespace_name, const char *name);
/** Requests so far whose "METHOD PATH" begins so. */
size_t fake_objects_count(struct fake_objects *self, const char *head);
void fake_objects_count_anew(struct fake_objects *self);
/** Objects of a list's page, whatever the client asks for; 0: as it asks. */
void fake_objects_page(struct fake_objects *self, size_t n);
