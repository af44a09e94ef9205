/* SPDX-License-Identifier: Apache-2.0 */
#include "pki/pki_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SERIAL_BITS 127 /* 16 bytes; the first bit is the sign */

/* Sets the first error of OpenSSL's queue, and empties the queue. */
int pki_fail(struct err *err, int code, const char *what)
{
	char text[200] = "";
	unsigned long first = ERR_get_error();

	if (first)
		ERR_error_string_n(first, text, sizeof(text));
	ERR_clear_error();
	return err_set(err, code, "%s%s%s", what, text[0] ? ": " : "", text);
}

int pki_pair_copy(const char *cert_pem, const char *key_pem, struct pki_pair *ret, struct err *err)
{
	struct pki_pair copy = {strdup(cert_pem), strdup(key_pem)};

	if (!copy.cert_pem || !copy.key_pem) {
		pki_pair_release(&copy);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = copy;
	return 0;
}

void pki_pair_release(struct pki_pair *self)
{
	free(self->cert_pem);
	if (self->key_pem)
		OPENSSL_cleanse(self->key_pem, strlen(self->key_pem));
	free(self->key_pem);
	*self = (struct pki_pair)PKI_PAIR_INIT;
}

static char *bio_text(BIO *bio)
{
	char *bytes = NULL;
	long n = BIO_get_mem_data(bio, &bytes);

	return n > 0 ? strndup(bytes, (size_t)n) : NULL;
}

char *pki_cert_to_pem(X509 *cert)
{
	CLEANUP(pki_bio_freep) BIO *bio = BIO_new(BIO_s_mem());

	return bio && PEM_write_bio_X509(bio, cert) ? bio_text(bio) : NULL;
}

static char *key_to_pem(EVP_PKEY *key)
{
	CLEANUP(pki_bio_freep) BIO *bio = BIO_new(BIO_s_secmem());

	return bio && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) ? bio_text(bio) : NULL;
}

/* Never ask for a passphrase. */
static int no_passphrase(char *buf, int size, int is_writing, void *context)
{
	(void)buf, (void)size, (void)is_writing, (void)context;
	return -1;
}

int pki_parse_cert(const char *pem, X509 **ret, struct err *err)
{
	CLEANUP(pki_bio_freep) BIO *bio = BIO_new_mem_buf(pem, -1);

	*ret = bio ? PEM_read_bio_X509(bio, NULL, no_passphrase, NULL) : NULL;
	return *ret ? 0 : pki_fail(err, -EINVAL, "no certificate in PEM");
}

int pki_parse_key(const char *pem, EVP_PKEY **ret, struct err *err)
{
	CLEANUP(pki_bio_freep) BIO *bio = BIO_new_mem_buf(pem, -1);

	*ret = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
	return *ret ? 0 : pki_fail(err, -EINVAL, "no private key in PEM");
}

/* A random serial number, positive and of full length. */
static bool set_serial(X509 *cert)
{
	BIGNUM *number = BN_new();
	bool is_set = number && BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) &&
		      BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));

	BN_free(number);
	return is_set;
}

int pki_time_to_ms(const ASN1_TIME *time, int64_t *ret_ms)
{
	struct tm tm;

	if (!ASN1_TIME_to_tm(time, &tm))
		return -EINVAL;
	*ret_ms = (int64_t)timegm(&tm) * 1000;
	return 0;
}

static bool set_times(X509 *cert, int64_t from_ms, int64_t until_ms)
{
	return ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)(from_ms / 1000)) &&
	       ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)(until_ms / 1000));
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool is_added;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	is_added = extension && X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
	return is_added;
}

bool pki_is_ip(const char *name)
{
	unsigned char address[16];

	return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

bool pki_has_name(X509 *cert, const char *name)
{
	/* the common name is not checked, because current clients ignore it */
	int r = pki_is_ip(name) ? X509_check_ip_asc(cert, name, 0)
				: X509_check_host(cert, name, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL);

	ERR_clear_error();
	return r == 1;
}

static bool is_valid_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*:");

	return n > 0 && n <= 253 && name[n] == '\0' && (pki_is_ip(name) || !strchr(name, ':'));
}

static bool add_name(GENERAL_NAMES *names, const char *text)
{
	int type = pki_is_ip(text) ? GEN_IPADD : GEN_DNS;
	GENERAL_NAME *name = a2i_GENERAL_NAME(NULL, NULL, NULL, type, text, 0);

	if (name && sk_GENERAL_NAME_push(names, name))
		return true;
	GENERAL_NAME_free(name);
	return false;
}

static void names_freep(GENERAL_NAMES **names)
{
	GENERAL_NAMES_free(*names);
}

static int add_names(X509 *cert, const struct pki_leaf *leaf, struct err *err)
{
	CLEANUP(pki_cert_freep) X509 *other = NULL;
	CLEANUP(names_freep) GENERAL_NAMES *all = NULL;
	int r = leaf->names_of ? pki_parse_cert(leaf->names_of, &other, err) : 0;

	if (r)
		return r;
	if (other)
		all = X509_get_ext_d2i(other, NID_subject_alt_name, NULL, NULL);
	if (!all)
		all = sk_GENERAL_NAME_new_null();
	for (size_t i = 0; all && leaf->names && leaf->names[i]; i++) {
		if (!is_valid_name(leaf->names[i]))
			return err_set(err, -EINVAL, "not a DNS name or IP address: %s", leaf->names[i]);
		if (!(other && pki_has_name(other, leaf->names[i])) && !add_name(all, leaf->names[i]))
			return pki_fail(err, -ENOMEM, "the names of the certificate");
	}
	if (!all || (sk_GENERAL_NAME_num(all) && X509_add1_ext_i2d(cert, NID_subject_alt_name, all, 0, 0) != 1))
		return pki_fail(err, -ENOMEM, "the names of the certificate");
	return 0;
}

static bool set_subject(X509 *cert, const char *common_name)
{
	const unsigned char *text = (const unsigned char *)common_name;

	return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1;
}

static X509 *new_cert(EVP_PKEY *key, const char *common_name, int64_t from_ms, int64_t until_ms)
{
	X509 *cert = X509_new();

	if (cert && X509_set_version(cert, X509_VERSION_3) && set_serial(cert) && set_times(cert, from_ms, until_ms) &&
	    set_subject(cert, common_name) && X509_set_pubkey(cert, key))
		return cert;
	X509_free(cert);
	return NULL;
}

static int finish(X509 *cert, EVP_PKEY *key, struct pki_pair *ret, struct err *err)
{
	ret->cert_pem = pki_cert_to_pem(cert);
	ret->key_pem = key_to_pem(key);
	if (ret->cert_pem && ret->key_pem)
		return 0;
	pki_pair_release(ret);
	return pki_fail(err, -ENOMEM, "cannot write PEM");
}

int pki_make_ca(const char *common_name, int64_t now_ms, int64_t validity_ms, struct pki_pair *ret, struct err *err)
{
	CLEANUP(pki_key_freep) EVP_PKEY *key = EVP_EC_gen("P-256");
	CLEANUP(pki_cert_freep) X509 *cert = NULL;

	if (!key)
		return pki_fail(err, -EIO, "cannot make a key");
	cert = new_cert(key, common_name, now_ms - PKI_BACKDATE_MS, now_ms + validity_ms);
	if (!cert || !X509_set_issuer_name(cert, X509_get_subject_name(cert)) ||
	    !add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
	    !add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") ||
	    !add_extension(cert, cert, NID_subject_key_identifier, "hash") || !X509_sign(cert, key, EVP_sha256()))
		return pki_fail(err, -EIO, "cannot make a CA certificate");
	return finish(cert, key, ret, err);
}

static int fill_leaf(X509 *cert, X509 *ca, EVP_PKEY *ca_key, const struct pki_leaf *leaf, struct err *err)
{
	const char *usage = leaf->usage == PKI_SERVER ? "serverAuth" : "clientAuth";
	int r = add_names(cert, leaf, err);

	if (r)
		return r;
	if (!X509_set_issuer_name(cert, X509_get_subject_name(ca)) ||
	    !add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") ||
	    !add_extension(cert, ca, NID_key_usage, "critical,digitalSignature") ||
	    !add_extension(cert, ca, NID_ext_key_usage, usage) ||
	    !add_extension(cert, ca, NID_subject_key_identifier, "hash") ||
	    !add_extension(cert, ca, NID_authority_key_identifier, "keyid:always") ||
	    !X509_sign(cert, ca_key, EVP_sha256()))
		return pki_fail(err, -EIO, "cannot make a certificate");
	return 0;
}

int pki_make_leaf(const struct pki_pair *ca, const struct pki_leaf *leaf, struct pki_pair *ret, struct err *err)
{
	CLEANUP(pki_key_freep) EVP_PKEY *ca_key = NULL;
	CLEANUP(pki_key_freep) EVP_PKEY *key = NULL;
	CLEANUP(pki_cert_freep) X509 *ca_cert = NULL;
	CLEANUP(pki_cert_freep) X509 *cert = NULL;
	int64_t until_ms = leaf->now_ms + leaf->validity_ms, ca_until_ms;
	int r = pki_parse_cert(ca->cert_pem, &ca_cert, err);

	if (!r)
		r = pki_parse_key(ca->key_pem, &ca_key, err);
	if (r)
		return r;
	if (pki_time_to_ms(X509_get0_notAfter(ca_cert), &ca_until_ms))
		return err_set(err, -EINVAL, "the CA's end cannot be read");
	key = EVP_EC_gen("P-256");
	if (!key)
		return pki_fail(err, -EIO, "cannot make a key");
	cert = new_cert(key, leaf->common_name, leaf->now_ms - PKI_BACKDATE_MS, MIN(until_ms, ca_until_ms));
	if (!cert)
		return pki_fail(err, -EIO, "cannot make a certificate");
	r = fill_leaf(cert, ca_cert, ca_key, leaf, err);
	return r ? r : finish(cert, key, ret, err);
}

int pki_read_validity(const char *cert_pem, int64_t *ret_from_ms, int64_t *ret_until_ms, struct err *err)
{
	CLEANUP(pki_cert_freep) X509 *cert = NULL;
	int64_t from_ms, until_ms;
	int r = pki_parse_cert(cert_pem, &cert, err);

	if (r)
		return r;
	if (pki_time_to_ms(X509_get0_notBefore(cert), &from_ms) || pki_time_to_ms(X509_get0_notAfter(cert), &until_ms))
		return err_set(err, -EINVAL, "the certificate's times cannot be read");
	*ret_from_ms = from_ms;
	*ret_until_ms = until_ms;
	return 0;
}

int pki_check_pair(const char *cert_pem, const char *key_pem, struct err *err)
{
	CLEANUP(pki_cert_freep) X509 *cert = NULL;
	CLEANUP(pki_key_freep) EVP_PKEY *key = NULL;
	int r = pki_parse_cert(cert_pem, &cert, err);

	if (!r)
		r = pki_parse_key(key_pem, &key, err);
	if (r)
		return r;
	return X509_check_private_key(cert, key) == 1 ? 0 : pki_fail(err, -EINVAL, "certificate and key do not match");
}
