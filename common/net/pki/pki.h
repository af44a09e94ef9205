/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pki: certificates of our own (ECDSA P-256) as PEM in memory, and reading other people's. The only place that calls
 * OpenSSL. The clock is passed in. Certificates are valid from PKI_BACKDATE_MS before `now`, because clocks of a
 * cluster differ. Threads: pure functions, any thread. */
#include "base/err.h"

#include <stdint.h>

struct strbuf;

#define PKI_BACKDATE_MS ((int64_t)60 * 60 * 1000)

/** A certificate and its private key, PEM, on the heap. Released with pki_pair_release, which wipes the key. */
struct pki_pair {
	char *cert_pem, *key_pem;
};

#define PKI_PAIR_INIT                                                                                                  \
	{                                                                                                              \
		NULL, NULL                                                                                             \
	}

void pki_pair_release(struct pki_pair *self);

enum pki_usage { PKI_SERVER, PKI_CLIENT };

struct pki_leaf {
	enum pki_usage usage;
	const char *common_name;
	const char *const *names;    /* DNS names and IP addresses, NULL-terminated; NULL: none */
	int64_t now_ms, validity_ms; /* ends with its CA at the latest */
};

/** A self-signed CA that may sign leaves only. `ret` must be empty. @return 0; -EINVAL; -EIO; -ENOMEM. */
int pki_make_ca(const char *common_name, int64_t now_ms, int64_t validity_ms, struct pki_pair *ret,
		struct err *err) ATTR_NODISCARD;
/** A leaf signed by `ca`. `ret` must be empty. @return 0; -EINVAL (a CA that does not parse, a name that cannot be a
 *  SAN); -EIO; -ENOMEM. */
int pki_make_leaf(const struct pki_pair *ca, const struct pki_leaf *leaf, struct pki_pair *ret,
		  struct err *err) ATTR_NODISCARD;

/** From when to when the first certificate of `cert_pem` is valid, ms since 1970. @return 0; -EINVAL. */
int pki_read_validity(const char *cert_pem, int64_t *ret_from_ms, int64_t *ret_until_ms,
		      struct err *err) ATTR_NODISCARD;
/** Does the key belong to the first certificate? @return 0; -EINVAL with what is wrong. */
int pki_check_pair(const char *cert_pem, const char *key_pem, struct err *err) ATTR_NODISCARD;

/** A certificate of a bundle. */
#define PKI_ID_BYTES 32
struct pki_cert {
	unsigned char id[PKI_ID_BYTES]; /* SHA-256 of its DER form */
	int64_t from_ms, until_ms;
	bool is_ca;
	char common_name[65]; /* of its subject; "": none */
	char *pem;
};

/** Certificates in the order of their text, each once. */
struct pki_bundle {
	struct pki_cert *certs;
	size_t n;
	bool has_garbage; /* blocks that are no readable certificate were passed over */
};

#define PKI_BUNDLE_INIT                                                                                                \
	{                                                                                                              \
		NULL, 0, false                                                                                         \
	}

/** Something is well-formed, and not what it should be. */
#define PKI_NOT_TRUSTED 1

/** `ret` must be empty; text without any certificate gives an empty bundle.
 *  @return 0; -E2BIG (LIMIT_CREDENTIAL_BYTES, LIMIT_CA_BUNDLE_CERTS); -ENOMEM. */
int pki_read_bundle(const char *pem, size_t n, struct pki_bundle *ret, struct err *err) ATTR_NODISCARD;
/** The same of what others may have written into an object of the API server: all CAs of the web, say.
 *  @return 0; -E2BIG (LIMIT_KUBE_OBJECT_BYTES); -ENOMEM. */
int pki_read_long_bundle(const char *pem, size_t n, struct pki_bundle *ret, struct err *err) ATTR_NODISCARD;
void pki_bundle_release(struct pki_bundle *self);
/** Index of the certificate with this id; `n` when there is none. */
size_t pki_bundle_find(const struct pki_bundle *self, const unsigned char id[PKI_ID_BYTES]);
/** Which of them signed the first certificate of `cert_pem`. @return 0; PKI_NOT_TRUSTED: none; -EINVAL; -ENOMEM. */
int pki_find_issuer(const char *cert_pem, const struct pki_bundle *bundle, size_t *ret_index,
		    struct err *err) ATTR_NODISCARD;
/** To which of them a private key belongs. @return 0; PKI_NOT_TRUSTED: none; -EINVAL; -ENOMEM. */
int pki_find_key(const char *key_pem, const struct pki_bundle *bundle, size_t *ret_index,
		 struct err *err) ATTR_NODISCARD;
/** Would a client that trusts `bundle` trust a server that shows this chain? As Go sees it, whatever the time.
 *  @return 0; PKI_NOT_TRUSTED with the reason; -EINVAL; -ENOMEM. */
int pki_verify(const char *chain_pem, const struct pki_bundle *bundle, struct err *err) ATTR_NODISCARD;
/** Is the first certificate for this DNS name or address? @return 0; PKI_NOT_TRUSTED; -EINVAL. */
int pki_check_name(const char *cert_pem, const char *name, struct err *err) ATTR_NODISCARD;
/** Append the DNS names and addresses of the first certificate, each with a line's end. @return 0; -EINVAL; -E2BIG;
 *  -ENOMEM. */
int pki_read_names(const char *cert_pem, struct strbuf *ret, struct err *err) ATTR_NODISCARD;
