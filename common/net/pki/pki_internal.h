/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pki_internal: conversions between OpenSSL's objects and text, and functions that free them; shared by pki.c and
 * pki_read.c. */
#include "pki/pki.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

static inline void pki_cert_freep(X509 **cert)
{
	X509_free(*cert);
}

static inline void pki_key_freep(EVP_PKEY **key)
{
	EVP_PKEY_free(*key);
}

static inline void pki_bio_freep(BIO **bio)
{
	BIO_free_all(*bio);
}

/** Reports the first error of OpenSSL's queue, and empties the queue. */
int pki_fail(struct err *err, int code, const char *what);
/** The first certificate of `pem`. @return 0; -EINVAL. */
int pki_parse_cert(const char *pem, X509 **ret, struct err *err) ATTR_NODISCARD;
int pki_parse_key(const char *pem, EVP_PKEY **ret, struct err *err) ATTR_NODISCARD;
/** The caller frees the text. NULL: out of memory. */
char *pki_cert_to_pem(X509 *cert);
/** @return 0; -EINVAL. */
int pki_time_to_ms(const ASN1_TIME *time, int64_t *ret_ms) ATTR_NODISCARD;
bool pki_is_ip(const char *name);
/** Whether the certificate is valid for this DNS name or IP address. */
bool pki_has_name(X509 *cert, const char *name);
