/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* timefmt: RFC 3339 times and durations as int64 milliseconds. Functions of other modules get the time from their
 * caller; only programs call time_now_ms. No locale; Z and numeric offsets are the only time zones. Any thread. */
#include "base/attr.h"

#include <stdint.h>

#define TIME_SECOND_MS	((int64_t)1000)
#define TIME_MINUTE_MS	(60 * TIME_SECOND_MS)
#define TIME_HOUR_MS	(60 * TIME_MINUTE_MS)
#define TIME_DAY_MS	(24 * TIME_HOUR_MS)
#define TIME_TEXT_BYTES 32

/** Wall clock, ms since 1970-01-01T00:00:00Z. */
int64_t time_now_ms(void);
/** Monotonic clock, ms since an unspecified moment. */
int64_t time_monotonic_ms(void);
/** Writes "2026-11-02T08:15:00Z" (with milliseconds only if they are not zero) into `buf`; returns `buf`. "invalid":
 *  the year is before 0 or after 9999. */
const char *time_render(int64_t time_ms, char buf[TIME_TEXT_BYTES]);
/** Parses RFC 3339. @return 0; -EINVAL, and `ret_ms` is unchanged. */
int time_parse(const char *text, size_t n, int64_t *ret_ms) ATTR_NODISCARD;
/** Parses "500ms", "30s", "5m", "1h30m", "14d", "2w": Prometheus' units, each at most once, largest first. The result
 *  is never negative. @return 0; -EINVAL; -ERANGE it does not fit into int64. */
int duration_parse(const char *text, size_t n, int64_t *ret_ms) ATTR_NODISCARD;
/** Writes a duration in its shortest form ("90m" -> "1h30m", 0 -> "0s") into `buf`; returns `buf`. */
const char *duration_render(int64_t duration_ms, char buf[TIME_TEXT_BYTES]);
