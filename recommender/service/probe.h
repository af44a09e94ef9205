/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* probe: does the API server reach the webhook? It goes on without a webhook that does not answer, so nothing else
 * shows it. A ConfigMap is created as a dry run, which the webhook's entry for it (probe.memtamer.io) marks with the
 * name of the pod that answered; nothing is stored. Threads: the client's. */
#include "kube/kube_client.h"

enum probe_result {
	PROBE_REACHED,
	PROBE_NOT_CONFIGURED, /* no webhook configuration, or none that asks for it: the kill switch, not installed */
	PROBE_FAILED_OPEN,    /* the API server went on without an answer */
	PROBE_REFUSED,	      /* it did not let us ask (RBAC, quota ...): not known */
	PROBE_TIMED_OUT,      /* it did not answer in time: not known */
	PROBE_NO_SERVER,      /* it was not reached: not known */
	PROBE_RESULT_COUNT_,
};
/** "reached", "not-configured" ... */
extern const char *const probe_result_names[PROBE_RESULT_COUNT_];

struct probe_outcome {
	enum probe_result result;
	int64_t duration_ns; /* of the dry run */
	char text[640];	     /* a sentence for people, without full stop */
};

/** Borrowed for the call. */
typedef void probe_done_fn(void *context, const struct probe_outcome *outcome);

/** All of it set by who embeds it, and borrowed; `call` and what follows zero. */
struct probe {
	struct kube_client *client;
	const char *namespace;	   /* memtamer's own */
	const char *configuration; /* of the MutatingWebhookConfiguration; NULL: not known */
	int64_t timeout_ms;	   /* 0: 10 s */
	probe_done_fn *done;
	void *context;

	struct kube_call *call; /* NULL: nothing is under way */
	int64_t begun_ns;
	struct probe_outcome outcome;
};

/** Ask once; `done` is told later, from kube_client_poll, or at once when nothing can be sent. One at a time. */
void probe_begin(struct probe *self);
/** Tells nothing any more. */
void probe_cancel(struct probe *self);
