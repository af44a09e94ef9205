/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* certs: our certificates in a cluster, shared by all replicas in one Secret, renewed by whichever takes the Lease of
 * the same name, and written into the caBundles of our webhook configurations. rotation.h says what is done when;
 * this is what does it. The Lease is taken only when there is work, so an idle installation writes nothing.
 *
 * Every replica watches the Secret and hands its leaf to `use` as soon as that can do no harm. A Secret that was
 * deleted or broken is made anew without a gap. One that somebody else made is left alone, and said. Callbacks run
 * inside kube_client_poll, and must not free. Threads: the client's. */
#include "certs/rotation.h"
#include "kube/kube_client.h"
#include "registration/configurations.h"

struct certs;

struct certs_config {
	const char *namespace, *secret;	 /* and the name of the Lease */
	const char *identity;		 /* ours in the Lease: new for every start of the process */
	const char *const *server_names; /* NULL-terminated */
	int64_t cert_lifetime_ms, ca_lifetime_ms;
	/** Serve with this from now on. 0; or <0: not possible (then the old one goes on, and it is tried again every
	 *  second). */
	int (*use)(void *context, const char *cert_pem, const char *key_pem, struct err *err);
	/** A step of a rotation was done by us; may be NULL. */
	void (*stepped)(void *context, enum rotation_action action, const char *why);
	/** Something did not work, and is tried again; the same words are told once. May be NULL. */
	void (*failed)(void *context, const struct err *why);
	void *context;
};

/** Everything is copied; `configurations` is borrowed and must live longer. @return 0; -EINVAL; -ENOMEM. */
int certs_start(struct kube_client *client, struct configurations *configurations, const struct certs_config *config,
		struct certs **ret, struct err *err) ATTR_NODISCARD;
/** Gives the Lease up if we hold it: polls for a second at most, so not from a callback. NULL allowed. */
void certs_free(struct certs *self);

struct certs_state {
	bool is_serving;			/* `use` has taken one */
	int64_t leaf_until_ms, ca_until_ms;	/* of what is served, and of the CA that signs; 0: none */
	uint64_t steps[ROTATION_ACTION_COUNT_]; /* done by this process */
	uint64_t failures;
	bool is_leading;
	enum rotation_action action; /* what is to be done next, by whoever leads */
	const char *why;	     /* in a few words */
	struct err last_error;	     /* code 0: the last try of everything was good */
};
void certs_state(const struct certs *self, struct certs_state *ret);
/** What is served; NULL: nothing. Borrowed until the next poll. */
const char *certs_serving(const struct certs *self);
