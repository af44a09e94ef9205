/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "http_server/server_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Splits "host:port", "[v6]:port" or ":port"; `text` is changed. */
static int split(char *text, const char **ret_host, const char **ret_port)
{
	char *colon = strrchr(text, ':');

	if (!colon || !colon[1])
		return -EINVAL;
	*colon = '\0';
	*ret_port = colon + 1;
	*ret_host = *text ? text : NULL;
	if (*text == '[') {
		if (colon[-1] != ']')
			return -EINVAL;
		colon[-1] = '\0';
		*ret_host = text + 1;
	} else if (strchr(text, ':')) {
		return -EINVAL; /* an IPv6 address without brackets */
	}
	return 0;
}

static int open_socket(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0, r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->ai_family == AF_INET6) /* let [::] accept IPv4, too */
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(fd, address->ai_addr, address->ai_addrlen) && !listen(fd, SOMAXCONN))
		return fd;
	r = -errno;
	close(fd);
	return r;
}

/* Opens the first address that works. Without a host all addresses are wanted: [::] includes IPv4, but getaddrinfo
 * returns it after 0.0.0.0, which no IPv6 peer reaches. A node without IPv6 has only the latter. */
static int open_first(const struct addrinfo *addresses, bool is_any)
{
	int fd = -EADDRNOTAVAIL;

	for (const struct addrinfo *one = addresses; is_any && one && fd < 0; one = one->ai_next)
		if (one->ai_family == AF_INET6)
			fd = open_socket(one);
	return fd < 0 && addresses ? open_socket(addresses) : fd;
}

static unsigned int bound_port(int fd)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length))
		return 0;
	/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): getsockname fills it */
	return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
						   : ((struct sockaddr_in *)&address)->sin_port);
}

int server_listen(const char *listen, int *ret_fd, unsigned int *ret_port, struct err *err)
{
	const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
	CLEANUP(freep) char *text = strdup(listen);
	struct addrinfo *addresses = NULL;
	const char *host = NULL, *port = NULL;
	int r, fd;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	if (split(text, &host, &port))
		return err_set(err, -EINVAL, "listen address %s: HOST:PORT expected", listen);
	r = getaddrinfo(host, port, &hints, &addresses);
	if (r)
		return err_set(err, -EINVAL, "listen address %s: %s", listen, gai_strerror(r));
	fd = open_first(addresses, !host);
	freeaddrinfo(addresses);
	if (fd < 0)
		return err_set(err, fd, "listen on %s: %s", listen, strerror(-fd));
	*ret_fd = fd;
	*ret_port = bound_port(fd);
	return 0;
}

static uint64_t hash_of_address(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

	return address->ss_family == AF_INET6 ? hash_seeded(&v6->sin6_addr, sizeof(v6->sin6_addr))
					      : hash_seeded(&v4->sin_addr, sizeof(v4->sin_addr));
}

uint64_t server_peer(int fd, char *buf, size_t size)
{
	struct sockaddr_storage address = {0};
	socklen_t length = sizeof(address);
	char host[INET6_ADDRSTRLEN], port[8];

	if (getpeername(fd, (struct sockaddr *)&address, &length) ||
	    getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(buf, size, "unknown");
	else
		snprintf(buf, size, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return hash_of_address(&address);
}
