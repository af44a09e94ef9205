/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cycle_status: what the last cycle of the recommender did, as it leaves it in the store for `status` to show
 * (store_status_save). JSON (apiVersion status.memtamer.io/v1alpha1): {"apiVersion", "kind": "CycleStatus", "time",
 *  "version", "mode", "result", "why", "runs", "workloads", "profilesChanged", "daysDone", "daysTotal", "durationMs",
 *  "silentAfterMs", "webhook", "watchesPods", "metrics": [{"name", "isPresent", "isOfPods", "without"}]}. Unknown
 * members are ignored. One thread. */
#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "evidence/evidence.h"

#include <stdint.h>

struct cycle_status {
	int64_t time_ms, duration_ms;
	/* Who left this leaves another one within so long while it runs; 0: it promises none (run --once, a store that
	 * is a file, older versions). */
	int64_t silent_after_ms;
	const char *version; /* of the program */
	const char *mode;    /* of the configuration */
	const char *result;  /* done, partial, failed */
	const char *why;     /* "" unless partial or failed */
	int64_t runs, workloads, profiles_changed, days_done, days_total;
	const char *webhook;			 /* as the probe found it last (service/probe.h); "not-asked" */
	bool watches_pods;			 /* so that metrics about pods cost nothing when they are missing */
	const struct evidence_finding *findings; /* `without` NULL: needed */
	size_t n_findings;
};

/** Sticky status of `buf`. */
int cycle_status_encode(const struct cycle_status *self, struct strbuf *buf);
/** Texts are in the arena; what is missing is "" or 0. @return 0; -EINVAL; -ENOMEM. */
int cycle_status_decode(const char *text, size_t n, struct arena *arena, struct cycle_status *ret,
			struct err *err) ATTR_NODISCARD;
