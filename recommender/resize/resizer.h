/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resizer: carries out resizes, some at a time, but of one node one after the other until the API server has
 * taken them: gathers what is known, plans, patches the pod's subresource `resize`, and follows what the kubelet makes
 * of it. A conflict means to look and plan again. What no node can hold is taken back. A cluster without pods/resize
 * (before 1.33) is asked again after an hour.
 *
 * Threads: resizer_post and resizer_set_used may be called from any thread, everything else from the client's. */
#include "base/strmap.h"
#include "kube/kube_client.h"
#include "policy/policy.h"
#include "resize/resize.h"

struct resizer;

/** What became of an ask. DEFERRED is told when it is seen, and the end (APPLIED, INFEASIBLE ...) may follow. Borrowed.
 */
struct resize_report {
	const struct resize_ask *ask;
	enum resize_result result;
	int64_t from_bytes, to_bytes; /* limit; equal where nothing was set */
	const char *why;	      /* words; "" */
};

struct resizer_config {
	struct kube_client *client;
	const struct policy *policy; /* must live as long */
	/** The client's thread. */
	void (*told)(void *context, const struct resize_report *report);
	void *context;
	int64_t follow_ms; /* how long the kubelet is followed; 0: 10 min */
	int64_t look_ms;   /* first pause between two looks at it; 0: 1 s */
};

/** @return 0; -ENOMEM. */
int resizer_new(const struct resizer_config *config, struct resizer **ret, struct err *err) ATTR_NODISCARD;
/** What is under way is left as it is. NULL allowed. */
void resizer_free(struct resizer *self);
/** Copied. One before a kill is passed over while its container is being resized or waits for it; one after a kill
 *  takes the place of what waits, and its turn comes when what is under way has ended. @return 0; -ENOMEM; -EAGAIN
 *  beyond LIMIT_RESIZE_ASKS. */
int resizer_post(struct resizer *self, const struct resize_ask *ask) ATTR_NODISCARD;
/** Working sets of pods, "namespace/name" -> int64_t, as measured just now; they count for some minutes. Takes the
 *  block: `free_used` frees it. */
struct resize_used {
	struct strmap pods;
	void (*free)(struct resize_used *self);
};
void resizer_set_used(struct resizer *self, struct resize_used *take_used);
/** Begin what was posted; after each kube_client_poll. */
void resizer_turn(struct resizer *self);
/** Asks that wait or are under way. Any thread. */
size_t resizer_count(struct resizer *self);
