/* SPDX-License-Identifier: Apache-2.0 */
/* The connections and the thread that ends slow ones. libmicrohttpd's timeout measures inactivity, so one byte a second
 * keeps a connection for ever. Three things are watched:
 *  - a handshake or a request (state HANDSHAKE or BUSY) older than the deadline;
 *  - an idle connection whose byte counter moves while no request ends: a head that drips in.
 * It also wakes held requests whose time is over (server_hold.c).
 * shutdown() makes the pool thread see the end and clean up; only it closes the socket. */
#include "base/timefmt.h"
#include "http_server/server_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define TICK_MIN_MS 10
#define TICK_MAX_MS 1000

struct connection *connection_new(struct http_server *self, int fd)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return NULL;
	connection->server = self;
	connection->fd = fd;
	connection->response.body = (struct strbuf)STRBUF_INIT(4 * 1024 * 1024);
	connection_set_state(connection, self->config.is_plain ? CONNECTION_IDLE : CONNECTION_HANDSHAKE);
	server_peer_text(fd, connection->peer, sizeof(connection->peer));
	pthread_mutex_lock(&self->mutex);
	connection->next = self->connections;
	if (connection->next)
		connection->next->previous = connection;
	self->connections = connection;
	self->n_connections++;
	pthread_mutex_unlock(&self->mutex);
	return connection;
}

void connection_free(struct connection *connection)
{
	struct http_server *self = connection->server;

	pthread_mutex_lock(&self->mutex);
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		self->connections = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	self->n_connections--;
	pthread_mutex_unlock(&self->mutex);
	credentials_unref(connection->credentials);
	body_release(connection);
	strbuf_release(&connection->response.body);
	free(connection);
}

void connection_set_state(struct connection *connection, enum connection_state state)
{
	atomic_store(&connection->since_ms, time_monotonic_ms());
	atomic_store(&connection->state, (int)state);
}

static uint64_t received_bytes(int fd)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) ? 0 : info.tcpi_bytes_received;
}

/* Since when a head has been coming in on an idle connection; 0: none is. */
static int64_t dripping_since(struct connection *connection, int64_t now_ms)
{
	unsigned int requests = atomic_load(&connection->requests);
	uint64_t bytes = received_bytes(connection->fd);

	if (connection->watched_requests != requests || connection->watched_bytes == 0) {
		connection->watched_requests = requests;
		connection->dripping_since_ms = 0;
	} else if (bytes != connection->watched_bytes && !connection->dripping_since_ms) {
		connection->dripping_since_ms = now_ms;
	}
	connection->watched_bytes = bytes ? bytes : 1;
	return connection->dripping_since_ms;
}

static void close_if_slow(struct connection *connection, int64_t now_ms)
{
	static const char *const reasons[] = {"the handshake took too long", "the head of a request took too long",
					      "a request took too long"};
	struct http_server *self = connection->server;
	int state = atomic_load(&connection->state);
	int64_t since_ms = atomic_load(&connection->since_ms);

	if (state == CONNECTION_IDLE)
		since_ms = dripping_since(connection, now_ms);
	if (since_ms == 0 || now_ms - since_ms <= self->config.request_timeout_ms)
		return;
	connection->dripping_since_ms = 0;
	atomic_store(&connection->is_end_told, true);
	/* told once a deadline, should the pool thread be late */
	atomic_store(&connection->since_ms, now_ms);
	shutdown(connection->fd, SHUT_RDWR);
	server_observe(self, &(struct http_server_event){.type = HTTP_EVENT_WATCHDOG_CLOSED,
							 .path = "other",
							 .reason = reasons[state],
							 .peer = connection->peer});
}

/* Or until something is held or the server ends. */
static void wait_until(struct http_server *self, int64_t until_ms)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
				       .tv_nsec = (long)(until_ms % 1000) * 1000000};

	pthread_cond_timedwait(&self->wake, &self->mutex, &until);
}

static void *watchdog_main(void *context)
{
	struct http_server *self = context;
	int64_t tick_ms = MIN(MAX(self->config.request_timeout_ms / 8, TICK_MIN_MS), TICK_MAX_MS), next_ms = 0;

	pthread_mutex_lock(&self->mutex);
	while (!self->is_stopping) {
		int64_t now_ms = time_monotonic_ms();

		hold_look(self, now_ms);
		if (now_ms >= next_ms) {
			for (struct connection *c = self->connections; c; c = c->next)
				close_if_slow(c, now_ms);
			next_ms = now_ms + tick_ms;
		}
		wait_until(self, self->held_until_ms ? MIN(self->held_until_ms, next_ms) : next_ms);
	}
	pthread_mutex_unlock(&self->mutex);
	return NULL;
}

int watchdog_start(struct http_server *self, struct err *err)
{
	int r = pthread_create(&self->watchdog, NULL, watchdog_main, self);

	if (r)
		return err_set(err, -r, "cannot start a thread: %s", strerror(r));
	self->has_watchdog = true;
	return 0;
}

void watchdog_stop(struct http_server *self)
{
	if (!self->has_watchdog)
		return;
	pthread_mutex_lock(&self->mutex);
	self->is_stopping = true;
	pthread_cond_signal(&self->wake);
	pthread_mutex_unlock(&self->mutex);
	pthread_join(self->watchdog, NULL);
	self->has_watchdog = false;
}
