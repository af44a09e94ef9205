/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* query_internal: what query.c (the reader), query_ask.c (transfers), query_text.c (expressions) and query_detect.c
 * share. */
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
	bool is_present[64]; /* by metric row */
	struct arena arena;  /* of what detect found */
	VEC(struct evidence_finding) findings;
	VEC(const char *) namespaces;
};

/** The only container that is asked for. */
struct query_place {
	const char *namespace_name, *pod, *container;
};

/** One query to send; text is copied. */
struct query {
	const struct metric_row *row;
	const struct query_place *place;   /* NULL: all containers of the namespaces */
	int64_t start_ms, end_ms, step_ms; /* step 0: an instant query at end_ms */
	int64_t range_ms;		   /* $W */
	struct metric_sink sink;
};

/** What became of a set of queries: the worst of them. */
struct query_result {
	int status; /* 0, -errno or enum evidence_condition */
	struct err err;
	size_t n_series, n_samples;
	bool is_partial;
	char warning[160];
};

/** The expression of its row with the placeholders filled in. */
int query_expression(const struct query_reader *self, const struct query *query, const char *const *namespaces,
		     size_t n_namespaces, struct strbuf *ret, struct err *err) ATTR_NODISCARD;
/** Send all of them, wait for all. */
int query_ask(struct query_reader *self, const struct query *queries, size_t n, const char *const *namespaces,
	      size_t n_namespaces, struct query_result *ret) ATTR_NODISCARD;
/** How a failed transfer is to be understood. */
int query_condition(const struct http_result *result);
/** query_ask with its error alone, also before a first detect, when nothing is known of how the source spells its
 *  labels. */
int query_ask_at_once(struct evidence_reader *base, const struct query *queries, size_t n,
		      const char *const *namespaces, size_t n_namespaces, struct err *err) ATTR_NODISCARD;
int query_curves(struct evidence_reader *base, struct evidence_curve *curves, size_t n, struct err *err);
int query_detect(struct evidence_reader *base, int64_t from_ms, int64_t to_ms, struct err *err);
