/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cycles: one cycle of a session, whole or quick, with what it leaves in the log, in metrics and for `status`. */
#include "service/session.h"

/** @return an exit code. */
int cycles_run(struct session *self, struct engine_result *ret, struct err *err) ATTR_NODISCARD;
/** For `status`. Nothing depends on it, so that a cycle is as good without. */
void cycles_leave_record(struct session *self, const struct engine_result *result, const struct err *err, int code);
/** A whole cycle of a leader. */
void cycles_whole(struct session *self);
/** Does something wait that a profile should know at once? */
bool cycles_is_quick_due(struct session *self);
/** Take back what the last cycles said of the whole: who does not lead does not know it. */
void cycles_forget(struct session *self);
/** What pods came to since the last one. */
void cycles_quick(struct session *self);
/** A first reading of history takes minutes; what happens meanwhile, or rises to its limit, is not made to wait.
 * Context: a session. */
void cycles_between(void *context);
