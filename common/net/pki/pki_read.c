/* SPDX-License-Identifier: Apache-2.0 */
/* Reads certificates made by others: bundles, the issuer of a leaf, and whether a bundle suffices to trust a
 * certificate. Validity periods are returned, never checked, because the caller knows whose clock counts. */
#include "base/limits.h"
#include "pki/pki_internal.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PKI_ID_BYTES == 32, "ids are SHA-256");

static void stack_freep(STACK_OF(X509) * *stack)
{
	sk_X509_pop_free(*stack, X509_free);
}

void pki_bundle_release(struct pki_bundle *self)
{
	for (size_t i = 0; i < self->n; i++)
		free(self->certs[i].pem);
	free(self->certs);
	*self = (struct pki_bundle)PKI_BUNDLE_INIT;
}

/* Reads the next block of PEM; `ret` is NULL unless it is a readable certificate. @return 0; 1 no more; -ENOMEM. */
static int next_block(BIO *bio, X509 **ret)
{
	char *name = NULL, *header = NULL;
	unsigned char *bytes = NULL;
	const unsigned char *at;
	unsigned long code;
	long n = 0;

	*ret = NULL;
	ERR_clear_error();
	if (!PEM_read_bio(bio, &name, &header, &bytes, &n)) {
		code = ERR_peek_last_error();
		ERR_clear_error();
		if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE)
			return -ENOMEM;
		return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
	}
	at = bytes;
	if (strcmp(name, PEM_STRING_X509) == 0)
		*ret = d2i_X509(NULL, &at, n);
	ERR_clear_error();
	OPENSSL_free(name);
	OPENSSL_free(header);
	OPENSSL_free(bytes);
	return 0;
}

static int add_cert(struct pki_bundle *self, X509 *cert, struct err *err)
{
	struct pki_cert *more = realloc(self->certs, (self->n + 1) * sizeof(*more)), *one;
	X509_NAME *subject = X509_get_subject_name(cert);
	unsigned int id_bytes = 0;

	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	self->certs = more;
	one = &more[self->n];
	*one = (struct pki_cert){.is_ca = X509_check_ca(cert) != 0};
	if (pki_time_to_ms(X509_get0_notBefore(cert), &one->from_ms) ||
	    pki_time_to_ms(X509_get0_notAfter(cert), &one->until_ms) ||
	    !X509_digest(cert, EVP_sha256(), one->id, &id_bytes))
		return err_set(err, -EINVAL, "a certificate cannot be read");
	if (X509_NAME_get_text_by_NID(subject, NID_commonName, one->common_name, sizeof(one->common_name)) < 0)
		one->common_name[0] = '\0';
	one->pem = pki_cert_to_pem(cert);
	if (!one->pem)
		return err_set(err, -ENOMEM, "out of memory");
	self->n++;
	return 0;
}

static bool has_cert(const struct pki_bundle *self, X509 *cert)
{
	unsigned char id[PKI_ID_BYTES];
	unsigned int n = 0;

	if (!X509_digest(cert, EVP_sha256(), id, &n))
		return false;
	return pki_bundle_find(self, id) < self->n;
}

size_t pki_bundle_find(const struct pki_bundle *self, const unsigned char id[PKI_ID_BYTES])
{
	size_t i = 0;

	while (i < self->n && memcmp(self->certs[i].id, id, PKI_ID_BYTES) != 0)
		i++;
	return i;
}

int pki_read_bundle(const char *pem, size_t n, size_t max_certs, struct pki_bundle *ret, struct err *err)
{
	CLEANUP(pki_bundle_release) struct pki_bundle bundle = PKI_BUNDLE_INIT;
	CLEANUP(pki_bio_freep) BIO *bio = NULL;
	int r;

	if (n > LIMIT_KUBE_OBJECT_BYTES)
		return err_set(err, -E2BIG, "certificates of more than %zu bytes", LIMIT_KUBE_OBJECT_BYTES);
	bio = BIO_new_mem_buf(n ? pem : "", (int)n);
	if (!bio)
		return err_set(err, -ENOMEM, "out of memory");
	for (;;) {
		CLEANUP(pki_cert_freep) X509 *cert = NULL;
		size_t left = (size_t)BIO_ctrl_pending(bio);

		r = next_block(bio, &cert);
		if (r < 0)
			return err_set(err, r, "out of memory");
		if (r)
			break;
		if (!cert) {
			bundle.has_garbage = true;
			if (BIO_ctrl_pending(bio) == left)
				break; /* a block that cannot be skipped */
			continue;
		}
		if (has_cert(&bundle, cert))
			continue;
		if (bundle.n == max_certs)
			return err_set(err, -E2BIG, "more than %zu certificates", max_certs);
		r = add_cert(&bundle, cert, err);
		if (r == -EINVAL)
			bundle.has_garbage = true;
		else if (r)
			return r;
	}
	*ret = bundle;
	bundle = (struct pki_bundle)PKI_BUNDLE_INIT;
	return 0;
}

size_t pki_find_issuer(const char *cert_pem, const struct pki_bundle *bundle)
{
	CLEANUP(pki_cert_freep) X509 *leaf = NULL;
	size_t i = pki_parse_cert(cert_pem, &leaf, NULL) ? bundle->n : 0;

	for (; i < bundle->n; i++) {
		CLEANUP(pki_cert_freep) X509 *ca = NULL;

		if (!pki_parse_cert(bundle->certs[i].pem, &ca, NULL) && X509_check_issued(ca, leaf) == X509_V_OK &&
		    X509_verify(leaf, X509_get0_pubkey(ca)) == 1)
			break;
	}
	ERR_clear_error();
	return i;
}

size_t pki_find_key(const char *key_pem, const struct pki_bundle *bundle)
{
	size_t i = 0;

	while (i < bundle->n && pki_check_pair(bundle->certs[i].pem, key_pem, NULL))
		i++;
	return i;
}

static int parse_chain(const char *pem, STACK_OF(X509) * chain, struct err *err)
{
	CLEANUP(pki_bio_freep) BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *cert = NULL;
	int r;

	if (!bio)
		return err_set(err, -ENOMEM, "out of memory");
	while (!(r = next_block(bio, &cert)) && cert)
		if (sk_X509_num(chain) >= LIMIT_CA_BUNDLE_CERTS || !sk_X509_push(chain, cert)) {
			X509_free(cert);
			return err_set(err, -EINVAL, "a chain that is too long");
		}
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

static int verify_with(X509_STORE *store, X509_STORE_CTX *context, const char *chain_pem,
		       const struct pki_bundle *bundle, struct err *err)
{
	CLEANUP(stack_freep) STACK_OF(X509) *chain = sk_X509_new_null();
	int r = chain ? parse_chain(chain_pem, chain, err) : err_set(err, -ENOMEM, "out of memory");

	if (!r && sk_X509_num(chain) == 0)
		r = err_set(err, -EINVAL, "no certificate in PEM");
	for (size_t i = 0; i < bundle->n && !r; i++) {
		CLEANUP(pki_cert_freep) X509 *ca = NULL;

		r = pki_parse_cert(bundle->certs[i].pem, &ca, err);
		if (!r && !X509_STORE_add_cert(store, ca))
			r = err_set(err, -ENOMEM, "out of memory");
	}
	if (!r && !X509_STORE_CTX_init(context, store, sk_X509_value(chain, 0), chain))
		r = err_set(err, -ENOMEM, "out of memory");
	if (r)
		return r;
	/* as in Go, each certificate of the bundle is an anchor, whoever signed it */
	X509_STORE_CTX_set_flags(context, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_NO_CHECK_TIME);
	X509_STORE_CTX_set_purpose(context, X509_PURPOSE_SSL_SERVER);
	if (X509_verify_cert(context) != 1)
		r = err_set(err, PKI_NOT_TRUSTED, "%s",
			    X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
	X509_STORE_CTX_cleanup(context); /* the context refers to `chain` */
	return r;
}

int pki_verify(const char *chain_pem, const struct pki_bundle *bundle, struct err *err)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	int r = store && context ? verify_with(store, context, chain_pem, bundle, err)
				 : err_set(err, -ENOMEM, "out of memory");

	X509_STORE_CTX_free(context);
	X509_STORE_free(store);
	ERR_clear_error();
	return r;
}

int pki_check_name(const char *cert_pem, const char *name, struct err *err)
{
	CLEANUP(pki_cert_freep) X509 *cert = NULL;
	int r = pki_parse_cert(cert_pem, &cert, err);

	if (!r && !pki_has_name(cert, name))
		r = err_set(err, PKI_NOT_TRUSTED, "the certificate is not for %s", name);
	return r;
}
