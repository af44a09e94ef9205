/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/query_life.h"

#include "base/timefmt.h"
#include "evidence/metrics_internal.h"
#include "evidence/query_internal.h"

#include <stdlib.h>

enum target { TARGET_KILLS, TARGET_PEAK, TARGET_PEAK_RSS, TARGET_COUNT, TARGET_CURVE };

#define ALL "{$C!=\"\",$P!=\"\"$M}[$W]"
/* The kubelet's /metrics/resource has the working set once more, in a series without an id. */
#define OF_LIFE(function, metric) "max by ($N,$P,$C,id)(" function "_over_time(" metric ALL "))"

static metric_take_fn take_kills, take_figure, take_curve;

static const struct metric_row rows[] = {
	{CADVISOR_OOM_EVENTS, FAMILY_CADVISOR, PHASE_OPEN, OF_LIFE("max", CADVISOR_OOM_EVENTS), take_kills,
	 TARGET_KILLS, ""},
	{CADVISOR_WORKING_SET, FAMILY_CADVISOR, PHASE_OPEN, OF_LIFE("max", CADVISOR_WORKING_SET), take_figure,
	 TARGET_PEAK, ""},
	{CADVISOR_RSS, FAMILY_CADVISOR, PHASE_OPEN, OF_LIFE("max", CADVISOR_RSS), take_figure, TARGET_PEAK_RSS, ""},
	{CADVISOR_WORKING_SET, FAMILY_CADVISOR, PHASE_OPEN, OF_LIFE("count", CADVISOR_WORKING_SET), take_figure,
	 TARGET_COUNT, ""},
	{CADVISOR_WORKING_SET, FAMILY_CADVISOR, PHASE_OPEN, OF_LIFE("max", CADVISOR_WORKING_SET), take_curve,
	 TARGET_CURVE, ""},
};

static int64_t step_of(const struct evidence_life *life)
{
	return MAX((life->end_ms - life->start_ms) / LIFE_STEPS, LIFE_STEP_MS);
}

/* Pods of some frameworks have the name of an earlier one. */
static bool is_of(const struct evidence_life *life, struct json_object *labels)
{
	char uid[40];

	return !evidence_cgroup_uid(label(labels, "id"), uid) || streq(uid, life->uid);
}

/* The counter begins at 0 with each start of a container; the points of one series come in the order of time. */
static int take_kills(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct evidence_life *life = sink->life;
	int64_t kills = whole(value), step_ms = step_of(life);

	(void)err;
	if (!is_of(life, labels))
		return 0;
	if (sink->time_ms <= life->counted_ms)
		life->counted = 0;
	if (kills > life->counted && sink->time_ms + 1 > life->killed_to_ms) {
		life->killed_to_ms = sink->time_ms + 1;
		life->killed_from_ms = MAX(life->killed_to_ms - step_ms, life->start_ms);
	}
	life->counted = kills;
	life->counted_ms = sink->time_ms;
	life->kills = MAX(life->kills, kills);
	return 0;
}

static int take_figure(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct evidence_life *life = sink->life;
	int64_t *target = sink->argument == TARGET_PEAK	      ? &life->peak_bytes
			  : sink->argument == TARGET_PEAK_RSS ? &life->peak_rss_bytes
							      : &life->samples;

	(void)err;
	if (is_of(life, labels))
		*target = MAX(*target, whole(value));
	return 0;
}

/* A point is of the step that ends with it. */
static int take_curve(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct evidence_life *life = sink->life;
	int64_t step = (sink->time_ms - life->start_ms) / step_of(life);

	(void)err;
	if (is_of(life, labels) && step >= 0 && step <= LIFE_STEPS)
		life->curve_bytes[step] = MAX(life->curve_bytes[step], whole(value));
	return 0;
}

/* The steps of a range query end with the life. What is left at its start is seen in the first step, as the counter
 * does not fall. */
static struct query query_of(const struct metric_row *row, const struct query_place *place, struct evidence_life *life)
{
	int64_t length_ms = life->end_ms - life->start_ms, step_ms = step_of(life);
	struct query query = {
		.row = row, .place = place, .end_ms = life->end_ms, .range_ms = length_ms, .sink = {.life = life}};

	if (row->argument != TARGET_KILLS && row->argument != TARGET_CURVE)
		return query;
	query.start_ms = life->end_ms - (MAX(length_ms / step_ms, 1) - 1) * step_ms;
	query.step_ms = query.range_ms = step_ms;
	return query;
}

static int ask(struct evidence_reader *reader, struct evidence_life *lives, size_t n, struct query_place *places,
	       struct query *queries, struct err *err)
{
	size_t n_queries = 0;

	for (size_t i = 0; i < n; i++) {
		places[i] = (struct query_place){lives[i].namespace_name, lives[i].pod, lives[i].container};
		for (size_t k = 0; k < ARRAY_LEN(rows); k++)
			if (rows[k].argument != TARGET_CURVE || lives[i].wants_curve)
				queries[n_queries++] = query_of(&rows[k], &places[i], &lives[i]);
	}
	return query_ask_at_once(reader, queries, n_queries, NULL, 0, err);
}

int query_lives(struct evidence_reader *reader, struct evidence_life *lives, size_t n, struct err *err)
{
	struct query_reader *self = (struct query_reader *)reader;
	struct query_place *places = calloc(n + 1, sizeof(*places));
	struct query *queries = calloc(n + 1, ARRAY_LEN(rows) * sizeof(*queries));
	int r = places && queries ? 0 : err_set(err, -ENOMEM, "no memory left for %zu containers", n);

	if (!r && n && !self->labels[FAMILY_CADVISOR].namespace_label)
		r = query_find_spelling(self, FAMILY_CADVISOR, lives[0].start_ms, lives[0].end_ms, err);
	if (!r)
		r = ask(reader, lives, n, places, queries, err);
	free(queries);
	free(places);
	return r;
}
