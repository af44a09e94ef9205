/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decide_checks: the checks and what they add findings with. A check reads facts and the proposals of size_fit.c and
 * adds findings; it decides no size. Each returns 0 or -ENOMEM. Internal to policy/. */
#include "policy/decide_internal.h"

enum { FINDING_NAME_CHARS = 24 };

/** JSON Pointer of a field, or of its nearest parent that is there. */
const char *finding_pointer(const struct deciding *self, const struct sized *item, enum sized_resource resource, int f);
/** `container` NULL: the whole pod. NULL texts mean that the arena is out. */
int finding_add(struct deciding *self, enum check_id check, bool is_patched, const struct k8s_container *container,
		const char *pointer, const char *text) ATTR_NODISCARD;
/** A finding about one field, with what comes of it. */
int finding_add_field(struct deciding *self, enum check_id check, const struct sized *item,
		      enum sized_resource resource, int f, const char *head, const char *why) ATTR_NODISCARD;

int check_limit_below_peak(struct deciding *self) ATTR_NODISCARD;
int check_besteffort(struct deciding *self) ATTR_NODISCARD;
int check_limit_missing(struct deciding *self) ATTR_NODISCARD;
int check_request_missing(struct deciding *self) ATTR_NODISCARD;
int check_ephemeral_missing(struct deciding *self) ATTR_NODISCARD;
int check_over_share(struct deciding *self) ATTR_NODISCARD;
int check_ephemeral_over_share(struct deciding *self) ATTR_NODISCARD;
int check_usage_over_share(struct deciding *self) ATTR_NODISCARD;
int check_request_below_median(struct deciding *self) ATTR_NODISCARD;
int check_over_provisioned(struct deciding *self) ATTR_NODISCARD;
int check_oom_history(struct deciding *self) ATTR_NODISCARD;
int check_oom_not_retriable(struct deciding *self) ATTR_NODISCARD;
int check_leak(struct deciding *self) ATTR_NODISCARD;
int check_unstable(struct deciding *self) ATTR_NODISCARD;
int check_unschedulable(struct deciding *self) ATTR_NODISCARD;
int check_unit(struct deciding *self) ATTR_NODISCARD;
int check_shm_small(struct deciding *self) ATTR_NODISCARD;
int check_shm_unbounded(struct deciding *self) ATTR_NODISCARD;
int check_emptydir_unbounded(struct deciding *self) ATTR_NODISCARD;
int check_critical(struct deciding *self) ATTR_NODISCARD;
