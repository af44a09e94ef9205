/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* probe: checks whether the API server reaches the webhook. Nothing else shows it, because the API server continues
 * without a webhook that does not answer. The probe creates a ConfigMap as a dry run, so nothing is stored. A webhook
 * entry of its own (probe.memtamer.io) matches it, and the webhook adds the name of the pod that answered. Threads: the
 * client's. */
#include "kube/kube_client.h"

enum probe_result {
	PROBE_REACHED,
	PROBE_NOT_CONFIGURED, /* no webhook configuration, or no entry for the probe: not installed, or switched off */
	PROBE_FAILED_OPEN,    /* the API server continued without an answer */
	PROBE_REFUSED,	      /* the API server rejected the dry run (RBAC, quota ...): unknown */
	PROBE_TIMED_OUT,      /* the API server did not answer in time: unknown */
	PROBE_NO_SERVER,      /* the API server was not reached: unknown */
	PROBE_RESULT_COUNT_,
};
/** "reached", "not-configured" ... */
extern const char *const probe_result_names[PROBE_RESULT_COUNT_];

struct probe_outcome {
	enum probe_result result;
	int64_t duration_ms; /* of the dry run */
	char text[640];	     /* a sentence for people, without full stop */
};

/** The outcome is borrowed for the call. */
typedef void probe_done_fn(void *context, const struct probe_outcome *outcome);

/** The caller sets the fields up to `context`, which are borrowed; all others must be zero. */
struct probe {
	struct kube_client *client;
	const char *namespace;	   /* the namespace that memtamer runs in */
	const char *configuration; /* name of the MutatingWebhookConfiguration; NULL: not known */
	int64_t timeout_ms;	   /* 0: 10 s */
	probe_done_fn *done;
	void *context;

	struct kube_call *call; /* NULL: no request is open */
	int64_t begun_ms;
	struct probe_outcome outcome;
};

/** Starts one probe. `done` is called from kube_client_poll, or at once if no request can be sent. Only one probe may
 * run at a time. */
void probe_begin(struct probe *self);
/** Cancels the probe; `done` is not called any more. */
void probe_cancel(struct probe *self);
