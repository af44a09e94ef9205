/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates from files that change and of our own making, by an injected clock. */
#include "base/io.h"
#include "base/timefmt.h"
#include "pki/pki.h"
#include "serve/certificates.h"
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW_MS ((int64_t)1800000000 * 1000)

static const struct http_server_route no_routes[] = {{NULL, NULL, 0, NULL}};

struct fixture {
	struct http_server *server;
	struct certificates *certificates;
	char folder[40], cert[80], key[80];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct http_server_config config = {.listen = "127.0.0.1:0",
						  .threads = 1,
						  .connections = 8,
						  .idle_timeout_ms = 1000,
						  .request_timeout_ms = 1000,
						  .routes = no_routes};
	struct err err = ERR_INIT;

	assert_int_equal(http_server_start(&config, &f->server, &err), 0);
	f->certificates = certificates_new(f->server);
	snprintf(f->folder, sizeof(f->folder), "/tmp/memtamer-test-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->cert, sizeof(f->cert), "%s/tls.crt", f->folder);
	snprintf(f->key, sizeof(f->key), "%s/tls.key", f->folder);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	certificates_free(f->certificates);
	http_server_free(f->server);
	unlink(f->cert);
	unlink(f->key);
	rmdir(f->folder);
	free(f);
	return 0;
}

static void write_text(const char *path, const char *text)
{
	struct err err = ERR_INIT;

	assert_int_equal(io_write_file_atomic(path, text, strlen(text), 0600, &err), 0);
}

static struct pki_pair self_signed(int64_t validity_ms)
{
	struct pki_pair pair = PKI_PAIR_INIT;
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_ca("x", NOW_MS, validity_ms, &pair, &err), 0);
	return pair;
}

static void test_files(void **state)
{
	struct fixture *f = *state;
	const struct webhook_config config = {.cert_file = f->cert, .key_file = f->key};
	struct pki_pair one = self_signed(TIME_DAY_MS), two = self_signed(2 * TIME_DAY_MS);
	struct err err = ERR_INIT;

	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), -ENOENT);
	assert_string_equal(err.where, f->cert);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), 0); /* told once */
	assert_false(http_server_has_credentials(f->server));

	write_text(f->cert, one.cert_pem);
	write_text(f->key, one.key_pem);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), 0);
	assert_int_equal(certificates_expiry_ms(f->certificates), NOW_MS + TIME_DAY_MS);
	assert_null(certificates_own_ca(f->certificates));

	/* half of a new pair is there */
	write_text(f->cert, two.cert_pem);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), -EINVAL);
	assert_string_equal(err.where, f->cert);
	assert_non_null(strstr(err.msg, "do not match"));
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), 0);
	assert_int_equal(certificates_expiry_ms(f->certificates), NOW_MS + TIME_DAY_MS);
	write_text(f->key, two.key_pem);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	assert_int_equal(certificates_expiry_ms(f->certificates), NOW_MS + 2 * TIME_DAY_MS);

	certificates_forget(f->certificates);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	pki_pair_release(&one);
	pki_pair_release(&two);
}

static void test_client_ca_changes(void **state)
{
	struct fixture *f = *state;
	const char *const names[] = {"localhost", NULL};
	struct webhook_config config = {.server_names = names, .client_ca_file = f->cert};
	struct pki_pair one = self_signed(TIME_DAY_MS), two = self_signed(TIME_DAY_MS);
	struct err err = ERR_INIT;

	write_text(f->cert, one.cert_pem);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	write_text(f->cert, two.cert_pem);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	config.client_name = "apiserver";
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	write_text(f->cert, "no CA");
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), -EINVAL);
	pki_pair_release(&one);
	pki_pair_release(&two);
}

static void test_own_leaf_is_renewed(void **state)
{
	struct fixture *f = *state;
	const char *const names[] = {"localhost", "127.0.0.1", NULL};
	const struct webhook_config config = {.server_names = names};
	struct err err = ERR_INIT;
	char *ca;
	int64_t end_ms, third_ms;

	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	ca = strdup(certificates_own_ca(f->certificates));
	end_ms = certificates_expiry_ms(f->certificates);
	third_ms = (end_ms - NOW_MS) / 3;
	assert_true(third_ms > TIME_DAY_MS);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS + 2 * third_ms - 1, &err), 0);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS + 2 * third_ms, &err),
			 CERTIFICATES_LOADED);
	assert_int_equal(certificates_expiry_ms(f->certificates), NOW_MS + 5 * third_ms);
	/* clients go on trusting it */
	assert_string_equal(certificates_own_ca(f->certificates), ca);
	free(ca);
}

/* A client asks for the new name at once. */
static void test_own_leaf_has_new_names(void **state)
{
	struct fixture *f = *state;
	const char *const old_names[] = {"localhost", NULL}, *const new_names[] = {"localhost", "webhook.test", NULL};
	struct webhook_config config = {.server_names = old_names};
	struct err err = ERR_INIT;
	char *ca, *chain;

	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	ca = strdup(certificates_own_ca(f->certificates));
	chain = strdup(certificates_chain(f->certificates));
	config.server_names = new_names;
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	assert_string_not_equal(certificates_chain(f->certificates), chain);
	assert_string_equal(certificates_own_ca(f->certificates), ca);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), 0);
	free(ca);
	free(chain);
}

/* The own one answers probes until one is given; when none will be, it is what clients see. */
static void test_no_more_is_shared(void **state)
{
	struct fixture *f = *state;
	const char *const names[] = {"localhost", NULL};
	const struct webhook_config config = {.server_names = names};
	struct err err = ERR_INIT;

	certificates_share(f->certificates, true);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	assert_false(certificates_is_ready(f->certificates));
	certificates_share(f->certificates, false);
	assert_true(certificates_is_ready(f->certificates));
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), CERTIFICATES_LOADED);
	certificates_share(f->certificates, false);
	assert_int_equal(certificates_check(f->certificates, &config, NOW_MS, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_client_ca_changes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_own_leaf_is_renewed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_own_leaf_has_new_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_more_is_shared, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
