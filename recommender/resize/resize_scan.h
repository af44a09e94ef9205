/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_scan: finds containers that need a resize and requests it.
 * - After a cycle: containers that were OOM-killed at the limit that they still have, and that restart in their pod: by
 *   the pod's restart policy, or because they did restart. Each kill is requested once.
 * - At intervals: containers whose use approaches their limit, by resize_forecast. A step is requested once; the next
 *   one only when the use is above the limit before the step, or after minutes if the step had no effect.
 *
 * It reads through callbacks, which run only inside its functions. One thread (the main thread). Cost: one pass over
 * all pods for each call, and one entry of memory for each container. */
#include "config/config.h"
#include "evidence/query_usage.h"
#include "pods/pods.h"
#include "resize/resizer.h"

struct resize_scan;

/** A workload whose usual duration and peak are needed. Texts are borrowed for the call. */
struct resize_workload {
	const char *namespace_name, *container;
	const struct identity *identity;
};

/** Figures of the workload's whole runs; 0: not known. */
struct resize_usual {
	int64_t duration_ms; /* median */
	int64_t peak_bytes;
};

struct resize_scan_config {
	enum resize_mode mode;
	int64_t look_ms;   /* interval between two checks of use */
	int64_t window_ms; /* time range of the line through the use */
	/** As pods_visit. */
	void (*visit)(void *context, pods_visit_fn *visit, void *visit_context);
	/** As query_usage and query_pod_usage. */
	int (*usage)(void *context, int64_t now_ms, int64_t window_ms, const char *const *namespaces,
		     size_t n_namespaces, struct usage *ret, struct err *err);
	int (*pod_usage)(void *context, int64_t now_ms, struct usage *ret, struct err *err);
	/** Fills `ret`, which is zeroed. */
	void (*usual)(void *context, const struct resize_workload *workload, struct resize_usual *ret);
	/** As resizer_post and resizer_set_used. `post` may return more than 0: not accepted, which is no failure. */
	int (*post)(void *context, const struct resize_ask *ask);
	void (*set_used)(void *context, struct resize_used *take_used);
	void *context;
};

/** `config` is copied. @return 0; -ENOMEM. */
int resize_scan_new(const struct resize_scan_config *config, struct resize_scan **ret, struct err *err) ATTR_NODISCARD;
/** NULL is allowed. */
void resize_scan_free(struct resize_scan *self);
/** Requests resizes of containers that were killed. The next call repeats requests that `post` did not accept. @return
 * 0; -ENOMEM; the first failure of `post`. */
int resize_scan_kills(struct resize_scan *self, struct err *err) ATTR_NODISCARD;
/** If it is due, requests resizes of containers whose use approaches their limit. The next scan repeats requests that
 * `post` did not accept. `monotonic_ms` and `now_ms` (wall clock) are the current time. @return 0, also if it is not
 * due; an enum evidence_condition; -errno; the first failure of `post`. */
int resize_scan_ramps(struct resize_scan *self, int64_t monotonic_ms, int64_t now_ms, struct err *err) ATTR_NODISCARD;
/** When resize_scan_ramps is due next, monotonic; INT64_MAX: never. */
int64_t resize_scan_next_ms(const struct resize_scan *self);
