/* SPDX-License-Identifier: Apache-2.0 */
#include "http_peer.h"

#include "base/hash.h"
#include "http_server/server_internal.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int dial(struct http_server *server, int receive_bytes, in_addr_t from)
{
	const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(from)};
	const struct sockaddr_in address = {.sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					    .sin_port = htons((uint16_t)http_server_port(server))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (receive_bytes)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes)), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

int peer_dial(struct http_server *server)
{
	return dial(server, 0, INADDR_LOOPBACK);
}

int peer_dial_narrow(struct http_server *server)
{
	return dial(server, 4096, INADDR_LOOPBACK);
}

static uint64_t group_of(in_addr_t from)
{
	const struct in_addr address = {htonl(from)};

	return hash_seeded(&address, sizeof(address)) % CONNECTION_GROUPS;
}

/* The seed of the hash is random: two given addresses share a group in one of CONNECTION_GROUPS processes. */
int peer_dial_elsewhere(struct http_server *server)
{
	in_addr_t from = INADDR_LOOPBACK + 1;

	while (group_of(from) == group_of(INADDR_LOOPBACK))
		from++;
	return dial(server, 0, from);
}

bool peer_send(int fd, const char *bytes, size_t n)
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

void peer_send_text(int fd, const char *text)
{
	assert_true(peer_send(fd, text, strlen(text)));
}

void peer_read_to_end(int fd, struct strbuf *answer)
{
	char bytes[4096];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		strbuf_add(answer, bytes, (size_t)n);
}

int peer_ask(int fd, const char *request)
{
	char answer[4096];
	size_t n = 0;

	if (!peer_send(fd, request, strlen(request)))
		return 0;
	while (n < sizeof(answer) - 1) {
		ssize_t got = recv(fd, answer + n, sizeof(answer) - 1 - n, 0);
		const char *end, *length;

		if (got <= 0)
			return 0;
		n += (size_t)got;
		answer[n] = '\0';
		end = strstr(answer, "\r\n\r\n");
		length = strcasestr(answer, "\r\nContent-Length: ");
		if (end && length && n >= (size_t)(end - answer) + 4 + strtoul(length + 18, NULL, 10))
			return (int)strtol(answer + 9, NULL, 10);
	}
	return 0;
}
