/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* query: the reader that sends grouped instant and range queries, one window at a time, at most `concurrency` at once.
 * Works with every engine that implements Prometheus' HTTP API. A query that is too heavy for the engine ends the
 * window with EVIDENCE_TOO_HEAVY; the caller then asks for fewer namespaces or less time. */
#include "config/config.h"
#include "evidence/evidence.h"

struct query_config {
	const struct prometheus_config *prometheus;
	/* only these; NULL or empty: all */
	const char *const *namespaces;
	const char *const *excluded_namespaces; /* NULL-terminated; may be NULL; kube-system is always excluded */
};

/** Makes a reader. What `config` points to must outlive it. @return 0; -EINVAL a wrong URL or header; -ENOMEM. */
int query_reader_new(const struct query_config *config, struct evidence_reader **ret, struct err *err) ATTR_NODISCARD;
void query_reader_freep(struct evidence_reader **reader);
/** Makes all later calls end with EVIDENCE_STOPPED at this time of time_monotonic_ms(); 0: no deadline. */
void query_reader_deadline(struct evidence_reader *reader, int64_t deadline_ms);
/** Makes the current and all later calls return EVIDENCE_STOPPED. Any thread, also from a signal handler. */
void query_reader_interrupt(struct evidence_reader *reader);
