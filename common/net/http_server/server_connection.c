/* SPDX-License-Identifier: Apache-2.0 */
/* The life cycle of a connection: its state, its place in a list, and the memory of its buffers. All functions take
 * constant time. */
#include "http_server/server_internal.h"
#include "base/limits.h"
#include "base/timefmt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RESPONSE_BYTES (4 * MIB)

void server_observe(const struct http_server *self, const struct http_server_event *event)
{
	if (self->config.observe)
		self->config.observe(self->config.context, event);
}

void server_report(const struct http_server *self, enum http_server_event_type type, const char *reason,
		   const char *peer)
{
	server_observe(self,
		       &(struct http_server_event){.type = type, .path = "other", .reason = reason, .peer = peer});
}

/* ---- lists ---- */

static const size_t weights[CONNECTION_STATE_COUNT_] = {
	[CONNECTION_FRESH] = WEIGHT_FRESH, [CONNECTION_BUSY] = WEIGHT_OTHER, [CONNECTION_IDLE] = WEIGHT_OTHER};

static void list_remove(struct connection *connection)
{
	struct connection_list *list = &connection->group->lists[connection->state];

	TAILQ_REMOVE(&list->connections, connection, link);
	list->n--;
	atomic_fetch_sub(&connection->server->weight, weights[connection->state]);
}

static void list_append(struct connection *connection, enum connection_state state)
{
	struct connection_list *list = &connection->group->lists[state];

	connection->state = state;
	connection->since_ms = time_monotonic_ms();
	TAILQ_INSERT_TAIL(&list->connections, connection, link);
	list->n++;
	atomic_fetch_add(&connection->server->weight, weights[state]);
}

void connection_set_state(struct connection *self, enum connection_state state)
{
	struct http_server *server = self->server;

	pthread_mutex_lock(&server->mutex);
	if (self->state != CONNECTION_CLOSING) {
		list_remove(self);
		list_append(self, state);
	}
	pthread_mutex_unlock(&server->mutex);
}

bool connection_is_closing(struct connection *self)
{
	struct http_server *server = self->server;
	bool is_closing;

	pthread_mutex_lock(&server->mutex);
	is_closing = self->state == CONNECTION_CLOSING;
	pthread_mutex_unlock(&server->mutex);
	return is_closing;
}

void connection_shut(struct connection *self, char ret_peer[PEER_BYTES])
{
	list_remove(self);
	list_append(self, CONNECTION_CLOSING);
	shutdown(self->fd, SHUT_RDWR);
	memcpy(ret_peer, self->peer, PEER_BYTES);
}

/* ---- life ---- */

struct connection *connection_new(struct http_server *self, int fd)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return NULL;
	connection->server = self;
	connection->fd = fd;
	connection->is_handshaking = !self->config.is_plain;
	connection->response.body = (struct strbuf)STRBUF_INIT(RESPONSE_BYTES);
	connection->group =
		&self->groups[server_peer(fd, connection->peer, sizeof(connection->peer)) % CONNECTION_GROUPS];
	pthread_mutex_lock(&self->mutex);
	list_append(connection, CONNECTION_FRESH);
	pthread_mutex_unlock(&self->mutex);
	return connection;
}

void connection_free(struct connection *self)
{
	struct http_server *server = self->server;

	pthread_mutex_lock(&server->mutex);
	list_remove(self);
	pthread_mutex_unlock(&server->mutex);
	connection_release_body(self);
	strbuf_release(&self->response.body);
	free(self);
}

/* ---- memory ---- */

bool connection_charge(struct connection *self, size_t bytes)
{
	struct http_server *server = self->server;
	size_t charged = bytes > HTTP_CONNECTION_BYTES ? bytes - HTTP_CONNECTION_BYTES : 0, more;

	if (charged <= self->charged_bytes)
		return true;
	more = charged - self->charged_bytes;
	if (atomic_fetch_add(&server->buffers_bytes, more) + more > server->config.buffers_total_bytes) {
		atomic_fetch_sub(&server->buffers_bytes, more);
		return false;
	}
	self->charged_bytes = charged;
	return true;
}

void connection_release_body(struct connection *self)
{
	free(TAKE_PTR(self->body));
	self->body_bytes = self->body_capacity = 0;
	atomic_fetch_sub(&self->server->buffers_bytes, self->charged_bytes);
	self->charged_bytes = 0;
}
