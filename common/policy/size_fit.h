/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size_fit: what size_fit.c (memory of one container), size_fit_pod.c (disk, the pod as a whole) and size_limits.c (the
 * namespace) share. */
#include "policy/decide_internal.h"

enum { REQUEST = SIZE_REQUEST, LIMIT = SIZE_LIMIT };

/** May this check change this field in this pod, and in which mode? */
enum gate fit_gate(const struct deciding *self, enum check_id check, enum mode needs);
void fit_propose(struct field *field, enum gate gate, enum mode needs, int64_t to_bytes, const char *rule);
/** Does harm that was done before forbid it? Not where a person has pinned a size. */
bool fit_is_held(const struct sized *item, enum recommendation_flag by);
/** What nodes leave for the request of one container: all of the largest, less what the pod asks for beside it. Init
 *  containers run before the main ones, not beside them. */
int64_t fit_room(const struct deciding *self, struct sized *item, enum sized_resource resource);
/** Request above limit: the API server refuses such a container, and a patch must not be blamed for it. */
bool fit_is_contradictory(const struct field *fields);
/** Proposals for the memory of one container. */
void fit_memory(const struct deciding *self, struct sized *item);
/** A request for a container that has none, once more: its new limit is not to be. */
void fit_request_anew(const struct deciding *self, struct sized *item);
/** Make `after` the pod with all open proposals, and nothing else. */
void fit_carry_out(struct deciding *self);
/** Reduce or shut what the LimitRanges and ResourceQuotas of the namespace would refuse (size_limits.c). */
void size_limits(struct deciding *self);
bool field_has_final(const struct field *field);
