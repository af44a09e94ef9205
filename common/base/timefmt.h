/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* timefmt: RFC 3339 UTC times and durations as int64 milliseconds. The clock is always passed in; only the programs
 * call time_now_ms. No locale, no time zone but Z and numeric offsets. Any thread. */
#include "base/attr.h"

#include <stdint.h>

#define TIME_SECOND_MS	((int64_t)1000)
#define TIME_MINUTE_MS	(60 * TIME_SECOND_MS)
#define TIME_HOUR_MS	(60 * TIME_MINUTE_MS)
#define TIME_DAY_MS	(24 * TIME_HOUR_MS)
#define TIME_TEXT_BYTES 32

/** Wall clock, ms since 1970-01-01T00:00:00Z. */
int64_t time_now_ms(void);
/** Monotonic clock, ms since some point. */
int64_t time_monotonic_ms(void);
/** "2026-11-02T08:15:00Z" (seconds; a fraction only when not zero) into `buf` of TIME_TEXT_BYTES; returns buf. */
const char *time_render(int64_t time_ms, char buf[TIME_TEXT_BYTES]);
/** Parse RFC 3339. 0 or -EINVAL (ret untouched). */
int time_parse(const char *text, size_t n, int64_t *ret_ms) ATTR_NODISCARD;
/** Parse "500ms", "30s", "5m", "1h30m", "14d", "2w" (Prometheus' units; each unit at most once, falling).
 *  0; -EINVAL; -ERANGE beyond int64. Never negative. */
int duration_parse(const char *text, size_t n, int64_t *ret_ms) ATTR_NODISCARD;
/** The same text back in its shortest form ("90m" -> "1h30m", 0 -> "0s") into `buf` of TIME_TEXT_BYTES. */
const char *duration_render(int64_t duration_ms, char buf[TIME_TEXT_BYTES]);
