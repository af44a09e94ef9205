/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"
#include "base/limits.h"
#include "kube/base64.h"
#include "kube/kubeconfig.h"
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEM64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==" /* -----BEGIN CERTIFICATE-----\n */

/* A kubeconfig with one context, whose cluster and user are given. */
#define CONFIG(cluster, user)                                                                                          \
	"apiVersion: v1\nkind: Config\ncurrent-context: c\n"                                                           \
	"contexts:\n- name: c\n  context: {cluster: k, user: u, namespace: ml}\n"                                      \
	"clusters:\n- name: k\n  cluster: {" cluster "}\n"                                                             \
	"users:\n- name: u\n  user: {" user "}\n"
#define SERVER	     "server: 'https://api:6443'"
#define EXEC(fields) "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, " fields "}"

static char folder[] = "/tmp/memtamer-kubeconfig-XXXXXX";

static const char *write_file(const char *name, const char *text)
{
	static char paths[4][128];
	static size_t next;
	char *path = paths[next++ % ARRAY_LEN(paths)];
	struct err err = ERR_INIT;

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	assert_int_equal(io_write_file_atomic(path, text, strlen(text), 0600, &err), 0);
	return path;
}

static int load_text(const char *text, const char *context, struct kubeconfig **ret, struct err *err)
{
	const struct kubeconfig_source source = {.path = write_file("config", text), .context = context};

	return kubeconfig_load(&source, ret, err);
}

static void test_what_is_read(void **state)
{
	(void)state;
	CLEANUP(kubeconfig_freep) struct kubeconfig *config = NULL;
	struct err err = ERR_INIT;
	char path[128];

	assert_int_equal(load_text(CONFIG(SERVER ", certificate-authority: pki/ca.crt, tls-server-name: kube, "
						 "proxy-url: 'http://proxy:3128'",
					  "client-certificate-data: " PEM64 ", client-key: /etc/key.pem"),
				   NULL, &config, &err),
			 0);
	assert_string_equal(config->context, "c");
	assert_string_equal(config->server, "https://api:6443");
	assert_string_equal(config->namespace, "ml");
	assert_string_equal(config->tls_server_name, "kube");
	assert_string_equal(config->proxy_url, "http://proxy:3128");
	snprintf(path, sizeof(path), "%s/pki/ca.crt", folder);
	assert_string_equal(config->ca_file, path);
	assert_string_equal(config->client_cert_pem, "-----BEGIN CERTIFICATE-----\n");
	assert_string_equal(config->client_key_file, "/etc/key.pem");
	assert_false(config->insecure_skip_tls_verify);
	assert_null(config->exec);
}

static void test_plugin_is_read(void **state)
{
	(void)state;
	CLEANUP(kubeconfig_freep) struct kubeconfig *config = NULL;
	struct err err = ERR_INIT;
	char path[128];

	assert_int_equal(load_text(CONFIG(SERVER ", extensions: [{name: client.authentication.k8s.io/exec, "
						 "extension: {audience: x}}]",
					  EXEC("command: bin/login, args: [get, --id, 12], installHint: 'see docs', "
					       "provideClusterInfo: true, env: [{name: A, value: b}]")),
				   NULL, &config, &err),
			 0);
	snprintf(path, sizeof(path), "%s/bin/login", folder);
	assert_string_equal(config->exec->command, path);
	assert_int_equal(config->exec->n_args, 3);
	assert_string_equal(config->exec->args[2], "12");
	assert_null(config->exec->args[3]);
	assert_string_equal(config->exec->env[0], "A=b");
	assert_string_equal(config->exec->install_hint, "see docs");
	assert_string_equal(config->exec->cluster_config_json, "{\"audience\":\"x\"}");
}

static void test_token_goes_before_plugin(void **state)
{
	(void)state;
	CLEANUP(kubeconfig_freep) struct kubeconfig *config = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(load_text(CONFIG(SERVER, "token: abc, " EXEC("command: login")), NULL, &config, &err), 0);
	assert_string_equal(config->token, "abc");
	assert_null(config->exec);
}

static void test_what_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text, *context, *message;
		size_t line, column;
	} rows[] = {
		{"no kubeconfig", "- a\n", NULL, "this is no kubeconfig", 1, 1},
		{"two documents", "a: b\n---\nc: d\n", NULL, "a kubeconfig is one document", 3, 1},
		{"YAML error", "a: [\n", NULL, NULL, 2, 1},
		{"no context chosen", "kind: Config\n", NULL, "no context is chosen", 0, 0},
		{"unknown context", CONFIG(SERVER, ""), "other", "there is no context \"other\"", 0, 0},
		{"unknown current context", "current-context: x\n", NULL, "there is no context \"x\"", 1, 18},
		{"no cluster", "current-context: c\ncontexts: [{name: c, context: {user: u}}]\n", NULL,
		 "there is no cluster \"\"", 2, 31},
		{"unknown user",
		 "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: v}}]\n"
		 "clusters: [{name: k, cluster: {" SERVER "}}]\n",
		 NULL, "there is no user \"v\"", 2, 31},
		{"contexts no list", "current-context: c\ncontexts: {}\n", NULL, "contexts must be a list", 2, 11},
		{"no server", CONFIG("", ""), NULL, "the cluster has no server", 9, 12},
		{"server without scheme", CONFIG("server: 'api:6443'", ""), NULL, "server must begin with https://", 9,
		 21},
		{"insecure with CA", CONFIG(SERVER ", insecure-skip-tls-verify: true, certificate-authority: x", ""),
		 NULL, "insecure-skip-tls-verify and a certificate authority", 9, 67},
		{"bool as text", CONFIG(SERVER ", insecure-skip-tls-verify: 'true'", ""), NULL,
		 "insecure-skip-tls-verify must be true or false", 9, 67},
		{"CA no base64", CONFIG(SERVER ", certificate-authority-data: '*'", ""), NULL,
		 "certificate-authority-data is not base64", 9, 69},
		{"CA no PEM", CONFIG(SERVER ", certificate-authority-data: aGVsbG8=", ""), NULL,
		 "certificate-authority-data is base64, but not of PEM", 9, 69},
		{"number as token", CONFIG(SERVER, "token: 12345"), NULL, "token must be a string (put it in quotes)",
		 12, 17},
		{"token with a line break", CONFIG(SERVER, "token: \"a\\nb\""), NULL, "token holds a space", 12, 17},
		{"two methods", CONFIG(SERVER, "token: a, username: b"), NULL, "both a token and a username", 12, 9},
		{"password alone", CONFIG(SERVER, "password: b"), NULL, "a password without a username", 12, 9},
		{"certificate without key", CONFIG(SERVER, "client-certificate: a"), NULL,
		 "client-certificate and client-key belong together", 12, 9},
		{"auth-provider", CONFIG(SERVER, "auth-provider: {name: gcp}"), NULL,
		 "auth-provider gcp is no longer supported", 12, 25},
		{"impersonation", CONFIG(SERVER, "token: a, as: admin"), NULL, "impersonation (as) is not supported",
		 12, 24},
		{"plugin v1alpha1",
		 CONFIG(SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"), NULL,
		 "exec apiVersion client.authentication.k8s.io/v1alpha1 is not supported", 12, 29},
		{"plugin without version", CONFIG(SERVER, "exec: {command: x}"), NULL, "exec needs an apiVersion", 12,
		 16},
		{"plugin without command", CONFIG(SERVER, EXEC("args: []")), NULL, "exec needs a command", 12, 16},
		{"plugin v1 without mode",
		 CONFIG(SERVER, "exec: {apiVersion: client.authentication.k8s.io/v1, command: x}"), NULL,
		 "exec of version v1 needs an interactiveMode", 12, 16},
		{"plugin that wants a terminal",
		 CONFIG(SERVER,
			"exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always, command: x}"),
		 NULL, "the plugin x wants a terminal", 12, 79},
		{"plugin env without name", CONFIG(SERVER, EXEC("command: x, env: [{value: z}]")), NULL,
		 "an env entry needs a name", 12, 104},
		{"plugin args no list", CONFIG(SERVER, EXEC("command: x, args: y")), NULL, "args must be a list", 12,
		 104},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kubeconfig *config = NULL;
		struct err err = ERR_INIT;
		char place[160];

		test_row(rows[i].name);
		assert_int_equal(load_text(rows[i].text, rows[i].context, &config, &err), -EINVAL);
		assert_null(config);
		if (rows[i].message && !strstarts(err.msg, rows[i].message))
			fail_msg("%s: %s", err.where, err.msg);
		snprintf(place, sizeof(place), "%s/config:%zu:%zu", folder, rows[i].line, rows[i].column);
		if (rows[i].line)
			assert_string_equal(err.where, place);
	}
}

static void test_list_of_files(void **state)
{
	(void)state;
	CLEANUP(kubeconfig_freep) struct kubeconfig *config = NULL;
	struct err err = ERR_INIT;
	char list[512];
	struct kubeconfig_source source = {.environment = list};
	const char *first = write_file("first", "contexts: [{name: a, context: {cluster: k, user: u}}]\n"
						"users: [{name: u, user: {token: first}}]\n");
	const char *second = write_file("second", "current-context: a\n"
						  "contexts: [{name: a, context: {cluster: other}}]\n"
						  "clusters: [{name: k, cluster: {" SERVER "}}]\n"
						  "users: [{name: u, user: {token: second}}]\n");

	/* the first to name something wins; what is missing does not matter */
	snprintf(list, sizeof(list), "/nonexistent/config::%s:%s", first, second);
	assert_int_equal(kubeconfig_load(&source, &config, &err), 0);
	assert_string_equal(config->token, "first");
	assert_string_equal(config->server, "https://api:6443");
	assert_string_equal(config->namespace, "default");
}

static void test_order_of_places(void **state)
{
	(void)state;
	struct kubeconfig *config = NULL;
	struct err err = ERR_INIT;
	char path[160];
	struct kubeconfig_source source = {
		.home = folder, .service_host = "fd00::1", .service_port = "443", .service_account = folder};

	assert_int_equal(kubeconfig_load(&source, &config, &err), -ENOENT); /* no token mounted */
	assert_string_equal(err.where, folder);
	write_file("token", "abc\n");
	write_file("ca.crt", "x");
	write_file("namespace", "memtamer\n");
	assert_int_equal(kubeconfig_load(&source, &config, &err), 0);
	assert_string_equal(config->server, "https://[fd00::1]:443");
	assert_string_equal(config->namespace, "memtamer");
	snprintf(path, sizeof(path), "%s/token", folder);
	assert_string_equal(config->token_file, path);
	kubeconfig_freep(&config);

	snprintf(path, sizeof(path), "%s/.kube", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file(".kube/config", CONFIG("server: 'https://home'", ""));
	assert_int_equal(kubeconfig_load(&source, &config, &err), 0);
	assert_string_equal(config->server, "https://home");
	kubeconfig_freep(&config);

	source.environment = write_file("environment", CONFIG("server: 'https://environment'", ""));
	assert_int_equal(kubeconfig_load(&source, &config, &err), 0);
	assert_string_equal(config->server, "https://environment");
	kubeconfig_freep(&config);

	source.path = write_file("given", CONFIG("server: 'https://given'", ""));
	assert_int_equal(kubeconfig_load(&source, &config, &err), 0);
	assert_string_equal(config->server, "https://given");
	kubeconfig_freep(&config);

	source.path = "/nonexistent/config";
	assert_int_equal(kubeconfig_load(&source, &config, &err), -ENOENT);
	source = (struct kubeconfig_source){.context = NULL};
	assert_int_equal(kubeconfig_load(&source, &config, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "--kubeconfig"));
}

static void test_base64(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text, *plain; /* NULL: refused */
	} rows[] = {
		{"empty", "", ""},
		{"one", "Zg==", "f"},
		{"two", "Zm8=", "fo"},
		{"three", "Zm9v", "foo"},
		{"four", "Zm9vYg==", "foob"},
		{"line breaks", "Zm\r\n9v\n", "foo"},
		{"plus slash", "+/8=", "\xfb\xff"},
		{"cut", "Zm9", NULL},
		{"one too few", "Zg=", NULL},
		{"early padding", "Z===", NULL},
		{"text behind", "Zg==Zg==", NULL},
		{"space", "Zm 9v", NULL},
		{"bits left", "Zh==", NULL},
		{"URL alphabet", "-_8=", NULL},
		{"three padding", "Zg===", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf plain = STRBUF_INIT(100), again = STRBUF_INIT(100);

		test_row(rows[i].name);
		assert_int_equal(base64_decode(rows[i].text, strlen(rows[i].text), &plain),
				 rows[i].plain ? 0 : -EINVAL);
		if (!rows[i].plain)
			continue;
		assert_string_equal(strbuf_text(&plain), rows[i].plain);
		assert_int_equal(base64_encode(strbuf_text(&plain), plain.len, &again), 0);
		if (!strpbrk(rows[i].text, "\r\n"))
			assert_string_equal(strbuf_text(&again), rows[i].text);
	}
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"config", "first",	     "second",	     "token", "ca.crt", "namespace",
					    "given",  "environment", ".kube/config", ".kube", ""};
	char path[160];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		remove(path);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64),		cmocka_unit_test(test_what_is_read),
		cmocka_unit_test(test_plugin_is_read),	cmocka_unit_test(test_token_goes_before_plugin),
		cmocka_unit_test(test_what_is_refused), cmocka_unit_test(test_list_of_files),
		cmocka_unit_test(test_order_of_places),
	};

	if (!mkdtemp(folder))
		return 1;
	return cmocka_run_group_tests(tests, NULL, remove_folder);
}
