/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "fake_api.h"
#include "kube/kube_events.h"
#include "kube/kube_server.h"
#include "support/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define POST  "POST /api/v1/namespaces/ml/events "
#define PATCH "PATCH /api/v1/namespaces/ml/events/train-0."

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
	struct kube_events *events;
	int failed;
};

static int64_t fake_now_ms(void)
{
	return 1767225600123; /* 2026-01-01T00:00:00.123Z */
}

static void on_failed(void *context, const struct err *why)
{
	(void)why;
	++*(int *)context;
}

static void start(struct world *world, const struct fake_step *steps)
{
	const struct kube_client_config client = {.now_ms = fake_now_ms};
	struct kube_events_config config = {
		.component = "memtamer", .instance = "pod-1", .interval_ms = 50, .failed = on_failed};
	struct err err = ERR_INIT;

	*world = (struct world){.api = fake_api_start(steps)};
	config.context = &world->failed;
	world->server.url = fake_api_url(world->api);
	assert_int_equal(kube_client_new(&world->server, &client, &world->client, &err), 0);
	assert_int_equal(kube_events_new(world->client, &config, &world->events, &err), 0);
}

static void stop(struct world *world)
{
	assert_int_equal(fake_api_unexpected(world->api), 0);
	kube_events_free(world->events);
	kube_client_free(world->client);
	fake_api_free(world->api);
}

static void record(struct world *world, const char *message)
{
	const struct kube_event_object object = {
		.api_version = "v1", .kind = "Pod", .namespace = "ml", .name = "train-0", .uid = "u-1"};
	struct err err = ERR_INIT;

	assert_int_equal(kube_events_record(world->events, &object, true, "OOMKilled", message, &err), 0);
}

static void run_until(struct world *world, const char *text, size_t n)
{
	struct err err = ERR_INIT;

	while (fake_api_count(world->api, text) < n)
		assert_int_equal(kube_client_poll(world->client, NULL, 0, 100, &err), 0);
}

static void test_same_event_is_counted(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = POST, .status = 201, .body = "{}"}, {.fits = PATCH, .body = "{}", .times = 9}, {0}};
	struct world world;
	char text[4096];

	start(&world, steps);
	record(&world, "limit 4Gi");
	run_until(&world, POST, 1);
	for (int i = 0; i < 5; i++)
		record(&world, "limit 4Gi");
	run_until(&world, "\"count\":6", 1);
	assert_int_equal(fake_api_count(world.api, PATCH), 1);
	fake_api_request(world.api, 0, text, sizeof(text));
	assert_non_null(strstr(text, "\"type\":\"Warning\",\"reason\":\"OOMKilled\",\"message\":\"limit 4Gi\","
				     "\"reportingComponent\":\"memtamer\",\"reportingInstance\":\"pod-1\","
				     "\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"train-0\","
				     "\"namespace\":\"ml\",\"uid\":\"u-1\"},\"source\":{\"component\":\"memtamer\"},"));
	assert_non_null(strstr(text, "\"count\":1,\"lastTimestamp\":\"2026-01-01T00:00:00Z\","
				     "\"firstTimestamp\":\"2026-01-01T00:00:00Z\"}"));
	fake_api_request(world.api, 1, text, sizeof(text));
	assert_non_null(strstr(text, "\r\n\r\n{\"count\":6,\"lastTimestamp\":\"2026-01-01T00:00:00Z\"}"));
	stop(&world);
}

static void test_forgotten_event_becomes_a_new_one(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = POST, .status = 201, .body = "{}", .times = 2},
						 {.fits = PATCH, .status = 404, .body = "{}"},
						 {.fits = PATCH, .body = "{}"},
						 {0}};
	struct world world;

	start(&world, steps);
	record(&world, "x");
	run_until(&world, POST, 1);
	record(&world, "x");
	run_until(&world, PATCH, 1);
	run_until(&world, POST, 2);
	record(&world, "x");
	run_until(&world, PATCH, 2);
	assert_int_equal(fake_api_count(world.api, "\"count\":2"), 2);
	assert_int_equal(world.failed, 0);
	stop(&world);
}

/* The next leader tells the same: it finds the Event of the one before, by its name. */
static void test_event_of_an_earlier_process_is_counted(void **state)
{
	(void)state;
	static const struct fake_step first[] = {{.fits = POST, .status = 201, .body = "{}"}, {0}};
	static const struct fake_step next[] = {
		{.fits = POST,
		 .status = 409,
		 .body = "{\"kind\":\"Status\",\"code\":409,\"reason\":\"AlreadyExists\",\"message\":\"x\"}"},
		{.fits = PATCH, .body = "{}"},
		{0}};
	char texts[2][4096], *name;
	struct world world;

	start(&world, first);
	record(&world, "x");
	run_until(&world, POST, 1);
	fake_api_request(world.api, 0, texts[0], sizeof(texts[0]));
	stop(&world);
	start(&world, next);
	record(&world, "x");
	run_until(&world, PATCH, 1);
	fake_api_request(world.api, 1, texts[1], sizeof(texts[1]));
	assert_non_null(strstr(texts[1], "\"count\":2"));
	name = strstr(texts[1], "train-0.");
	name[strlen("train-0.") + 16] = '\0';
	assert_non_null(strstr(texts[0], name));
	assert_int_equal(world.failed, 0);
	stop(&world);
}

static void test_more_than_fit(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = POST, .status = 201, .body = "{}", .times = 1000}, {0}};
	struct world world;
	char text[2 * LIMIT_KUBE_NOTE_BYTES];

	start(&world, steps);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 600; i++) {
		snprintf(text, 8, "%d", i);
		text[strlen(text)] = ' ';
		record(&world, text);
	}
	run_until(&world, "\"message\":\"599 ", 1);
	stop(&world);
}

static void test_refused(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = POST, .status = 403, .body = "{}"}, {.fits = POST, .status = 201, .body = "{}"}, {0}};
	struct err err = ERR_INIT;
	struct world world;

	start(&world, steps);
	record(&world, "x");
	while (!world.failed)
		assert_int_equal(kube_client_poll(world.client, NULL, 0, 100, &err), 0);
	record(&world, "x");
	run_until(&world, POST, 2);
	assert_int_equal(world.failed, 1);
	stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_event_is_counted),
		cmocka_unit_test(test_forgotten_event_becomes_a_new_one),
		cmocka_unit_test(test_event_of_an_earlier_process_is_counted),
		cmocka_unit_test(test_more_than_fit),
		cmocka_unit_test(test_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
