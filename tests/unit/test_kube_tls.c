/* SPDX-License-Identifier: Apache-2.0 */
/* The client against a real TLS server: authorities, names, client certificates from kubeconfig and from a plugin. */
#include "base/io.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "http_server/http_server.h"
#include "kube/kube_client.h"
#include "kube/kubeconfig.h"
#include "pki/pki.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/memtamer-kube-tls-XXXXXX";
static char script[128], ca_file[128];

static void handle(void *context, const struct http_server_request *request, struct http_server_response *response)
{
	(void)context;
	(void)request;
	strbuf_adds(&response->body, "{\"kind\":\"Version\"}");
}

static const struct http_server_route routes[] = {{"GET", "/version", 0, handle}, {NULL, NULL, 0, NULL}};

struct world {
	struct pki_pair ca, other_ca, server_pair, client_pair, other_client_pair;
	struct http_server *server;
	char url[64];
};

static void make_leaf(const struct pki_pair *ca, enum pki_usage usage, const char *name, struct pki_pair *ret)
{
	const char *const names[] = {name, NULL};
	const struct pki_leaf leaf = {.usage = usage,
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
						  .bodies_total_bytes = MIB,
						  .routes = routes};
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_ca("ca", time_now_ms(), TIME_DAY_MS, &world->ca, &err), 0);
	assert_int_equal(pki_make_ca("other", time_now_ms(), TIME_DAY_MS, &world->other_ca, &err), 0);
	make_leaf(&world->ca, PKI_SERVER, "kubernetes.default.svc", &world->server_pair);
	make_leaf(&world->ca, PKI_CLIENT, "memtamer", &world->client_pair);
	make_leaf(&world->other_ca, PKI_CLIENT, "memtamer", &world->other_client_pair);
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
	pki_pair_release(&world->client_pair);
	pki_pair_release(&world->other_client_pair);
	free(world);
	unlink(script);
	unlink(ca_file);
	return rmdir(folder);
}

static void serve(struct world *world, bool wants_client)
{
	struct err err = ERR_INIT;

	assert_int_equal(http_server_set_credentials(world->server, world->server_pair.cert_pem,
						     world->server_pair.key_pem,
						     wants_client ? world->ca.cert_pem : NULL, NULL, &err),
			 0);
}

static int get(const struct kubeconfig *config, struct err *err)
{
	const struct kube_request request = {.raw_path = "/version"};
	struct kube_client *client = NULL;
	int r;

	assert_int_equal(kube_client_new(config, NULL, &client, err), 0);
	r = kube_client_call(client, &request, NULL, err);
	kube_client_free(client);
	return r;
}

static void test_authority_and_name(void **state)
{
	struct world *world = *state;
	const char *name = "kubernetes.default.svc", *ca = world->ca.cert_pem, *other = world->other_ca.cert_pem;
	const struct {
		const char *what;
		struct kubeconfig config;
		int code;
	} rows[] = {
		{"CA as text", {.ca_pem = ca, .tls_server_name = name}, 0},
		{"CA as file", {.ca_file = ca_file, .tls_server_name = name}, 0},
		{"another CA", {.ca_pem = other, .tls_server_name = name}, -EPROTO},
		{"the system's CAs", {.tls_server_name = name}, -EPROTO},
		{"no such name", {.ca_pem = ca, .tls_server_name = "evil.default.svc"}, -EPROTO},
		{"the address is not in it", {.ca_pem = ca}, -EPROTO},
		{"not verified", {.insecure_skip_tls_verify = true}, 0},
		{"CA that is none", {.ca_pem = "-----BEGIN CERTIFICATE-----\n", .tls_server_name = name}, -EPROTO},
	};
	struct err err = ERR_INIT;

	serve(world, false);
	assert_int_equal(io_write_file_atomic(ca_file, ca, strlen(ca), 0600, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kubeconfig config = rows[i].config;

		test_row(rows[i].what);
		config.server = world->url;
		assert_int_equal(get(&config, &err), rows[i].code);
	}
}

static void test_client_certificate(void **state)
{
	struct world *world = *state;
	struct kubeconfig config = {
		.server = world->url,
		.ca_pem = world->ca.cert_pem,
		.tls_server_name = "kubernetes.default.svc",
		.client_cert_pem = world->client_pair.cert_pem,
		.client_key_pem = world->client_pair.key_pem,
	};
	struct err err = ERR_INIT;

	serve(world, true);
	assert_int_equal(get(&config, &err), 0);
	config.client_cert_pem = world->other_client_pair.cert_pem;
	config.client_key_pem = world->other_client_pair.key_pem;
	assert_true(get(&config, &err) < 0);
	config.client_cert_pem = config.client_key_pem = NULL;
	assert_true(get(&config, &err) < 0);
}

static void test_certificate_of_a_plugin(void **state)
{
	struct world *world = *state;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	const struct kube_exec_config exec = {.api_version = "client.authentication.k8s.io/v1beta1", .command = script};
	struct kubeconfig config = {
		.server = world->url,
		.ca_pem = world->ca.cert_pem,
		.tls_server_name = "kubernetes.default.svc",
		.exec = &exec,
	};
	struct err err = ERR_INIT;
	const char *const args[] = {NULL}, *const env[] = {NULL};
	struct kube_exec_config own = exec;

	own.args = args;
	own.env = env;
	config.exec = &own;
	strbuf_adds(&text, "#!/bin/sh\ncat <<'END'\n{\"kind\":\"ExecCredential\",\"apiVersion\":"
			   "\"client.authentication.k8s.io/v1beta1\",\"status\":{\"clientCertificateData\":");
	strbuf_add_json_string(&text, world->client_pair.cert_pem);
	strbuf_adds(&text, ",\"clientKeyData\":");
	strbuf_add_json_string(&text, world->client_pair.key_pem);
	strbuf_adds(&text, "}}\nEND\n");
	assert_int_equal(io_write_file_atomic(script, strbuf_text(&text), text.len, 0755, &err), 0);
	serve(world, true);
	assert_int_equal(get(&config, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_authority_and_name),
		cmocka_unit_test(test_client_certificate),
		cmocka_unit_test(test_certificate_of_a_plugin),
	};

	if (!mkdtemp(folder))
		return 1;
	snprintf(script, sizeof(script), "%s/plugin", folder);
	snprintf(ca_file, sizeof(ca_file), "%s/ca.crt", folder);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
