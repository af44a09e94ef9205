/* SPDX-License-Identifier: Apache-2.0 */
/* pace: an open-loop HTTPS client. Requests start by the clock, not when the last answer came, and a latency counts
 * from the moment its request was due: a stall of the server is seen by every request that it delays. Each thread has
 * one kept-alive connection and its own slots of the schedule.
 *
 * pace PORT RATE SECONDS CONNECTIONS BODY-FILE [PATH] prints one JSON line. */
#include "base/attr.h"
#include "base/err.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/strbuf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000
#define MAX_THREADS   256

struct plan {
	unsigned short port;
	int64_t rate, seconds, connections;
	const char *request;
	size_t request_bytes;
	SSL_CTX *context;
	int64_t start_ns;
	int64_t *latencies_ns; /* by slot; -1: failed */
	int64_t slots;
};

struct client {
	struct plan *plan;
	int64_t index;
	pthread_t thread;
	SSL *ssl;
	int fd;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_PER_SECOND + t.tv_nsec;
}

static void sleep_until(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / NS_PER_SECOND, .tv_nsec = ns % NS_PER_SECOND};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void hang_up(struct client *self)
{
	SSL_free(self->ssl);
	self->ssl = NULL;
	closep(&self->fd);
	self->fd = -1;
}

static bool dial(struct client *self)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(self->plan->port)};
	int one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	self->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (self->fd < 0 || connect(self->fd, (struct sockaddr *)&address, sizeof(address)))
		return false;
	setsockopt(self->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	self->ssl = SSL_new(self->plan->context);
	return self->ssl && SSL_set_fd(self->ssl, self->fd) == 1 && SSL_connect(self->ssl) == 1;
}

/* Length of head and body once the head is there; 0: not yet; -1: no answer of ours. */
static int64_t answer_bytes(const char *text)
{
	const char *end = strstr(text, "\r\n\r\n"), *field;

	if (!end)
		return 0;
	field = strcasestr(text, "\r\nContent-Length:");
	if (strncmp(text, "HTTP/1.1 200 ", 13) != 0 || !field || field > end)
		return -1;
	return end + 4 - text + strtoll(field + 17, NULL, 10);
}

static bool exchange(struct client *self)
{
	char buf[16384];
	size_t n = 0;

	if (SSL_write(self->ssl, self->plan->request, (int)self->plan->request_bytes) <= 0)
		return false;
	while (n < sizeof(buf) - 1) {
		int got = SSL_read(self->ssl, buf + n, (int)(sizeof(buf) - 1 - n));
		int64_t want;

		if (got <= 0)
			return false;
		n += (size_t)got;
		buf[n] = '\0';
		want = answer_bytes(buf);
		if (want < 0 || (want > 0 && (int64_t)n >= want))
			return want > 0;
	}
	return false;
}

static void *run_client(void *context)
{
	struct client *self = context;
	struct plan *plan = self->plan;

	for (int64_t slot = self->index; slot < plan->slots; slot += plan->connections) {
		int64_t due = plan->start_ns + slot * NS_PER_SECOND / plan->rate;

		sleep_until(due);
		if ((self->ssl || dial(self)) && exchange(self)) {
			plan->latencies_ns[slot] = now_ns() - due;
		} else {
			plan->latencies_ns[slot] = -1;
			hang_up(self);
		}
	}
	hang_up(self);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void print_result(struct plan *plan)
{
	int64_t failed = 0, n, *sorted;

	qsort(plan->latencies_ns, (size_t)plan->slots, sizeof(int64_t), by_value);
	while (failed < plan->slots && plan->latencies_ns[failed] < 0)
		failed++;
	sorted = plan->latencies_ns + failed;
	n = plan->slots - failed;
	printf("{\"requests\":%lld,\"failed\":%lld", (long long)plan->slots, (long long)failed);
	if (n)
		printf(",\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f", (double)sorted[n / 2] / 1e3,
		       (double)sorted[n * 99 / 100] / 1e3, (double)sorted[n * 999 / 1000] / 1e3,
		       (double)sorted[n - 1] / 1e3);
	puts("}");
}

static int run_plan(struct plan *plan)
{
	struct client *clients = calloc((size_t)plan->connections, sizeof(*clients));

	plan->slots = plan->rate * plan->seconds;
	plan->latencies_ns = calloc((size_t)plan->slots, sizeof(int64_t));
	plan->context = SSL_CTX_new(TLS_client_method());
	if (!clients || !plan->latencies_ns || !plan->context)
		return 1;
	plan->start_ns = now_ns() + NS_PER_SECOND / 5;
	for (int64_t i = 0; i < plan->connections; i++) {
		clients[i] = (struct client){.plan = plan, .index = i, .fd = -1};
		/* Connected before the clock starts: this measures requests, not handshakes. */
		if (!dial(&clients[i]) || pthread_create(&clients[i].thread, NULL, run_client, &clients[i]))
			return 1;
	}
	for (int64_t i = 0; i < plan->connections; i++)
		pthread_join(clients[i].thread, NULL);
	print_result(plan);
	SSL_CTX_free(plan->context);
	free(plan->latencies_ns);
	free(clients);
	return 0;
}

static bool number(const char *text, int64_t max, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	return !errno && end != text && !*end && *ret > 0 && *ret <= max;
}

int main(int argc, char **argv)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(LIMIT_REVIEW_BYTES);
	CLEANUP(strbuf_release) struct strbuf request = STRBUF_INIT(LIMIT_REVIEW_BYTES + KIB);
	struct err err = ERR_INIT;
	struct plan plan = {.port = 0};
	int64_t port;

	if (argc < 6 || !number(argv[1], 65535, &port) || !number(argv[2], 1000000, &plan.rate) ||
	    !number(argv[3], 3600, &plan.seconds) || !number(argv[4], MAX_THREADS, &plan.connections) ||
	    io_read_file(argv[5], &body, &err)) {
		fprintf(stderr, "usage: pace PORT RATE SECONDS CONNECTIONS BODY-FILE [PATH]\n%s\n", err.msg);
		return 2;
	}
	plan.port = (unsigned short)port;
	strbuf_addf(&request,
		    "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
		    "Content-Length: %zu\r\n\r\n",
		    argc > 6 ? argv[6] : "/mutate", body.len);
	if (strbuf_add(&request, body.text, body.len))
		return 1;
	plan.request = strbuf_text(&request);
	plan.request_bytes = request.len;
	return run_plan(&plan);
}
