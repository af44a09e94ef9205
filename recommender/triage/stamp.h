/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* stamp: the time that a line of a log begins with. Pure; cost: linear in the text. */
#include "base/attr.h"

#include <stddef.h>
#include <stdint.h>

/* Times of different kinds are not compared. */
enum stamp {
	STAMP_NONE,
	STAMP_LOCAL, /* without a time zone */
	STAMP_ZONED, /* "Z" or an offset; in UTC */
};

/** The first date with a time in `text`: "2026-11-20 10:00:31,123", "2026/11/20T10:00:31.123456Z". `ret_ms` gets
 * milliseconds since 1970. @return STAMP_NONE: there is none. */
enum stamp stamp_read(const char *text, size_t n, int64_t *ret_ms);
