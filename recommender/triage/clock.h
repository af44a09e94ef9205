/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* clock: the time that a line of a log begins with, as far as it can be compared: seconds since the boot of a node, a
 * time of an unknown zone, or a time with its zone. Pure; cost: linear in the first bytes of the line. */
#include <stdbool.h>
#include <stdint.h>

enum clock_kind {
	CLOCK_NONE,
	CLOCK_BOOT,  /* "[ 7063.248138]" */
	CLOCK_LOCAL, /* "[Mon Nov  2 03:00:00 2026]", "2026-11-02 03:00:00,123" */
	CLOCK_YEAR,  /* "Nov  2 03:00:00": local, in an unknown year; ms counts from 1970 */
	CLOCK_ZONED, /* "2026-11-02T03:00:00+01:00" */
};

struct clock {
	enum clock_kind kind;
	int64_t ms; /* since the boot, or since 1970; of local times as if their zone were UTC */
};

/** Times of logs and of a cluster whose zone is not known may differ by so much and be the same. */
#define CLOCK_LOCAL_SLACK_MS ((int64_t)26 * 3600 * 1000)

struct clock clock_read(const char *text);
/** Whether the time is certainly outside of a span, which is in UTC if `has_zone`. `slack_ms`: clocks of machines may
 *  differ by this. @return false also where the times cannot be compared. */
bool clock_is_outside(struct clock clock, int64_t start_ms, int64_t end_ms, bool has_zone, int64_t slack_ms);
