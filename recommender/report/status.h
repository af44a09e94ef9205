/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* status: whether memtamer is healthy, what it knows, and what it would have done. The output names what could not be
 * found out.
 *
 * JSON (apiVersion status.memtamer.io/v1alpha1): {"apiVersion", "kind": "Status", "generated", "from", "namespace"
 * (null: all), "workloads", "unreadableObjects", "lastCycle": null or {the members of cycle_status.h from "time" to
 * "watchesPods", "ageSeconds", "isSilent" (the next record is overdue)}, "lastCycleUnknown": why lastCycle is null,
 * "webhook": "reached" ... as the probe says, "not-asked", or null: not known, "metrics": {"source": "prometheus" |
 * "last-cycle" | null, "unknown": why Prometheus was not asked now, "items": [{"name", "isPresent", "isOfPods" (watched
 * pods provide it too), "without" (null: nothing works without it)}]}, "coverage": {"podHours", "runs", "matched"
 * (share, null: nothing ran), "byReason": {reason: {"podHours", "runs"}}, "workloadsCut"}, "replay": {"runs", "fill",
 * "raise", "lower", "unchanged", "undecided": {reason: runs}, "smallestRequest", "oomKills", "oomKillsWithoutLimit",
 * "oomKillsAvoided", "oomKillsAvoidedProven", "tooSmall", "limitsKnown", "requestsKnown"}, "riskiest": [{"namespace",
 * "workload", "role", "container", "risk", "why", "runs", "oomKilledRuns", "podHours"}], "ignoredSpecs": number of
 * profiles whose spec is not applied, "ignored": [{"namespace", "name", "why"}], the first of them} */
#include "report/coverage.h"
#include "report/cycle_status.h"
#include "report/replay.h"
#include "report/riskiest.h"

#include <stdio.h>

/* A profile whose spec is not applied. */
struct ignored {
	const struct known *known;
	char why[KNOWN_WHY_BYTES];
};

#define STATUS_IGNORED 10 /* maximum number that is listed */

struct status {
	int64_t now_ms, from_ms;
	const char *namespace_name; /* NULL: all */
	size_t n_workloads, n_bad;
	struct arena arena; /* of the texts in `cycle` */
	struct cycle_status cycle;
	bool has_cycle;
	char cycle_unknown[600]; /* why there is none */
	const struct evidence_finding *findings;
	size_t n_findings;
	bool is_asked;		   /* `findings` are from Prometheus, just now; otherwise from the last cycle */
	char metrics_unknown[600]; /* why Prometheus was not asked now; "" */
	bool knows_limits, knows_requests;
	struct coverage coverage;
	struct replay replay;
	int min_runs; /* completed runs that a workload needs before its pods are sized */
	struct risky riskiest[RISKIEST];
	size_t n_riskiest;
	bool has_containers; /* workloads differ only in their container (knowledge_has_containers) */
	struct ignored ignored[STATUS_IGNORED];
	size_t n_ignored; /* all, also those not listed */
};

/** Whether something is wrong, or could not be found out. */
bool status_is_partial(const struct status *self);
/** Whether the last cycle is so old that its recommender does not run any more or cannot write. */
bool status_is_silent(const struct status *self);
/** Whether something does not work because this metric is missing. Watched pods provide metrics about pods too. */
bool status_is_lost(const struct status *self, const struct evidence_finding *finding);
/** @return 0 or -ENOMEM. */
int status_print(const struct status *self, FILE *out) ATTR_NODISCARD;
/** @return the sticky status of `buf`. */
int status_render_json(const struct status *self, struct strbuf *buf);
