/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* log_buffer: writes log lines to stderr in a thread of its own, because a thread that serves requests must not wait
 * when nobody reads stderr. Lines go into a buffer of LOG_BUFFER_BYTES. A line that does not fit is dropped and
 * counted; a log line reports the count as soon as there is room. Cost of a line: one mutex and one copy. */
#include "base/err.h"

#include <stdint.h>

#define LOG_BUFFER_BYTES (256 * 1024)

struct log_buffer;

/** Installs a new buffer as the sink of log lines (base/log.h). Call it before other threads log. Its thread takes no
 *  signals. @return 0; -errno. */
int log_buffer_start(struct log_buffer **ret, struct err *err) ATTR_NODISCARD;
/** How many lines were dropped. Any thread. */
uint64_t log_buffer_dropped(struct log_buffer *self);
/** Writes the buffered lines, for at most `wait_ms`, and frees the buffer; later lines go to stderr directly. No other
 *  thread may log any more. If the time does not suffice, the thread and the buffer stay until the process ends, and
 *  later lines are lost. NULL is allowed. */
void log_buffer_stop(struct log_buffer *self, int64_t wait_ms);
