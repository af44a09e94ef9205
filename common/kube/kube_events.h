/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_events: writes Events (v1) about objects, for `kubectl describe`. A repeated event increases the count of the
 * Event that exists, at most once in `interval_ms`, instead of creating another. The name of an Event is a hash of its
 * object, reason and message, so this also holds after a restart, as long as the cluster keeps the Event (an hour);
 * only its count then starts again. Events are best effort: a write that fails is reported through `failed` and
 * dropped. Cost: a table of 256 events, which each record searches. When it is full, the event that was recorded least
 * recently makes room. Threads: the client's. */
#include "kube/kube_client.h"

struct kube_events;

/** What an event is about. */
struct kube_event_object {
	const char *api_version, *kind, *name;
	const char *namespace; /* NULL or "": cluster-scoped; the Event goes to "default" */
	const char *uid;       /* NULL: unknown */
};

struct kube_events_config {
	const char *component; /* "memtamer-recommender" */
	const char *instance;  /* the pod's name */
	int64_t interval_ms;   /* shortest time between two writes of one Event; 0: 10 s */
	void (*failed)(void *context, const struct err *why); /* may be NULL */
	void *context;
};

/** The strings of `config` are copied. @return 0; -ENOMEM. */
int kube_events_new(struct kube_client *client, const struct kube_events_config *config, struct kube_events **ret,
		    struct err *err) ATTR_NODISCARD;
/** Frees the recorder; events that were not written yet are lost. NULL is allowed. */
void kube_events_free(struct kube_events *self);
/** Records one event; a later poll of the client writes it. `reason` is one word in CamelCase. A message longer than
 *  LIMIT_KUBE_NOTE_BYTES is cut between characters.
 *  @return 0; -ENOMEM. */
int kube_events_record(struct kube_events *self, const struct kube_event_object *object, bool is_warning,
		       const char *reason, const char *message, struct err *err) ATTR_NODISCARD;
