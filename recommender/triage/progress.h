/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* progress: lines that only say how far a run came ("step 1200 loss 2.31"), most lines of many logs. Only the last ones
 * before another line count, so that the others are dropped unread, which makes long logs cheap. One thread. */
#include "base/attr.h"
#include "base/str.h"

#include <stdint.h>

#define PROGRESS_MAX	    4096 /* lines; the last steps of each rank with a position of its own */
#define PROGRESS_LINE_BYTES 256

struct progress_line {
	uint64_t number;
	size_t n;
	char text[PROGRESS_LINE_BYTES];
};

struct progress {
	struct progress_line *items; /* PROGRESS_MAX of them, in a ring */
	size_t n, next;
};

/** @return 0 or -ENOMEM; either way the caller calls progress_release. Memory: 1.1 MiB. */
int progress_init(struct progress *self) ATTR_NODISCARD;
void progress_release(struct progress *self);
/** Keeps a copy, in place of the oldest one where there is no room. @return false: the line is too long to be kept. */
bool progress_keep(struct progress *self, struct str text, uint64_t number);
/** The oldest line that is kept, taken out; valid until the next progress_keep. NULL: none. */
const struct progress_line *progress_take(struct progress *self);
