/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* certs_internal: shared by certs.c (watches and decides), certs_write.c (writes) and certs_state.c (the known state).
 * Threads: the client's. */
#include "base/arena.h"
#include "base/timefmt.h"
#include "certs/bundles.h"
#include "certs/certs.h"
#include "certs/tls_secret.h"
#include "kube/lease.h"
#include "kube/reflector.h"

/* How long to wait before something is tried again that is not a write. */
#define CERTS_RETRY_MS TIME_SECOND_MS

/* Where a Secret comes from: a list, an event of the watch, or the answer to a write. */
enum certs_source { CERTS_LIST, CERTS_EVENT, CERTS_ANSWER };

/* Context of the request for a configuration that is under way. */
struct certs_request {
	struct certs *certs;
	enum configuration_kind kind;
};

struct certs {
	struct kube_client *client;
	struct configurations *configurations;
	struct certs_config config;
	struct arena arena;
	struct tls_secret_names names;
	struct rotation_times times;

	struct reflector *secret_watch;
	struct tls_secret secret; /* as last read */
	bool is_answered;	  /* `secret` is the answer to a write that the watch has not reported yet */
	struct bundles bundles[CONFIGURATION_COUNT_];
	struct rotation_coverage coverage[CONFIGURATION_COUNT_], known;

	struct pki_pair in_use; /* the certificate that `use` accepted last */
	struct rotation_leaf in_use_facts;

	struct lease *lease; /* NULL: there is no work */
	bool is_leading, is_leaving;
	struct kube_timer decide, lease_end;

	struct kube_call *secret_call, *configuration_calls[CONFIGURATION_COUNT_];
	struct certs_request configuration_requests[CONFIGURATION_COUNT_];
	enum rotation_action doing; /* the step that secret_call does */
	const char *doing_why;
	/* A new version was received but could not be decoded. */
	bool is_secret_undecoded, is_undecoded[CONFIGURATION_COUNT_];
	/* The last write met a newer version. The pause after it ends when the watch delivers a change. */
	bool is_overtaken;
	unsigned int failed_in_a_row;
	int64_t not_before_ms; /* monotonic: no write before this time, after a failure */
	/* Consecutive writes of a caBundle without a change of the Secret: something else may be writing it, too. */
	struct {
		unsigned int streak;
		int64_t last_ms;
	} fills[CONFIGURATION_COUNT_];

	char reported[sizeof(((struct err *)NULL)->msg)]; /* the failure that was reported last */
	struct certs_state state;
};

/* certs_state.c */
/** Collects everything that rotation.h decides by. `ret` borrows from `self`. */
void certs_view(const struct certs *self, struct rotation_view *ret);
/** Schedules the next decision at the next poll. */
void certs_decide_soon(struct certs *self);
/** Records a failure and reports it, unless it has the same message as the last one. */
void certs_fail(struct certs *self, const struct err *why);
/** Clears the last failure. */
void certs_is_well(struct certs *self);
/** Takes a Secret that was read or written; `object` NULL: it does not exist. Private keys in `object` are wiped. A
 * Secret that is older than the last known one is ignored: an answer, or an event that was under way when an answer
 * came. A list always counts, because a store that was restored has smaller resourceVersions. */
void certs_take_secret(struct certs *self, enum certs_source source, struct json_object *object);

/* certs_write.c */
/** Executes the plan. This process must lead. */
void certs_do(struct certs *self, const struct rotation_view *view, const struct rotation_plan *plan);
/** Whether a write is under way. */
bool certs_is_busy(const struct certs *self);
/** Cancels requests under way. */
void certs_cancel(struct certs *self);
