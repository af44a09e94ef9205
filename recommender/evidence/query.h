/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* query: the reader that asks grouped instant queries, one window at a time. Works with every engine that speaks
 * Prometheus' HTTP API. At most `concurrency` at a time; a query the engine finds too heavy ends the window with
 * EVIDENCE_TOO_HEAVY, and the caller asks again for fewer namespaces or less time. */
#include "config/config.h"
#include "evidence/evidence.h"

struct query_config {
	const struct prometheus_config *prometheus;
	const char *const *namespaces;		/* only these; NULL or empty: all */
	const char *const *excluded_namespaces; /* NULL-terminated, may be NULL; kube-system always is */
};

/** @return 0; -EINVAL (URL, headers); -ENOMEM. The config must outlive the reader. */
int query_reader_new(const struct query_config *config, struct evidence_reader **ret, struct err *err) ATTR_NODISCARD;
void query_reader_freep(struct evidence_reader **reader);
/** All later calls of this reader end with EVIDENCE_STOPPED after this time of time_monotonic_ms(); 0: never. */
void query_reader_deadline(struct evidence_reader *reader, int64_t deadline_ms);
/** Stop now. May be called from a signal handler. */
void query_reader_interrupt(struct evidence_reader *reader);
