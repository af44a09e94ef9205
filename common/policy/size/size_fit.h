/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size_fit: shared by size_fit.c (memory of one container), size_lower.c (the proposals that lower a value),
 * size_gate.c (whether a proposal may be carried out), size_fit_pod.c (ephemeral storage, the pod as a whole) and
 * size_limits.c (the namespace). Private to policy/. Cost: constant for one container, except fit_room(), which reads
 * all containers of the pod (LIMIT_POD_CONTAINERS), fit_carry_out_all() and size_limits(). */
#include "policy/decide/decide_internal.h"

enum { REQUEST = SIZE_REQUEST, LIMIT = SIZE_LIMIT };

/** Whether this check may change this field in this pod. `needs`: the mode that is required. @return GATE_OPEN, or why
 * not. */
enum gate fit_gate(const struct deciding *self, enum check_id check, enum mode needs);
/** Whether it is open, or a mode or annotation opens it. A reason that no mode takes away is then the one to name, or
 *  the finding would promise what no mode does. */
bool fit_may_open(enum gate gate);
/** Requests of a pod that a queue has counted are not changed. Its limit may only grow if there is an explicit request,
 *  because the API server copies a limit without a request to the request. @return `gate`, or GATE_QUEUE if
 * fit_may_open. */
enum gate fit_queue_gate(const struct deciding *self, const struct sized *item, int f, enum gate gate);
/** The mode that adds an absent value. An explicit 0 of a bare pod is changed only as other values are. */
enum mode fit_add_mode(const struct deciding *self, const struct field *field);
/** Sets a field's proposal. `rule`: static. */
void fit_propose(struct field *field, enum gate gate, enum mode needs, int64_t to_bytes, const char *rule);
/** The rule that the recommendation follows: static words. */
const char *fit_limit_rule(const struct sized *item);
const char *fit_request_rule(const struct sized *item);
/** Whether one of these flags (of enum recommendation_flag) is set and no person has pinned a size. */
bool fit_is_held(const struct sized *item, uint8_t flags);
/** Room on a node for the request of one container: all of the largest node, less what the pod requests beside it. Init
 * containers run before the main containers, not beside them. */
int64_t fit_room(const struct deciding *self, struct sized *item, enum sized_resource resource);
/** Request above limit: the API server rejects such a container, and a patch must not be the apparent cause. */
bool fit_is_contradictory(const struct field *fields);
/** Whether runs were seen to use so much: a ceiling or a share of a node may be less, and such a limit would kill pods.
 *  A pin is a person's decision and applies. */
bool fit_is_deadly(const struct sized *item, int64_t limit_bytes);
/** What a field (request or limit) is lowered to: one step down for each run, however often its template and pods are
 *  reviewed, and even if a manifest always has the same value: the step starts from what the last whole run completed
 *  with. A pin has no steps. */
int64_t fit_lowered(const struct deciding *self, const struct sized *item, int f);
enum gate fit_lower_limit_gate(const struct deciding *self, const struct sized *item, int64_t to_bytes);
/** Proposals that lower memory, the request first. */
void fit_lower_request(const struct deciding *self, struct sized *item);
void fit_lower_limit(const struct deciding *self, struct sized *item);
/** What the recommendation is for a field (request or limit). */
int64_t size_wanted(const struct sized *item, int field);
/** Makes proposals for the memory of one container. */
void fit_memory(const struct deciding *self, struct sized *item);
/** Recomputes the request of a container without one, after its new limit was dropped. */
void fit_request_anew(const struct deciding *self, struct sized *item);
/** size_carry.c: sets the item's container in `after` to its original values and all open proposals. */
void fit_carry_out(struct deciding *self, struct sized *item);
/** The same for all items. */
void fit_carry_out_all(struct deciding *self);
/** Reduces or shuts proposals that the LimitRanges and ResourceQuotas of the namespace would reject (size_limits.c). */
void size_limits(struct deciding *self);
/** Whether the field has a value after the decision. */
bool field_has_final(const struct field *field);
