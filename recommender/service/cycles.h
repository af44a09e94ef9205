/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cycles: runs one cycle of a session, complete or quick, and reports it in the log, in metrics and for `status`. Main
 * thread. */
#include "service/session.h"

/** Runs a complete cycle without reporting it. @return an exit code. */
int cycles_run(struct session *self, struct engine_result *ret, struct err *err) ATTR_NODISCARD;
/** Writes the record that `status` reads. A failure is only logged, since no cycle depends on it. */
void cycles_leave_record(struct session *self, const struct engine_result *result, const struct err *err, int code);
/** Runs and reports a complete cycle. The service must lead. */
void cycles_whole(struct session *self);
/** The time between the starts of two complete cycles: recommender.interval. After two cycles in a row that read
 * nothing of Prometheus it is doubled with each further one, up to an hour. */
int64_t cycles_interval_ms(const struct session *self);
/** Whether a quick cycle is due: a change waits that a profile should reflect at once, and we lead. */
bool cycles_is_quick_due(struct session *self);
/** Removes the gauges that only the leader knows. Call it when leadership is lost. */
void cycles_forget(struct session *self);
/** Runs and reports a quick cycle from the changes of pods since the last cycle. */
void cycles_quick(struct session *self);
/** Reports kills that are not answered by Events (unraised_kills.h), some in one call; has_more_kills says whether to
 * call it again. */
void cycles_report_kills(struct session *self);
/** Reads why one run failed, if there is one to read about and its sizes are stored. Call it when sizes and resizes do
 * not wait: it may take DIAGNOSE_MS. @return whether there may be more to read. */
bool cycles_diagnose(struct session *self);
/** Called between two queries of a complete cycle, whose first reading of history takes minutes: runs a quick cycle and
 * a check for resizes if they are due, and reads why a run failed. `context`: a session. */
void cycles_between(void *context);
