/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* status: is memtamer healthy, what does it know, and what would it have done. What could not be found out says so.
 *
 * JSON (apiVersion status.memtamer.io/v1alpha1): {"apiVersion", "kind": "Status", "generated", "from", "namespace"
 * (null: all), "workloads", "unreadableObjects", "lastCycle": null or {"time", "ageSeconds", "isSilent"
 * (another one should have come since), "result", "why",
 * "durationMs", "runs", "workloads", "profilesChanged", "daysDone", "daysTotal", "watchesPods", "version", "mode"},
 * "lastCycleUnknown": why it is null, "webhook": "reached" ... as the probe says, "not-asked", or null: not known,
 *  "metrics": {"source": "prometheus" | "last-cycle" | null, "unknown": why not asked now, "items": [{"name",
 * "isPresent", "isOfPods" (told by watched pods, too), "without" (null: nothing works without it)}]}, "coverage":
 * {"podHours", "runs", "matched" (share, null: nothing ran), "byReason": {reason: {"podHours", "runs"}},
 * "workloadsCut"}, "replay": {"runs", "fill", "raise", "lower", "unchanged", "undecided": {reason: runs},
 * "smallestRequest", "oomKills", "oomKillsWithoutLimit", "oomKillsAvoided", "oomKillsAvoidedProven", "tooSmall",
 * "limitsKnown", "requestsKnown"}, "riskiest": [{"namespace", "workload", "role", "container", "risk", "why", "runs",
 * "oomKilledRuns", "podHours"}]} */
#include "report/coverage.h"
#include "report/cycle_status.h"
#include "report/replay.h"
#include "report/riskiest.h"

#include <stdio.h>

struct status {
	int64_t now_ms, from_ms;
	const char *namespace_name; /* NULL: all */
	size_t n_workloads, n_bad;
	struct arena arena; /* of `cycle` */
	struct cycle_status cycle;
	bool has_cycle;
	char cycle_unknown[600]; /* why there is none */
	const struct evidence_finding *findings;
	size_t n_findings;
	bool is_asked;		   /* Prometheus said so just now; else the last cycle */
	char metrics_unknown[600]; /* why it was not asked now; "" */
	bool knows_limits, knows_requests;
	struct coverage coverage;
	struct replay replay;
	struct risky riskiest[RISKIEST];
	size_t n_riskiest;
};

/** Is something wrong, or not known that should be? */
bool status_is_partial(const struct status *self);
/** Is the last cycle so old that its recommender is not there any more, or cannot say so? */
bool status_is_silent(const struct status *self);
/** Does it cost anything that this metric is missing? What pods say themselves is known to who watches them. */
bool status_is_lost(const struct status *self, const struct evidence_finding *finding);
/** 0 or -ENOMEM. */
int status_print(const struct status *self, FILE *out) ATTR_NODISCARD;
/** Sticky status of `buf`. */
int status_render_json(const struct status *self, struct strbuf *buf);
