/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* certs: keeps the webhook's certificates in a cluster. All replicas share one Secret. The replica that holds the Lease
 * of the same name renews the certificates and writes them into the caBundles of our webhook configurations. rotation.h
 * decides what to do next; this module does it. A replica takes the Lease only when there is work, so an idle
 * installation writes nothing.
 *
 * Every replica watches the Secret and passes its certificate to `use` as soon as API servers trust it. A Secret that
 * was deleted or broken is replaced without an interruption. A Secret that memtamer did not make is left alone, and
 * reported through `failed`. Callbacks run inside kube_client_poll and must not call certs_free. Threads: the
 * client's. */
#include "certs/rotation.h"
#include "kube/kube_client.h"
#include "registration/configurations.h"

struct certs;

struct certs_config {
	const char *namespace, *secret;	 /* `secret` is also the name of the Lease */
	const char *identity;		 /* of this replica in the Lease; new for every start of the process */
	const char *const *server_names; /* NULL-terminated */
	int64_t cert_lifetime_ms, ca_lifetime_ms;
	/** Serves with this certificate and key from now on. @return 0; <0: the old ones stay in use, and `use` is
	 *  called again after a second. */
	int (*use)(void *context, const char *cert_pem, const char *key_pem, struct err *err);
	/** This replica has completed a step of a rotation. May be NULL. */
	void (*stepped)(void *context, enum rotation_action action, const char *why);
	/** Something failed and is retried; a repeated message is reported once. May be NULL. */
	void (*failed)(void *context, const struct err *why);
	void *context;
};

/** The strings of `config` are copied; `configurations` is borrowed and must live longer. @return 0; -EINVAL;
 *  -ENOMEM. */
int certs_start(struct kube_client *client, struct configurations *configurations, const struct certs_config *config,
		struct certs **ret, struct err *err) ATTR_NODISCARD;
/** Frees it; releases the Lease if this replica leads. Polls the client for at most a second, so it must not be called
 *  from a callback. NULL is allowed. */
void certs_free(struct certs *self);

/** Must be called with each change that `configurations` reports. */
void certs_take_configuration(struct certs *self, enum configuration_kind kind, struct json_object *object);

struct certs_state {
	bool is_serving; /* `use` has accepted a certificate */
	/* end of the certificate in use, and of the CA that signs new ones, ms since 1970; 0: none */
	int64_t leaf_until_ms, ca_until_ms;
	uint64_t steps[ROTATION_ACTION_COUNT_]; /* completed by this process */
	uint64_t failures;
	bool is_leading;
	enum rotation_action action; /* what the leader has to do next */
	const char *why;	     /* the reason; static string */
	struct err last_error;	     /* code 0: nothing is failing now */
};
void certs_state(const struct certs *self, struct certs_state *ret);
/** The certificate in use (PEM); NULL: none. Borrowed until the next poll. */
const char *certs_serving(const struct certs *self);
