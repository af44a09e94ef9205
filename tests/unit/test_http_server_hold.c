/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are held: no thread waits with them, a wake or the end of their time asks their handler again, and
 * neither a client that goes away nor the end of the server comes to grief over them. */
#include "http_peer.h"
#include "support/test.h"

#include "base/timefmt.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_MS (10 * TIME_MINUTE_MS)
#define WAIT	"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
#define PING	"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"

struct world {
	struct http_server *server;
	atomic_bool is_there, wakes_itself;
	atomic_uint asked, again, without;
};

static void handle_ping(void *context, const struct http_server_request *request, struct http_server_response *response)
{
	(void)context, (void)request;
	strbuf_adds(&response->body, "pong");
}

/* It comes in the very moment between the look and the wait. */
static void come_at_once(struct world *world)
{
	if (!atomic_exchange(&world->wakes_itself, false))
		return;
	atomic_store(&world->is_there, true);
	http_server_wake_held(world->server);
}

/* What it waits for is there, or it may wait no longer: 200, or 404. Whoever counts `asked` knows what was answered. */
static void handle_wait(void *context, const struct http_server_request *request, struct http_server_response *response)
{
	struct world *world = context;
	bool is_there = atomic_load(&world->is_there);

	assert_int_equal(request->body_bytes, 4);
	strbuf_adds(&response->body, request->body);
	response->is_held = !is_there && request->may_be_held;
	if (response->is_held) {
		come_at_once(world);
	} else if (!is_there) {
		atomic_fetch_add(&world->without, 1);
		response->status = 404;
	}
	atomic_fetch_add(&world->again, request->was_held);
	atomic_fetch_add(&world->asked, 1);
}

static const struct http_server_route routes[] = {
	{"GET", "/ping", 0, handle_ping},
	{"POST", "/wait", 100, handle_wait},
	{NULL, NULL, 0, NULL},
};

static void start(struct world *world, int64_t hold_timeout_ms)
{
	const struct http_server_config config = {
		.listen = "127.0.0.1:0",
		.is_plain = true,
		.threads = 2,
		.connections = 400,
		.idle_timeout_ms = 2 * LONG_MS,
		.request_timeout_ms = 2 * LONG_MS,
		.bodies_total_bytes = 10000,
		.hold_timeout_ms = hold_timeout_ms,
		.routes = routes,
		.context = world,
	};
	struct err err = ERR_INIT;

	*world = (struct world){.server = NULL};
	assert_int_equal(http_server_start(&config, &world->server, &err), 0);
}

static void wait_asked(struct world *world, unsigned int n)
{
	while (atomic_load(&world->asked) < n)
		poll(NULL, 0, 1);
}

static void wait_idle(struct world *world)
{
	while (http_server_in_flight(world->server))
		poll(NULL, 0, 1);
}

/* More than there are threads, and the threads go on serving. */
static void a_wake_asks_again(void **state)
{
	enum { N = 20 };
	struct world world;
	int fds[N], ping;

	(void)state;
	start(&world, LONG_MS);
	ping = peer_dial(world.server);
	for (int turn = 1; turn <= 3; turn++) {
		atomic_store(&world.is_there, false);
		for (int i = 0; i < N; i++) {
			if (turn == 1)
				fds[i] = peer_dial(world.server);
			peer_send_text(fds[i], WAIT);
		}
		wait_asked(&world, (unsigned int)(turn * 3 - 2) * N);
		for (int i = 0; i < N; i++)
			assert_int_equal(peer_ask(ping, PING), 200);
		/* nothing is there yet: held again */
		http_server_wake_held(world.server);
		wait_asked(&world, (unsigned int)(turn * 3 - 1) * N);
		assert_int_equal(http_server_in_flight(world.server), N);
		atomic_store(&world.is_there, true);
		http_server_wake_held(world.server);
		for (int i = 0; i < N; i++)
			assert_int_equal(peer_ask(fds[i], ""), 200);
		assert_int_equal(atomic_load(&world.asked), turn * 3 * N);
		assert_int_equal(atomic_load(&world.again), turn * 2 * N);
		wait_idle(&world);
	}
	assert_int_equal(atomic_load(&world.without), 0);
	for (int i = 0; i < N; i++)
		close(fds[i]);
	close(ping);
	http_server_free(world.server);
}

static void its_time_ends(void **state)
{
	struct world world;
	int fd;

	(void)state;
	for (int64_t hold_ms = 0; hold_ms <= 30; hold_ms += 30) {
		start(&world, hold_ms);
		fd = peer_dial(world.server);
		for (unsigned int turn = 1; turn <= 3; turn++) {
			int64_t start_ms = time_monotonic_ms();

			assert_int_equal(peer_ask(fd, WAIT), 404);
			assert_true(time_monotonic_ms() - start_ms >= hold_ms);
			assert_int_equal(atomic_load(&world.without), turn);
			assert_int_equal(atomic_load(&world.again), hold_ms ? turn : 0);
		}
		close(fd);
		http_server_free(world.server);
	}
}

static void what_comes_meanwhile_is_not_missed(void **state)
{
	struct world world;
	int fd;

	(void)state;
	start(&world, LONG_MS);
	fd = peer_dial(world.server);
	for (int turn = 0; turn < 200; turn++) {
		atomic_store(&world.is_there, false);
		atomic_store(&world.wakes_itself, true);
		assert_int_equal(peer_ask(fd, WAIT), 200);
	}
	close(fd);
	http_server_free(world.server);
}

/* Somebody wakes all the time, clients come and go, and each that stays is answered once. */
static void *wake_all_the_time(void *context)
{
	struct world *world = context;

	while (!atomic_load(&world->is_there))
		http_server_wake_held(world->server);
	return NULL;
}

static void clients_go_away(void **state)
{
	enum { N = 50 };
	struct world world;
	pthread_t thread;
	int fds[N], stays;

	(void)state;
	start(&world, LONG_MS);
	stays = peer_dial(world.server);
	peer_send_text(stays, WAIT);
	assert_int_equal(pthread_create(&thread, NULL, wake_all_the_time, &world), 0);
	for (int i = 0; i < N; i++) {
		fds[i] = peer_dial(world.server);
		peer_send_text(fds[i], WAIT);
		if (i >= 3)
			close(fds[i - 3]);
	}
	wait_asked(&world, 10 * N);
	for (int i = N - 3; i < N; i++)
		close(fds[i]);
	atomic_store(&world.is_there, true);
	pthread_join(thread, NULL);
	http_server_wake_held(world.server);
	assert_int_equal(peer_ask(stays, ""), 200);
	wait_idle(&world);
	close(stays);
	http_server_free(world.server);
}

/* Beyond what may be held nobody waits. */
static void too_many_are_not_held(void **state)
{
	enum { N = 300, HELD = 256 };
	struct world world;
	int fds[N];

	(void)state;
	start(&world, LONG_MS);
	for (int i = 0; i < N; i++) {
		fds[i] = peer_dial(world.server);
		peer_send_text(fds[i], WAIT);
	}
	wait_asked(&world, N);
	/* two threads may look at the same free place */
	assert_in_range(atomic_load(&world.without), N - HELD - 1, N - HELD);
	while (http_server_in_flight(world.server) > N - atomic_load(&world.without))
		poll(NULL, 0, 1);
	atomic_store(&world.is_there, true);
	http_server_wake_held(world.server);
	wait_idle(&world);
	for (int i = 0; i < N; i++)
		close(fds[i]);
	http_server_free(world.server);
}

static void the_server_ends(void **state)
{
	CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536);
	struct world world;
	int fds[5];

	(void)state;
	start(&world, LONG_MS);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = peer_dial(world.server);
		peer_send_text(fds[i], WAIT);
	}
	wait_asked(&world, ARRAY_LEN(fds));
	assert_int_equal(http_server_drain_finish(world.server, 1), 1);
	http_server_free(world.server);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		peer_read_to_end(fds[i], &answer);
		close(fds[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wake_asks_again),
		cmocka_unit_test(its_time_ends),
		cmocka_unit_test(what_comes_meanwhile_is_not_missed),
		cmocka_unit_test(clients_go_away),
		cmocka_unit_test(too_many_are_not_held),
		cmocka_unit_test(the_server_ends),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
