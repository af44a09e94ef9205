/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decide_checks: the checks, and the functions with which they add findings (decide_findings.c). A check reads facts
 * and the proposals of size_fit.c and adds findings; it computes no sizes. Each function returns 0 or -ENOMEM. Private
 * to policy/. Cost: each check is linear in the containers, their mounts and the pod's volumes. */
#include "policy/decide/decide_internal.h"

/** JSON Pointer of a field, or of its nearest existing parent. NULL: the arena is full. */
const char *finding_pointer(const struct deciding *self, const struct sized *item, enum sized_resource resource, int f);
/** `container` NULL: the whole pod. A NULL text means that the arena is full. */
int finding_add(const struct deciding *self, struct findings *list, enum check_id check, bool is_patched,
		const struct k8s_container *container, const char *pointer, const char *text) ATTR_NODISCARD;
/** Adds a finding about one field, with what is done about it. */
int finding_add_field(const struct deciding *self, struct findings *list, enum check_id check, const struct sized *item,
		      enum sized_resource resource, int f, const char *head, const char *why) ATTR_NODISCARD;

int check_limit_below_peak(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_request_token(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_limit_near_peak(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_besteffort(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_limit_missing(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_request_missing(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_ephemeral_missing(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_over_share(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_ephemeral_over_share(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_usage_over_share(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_request_below_median(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_over_provisioned(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_gpu_memory(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_oom_history(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_oom_not_retriable(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_leak(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_unstable(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_unschedulable(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_quantity(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_request_above_limit(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_unit(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_allocator(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_dataset(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_shm_small(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_shm_unbounded(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_emptydir_unbounded(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_sized_by_vpa(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
int check_critical(const struct deciding *self, struct findings *list) ATTR_NODISCARD;
