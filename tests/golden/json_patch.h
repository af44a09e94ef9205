/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* json_patch: as much of RFC 6902 as our patches use (add and replace), strict as the API server is: a parent that is
 * not there is an error, and so is replacing what is not there. */
#include <json-c/json.h>

/** Apply to `document` in place. @return 0, or -1 with a line on stderr. */
int json_patch_apply(struct json_object *document, struct json_object *patch);
