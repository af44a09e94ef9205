/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* attr: compiler attributes, cleanup at the end of a scope, and small macros. */
#include <stdbool.h>
#include <stddef.h>

#define ATTR_NODISCARD	       __attribute__((warn_unused_result))
#define ATTR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/** Calls `fn(&variable)` when the variable goes out of scope. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/** Moves a pointer out of a variable: returns its value and sets the variable to NULL. */
#define TAKE_PTR(p)                                                                                                    \
	({                                                                                                             \
		__typeof__(p) take_ptr_ = (p);                                                                         \
		(p) = NULL;                                                                                            \
		take_ptr_;                                                                                             \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))

/** Frees a heap pointer: `CLEANUP(freep) char *text = NULL;` */
void freep(void *pointer_to_pointer);
/** Closes a file descriptor unless it is -1, and sets it to -1: `CLEANUP(closep) int fd = -1;` */
void closep(int *fd);
