/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pki: makes certificates (ECDSA P-256, PEM in memory) and reads certificates made by others. The only module that
 * calls OpenSSL. Callers pass the time. Certificates are valid from PKI_BACKDATE_MS before `now_ms`, because clocks in
 * a cluster differ. All times are ms since 1970. Pure functions, any thread. */
#include "base/err.h"

#include <stdint.h>

#define PKI_BACKDATE_MS ((int64_t)60 * 60 * 1000)

/** A certificate and its private key, PEM, on the heap. Free it with pki_pair_release, which wipes the key. */
struct pki_pair {
	char *cert_pem, *key_pem;
};

#define PKI_PAIR_INIT                                                                                                  \
	{                                                                                                              \
		NULL, NULL                                                                                             \
	}

void pki_pair_release(struct pki_pair *self);
/** Copies both texts. `ret` must be empty; the caller owns it. @return 0; -ENOMEM. */
int pki_pair_copy(const char *cert_pem, const char *key_pem, struct pki_pair *ret, struct err *err) ATTR_NODISCARD;

enum pki_usage { PKI_SERVER, PKI_CLIENT };

struct pki_leaf {
	enum pki_usage usage;
	const char *common_name;
	const char *const *names;    /* DNS names and IP addresses, NULL-terminated; NULL: none */
	const char *names_of;	     /* a certificate (PEM) whose names are added; NULL: none */
	int64_t now_ms, validity_ms; /* cut so that it ends no later than its CA */
};

/** Makes a self-signed CA that may sign leaves only. `ret` must be empty; the caller owns it. @return 0; -EINVAL; -EIO;
 *  -ENOMEM. */
int pki_make_ca(const char *common_name, int64_t now_ms, int64_t validity_ms, struct pki_pair *ret,
		struct err *err) ATTR_NODISCARD;
/** Makes a leaf signed by `ca`. `ret` must be empty; the caller owns it. @return 0; -EINVAL the CA does not parse, or a
 *  name cannot be a SAN; -EIO; -ENOMEM. */
int pki_make_leaf(const struct pki_pair *ca, const struct pki_leaf *leaf, struct pki_pair *ret,
		  struct err *err) ATTR_NODISCARD;

/** Reads the validity of the first certificate of `cert_pem`, ms since 1970. @return 0; -EINVAL. */
int pki_read_validity(const char *cert_pem, int64_t *ret_from_ms, int64_t *ret_until_ms,
		      struct err *err) ATTR_NODISCARD;
/** Checks that the key belongs to the first certificate. @return 0; -EINVAL with the reason. */
int pki_check_pair(const char *cert_pem, const char *key_pem, struct err *err) ATTR_NODISCARD;

/** Length of a certificate's id. */
#define PKI_ID_BYTES 32
struct pki_cert {
	unsigned char id[PKI_ID_BYTES]; /* SHA-256 of its DER form */
	int64_t from_ms, until_ms;
	bool is_ca;
	char common_name[65]; /* common name of its subject; "": none */
	char *pem;
};

/** The certificates of a PEM text, in its order, without duplicates. */
struct pki_bundle {
	struct pki_cert *certs;
	size_t n;
	bool has_garbage; /* the text contains blocks that are not readable certificates; they are skipped */
};

#define PKI_BUNDLE_INIT                                                                                                \
	{                                                                                                              \
		NULL, 0, false                                                                                         \
	}

/** Return value: the input is well-formed, but the check failed. */
#define PKI_NOT_TRUSTED 1

/** Reads a bundle. `ret` must be empty; release it with pki_bundle_release. Text without a certificate gives an empty
 *  bundle. Cost: quadratic in the number of certificates.
 *  @return 0; -E2BIG more than `max_certs` certificates or LIMIT_KUBE_OBJECT_BYTES; -ENOMEM. */
int pki_read_bundle(const char *pem, size_t n, size_t max_certs, struct pki_bundle *ret,
		    struct err *err) ATTR_NODISCARD;
void pki_bundle_release(struct pki_bundle *self);
/** Index of the certificate with this id; `self->n`: it is not there. */
size_t pki_bundle_find(const struct pki_bundle *self, const unsigned char id[PKI_ID_BYTES]);
/** Index of the certificate of the bundle that signed the first certificate of `cert_pem`; `bundle->n`: none, or
 *  `cert_pem` is not readable. */
size_t pki_find_issuer(const char *cert_pem, const struct pki_bundle *bundle);
/** Index of the certificate of the bundle to which a private key belongs; `bundle->n`: none, or `key_pem` is not
 *  readable. */
size_t pki_find_key(const char *key_pem, const struct pki_bundle *bundle);
/** Whether a client that trusts `bundle` trusts a server that presents this chain, by the rules of Go's crypto/x509.
 *  Validity periods are not checked.
 *  @return 0; PKI_NOT_TRUSTED with the reason; -EINVAL; -ENOMEM. */
int pki_verify(const char *chain_pem, const struct pki_bundle *bundle, struct err *err) ATTR_NODISCARD;
/** Whether the first certificate is valid for this DNS name or IP address. @return 0; PKI_NOT_TRUSTED; -EINVAL. */
int pki_check_name(const char *cert_pem, const char *name, struct err *err) ATTR_NODISCARD;
