/* SPDX-License-Identifier: Apache-2.0 */
/* query_curves: the memory of a container from its start to its end, with two range queries for each container. Points
 * are at equal, adjoining steps. */
#include "base/limits.h"
#include "evidence/query_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum target { TARGET_MAX, TARGET_MEAN };

#define WORKING_SET CADVISOR_WORKING_SET
#define ACTIVE_FILE CADVISOR_ACTIVE_FILE
#define RSS	    CADVISOR_RSS
#define ALL	    "{$C!=\"\",$P!=\"\"$M}[$W]"
#define MEAN(name)  "max(avg_over_time(" name ALL "))"

static metric_take_fn take_point;

/* The mean of a difference is the difference of the means. Memory that is certainly needed is in both terms: rss lacks
 * shm, which is bounded by its own size, and the working set without cache contains slab that the kernel may free. */
#define UNCACHED MEAN(WORKING_SET) "-" MEAN(ACTIVE_FILE)
#define NEED	 "(" UNCACHED "<=" MEAN(RSS) ") or " MEAN(RSS) " or " UNCACHED
static const struct metric_row rows[] = {
	{WORKING_SET, FAMILY_CADVISOR, PHASE_OPEN, "max(max_over_time(" WORKING_SET ALL "))", take_point, TARGET_MAX,
	 ""},
	{WORKING_SET, FAMILY_CADVISOR, PHASE_OPEN, NEED, take_point, TARGET_MEAN, ""},
};

static int64_t width_of(const struct evidence_curve *curve)
{
	return (curve->end_ms - curve->start_ms) / curve->n;
}

/* A point is at the last millisecond of its step; engines that align ranges move it to an earlier time in the step. */
static int take_point(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct evidence_curve *curve = sink->curve;
	int64_t at_ms = sink->time_ms - curve->start_ms;
	int64_t step = at_ms / width_of(curve),
		*points = sink->argument == TARGET_MAX ? curve->max_bytes : curve->mean_bytes;

	(void)labels;
	(void)err;
	if (at_ms >= 0 && step < curve->n && isfinite(value) && fabs(value) < 9e18)
		points[step] = (int64_t)MAX(value, 0);
	return 0;
}

static bool can_be_asked(const struct evidence_curve *curve)
{
	return curve->n > 0 && curve->n <= LIMIT_CURVE_POINTS && curve->end_ms - curve->start_ms >= curve->n;
}

static struct query query_of(const struct metric_row *row, const struct query_place *place,
			     struct evidence_curve *curve)
{
	int64_t width_ms = width_of(curve);

	return (struct query){.row = row,
			      .place = place,
			      .start_ms = curve->start_ms + width_ms,
			      .end_ms = curve->start_ms + width_ms * curve->n,
			      .step_ms = width_ms,
			      .range_ms = width_ms,
			      .sink = {.curve = curve}};
}

int query_curves(struct evidence_reader *base, struct evidence_curve *curves, size_t n, struct err *err)
{
	struct query_place *places = calloc(n + 1, sizeof(*places));
	struct query *queries = calloc(n + 1, ARRAY_LEN(rows) * sizeof(*queries));
	size_t n_queries = 0;
	int r = places && queries ? 0 : err_set(err, -ENOMEM, "no memory left for %zu curves", n);

	for (size_t i = 0; i < n && !r; i++) {
		places[i] = (struct query_place){curves[i].namespace_name, curves[i].pod, curves[i].container};
		for (size_t k = 0; k < ARRAY_LEN(rows) && can_be_asked(&curves[i]); k++)
			queries[n_queries++] = query_of(&rows[k], &places[i], &curves[i]);
	}
	if (!r)
		r = query_ask_at_once(base, queries, n_queries, NULL, 0, err);
	free(queries);
	free(places);
	return r;
}
