/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_api.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_STEPS	64
#define MAX_REQUESTS	256
#define MAX_CONNECTIONS 512
#define REQUEST_BYTES	(2 << 20)

struct fake_api {
	const struct fake_step *steps;
	fake_answer_fn *answer;
	void *context;
	size_t taken[MAX_STEPS];
	int fd, connections[MAX_CONNECTIONS];
	size_t n_connections, n_running, n_requests, n_unexpected;
	char *requests[MAX_REQUESTS];
	char url[64];
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
};

struct connection {
	struct fake_api *api;
	size_t index;
	int fd;
};

static bool send_all(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		bytes += sent;
		n -= (size_t)sent;
	}
	return true;
}

/* Head and body. 0 at the end of the connection. */
static size_t read_request(int fd, char *buf, size_t size)
{
	size_t n = 0, whole = 0;

	while (n + 1 < size && (!whole || n < whole)) {
		ssize_t got = recv(fd, buf + n, size - 1 - n, 0);
		const char *end, *length;

		if (got <= 0)
			return 0;
		n += (size_t)got;
		buf[n] = '\0';
		end = strstr(buf, "\r\n\r\n");
		if (!end || whole)
			continue;
		length = strcasestr(buf, "\r\nContent-Length:");
		whole = (size_t)(end + 4 - buf) + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
	}
	return n;
}

/* The caller holds the mutex. */
static size_t count(const struct fake_api *api, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < api->n_requests; i++)
		n += strstr(api->requests[i], text) != NULL;
	return n;
}

static const struct fake_step *take_step(struct fake_api *api, const char *request, struct fake_step *own,
					 char **ret_body)
{
	const struct fake_step *found = NULL;

	pthread_mutex_lock(&api->mutex);
	if (api->n_requests < MAX_REQUESTS)
		api->requests[api->n_requests++] = strdup(request);
	pthread_cond_broadcast(&api->changed);
	if (api->answer) {
		own->body = *ret_body = api->answer(api->context, request, own);
		found = own;
	}
	for (size_t i = 0; !found && api->steps[i].fits; i++) {
		size_t times = api->steps[i].times ? api->steps[i].times : 1;

		if (api->taken[i] < times && strstr(request, api->steps[i].fits)) {
			api->taken[i]++;
			found = &api->steps[i];
		}
	}
	api->n_unexpected += !found;
	while (found && found->after && !count(api, found->after))
		pthread_cond_wait(&api->changed, &api->mutex);
	pthread_mutex_unlock(&api->mutex);
	return found;
}

static bool send_pieces(int fd, const struct fake_step *step, size_t n)
{
	size_t piece = step->piece_bytes ? step->piece_bytes : n;
	char head[32];

	for (size_t at = 0; at < n; at += piece) {
		size_t now = n - at < piece ? n - at : piece;

		snprintf(head, sizeof(head), "%zx\r\n", now);
		if (step->end != FAKE_WHOLE && !send_all(fd, head, strlen(head)))
			return false;
		if (!send_all(fd, step->body + at, now) || (step->end != FAKE_WHOLE && !send_all(fd, "\r\n", 2)))
			return false;
	}
	return true;
}

/* True: the connection goes on. */
static bool answer(int fd, const struct fake_step *step)
{
	static const struct fake_step none = {.status = 599, .body = "no step fits this request"};
	char head[1024], rest[64];
	size_t n;

	if (!step)
		step = &none;
	n = step->body ? strlen(step->body) : 0;
	snprintf(rest, sizeof(rest), "Content-Length: %zu\r\n\r\n", n);
	snprintf(head, sizeof(head), "HTTP/1.1 %d x\r\nContent-Type: application/json\r\n%s%s",
		 step->status ? step->status : 200, step->headers ? step->headers : "",
		 step->end == FAKE_WHOLE ? rest : "Transfer-Encoding: chunked\r\n\r\n");
	if (step->end != FAKE_SILENT && (!send_all(fd, head, strlen(head)) || !send_pieces(fd, step, n)))
		return false;
	if (step->end == FAKE_HOLD || step->end == FAKE_SILENT) {
		/* until the other side closes, or fake_api_free does */
		while (recv(fd, rest, sizeof(rest), 0) > 0)
			;
		return false;
	}
	return step->end == FAKE_WHOLE || (step->end == FAKE_END && send_all(fd, "0\r\n\r\n", 5));
}

static void *connection_main(void *context)
{
	struct connection *connection = context;
	struct fake_api *api = connection->api;
	char *buf = malloc(REQUEST_BYTES);

	while (read_request(connection->fd, buf, REQUEST_BYTES) > 0) {
		struct fake_step own = {.status = 200};
		char *body = NULL;
		bool goes_on = answer(connection->fd, take_step(api, buf, &own, &body));

		free(body);
		if (!goes_on)
			break;
	}
	free(buf);
	pthread_mutex_lock(&api->mutex);
	api->connections[connection->index] = -1;
	close(connection->fd);
	api->n_running--;
	pthread_cond_broadcast(&api->changed);
	pthread_mutex_unlock(&api->mutex);
	free(connection);
	return NULL;
}

static size_t free_slot(struct fake_api *api)
{
	for (size_t i = 0; i < api->n_connections; i++)
		if (api->connections[i] < 0)
			return i;
	if (api->n_connections == MAX_CONNECTIONS)
		abort();
	return api->n_connections++;
}

static void *accept_main(void *context)
{
	struct fake_api *api = context;
	int fd;

	while ((fd = accept4(api->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct connection *connection = calloc(1, sizeof(*connection));
		pthread_t thread;

		/* head and body are sent one after the other: not to wait for an acknowledgement in between */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		pthread_mutex_lock(&api->mutex);
		*connection = (struct connection){api, free_slot(api), fd};
		api->connections[connection->index] = fd;
		api->n_running++;
		pthread_mutex_unlock(&api->mutex);
		if (pthread_create(&thread, NULL, connection_main, connection))
			abort();
		pthread_detach(thread);
	}
	return NULL;
}

static struct fake_api *start(const struct fake_step *steps, fake_answer_fn *own, void *context)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	struct fake_api *self = calloc(1, sizeof(*self));
	pthread_mutexattr_t attributes;

	self->steps = steps;
	self->answer = own;
	self->context = context;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&self->mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	pthread_cond_init(&self->changed, NULL);
	self->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* With a shorter queue, of many connections at once on a slow machine one is answered by a cookie and then
	 * reset. */
	if (self->fd < 0 || bind(self->fd, (struct sockaddr *)&address, size) || listen(self->fd, MAX_CONNECTIONS) ||
	    getsockname(self->fd, (struct sockaddr *)&address, &size))
		abort();
	snprintf(self->url, sizeof(self->url), "http://127.0.0.1:%u", ntohs(address.sin_port));
	if (pthread_create(&self->thread, NULL, accept_main, self))
		abort();
	return self;
}

struct fake_api *fake_api_start(const struct fake_step *steps)
{
	return start(steps, NULL, NULL);
}

struct fake_api *fake_api_start_with(fake_answer_fn *own, void *context)
{
	return start(NULL, own, context);
}

void fake_api_lock(struct fake_api *self)
{
	pthread_mutex_lock(&self->mutex);
}

void fake_api_unlock(struct fake_api *self)
{
	pthread_mutex_unlock(&self->mutex);
}

void fake_api_free(struct fake_api *self)
{
	shutdown(self->fd, SHUT_RDWR);
	pthread_join(self->thread, NULL);
	close(self->fd);
	pthread_mutex_lock(&self->mutex);
	for (size_t i = 0; i < self->n_connections; i++)
		if (self->connections[i] >= 0)
			shutdown(self->connections[i], SHUT_RDWR);
	while (self->n_running)
		pthread_cond_wait(&self->changed, &self->mutex);
	pthread_mutex_unlock(&self->mutex);
	for (size_t i = 0; i < self->n_requests; i++)
		free(self->requests[i]);
	pthread_mutex_destroy(&self->mutex);
	pthread_cond_destroy(&self->changed);
	free(self);
}

const char *fake_api_url(const struct fake_api *self)
{
	return self->url;
}

size_t fake_api_count(struct fake_api *self, const char *text)
{
	size_t n;

	pthread_mutex_lock(&self->mutex);
	n = count(self, text);
	pthread_mutex_unlock(&self->mutex);
	return n;
}

size_t fake_api_unexpected(struct fake_api *self)
{
	size_t n;

	pthread_mutex_lock(&self->mutex);
	n = self->n_unexpected;
	pthread_mutex_unlock(&self->mutex);
	return n;
}

void fake_api_request(struct fake_api *self, size_t n, char *buf, size_t size)
{
	pthread_mutex_lock(&self->mutex);
	snprintf(buf, size, "%s", n < self->n_requests ? self->requests[n] : "");
	pthread_mutex_unlock(&self->mutex);
}
