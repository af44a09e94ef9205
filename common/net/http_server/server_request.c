/* SPDX-License-Identifier: Apache-2.0 */
/* One request. libmicrohttpd calls request_handle once with the head, then with pieces of the body, then once for the
 * answer. An answer cannot be queued in the middle of a body, and an answer before the body makes the client see a
 * reset. So a refused body is discarded (up to DISCARD_FACTOR times its limit) and then answered. libmicrohttpd 0.9.75
 * accepts Content-Length together with Transfer-Encoding, and two Content-Lengths, and hangs on transfer codings other
 * than chunked: such requests are refused here. */
#include "base/limits.h"
#include "http_server/server_internal.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#define DISCARD_FACTOR	   8
#define DISCARD_MIN_BYTES  (1 * MIB)
#define BODY_FIRST_BYTES   (16 * KIB)
#define METHOD_NOT_ALLOWED 405
/* The kernel counts in ticks of up to 10 ms, so shorter waits are ignored. */
#define WAIT_SEEN_MS 10

static int64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* How long ago the socket received its last byte: while the thread was busy, the request waited in the socket. */
static int64_t waited_ns(int fd)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) || info.tcpi_last_data_recv <= WAIT_SEEN_MS)
		return 0;
	return (int64_t)info.tcpi_last_data_recv * 1000000;
}

/* Makes room for `n` more bytes. The buffer never grows beyond Content-Length, so that a full body does not take twice
 * its size. */
static int body_reserve(struct connection *connection, size_t n)
{
	size_t need = connection->body_bytes + n, want = MAX(2 * connection->body_capacity, BODY_FIRST_BYTES);
	char *bytes;

	if (need <= connection->body_capacity)
		return 0;
	if (connection->expected_bytes)
		want = MIN(want, connection->expected_bytes);
	want = MAX(want, need);
	if (!connection_charge(connection, want))
		return -ENOBUFS;
	bytes = realloc(connection->body, want + 1);
	if (!bytes)
		return -ENOMEM;
	connection->body = bytes;
	connection->body_capacity = want;
	return 0;
}

static size_t max_body(const struct connection *connection)
{
	return connection->route ? connection->route->max_body_bytes : 0;
}

static size_t max_discard(const struct connection *connection)
{
	return MAX(DISCARD_FACTOR * max_body(connection), DISCARD_MIN_BYTES);
}

static void refuse(struct connection *connection, unsigned int status)
{
	connection->discarded_bytes += connection->body_bytes;
	connection_release_body(connection);
	connection->refusal = status;
}

static void body_add(struct connection *connection, const char *bytes, size_t n)
{
	if (!connection->refusal && connection->body_bytes + n > max_body(connection))
		refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE);
	else if (!connection->refusal && body_reserve(connection, n))
		refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE);
	if (connection->refusal) {
		connection->discarded_bytes += n;
		return;
	}
	memcpy(connection->body + connection->body_bytes, bytes, n);
	connection->body_bytes += n;
	connection->body[connection->body_bytes] = '\0';
}

struct framing {
	unsigned int lengths, codings, other_codings;
	bool expects_continue;
};

static enum MHD_Result see_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct framing *framing = context;

	(void)kind;
	if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
		framing->lengths++;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		framing->codings++;
		framing->other_codings += !value || strcasecmp(value, "chunked") != 0;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_EXPECT) == 0) {
		framing->expects_continue = value && strcasecmp(value, "100-continue") == 0;
	}
	return MHD_YES;
}

/* Finds the route of path and method, or sets connection->refusal to 404 or 405. */
static void find_route(struct connection *connection, const char *path, const char *method)
{
	const struct http_server_route *route = connection->server->config.routes;

	connection->route = NULL;
	connection->allow = NULL;
	for (; route->path; route++) {
		if (!streq(route->path, path))
			continue;
		connection->allow = route->method;
		connection->route = route;
		if (streq(route->method, method) || (streq(method, "HEAD") && streq(route->method, "GET")))
			return;
	}
	connection->refusal = connection->allow ? METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND;
}

static void set_length(struct connection *connection, struct MHD_Connection *mhd)
{
	const char *text = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	unsigned long long value = 0;

	/* libmicrohttpd has checked that it is a number */
	for (; text && *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, 10ULL, &value) ||
		    __builtin_add_overflow(value, (unsigned long long)(*text - '0'), &value))
			value = SIZE_MAX / 2;
	connection->expected_bytes = (size_t)MIN(value, (unsigned long long)SIZE_MAX / 2);
	if (!connection->refusal && connection->expected_bytes > max_body(connection))
		connection->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
}

static const char *status_words(unsigned int status)
{
	switch (status) {
	case MHD_HTTP_BAD_REQUEST:
		return "the request's length is given in more than one way\n";
	case MHD_HTTP_NOT_FOUND:
		return "no such path\n";
	case METHOD_NOT_ALLOWED:
		return "method not allowed\n";
	case MHD_HTTP_CONTENT_TOO_LARGE:
		return "the body is too large\n";
	case MHD_HTTP_NOT_IMPLEMENTED:
		return "transfer coding not supported\n";
	case MHD_HTTP_SERVICE_UNAVAILABLE:
		return "too many bytes of requests at once\n";
	default:
		return "internal error\n";
	}
}

static void fill_with_status(struct http_server_response *response, unsigned int status)
{
	response->status = status;
	response->content_type = "text/plain";
	strbuf_clear(&response->body);
	strbuf_adds(&response->body, status_words(status));
}

static enum MHD_Result add_headers(const struct connection *connection, struct MHD_Response *answer)
{
	const struct http_server_response *response = &connection->response;
	bool is_closing = connection->must_close || atomic_load(&connection->server->is_draining);

	if (MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, response->content_type) != MHD_YES)
		return MHD_NO;
	if (is_closing && MHD_add_response_header(answer, MHD_HTTP_HEADER_CONNECTION, "close") != MHD_YES)
		return MHD_NO;
	if (response->status == METHOD_NOT_ALLOWED && connection->allow)
		return MHD_add_response_header(answer, MHD_HTTP_HEADER_ALLOW, connection->allow);
	return MHD_YES;
}

/* Queues the answer. The body is not copied: it stays in the connection, which lives longer than the answer. */
static enum MHD_Result queue(struct connection *connection, struct MHD_Connection *mhd)
{
	struct http_server_response *response = &connection->response;
	struct MHD_Response *answer;
	enum MHD_Result result;

	if (response->body.status)
		fill_with_status(response, MHD_HTTP_INTERNAL_SERVER_ERROR);
	answer = MHD_create_response_from_buffer(response->body.len, response->body.text, MHD_RESPMEM_PERSISTENT);
	if (!answer)
		return MHD_NO;
	result = add_headers(connection, answer);
	if (result == MHD_YES)
		result = MHD_queue_response(mhd, response->status, answer);
	MHD_destroy_response(answer);
	return result;
}

static enum MHD_Result queue_refusal(struct connection *connection, struct MHD_Connection *mhd)
{
	fill_with_status(&connection->response, connection->refusal);
	return queue(connection, mhd);
}

static void begin(struct connection *connection)
{
	connection->refusal = 0;
	connection->must_close = false;
	connection->discarded_bytes = 0;
	connection->expected_bytes = 0;
	connection->received_ns = monotonic_ns();
	connection->response.status = MHD_HTTP_OK;
	connection->response.content_type = "text/plain";
	connection_set_state(connection, CONNECTION_BUSY);
	connections_keep_limit(connection->server);
	atomic_fetch_add(&connection->server->in_flight, 1);
}

/* Handles the head: refuses requests whose body need not be read. */
static enum MHD_Result handle_head(struct connection *connection, struct MHD_Connection *mhd, const char *path,
				   const char *method)
{
	struct framing framing = {0};

	begin(connection);
	find_route(connection, path, method);
	MHD_get_connection_values(mhd, MHD_HEADER_KIND, see_header, &framing);
	if (framing.other_codings || framing.lengths > 1 || framing.codings > 1 ||
	    (framing.lengths && framing.codings)) {
		/* the start of the next request cannot be determined */
		connection->must_close = true;
		connection->refusal = framing.other_codings ? MHD_HTTP_NOT_IMPLEMENTED : MHD_HTTP_BAD_REQUEST;
		return queue_refusal(connection, mhd);
	}
	set_length(connection, mhd);
	if (connection->refusal && (framing.expects_continue || connection->expected_bytes > max_discard(connection))) {
		connection->must_close = true;
		return queue_refusal(connection, mhd);
	}
	return MHD_YES;
}

static enum MHD_Result handle_piece(struct connection *connection, const char *bytes, size_t *n)
{
	body_add(connection, bytes, *n);
	*n = 0;
	/* the body is far too long: close the connection */
	return connection->discarded_bytes > max_discard(connection) ? MHD_NO : MHD_YES;
}

static enum MHD_Result handle_end(struct connection *connection, struct MHD_Connection *mhd, const char *path,
				  const char *method)
{
	struct http_server_response *response = &connection->response;
	const struct http_server_request request = {
		.method = method,
		.path = path,
		.body = connection->body_bytes ? connection->body : "",
		.body_bytes = connection->body_bytes,
	};

	connection->received_ns = monotonic_ns() - waited_ns(connection->fd);
	if (connection->refusal)
		return queue_refusal(connection, mhd);
	connection->route->handle(connection->server->config.context, &request, response);
	/* the client may read the answer slowly, so release the memory of the body now */
	connection_release_body(connection);
	if (!connection_charge(connection, response->body.capacity)) {
		strbuf_release(&response->body);
		fill_with_status(response, MHD_HTTP_SERVICE_UNAVAILABLE);
	}
	return queue(connection, mhd);
}

enum MHD_Result request_handle(void *context, struct MHD_Connection *mhd, const char *path, const char *method,
			       const char *version, const char *upload, size_t *upload_bytes, void **request_context)
{
	struct connection *connection = *request_context;

	(void)context, (void)version;
	if (!connection) {
		const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

		connection = info ? info->socket_context : NULL;
		if (!connection)
			return MHD_NO;
		*request_context = connection;
		return handle_head(connection, mhd, path, method);
	}
	if (*upload_bytes > 0)
		return handle_piece(connection, upload, upload_bytes);
	return handle_end(connection, mhd, path, method);
}

void request_completed(void *context, struct MHD_Connection *mhd, void **request_context,
		       enum MHD_RequestTerminationCode code)
{
	struct connection *connection = *request_context;
	struct http_server *server = context;

	(void)mhd;
	if (!connection)
		return;
	*request_context = NULL;
	connection_release_body(connection);
	strbuf_release(&connection->response.body);
	connection_set_state(connection, CONNECTION_IDLE);
	atomic_fetch_sub(&server->in_flight, 1);
	if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		server_observe(server, &(struct http_server_event){
					       .type = HTTP_EVENT_ANSWERED,
					       .path = connection->route ? connection->route->path : "other",
					       .status = connection->response.status,
					       .duration_ns = monotonic_ns() - connection->received_ns,
					       .peer = connection->peer});
}
