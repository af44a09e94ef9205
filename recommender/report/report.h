/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* report: the capacity report, as a table or as JSON.
 *
 * JSON (apiVersion report.memtamer.io/v1alpha1): {"apiVersion", "kind": "Report", "generated": RFC 3339,
 *  "summary": {"workloads", "runs", "oomKilledRuns", "wasteGibHours", "atRisk"},
 *  "workloads": [{"namespace", "workload", "role", "container", "runs", "wholeRuns", "oomKilledRuns", "lastRun",
 *    "medianBytes", "peakBytes", "requestBytes", "limitBytes" (last run's; null: none), "recommendedRequestBytes",
 *    "recommendedLimitBytes" (null: no recommendation), "wasteGibHours" (of all ranks, each taken for the
 *    worst one), "risk" ("" or words), "confidence"}]} */
#include "report/figures.h"

struct report_scope {
	const char *namespace_name; /* NULL: all */
	int64_t now_ms;
};

/** The next workload in scope from the `*index`-th on, with its figures; NULL behind the last. */
const struct known *report_next(const struct knowledge *knowledge, const struct report_scope *scope, size_t *index,
				struct figures *ret);
/** Append the report as JSON, one line a workload. Sticky status of buf. */
int report_render_json(const struct knowledge *knowledge, const struct report_scope *scope, struct strbuf *buf);
