/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* collect_warnings: what a warning in an answer means. Thanos and others answer with a warning when a part of their
 * stores does not, so the figures of such a window are lower bounds, and its runs do not count as whole runs.
 *
 * But if no answer about closed time was without a warning for COLLECT_WARNED_MS, the warning is a property of the
 * source (a store that was removed and is still configured) and says nothing about a window. Then warnings are ignored
 * until such an answer comes without one, and the days that were read with warnings are read again, once. Answers about
 * the open time do not end it: Thanos does not ask a store about hours that the store does not have yet. What a store
 * really lacks is still noticed: a run is whole only if its samples cover it. Texts are not compared, as addresses and
 * times in them change. One thread. */
#include "engine/collect.h"

#define COLLECT_WARNED_MS ((int64_t)24 * 3600 * 1000)

/** Whether warnings are ignored. */
bool collect_ignores_warnings(const struct collect *self);
/** Call it before reading. Once warnings are ignored, reading begins with the first day of the history that was read
 * with one. */
void collect_begin_warnings(struct collect *self);
/** Notes whether an answer has a warning, and removes `is_partial` from the batch if warnings are ignored. */
void collect_note_answer(struct collect *self, struct evidence_batch *batch);
/** Notes that the closed day that begins at `start_ms` is accepted with warnings. */
void collect_note_warned_day(struct collect *self, int64_t start_ms);
/** Call it after reading: updates `state`. */
void collect_end_warnings(struct collect *self);
