/* SPDX-License-Identifier: Apache-2.0 */
/* Start, drain and stop. libmicrohttpd runs with poll(), because with its epoll modes (which "auto" chooses) seven
 * bytes of a ClientHello keep a core busy until the timeout. */
#include "http_server/server_internal.h"
#include "base/log.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TLS_PRIORITIES	 "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
#define DRAIN_POLL_NS	 (2 * 1000 * 1000)
#define PANIC_FLUSH_MS	 1000
#define CONNECTION_BYTES (32 * 1024) /* memory for the head of a request and for sending */

static void on_log(void *context, const char *format, va_list args) ATTR_PRINTF(2, 0);

static void on_log(void *context, const char *format, va_list args)
{
	char text[256];

	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	server_report(context, HTTP_EVENT_LIBRARY, text, "");
}

/* libmicrohttpd found its state corrupted. The process ends, because otherwise a client might get the answer for
 * another. */
static void on_panic(void *context, const char *file, unsigned int line, const char *reason)
{
	char where[128];

	(void)context;
	snprintf(where, sizeof(where), "%s:%u", file, line);
	log_event(LOG_ERROR, "fatal error of libmicrohttpd, the HTTP server", "where", where, "error",
		  reason ? reason : "", NULL);
	log_flush(PANIC_FLUSH_MS);
	abort();
}

static void connection_begins(struct http_server *self, struct MHD_Connection *mhd, void **socket_context)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	int fd = info ? info->connect_fd : -1;
	struct connection *connection = connection_new(self, fd);

	*socket_context = connection;
	/* without our struct or credentials the peer sees the connection end instead of a handshake */
	if (!connection || (!self->config.is_plain && tls_attach(connection, mhd)))
		shutdown(fd, SHUT_RDWR);
}

static void connection_ends(struct http_server *self, struct connection *connection)
{
	if (connection->is_handshaking && !connection->is_refused && !connection_is_closing(connection)) {
		bool wants_client = connection->credentials && credentials_want_client(connection->credentials);

		server_report(self, HTTP_EVENT_HANDSHAKE_ENDED,
			      wants_client ? "no handshake; a client certificate is required" : "no handshake",
			      connection->peer);
	}
	tls_detach(connection);
	connection_free(connection);
}

static void on_connection(void *context, struct MHD_Connection *mhd, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_server *self = context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		connection_begins(self, mhd, socket_context);
	} else if (*socket_context) {
		connection_ends(self, *socket_context);
		*socket_context = NULL;
	}
}

static enum MHD_Result on_accept(void *context, const struct sockaddr *address, socklen_t length)
{
	(void)address, (void)length;
	return connections_make_room(context) ? MHD_YES : MHD_NO;
}

/* libmicrohttpd's own limit, which is so high that it is never reached: at its limit libmicrohttpd stops accepting, and
 * it divides the limit among the threads. */
static unsigned int daemon_limit(const struct http_server_config *config)
{
	return config->threads * (HTTP_SOCKETS * config->connections + config->threads);
}

static int start_daemon(struct http_server *self, struct err *err)
{
	const struct http_server_config *config = &self->config;
	unsigned int flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem options[] = {
		/* first, so that it receives all messages */
		{MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_log, self},
		{MHD_OPTION_LISTEN_SOCKET, self->listen_fd, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, (intptr_t)daemon_limit(config), NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)MAX(1, config->idle_timeout_ms / 1000), NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
		{MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, self},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)request_completed, self},
		{MHD_OPTION_END, 0, NULL},
		{MHD_OPTION_END, 0, NULL},
		{MHD_OPTION_END, 0, NULL},
		{MHD_OPTION_END, 0, NULL},
	};
	size_t n = ARRAY_LEN(options) - 4;

	if (config->threads > 1)
		options[n++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)config->threads, NULL};
	if (!config->is_plain) {
		flags |= MHD_USE_TLS;
		options[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
						       (void *)(uintptr_t)TLS_PRIORITIES};
		options[n++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)tls_no_certificate};
	}
	MHD_set_panic_func(on_panic, NULL);
	self->daemon = MHD_start_daemon(flags, 0, on_accept, self, request_handle, self, MHD_OPTION_ARRAY, options,
					MHD_OPTION_END);
	if (!self->daemon)
		return err_set(err, -EIO, "the HTTP server does not start");
	self->listen_fd = -1; /* libmicrohttpd owns it now */
	return 0;
}

static struct http_server *server_new(const struct http_server_config *config)
{
	struct http_server *self = calloc(1, sizeof(*self));
	pthread_condattr_t attributes;

	if (!self)
		return NULL;
	self->config = *config;
	self->listen_fd = -1;
	for (size_t i = 0; i < CONNECTION_GROUPS; i++)
		for (size_t state = 0; state < CONNECTION_STATE_COUNT_; state++)
			TAILQ_INIT(&self->groups[i].lists[state].connections);
	pthread_mutex_init(&self->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&self->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	return self;
}

int http_server_start(const struct http_server_config *config, struct http_server **ret, struct err *err)
{
	struct http_server *self = server_new(config);
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	r = server_listen(config->listen, &self->listen_fd, &self->port, err);
	self->config.listen = NULL; /* the string may not live long enough */
	if (!r)
		r = watchdog_start(self, err);
	if (!r)
		r = start_daemon(self, err);
	if (r)
		http_server_free(self);
	else
		*ret = self;
	return r;
}

unsigned int http_server_port(const struct http_server *self)
{
	return self->port;
}

bool http_server_has_credentials(struct http_server *self)
{
	bool has;

	pthread_mutex_lock(&self->mutex);
	has = self->current;
	pthread_mutex_unlock(&self->mutex);
	return has;
}

size_t http_server_connections(struct http_server *self)
{
	size_t n = 0;

	pthread_mutex_lock(&self->mutex);
	for (size_t i = 0; i < CONNECTION_GROUPS; i++)
		for (size_t state = 0; state < CONNECTION_STATE_COUNT_; state++)
			n += self->groups[i].lists[state].n;
	pthread_mutex_unlock(&self->mutex);
	return n;
}

size_t http_server_in_flight(struct http_server *self)
{
	return atomic_load(&self->in_flight);
}

void http_server_drain_start(struct http_server *self)
{
	atomic_store(&self->is_draining, true);
}

int http_server_drain_finish(struct http_server *self, int64_t timeout_ms)
{
	const struct timespec pause = {.tv_nsec = DRAIN_POLL_NS};
	int64_t until_ms = time_monotonic_ms() + timeout_ms;

	http_server_drain_start(self);
	if (self->listen_fd < 0)
		self->listen_fd = MHD_quiesce_daemon(self->daemon);
	/* The socket must stay open until the daemon has stopped, but new clients should be refused instead of
	 * waiting. */
	if (self->listen_fd >= 0)
		shutdown(self->listen_fd, SHUT_RDWR);
	while (atomic_load(&self->in_flight) > 0) {
		if (time_monotonic_ms() >= until_ms)
			return 1;
		nanosleep(&pause, NULL);
	}
	return 0;
}

void http_server_free(struct http_server *self)
{
	if (!self)
		return;
	watchdog_stop(self);
	if (self->daemon)
		MHD_stop_daemon(self->daemon);
	if (self->listen_fd >= 0)
		close(self->listen_fd);
	credentials_unref(self->current);
	pthread_cond_destroy(&self->wake);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}
