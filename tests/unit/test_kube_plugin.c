/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials of requests: plugins as scripts, token files, basic authentication. */
#include "base/io.h"
#include "base/strbuf.h"
#include "base/limits.h"
#include "fake_api.h"
#include "kube/kube_client.h"
#include "kube/kubeconfig.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define V1 "client.authentication.k8s.io/v1"
/* Counts its runs in $COUNT and answers with token-<run>. */
#define COUNTING                                                                                                       \
	"n=$(cat $COUNT 2>/dev/null || echo 0); n=$((n+1)); echo $n >$COUNT\n"                                         \
	"printf '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"token-%s\"%s}}' $n"
#define ANSWER(status) "printf '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":" status "}'\n"

static char folder[] = "/tmp/memtamer-plugin-XXXXXX";
static char script[128], count_env[128], seen[128];
static int64_t wall_ms = 1700000000000;

static int64_t fake_now_ms(void)
{
	return wall_ms;
}

struct world {
	struct fake_api *api;
	struct kubeconfig config;
	struct kube_exec_config exec;
	struct kube_client *client;
	const char *env[3];
};

static void write_script(const char *body)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	struct err err = ERR_INIT;

	strbuf_addf(&text, "#!/bin/sh\n%s\n", body);
	assert_int_equal(io_write_file_atomic(script, strbuf_text(&text), text.len, 0755, &err), 0);
	unlink(count_env + strlen("COUNT="));
}

static void start(struct world *world, const struct fake_step *steps, int64_t timeout_ms)
{
	struct kube_client_config config = {.plugin_timeout_ms = timeout_ms, .now_ms = fake_now_ms};
	struct err err = ERR_INIT;

	*world = (struct world){.api = fake_api_start(steps)};
	world->env[0] = count_env;
	world->env[1] = "LANG=of-plugin";
	world->exec = (struct kube_exec_config){
		.api_version = V1,
		.command = script,
		.env = world->env,
		.n_env = 2,
		.install_hint = "see the manual",
	};
	world->config.server = fake_api_url(world->api);
	world->config.exec = &world->exec;
	assert_int_equal(kube_client_new(&world->config, &config, &world->client, &err), 0);
}

static void stop(struct world *world)
{
	kube_client_free(world->client);
	fake_api_free(world->api);
}

static int get(struct world *world, struct err *err)
{
	const struct kube_request request = {.raw_path = "/x", .is_tried_once = true};

	return kube_client_call(world->client, &request, NULL, err);
}

static void test_token_is_kept(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = "Bearer token-1", .body = "{}", .times = 3}, {0}};
	struct world world;
	struct err err = ERR_INIT;

	write_script(COUNTING " ''");
	start(&world, steps, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(get(&world, &err), 0);
	stop(&world);
}

static void test_one_run_for_many_requests(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = "Bearer token-1", .body = "{}", .times = 10}, {0}};
	const struct kube_request request = {.raw_path = "/x"};
	struct world world;
	struct err err = ERR_INIT;

	write_script(COUNTING " ''");
	start(&world, steps, 0);
	for (int i = 0; i < 9; i++)
		assert_int_equal(kube_client_submit(world.client, &request, NULL, &err), 0);
	assert_int_equal(get(&world, &err), 0);
	while (fake_api_count(world.api, "token-1") < 10)
		assert_int_equal(kube_client_poll(world.client, NULL, 0, 100, &err), 0);
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
}

static void test_token_expires(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = "Bearer token-1", .body = "{}", .times = 2}, {.fits = "Bearer token-2", .body = "{}"}, {0}};
	struct world world;
	struct err err = ERR_INIT;

	write_script(COUNTING " ',\"expirationTimestamp\":\"2023-11-14T22:13:30Z\"'"); /* 10 s after wall_ms */
	start(&world, steps, 0);
	assert_int_equal(get(&world, &err), 0);
	wall_ms += 9999;
	assert_int_equal(get(&world, &err), 0);
	wall_ms += 1;
	assert_int_equal(get(&world, &err), 0);
	wall_ms -= 10000;
	stop(&world);
}

static void test_unauthorized_runs_it_again(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = "Bearer token-1", .body = "{}"},
						 {.fits = "Bearer token-1", .status = 401},
						 {.fits = "Bearer token-2", .body = "{}"},
						 {.fits = "Bearer token-2", .status = 401},
						 {.fits = "Bearer token-3", .status = 401},
						 {.fits = "Bearer token-4", .body = "{}"},
						 {0}};
	struct world world;
	struct err err = ERR_INIT;

	write_script(COUNTING " ''");
	start(&world, steps, 0);
	assert_int_equal(get(&world, &err), 0);
	assert_int_equal(get(&world, &err), 0);
	assert_int_equal(fake_api_count(world.api, "token-2"), 1);
	/* twice in a row is the answer; the next request starts afresh */
	assert_int_equal(get(&world, &err), KUBE_UNAUTHORIZED);
	assert_int_equal(get(&world, &err), 0);
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
}

static void test_what_it_is_asked(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = "Bearer t", .body = "{}"}, {0}};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	static const char *const args[] = {"a b", seen, NULL};
	struct world world;
	struct err err = ERR_INIT;
	char want[512];

	write_script("{ echo \"$1\"; cat; echo \"$LANG\"; echo \"$KUBERNETES_EXEC_INFO\"; } >\"$2\"\n" ANSWER(
		"{\"token\":\"t\"}"));
	start(&world, steps, 0);
	world.exec.args = args;
	world.exec.n_args = 2;
	world.exec.provides_cluster_info = true;
	world.exec.cluster_config_json = "{\"audience\":\"x\"}";
	world.config.ca_pem = "foo";
	assert_int_equal(get(&world, &err), 0);
	assert_int_equal(io_read_file(seen, &text, &err), 0);
	snprintf(want, sizeof(want),
		 "a b\nof-plugin\n{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
		 "\",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":\"%s\","
		 "\"certificate-authority-data\":\"Zm9v\",\"config\":{\"audience\":\"x\"}}}}\n",
		 fake_api_url(world.api));
	assert_string_equal(strbuf_text(&text), want);
	unlink(seen);
	stop(&world);
}

static void test_plugins_that_fail(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{0}};
	static const struct {
		const char *name, *script, *message;
		int code;
		int64_t timeout_ms;
	} rows[] = {
		{"exit code", "echo 'not logged in' >&2; echo more >&2; exit 3",
		 "failed with exit code 3: not logged in", -EACCES, 0},
		{"signal", "kill -9 $$", "was ended by signal 9", -EACCES, 0},
		{"too slow", "echo 'open the browser' >&2; sleep 600 & wait",
		 "did not answer within 3000 ms: open the browser", -ETIMEDOUT, 3000},
		{"no answer", "exit 0", "its answer is not JSON", -EINVAL, 0},
		{"garbage", "echo hello", "its answer is not JSON", -EINVAL, 0},
		{"too long", "head -c 2000000 /dev/zero", "longer than", -E2BIG, 0},
		{"other kind", "echo '{\"kind\":\"X\"}'", "is no ExecCredential", -EINVAL, 0},
		{"other version",
		 "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}'",
		 "it answers in version client.authentication.k8s.io/v1beta1", -EINVAL, 0},
		{"no status", "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"}'", "has no status",
		 -EINVAL, 0},
		{"empty status", ANSWER("{}"), "neither a token nor a certificate", -EINVAL, 0},
		{"half a pair", ANSWER("{\"clientKeyData\":\"x\"}"), "only one of certificate and key", -EINVAL, 0},
		{"two lines", ANSWER("{\"token\":\"a\\\\nX-Evil: b\"}"), "holds a space or a control character",
		 -EINVAL, 0},
		{"bad time", ANSWER("{\"token\":\"a\",\"expirationTimestamp\":\"soon\"}"), "is no time: soon", -EINVAL,
		 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		write_script(rows[i].script);
		start(&world, steps, rows[i].timeout_ms);
		assert_int_equal(get(&world, &err), rows[i].code);
		if (!strstr(err.msg, rows[i].message) || !strstr(err.msg, script))
			fail_msg("%s", err.msg);
		assert_int_equal(fake_api_count(world.api, ""), 0);
		stop(&world);
	}
}

/* A shell's `trap '' CHLD` is inherited: then nobody is told how a plugin ended, but that it did. */
static void test_ignored_signal(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = "Bearer a\r\n", .body = "{}"}, {0}};
	static const char *const scripts[] = {ANSWER("{\"token\":\"a\"}"), "echo hello; exit 3"};

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		struct world world;
		struct err err = ERR_INIT;

		write_script(scripts[i]);
		start(&world, steps, 5000);
		signal(SIGCHLD, SIG_IGN);
		assert_int_equal(get(&world, &err), i ? -EINVAL : 0);
		signal(SIGCHLD, SIG_DFL);
		stop(&world);
	}
}

static void test_plugin_that_is_not_there(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{0}};
	struct world world;
	struct err err = ERR_INIT;

	start(&world, steps, 0);
	world.exec.command = "/nonexistent/login";
	assert_int_equal(get(&world, &err), -ENOENT);
	assert_string_equal(err.msg, "credential plugin /nonexistent/login is not installed: see the manual");
	stop(&world);
}

static void test_other_work_goes_on(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{0}};
	const struct kube_request request = {.raw_path = "/x"};
	struct world world;
	struct err err = ERR_INIT;

	/* the plugin hangs, polling does not; freeing ends it */
	write_script("echo $$ >$COUNT; sleep 600");
	start(&world, steps, 0);
	assert_int_equal(kube_client_submit(world.client, &request, NULL, &err), 0);
	while (access(count_env + strlen("COUNT="), F_OK))
		assert_int_equal(kube_client_poll(world.client, NULL, 0, 1, &err), 0);
	stop(&world);
}

static void test_token_file_is_read_anew(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = "Bearer first\r\n", .body = "{}"}, {.fits = "Bearer second\r\n", .body = "{}"}, {0}};
	struct kubeconfig config = {.token_file = script};
	struct kube_client *client = NULL;
	const struct kube_request request = {.raw_path = "/x"};
	struct fake_api *api = fake_api_start(steps);
	struct err err = ERR_INIT;

	config.server = fake_api_url(api);
	assert_int_equal(kube_client_new(&config, NULL, &client, &err), 0);
	assert_int_equal(io_write_file_atomic(script, "first\n", 6, 0600, &err), 0);
	assert_int_equal(kube_client_call(client, &request, NULL, &err), 0);
	assert_int_equal(io_write_file_atomic(script, "second\n", 7, 0600, &err), 0);
	assert_int_equal(kube_client_call(client, &request, NULL, &err), 0);
	assert_int_equal(io_write_file_atomic(script, "a\nb\n", 4, 0600, &err), 0);
	assert_int_equal(kube_client_call(client, &request, NULL, &err), -EINVAL);
	assert_string_equal(err.where, script);
	unlink(script);
	assert_int_equal(kube_client_call(client, &request, NULL, &err), -ENOENT);
	kube_client_free(client);
	fake_api_free(api);
}

static void test_basic(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = "Authorization: Basic dTpw\r\n", .body = "{}"}, {0}};
	struct kubeconfig config = {.username = "u", .password = "p"};
	struct kube_client *client = NULL;
	const struct kube_request request = {.raw_path = "/x"};
	struct fake_api *api = fake_api_start(steps);
	struct err err = ERR_INIT;

	config.server = fake_api_url(api);
	assert_int_equal(kube_client_new(&config, NULL, &client, &err), 0);
	assert_int_equal(kube_client_call(client, &request, NULL, &err), 0);
	kube_client_free(client);
	fake_api_free(api);
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(script);
	unlink(count_env + strlen("COUNT="));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token_is_kept),
		cmocka_unit_test(test_one_run_for_many_requests),
		cmocka_unit_test(test_token_expires),
		cmocka_unit_test(test_unauthorized_runs_it_again),
		cmocka_unit_test(test_what_it_is_asked),
		cmocka_unit_test(test_plugins_that_fail),
		cmocka_unit_test(test_ignored_signal),
		cmocka_unit_test(test_plugin_that_is_not_there),
		cmocka_unit_test(test_other_work_goes_on),
		cmocka_unit_test(test_token_file_is_read_anew),
		cmocka_unit_test(test_basic),
	};

	if (!mkdtemp(folder))
		return 1;
	snprintf(script, sizeof(script), "%s/plugin", folder);
	snprintf(count_env, sizeof(count_env), "COUNT=%s/count", folder);
	snprintf(seen, sizeof(seen), "%s/seen", folder);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, remove_folder);
}
