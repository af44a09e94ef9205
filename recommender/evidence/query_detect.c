/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which metrics exist, by the index only (names and labels, no samples). Reading two weeks is cheap that way and
 * finds metrics that ended long ago; a count() at one instant would find only what is scraped now. */
#include "evidence/query_internal.h"

#include "base/timefmt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Names of the labels, best first. Where scrapes keep their own labels (honor_labels: false), `pod` is the exporter's
 * own pod. */
static const struct {
	enum metric_family family;
	struct metric_labels labels;
} spellings[] = {
	{FAMILY_KSM, {"exported_namespace", "exported_pod", "exported_container"}},
	{FAMILY_KSM, {"namespace", "pod", "container"}},
	{FAMILY_CADVISOR, {"exported_namespace", "exported_pod", "exported_container"}},
	{FAMILY_CADVISOR, {"namespace", "pod", "container"}},
	{FAMILY_CADVISOR, {"namespace", "pod_name", "container_name"}},
	{FAMILY_EPHEMERAL, {"pod_namespace", "pod_name", "container"}},
	{FAMILY_EPHEMERAL, {"exported_namespace", "exported_pod", "exported_container"}},
	{FAMILY_EPHEMERAL, {"namespace", "pod_name", "container"}},
	{FAMILY_EPHEMERAL, {"namespace", "pod", "container"}},
	{FAMILY_DCGM, {"exported_namespace", "exported_pod", "exported_container"}},
	{FAMILY_DCGM, {"pod_namespace", "pod_name", "container_name"}},
	{FAMILY_DCGM, {"namespace", "pod", "container"}},
};

static const char *const family_metrics[FAMILY_COUNT_] = {
	[FAMILY_KSM] = "kube_pod_owner",
	[FAMILY_CADVISOR] = CADVISOR_WORKING_SET,
	[FAMILY_EPHEMERAL] = "ephemeral_storage_pod_usage",
	[FAMILY_DCGM] = "{__name__=~\"DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_DEV_(GPU_UTIL|FB_USED|XID_ERRORS)\"}",
};

static bool has_name(struct json_object *names, const char *name)
{
	for (size_t i = 0; i < json_object_array_length(names); i++)
		if (streq(json_object_get_string(json_object_array_get_idx(names, i)), name))
			return true;
	return false;
}

/* Makes one finding for two metrics with the same information: for the better one if it exists. */
static struct evidence_finding finding_of(const struct metric_row *row, struct json_object *names)
{
	const char *better = metric_better(row);
	bool has_better = better && has_name(names, better);

	return (struct evidence_finding){
		.metric = has_better ? better : row->metric,
		.is_present = has_better || has_name(names, row->metric),
		.without = row->without,
		.is_of_pods = row->family == FAMILY_KSM && row->phase != PHASE_NODES,
	};
}

static int find_metrics(struct query_reader *self, int64_t from_ms, int64_t to_ms, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf match = STRBUF_INIT(LIMIT_PROM_QUERY_BYTES);
	CLEANUP(json_putp) struct json_object *root = NULL;
	struct json_object *names = NULL;
	int r;

	strbuf_adds(&match, "{__name__=~\"");
	for (size_t i = 0; i < metric_row_count; i++)
		strbuf_addf(&match, "%s%s", i ? "|" : "", metric_rows[i].metric);
	strbuf_adds(&match, "\"}");
	r = query_names(self, "/api/v1/label/__name__/values", strbuf_text(&match), from_ms, to_ms, &root, &names, err);
	if (r)
		return r;
	self->findings.n = 0;
	for (size_t i = 0; i < metric_row_count; i++) {
		const struct metric_row *row = &metric_rows[i];
		struct evidence_finding finding = finding_of(row, names);

		self->is_present[i] = finding.is_present && streq(finding.metric, row->metric);
		if (row->without && !*row->without)
			continue;
		if (vec_push(&self->findings, finding))
			return err_set(err, -ENOMEM, "no memory left");
	}
	self->base.findings = self->findings.items;
	self->base.n_findings = self->findings.n;
	return 0;
}

static bool has_family(const struct query_reader *self, enum metric_family family)
{
	for (size_t i = 0; i < metric_row_count; i++)
		if (self->is_present[i] && metric_rows[i].family == family)
			return true;
	return false;
}

bool query_has_metric(const struct query_reader *self, const char *metric)
{
	for (size_t i = 0; i < metric_row_count; i++)
		if (self->is_present[i] && streq(metric_rows[i].metric, metric))
			return true;
	return false;
}

/* Without kube-state-metrics, pods are found by watching them. */
static enum metric_family family_of_pods(const struct query_reader *self)
{
	return query_has_metric(self, family_metrics[FAMILY_KSM]) ? FAMILY_KSM : FAMILY_CADVISOR;
}

/* Takes the best spelling of which all labels exist. */
static void choose_spelling(struct query_reader *self, enum metric_family family, struct json_object *names)
{
	for (size_t i = 0; i < ARRAY_LEN(spellings); i++)
		if (spellings[i].family == family && has_name(names, spellings[i].labels.namespace_label) &&
		    has_name(names, spellings[i].labels.pod_label)) {
			self->labels[family] = spellings[i].labels;
			return;
		}
}

static const struct metric_labels usual_spelling = {"namespace", "pod", "container"};

static int find_spelling(struct query_reader *self, enum metric_family family, int64_t from_ms, int64_t to_ms,
			 struct err *err)
{
	CLEANUP(json_putp) struct json_object *root = NULL;
	struct json_object *names = NULL;
	int r = 0;

	self->labels[family] = usual_spelling;
	if (has_family(self, family))
		r = query_names(self, "/api/v1/labels", family_metrics[family], from_ms, to_ms, &root, &names, err);
	if (r || !names)
		return r;
	if (family == family_of_pods(self))
		query_note_cluster_labels(self, names);
	choose_spelling(self, family, names);
	return 0;
}

int query_find_spelling(struct query_reader *self, enum metric_family family, int64_t from_ms, int64_t to_ms,
			struct err *err)
{
	CLEANUP(json_putp) struct json_object *root = NULL;
	struct json_object *names = NULL;
	int r = query_names(self, "/api/v1/labels", family_metrics[family], from_ms, to_ms, &root, &names, err);

	if (r)
		return r;
	self->labels[family] = usual_spelling;
	choose_spelling(self, family, names);
	return 0;
}

/* Whether a NULL-terminated list (NULL: empty) contains a name. */
static bool is_listed(const char *const *names, const char *name)
{
	while (names && *names && !streq(*names, name))
		names++;
	return names && *names;
}

static bool is_wanted(const struct query_reader *self, const char *name)
{
	const char *const *only = self->config.namespaces;

	return (!only || !*only || is_listed(only, name)) && !is_listed(self->config.excluded_namespaces, name) &&
	       !streq(name, "kube-system");
}

static int find_namespaces(struct query_reader *self, int64_t from_ms, int64_t to_ms, struct err *err)
{
	enum metric_family family = family_of_pods(self);
	CLEANUP(json_putp) struct json_object *root = NULL;
	struct json_object *names = NULL;
	char path[160];
	int r;

	snprintf(path, sizeof(path), "/api/v1/label/%s/values", self->labels[family].namespace_label);
	r = query_names(self, path, family_metrics[family], from_ms, to_ms, &root, &names, err);
	if (r)
		return r;
	self->namespaces.n = 0;
	for (size_t i = 0; i < json_object_array_length(names); i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(names, i));
		const char *copy;

		if (!text || !is_wanted(self, text))
			continue;
		copy = arena_strdup(&self->arena, text);
		if (!copy || vec_push(&self->namespaces, copy))
			return err_set(err, -ENOMEM, "no memory left");
	}
	self->base.namespaces = self->namespaces.items;
	self->base.n_namespaces = self->namespaces.n;
	return 0;
}

int query_detect(struct evidence_reader *base, int64_t from_ms, int64_t to_ms, struct err *err)
{
	struct query_reader *self = (struct query_reader *)base;
	int r;

	arena_reset(&self->arena);
	self->cluster_labels = 0;
	query_forget_names(self, to_ms);
	r = find_metrics(self, from_ms, to_ms, err);
	for (enum metric_family family = 0; family < FAMILY_COUNT_ && !r; family++)
		r = find_spelling(self, family, from_ms, to_ms, err);
	if (!r)
		r = query_refuse_clusters(self, family_metrics[family_of_pods(self)], family_of_pods(self), from_ms,
					  to_ms, err);
	return r ? r : find_namespaces(self, from_ms, to_ms, err);
}
