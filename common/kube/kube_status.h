/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_status: turns the API server's Status objects into conditions and error messages. Pure functions, any thread. */
#include "kube/kube_client.h"

/** The condition of an HTTP answer that is not 2xx. `body` may be a Status, a part of one, or any text; the message is
 *  taken from it. `err` may be NULL.
 *  @return a kube_condition, never 0. err->code is set to it; err->where is not changed. */
int kube_status_of_http(long status, const char *body, size_t n, struct err *err);
/** The same for a Status object in an event of a watch. */
int kube_status_of_object(struct json_object *object, struct err *err);
/** Copies `words` (n bytes) to `line` as one line of at most `size` - 1 bytes; control characters become spaces, spaces
 *  at the end are removed. */
void kube_status_line(const char *words, size_t n, char *line, size_t size);
