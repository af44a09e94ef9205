/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a review is linear in its bytes, whatever stands in it: steps (base/steps.h) are counted for random pods
 * and for each of worst_bodies.txt at growing sizes.
 *
 * property_cost FILE FIRST-SEED COUNT BYTES   the test, with bodies of up to so many bytes
 * property_cost FILE --measure          a table: CPU time, steps and memory of each body at its largest
 * property_cost FILE --list             names and routes
 * property_cost FILE --body NAME BYTES  one review of at most so many bytes */
#include "random_pod.h"
#include "worst_bodies.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/steps.h"
#include "support/cost.h"
#include "support/review_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cost {
	uint64_t steps;
	int64_t cpu_us;
	size_t arena_bytes;
};

static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct cost ask(struct review_world *world, const struct worst_body *body, const struct strbuf *text)
{
	struct cost cost = {.cpu_us = cpu_us()};
	struct err err = ERR_INIT;

	for (int route = 0; route < ROUTE_COUNT_; route++)
		if (streq(body->route, review_route_paths[route])) {
			cost_begin();
			(void)review_world_ask(world, (enum review_route)route, strbuf_text(text), text->len, &err);
			cost.steps = cost_steps();
		}
	cost.cpu_us = cpu_us() - cost.cpu_us;
	cost.arena_bytes = world->scratch.arena.used_bytes;
	return cost;
}

/* ---- the test ---- */

static bool holds(const char *name, unsigned int which, size_t n, const struct strbuf *text, uint64_t steps)
{
	if (cost_is_linear(steps, text->len))
		return true;
	fprintf(stderr, "%s, world %u, n = %zu: %llu steps for %zu bytes, at most %llu\n", name, which, n,
		(unsigned long long)steps, text->len, (unsigned long long)cost_most(text->len));
	return false;
}

/* At 1, 4, 16 ... items, and at the largest. */
static size_t check_body(struct review_world *world, unsigned int which, const struct worst_body *body,
			 size_t max_bytes, struct strbuf *text)
{
	size_t failures = 0, most = worst_body_fill(body, max_bytes, text);

	failures += !holds(body->name, which, most, text, ask(world, body, text).steps);
	for (size_t n = 1; n < most && body->is_growing; n *= 4) {
		if (worst_body_expand(body, n, text))
			abort();
		failures += !holds(body->name, which, n, text, ask(world, body, text).steps);
	}
	return failures;
}

static size_t check_random_pods(struct review_world *world, unsigned int which, uint64_t first, uint64_t count)
{
	CLEANUP(strbuf_release) struct strbuf pod = STRBUF_INIT(64 * KIB);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(64 * KIB);
	struct worst_body body = {
		.route = "/mutate", .group = "", .kind = "Pod", .operation = "CREATE", .old_object = ""};
	size_t failures = 0;

	for (uint64_t seed = first; seed < first + count; seed++) {
		struct random_state random = {seed * 0x2545f4914f6cdd1du};

		random_pod(&random, &pod);
		body.object = strbuf_text(&pod);
		if (worst_body_expand(&body, 1, &text))
			abort();
		failures += !holds("a random pod", which, (size_t)seed, &text, ask(world, &body, &text).steps);
	}
	return failures;
}

static int check(const struct worst_bodies *bodies, uint64_t first, uint64_t count, size_t max_bytes)
{
	static const unsigned int worlds[] = {0, 1};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_REVIEW_BYTES);
	size_t failures = 0;

	for (size_t w = 0; w < ARRAY_LEN(worlds); w++) {
		struct review_world world;

		if (review_world_init(&world, worlds[w]))
			abort();
		for (size_t i = 0; i < bodies->n; i++)
			failures += check_body(&world, worlds[w], &bodies->items[i], max_bytes, &text);
		failures += check_random_pods(&world, worlds[w], first, count);
		review_world_release(&world);
	}
	printf("%zu bodies at growing sizes and %llu pods, %zu failures\n", bodies->n, (unsigned long long)count,
	       failures);
	return failures || !bodies->n || !count ? 1 : 0;
}

/* ---- looking at it ---- */

/* The size that costs most: beyond a cap a review is refused early. */
static struct cost measure_body(struct review_world *world, const struct worst_body *body, struct strbuf *text,
				size_t *ret_bytes)
{
	struct cost most = {.cpu_us = -1};
	size_t last = worst_body_fill(body, LIMIT_REVIEW_BYTES, text);

	for (size_t n = last; n > 0; n = body->is_growing ? n * 2 / 3 : 0) {
		struct cost cost;

		if (worst_body_expand(body, n, text))
			continue;
		cost = ask(world, body, text);
		if (cost.cpu_us <= most.cpu_us)
			continue;
		most = cost;
		*ret_bytes = text->len;
	}
	return most;
}

static int measure(const struct worst_bodies *bodies)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_REVIEW_BYTES);
	struct review_world world;

	if (review_world_init(&world, 1))
		abort();
	printf("%-45s %-10s %9s %9s %11s %6s %9s\n", "body", "route", "bytes", "CPU ms", "steps", "/byte", "arena KiB");
	for (size_t i = 0; i < bodies->n; i++) {
		size_t bytes = 1;
		struct cost cost = measure_body(&world, &bodies->items[i], &text, &bytes);

		printf("%-45s %-10s %9zu %9.1f %11llu %6.1f %9zu\n", bodies->items[i].name, bodies->items[i].route,
		       bytes, (double)cost.cpu_us / 1000, (unsigned long long)cost.steps,
		       (double)cost.steps / (double)bytes, cost.arena_bytes / KIB);
		fflush(stdout);
	}
	review_world_release(&world);
	return 0;
}

static int print_body(const struct worst_bodies *bodies, const char *name, const char *bytes)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_REVIEW_BYTES);

	for (size_t i = 0; i < bodies->n; i++)
		if (streq(bodies->items[i].name, name)) {
			(void)worst_body_fill(&bodies->items[i], strtoul(bytes, NULL, 10), &text);
			return fwrite(strbuf_text(&text), 1, text.len, stdout) != text.len;
		}
	fprintf(stderr, "no body is called \"%s\"\n", name);
	return 1;
}

int main(int argc, char **argv)
{
	struct worst_bodies bodies;
	int status = 2;

	log_configure(LOG_ERROR, LOG_LOGFMT);
	if (argc < 3 || worst_bodies_read(&bodies, argv[1])) {
		fprintf(stderr,
			"usage: property_cost FILE FIRST-SEED COUNT BYTES|--measure|--list|--body NAME BYTES\n");
		return 2;
	}
	if (streq(argv[2], "--measure"))
		status = measure(&bodies);
	else if (streq(argv[2], "--body") && argc == 5)
		status = print_body(&bodies, argv[3], argv[4]);
	else if (argc == 5)
		status = check(&bodies, strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
			       strtoull(argv[4], NULL, 10));
	for (size_t i = 0; streq(argv[2], "--list") && i < bodies.n; i++)
		status = printf("%s\t%s\n", bodies.items[i].name, bodies.items[i].route) < 0;
	worst_bodies_release(&bodies);
	return status;
}
