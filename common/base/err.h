/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* err: an error message that a user can act on; lives on the caller's stack.
 *
 * Return values in this project: 0 is success. A negative value is -errno: an unexpected failure that is passed on
 * unchanged (err_wrap adds context once). A positive value is a condition that the function documents and its caller
 * must handle. A function that can fail takes `struct err *err` last and fills it in whenever it returns non-zero.
 * `err` may be NULL. No allocation; a message that does not fit is cut. Libraries never log: the program logs an err
 * once. Threads: an err belongs to one thread. */
#include "base/attr.h"

#define ERR_INIT                                                                                                       \
	{                                                                                                              \
		.code = 0                                                                                              \
	}

struct err {
	int code;	 /* the function's return value */
	char where[160]; /* "file:line:col", a field path or a URL; "" when unknown */
	char msg[512];	 /* one line, no full stop */
};

/** Fills in `err` and returns `code`: `return err_set(err, -EINVAL, "...")`. Clears `where`. */
int err_set(struct err *err, int code, const char *fmt, ...) ATTR_PRINTF(3, 4);
/** The same with a place. Line and column are 1-based; 0 leaves them out. `file` may be NULL. */
int err_set_at(struct err *err, int code, const char *file, size_t line, size_t column, const char *fmt, ...)
	ATTR_PRINTF(6, 7);
/** Puts context before the message: "open profiles.json: No such file". Keeps code and place. */
void err_wrap(struct err *err, const char *fmt, ...) ATTR_PRINTF(2, 3);
/** Writes "where: msg" or "msg" into `buf`, cut to fit; returns `buf`. */
const char *err_text(const struct err *err, char *buf, size_t size);

#ifdef __clang_analyzer__
/* The functions return the code that they are given; the analyser does not see into another file. */
#define err_set(err, code, ...)			    ((void)err_set(err, code, __VA_ARGS__), (code))
#define err_set_at(err, code, file, line, col, ...) ((void)err_set_at(err, code, file, line, col, __VA_ARGS__), (code))
#endif
