/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pki_internal: what pki.c (makes) and pki_read.c (reads) share: ends of OpenSSL's objects, for CLEANUP. */
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
