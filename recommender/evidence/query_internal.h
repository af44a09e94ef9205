/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* query_internal: shared by query.c (the reader), query_ask.c (transfers), query_text.c (expressions), query_detect.c
 * (detect), query_clusters.c, query_curves.c (curves), query_life.c, query_xids.c and query_node.c. */
#include "evidence/metrics.h"
#include "evidence/prom_stream.h"
#include "evidence/query.h"
#include "http_client/http_client.h"

struct query_reader {
	struct evidence_reader base;
	struct query_config config;
	struct http_client *client;
	int64_t deadline_ms;
	struct metric_labels labels[FAMILY_COUNT_];
	bool is_present[64]; /* index: row of metric_rows */
	/* Bits of the labels by which Prometheus servers distinguish clusters, on the metric that namespaces are read
	 * from. */
	unsigned int cluster_labels;
	/* Requests for names of this range or more were refused since then; 0: none. */
	int64_t names_below_ms, names_since_ms;
	struct arena arena; /* owns what detect found */
	VEC(struct evidence_finding) findings;
	VEC(const char *) namespaces;
};

/** The container that a query is about. */
struct query_place {
	const char *namespace_name, *pod, *container;
};

/** A query; its strings are copied when it is sent. */
struct query {
	const struct metric_row *row;
	const struct query_place *place;   /* NULL: all containers of the namespaces */
	const char *node;		   /* $I, in place of namespaces; NULL: it is about containers */
	int64_t start_ms, end_ms, step_ms; /* step_ms 0: an instant query at end_ms */
	int64_t range_ms;		   /* $W */
	struct metric_sink sink;
};

/** The result of a set of queries: the worst status, and sums. */
struct query_result {
	int status; /* 0, -errno or enum evidence_condition */
	struct err err;
	size_t n_series, n_samples;
	bool is_partial;
	char warning[160];
};

/** Appends the expression of a query with the placeholders filled in. @return 0; -errno. */
int query_expression(const struct query_reader *self, const struct query *query, const char *const *namespaces,
		     size_t n_namespaces, struct strbuf *ret, struct err *err) ATTR_NODISCARD;
/** Sends all queries and waits for all answers, or until one query is too heavy, which cancels the others. @return
 * ret->status; `err` is a copy of ret->err if it is not 0. */
int query_ask(struct query_reader *self, const struct query *queries, size_t n, const char *const *namespaces,
	      size_t n_namespaces, struct query_result *ret, struct err *err) ATTR_NODISCARD;
/** The status for a transfer's result: 0, an enum evidence_condition or -errno. */
int query_condition(const struct http_result *result);
/** As query_ask, but returns the error in `err`. Also works before the first detect, with default names of labels. */
int query_ask_at_once(struct evidence_reader *base, const struct query *queries, size_t n,
		      const char *const *namespaces, size_t n_namespaces, struct err *err) ATTR_NODISCARD;
/** The kubelet's /metrics/resource has the working set of a container again, without a cgroup. If the cgroups are
 * known, only the peak of this copy is used: its samples would count twice, and hide the scrape interval. */
void query_drop_copy(struct pod_container *container);
int query_curves(struct evidence_reader *base, struct evidence_curve *curves, size_t n, struct err *err);
/** Whether the source has this metric, according to the last detect. */
bool query_has_metric(const struct query_reader *self, const char *metric);
/** Gets the array of strings that `path` answers for the series of `match` between two times. If Prometheus refuses
 * that much time, less is asked for at once, down to a day, and the answers are joined; the length that was refused is
 * remembered until query_forget_names. `ret_root` owns `ret_names`. @return 0; EVIDENCE_UNREACHABLE;
 * EVIDENCE_STOPPED; -ENOMEM. */
int query_names(struct query_reader *self, const char *path, const char *match, int64_t from_ms, int64_t to_ms,
		struct json_object **ret_root, struct json_object **ret_names, struct err *err) ATTR_NODISCARD;
/** Forgets that length if it is a day old. */
void query_forget_names(struct query_reader *self, int64_t now_ms);
/** Finds only how the labels of a family's series are spelled, with one request. @return 0; EVIDENCE_UNREACHABLE;
 *  EVIDENCE_STOPPED; -ENOMEM. */
int query_find_spelling(struct query_reader *self, enum metric_family family, int64_t from_ms, int64_t to_ms,
			struct err *err) ATTR_NODISCARD;
/** EVIDENCE_MIXED if the series have several clusters at the same time, by any of `cluster_labels`, and the configured
 *  matchers select none. @return also 0; EVIDENCE_UNREACHABLE; EVIDENCE_STOPPED; -ENOMEM. */
int query_refuse_clusters(struct query_reader *self, const char *metric, enum metric_family family, int64_t from_ms,
			  int64_t to_ms, struct err *err) ATTR_NODISCARD;
/** Notes which of the labels that distinguish clusters are among these names. */
void query_note_cluster_labels(struct query_reader *self, struct json_object *names);
int query_detect(struct evidence_reader *base, int64_t from_ms, int64_t to_ms, struct err *err);
