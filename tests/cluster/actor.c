/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs in the containers of tests/cluster, static and alone in its image:
 *	actor pause			wait for SIGTERM (what the sandbox of each pod does)
 *	actor eat BYTES [SECONDS]	touch that much memory, hold it that long, exit 0
 *	actor say TEXT			print it, exit 0
 *	actor connect IPV4 PORT		exit 0 if somebody accepts there
 *	actor exit STATUS
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int usage(void)
{
	fputs("usage: actor pause | eat BYTES [SECONDS] | say TEXT | connect IPV4 PORT | exit STATUS\n", stderr);
	return 2;
}

/* As process 1 of a pod it has no default handlers; a blocked signal waits for sigwait. */
static int wait_for_end(void)
{
	sigset_t ends;
	int signal_number;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	return sigwait(&ends, &signal_number);
}

static int eat(size_t size_bytes, unsigned int hold_s)
{
	char *memory = malloc(size_bytes);

	if (!memory) {
		perror("malloc");
		return 1;
	}
	for (size_t at = 0; at < size_bytes; at += 4096)
		((volatile char *)memory)[at] = 1;
	printf("ate %zu bytes\n", size_bytes);
	fflush(stdout);
	sleep(hold_s);
	free(memory);
	return 0;
}

static int connect_to(const char *address, const char *port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		perror(address);
		return 1;
	}
	return close(fd);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage();
	if (!strcmp(argv[1], "pause"))
		return wait_for_end();
	if (argc < 3)
		return usage();
	if (!strcmp(argv[1], "eat"))
		return eat(strtoull(argv[2], NULL, 10), argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10) : 0);
	if (!strcmp(argv[1], "say"))
		return puts(argv[2]) < 0;
	if (!strcmp(argv[1], "connect") && argc > 3)
		return connect_to(argv[2], argv[3]);
	if (!strcmp(argv[1], "exit"))
		return (int)strtol(argv[2], NULL, 10);
	return usage();
}
