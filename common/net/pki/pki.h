/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pki: certificates of our own (ECDSA P-256) as PEM in memory, and reading other people's. The only place that calls
 * OpenSSL. The clock is passed in. Certificates are valid from PKI_BACKDATE_MS before `now`, because clocks of a
 * cluster differ. Threads: pure functions, any thread. */
#include "base/err.h"

#include <stdint.h>

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
