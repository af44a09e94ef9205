/* SPDX-License-Identifier: Apache-2.0 */
/* http_server over real sockets: byte by byte where a client misbehaves, by the HTTP client where it does not. */
#include "base/io.h"
#include "base/timefmt.h"
#include "http_client/http_client.h"
#include "http_peer.h"
#include "http_server/http_server.h"
#include "pki/pki.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ECHO_BYTES 100

/* What handlers and observer share. */
struct world {
	atomic_bool is_gate_open;
	atomic_uint answered, refused, closed, handshakes;
	pthread_mutex_t mutex;
	char refusal[300];
};

static void handle_ping(void *context, const struct http_server_request *request, struct http_server_response *response)
{
	(void)context, (void)request;
	strbuf_adds(&response->body, "pong");
}

static void handle_echo(void *context, const struct http_server_request *request, struct http_server_response *response)
{
	(void)context;
	response->content_type = "application/json";
	strbuf_add(&response->body, request->body, request->body_bytes);
}

/* A real handler never blocks; this one shows what is under way. */
static void handle_gate(void *context, const struct http_server_request *request, struct http_server_response *response)
{
	struct world *world = context;

	(void)request;
	while (!atomic_load(&world->is_gate_open))
		poll(NULL, 0, 1);
	strbuf_adds(&response->body, "through");
}

static void handle_broken(void *context, const struct http_server_request *request,
			  struct http_server_response *response)
{
	(void)context, (void)request;
	response->body.max = 4;
	strbuf_adds(&response->body, "too long");
	response->body.max = 1000;
}

static const struct http_server_route routes[] = {
	{"GET", "/ping", 0, handle_ping},
	{"POST", "/echo", ECHO_BYTES, handle_echo},
	{"GET", "/gate", 0, handle_gate},
	{"GET", "/broken", 0, handle_broken},
	{NULL, NULL, 0, NULL},
};

static void observe(void *context, const struct http_server_event *event)
{
	struct world *world = context;

	switch (event->type) {
	case HTTP_EVENT_ANSWERED:
		atomic_fetch_add(&world->answered, 1);
		break;
	case HTTP_EVENT_CLIENT_REFUSED:
		pthread_mutex_lock(&world->mutex);
		snprintf(world->refusal, sizeof(world->refusal), "%s", event->reason);
		pthread_mutex_unlock(&world->mutex);
		atomic_fetch_add(&world->refused, 1);
		break;
	case HTTP_EVENT_WATCHDOG_CLOSED:
		atomic_fetch_add(&world->closed, 1);
		break;
	case HTTP_EVENT_HANDSHAKE_ENDED:
		atomic_fetch_add(&world->handshakes, 1);
		break;
	case HTTP_EVENT_EVICTED:
	case HTTP_EVENT_LIBRARY:
		break;
	}
}

static struct http_server *start(struct world *world, bool is_plain, int64_t request_timeout_ms)
{
	const struct http_server_config config = {
		.listen = "127.0.0.1:0",
		.is_plain = is_plain,
		.threads = 2,
		.connections = 64,
		.idle_timeout_ms = 120000,
		.request_timeout_ms = request_timeout_ms,
		.buffers_total_bytes = 0, /* the bodies here are small */
		.routes = routes,
		.context = world,
		.observe = observe,
	};
	struct http_server *server = NULL;
	struct err err = ERR_INIT;

	*world = (struct world){.mutex = PTHREAD_MUTEX_INITIALIZER};
	assert_int_equal(http_server_start(&config, &server, &err), 0);
	return server;
}

#define FIFTY "12345678901234567890123456789012345678901234567890"
#define HOST  "Host: x\r\nConnection: close\r\n"

static void test_answers(void **state)
{
	(void)state;
	static const struct {
		const char *name, *request, *starts, *contains;
	} rows[] = {
		{"a path", "GET /ping HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200", "\r\n\r\npong"},
		{"the query is no part of the path", "GET /ping?timeout=10s HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200",
		 "pong"},
		{"HEAD where GET is", "HEAD /ping HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200", "Content-Length: 4\r\n"},
		{"no such path", "GET /pin HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 404", "no such path"},
		{"no such path, with a body", "POST /x HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab", "HTTP/1.1 404",
		 "no such path"},
		{"wrong method", "GET /echo HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 405", "\r\nAllow: POST\r\n"},
		{"body", "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", "HTTP/1.1 200", "\r\n\r\nabc"},
		{"type", "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "HTTP/1.1 200",
		 "\r\nContent-Type: application/json\r\n"},
		{"chunked body",
		 "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		 "HTTP/1.1 200", "\r\n\r\nabcde"},
		{"as long as allowed", "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\n" FIFTY FIFTY,
		 "HTTP/1.1 200", FIFTY FIFTY},
		{"too long", "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 101\r\n\r\n" FIFTY FIFTY "x",
		 "HTTP/1.1 413", "too large"},
		{"chunked and too long",
		 "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n32\r\n" FIFTY "\r\n32\r\n" FIFTY
		 "\r\n1\r\nx\r\n0\r\n\r\n",
		 "HTTP/1.1 413", "too large"},
		{"far too long, before the body", "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999999\r\n\r\n",
		 "HTTP/1.1 413", "too large"},
		{"too long, not sent yet",
		 "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 101\r\n\r\n", "HTTP/1.1 413",
		 "too large"},
		{"unknown transfer coding", "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n",
		 "HTTP/1.1 501", "Connection: close"},
		{"two framings",
		 "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		 "HTTP/1.1 400", "Connection: close"},
		{"two lengths", "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
		 "HTTP/1.1 400", "Connection: close"},
		{"no host", "GET /ping HTTP/1.1\r\nConnection: close\r\n\r\n", "HTTP/1.1 400", ""},
		{"an answer that does not fit", "GET /broken HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 500",
		 "internal error"},
	};
	struct world world;
	struct http_server *server = start(&world, true, 60000);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536);
		int fd = peer_dial(server);

		test_row(rows[i].name);
		peer_send_text(fd, rows[i].request);
		peer_read_to_end(fd, &answer);
		close(fd);
		assert_true(strstarts(strbuf_text(&answer), rows[i].starts));
		assert_non_null(strstr(strbuf_text(&answer), rows[i].contains));
	}
	http_server_free(server);
}

/* Send a byte every few ms until the server ends the connection. */
static void drip(int fd, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0;; i++) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		char byte;

		assert_true(i < 1000000);
		if (poll(&ready, 1, 5) > 0 && recv(fd, &byte, 1, 0) <= 0)
			return;
		if (!peer_send(fd, i < n ? text + i : "a", 1))
			return;
	}
}

static void test_watchdog(void **state)
{
	(void)state;
	static const struct {
		const char *name, *text;
		bool is_plain;
	} rows[] = {
		{"head", "GET /ping HTTP/1.1\r\nHost: x\r\nX: aaaaaaaaaaaaaaa", true},
		{"body", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n", true},
		{"handshake", "\x16\x03\x01\x02", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;
		struct http_server *server = start(&world, rows[i].is_plain, 1500);
		struct pki_pair ca = PKI_PAIR_INIT;
		struct err err = ERR_INIT;
		int idle = peer_dial(server), fd = peer_dial(server);

		test_row(rows[i].name);
		assert_int_equal(pki_make_ca("x", time_now_ms(), TIME_DAY_MS, &ca, &err), 0);
		if (!rows[i].is_plain)
			assert_int_equal(http_server_set_credentials(server, ca.cert_pem, ca.key_pem, NULL, NULL, &err),
					 0);
		close(fd);
		fd = peer_dial(server);
		if (rows[i].is_plain)
			assert_int_equal(peer_ask(idle, "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
		drip(fd, rows[i].text);
		while (atomic_load(&world.closed) == 0)
			poll(NULL, 0, 1);
		/* a connection that is merely idle for as long lives on */
		if (rows[i].is_plain)
			assert_int_equal(peer_ask(idle, "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
		close(fd);
		close(idle);
		http_server_free(server);
		pki_pair_release(&ca);
	}
}

/* A folder with the PEM files that the HTTP client reads. */
struct pems {
	char folder[64], ca[96], cert[96], key[96];
};

static void write_pem(char *path, size_t size, const char *folder, const char *name, const char *pem)
{
	struct err err = ERR_INIT;

	snprintf(path, size, "%s/%s", folder, name);
	assert_int_equal(io_write_file_atomic(path, pem, strlen(pem), 0600, &err), 0);
}

static void make_pems(struct pems *pems, const struct pki_pair *ca, const struct pki_pair *client)
{
	snprintf(pems->folder, sizeof(pems->folder), "/tmp/memtamer-test-XXXXXX");
	assert_non_null(mkdtemp(pems->folder));
	write_pem(pems->ca, sizeof(pems->ca), pems->folder, "ca.pem", ca->cert_pem);
	pems->cert[0] = pems->key[0] = '\0';
	if (!client)
		return;
	write_pem(pems->cert, sizeof(pems->cert), pems->folder, "cert.pem", client->cert_pem);
	write_pem(pems->key, sizeof(pems->key), pems->folder, "key.pem", client->key_pem);
}

static void remove_pems(struct pems *pems)
{
	unlink(pems->ca);
	unlink(pems->cert);
	unlink(pems->key);
	rmdir(pems->folder);
}

static void make_leaf(const struct pki_pair *ca, enum pki_usage usage, const char *name, struct pki_pair *ret)
{
	const char *const names[] = {usage == PKI_SERVER ? "127.0.0.1" : "client.example", NULL};
	const struct pki_leaf leaf = {.usage = usage,
				      .common_name = name,
				      .names = names,
				      .now_ms = time_now_ms(),
				      .validity_ms = TIME_DAY_MS};
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_leaf(ca, &leaf, ret, &err), 0);
}

static struct http_client *make_client(struct http_server *server, const struct pems *pems, size_t concurrency)
{
	struct http_client_config config = {.ca_file = pems->ca, .concurrency = concurrency, .timeout_ms = 120000};
	struct http_client *client = NULL;
	struct err err = ERR_INIT;
	char url[64];

	snprintf(url, sizeof(url), "https://127.0.0.1:%u", http_server_port(server));
	config.base_url = url;
	config.cert_file = pems->cert[0] ? pems->cert : NULL;
	config.key_file = pems->key[0] ? pems->key : NULL;
	assert_int_equal(http_client_new(&config, &client, &err), 0);
	return client;
}

static void test_client_certificates(void **state)
{
	(void)state;
	enum { NONE, FOREIGN, SERVERS, GOOD };
	static const struct {
		const char *name;
		int shown;
		const char *wanted_name, *reason;
		bool is_good;
	} rows[] = {
		{"any of that CA", GOOD, NULL, NULL, true},
		{"by common name", GOOD, "apiserver", NULL, true},
		{"by alternative name", GOOD, "client.example", NULL, true},
		{"another name", GOOD, "api", "the client certificate is not for api", false},
		{"another CA's", FOREIGN, NULL, "issuer is unknown", false},
		{"a server's", SERVERS, NULL, "purpose", false},
		{"none", NONE, NULL, NULL, false},
	};
	struct pki_pair ca = PKI_PAIR_INIT, other = PKI_PAIR_INIT, server_pair = PKI_PAIR_INIT;
	struct pki_pair shown[4] = {PKI_PAIR_INIT, PKI_PAIR_INIT, PKI_PAIR_INIT, PKI_PAIR_INIT};
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_ca("CA", time_now_ms(), TIME_DAY_MS, &ca, &err), 0);
	assert_int_equal(pki_make_ca("CA", time_now_ms(), TIME_DAY_MS, &other, &err), 0);
	make_leaf(&ca, PKI_SERVER, "server", &server_pair);
	make_leaf(&other, PKI_CLIENT, "apiserver", &shown[FOREIGN]);
	make_leaf(&ca, PKI_SERVER, "apiserver", &shown[SERVERS]);
	make_leaf(&ca, PKI_CLIENT, "apiserver", &shown[GOOD]);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(1000);
		const struct http_request request = {.path = "/ping"};
		struct world world;
		struct http_server *server = start(&world, false, 60000);
		struct http_client *client;
		struct pems pems;
		int r;

		test_row(rows[i].name);
		make_pems(&pems, &ca, rows[i].shown == NONE ? NULL : &shown[rows[i].shown]);
		assert_int_equal(http_server_set_credentials(server, server_pair.cert_pem, server_pair.key_pem,
							     ca.cert_pem, rows[i].wanted_name, &err),
				 0);
		client = make_client(server, &pems, 1);
		r = http_client_fetch(client, &request, 0, &body, NULL, &err);
		http_client_free(client);
		http_server_free(server);
		remove_pems(&pems);
		assert_int_equal(r == 0, rows[i].is_good);
		assert_int_equal(atomic_load(&world.answered), rows[i].is_good ? 1 : 0);
		assert_int_equal(atomic_load(&world.refused) + atomic_load(&world.handshakes), rows[i].is_good ? 0 : 1);
		if (rows[i].reason)
			assert_non_null(strstr(world.refusal, rows[i].reason));
	}
	pki_pair_release(&ca);
	pki_pair_release(&other);
	pki_pair_release(&server_pair);
	for (size_t i = 0; i < ARRAY_LEN(shown); i++)
		pki_pair_release(&shown[i]);
}

static void test_credentials_are_checked(void **state)
{
	(void)state;
	struct world world;
	struct http_server *server = start(&world, false, 60000);
	struct pki_pair a = PKI_PAIR_INIT, b = PKI_PAIR_INIT;
	struct err err = ERR_INIT;

	assert_int_equal(pki_make_ca("a", time_now_ms(), TIME_DAY_MS, &a, &err), 0);
	assert_int_equal(pki_make_ca("b", time_now_ms(), TIME_DAY_MS, &b, &err), 0);
	assert_int_equal(http_server_set_credentials(server, a.cert_pem, b.key_pem, NULL, NULL, &err), -EINVAL);
	assert_int_equal(http_server_set_credentials(server, "", "", NULL, NULL, &err), -EINVAL);
	assert_int_equal(http_server_set_credentials(server, a.cert_pem, a.key_pem, "no CA", NULL, &err), -EINVAL);
	assert_false(http_server_has_credentials(server));
	assert_int_equal(http_server_set_credentials(server, a.cert_pem, a.key_pem, b.cert_pem, NULL, &err), 0);
	assert_true(http_server_has_credentials(server));
	http_server_free(server);
	pki_pair_release(&a);
	pki_pair_release(&b);
}

/* A client that asks until told to stop; one connection is kept alive, others are new each time. */
struct load {
	struct http_server *server;
	const struct pems *pems;
	atomic_bool *stop;
	atomic_uint done, failed;
};

static void count_answer(void *context, const struct http_result *result)
{
	struct load *load = context;

	atomic_fetch_add(result->outcome == HTTP_DONE ? &load->done : &load->failed, 1);
}

static void *load_main(void *context)
{
	static const struct http_client_header close_header = {"Connection", "close"};
	struct load *load = context;
	struct http_client *client = make_client(load->server, load->pems, 4);
	struct http_request request = {.path = "/ping", .done = count_answer, .context = load};

	while (!atomic_load(load->stop)) {
		request.headers = &close_header;
		for (request.n_headers = 0; request.n_headers < 2; request.n_headers++)
			assert_int_equal(http_client_submit(client, &request, NULL), 0);
		assert_int_equal(http_client_run(client, 0, NULL), 0);
	}
	http_client_free(client);
	return NULL;
}

static void test_rotation_and_drain_under_load(void **state)
{
	(void)state;
	struct world world;
	struct http_server *server = start(&world, false, 60000);
	struct pki_pair ca = PKI_PAIR_INIT, leaves[2] = {PKI_PAIR_INIT, PKI_PAIR_INIT};
	struct err err = ERR_INIT;
	struct pems pems;
	atomic_bool stop = false;
	struct load loads[2] = {{server, &pems, &stop, 0, 0}, {server, &pems, &stop, 0, 0}};
	pthread_t threads[2];

	assert_int_equal(pki_make_ca("CA", time_now_ms(), TIME_DAY_MS, &ca, &err), 0);
	make_pems(&pems, &ca, NULL);
	for (size_t i = 0; i < 2; i++)
		make_leaf(&ca, PKI_SERVER, "server", &leaves[i]);
	assert_int_equal(http_server_set_credentials(server, leaves[0].cert_pem, leaves[0].key_pem, NULL, NULL, &err),
			 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, load_main, &loads[i]), 0);
	for (unsigned int turn = 1; turn <= 20; turn++) {
		unsigned int seen = atomic_load(&world.answered);
		const struct pki_pair *leaf = &leaves[turn % 2];

		assert_int_equal(http_server_set_credentials(server, leaf->cert_pem, leaf->key_pem, NULL, NULL, &err),
				 0);
		while (atomic_load(&world.answered) < seen + 20)
			poll(NULL, 0, 1);
		if (turn == 15) /* lame duck: goes on serving */
			http_server_drain_start(server);
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(atomic_load(&loads[i].failed), 0);
		assert_true(atomic_load(&loads[i].done) > 0);
	}
	assert_int_equal(http_server_drain_finish(server, 60000), 0);
	http_server_free(server);
	remove_pems(&pems);
	pki_pair_release(&ca);
	pki_pair_release(&leaves[0]);
	pki_pair_release(&leaves[1]);
}

struct gate_request {
	int fd;
	struct strbuf answer;
};

static void *ask_gate(void *context)
{
	struct gate_request *request = context;

	peer_send_text(request->fd, "GET /gate HTTP/1.1\r\nHost: x\r\n\r\n");
	peer_read_to_end(request->fd, &request->answer);
	close(request->fd);
	return NULL;
}

static void test_drain_waits_for_requests(void **state)
{
	(void)state;
	struct world world;
	struct http_server *server = start(&world, true, 60000);
	struct gate_request request = {peer_dial(server), STRBUF_INIT(65536)};
	const struct strbuf *answer = &request.answer;
	pthread_t thread;
	int fd, r;

	assert_int_equal(pthread_create(&thread, NULL, ask_gate, &request), 0);
	while (http_server_in_flight(server) == 0)
		poll(NULL, 0, 1);
	assert_int_equal(http_server_drain_finish(server, 1), 1);
	/* new clients are refused, not left waiting */
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	r = connect(
		fd,
		(const struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_INET,
							       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
							       .sin_port = htons((uint16_t)http_server_port(server))},
		sizeof(struct sockaddr_in));
	assert_int_equal(r, -1);
	close(fd);
	atomic_store(&world.is_gate_open, true);
	assert_int_equal(http_server_drain_finish(server, 60000), 0);
	http_server_free(server);
	pthread_join(thread, NULL);
	assert_true(strstarts(strbuf_text(answer), "HTTP/1.1 200"));
	assert_non_null(strstr(strbuf_text(answer), "Connection: close\r\n"));
	assert_true(str_ends((struct str){strbuf_text(answer), answer->len}, STR("\r\n\r\nthrough")));
	strbuf_release(&request.answer);
}

static struct http_server_config listening_at(const char *listen)
{
	return (struct http_server_config){.listen = listen,
					   .is_plain = true,
					   .threads = 1,
					   .connections = 4,
					   .idle_timeout_ms = 1000,
					   .request_timeout_ms = 1000,
					   .routes = routes};
}

static void test_listen_addresses(void **state)
{
	(void)state;
	static const struct {
		const char *listen;
		int result;
	} rows[] = {
		{"127.0.0.1:0", 0},  {"[::1]:0", 0},	  {":0", 0},	      {"127.0.0.1", -EINVAL},
		{"::1:0x", -EINVAL}, {"[::1:0", -EINVAL}, {"host:", -EINVAL}, {"127.0.0.1:http!", -EINVAL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct http_server_config config = listening_at(rows[i].listen);
		struct http_server *server = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].listen);
		assert_int_equal(http_server_start(&config, &server, &err), rows[i].result);
		assert_int_equal(server != NULL, rows[i].result == 0);
		if (server)
			assert_true(http_server_port(server) > 0);
		http_server_free(server);
	}
}

/* Without a host both families reach it, where the machine has them. */
static void test_all_addresses(void **state)
{
	(void)state;
	const struct http_server_config config = listening_at(":0");
	struct http_server *server;
	struct err err = ERR_INIT;
	struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in plain = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has_v6 = probe >= 0 && !bind(probe, (struct sockaddr *)&loopback, sizeof(loopback));
	int fd;

	assert_int_equal(http_server_start(&config, &server, &err), 0);
	loopback.sin6_port = plain.sin_port = htons((uint16_t)http_server_port(server));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&plain, sizeof(plain)), 0);
	close(fd);
	if (has_v6) {
		fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&loopback, sizeof(loopback)), 0);
		close(fd);
	}
	if (probe >= 0)
		close(probe);
	http_server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_watchdog),
		cmocka_unit_test(test_client_certificates),
		cmocka_unit_test(test_credentials_are_checked),
		cmocka_unit_test(test_rotation_and_drain_under_load),
		cmocka_unit_test(test_drain_waits_for_requests),
		cmocka_unit_test(test_listen_addresses),
		cmocka_unit_test(test_all_addresses),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
