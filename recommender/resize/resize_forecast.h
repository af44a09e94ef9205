/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_forecast: will a container reach its limit before its run usually ends, and what would it need?
 *
 * A straight line through the last minutes is all that is assumed, so it is trusted for a few minutes only: nothing is
 * done while a container is far from its limit (it loads a data set, say, and will stop), nor while it uses what runs
 * before it used and its limit leaves room for: it is expected to stop where they did. And a resize takes seconds.
 * Memory that counts is the working set without page cache, as far as that is known: a cache fills whatever limit there
 * is, and gives way. Pure. */
#include "base/attr.h"

#include <stdint.h>

struct resize_trend {
	int64_t limit_bytes;
	int64_t used_bytes;	  /* working set without active file */
	double slope_bytes_per_s; /* of the same */
	int64_t ran_ms;		  /* since the run's start */
	int64_t usual_ms;	  /* median duration of its whole runs; 0: not known */
	int64_t peak_bytes;	  /* of its whole runs; 0: not known */
};

/** So much of its limit a container must use before a line to it means anything, and before a line of hours does. */
#define RESIZE_NEAR_PERMILLE	  700
#define RESIZE_VERY_NEAR_PERMILLE 900
/** How far ahead a line is trusted; where the usual end is near, or not known, no further. */
#define RESIZE_LEAD_MS (5 * 60 * 1000)
/** One step up. */
#define RESIZE_STEP_MIN_PERMILLE 1250
#define RESIZE_STEP_MAX_PERMILLE 1500
/** On top of what the line says. */
#define RESIZE_BUFFER_PERMILLE 1100

struct resize_forecast {
	bool is_due;
	int64_t reaches_ms; /* from now; INT64_MAX: never */
	int64_t want_bytes; /* limit for one step; 0 unless due */
};

void resize_forecast(const struct resize_trend *trend, struct resize_forecast *ret);
