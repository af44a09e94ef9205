/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* err: what went wrong, in words a user can act on, on the caller's stack.
 *
 * Return values of the whole code base: 0 is success; a negative value is -errno, unexpected, forwarded unchanged
 * (context added once with err_wrap); a positive value is a condition that the function documents and its caller
 * must handle. A function that can fail takes `struct err *err` last and fills it whenever it returns non-zero.
 * `err` may be NULL where the caller does not care. No allocation; text that does not fit is cut.
 * Library layers never log: the program logs an err once. Threads: an err belongs to one thread. */
#include "base/attr.h"

#define ERR_INIT                                                                                                       \
	{                                                                                                              \
		.code = 0                                                                                              \
	}

struct err {
	int code;	 /* what the function returned */
	char where[160]; /* "file:line:col", a field path, a URL; empty when not known */
	char msg[512];	 /* one line, no full stop */
};

/** Fill `err` and return `code`, so that `return err_set(err, -EINVAL, "...")` reads well. Clears `where`. */
int err_set(struct err *err, int code, const char *fmt, ...) ATTR_PRINTF(3, 4);
/** The same with a place: line and column are 1-based; 0 leaves them out. `file` may be NULL. */
int err_set_at(struct err *err, int code, const char *file, size_t line, size_t column, const char *fmt, ...)
	ATTR_PRINTF(6, 7);
/** Prefix the message with context: "open profiles.json: No such file". Keeps code and place. */
void err_wrap(struct err *err, const char *fmt, ...) ATTR_PRINTF(2, 3);
/** "where: msg" or "msg" into `buf`, cut to fit; returns `buf`. */
const char *err_text(const struct err *err, char *buf, size_t size);

#ifdef __clang_analyzer__
/* They return the code that they are given; the analyser does not look into another file. */
#define err_set(err, code, ...)			    ((void)err_set(err, code, __VA_ARGS__), (code))
#define err_set_at(err, code, file, line, col, ...) ((void)err_set_at(err, code, file, line, col, __VA_ARGS__), (code))
#endif
