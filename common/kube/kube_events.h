/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_events: Events (v1) about objects, for `kubectl describe`. The same event again counts up the one that is there,
 * at most once in ten seconds, instead of making another. Best effort: what cannot be written is told and forgotten.
 * Threads: the client's. */
#include "kube/kube_client.h"

struct kube_events;

/** What an event is about. */
struct kube_event_object {
	const char *api_version, *kind, *name;
	const char *namespace; /* NULL or "": cluster-scoped, the event goes to "default" */
	const char *uid;       /* NULL: not known */
};

struct kube_events_config {
	const char *component;				      /* "memtamer-recommender" */
	const char *instance;				      /* the pod's name */
	int64_t interval_ms;				      /* between two counts of one event; 0: 10 s */
	void (*failed)(void *context, const struct err *why); /* may be NULL */
	void *context;
};

/** Everything is copied. @return 0; -ENOMEM. */
int kube_events_new(struct kube_client *client, const struct kube_events_config *config, struct kube_events **ret,
		    struct err *err) ATTR_NODISCARD;
/** What was not written is lost. NULL allowed. */
void kube_events_free(struct kube_events *self);
/** `reason`: one word in CamelCase. A message beyond LIMIT_KUBE_NOTE_BYTES is cut.
 *  @return 0; -ENOMEM. */
int kube_events_record(struct kube_events *self, const struct kube_event_object *object, bool is_warning,
		       const char *reason, const char *message, struct err *err) ATTR_NODISCARD;
