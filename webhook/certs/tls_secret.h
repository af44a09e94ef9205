/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* tls_secret: reads and writes the Secret that all replicas share: our CAs, the key of the newest CA and one leaf
 * certificate.
 *
 * The Secret is of type kubernetes.io/tls. ca.crt is the bundle (newest first), ca.key the key of its first
 * certificate, tls.crt and tls.key the leaf; these are empty while there is none. The annotation
 * memtamer.io/certificates contains when the last leaf of each CA ends. A Secret with this annotation is ours, and
 * broken parts are replaced. A Secret without it is used if all parts fit together, filled if it is empty, and
 * otherwise left alone, because somebody else made it. (The chart renders an empty one, so that uninstalling removes
 * it; its type is Opaque, which requires no keys.)
 * Memory of private keys is wiped before it is freed. Threads: belongs to one thread. */
#include "base/json.h"
#include "certs/rotation.h"
#include "pki/pki.h"

#define TLS_SECRET_TYPE	      "kubernetes.io/tls"
#define TLS_SECRET_BLANK_TYPE "Opaque"

struct tls_secret_names {
	const char *namespace, *secret;
	const char *const *server; /* the names that the leaf must have, NULL-terminated */
	char ca[40];		   /* common name of our CAs, the same in all replicas (30 characters) */
};

struct tls_secret {
	struct rotation_secret facts; /* pem of the CAs is borrowed from `cas` */
	struct json_object *object;   /* as read, without private keys; a reference; NULL: the Secret does not exist */
	const char *resource_version, *uid; /* of `object`; "": none */
	struct pki_bundle cas;
	char *ca_key_pem;     /* NULL: no key that belongs to a CA of the bundle */
	struct pki_pair leaf; /* empty: no usable leaf */
	struct err complaint; /* what is wrong with the Secret; code 0: nothing */
};

#define TLS_SECRET_INIT                                                                                                \
	{                                                                                                              \
		.facts = {.presence = ROTATION_UNREAD}, .resource_version = "", .uid = ""                              \
	}

/** Sets `ca` from namespace and secret. */
void tls_secret_name_ca(struct tls_secret_names *self);

void tls_secret_release(struct tls_secret *self);
/** Reads a Secret; `object` NULL: the Secret does not exist. Private keys in `object` are wiped, and a reference to it
 *  is kept. `ret` must be empty; release it with tls_secret_release.
 *  @return 0, also for a Secret that cannot be used (facts.is_refused, complaint); -ENOMEM. */
int tls_secret_decode(struct json_object *object, const struct tls_secret_names *names, struct tls_secret *ret,
		      struct err *err) ATTR_NODISCARD;
/** Keeps the later ends of leaves from `before`: a Secret restored from a backup contains only those of its own
 *  time. */
void tls_secret_keep_ends(struct tls_secret *self, const struct tls_secret *before);
/** Makes the Secret that a plan asks for: without a resourceVersion for a create, else with the one that was read. Of
 *  `self`, it changes only `object`: every later call replaces the same members.
 *  @param in_use  certificate and key that this process uses, for ROTATION_LEAF_IN_USE.
 *  @param ret  owned by the caller; free it with tls_secret_put_object.
 *  @return 0; -EINVAL; -EIO; -E2BIG; -ENOMEM. */
int tls_secret_encode(struct tls_secret *self, const struct tls_secret_names *names, const struct rotation_view *view,
		      const struct rotation_plan *plan, const struct pki_pair *in_use, struct json_object **ret,
		      struct err *err) ATTR_NODISCARD;
/** Wipes the private keys and calls json_object_put. NULL is allowed. */
void tls_secret_put_object(struct json_object *object);

/** What rotation.h needs to know of a CA. `pem` is borrowed from `cert`. */
struct rotation_cert tls_secret_cert_facts(const struct pki_cert *cert, const char *ca_name);

/* Shared with tls_secret_write.c. */
#define TLS_SECRET_CA_CERT  "ca.crt"
#define TLS_SECRET_CA_KEY   "ca.key"
#define TLS_SECRET_TLS_CERT "tls.crt"
#define TLS_SECRET_TLS_KEY  "tls.key"
/** The key of a CA in the annotation: the first half of its id's hexadecimal digits. */
#define TLS_SECRET_SHORT_ID_BYTES 17
const char *tls_secret_short_id(const unsigned char *id, char ret[TLS_SECRET_SHORT_ID_BYTES]);
