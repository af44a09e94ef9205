/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* metrics: the table of queries to Prometheus. A row is one metric: the expression that reads one window, the function
 * that takes each series of the answer, and what is lost without the metric.
 *
 * In an expression $N, $P and $C are the source's labels for namespace, pod and container, $M are further matchers
 * (beginning with a comma), $W is the window, $I a node's name as a regular expression. Rules for each row: raw range
 * vectors, never subqueries (they skip samples); grouped with max (so that duplicate scrapes count once); no joins,
 * except of sets that are grouped by the same labels, so that no label set occurs twice. */
#include "evidence/evidence.h"

enum metric_family { FAMILY_KSM, FAMILY_CADVISOR, FAMILY_EPHEMERAL, FAMILY_DCGM, FAMILY_COUNT_ };

/** The names of a family's labels. */
struct metric_labels {
	const char *namespace_label, *pod_label, *container_label;
};

/** When a row is asked. The first phase finds the pods and which of them train; the second reads facts about them. */
enum metric_phase {
	PHASE_PODS,
	PHASE_FACTS,
	PHASE_HOURS, /* a range query with one point an hour, and an instant query for the rest of the window */
	PHASE_OPEN,  /* only for a window that ends now */
	PHASE_NODES,
	PHASE_DETECT_ONLY,
};

/** What the take functions write to; pointers that a phase does not use are NULL. */
struct metric_sink {
	struct evidence_batch *batch;
	struct evidence_nodes *nodes;
	struct usage *usage; /* see query_usage.h */
	struct evidence_curve *curve;
	struct evidence_life *life;	/* see query_life.h */
	struct evidence_xids *xids;	/* see query_xids.h */
	struct node_lines *node;	/* see query_node.h */
	struct clusters_seen *clusters; /* see query_clusters.c */
	struct strmap *job_owners;	/* "namespace/job" -> struct metric_owner in the batch's arena */
	const struct metric_labels *labels;
	int argument;	 /* the row's argument */
	int64_t time_ms; /* time of the sample */
	int64_t hour_ms; /* PHASE_HOURS: length of the counted time that ends at time_ms */
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
	const char *without; /* NULL: required; "": no loss worth reporting */
};

/* Metrics of the kubelet's cAdvisor that several tables use. */
#define CADVISOR_WORKING_SET "container_memory_working_set_bytes"
#define CADVISOR_RSS	     "container_memory_rss"
#define CADVISOR_ACTIVE_FILE "container_memory_total_active_file_bytes"
#define CADVISOR_OOM_EVENTS  "container_oom_events_total"

extern const struct metric_row metric_rows[];
extern const size_t metric_row_count;
/** Another metric with better information about the same; `row` is asked only where that metric is missing. NULL:
 *  none. */
const char *metric_better(const struct metric_row *row);

/** The pod labels that identity reads, to convert the label names of kube_pod_labels back. NULL-terminated. */
extern const char *const metric_pod_labels[];
