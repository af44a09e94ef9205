/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics: the table of questions to Prometheus. A row is one metric: the expression that asks for one window, what is
 * done with each series of the answer, and what is lost where the metric is missing.
 *
 * In an expression $N, $P and $C stand for the labels of namespace, pod and container as the source spells them, $M for
 * further matchers (begins with a comma), $W for the window. Rules that each row keeps: raw range vectors, never
 * subqueries (they skip samples); grouped with max (scrapes of the same thing twice count once); no joins. */
#include "evidence/evidence.h"

enum metric_family { FAMILY_KSM, FAMILY_CADVISOR, FAMILY_EPHEMERAL, FAMILY_DCGM, FAMILY_COUNT_ };

/** How a family spells its labels. */
struct metric_labels {
	const char *namespace_label, *pod_label, *container_label;
};

/** Phase 1 tells which pods there are and which of them train, phase 2 asks about those. */
enum metric_phase {
	PHASE_PODS,
	PHASE_FACTS,
	PHASE_HOURS, /* range query, one point an hour, and what is left over as an instant query */
	PHASE_OPEN,  /* only for the open window */
	PHASE_NODES,
	PHASE_DETECT_ONLY,
};

/** What the series' callbacks write to. */
struct metric_sink {
	struct evidence_batch *batch;
	struct evidence_nodes *nodes;
	struct usage *usage; /* of query_usage.h */
	struct evidence_curve *curve;
	struct strmap *job_owners; /* "namespace/job" -> struct metric_owner in the batch's arena */
	const struct metric_labels *labels;
	int argument;	 /* of the row */
	int64_t time_ms; /* of the sample */
	int64_t hour_ms; /* PHASE_HOURS: how long the counted time is that ends at time_ms */
};

struct metric_owner {
	const char *kind, *name;
};

typedef int metric_take_fn(struct metric_sink *sink, struct json_object *labels, double value, struct err *err);

struct metric_row {
	const char *metric;
	enum metric_family family;
	enum metric_phase phase;
	const char *expression;
	metric_take_fn *take;
	int argument;
	const char *without; /* NULL: nothing works without it; "": no loss worth a line */
};

/* Of the kubelet's cAdvisor, which several tables ask. */
#define CADVISOR_WORKING_SET "container_memory_working_set_bytes"
#define CADVISOR_RSS	     "container_memory_rss"
#define CADVISOR_ACTIVE_FILE "container_memory_total_active_file_bytes"

extern const struct metric_row metric_rows[];
extern const size_t metric_row_count;
/** Another metric that tells the same better, so that this row is asked only where that one is missing. NULL: none. */
const char *metric_better(const struct metric_row *row);

/** Pod labels that identity reads, so that kube_pod_labels' names can be turned back. NULL-terminated. */
extern const char *const metric_pod_labels[];
