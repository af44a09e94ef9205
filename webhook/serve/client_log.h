/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* client_log: log lines that clients can cause. Each kind has its own rate limit, so that no client can fill the log or
 * suppress other kinds of lines. Cost: linear in the fields, which base/log.h cuts; constant for a line over the limit.
 * Any thread. */
#include "base/log.h"

enum client_line {
	LINE_CLIENT_REFUSED,
	LINE_SLOW_CLOSED,
	LINE_EVICTED,
	LINE_CONNECTION, /* details: handshakes that failed, messages of libmicrohttpd */
	LINE_NO_DECISION,
	LINE_POD_PATCHED,
	LINE_TEMPLATE_PATCHED,
	CLIENT_LINE_COUNT_,
};

extern const struct log_kind client_lines[CLIENT_LINE_COUNT_];

/** Must be zeroed before the first use. */
struct client_log {
	struct log_gate gates[CLIENT_LINE_COUNT_];
};

/** Logs a line of this kind; fields as for log_event. */
#define client_log(self, line, ...) log_limited(&(self)->gates[line], &client_lines[line], __VA_ARGS__)
