/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses a source with several clusters: they may have namespaces and Jobs of the same names, whose runs would be
 * mixed, with sizes for the larger ones. A cluster whose label was renamed has two names, but not at the same time:
 * there is no reason to stop for as long as the history has both. */
#include "evidence/query_internal.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Labels that distinguish clusters: set as external labels, or by an agent for all clusters that it serves. */
static const char *const cluster_labels[] = {"cluster", "cluster_name", "k8s_cluster", "k8s_cluster_name",
					     "cluster_id"};

/* The hours with series of several clusters. Just after a label was renamed, the last samples of the old name still
 * count for some minutes, so one hour says nothing, except the last: a cluster may have been added just now. */
struct clusters_seen {
	int64_t last_ms;
	int n_hours;
	bool is_now;
};

void query_note_cluster_labels(struct query_reader *self, struct json_object *names)
{
	for (size_t i = 0; i < json_object_array_length(names); i++)
		for (size_t k = 0; k < ARRAY_LEN(cluster_labels); k++)
			if (streq(json_object_get_string(json_object_array_get_idx(names, i)), cluster_labels[k]))
				self->cluster_labels |= 1u << k;
}

static bool is_matched(const char *matchers, const char *label)
{
	size_t n = strlen(label);

	for (const char *at = strstr(matchers, label); at; at = strstr(at + 1, label))
		if ((at == matchers || strchr(" ,{", at[-1])) && strchr(" =!", at[n]))
			return true;
	return false;
}

/* Whether the configured matchers select one or several clusters, so that somebody has decided it. */
static bool has_chosen_cluster(const struct query_reader *self)
{
	const char *extra = self->config.prometheus->extra_matchers;

	for (size_t i = 0; extra && i < ARRAY_LEN(cluster_labels); i++)
		if (is_matched(extra, cluster_labels[i]))
			return true;
	return false;
}

static int name_clusters(const char *label, struct json_object *values, struct err *err)
{
	size_t n = json_object_array_length(values), n_shown = MIN(n, 3);
	char shown[120] = "";

	for (size_t i = 0; i < n_shown; i++) {
		size_t at = strlen(shown);

		snprintf(shown + at, sizeof(shown) - at, "%s%.30s", i ? ", " : "",
			 json_object_get_string(json_object_array_get_idx(values, i)));
	}
	return err_set(
		err, EVIDENCE_MIXED,
		"Prometheus holds %zu clusters (label %s: %s%s), and their workloads would be mixed; name this one: "
		"prometheus: {extraMatchers: '%s=\"%.30s\"'}",
		n, label, shown, n > n_shown ? ", ..." : "", label,
		json_object_get_string(json_object_array_get_idx(values, 0)));
}

static int take_clusters(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	(void)labels;
	(void)err;
	if (value < 2)
		return 0;
	sink->clusters->n_hours++;
	sink->clusters->is_now |= sink->time_ms >= sink->clusters->last_ms;
	return 0;
}

/* Whether there were several clusters at the same time. If that is too heavy to ask, it is assumed. */
static int find_together(struct query_reader *self, const char *label, const char *metric, enum metric_family family,
			 int64_t from_ms, int64_t to_ms, bool *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf expression = STRBUF_INIT(LIMIT_PROM_QUERY_BYTES);
	int64_t n = MAX((to_ms - from_ms) / TIME_HOUR_MS, 1);
	struct clusters_seen seen = {.last_ms = to_ms - TIME_MINUTE_MS};
	struct metric_row row = {.metric = metric, .family = family, .take = take_clusters, .without = ""};
	const struct query query = {.row = &row,
				    .start_ms = to_ms - (n - 1) * TIME_HOUR_MS,
				    .end_ms = to_ms,
				    .step_ms = TIME_HOUR_MS,
				    .sink = {.clusters = &seen}};
	int r;

	strbuf_addf(&expression, "count(count by (%s) (%s{$P!=\"\"$M}))", label, metric);
	if (expression.status)
		return err_set(err, expression.status, "no memory left for a query");
	row.expression = strbuf_text(&expression);
	r = query_ask_at_once(&self->base, &query, 1, NULL, 0, err);
	*ret = r == EVIDENCE_TOO_HEAVY || seen.n_hours > 1 || seen.is_now;
	return r == EVIDENCE_TOO_HEAVY ? 0 : r;
}

static int refuse_clusters(struct query_reader *self, const char *label, const char *metric, enum metric_family family,
			   int64_t from_ms, int64_t to_ms, struct err *err)
{
	const char *extra = self->config.prometheus->extra_matchers;
	CLEANUP(strbuf_release) struct strbuf match = STRBUF_INIT(LIMIT_PROM_QUERY_BYTES);
	CLEANUP(json_putp) struct json_object *root = NULL;
	struct json_object *values = NULL;
	bool is_together = false;
	char path[160];
	int r;

	strbuf_adds(&match, metric);
	if (extra && *extra)
		strbuf_addf(&match, "{%s}", extra);
	snprintf(path, sizeof(path), "/api/v1/label/%s/values", label);
	r = query_names(self, path, strbuf_text(&match), from_ms, to_ms, &root, &values, err);
	if (r || json_object_array_length(values) < 2)
		return r;
	r = find_together(self, label, metric, family, from_ms, to_ms, &is_together, err);
	return r || !is_together ? r : name_clusters(label, values, err);
}

int query_refuse_clusters(struct query_reader *self, const char *metric, enum metric_family family, int64_t from_ms,
			  int64_t to_ms, struct err *err)
{
	int r = 0;

	if (has_chosen_cluster(self))
		self->cluster_labels = 0;
	for (size_t i = 0; i < ARRAY_LEN(cluster_labels) && !r; i++)
		if (self->cluster_labels & 1u << i)
			r = refuse_clusters(self, cluster_labels[i], metric, family, from_ms, to_ms, err);
	return r;
}
