/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod_table: what is known of each training pod over all windows read so far. Windows are merged in their order; what
 * runs that are over no longer need is dropped, so the table holds the pods of open runs and little more. It is the
 * collector's state: encoded as JSON beside the store, so that closed days are asked once.
 *
 * Merging a window is not idempotent (samples add up): the caller keeps the encoded table of the last closed day and
 * starts from it again. Threads: a table belongs to one thread. */
#include "base/json.h"
#include "evidence/evidence.h"
#include "model/sketch.h"

struct pod_container {
	char *name, *image; /* heap */
	int64_t limit_bytes, request_bytes, ephemeral_limit_bytes, ephemeral_request_bytes;
	int64_t accelerators_milli;
	unsigned int ends; /* enum evidence_end_flag */
	int restarts;
	int64_t killed_limits[RUN_KILLED_LIMITS]; /* as in evidence_container */
	int n_killed_limits;
	int64_t peak_bytes, peak_rss_bytes, peak_active_file_bytes;
	struct sketch usage;		      /* working set, weighted by time */
	int64_t median_bytes, p95_bytes;      /* exact while n_parts is 1 */
	int n_parts;			      /* windows and cgroups that were merged into usage */
	int64_t samples, covered_ms;	      /* samples, and the time they stand for */
	int64_t step_ms;		      /* between two samples; 0: not known for this one */
	int64_t first_ms, last_ms;	      /* of samples; 0: none */
	bool is_first_coarse, is_last_coarse; /* known to the hour */
	bool is_doubtful;		      /* usage may be another pod's */
};

struct pod {
	char *namespace_name, *name, *uid; /* heap, all of them */
	char *owner_kind, *owner_name, *root_kind, *root_name;
	char *decision;			 /* our annotation; "" none */
	VEC(struct k8s_label) labels;	 /* heap keys and values */
	int64_t start_ms, completion_ms; /* 0: not known */
	int64_t seen_from_ms;		 /* begin of the first window that it was seen in */
	int64_t peak_ephemeral_bytes, pending_ms, memory_wait_ms;
	int64_t activity_sum, activity_samples; /* as in evidence_pod; samples 0: not measured */
	unsigned int ends;
	bool is_alive;	 /* at the end of the newest window */
	bool is_partial; /* some window may have lacked data */
	bool is_watched; /* the API server itself told of it */
	VEC(struct pod_container) containers;
};

struct pod_table {
	VEC(struct pod *) pods;
	struct strmap by_id; /* keys are heap, in `keys` */
	VEC(char *) keys;
	int64_t step_ms; /* scrape interval: configured or measured; 0: not known yet */
	bool is_step_fixed;
};

#define POD_TABLE_INIT                                                                                                 \
	{                                                                                                              \
		.step_ms = 0                                                                                           \
	}

void pod_table_release(struct pod_table *self);
/** Merge a batch. Pods without samples that did not begin in the window are left out, unless they are watched: they
 *  ended before it.
 *  @return 0 or -ENOMEM (the table is then only good for releasing). */
int pod_table_merge(struct pod_table *self, const struct evidence_batch *batch, struct err *err) ATTR_NODISCARD;
/** Keep only the pods for which keep[i] is true. 0 or -ENOMEM. */
int pod_table_filter(struct pod_table *self, const bool *keep) ATTR_NODISCARD;

/** As a member list of a JSON object: `{"stepMs": .., "pods": [..]}`. Sticky status of buf. */
int pod_table_encode(const struct pod_table *self, struct strbuf *buf);
/** @return 0; -EINVAL with the field; -ENOMEM. `ret` is empty before. */
int pod_table_decode(struct json_object *object, struct pod_table *ret, struct err *err) ATTR_NODISCARD;

/* For the codec. */
struct pod *pod_new(const char *namespace_name, const char *name, const char *uid) ATTR_NODISCARD;
void pod_free(struct pod *self);
/** Replace a heap text. 0 or -ENOMEM. */
int pod_text_set(char **text, const char *value) ATTR_NODISCARD;
int pod_label_add(struct pod *self, const char *key, const char *value) ATTR_NODISCARD;
/** Add; takes the pod in any case. 0 or -ENOMEM. */
int pod_table_add(struct pod_table *self, struct pod *take_pod) ATTR_NODISCARD;

/** First and last moment that are known of it; end 0: not ended, as far as is known. */
int64_t pod_begin_ms(const struct pod *self);
int64_t pod_last_ms(const struct pod *self);
