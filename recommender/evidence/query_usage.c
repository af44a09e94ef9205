/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/query_usage.h"

#include "base/limits.h"
#include "evidence/metrics_internal.h"
#include "evidence/query_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum target { TARGET_USED, TARGET_CACHE, TARGET_SLOPE, TARGET_CACHE_SLOPE };

#define WORKING_SET   CADVISOR_WORKING_SET
#define ACTIVE_FILE   CADVISOR_ACTIVE_FILE
#define ALL	      "$C!=\"\",$C!=\"POD\",$P!=\"\""
#define NOW(metric)   "max by ($N,$P,$C,id)(" metric "{" ALL "$M})"
#define SLOPE(metric) "max by ($N,$P,$C,id)(deriv(" metric "{" ALL "$M}[$W]))"

static metric_take_fn take_row;

/* As in metrics.c. detect does not ask for these, because a missing metric is simply not in the answer. */
static const struct metric_row rows[] = {
	{WORKING_SET, FAMILY_CADVISOR, PHASE_OPEN, NOW(WORKING_SET), take_row, TARGET_USED, ""},
	{ACTIVE_FILE, FAMILY_CADVISOR, PHASE_OPEN, NOW(ACTIVE_FILE), take_row, TARGET_CACHE, ""},
	{WORKING_SET, FAMILY_CADVISOR, PHASE_OPEN, SLOPE(WORKING_SET), take_row, TARGET_SLOPE, ""},
	{ACTIVE_FILE, FAMILY_CADVISOR, PHASE_OPEN, SLOPE(ACTIVE_FILE), take_row, TARGET_CACHE_SLOPE, ""},
};
/* Duplicate scrapes of a container count once; the containers of a pod are summed. */
static const struct metric_row pod_row = {
	WORKING_SET, FAMILY_CADVISOR, PHASE_OPEN, "sum by ($N,$P)(max by ($N,$P,$C)(" WORKING_SET "{" ALL "}))",
	take_row,    TARGET_USED,     ""};

void usage_init(struct usage *self)
{
	*self = (struct usage){.arena = ARENA_INIT(LIMIT_EVIDENCE_BYTES)};
}

void usage_release(struct usage *self)
{
	strmap_release(&self->by_name);
	vec_release(&self->rows);
	arena_release(&self->arena);
}

int64_t usage_need_bytes(const struct usage_row *row)
{
	return MAX(row->working_set_bytes - row->active_file_bytes, 0);
}

double usage_need_slope(const struct usage_row *row)
{
	return row->slope - row->active_file_slope;
}

static struct usage_row *add_row(struct usage *self, const char *key, struct json_object *labels,
				 const struct metric_labels *names)
{
	struct arena *arena = &self->arena;
	struct usage_row *row = arena_array(arena, 1, sizeof(*row));
	const char *copy = arena_strdup(arena, key);

	if (!row || !copy)
		return NULL;
	row->namespace_name = arena_strdup(arena, label(labels, names->namespace_label));
	row->pod = arena_strdup(arena, label(labels, names->pod_label));
	row->container = arena_strdup(arena, label(labels, names->container_label));
	row->cgroup = arena_strdup(arena, label(labels, "id"));
	if (!row->namespace_name || !row->pod || !row->container || !row->cgroup)
		return NULL;
	return strmap_put(&self->by_name, copy, row) || vec_push(&self->rows, row) ? NULL : row;
}

static int take_row(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct usage *usage = sink->usage;
	const struct metric_labels *names = sink->labels;
	struct usage_row *row;
	char key[1024];
	int n = snprintf(key, sizeof(key), "%s/%s/%s/%s", label(labels, names->namespace_label),
			 label(labels, names->pod_label), label(labels, names->container_label), label(labels, "id"));

	if (n < 0 || (size_t)n >= sizeof(key) || !isfinite(value) || fabs(value) > 9e18)
		return 0;
	row = strmap_get(&usage->by_name, key);
	if (!row)
		row = add_row(usage, key, labels, names);
	if (!row)
		return err_set(err, -ENOMEM, "no memory left for what containers use");
	switch (sink->argument) {
	case TARGET_USED:
		row->working_set_bytes = (int64_t)MAX(value, 0);
		break;
	case TARGET_CACHE:
		row->active_file_bytes = (int64_t)MAX(value, 0);
		break;
	case TARGET_SLOPE:
		row->slope = value;
		row->has_slope = true;
		break;
	default:
		row->active_file_slope = value;
		break;
	}
	return 0;
}

int query_usage(struct evidence_reader *reader, int64_t now_ms, int64_t window_ms, const char *const *namespaces,
		size_t n_namespaces, struct usage *ret, struct err *err)
{
	struct query queries[ARRAY_LEN(rows)];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		queries[i] = (struct query){
			.row = &rows[i], .end_ms = now_ms, .range_ms = window_ms, .sink = {.usage = ret}};
	return query_ask_at_once(reader, queries, ARRAY_LEN(rows), namespaces, n_namespaces, err);
}

int query_pod_usage(struct evidence_reader *reader, int64_t now_ms, struct usage *ret, struct err *err)
{
	const struct query query = {.row = &pod_row, .end_ms = now_ms, .sink = {.usage = ret}};

	return query_ask_at_once(reader, &query, 1, NULL, 0, err);
}
