/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* api_rules: what the API server would say to a pod, written down a second time from its sources, on JSON and without
 * the product's own decoders and sums (only quantities are read by the product's parser). */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/** Defaulting: request := limit, then LimitRange defaults (an array of LimitRanges with their defaults filled in). */
void api_default(struct json_object *pod, struct json_object *limit_ranges);
/** All that is wrong with a defaulted pod, as the keys of an object: "x: container main: max memory" ... Quotas are
 *  charged `used` of their status. The caller owns it. */
struct json_object *api_refusals(struct json_object *pod, struct json_object *limit_ranges, struct json_object *quotas);
/** Charge a pod to the quotas that count it: their status.used grows. */
void api_charge(struct json_object *pod, struct json_object *quotas);
/** Sum of a pod's amounts as quotas count them, in bytes (millicores for cpu). */
int64_t api_pod_amount(struct json_object *pod, const char *which, const char *resource);
