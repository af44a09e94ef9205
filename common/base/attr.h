/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* attr: compiler attributes, the cleanup idiom and overflow-checked sizes. */
#include <stdbool.h>
#include <stddef.h>

#define ATTR_NODISCARD	       __attribute__((warn_unused_result))
#define ATTR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define ATTR_UNUSED	       __attribute__((unused))

/** Run `fn(&variable)` when the variable goes out of scope. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/** Move a pointer out of a variable: yields its value and leaves NULL behind. */
#define TAKE_PTR(p)                                                                                                    \
	({                                                                                                             \
		__typeof__(p) take_ptr_ = (p);                                                                         \
		(p) = NULL;                                                                                            \
		take_ptr_;                                                                                             \
	})

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))

/** Cleanup of a heap pointer: `CLEANUP(freep) char *text = NULL;` */
void freep(void *pointer_to_pointer);
/** Cleanup of a file descriptor, -1 means none: `CLEANUP(closep) int fd = -1;` */
void closep(int *fd);
