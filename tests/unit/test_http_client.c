/* SPDX-License-Identifier: Apache-2.0 */
/* http_client against a scripted server on raw sockets, so that it can misbehave in every way. */
#include "base/timefmt.h"
#include "http_client/http_client.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONCURRENCY 3
#define HEAD_BYTES  8192

struct server {
	int fd;
	unsigned int port;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int in_flight, most_in_flight, connections;
	unsigned int generation, waiting;
};

struct visit {
	struct server *server;
	int fd;
};

static void send_text(int fd, const char *text)
{
	for (size_t n = strlen(text); n > 0;) {
		ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		text += sent;
		n -= (size_t)sent;
	}
}

static void wait_for_peer(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, 0) > 0)
		;
}

/* A barrier of CONCURRENCY requests: proves that so many run at once; counts whether more do. */
static void meet(struct server *server)
{
	unsigned int generation;

	pthread_mutex_lock(&server->mutex);
	server->in_flight++;
	if (server->in_flight > server->most_in_flight)
		server->most_in_flight = server->in_flight;
	generation = server->generation;
	if (++server->waiting == CONCURRENCY) {
		server->waiting = 0;
		server->generation++;
		pthread_cond_broadcast(&server->changed);
	}
	while (generation == server->generation)
		pthread_cond_wait(&server->changed, &server->mutex);
	server->in_flight--;
	pthread_mutex_unlock(&server->mutex);
}

static void send_endless(int fd)
{
	char chunk[1024 + 16];

	snprintf(chunk, sizeof(chunk), "400\r\n%01024d\r\n", 7);
	send_text(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n");
	while (send(fd, chunk, strlen(chunk), MSG_NOSIGNAL) > 0)
		;
}

static void send_echo(int fd, const char *head)
{
	char answer[HEAD_BYTES + 256];

	snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(head), head);
	send_text(fd, answer);
}

static void send_error(int fd)
{
	char body[10001];

	memset(body, 'x', sizeof(body) - 1);
	memcpy(body, "query too long\r\n", 16);
	body[sizeof(body) - 1] = '\0';
	send_text(fd, "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Type: text/plain\r\nContent-Length: "
		      "10000\r\n\r\n");
	send_text(fd, body);
}

/* False: the connection is over. */
static bool answer(struct visit *visit, const char *head)
{
	const char *path = strchr(head, ' ') + 1;
	int fd = visit->fd;

	if (strstarts(path, "/p/ok"))
		send_text(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello");
	else if (strstarts(path, "/p/empty"))
		send_text(fd, "HTTP/1.1 204 None\r\nContent-Type: text/x\r\n\r\n");
	else if (strstarts(path, "/p/error"))
		send_error(fd);
	else if (strstarts(path, "/p/redirect"))
		send_text(fd, "HTTP/1.1 302 Found\r\nLocation: /p/ok\r\nContent-Length: 0\r\n\r\n");
	else if (strstarts(path, "/p/echo"))
		send_echo(fd, head);
	else if (strstarts(path, "/p/meet")) {
		meet(visit->server);
		send_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	} else if (strstarts(path, "/p/hang"))
		return wait_for_peer(fd), false;
	else if (strstarts(path, "/p/endless"))
		return send_endless(fd), false;
	else if (strstarts(path, "/p/short"))
		return send_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"), false;
	else
		return send_text(fd, "what?\r\n\r\n"), false;
	return true;
}

static size_t content_length(const char *head)
{
	const char *at = strcasestr(head, "\r\nContent-Length: ");

	return at ? strtoul(at + 18, NULL, 10) : 0;
}

/* One request with its body; false at the end of the connection. */
static bool read_request(int fd, char *head, size_t size)
{
	size_t n = 0, whole = 0;

	while (n < size - 1) {
		char *end;
		ssize_t got = recv(fd, head + n, whole ? whole - n : 1, 0);

		if (got <= 0)
			return false;
		n += (size_t)got;
		head[n] = '\0';
		end = whole ? NULL : strstr(head, "\r\n\r\n");
		if (end)
			whole = (size_t)(end - head) + 4 + content_length(head);
		if (whole && n >= whole)
			return true;
	}
	return false;
}

static void *visit_main(void *context)
{
	struct visit visit = *(struct visit *)context;
	char head[HEAD_BYTES];

	free(context);
	while (read_request(visit.fd, head, sizeof(head)) && answer(&visit, head))
		;
	close(visit.fd);
	pthread_mutex_lock(&visit.server->mutex);
	visit.server->connections--;
	pthread_cond_broadcast(&visit.server->changed);
	pthread_mutex_unlock(&visit.server->mutex);
	return NULL;
}

static void *server_main(void *context)
{
	struct server *server = context;
	int fd;

	while ((fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct visit *visit = malloc(sizeof(*visit));
		pthread_t thread;

		*visit = (struct visit){server, fd};
		pthread_mutex_lock(&server->mutex);
		server->connections++;
		pthread_mutex_unlock(&server->mutex);
		assert_int_equal(pthread_create(&thread, NULL, visit_main, visit), 0);
		pthread_detach(thread);
	}
	return NULL;
}

static int listen_on_loopback(unsigned int *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static int set_up(void **state)
{
	struct server *server = calloc(1, sizeof(*server));

	pthread_mutex_init(&server->mutex, NULL);
	pthread_cond_init(&server->changed, NULL);
	server->fd = listen_on_loopback(&server->port);
	assert_int_equal(listen(server->fd, 64), 0);
	assert_int_equal(pthread_create(&server->thread, NULL, server_main, server), 0);
	*state = server;
	return 0;
}

static int tear_down(void **state)
{
	struct server *server = *state;

	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->fd);
	pthread_mutex_lock(&server->mutex);
	while (server->connections > 0)
		pthread_cond_wait(&server->changed, &server->mutex);
	pthread_mutex_unlock(&server->mutex);
	free(server);
	return 0;
}

static struct http_client *client_of(unsigned int port, struct http_client_config config)
{
	struct http_client *client = NULL;
	struct err err = ERR_INIT;
	char url[64];

	/* with a trailing slash, which must not be doubled */
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/p/", port);
	config.base_url = url;
	config.concurrency = CONCURRENCY;
	assert_int_equal(http_client_new(&config, &client, &err), 0);
	return client;
}

/* What the callbacks saw. */
struct seen {
	struct strbuf body;
	char content_type[64], head_type[64], error_start[32], message[512], where[160];
	enum http_outcome outcome;
	long status, head_status;
	size_t stop_after, error_bytes;
	int64_t retry_after_s;
	int done, heads, code;
};

static int see_head(void *context, long status, const char *content_type)
{
	struct seen *seen = context;

	seen->heads++;
	seen->head_status = status;
	assert_int_equal(seen->body.len, 0);
	snprintf(seen->head_type, sizeof(seen->head_type), "%s", content_type);
	return 0;
}

static int see_body(void *context, const char *bytes, size_t n)
{
	struct seen *seen = context;

	assert_int_equal(seen->heads, 1);
	strbuf_add(&seen->body, bytes, n);
	return seen->stop_after && seen->body.len >= seen->stop_after ? 42 : 0;
}

static void see_done(void *context, const struct http_result *result)
{
	struct seen *seen = context;

	seen->done++;
	seen->outcome = result->outcome;
	seen->status = result->status;
	seen->code = result->err.code;
	seen->error_bytes = result->error_body_bytes;
	seen->retry_after_s = result->retry_after_s;
	snprintf(seen->error_start, sizeof(seen->error_start), "%.14s", result->error_body);
	snprintf(seen->content_type, sizeof(seen->content_type), "%s", result->content_type);
	snprintf(seen->message, sizeof(seen->message), "%s", result->err.msg);
	snprintf(seen->where, sizeof(seen->where), "%s", result->err.where);
}

static struct http_request request_for(const char *path, struct seen *seen)
{
	*seen = (struct seen){.body = STRBUF_INIT(64 * 1024)};
	return (struct http_request){
		.path = path, .head = see_head, .body_piece = see_body, .done = see_done, .context = seen};
}

static void run_one(struct http_client *client, const struct http_request *request)
{
	struct err err = ERR_INIT;

	assert_int_equal(http_client_submit(client, request, &err), 0);
	assert_int_equal(http_client_run(client, 0, &err), 0);
}

static void test_outcomes(void **state)
{
	static const struct {
		const char *name, *path;
		enum http_outcome outcome;
		long status;
		const char *body, *message;
		size_t stop_after;
		int64_t timeout_ms;
	} rows[] = {
		{"ok", "/ok?query=up", HTTP_DONE, 200, "hello", "", 0, 0},
		{"empty answer", "/empty", HTTP_DONE, 204, "", "", 0, 0},
		{"error status", "/error", HTTP_STATUS, 503, "", "HTTP status 503: query too long", 0, 0},
		{"redirects are not followed", "/redirect", HTTP_STATUS, 302, "", "HTTP status 302", 0, 0},
		{"no answer in time", "/hang", HTTP_TIMED_OUT, 0, "", "timed out", 0, 200},
		{"stopped by its reader", "/endless", HTTP_ABORTED, 200, NULL, "stopped by its reader", 4000, 0},
		{"shorter than promised", "/short", HTTP_BROKEN, 200, "only this", "connection broke", 0, 0},
		{"not HTTP", "/garbage", HTTP_BROKEN, 0, NULL, "connection broke", 0, 0},
	};
	struct server *server = *state;
	struct http_client *client = client_of(server->port, (struct http_client_config){0});

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct seen seen;
		struct http_request request = request_for(rows[i].path, &seen);
		char where[64];

		test_row(rows[i].name);
		seen.stop_after = rows[i].stop_after;
		request.timeout_ms = rows[i].timeout_ms;
		run_one(client, &request);
		assert_int_equal(seen.done, 1);
		assert_int_equal(seen.outcome, rows[i].outcome);
		assert_int_equal(seen.status, rows[i].status);
		if (rows[i].body)
			assert_string_equal(strbuf_text(&seen.body), rows[i].body);
		assert_true(strstarts(seen.message, rows[i].message));
		snprintf(where, sizeof(where), "http://127.0.0.1:%u/p%s", server->port, rows[i].path);
		if (rows[i].outcome != HTTP_DONE)
			assert_string_equal(seen.where, where);
		strbuf_release(&seen.body);
	}
	http_client_free(client);
}

static void test_what_callers_are_told(void **state)
{
	struct server *server = *state;
	struct http_client *client = client_of(server->port, (struct http_client_config){0});
	struct seen seen;
	struct http_request request = request_for("/ok", &seen);

	run_one(client, &request);
	assert_string_equal(seen.head_type, "text/plain");
	assert_string_equal(seen.content_type, "text/plain");
	assert_int_equal(seen.head_status, 200);
	strbuf_release(&seen.body);

	request = request_for("/empty", &seen);
	run_one(client, &request);
	assert_int_equal(seen.heads, 1);

	request = request_for("/error?token=secret", &seen);
	run_one(client, &request);
	assert_int_equal(seen.heads, 0);
	assert_int_equal(seen.error_bytes, HTTP_ERROR_BODY_BYTES);
	assert_string_equal(seen.error_start, "query too long");
	assert_int_equal(seen.retry_after_s, 7);
	assert_null(strstr(seen.where, "secret"));

	request = request_for("/endless", &seen);
	seen.stop_after = 1;
	run_one(client, &request);
	assert_int_equal(seen.code, 42);
	strbuf_release(&seen.body);
	http_client_free(client);
}

static void test_cannot_connect(void **state)
{
	(void)state;
	unsigned int port;
	int fd = listen_on_loopback(&port); /* bound, not listening: refused */
	struct http_client *client = client_of(port, (struct http_client_config){0});
	struct seen seen;
	struct http_request request = request_for("/ok", &seen);

	run_one(client, &request);
	assert_int_equal(seen.outcome, HTTP_CANNOT_CONNECT);
	assert_true(strstarts(seen.message, "cannot connect: "));
	http_client_free(client);
	close(fd);
}

static void test_tls_failure(void **state)
{
	struct server *server = *state;
	struct http_client_config config = {.timeout_ms = 5000};
	struct http_client *client = NULL;
	struct err err = ERR_INIT;
	struct seen seen;
	struct http_request request = request_for("/ok", &seen);
	char url[64];

	/* a CA file that cannot be read must not mean the system's CAs */
	snprintf(url, sizeof(url), "https://127.0.0.1:%u", server->port);
	config.base_url = url;
	config.ca_file = "/nonexistent/ca.pem";
	assert_int_equal(http_client_new(&config, &client, &err), 0);
	run_one(client, &request);
	assert_int_equal(seen.outcome, HTTP_TLS_FAILED);
	assert_true(strstarts(seen.message, "TLS failed: "));
	http_client_free(client);
}

static void test_concurrency(void **state)
{
	struct server *server = *state;
	struct http_client *client = client_of(server->port, (struct http_client_config){.timeout_ms = 60000});
	struct seen seen[4 * CONCURRENCY];
	struct err err = ERR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		struct http_request request = request_for("/meet", &seen[i]);

		assert_int_equal(http_client_submit(client, &request, &err), 0);
	}
	assert_int_equal(http_client_run(client, 0, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		assert_int_equal(seen[i].done, 1);
		assert_int_equal(seen[i].outcome, HTTP_DONE);
		strbuf_release(&seen[i].body);
	}
	assert_int_equal(server->most_in_flight, CONCURRENCY);
	http_client_free(client);
}

/* Request heads as the server got them: secrets are read anew, and headers, method and body arrive. */
static void test_request_on_the_wire(void **state)
{
	struct server *server = *state;
	char token_file[] = "/tmp/memtamer-token-XXXXXX";
	int fd = mkstemp(token_file);
	const struct http_client_header common[] = {{"X-Scope-OrgID", "team-a"}}, own[] = {{"X-Empty", ""}};
	struct http_client_config config = {.bearer_token_file = token_file, .headers = common, .n_headers = 1};
	struct http_client *client;
	struct http_request request = {.path = "/echo", .body = "query=up", .body_bytes = 8, .headers = own};
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(HEAD_BYTES);
	struct err err = ERR_INIT;

	request.n_headers = 1;
	assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
	assert_int_equal(write(fd, "first\n", 6), 6);
	client = client_of(server->port, config);
	assert_int_equal(http_client_fetch(client, &request, 0, &body, NULL, &err), 0);
	assert_true(strstarts(strbuf_text(&body), "POST /p/echo HTTP/1.1\r\n"));
	assert_non_null(strstr(strbuf_text(&body), "\r\nAuthorization: Bearer first\r\n"));
	assert_non_null(strstr(strbuf_text(&body), "\r\nX-Scope-OrgID: team-a\r\n"));
	assert_non_null(strstr(strbuf_text(&body), "\r\nX-Empty:"));
	assert_non_null(strstr(strbuf_text(&body), "\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
	assert_true(str_ends((struct str){strbuf_text(&body), body.len}, STR("\r\n\r\nquery=up")));

	assert_int_equal(pwrite(fd, "other\n", 6, 0), 6);
	request.body = NULL;
	strbuf_clear(&body);
	assert_int_equal(http_client_fetch(client, &request, 0, &body, NULL, &err), 0);
	assert_true(strstarts(strbuf_text(&body), "GET /p/echo HTTP/1.1\r\n"));
	assert_non_null(strstr(strbuf_text(&body), "\r\nAuthorization: Bearer other\r\n"));

	/* a line break in a secret would be a header of its own */
	assert_int_equal(pwrite(fd, "a\nX: y\n", 7, 0), 7);
	assert_int_equal(http_client_fetch(client, &request, 0, &body, NULL, &err), -EINVAL);
	assert_int_equal(unlink(token_file), 0);
	assert_int_equal(http_client_fetch(client, &request, 0, &body, NULL, &err), -ENOENT);
	http_client_free(client);
	unsetenv("http_proxy");
	close(fd);
}

static void submit_again(void *context, const struct http_result *result)
{
	struct http_client *client = *(struct http_client **)context;
	struct http_request request = {.path = "/hang", .done = submit_again, .context = context};

	assert_int_equal(result->outcome, HTTP_CANCELLED);
	assert_int_equal(http_client_submit(client, &request, NULL), -ECANCELED);
}

static void *interrupt_main(void *context)
{
	http_client_interrupt(context);
	return NULL;
}

static void test_interrupt_and_deadline(void **state)
{
	struct server *server = *state;
	struct http_client *client = client_of(server->port, (struct http_client_config){0});
	struct http_request request = {.path = "/hang", .done = submit_again, .context = &client};
	struct err err = ERR_INIT;
	pthread_t thread;

	for (size_t i = 0; i < 2 * CONCURRENCY; i++)
		assert_int_equal(http_client_submit(client, &request, &err), 0);
	assert_int_equal(http_client_run(client, time_monotonic_ms() + 50, &err), 1);
	for (size_t i = 0; i < 2 * CONCURRENCY; i++)
		assert_int_equal(http_client_submit(client, &request, &err), 0);
	assert_int_equal(pthread_create(&thread, NULL, interrupt_main, client), 0);
	assert_int_equal(http_client_run(client, 0, &err), 1);
	pthread_join(thread, NULL);
	/* left in the queue: freed with the client */
	assert_int_equal(http_client_submit(client, &request, &err), 0);
	http_client_free(client);
}

static void test_bad_configuration(void **state)
{
	(void)state;
	static const struct http_client_header split = {"X-Tenant", "a\r\nX-Other: b"};
	static const struct {
		const char *name;
		struct http_client_config config;
	} rows[] = {
		{"no URL", {0}},
		{"other scheme", {.base_url = "ftp://host/"}},
		{"no scheme", {.base_url = "localhost:9090"}},
		{"credentials", {.base_url = "http://user:pw@host"}},
		{"query", {.base_url = "http://host/?a=b"}},
		{"header splitting", {.base_url = "http://host", .headers = &split, .n_headers = 1}},
		{"certificate without key", {.base_url = "http://host", .cert_file = "c.pem"}},
		{"two authentications", {.base_url = "http://host", .basic_user = "u", .bearer_token_file = "t"}},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_client *client = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		assert_int_equal(http_client_new(&rows[i].config, &client, &err), -EINVAL);
		assert_true(err.msg[0] != '\0');
		assert_null(strstr(err.msg, "pw"));
		assert_null(client);
	}
}

/* The caller of a round must see what callbacks have changed before the next wait. */
static void test_a_request_that_cannot_start_ends_the_wait(void **state)
{
	(void)state;
	struct http_client *client = client_of(1,
					       (struct http_client_config){.bearer_token_file = "/dev/null/no-file"});
	struct err err = ERR_INIT;
	struct seen seen;
	struct http_request request = request_for("/ok", &seen);
	int64_t wait_ms = TIME_MINUTE_MS, began_ms = time_monotonic_ms();

	assert_int_equal(http_client_submit(client, &request, &err), 0);
	assert_int_equal(http_client_poll(client, NULL, 0, wait_ms, &err), 0);
	assert_int_equal(seen.done, 1);
	assert_int_equal(seen.outcome, HTTP_FAILED_LOCALLY);
	assert_true(time_monotonic_ms() - began_ms < wait_ms);
	http_client_free(client);
}

static void test_form(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf form = STRBUF_INIT(128);

	assert_int_equal(http_form_add(&form, "query", "up{a=\"b c\"}"), 0);
	assert_int_equal(http_form_add(&form, "time", "1.5"), 0);
	assert_string_equal(strbuf_text(&form), "query=up%7Ba%3D%22b%20c%22%7D&time=1.5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_outcomes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_callers_are_told, set_up, tear_down),
		cmocka_unit_test(test_cannot_connect),
		cmocka_unit_test_setup_teardown(test_tls_failure, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_concurrency, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_request_on_the_wire, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interrupt_and_deadline, set_up, tear_down),
		cmocka_unit_test(test_bad_configuration),
		cmocka_unit_test(test_a_request_that_cannot_start_ends_the_wait),
		cmocka_unit_test(test_form),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
