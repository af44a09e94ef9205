/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/timefmt.h"
#include "fake_api.h"
#include "kube/kube_server.h"
#include "kube/lease.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define PATH "/apis/coordination.k8s.io/v1/namespaces/memtamer/leases"
#define GET  "GET " PATH "/shard-0 "
#define PUT  "PUT " PATH "/shard-0 "
#define POST "POST " PATH " "
#define SPEC(holder, seconds, renewed)                                                                                 \
	"\"spec\":{\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":" seconds                                \
	",\"acquireTime\":\"2026-01-01T00:00:00.000000Z\",\"renewTime\":\"2026-01-01T00:00:" renewed                   \
	".000000Z\",\"leaseTransitions\":4}"
#define LEASE(version, holder, seconds, renewed)                                                                       \
	"{\"metadata\":{\"name\":\"shard-0\",\"resourceVersion\":\"" version                                           \
	"\",\"annotations\":{\"memtamer.io/watermark\":\"theirs\"}}," SPEC(holder, seconds, renewed) "}"

struct seen {
	int started, stopped, failed;
	char leader[64];
};

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
	struct lease *lease;
	struct seen seen;
};

static void on_started(void *context)
{
	((struct seen *)context)->started++;
}

static void on_stopped(void *context)
{
	((struct seen *)context)->stopped++;
}

static void on_leader(void *context, const char *identity)
{
	struct seen *seen = context;

	snprintf(seen->leader, sizeof(seen->leader), "%s", identity);
}

static void on_failed(void *context, const struct err *why)
{
	(void)why;
	((struct seen *)context)->failed++;
}

static int64_t fake_now_ms(void)
{
	return 1767225600123; /* 2026-01-01T00:00:00.123Z */
}

static void start(struct world *world, const struct fake_step *steps)
{
	const struct kube_client_config client = {.now_ms = fake_now_ms};
	struct lease_config config = {
		.namespace = "memtamer",
		.name = "shard-0",
		.identity = "me",
		.lease_ms = 3000,
		.renew_deadline_ms = 1500,
		.retry_ms = 20,
		.started = on_started,
		.stopped = on_stopped,
		.new_leader = on_leader,
		.failed = on_failed,
	};
	struct err err = ERR_INIT;

	*world = (struct world){.api = fake_api_start(steps)};
	config.context = &world->seen;
	world->server.url = fake_api_url(world->api);
	assert_int_equal(kube_client_new(&world->server, &client, &world->client, &err), 0);
	assert_int_equal(lease_start(world->client, &config, &world->lease, &err), 0);
}

static void stop(struct world *world)
{
	assert_int_equal(fake_api_unexpected(world->api), 0);
	lease_free(world->lease);
	kube_client_free(world->client);
	fake_api_free(world->api);
}

static void poll_once(struct world *world)
{
	struct err err = ERR_INIT;

	assert_int_equal(kube_client_poll(world->client, NULL, 0, 100, &err), 0);
}

static void run_until(struct world *world, const int *counter, int value)
{
	while (*counter < value)
		poll_once(world);
}

/* The first request with this line. */
static void find_request(struct world *world, const char *line, char *buf, size_t size)
{
	for (size_t i = 0;; i++) {
		fake_api_request(world->api, i, buf, size);
		if (!*buf)
			fail_msg("no request %s", line);
		if (strstarts(buf, line))
			return;
	}
}

static void test_nobody_has_it(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = GET, .status = 404, .body = "{}"},
		{.fits = POST, .status = 201, .body = LEASE("1", "me", "3", "00")},
		{.fits = "\"resourceVersion\":\"1\"", .body = LEASE("2", "me", "3", "01")},
		{.fits = "\"resourceVersion\":\"2\"", .body = LEASE("2", "me", "3", "01"), .times = 1000},
		{0}};
	struct world world;
	char text[4096];

	start(&world, steps);
	assert_false(lease_is_leader(world.lease));
	run_until(&world, &world.seen.started, 1);
	assert_true(lease_is_leader(world.lease));
	assert_string_equal(world.seen.leader, "me");
	find_request(&world, POST, text, sizeof(text));
	assert_non_null(strstr(text,
			       "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
			       "\"shard-0\",\"namespace\":\"memtamer\"},\"spec\":{\"holderIdentity\":\"me\","
			       "\"leaseDurationSeconds\":3,\"acquireTime\":\"2026-01-01T00:00:00.123000Z\","
			       "\"renewTime\":\"2026-01-01T00:00:00.123000Z\",\"leaseTransitions\":0}}"));
	/* a renewal keeps the time of taking it and the count */
	while (fake_api_count(world.api, PUT) < 3)
		poll_once(&world);
	find_request(&world, PUT, text, sizeof(text));
	assert_non_null(strstr(text, "\"acquireTime\":\"2026-01-01T00:00:00.000000Z\",\"renewTime\":\"2026-01-01T00:00:"
				     "00.123000Z\",\"leaseTransitions\":4}"));
	assert_int_equal(world.seen.started, 1);
	assert_int_equal(world.seen.stopped, 0);
	stop(&world);
}

/* The other's renewTime is long past by our wall clock: that must not matter. Only when its record has stood still for
 * its own duration is it gone. */
static void test_another_holds_it(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = GET, .body = LEASE("1", "other", "1", "01")},
						 {.fits = GET, .body = LEASE("2", "other", "1", "02")},
						 {.fits = GET, .body = LEASE("3", "other", "1", "03"), .times = 10000},
						 {.fits = PUT, .body = LEASE("4", "me", "3", "04"), .times = 10000},
						 {0}};
	int64_t changed_ms = 0;
	struct world world;
	char text[4096];

	start(&world, steps);
	while (fake_api_count(world.api, GET) < 3) {
		poll_once(&world);
		if (fake_api_count(world.api, GET) == 2 && !changed_ms)
			changed_ms = time_monotonic_ms(); /* before the last change could be seen */
	}
	run_until(&world, &world.seen.started, 1);
	assert_true(time_monotonic_ms() - changed_ms >= 1000);
	find_request(&world, PUT, text, sizeof(text));
	assert_non_null(strstr(text, "\"resourceVersion\":\"3\""));
	assert_non_null(strstr(text, "\"memtamer.io/watermark\":\"theirs\""));
	assert_non_null(strstr(text, "\"acquireTime\":\"2026-01-01T00:00:00.123000Z\""));
	assert_non_null(strstr(text, "\"leaseTransitions\":5}"));
	stop(&world);
}

static void test_given_up_is_free(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = GET, .body = LEASE("1", "", "1", "01")},
						 {.fits = PUT, .status = 409, .body = "{}"},
						 {.fits = GET, .body = LEASE("2", "", "1", "01")},
						 {.fits = PUT, .body = LEASE("4", "me", "3", "04"), .times = 10000},
						 {0}};
	struct world world;

	start(&world, steps);
	run_until(&world, &world.seen.started, 1);
	assert_int_equal(world.seen.failed, 1); /* another tried at the same time */
	stop(&world);
}

static void test_renewal_fails(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = GET, .body = LEASE("1", "", "1", "01")},
						 {.fits = PUT, .body = LEASE("2", "me", "3", "02")},
						 {.fits = "HTTP/1.1", .status = 500, .body = "{}", .times = 250},
						 {0}};
	struct world world;

	start(&world, steps);
	run_until(&world, &world.seen.started, 1);
	assert_true(lease_is_leader(world.lease));
	while (!world.seen.stopped && fake_api_count(world.api, "HTTP/1.1") < 240)
		poll_once(&world);
	assert_int_equal(world.seen.stopped, 1);
	assert_false(lease_is_leader(world.lease));
	stop(&world);
}

/* Somebody has edited the Lease, or our clock stood still: the first look at it is enough. */
static void test_displaced(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = GET, .body = LEASE("1", "", "1", "01")},
						 {.fits = PUT, .body = LEASE("2", "me", "3", "02")},
						 {.fits = PUT, .status = 409, .body = "{}", .times = 100},
						 {.fits = GET, .body = LEASE("3", "other", "9", "02"), .times = 10000},
						 {0}};
	struct world world;

	start(&world, steps);
	run_until(&world, &world.seen.stopped, 1);
	assert_int_equal(fake_api_count(world.api, GET), 2);
	assert_int_equal(world.seen.started, 1);
	assert_int_equal(world.seen.failed, 1);
	assert_string_equal(world.seen.leader, "other");
	/* it stands for election again */
	while (fake_api_count(world.api, GET) < 4)
		poll_once(&world);
	assert_int_equal(world.seen.stopped, 1);
	assert_int_equal(world.seen.failed, 1);
	stop(&world);
}

static void test_hanging_server(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = GET, .body = LEASE("1", "", "1", "01")},
						 {.fits = PUT, .body = LEASE("2", "me", "3", "02")},
						 {.fits = PUT, .body = "{", .end = FAKE_HOLD},
						 {.fits = GET, .body = "{", .end = FAKE_HOLD},
						 {.fits = PUT, .status = 409, .body = "{}", .times = 100},
						 {.fits = GET, .body = LEASE("3", "other", "9", "02"), .times = 100},
						 {0}};
	struct world world;

	start(&world, steps);
	run_until(&world, &world.seen.stopped, 1);
	while (strcmp(world.seen.leader, "other") != 0)
		poll_once(&world);
	assert_int_equal(world.seen.started, 1);
	stop(&world);
}

/* What others wrote beside our part stays. */
static void test_giving_up(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = "\"holderIdentity\":\"\"", .status = 409, .body = "{}"},
						 {.fits = "\"holderIdentity\":\"\"", .body = LEASE("9", "", "1", "09")},
						 {.fits = GET, .body = LEASE("1", "", "1", "01")},
						 {.fits = GET, .body = LEASE("2", "me", "3", "02"), .times = 2},
						 {.fits = PUT, .body = LEASE("2", "me", "3", "02"), .times = 10000},
						 {0}};
	struct err err = ERR_INIT;
	struct world world;
	char text[4096];

	start(&world, steps);
	run_until(&world, &world.seen.started, 1);
	assert_int_equal(lease_give_up(world.lease, 20000, &err), 0);
	assert_int_equal(world.seen.stopped, 1);
	assert_false(lease_is_leader(world.lease));
	assert_int_equal(fake_api_count(world.api, "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,"), 2);
	for (size_t i = 0;; i++) {
		fake_api_request(world.api, i, text, sizeof(text));
		assert_true(*text);
		if (strstr(text, "\"holderIdentity\":\"\""))
			break;
	}
	assert_non_null(strstr(text, "\"memtamer.io/watermark\":\"theirs\""));
	assert_non_null(strstr(text, "\"leaseTransitions\":4}"));
	stop(&world);
}

/* By the time of our own write: helm's was taken by a clock that was ahead by years. */
static void test_clock(void **state)
{
	(void)state;
	static const char ours[] = "{\"metadata\":{\"name\":\"shard-0\",\"resourceVersion\":\"2\",\"managedFields\":["
				   "{\"manager\":\"helm\",\"time\":\"2030-01-01T00:00:00Z\",\"fieldsV1\":{\"f:"
				   "metadata\":{\"f:labels\":{}}}},"
				   "{\"manager\":\"memtamer\",\"time\":\"2025-12-31T23:59:57Z\",\"fieldsV1\":{\"f:"
				   "spec\":{\"f:renewTime\":{}}}},"
				   "{\"manager\":\"kubectl\",\"time\":\"2029-01-01T00:00:00Z\"}]}," SPEC("me", "3",
													 "02") "}";
	static const struct fake_step steps[] = {
		{.fits = GET, .body = LEASE("1", "", "1", "01")}, {.fits = PUT, .body = ours, .times = 10000}, {0}};
	struct world world;
	int64_t ahead_ms = 0;

	start(&world, steps);
	assert_false(lease_clock_ahead(world.lease, &ahead_ms));
	run_until(&world, &world.seen.started, 1);
	assert_true(lease_clock_ahead(world.lease, &ahead_ms));
	assert_int_equal(ahead_ms, 3123);
	stop(&world);
}

static void test_giving_up_what_is_not_ours(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = GET, .body = LEASE("1", "other", "9", "01"), .times = 1000},
						 {0}};
	struct err err = ERR_INIT;
	struct world world;

	start(&world, steps);
	while (!*world.seen.leader)
		poll_once(&world);
	assert_int_equal(lease_give_up(world.lease, 20000, &err), 0);
	assert_int_equal(fake_api_count(world.api, PUT), 0);
	assert_int_equal(world.seen.stopped, 0);
	stop(&world);
}

/* As helm does with a Lease that an older release had made. */
static void test_a_leader_makes_its_deleted_lease_again(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = GET, .status = 404, .body = "{}", .times = 2},
		{.fits = POST, .status = 201, .body = LEASE("1", "me", "3", "00")},
		{.fits = PUT, .body = LEASE("2", "me", "3", "01")},
		{.fits = PUT, .status = 404, .body = "{}"},
		{.fits = POST, .status = 201, .body = LEASE("9", "me", "3", "02")},
		{.fits = "\"resourceVersion\":\"9\"", .body = LEASE("9", "me", "3", "03"), .times = 10000},
		{0}};
	struct world world;

	start(&world, steps);
	while (fake_api_count(world.api, PUT) < 4)
		poll_once(&world);
	assert_int_equal(fake_api_count(world.api, POST), 2);
	assert_true(lease_is_leader(world.lease));
	assert_int_equal(world.seen.started, 1);
	assert_int_equal(world.seen.stopped, 0);
	assert_int_equal(world.seen.failed, 0);
	stop(&world);
}

/* Until its holder has made it again, or its term is over. */
static void test_nobody_takes_a_deleted_lease_from_its_holder(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = GET, .body = LEASE("1", "other", "1", "01")},
						 {.fits = GET, .status = 404, .body = "{}", .times = 10000},
						 {.fits = POST, .status = 201, .body = LEASE("1", "me", "3", "00")},
						 {.fits = PUT, .body = LEASE("2", "me", "3", "01"), .times = 10000},
						 {0}};
	int64_t seen_ms = time_monotonic_ms();
	struct world world;

	start(&world, steps);
	run_until(&world, &world.seen.started, 1);
	assert_true(time_monotonic_ms() - seen_ms >= 1000);
	assert_true(fake_api_count(world.api, GET) > 2);
	assert_int_equal(world.seen.failed, 0);
	stop(&world);
}

/* A leader whose deleted Lease another has made first stops at once, not with its next renewal. */
static void test_a_leader_whose_lease_another_made_again(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = GET, .body = LEASE("1", "", "1", "01")},
		{.fits = PUT, .body = LEASE("2", "me", "3", "02")},
		{.fits = PUT, .status = 404, .body = "{}"},
		{.fits = GET, .status = 404, .body = "{}"},
		{.fits = POST,
		 .status = 409,
		 .body = "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"no\"}"},
		{.fits = GET, .body = LEASE("3", "other", "9", "02"), .times = 10000},
		{0}};
	struct world world;

	start(&world, steps);
	run_until(&world, &world.seen.stopped, 1);
	assert_int_equal(fake_api_count(world.api, PUT), 2);
	assert_string_equal(world.seen.leader, "other");
	stop(&world);
}

static void test_giving_up_what_was_deleted(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct fake_step steps[6];
	} rows[] = {
		{"before it is read",
		 {{.fits = GET, .status = 404, .body = "{}", .times = 2},
		  {.fits = POST, .status = 201, .body = LEASE("1", "me", "3", "00")},
		  {.fits = PUT, .body = LEASE("2", "me", "3", "02"), .times = 10000}}},
		{"between reading and writing",
		 {{.fits = GET, .status = 404, .body = "{}"},
		  {.fits = GET, .body = LEASE("2", "me", "3", "02")},
		  {.fits = POST, .status = 201, .body = LEASE("1", "me", "3", "00")},
		  {.fits = "\"holderIdentity\":\"\"", .status = 404, .body = "{}"},
		  {.fits = PUT, .body = LEASE("2", "me", "3", "02"), .times = 10000}}},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = ERR_INIT;
		struct world world;

		test_row(rows[i].name);
		start(&world, rows[i].steps);
		run_until(&world, &world.seen.started, 1);
		assert_int_equal(lease_give_up(world.lease, 20000, &err), 0);
		assert_int_equal(world.seen.stopped, 1);
		stop(&world);
	}
}

static void test_times_that_cannot_work(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{0}};
	struct lease_config config = {.namespace = "a", .name = "b", .identity = "c", .lease_ms = 10000};
	struct kube_server server = {0};
	struct fake_api *api = fake_api_start(steps);
	struct kube_client *client = NULL;
	struct lease *lease = NULL;
	struct err err = ERR_INIT;

	server.url = fake_api_url(api);
	assert_int_equal(kube_client_new(&server, NULL, &client, &err), 0);
	assert_int_equal(lease_start(client, &config, &lease, &err), -EINVAL);
	config = (struct lease_config){.namespace = "a", .name = "b", .identity = "c", .retry_ms = 9000};
	assert_int_equal(lease_start(client, &config, &lease, &err), -EINVAL);
	config = (struct lease_config){.namespace = "a", .name = "b", .identity = ""};
	assert_int_equal(lease_start(client, &config, &lease, &err), -EINVAL);
	kube_client_free(client);
	fake_api_free(api);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_has_it),
		cmocka_unit_test(test_another_holds_it),
		cmocka_unit_test(test_given_up_is_free),
		cmocka_unit_test(test_renewal_fails),
		cmocka_unit_test(test_displaced),
		cmocka_unit_test(test_hanging_server),
		cmocka_unit_test(test_giving_up),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_giving_up_what_is_not_ours),
		cmocka_unit_test(test_a_leader_makes_its_deleted_lease_again),
		cmocka_unit_test(test_nobody_takes_a_deleted_lease_from_its_holder),
		cmocka_unit_test(test_a_leader_whose_lease_another_made_again),
		cmocka_unit_test(test_giving_up_what_was_deleted),
		cmocka_unit_test(test_times_that_cannot_work),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
