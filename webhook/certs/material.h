/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* material: the shared Secret with our CAs, the key of the newest one and one leaf, as JSON and as what the steps of a
 * rotation work on.
 *
 * The Secret is of type kubernetes.io/tls: ca.crt is the bundle (newest first), ca.key the key of its first
 * certificate, tls.crt and tls.key the leaf, empty while there is none. The annotation memtamer.io/certificates holds
 * when the last leaf of each CA ends; a Secret that has it is ours, and what is broken in it is made anew. One without
 * it is used if all of it fits together, filled if nothing is in it, and else left alone: it is somebody else's. (The
 * chart renders a blank one, of type Opaque because that needs no keys, so that uninstalling takes it away.) Private
 * keys are wiped. Threads: belongs to one thread. */
#include "certs/rotation.h"
#include "base/json.h"
#include "pki/pki.h"

#define MATERIAL_ANNOTATION "memtamer.io/certificates"
#define MATERIAL_TYPE	    "kubernetes.io/tls"
#define MATERIAL_BLANK_TYPE "Opaque"

/** When the last leaf of a CA ends. */
struct material_end {
	unsigned char ca[PKI_ID_BYTES];
	int64_t until_ms;
};

struct material {
	enum rotation_presence presence;
	bool is_refused, is_blank;
	struct json_object *rest; /* the object without our data; NULL: there is none */
	char *resource_version, *uid;
	struct pki_bundle cas;
	struct material_end ends[LIMIT_CA_BUNDLE_CERTS];
	size_t n_ends;
	char *ca_key_pem;     /* NULL: none that belongs to a CA of the bundle */
	struct pki_pair leaf; /* empty: none that can be used */
	unsigned char leaf_issuer[PKI_ID_BYTES];
	struct err complaint; /* code 0: nothing to say; else what a person should know */
};

#define MATERIAL_INIT                                                                                                  \
	{                                                                                                              \
		.presence = ROTATION_UNREAD                                                                            \
	}

void material_release(struct material *self);
/** Free a private key. */
void material_wipe(char *text);

/** The common name of our CAs for this Secret: 30 characters, the same for all replicas. */
#define MATERIAL_NAME_BYTES 40
void material_ca_name(const char *namespace, const char *secret, char ret[MATERIAL_NAME_BYTES]);

/** Take a Secret apart; `object` NULL: there is none. Private keys in `object` are wiped. `ret` must be empty.
 *  @return 0, also for what cannot be used (is_refused, complaint); -ENOMEM. */
int material_decode(struct json_object *object, struct material *ret, struct err *err) ATTR_NODISCARD;
/** Later ends that were known before: a Secret that is restored from a backup tells of its own time only. */
void material_remember(struct material *self, const struct material *before);
/** The Secret to be written: for a create, or with the resourceVersion that was read.
 *  @param ret  owned by the caller: material_put_object. */
int material_encode(const struct material *self, const char *namespace, const char *name, struct json_object **ret,
		    struct err *err) ATTR_NODISCARD;
/** json_object_put, and the private keys wiped. */
void material_put_object(struct json_object *object);

/** What rotation.h wants to know. `names`: those that the leaf must have; NULL-terminated, may be NULL. */
void material_facts(const struct material *self, const char *ca_name, const char *const *names,
		    struct rotation_secret *ret);
void material_leaf_facts(const struct pki_pair *leaf, const unsigned char *issuer, const char *const *names,
			 struct rotation_leaf *ret);
void material_cert_facts(const struct pki_cert *cert, const char *ca_name, struct rotation_cert *ret);

/* The steps. Each changes `self` only; material_encode says what to write. @return 0; -ENOMEM, -EINVAL, -EIO. */

/** A new CA in front. Of the one that signed before, leaves of `cert_lifetime_ms` may live from now on, whatever the
 *  annotation says: it may have been restored from a backup. When the bundle is full, the oldest that neither signs nor
 * signed the leaf goes. */
int material_add_ca(struct material *self, const char *ca_name, int64_t now_ms, int64_t lifetime_ms,
		    int64_t cert_lifetime_ms, struct err *err) ATTR_NODISCARD;
/** A CA at the end, which is to stay until `last_leaf_ms`. */
int material_adopt(struct material *self, const struct pki_cert *cert, int64_t last_leaf_ms,
		   struct err *err) ATTR_NODISCARD;
/** A new leaf of the first CA. `keeps_names`: the old leaf's besides `names`. */
int material_make_leaf(struct material *self, const char *const *names, bool keeps_names, int64_t now_ms,
		       int64_t lifetime_ms, struct err *err) ATTR_NODISCARD;
/** A leaf that was served before; copied. */
int material_set_leaf(struct material *self, const struct pki_pair *leaf, const unsigned char *issuer,
		      struct err *err) ATTR_NODISCARD;
/** Leave out the CAs whose bits are set. */
int material_prune(struct material *self, uint32_t mask, struct err *err) ATTR_NODISCARD;
