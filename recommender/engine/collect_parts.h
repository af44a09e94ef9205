/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* collect_parts: how much closed time collect reads as one window. It is a day where the day is over, and
 * COLLECT_PART_MS of the present day. What was read of a window is lost if reading ends within it: because of the
 * deadline, or because Prometheus gave no answer, and a query may even have ended it. If that happens in STUCK_CYCLES
 * cycles in a row, windows become half as long, then again in each further cycle. The shortest ones are gaps when
 * they fail. After a day windows become twice as long again.
 *
 * After a part that is not closed yet the open time is long. It is then read in such windows, too, but none of them
 * becomes a gap. What was read of it is lost in whichever window reading ends, so all its windows count as one. If the
 * deadline is too short for all of it even in the shortest windows, the parts before it have to be closed as they are.
 * One thread. */
#include "engine/collect.h"

/** The present day is closed in parts of this length. */
#define COLLECT_PART_MS ((int64_t)6 * 3600 * 1000)

/** The time up to which parts are closed. */
int64_t collect_closed_until_ms(const struct collect *self);
/** The end of the window that follows the watermark. There is closed time that is not read. */
int64_t collect_part_end_ms(const struct collect *self);
/** The end of the window of the open time that starts at `start_ms`. */
int64_t collect_open_end_ms(const struct collect *self, int64_t start_ms);
/** Call it before reading. */
void collect_begin_parts(struct collect *self);
/** Reading ended early in this window: status EVIDENCE_STOPPED, EVIDENCE_UNREACHABLE or -EPROTO. Others are ignored. */
void collect_note_stuck(struct collect *self, const struct evidence_window *window, int status, const char *why);
/** A window was read. Cycles are no longer counted if reading ended early within it or before it, and all of the open
 * time was read if it is long. */
void collect_note_read(struct collect *self, const struct evidence_window *window);
/** Whether a part that ends at `end_ms` must be closed, however it was answered: the long open time after it could not
 * be read in several cycles. */
bool collect_is_in_the_way(const struct collect *self, int64_t end_ms);
