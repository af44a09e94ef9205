/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_scan: which containers want a resize. After pods were told: those that were OOM-killed at the limit that they
 * still have, and restart in their pod; each kill asks once. Now and then, while pods run: those whose use rises to
 * their limit, by resize_forecast. A step is asked for once: again only when use is above the limit before the step, or
 * minutes later where nothing came of it.
 *
 * What it looks at is told by functions, all of which run inside its calls. One thread (the main one). */
#include "config/config.h"
#include "evidence/query_usage.h"
#include "pods/pods.h"
#include "resize/resizer.h"

struct resize_scan;

/** Whose usual duration and peak are asked for. Texts are borrowed for the call. */
struct resize_workload {
	const char *namespace_name, *container;
	const struct identity *identity;
};

/** What whole runs of it came to; 0: not known. */
struct resize_usual {
	int64_t duration_ms; /* median */
	int64_t peak_bytes;
};

struct resize_scan_config {
	enum resize_mode mode;
	int64_t look_ms;   /* between two looks at what is used */
	int64_t window_ms; /* through which the line goes */
	/** As pods_visit. */
	void (*visit)(void *context, pods_visit_fn *visit, void *visit_context);
	/** As query_usage and query_pod_usage. */
	int (*usage)(void *context, int64_t now_ms, int64_t window_ms, const char *const *namespaces,
		     size_t n_namespaces, struct usage *ret, struct err *err);
	int (*pod_usage)(void *context, int64_t now_ms, struct usage *ret, struct err *err);
	/** `ret` is zeroed. */
	void (*usual)(void *context, const struct resize_workload *workload, struct resize_usual *ret);
	/** As resizer_post and resizer_set_used; more than 0: not taken, which is no failure. */
	int (*post)(void *context, const struct resize_ask *ask);
	void (*set_used)(void *context, struct resize_used *take_used);
	void *context;
};

/** `config` is copied. @return 0; -ENOMEM. */
int resize_scan_new(const struct resize_scan_config *config, struct resize_scan **ret, struct err *err) ATTR_NODISCARD;
/** NULL allowed. */
void resize_scan_free(struct resize_scan *self);
/** Ask for those that were killed. @return 0; -ENOMEM; as `post` failed: what it did not take is asked again. */
int resize_scan_kills(struct resize_scan *self, struct err *err) ATTR_NODISCARD;
/** When it is time, ask for those that rise. Monotonic and wall clock. @return 0 (also when it is not time); an enum
 *  evidence_condition; -errno. */
int resize_scan_ramps(struct resize_scan *self, int64_t monotonic_ms, int64_t now_ms, struct err *err) ATTR_NODISCARD;
/** When resize_scan_ramps wants to be called next; INT64_MAX: never. */
int64_t resize_scan_next_ms(const struct resize_scan *self);
