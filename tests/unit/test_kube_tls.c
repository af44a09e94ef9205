/* SPDX-License-Identifier: Apache-2.0 */
/* The client against a real TLS server: authorities and names. */
#include "base/io.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "http_server/http_server.h"
#include "kube/kube_client.h"
#include "kube/kube_server.h"
#include "pki/pki.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/memtamer-kube-tls-XXXXXX";
static char ca_file[128];

static void handle(void *context, const struct http_server_request *request, struct http_server_response *response)
{
	(void)context;
	(void)request;
	strbuf_adds(&response->body, "{\"kind\":\"Version\"}");
}

static const struct http_server_route routes[] = {{"GET", "/version", 0, handle}, {NULL, NULL, 0, NULL}};

struct world {
	struct pki_pair ca, other_ca, server_pair, named_pair;
	struct http_server *server;
	char url[64];
};

static void make_leaf(const struct pki_pair *ca, const char *name, struct pki_pair *ret)
{
	const char *const names[] = {name, NULL};
	const struct pki_leaf leaf = {.usage = PKI_SERVER,
				      .common_name = name,
				      .names = names,
				      .now_ms = time_now_ms(),
				      .validity_ms = TIME_DAY_MS};
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_leaf(ca, &leaf, ret, &err), 0);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	const struct http_server_config config = {.listen = "127.0.0.1:0",
						  .threads = 2,
						  .connections = 64,
						  .idle_timeout_ms = 120000,
						  .request_timeout_ms = 60000,
						  .buffers_total_bytes = MIB,
						  .routes = routes};
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_ca("ca", time_now_ms(), TIME_DAY_MS, &world->ca, &err), 0);
	assert_int_equal(pki_make_ca("other", time_now_ms(), TIME_DAY_MS, &world->other_ca, &err), 0);
	make_leaf(&world->ca, "127.0.0.1", &world->server_pair);
	make_leaf(&world->ca, "kubernetes.default.svc", &world->named_pair);
	assert_int_equal(http_server_start(&config, &world->server, &err), 0);
	snprintf(world->url, sizeof(world->url), "https://127.0.0.1:%u", http_server_port(world->server));
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	http_server_free(world->server);
	pki_pair_release(&world->ca);
	pki_pair_release(&world->other_ca);
	pki_pair_release(&world->server_pair);
	pki_pair_release(&world->named_pair);
	free(world);
	unlink(ca_file);
	return rmdir(folder);
}

static void serve(struct world *world, const struct pki_pair *pair)
{
	struct err err = ERR_INIT;

	assert_int_equal(http_server_set_credentials(world->server, pair->cert_pem, pair->key_pem, NULL, NULL, &err),
			 0);
}

static int get(const struct kube_server *server, struct err *err)
{
	const struct kube_request request = {.raw_path = "/version"};
	struct kube_client *client = NULL;
	int r;

	assert_int_equal(kube_client_new(server, NULL, &client, err), 0);
	r = kube_client_call(client, &request, NULL, err);
	kube_client_free(client);
	return r;
}

static void test_authority_and_name(void **state)
{
	struct world *world = *state;
	const struct {
		const char *what;
		const char *ca; /* NULL: the system's */
		const struct pki_pair *pair;
		int code;
	} rows[] = {
		{"its CA", world->ca.cert_pem, &world->server_pair, 0},
		{"another CA", world->other_ca.cert_pem, &world->server_pair, -EPROTO},
		{"the system's CAs", NULL, &world->server_pair, -EPROTO},
		{"the address is not in it", world->ca.cert_pem, &world->named_pair, -EPROTO},
		{"a CA that is none", "-----BEGIN CERTIFICATE-----\n", &world->server_pair, -EPROTO},
	};
	struct err err = ERR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct kube_server server = {.url = world->url, .ca_file = rows[i].ca ? ca_file : NULL};

		test_row(rows[i].what);
		serve(world, rows[i].pair);
		if (rows[i].ca)
			assert_int_equal(io_write_file_atomic(ca_file, rows[i].ca, strlen(rows[i].ca), 0600, &err), 0);
		assert_int_equal(get(&server, &err), rows[i].code);
	}
}

/* The kubelet replaces the file, and the client goes on. */
static void test_a_new_authority_in_the_same_file(void **state)
{
	struct world *world = *state;
	const struct kube_server server = {.url = world->url, .ca_file = ca_file};
	const char *cas[] = {world->other_ca.cert_pem, world->ca.cert_pem};
	const struct kube_request request = {.raw_path = "/version"};
	struct kube_client *client = NULL;
	struct err err = ERR_INIT;

	serve(world, &world->server_pair);
	assert_int_equal(kube_client_new(&server, NULL, &client, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(cas); i++) {
		assert_int_equal(io_write_file_atomic(ca_file, cas[i], strlen(cas[i]), 0600, &err), 0);
		assert_int_equal(kube_client_call(client, &request, NULL, &err), i ? 0 : -EPROTO);
	}
	kube_client_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_authority_and_name),
		cmocka_unit_test(test_a_new_authority_in_the_same_file),
	};

	if (!mkdtemp(folder))
		return 1;
	snprintf(ca_file, sizeof(ca_file), "%s/ca.crt", folder);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
