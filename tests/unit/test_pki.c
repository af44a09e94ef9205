/* SPDX-License-Identifier: Apache-2.0 */
#include "pki/pki.h"
#include "support/test.h"

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#define DAY_MS ((int64_t)24 * 60 * 60 * 1000)
#define NOW_MS ((int64_t)1800000000 * 1000)

static X509 *parse(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	assert_non_null(cert);
	return cert;
}

static struct pki_pair make_ca(void)
{
	struct pki_pair ca = PKI_PAIR_INIT;
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_ca("test CA", NOW_MS, 10 * DAY_MS, &ca, &err), 0);
	return ca;
}

static struct pki_pair make_leaf(const struct pki_pair *ca, enum pki_usage usage, const char *const *names)
{
	const struct pki_leaf leaf = {
		.usage = usage, .common_name = "memtamer", .names = names, .now_ms = NOW_MS, .validity_ms = DAY_MS};
	struct pki_pair pair = PKI_PAIR_INIT;
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_leaf(ca, &leaf, &pair, &err), 0);
	return pair;
}

/* OpenSSL's own opinion of the chain, for a purpose and (when not NULL) a host or an address. */
static bool is_trusted(const struct pki_pair *ca, const struct pki_pair *leaf, int purpose, const char *host,
		       const char *ip)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	X509 *ca_cert = parse(ca->cert_pem), *cert = parse(leaf->cert_pem);
	X509_VERIFY_PARAM *param;
	bool is_good;

	X509_STORE_add_cert(store, ca_cert);
	X509_STORE_CTX_init(context, store, cert, NULL);
	param = X509_STORE_CTX_get0_param(context);
	X509_VERIFY_PARAM_set_time(param, (time_t)(NOW_MS / 1000));
	X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
	X509_STORE_CTX_set_purpose(context, purpose);
	if (host)
		X509_VERIFY_PARAM_set1_host(param, host, 0);
	if (ip)
		X509_VERIFY_PARAM_set1_ip_asc(param, ip);
	is_good = X509_verify_cert(context) == 1;
	X509_STORE_CTX_free(context);
	X509_STORE_free(store);
	X509_free(ca_cert);
	X509_free(cert);
	return is_good;
}

static void test_chain(void **state)
{
	(void)state;
	static const char *const names[] = {"memtamer.memtamer.svc", "127.0.0.1", "::1", NULL};
	static const struct {
		const char *name;
		int purpose;
		const char *host, *ip;
		bool is_trusted;
	} rows[] = {
		{"a server", X509_PURPOSE_SSL_SERVER, NULL, NULL, true},
		{"its DNS name", X509_PURPOSE_SSL_SERVER, "memtamer.memtamer.svc", NULL, true},
		{"another DNS name", X509_PURPOSE_SSL_SERVER, "other.memtamer.svc", NULL, false},
		{"its IPv4 address", X509_PURPOSE_SSL_SERVER, NULL, "127.0.0.1", true},
		{"its IPv6 address", X509_PURPOSE_SSL_SERVER, NULL, "::1", true},
		{"another address", X509_PURPOSE_SSL_SERVER, NULL, "127.0.0.2", false},
		{"not a client", X509_PURPOSE_SSL_CLIENT, NULL, NULL, false},
	};
	struct pki_pair ca = make_ca(), other_ca = make_ca(), leaf = make_leaf(&ca, PKI_SERVER, names);
	struct pki_pair client = make_leaf(&ca, PKI_CLIENT, NULL);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].name);
		assert_int_equal(is_trusted(&ca, &leaf, rows[i].purpose, rows[i].host, rows[i].ip), rows[i].is_trusted);
	}
	assert_true(is_trusted(&ca, &client, X509_PURPOSE_SSL_CLIENT, NULL, NULL));
	assert_false(is_trusted(&ca, &client, X509_PURPOSE_SSL_SERVER, NULL, NULL));
	assert_false(is_trusted(&other_ca, &leaf, X509_PURPOSE_SSL_SERVER, NULL, NULL));
	/* a leaf must not sign */
	assert_false(is_trusted(&leaf, &client, X509_PURPOSE_SSL_CLIENT, NULL, NULL));
	pki_pair_release(&ca);
	pki_pair_release(&other_ca);
	pki_pair_release(&leaf);
	pki_pair_release(&client);
}

static void test_validity(void **state)
{
	(void)state;
	struct pki_pair ca = make_ca(), leaf = make_leaf(&ca, PKI_SERVER, NULL), long_leaf = PKI_PAIR_INIT;
	const struct pki_leaf longer = {.common_name = "x", .now_ms = NOW_MS, .validity_ms = 100 * DAY_MS};
	struct err err = ERR_INIT;
	int64_t from_ms, until_ms;

	assert_int_equal(pki_read_validity(leaf.cert_pem, &from_ms, &until_ms, &err), 0);
	assert_int_equal(from_ms, NOW_MS - PKI_BACKDATE_MS);
	assert_int_equal(until_ms, NOW_MS + DAY_MS);
	/* never beyond its CA */
	assert_int_equal(pki_make_leaf(&ca, &longer, &long_leaf, &err), 0);
	assert_int_equal(pki_read_validity(long_leaf.cert_pem, &from_ms, &until_ms, &err), 0);
	assert_int_equal(until_ms, NOW_MS + 10 * DAY_MS);
	assert_int_equal(pki_read_validity("nonsense", &from_ms, &until_ms, &err), -EINVAL);
	assert_int_equal(pki_read_validity(ca.key_pem, &from_ms, &until_ms, &err), -EINVAL);
	pki_pair_release(&ca);
	pki_pair_release(&leaf);
	pki_pair_release(&long_leaf);
}

static void test_check_pair(void **state)
{
	(void)state;
	struct pki_pair ca = make_ca(), leaf = make_leaf(&ca, PKI_SERVER, NULL);
	struct err err = ERR_INIT;

	assert_int_equal(pki_check_pair(leaf.cert_pem, leaf.key_pem, &err), 0);
	assert_int_equal(pki_check_pair(leaf.cert_pem, ca.key_pem, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "do not match"));
	assert_int_equal(pki_check_pair("", leaf.key_pem, &err), -EINVAL);
	assert_int_equal(pki_check_pair(leaf.cert_pem, "", &err), -EINVAL);
	pki_pair_release(&ca);
	pki_pair_release(&leaf);
}

static void test_bad_names(void **state)
{
	(void)state;
	static const char *const bad[] = {"a,DNS:evil.example", "", "two words", "a:b", "otherName:1.2;UTF8:x"};
	struct pki_pair ca = make_ca();

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const char *const names[] = {bad[i], NULL};
		const struct pki_leaf leaf = {.common_name = "x", .names = names, .now_ms = NOW_MS};
		struct pki_pair pair = PKI_PAIR_INIT;
		struct err err = ERR_INIT;

		test_row(bad[i]);
		assert_int_equal(pki_make_leaf(&ca, &leaf, &pair, &err), -EINVAL);
		assert_null(pair.cert_pem);
	}
	pki_pair_release(&ca);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_validity),
		cmocka_unit_test(test_check_pair),
		cmocka_unit_test(test_bad_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
