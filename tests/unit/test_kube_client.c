/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "fake_api.h"
#include "kube/kube_client.h"
#include "kube/kube_list.h"
#include "kube/kube_server.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define STATUS(code, reason, message)                                                                                  \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" message                     \
	"\",\"reason\":\"" reason "\",\"code\":" code "}"

static const struct kube_resource pods = {"", "v1", "pods"}, profiles = {"memtamer.io", "v1alpha1", "memoryprofiles"};

struct world {
	struct fake_api *api;
	struct kube_server config;
	struct kube_client *client;
};

static struct world start(const struct fake_step *steps)
{
	struct world world = {.api = fake_api_start(steps)};

	return world;
}

static void connect_with(struct world *world, struct kube_client_config config)
{
	struct err err = ERR_INIT;

	world->config.url = fake_api_url(world->api);
	assert_int_equal(kube_client_new(&world->config, &config, &world->client, &err), 0);
}

static void stop(struct world *world)
{
	kube_client_free(world->client);
	fake_api_free(world->api);
}

static void test_verbs(void **state)
{
	(void)state;
	static const struct {
		const char *name, *line, *type, *body;
		struct kube_request request;
	} rows[] = {
		{"get",
		 "GET /api/v1/namespaces/ml/pods/a HTTP",
		 NULL,
		 NULL,
		 {.verb = KUBE_GET, .namespace = "ml", .name = "a"}},
		{"create",
		 "POST /api/v1/namespaces/ml/pods?dryRun=All HTTP",
		 "application/json",
		 "{\"a\":\"b/c\"}",
		 {.verb = KUBE_CREATE, .namespace = "ml", .query = "dryRun=All"}},
		{"update",
		 "PUT /api/v1/namespaces/ml/pods/a HTTP",
		 "application/json",
		 "{\"a\":\"b/c\"}",
		 {.verb = KUBE_UPDATE, .namespace = "ml", .name = "a"}},
		{"status",
		 "PUT /api/v1/namespaces/ml/pods/a/status HTTP",
		 "application/json",
		 "{\"a\":\"b/c\"}",
		 {.verb = KUBE_UPDATE, .namespace = "ml", .name = "a", .subresource = "status"}},
		{"patch",
		 "PATCH /api/v1/namespaces/ml/pods/a HTTP",
		 "application/merge-patch+json",
		 "{\"a\":\"b/c\"}",
		 {.verb = KUBE_MERGE_PATCH, .namespace = "ml", .name = "a"}},
		{"JSON patch",
		 "PATCH /api/v1/namespaces/ml/pods/a HTTP",
		 "application/json-patch+json",
		 "{\"a\":\"b/c\"}",
		 {.verb = KUBE_JSON_PATCH, .namespace = "ml", .name = "a"}},
		{"delete",
		 "DELETE /api/v1/namespaces/ml/pods/a HTTP",
		 NULL,
		 NULL,
		 {.verb = KUBE_DELETE, .namespace = "ml", .name = "a"}},
		{"odd name",
		 "GET /api/v1/namespaces/ml/pods/system:a%2B%3F HTTP",
		 NULL,
		 NULL,
		 {.verb = KUBE_GET, .namespace = "ml", .name = "system:a+?"}},
		{"raw", "GET /version HTTP", NULL, NULL, {.verb = KUBE_GET, .raw_path = "/version"}},
	};
	static const struct fake_step steps[] = {{.fits = "HTTP/1.1", .body = "{\"x\":1}", .times = 100}, {0}};
	struct world world = start(steps);
	CLEANUP(json_putp) struct json_object *body = json_tokener_parse("{\"a\":\"b/c\"}");
	char text[4096];

	connect_with(&world, (struct kube_client_config){.user_agent = "tester"});
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_request request = rows[i].request;
		struct json_object *answer = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		request.resource = pods;
		request.body = rows[i].body ? body : NULL;
		assert_int_equal(kube_client_call(world.client, &request, &answer, &err), 0);
		assert_non_null(json_member(answer, "x"));
		json_object_put(answer);
		fake_api_request(world.api, i, text, sizeof(text));
		if (!strstarts(text, rows[i].line))
			fail_msg("%.100s", text);
		assert_non_null(strstr(text, "User-Agent: tester"));
		assert_non_null(strstr(text, "Accept: application/json"));
		assert_null(strstr(text, "Authorization"));
		assert_int_equal(!rows[i].body, !strstr(text, "\r\n\r\n{\"a\":\"b/c\"}"));
		if (rows[i].type)
			assert_non_null(strstr(text, rows[i].type));
	}
	stop(&world);
}

static void test_paths_that_are_refused(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{0}};
	static const struct {
		const char *name;
		struct kube_request request;
	} rows[] = {
		{"delete of everything", {.verb = KUBE_DELETE, .namespace = "ml"}},
		{"slash", {.verb = KUBE_GET, .namespace = "ml", .name = "a/b"}},
		{"percent", {.verb = KUBE_GET, .namespace = "ml", .name = "a%2f"}},
		{"dots", {.verb = KUBE_GET, .namespace = "..", .name = "a"}},
		{"empty name", {.verb = KUBE_DELETE, .namespace = "ml", .name = ""}},
		{"create with a name", {.verb = KUBE_CREATE, .namespace = "ml", .name = "a"}},
		{"relative", {.verb = KUBE_GET, .raw_path = "version"}},
	};
	struct world world = start(steps);

	connect_with(&world, (struct kube_client_config){0});
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_request request = rows[i].request;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		request.resource = pods;
		assert_int_equal(kube_client_call(world.client, &request, NULL, &err), -EINVAL);
	}
	assert_int_equal(fake_api_count(world.api, ""), 0);
	stop(&world);
}

static size_t n_unwanted;

static void unwanted_began(void *context)
{
	(void)context;
	n_unwanted++;
}

static int unwanted_piece(void *context, const char *bytes, size_t n)
{
	(void)context, (void)bytes, (void)n;
	n_unwanted++;
	return 0;
}

static void unwanted_done(void *context, const struct kube_result *result)
{
	(void)context, (void)result;
	n_unwanted++;
}

static void test_callbacks_of_a_call_that_waits_are_ignored(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = "GET", .body = "{\"x\":1}"}, {0}};
	const struct kube_request request = {.verb = KUBE_GET,
					     .raw_path = "/version",
					     .began = unwanted_began,
					     .piece = unwanted_piece,
					     .done = unwanted_done};
	CLEANUP(json_putp) struct json_object *answer = NULL;
	struct world world = start(steps);
	struct err err = ERR_INIT;

	n_unwanted = 0;
	connect_with(&world, (struct kube_client_config){0});
	assert_int_equal(kube_client_call(world.client, &request, &answer, &err), 0);
	assert_non_null(json_member(answer, "x"));
	assert_int_equal(n_unwanted, 0);
	stop(&world);
}

static void test_conditions(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int status;
		const char *body;
		int code;
		const char *message;
	} rows[] = {
		{"not found", 404, STATUS("404", "NotFound", "pods \\\"a\\\" not found"), KUBE_NOT_FOUND,
		 "not-found: pods \"a\" not found"},
		{"exists", 409, STATUS("409", "AlreadyExists", "x"), KUBE_ALREADY_EXISTS, "already-exists: x"},
		{"conflict", 409, STATUS("409", "Conflict", "x"), KUBE_CONFLICT, "conflict: x"},
		{"conflict without words", 409, "", KUBE_CONFLICT, "conflict: HTTP status 409"},
		{"gone", 410, STATUS("410", "Gone", "x"), KUBE_EXPIRED, "expired: x"},
		{"expired", 410, STATUS("410", "Expired", "x"), KUBE_EXPIRED, "expired: x"},
		{"forbidden", 403, STATUS("403", "Forbidden", "x"), KUBE_FORBIDDEN, "forbidden: x"},
		{"unauthorized", 401, STATUS("401", "Unauthorized", "Unauthorized"), KUBE_UNAUTHORIZED,
		 "unauthorized: "},
		{"invalid", 422, STATUS("422", "Invalid", "spec.x: bad"), KUBE_INVALID, "invalid: spec.x: bad"},
		{"too large", 413, "", KUBE_TOO_LARGE, "too-large"},
		{"unavailable", 503, "upstream\nis down", KUBE_UNAVAILABLE, "unavailable: upstream is down"},
		{"timeout", 504, STATUS("504", "Timeout", "x"), KUBE_TIMEOUT, "timeout: x"},
		{"internal", 500, STATUS("500", "InternalError", "x"), KUBE_UNAVAILABLE, "unavailable: x"},
		{"method", 405, STATUS("405", "MethodNotAllowed", "x"), KUBE_REFUSED, "refused: x"},
		{"reason that is new", 403, STATUS("403", "Odd", "x"), KUBE_FORBIDDEN, "forbidden: x"},
		{"redirect", 302, "", KUBE_REFUSED, "refused: HTTP status 302"},
		{"not JSON", 200, "<html>", -EINVAL, "the answer is not JSON"},
		{"half JSON", 200, "{\"a\":", -EINVAL, "the answer is not JSON"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct fake_step steps[] = {{.fits = "GET", .status = rows[i].status, .body = rows[i].body},
						  {.fits = NULL}};
		const struct kube_request request = {
			.verb = KUBE_GET, .resource = profiles, .namespace = "ml", .name = "a", .query = "secret=1"};
		struct world world = start(steps);
		struct json_object *answer = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		connect_with(&world, (struct kube_client_config){0});
		assert_int_equal(kube_client_call(world.client, &request, &answer, &err), rows[i].code);
		assert_null(answer);
		assert_int_equal(err.code, rows[i].code);
		if (!strstarts(err.msg, rows[i].message))
			fail_msg("%s", err.msg);
		if (rows[i].status >= 300)
			assert_non_null(strstr(err.where, "/apis/memtamer.io/v1alpha1/namespaces/ml/memoryprofiles/a"));
		assert_null(strstr(err.where, "secret"));
		assert_int_equal(fake_api_count(world.api, "GET"), 1);
		stop(&world);
	}
}

static void test_answer_is_limited(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = "GET", .body = "{\"abcdefghijklmnopqrstuvwxyz\":1}", .end = FAKE_END}, {0}};
	const struct kube_request request = {.raw_path = "/x", .max_answer_bytes = 10};
	struct world world = start(steps);
	struct err err = ERR_INIT;

	connect_with(&world, (struct kube_client_config){0});
	assert_int_equal(kube_client_call(world.client, &request, NULL, &err), -E2BIG);
	assert_string_equal(err.msg, "the answer is longer than 10 bytes");
	stop(&world);
}

static void test_too_many_requests(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = "GET /a", .status = 429, .headers = "Retry-After: 1\r\n"},
		{.fits = "GET /a", .body = "{}"},
		{.fits = "GET /b", .status = 429, .headers = "Retry-After: 300\r\n", .times = 9},
		{.fits = "GET /c", .status = 429, .times = 9},
		{.fits = "GET /d", .status = 503, .headers = "Retry-After: 1\r\n"},
		{.fits = "GET /d", .body = "{}"},
		{0}};
	struct kube_request request = {.raw_path = "/a"};
	struct world world = start(steps);
	struct err err = ERR_INIT;

	connect_with(&world, (struct kube_client_config){0});
	assert_int_equal(kube_client_call(world.client, &request, NULL, &err), 0);
	assert_int_equal(fake_api_count(world.api, "GET /a"), 2);
	/* a wish beyond the request's time is told at once */
	request.raw_path = "/b";
	assert_int_equal(kube_client_call(world.client, &request, NULL, &err), KUBE_TOO_MANY);
	assert_int_equal(fake_api_count(world.api, "GET /b"), 1);
	request = (struct kube_request){.raw_path = "/c", .is_tried_once = true};
	assert_int_equal(kube_client_call(world.client, &request, NULL, &err), KUBE_TOO_MANY);
	assert_int_equal(fake_api_count(world.api, "GET /c"), 1);
	request = (struct kube_request){.raw_path = "/d"};
	assert_int_equal(kube_client_call(world.client, &request, NULL, &err), 0);
	stop(&world);
}

static void count_done(void *context, const struct kube_result *result)
{
	int *codes = context;

	codes[0]++;
	codes[1] = result->code;
}

static void test_cancel(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = "GET /hold", .body = "{", .end = FAKE_HOLD, .times = 9},
						 {.fits = "GET /ok", .body = "{}"},
						 {0}};
	int held[2] = {0}, late[2] = {0};
	struct kube_request hold = {.raw_path = "/hold", .done = count_done, .context = held},
			    ok = {.raw_path = "/ok", .done = count_done, .context = late};
	struct kube_call *call[2], *early;
	struct world world = start(steps);
	struct err err = ERR_INIT;

	connect_with(&world, (struct kube_client_config){0});
	assert_int_equal(kube_client_submit(world.client, &hold, &call[0], &err), 0);
	assert_int_equal(kube_client_submit(world.client, &hold, &call[1], &err), 0);
	assert_int_equal(kube_client_submit(world.client, &ok, &early, &err), 0);
	kube_client_cancel(world.client, early); /* before it was sent */
	while (fake_api_count(world.api, "/hold") < 2)
		assert_int_equal(kube_client_poll(world.client, NULL, 0, 10, &err), 0);
	kube_client_cancel(world.client, call[0]);
	assert_int_equal(kube_client_submit(world.client, &ok, NULL, &err), 0);
	while (!late[0])
		assert_int_equal(kube_client_poll(world.client, NULL, 0, 1000, &err), 0);
	assert_int_equal(late[1], 0);
	assert_int_equal(fake_api_count(world.api, "/ok"), 1);
	assert_int_equal(held[0], 0);
	stop(&world); /* call[1] is still under way, and is not told */
	assert_int_equal(held[0], 0);
}

struct listed {
	char names[256];
	size_t n, n_bad;
	int stop_with;
};

static int list_item(void *context, const struct kube_object *object, struct err *err)
{
	struct listed *listed = context;
	size_t have = strlen(listed->names);

	listed->n++;
	snprintf(listed->names + have, sizeof(listed->names) - have, "%s/%s@%s ", object->namespace, object->name,
		 object->resource_version);
	return listed->stop_with ? err_set(err, listed->stop_with, "enough") : 0;
}

static void list_bad(void *context, const struct err *why)
{
	struct listed *listed = context;

	(void)why;
	listed->n_bad++;
}

#define POD(name, version)                                                                                             \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"

static void test_list(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct fake_step steps[5];
		int code;
		const char *names;
		size_t n_bad, n_requests;
	} rows[] = {
		{"three pages",
		 {{.fits = "continue=c%2B1",
		   .body = "{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"c2\"},\"items\":[]}"},
		  {.fits = "continue=c2",
		   .body = "{\"items\":[" POD("c",
					      "3") "],\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"}}"},
		  {.fits = "GET /api/v1/namespaces/ml/pods?labelSelector=a%3Db&limit=2 ",
		   .body = "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"c+1\"},"
			   "\"items\":[" POD("a", "1") "," POD("b", "2") "]}",
		   .piece_bytes = 1,
		   .end = FAKE_END}},
		 0,
		 "ml/a@1 ml/b@2 ml/c@3 ",
		 0,
		 3},
		{"page too old",
		 {{.fits = "&limit=2&continue=old", .status = 410, .body = STATUS("410", "Expired", "too old")},
		  {.fits = "&limit=2 ",
		   .body = "{\"items\":[" POD("a",
					      "1") "],\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"old\"}}"},
		  {.fits = "?labelSelector=a%3Db ",
		   .body = "{\"items\":[" POD("a", "2") "," POD("b",
								"2") "],\"metadata\":{\"resourceVersion\":\"10\"}}"}},
		 0,
		 "ml/a@1 ml/a@2 ml/b@2 ",
		 0,
		 3},
		{"an item without a name",
		 {{.fits = "GET",
		   .body = "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{\"metadata\":{}}," POD("b",
													 "2") "]}"}},
		 0,
		 "ml/b@2 ",
		 1,
		 1},
		{"no list", {{.fits = "GET", .body = "{\"kind\":\"Pod\",\"metadata\":{}}"}}, -EINVAL, "", 0, 1},
		{"cut",
		 {{.fits = "GET",
		   .body = "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" POD("a", "1"),
		   .end = FAKE_CUT}},
		 -EIO,
		 "ml/a@1 ",
		 0,
		 1},
		{"ends early, politely",
		 {{.fits = "GET",
		   .body = "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" POD("a", "1"),
		   .end = FAKE_END}},
		 -EINVAL,
		 "ml/a@1 ",
		 0,
		 1},
		{"garbage", {{.fits = "GET", .body = "[]"}}, -EINVAL, "", 0, 1},
		{"forbidden", {{.fits = "GET", .status = 403}}, KUBE_FORBIDDEN, "", 0, 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake_step steps[ARRAY_LEN(rows[i].steps) + 1] = {0};
		struct listed listed = {.n = 0};
		const struct kube_list_request request = {
			.selection = {.resource = pods, .namespace = "ml", .label_selector = "a=b"},
			.page_items = 2,
			.item = list_item,
			.bad = list_bad,
			.context = &listed,
		};
		struct err err = ERR_INIT;
		struct world world;

		test_row(rows[i].name);
		memcpy(steps, rows[i].steps, sizeof(rows[i].steps));
		world = start(steps);
		connect_with(&world, (struct kube_client_config){0});
		assert_int_equal(kube_list_all(world.client, &request, &err), rows[i].code);
		assert_string_equal(listed.names, rows[i].names);
		assert_int_equal(listed.n_bad, rows[i].n_bad);
		assert_int_equal(fake_api_count(world.api, "GET"), rows[i].n_requests);
		assert_int_equal(fake_api_unexpected(world.api), 0);
		stop(&world);
	}
}

static void test_list_is_stopped_by_its_reader(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = "GET",
		 .body = "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" POD("a", "1") "," POD("b", "1") "]}"},
		{0}};
	struct listed listed = {.stop_with = -ENOSPC};
	const struct kube_list_request request = {
		.selection = {.resource = pods}, .item = list_item, .context = &listed};
	struct world world = start(steps);
	struct err err = ERR_INIT;

	connect_with(&world, (struct kube_client_config){0});
	assert_int_equal(kube_list_all(world.client, &request, &err), -ENOSPC);
	assert_string_equal(err.msg, "enough");
	assert_int_equal(listed.n, 1);
	stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verbs),
		cmocka_unit_test(test_paths_that_are_refused),
		cmocka_unit_test(test_callbacks_of_a_call_that_waits_are_ignored),
		cmocka_unit_test(test_conditions),
		cmocka_unit_test(test_answer_is_limited),
		cmocka_unit_test(test_too_many_requests),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_is_stopped_by_its_reader),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
