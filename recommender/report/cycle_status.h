/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cycle_status: what the last cycle of the recommender did, stored for `status` (store_status_save). JSON
 * (apiVersion status.memtamer.io/v1alpha1): {"apiVersion", "kind": "CycleStatus", "time", "version", "mode",
 * "result", "why", "runs", "workloads", "profilesChanged", "daysDone", "daysTotal", "durationMs", "silentAfterMs",
 * "retryAfterMs", "webhook", "warning", "watchesPods", "metrics": [{"name", "isPresent", "isOfPods", "without"}],
 * "gaps": [as in the collector's state], "hungGangs": {"count", "acceleratorsMilli", "items": [{"namespace", "owner",
 * "pod" (the dead rank), "command" (frees the accelerators), "killed", "deadRanks", "runningPods",
 * "acceleratorsMilli"}]}}. Unknown members are ignored. One thread. */
#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "engine/gaps.h"
#include "engine/hung.h"
#include "evidence/evidence.h"

#include <stdint.h>

struct cycle_status {
	int64_t time_ms, duration_ms;
	/* While the recommender runs, it stores another record within this time; 0: unknown (run --once, a file store,
	 * older versions). */
	int64_t silent_after_ms;
	/* Prometheus failed in several cycles: it is asked again this long after the last cycle began; 0: it did not.
	 */
	int64_t retry_after_ms;
	const char *version; /* of the program */
	const char *mode;    /* of the configuration */
	const char *result;  /* done, partial, failed */
	const char *why;     /* "" unless partial or failed */
	int64_t runs, workloads, profiles_changed, days_done, days_total;
	const char *webhook;			 /* last result of the probe (service/probe.h); "not-asked" */
	bool watches_pods;			 /* pods are watched, so metrics about pods are not missed */
	const struct evidence_finding *findings; /* `without` NULL: memtamer cannot work without the metric */
	size_t n_findings;
	const char *warning;	      /* since when every answer has a warning, and its text; it is ignored; "": none */
	const struct gaps *gaps;      /* windows that could not be read and are skipped; NULL: none */
	const struct hung_list *hung; /* gangs that hang, of all namespaces; NULL: none */
};

/** Appends the members from "time" to "watchesPods", "gaps" and "hungGangs", but not their brackets. */
void cycle_status_write(const struct cycle_status *self, struct strbuf *buf);
/** Appends an array such as "metrics" as the member `key`. */
void cycle_status_write_findings(const struct evidence_finding *findings, size_t n, const char *key,
				 struct strbuf *buf);
/** @return the sticky status of `buf`. */
int cycle_status_encode(const struct cycle_status *self, struct strbuf *buf);
/** Texts are allocated in the arena; absent members are "" or 0. @return 0; -EINVAL; -ENOMEM. */
int cycle_status_decode(const char *text, size_t n, struct arena *arena, struct cycle_status *ret,
			struct err *err) ATTR_NODISCARD;
