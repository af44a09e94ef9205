/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait for something without a thread. libmicrohttpd neither times a suspended connection out nor sees
 * that its client has gone, so none is held for long, and the watchdog wakes those whose time is over. A connection in
 * the list stays alive: libmicrohttpd does not touch it before it is resumed, and resuming is done without our mutex.
 */
#include "base/timefmt.h"
#include "http_server/server_internal.h"

/* Each may hold a body. A server that is this far behind does better to answer with what it has. */
#define HELD_MAX 256

bool hold_is_allowed(struct connection *connection, uint64_t *ret_wakes)
{
	struct http_server *self = connection->server;
	bool is_allowed;

	if (!self->config.hold_timeout_ms)
		return false;
	pthread_mutex_lock(&self->mutex);
	is_allowed = !self->holds_no_more && self->n_held < HELD_MAX;
	*ret_wakes = self->wakes;
	pthread_mutex_unlock(&self->mutex);
	return is_allowed && (!connection->held_since_ms ||
			      time_monotonic_ms() < connection->held_since_ms + self->config.hold_timeout_ms);
}

static int64_t held_until(const struct connection *connection)
{
	return connection->held_since_ms + connection->server->config.hold_timeout_ms;
}

/* The first one's time ends the watchdog's pause. */
static void set_time(struct http_server *self)
{
	self->held_until_ms = 0;
	for (const struct connection *c = self->held; c; c = c->next_held)
		if (!self->held_until_ms || held_until(c) < self->held_until_ms)
			self->held_until_ms = held_until(c);
}

void hold_begin(struct connection *connection, struct MHD_Connection *mhd, uint64_t wakes)
{
	struct http_server *self = connection->server;
	bool is_held;

	if (!connection->held_since_ms)
		connection->held_since_ms = time_monotonic_ms();
	MHD_suspend_connection(mhd);
	pthread_mutex_lock(&self->mutex);
	is_held = self->wakes == wakes && !self->holds_no_more;
	if (is_held) {
		connection->mhd = mhd;
		connection->next_held = self->held;
		self->held = connection;
		self->n_held++;
		set_time(self);
		pthread_cond_signal(&self->wake);
	}
	pthread_mutex_unlock(&self->mutex);
	if (!is_held)
		MHD_resume_connection(mhd);
}

/* Those whose time is over by then, as a list of their own. Under the mutex. */
static struct connection *take(struct http_server *self, int64_t until_ms)
{
	struct connection *taken = NULL, **at = &self->held;

	while (*at) {
		struct connection *connection = *at;

		if (held_until(connection) > until_ms) {
			at = &connection->next_held;
			continue;
		}
		*at = connection->next_held;
		connection->next_held = taken;
		taken = connection;
		self->n_held--;
	}
	set_time(self);
	return taken;
}

/* Once it is resumed a connection may be gone at once. */
static void resume(struct connection *taken)
{
	while (taken) {
		struct connection *next = taken->next_held;

		MHD_resume_connection(taken->mhd);
		taken = next;
	}
}

void http_server_wake_held(struct http_server *self)
{
	struct connection *taken;

	pthread_mutex_lock(&self->mutex);
	self->wakes++;
	taken = take(self, INT64_MAX);
	pthread_mutex_unlock(&self->mutex);
	resume(taken);
}

void hold_look(struct http_server *self, int64_t now_ms)
{
	struct connection *taken;

	if (!self->held_until_ms || now_ms < self->held_until_ms)
		return;
	taken = take(self, now_ms);
	pthread_mutex_unlock(&self->mutex);
	resume(taken);
	pthread_mutex_lock(&self->mutex);
}

void hold_end(struct http_server *self)
{
	pthread_mutex_lock(&self->mutex);
	self->holds_no_more = true;
	pthread_mutex_unlock(&self->mutex);
	http_server_wake_held(self);
}
