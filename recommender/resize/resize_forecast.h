/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_forecast: whether a container will reach its limit before its run usually ends, and which limit it needs.
 *
 * It extends a straight line through the use of the last minutes, and trusts it only for a few minutes. It does nothing
 * while a container is far from its limit, as it may only be loading a data set. It does nothing either while the use
 * is within the peak of earlier runs and the limit is above that peak: the run is expected to stop there. A resize
 * takes seconds, so there is time.
 *
 * Use is the working set without page cache, as far as that is known: a cache fills any limit and can be reclaimed.
 * Pure. */
#include "base/attr.h"

#include <stdint.h>

struct resize_trend {
	int64_t limit_bytes;
	int64_t used_bytes;	  /* working set without active file cache */
	double slope_bytes_per_s; /* slope of used_bytes */
	int64_t ran_ms;		  /* time since the start of the run */
	int64_t usual_ms;	  /* median duration of the workload's whole runs; 0: not known */
	int64_t peak_bytes;	  /* peak of the workload's whole runs; 0: not known */
};

/** Share of its limit that a container must use before a line to the limit counts: one within RESIZE_LEAD_MS, and one
 * of hours. */
#define RESIZE_NEAR_PERMILLE	  700
#define RESIZE_VERY_NEAR_PERMILLE 900
/** How far ahead a line is trusted if the usual end is close or not known. */
#define RESIZE_LEAD_MS (5 * 60 * 1000)
/** The least and the most that one step raises the limit to, in permille of the limit. */
#define RESIZE_STEP_MIN_PERMILLE 1250
#define RESIZE_STEP_MAX_PERMILLE 1500
/** Buffer on top of the extrapolated use. */
#define RESIZE_BUFFER_PERMILLE 1100

struct resize_forecast {
	bool is_due;
	int64_t reaches_ms; /* when the limit is reached, from now; INT64_MAX: never */
	int64_t want_bytes; /* the new limit; 0 unless due */
};

/** Computes whether a step is due, and the new limit. Constant cost. */
void resize_forecast(const struct resize_trend *trend, struct resize_forecast *ret);
