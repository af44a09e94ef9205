/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs in the containers of tests/cluster, static and alone in its image:
 *	actor pause			wait for SIGTERM (what the sandbox of each pod does)
 *	actor eat BYTES [SECONDS]	touch that much memory, hold it that long, exit 0
 *	actor say TEXT			print it, exit 0
 *	actor connect IPV4 PORT		exit 0 if somebody accepts there
 *	actor exit STATUS
 *	actor replay CURVE [STATUS]	use as much memory as a recorded run did, moment by moment, then exit STATUS (0)
 *
 * A CURVE is a file (it begins with a slash) or the text itself: points SECONDS:MIB with white space or commas between
 * them, SECONDS since the start, rising; straight lines in between. It really allocates: a rise touches pages, a fall
 * gives them back to the kernel.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	CURVE_BYTES = 1 << 16,
	CURVE_POINTS = 4096,
	MIB_MAX = 1024, /* a slip in a curve must not take the machine */
	STEPS_PER_SECOND = 10,
};

static int usage(void)
{
	fputs("usage: actor pause | eat BYTES [SECONDS] | say TEXT | connect IPV4 PORT | exit STATUS | "
	      "replay CURVE [STATUS]\n",
	      stderr);
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

struct curve {
	struct point {
		double seconds, mib;
	} points[CURVE_POINTS];
	size_t n;
	double mib_max;
};

/* The text of a file, or `text` itself. */
static const char *curve_text(const char *text, char buffer[CURVE_BYTES])
{
	ssize_t n;
	int fd;

	if (text[0] != '/')
		return text;
	fd = open(text, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buffer, CURVE_BYTES - 1);
	if (n < 0) {
		perror(text);
		return NULL;
	}
	close(fd);
	buffer[n] = '\0';
	return buffer;
}

static bool curve_add(struct curve *self, double seconds, double mib)
{
	double before = self->n ? self->points[self->n - 1].seconds : 0;

	if (self->n == CURVE_POINTS || !(seconds >= before) || !(mib >= 0 && mib <= MIB_MAX))
		return false;
	self->points[self->n++] = (struct point){seconds, mib};
	if (mib > self->mib_max)
		self->mib_max = mib;
	return true;
}

static bool curve_parse(const char *text, struct curve *ret)
{
	while (*(text += strspn(text, " \t\r\n,"))) {
		char *end;
		double seconds = strtod(text, &end), mib;

		if (end == text || *end != ':')
			return false;
		text = end + 1;
		mib = strtod(text, &end);
		if (end == text || !curve_add(ret, seconds, mib))
			return false;
		text = end;
	}
	return ret->n > 0;
}

static double curve_at(const struct curve *self, double seconds)
{
	size_t i = 1;

	while (i < self->n && self->points[i].seconds < seconds)
		i++;
	if (i == self->n)
		return self->points[self->n - 1].mib;
	const struct point *a = &self->points[i - 1], *b = &self->points[i];
	double span = b->seconds - a->seconds, share = seconds > a->seconds ? (seconds - a->seconds) / span : 0;

	return a->mib + share * (b->mib - a->mib);
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* The first `bytes` of the memory are used, the rest is not; `used` are at present. */
static size_t use(char *memory, size_t used, size_t bytes)
{
	bytes -= bytes % 4096;
	for (size_t at = used; at < bytes; at += 4096)
		((volatile char *)memory)[at] = 1;
	if (bytes < used)
		madvise(memory + bytes, used - bytes, MADV_DONTNEED);
	return bytes;
}

/* As process 1 it would not end on SIGTERM by itself. */
static void end_now(int signal_number)
{
	_exit(128 + signal_number);
}

static int replay(const char *curve_argument, int status)
{
	static char buffer[CURVE_BYTES];
	static struct curve curve;
	const char *text = curve_text(curve_argument, buffer);
	struct timespec start, tick = {.tv_nsec = 1000000000 / STEPS_PER_SECOND};
	size_t used = 0, size_bytes;
	double now_s = 0;
	char *memory;

	if (!text || !curve_parse(text, &curve)) {
		fprintf(stderr, "%s: no curve of SECONDS:MIB up to %d MiB\n", curve_argument, MIB_MAX);
		return 2;
	}
	signal(SIGTERM, end_now);
	size_bytes = ((size_t)curve.mib_max + 1) << 20;
	memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	madvise(memory, size_bytes, MADV_NOHUGEPAGE); /* to the page, not to 2 MiB */
	printf("replaying %.0f s, up to %.1f MiB\n", curve.points[curve.n - 1].seconds, curve.mib_max);
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (now_s < curve.points[curve.n - 1].seconds) {
		now_s = seconds_since(&start);
		used = use(memory, used, (size_t)(curve_at(&curve, now_s) * (1 << 20)));
		nanosleep(&tick, NULL);
	}
	puts("done");
	return status;
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
	if (!strcmp(argv[1], "replay"))
		return replay(argv[2], argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0);
	return usage();
}
