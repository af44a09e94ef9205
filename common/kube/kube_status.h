/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_status: the API server's Status objects as conditions and words. Pure functions, any thread. */
#include "kube/kube_client.h"

/** Condition of an HTTP answer that is not 2xx; its body (a Status, cut or not, or anything) gives the words.
 *  @return a kube_condition, never 0; err->code is the same, err->where stays as it is. */
int kube_status_of_http(long status, const char *body, size_t n, struct err *err);
/** The same of a Status object inside a watch. */
int kube_status_of_object(struct json_object *object, struct err *err);
