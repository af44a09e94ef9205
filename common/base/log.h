/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* log: one line an event to stderr, logfmt or JSON, written with one write(2). Only programs and their servers log;
 * library layers return an err. Fields are key/value pairs of C strings, ended by NULL:
 *	log_event(LOG_INFO, "profiles loaded", "path", path, "profiles", log_i64(n), NULL);
 * Values are escaped. Never log tokens or bodies. Any thread. */
#include "base/attr.h"
#include "base/err.h"

#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_LEVEL_COUNT_ };
enum log_format { LOG_LOGFMT, LOG_JSON };

struct log_number {
	char text[24];
};

/** Before a field's key: its value is JSON (a number, a list ...) and goes into a JSON line as it is; logfmt has only
 *  texts: log_event(LOG_INFO, "read", LOG_JSON_FIELD "bytes", "17", NULL). */
#define LOG_JSON_FIELD "@"

/** Settings before threads start. Default: LOG_INFO, LOG_LOGFMT. */
void log_configure(enum log_level level, enum log_format format);
bool log_is_on(enum log_level level);
/** -1 when the name is none of debug, info, warn, error. */
int log_level_parse(const char *name);
void log_event_(enum log_level level, const char *message, ...) __attribute__((sentinel));
/** An err with a message: fields "where" and "error". */
void log_err(enum log_level level, const char *message, const struct err *err);

#define log_event(level, ...)                                                                                          \
	do {                                                                                                           \
		if (log_is_on(level))                                                                                  \
			log_event_(level, __VA_ARGS__);                                                                \
	} while (0)

struct log_number log_number_i64(int64_t value);
#define log_i64(value) (log_number_i64((int64_t)(value)).text)
