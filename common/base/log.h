/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* log: writes one line for each event to stderr, as logfmt or JSON. Only programs and their servers log; libraries
 * return an err. Fields are pairs of C strings, ended by NULL:
 *	log_event(LOG_INFO, "profiles loaded", "path", path, "profiles", log_i64(n), NULL);
 * Values are escaped. Never log tokens or bodies. A line has at most LIMIT_LOG_LINE_BYTES; a longer one is written
 * without its fields. Cost: linear in the line. Without a sink the caller blocks while nobody reads stderr. Any
 * thread. */
#include "base/attr.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_LEVEL_COUNT_ };
enum log_format { LOG_LOGFMT, LOG_JSON };

struct log_number {
	char text[24];
};

/** Put this before a key whose value is JSON (a number, a list ...): a JSON line contains the value as it is, logfmt as
 *  text: log_event(LOG_INFO, "read", LOG_JSON_FIELD "bytes", "17", NULL). */
#define LOG_JSON_FIELD "@"

/** Sets level and format. Call it before threads start. Default: LOG_INFO, LOG_LOGFMT. */
void log_configure(enum log_level level, enum log_format format);
bool log_is_on(enum log_level level);
/** @return the level named debug, info, warn or error; -1 for other names. */
int log_level_parse(const char *name);
void log_event_(enum log_level level, const char *message, ...) __attribute__((sentinel));
/** Logs a message with an err, as fields "where" and "error". */
void log_err(enum log_level level, const char *message, const struct err *err);

#define log_event(level, ...)                                                                                          \
	do {                                                                                                           \
		if (log_is_on(level))                                                                                  \
			log_event_(level, __VA_ARGS__);                                                                \
	} while (0)

struct log_number log_number_i64(int64_t value);
#define log_i64(value) (log_number_i64((int64_t)(value)).text)

/** A kind of line that clients can cause, with its rate limit: `burst` lines at once, then one every `interval_ms`. */
struct log_kind {
	enum log_level level;
	const char *message;
	unsigned int burst;
	int64_t interval_ms;
};

/** State of a rate limit. Must be zeroed before the first use. */
struct log_gate {
	_Atomic int64_t full_ms; /* monotonic: when the full burst is available again */
	_Atomic uint64_t suppressed;
};

/** Logs a line with a kind's level and message, as log_event. A line over the rate limit is dropped and counted; the
 *  next line of this kind has the count in the field "suppressed". Any thread, without a lock. */
#define log_limited(gate, kind, ...)                                                                                   \
	do {                                                                                                           \
		if (log_gate_opens_((gate), (kind)))                                                                   \
			log_limited_((gate), (kind), __VA_ARGS__);                                                     \
	} while (0)
bool log_gate_opens_(struct log_gate *gate, const struct log_kind *kind);
void log_limited_(struct log_gate *gate, const struct log_kind *kind, ...) __attribute__((sentinel));

/** Receives the lines instead of stderr. */
struct log_sink {
	void *context;
	/** Writes a complete line with its newline. Any thread; must not block. */
	void (*write)(void *context, const char *line, size_t n);
	/** Waits until all lines are written, at most `wait_ms`. */
	void (*flush)(void *context, int64_t wait_ms);
};

/** Sets the sink (copied); NULL: stderr. No other thread may log meanwhile. */
void log_set_sink(const struct log_sink *sink);
/** Waits until all lines are written, at most `wait_ms`. For use before abort(). */
void log_flush(int64_t wait_ms);
