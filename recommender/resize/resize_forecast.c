/* SPDX-License-Identifier: Apache-2.0 */
#include "resize/resize_forecast.h"

#include "policy/size.h"
#include "policy/size_math.h"

/* The time until the limit is reached by the line, in ms; INT64_MAX: the use does not rise, or takes a century. */
static int64_t reaches_ms(const struct resize_trend *trend)
{
	double ms;

	if (trend->used_bytes >= trend->limit_bytes)
		return 0;
	if (!(trend->slope_bytes_per_s > 0))
		return INT64_MAX;
	ms = (double)(trend->limit_bytes - trend->used_bytes) / trend->slope_bytes_per_s * 1000;
	return ms < 3e12 ? (int64_t)ms : INT64_MAX;
}

static int64_t needs_at(const struct resize_trend *trend, int64_t in_ms)
{
	double bytes = (double)trend->used_bytes + trend->slope_bytes_per_s * (double)in_ms / 1000;

	return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

static bool is_above(const struct resize_trend *trend, int64_t permille)
{
	return trend->used_bytes >= size_scale_permille(trend->limit_bytes, permille);
}

/* Earlier runs used at least as much and stayed below this limit. */
static bool is_as_usual(const struct resize_trend *trend)
{
	return trend->peak_bytes < trend->limit_bytes && trend->used_bytes <= trend->peak_bytes;
}

void resize_forecast(const struct resize_trend *trend, struct resize_forecast *ret)
{
	/* A run beyond its usual duration may end at any time: its end counts as unknown. */
	bool is_known = trend->usual_ms > trend->ran_ms;
	int64_t left_ms = is_known ? trend->usual_ms - trend->ran_ms : RESIZE_LEAD_MS;
	int64_t least = size_scale_permille(trend->limit_bytes, RESIZE_STEP_MIN_PERMILLE);
	int64_t most = size_scale_permille(trend->limit_bytes, RESIZE_STEP_MAX_PERMILLE);
	int64_t need;

	*ret = (struct resize_forecast){.reaches_ms = INT64_MAX};
	if (trend->limit_bytes <= 0 || trend->used_bytes <= 0 || !(trend->slope_bytes_per_s > 0) || is_as_usual(trend))
		return;
	ret->reaches_ms = reaches_ms(trend);
	ret->is_due = ret->reaches_ms < left_ms &&
		      (ret->reaches_ms <= RESIZE_LEAD_MS ? is_above(trend, RESIZE_NEAR_PERMILLE)
							 : is_above(trend, RESIZE_VERY_NEAR_PERMILLE));
	if (!ret->is_due)
		return;
	need = size_scale_permille(needs_at(trend, is_known ? left_ms : 2 * RESIZE_LEAD_MS), RESIZE_BUFFER_PERMILLE);
	ret->want_bytes = size_round_up(MIN(MAX(need, least), most));
}
