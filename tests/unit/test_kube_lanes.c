/* SPDX-License-Identifier: Apache-2.0 */
/* Watches on shared HTTP/2 connections: the client, a real HTTP/2 proxy (nghttpx) that can be frozen, the fake API. */
#include "base/io.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "fake_api.h"
#include "kube/kube_server.h"
#include "kube/reflector.h"
#include "pki/pki.h"
#include "support/test.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_FDS	   1024
#define STREAMS(n) "--frontend-http2-max-concurrent-streams=" n

extern char **environ;

#define NO_PODS "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"

/* The list with a limit follows on three failures in a row, as while the proxy is down. */
static const struct fake_step idle_cluster[] = {
	{.fits = "/pods?resourceVersion=0 ", .body = NO_PODS, .times = 1000},
	{.fits = "/pods?limit=500 ", .body = NO_PODS, .times = 1000},
	{.fits = "/pods?watch", .body = "", .end = FAKE_HOLD, .times = 1000},
	{.fits = "GET /livez?exclude=etcd ", .status = 403, .body = "{}", .times = 1000},
	{0}};

struct world {
	struct fake_api *api;
	struct pki_pair ca, server_pair;
	char folder[40], cert_file[64], key_file[64], ca_file[64], url[64];
	uint16_t port;
	pid_t proxy; /* and its process group; 0: none runs */
	struct kube_server server;
	struct kube_client *client;
	struct reflector *reflectors[256];
	size_t n_reflectors, ended, failed;
	struct err why;
};

/* libcurl 7.88 takes a stream that the server has reset for one that has ended. */
static const struct fake_step cut_list[] = {
	{.fits = "/pods?resourceVersion=0 ",
	 .body = "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"a\"}}",
	 .end = FAKE_CUT},
	{.fits = "/pods?limit=500 ", .body = NO_PODS},
	{.fits = "/pods?watch", .body = "", .end = FAKE_HOLD},
	{0}};

/* ---- the proxy ---- */

static int bound_socket(uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static bool is_listening(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int r;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	r = connect(fd, (struct sockaddr *)&address, sizeof(address));
	close(fd);
	return r == 0;
}

static void start_proxy(struct world *world, const char *option)
{
	char front[32], back[32];
	/* --no-ocsp: else it starts a program that asks for the certificate's status, and outlives a proxy that is
	 * ended. */
	const char *const argv[] = {"setpriv",
				    "--pdeathsig=KILL",
				    "nghttpx",
				    "--conf=/dev/null",
				    "--errorlog-file=/dev/null",
				    "--log-level=FATAL",
				    "--single-thread",
				    "--no-ocsp",
				    "-f",
				    front,
				    "-b",
				    back,
				    option,
				    world->key_file,
				    world->cert_file,
				    NULL};
	posix_spawnattr_t attributes;
	int status;

	snprintf(front, sizeof(front), "127.0.0.1,%u", world->port);
	snprintf(back, sizeof(back), "127.0.0.1,%s", strrchr(fake_api_url(world->api), ':') + 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	if (posix_spawnp(&world->proxy, "setpriv", NULL, &attributes, (char *const *)(uintptr_t)argv, environ))
		fail_msg("nghttpx cannot be started: tests/install test");
	posix_spawnattr_destroy(&attributes);
	while (!is_listening(world->port)) {
		assert_int_equal(waitpid(world->proxy, &status, WNOHANG), 0);
		usleep(1000);
	}
}

static void stop_proxy(struct world *world)
{
	if (!world->proxy)
		return;
	kill(-world->proxy, SIGKILL);
	waitpid(world->proxy, NULL, 0);
	world->proxy = 0;
}

/* ---- the world ---- */

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void make_certificate(struct world *world)
{
	static const char *const names[] = {"127.0.0.1", NULL};
	const struct pki_leaf leaf = {.usage = PKI_SERVER,
				      .common_name = "api",
				      .names = names,
				      .now_ms = time_now_ms(),
				      .validity_ms = TIME_DAY_MS};
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_ca("ca", time_now_ms(), TIME_DAY_MS, &world->ca, &err), 0);
	assert_int_equal(pki_make_leaf(&world->ca, &leaf, &world->server_pair, &err), 0);
	snprintf(world->folder, sizeof(world->folder), "/tmp/memtamer-kube-lanes-XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	snprintf(world->cert_file, sizeof(world->cert_file), "%s/tls.crt", world->folder);
	snprintf(world->key_file, sizeof(world->key_file), "%s/tls.key", world->folder);
	write_file(world->cert_file, world->server_pair.cert_pem);
	write_file(world->key_file, world->server_pair.key_pem);
	snprintf(world->ca_file, sizeof(world->ca_file), "%s/ca.crt", world->folder);
	write_file(world->ca_file, world->ca.cert_pem);
}

/* `config`: NULL: nothing is probed before 30 s. */
static void start_with(struct world *world, const struct fake_step *steps, const char *proxy_option,
		       const struct kube_client_config *config)
{
	struct err err = ERR_INIT;

	*world = (struct world){.api = fake_api_start(steps)};
	make_certificate(world);
	close(bound_socket(&world->port));
	start_proxy(world, proxy_option);
	snprintf(world->url, sizeof(world->url), "https://127.0.0.1:%u", world->port);
	world->server.url = world->url;
	world->server.ca_file = world->ca_file;
	assert_int_equal(kube_client_new(&world->server, config, &world->client, &err), 0);
}

static void start(struct world *world, const char *proxy_option, const struct kube_client_config *config)
{
	start_with(world, idle_cluster, proxy_option, config);
}

static void stop(struct world *world)
{
	for (size_t i = 0; i < world->n_reflectors; i++)
		reflector_free(world->reflectors[i]);
	kube_client_free(world->client);
	stop_proxy(world);
	assert_int_equal(fake_api_unexpected(world->api), 0);
	fake_api_free(world->api);
	pki_pair_release(&world->ca);
	pki_pair_release(&world->server_pair);
	unlink(world->cert_file);
	unlink(world->key_file);
	unlink(world->ca_file);
	assert_int_equal(rmdir(world->folder), 0);
}

static void on_object(void *context, const struct kube_object *object)
{
	(void)context, (void)object;
}

static void on_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct world *world = context;

	(void)retry_ms;
	world->failed++;
	world->why = *why;
}

static void on_ended(void *context, const struct err *why, int64_t delay_ms)
{
	struct world *world = context;

	(void)delay_ms;
	world->ended++;
	world->why = *why;
}

static void watch(struct world *world, size_t n)
{
	const struct reflector_config config = {
		.selection = {.resource = {"", "v1", "pods"}},
		.added = on_object,
		.modified = on_object,
		.deleted = on_object,
		.failed = on_failed,
		.ended = on_ended,
		.context = world,
		.backoff_min_ms = 1,
		.backoff_max_ms = 20,
		.open_ms = 20000,
		.steady_ms = -1, /* every watch that was answered */
	};
	struct err err = ERR_INIT;

	for (; n > 0; n--)
		assert_int_equal(
			reflector_start(world->client, &config, &world->reflectors[world->n_reflectors++], &err), 0);
}

static void poll_once(struct world *world)
{
	struct err err = ERR_INIT;

	assert_int_equal(kube_client_poll(world->client, NULL, 0, 100, &err), 0);
}

static bool are_all_watching(const struct world *world)
{
	struct reflector_stats stats;

	for (size_t i = 0; i < world->n_reflectors; i++) {
		reflector_stats(world->reflectors[i], &stats);
		if (!stats.is_in_contact)
			return false;
	}
	return true;
}

static void run_until_all_watch(struct world *world)
{
	while (!are_all_watching(world))
		poll_once(world);
}

/* Our sockets that lead to the proxy. */
static size_t count_connections(const struct world *world)
{
	size_t n = 0;

	for (int fd = 0; fd < MAX_FDS; fd++) {
		struct sockaddr_in peer = {.sin_family = AF_UNSPEC};
		socklen_t size = sizeof(peer);

		n += getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET &&
		     ntohs(peer.sin_port) == world->port;
	}
	return n;
}

/* ---- tests ---- */

static const struct kube_client_config impatient = {.silence_ms = 200, .probe_timeout_ms = 2000};

/* One connection is found before the others use it, and a second one only when its streams are used up. */
static void test_watches_share_connections(void **state)
{
	(void)state;
	static const struct {
		const char *name, *option;
		size_t watches, connections;
	} rows[] = {
		{"one connection", STREAMS("100"), 90, 1},
		{"as many as 250 watches need", STREAMS("100"), 250, 3},
		{"a server that allows 250 streams", STREAMS("250"), 250, 3},
		{"without HTTP/2 a connection each", "--npn-list=http/1.1", 20, 20},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;

		test_row(rows[i].name);
		start(&world, rows[i].option, NULL);
		watch(&world, rows[i].watches);
		run_until_all_watch(&world);
		if (world.failed)
			fail_msg("%zu of %zu watches failed: %s", world.failed, rows[i].watches, world.why.msg);
		assert_int_equal(count_connections(&world), rows[i].connections);
		stop(&world);
	}
}

/* libcurl opens further connections itself. */
static void test_fewer_streams_than_ours(void **state)
{
	(void)state;
	struct world world;

	start(&world, STREAMS("10"), NULL);
	watch(&world, 30);
	run_until_all_watch(&world);
	assert_int_equal(world.failed, 0);
	stop(&world);
}

/* Nothing happens in the cluster: the connection is probed, any answer is good, and the watch stays. */
static void test_silence_is_no_failure(void **state)
{
	(void)state;
	struct world world;

	start(&world, STREAMS("100"), &impatient);
	watch(&world, 2);
	while (fake_api_count(world.api, "GET /livez") < 4)
		poll_once(&world);
	assert_true(are_all_watching(&world));
	assert_int_equal(world.failed + world.ended, 0);
	assert_int_equal(fake_api_count(world.api, "/pods?watch"), 2);
	assert_int_equal(count_connections(&world), 1);
	stop(&world);
}

/* Its kernel goes on to confirm what TCP sends, so only the missing answer to a probe shows it. */
static void test_frozen_server_is_noticed(void **state)
{
	(void)state;
	struct world world;

	start(&world, STREAMS("100"), &impatient);
	watch(&world, 100);
	run_until_all_watch(&world);
	kill(-world.proxy, SIGSTOP);
	while (world.ended < 100)
		poll_once(&world);
	assert_int_equal(world.why.code, -ETIMEDOUT);
	assert_non_null(strstr(world.why.msg, "a probe of it was not answered"));
	kill(-world.proxy, SIGCONT);
	run_until_all_watch(&world);
	assert_int_equal(count_connections(&world), 2);
	stop(&world);
}

static void test_restarted_server_is_found_again(void **state)
{
	(void)state;
	struct world world;

	start(&world, STREAMS("100"), NULL);
	for (size_t i = 0; i < 3; i++) {
		watch(&world, 40);
		run_until_all_watch(&world);
		stop_proxy(&world);
		/* Once so long that all list again. */
		while (world.ended < world.n_reflectors || (i == 1 && world.failed < 5 * world.n_reflectors))
			poll_once(&world);
		start_proxy(&world, STREAMS("100"));
		run_until_all_watch(&world);
		world.ended = 0;
	}
	assert_int_equal(count_connections(&world), 2);
	stop(&world);
}

static void test_a_cut_list_is_no_list(void **state)
{
	(void)state;
	struct world world;

	start_with(&world, cut_list, STREAMS("100"), NULL);
	watch(&world, 1);
	run_until_all_watch(&world);
	assert_int_equal(world.failed, 1);
	stop(&world);
}

static void test_reflectors_come_and_go(void **state)
{
	(void)state;
	struct world world;

	start(&world, STREAMS("100"), NULL);
	for (size_t i = 0; i < 20; i++) {
		watch(&world, 10);
		if (i % 2)
			run_until_all_watch(&world);
		while (world.n_reflectors > 15)
			reflector_free(world.reflectors[--world.n_reflectors]);
		poll_once(&world);
	}
	run_until_all_watch(&world);
	assert_int_equal(world.failed + world.ended, 0);
	assert_int_equal(count_connections(&world), 1);
	stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watches_share_connections),	cmocka_unit_test(test_fewer_streams_than_ours),
		cmocka_unit_test(test_silence_is_no_failure),		cmocka_unit_test(test_frozen_server_is_noticed),
		cmocka_unit_test(test_restarted_server_is_found_again), cmocka_unit_test(test_a_cut_list_is_no_list),
		cmocka_unit_test(test_reflectors_come_and_go),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
