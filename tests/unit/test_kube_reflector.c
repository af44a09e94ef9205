/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "fake_api.h"
#include "kube/kube_known.h"
#include "kube/kubeconfig.h"
#include "kube/reflector.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define META(name, version)                                                                                            \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define LIST(version, items)                                                                                           \
	"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define PAGE(more, items)                                                                                              \
	"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"40\",\"continue\":\"" more "\"},\"items\":[" items  \
	"]}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" META(name, version) "}\n"
#define BOOKMARK(version)                                                                                              \
	"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" version "\"}}}\n"
#define ERROR(code, reason)                                                                                            \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"reason\":\"" reason "\",\"code\":" code                 \
	",\"message\":\"no\"}}\n"
#define FIRST "?resourceVersion=0 HTTP"
#define LISTS "?limit=500 HTTP"
/* The watch that a scenario ends with stays open. */
#define LAST(version)                                                                                                  \
	{                                                                                                              \
		.fits = "resourceVersion=" version "&", .body = EVENT("ADDED", "end", "99"), .end = FAKE_HOLD          \
	}

struct seen {
	struct strbuf log;
	bool has_ended;
	size_t synced, failed, passed_over;
	struct err last;
};

static void add(struct seen *seen, char mark, const struct kube_object *object)
{
	if (streq(object->name, "end"))
		seen->has_ended = true;
	else
		strbuf_addf(&seen->log, "%c%s@%s%s ", mark, object->name, object->resource_version,
			    object->json || object->text ? "" : "!");
}

static void on_added(void *context, const struct kube_object *object)
{
	add(context, '+', object);
}

static void on_modified(void *context, const struct kube_object *object)
{
	add(context, '~', object);
}

static void on_deleted(void *context, const struct kube_object *object)
{
	add(context, '-', object);
}

static void on_synced(void *context)
{
	struct seen *seen = context;

	seen->synced++;
	strbuf_adds(&seen->log, "= ");
}

static void on_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct seen *seen = context;

	seen->last = *why;
	if (retry_ms < 0)
		seen->passed_over++;
	else
		seen->failed++;
}

static const struct reflector_config config = {
	.selection = {.resource = {"", "v1", "pods"}},
	.added = on_added,
	.modified = on_modified,
	.deleted = on_deleted,
	.synced = on_synced,
	.failed = on_failed,
	.backoff_min_ms = 1,
	.backoff_max_ms = 20,
};

struct world {
	struct fake_api *api;
	struct kubeconfig kubeconfig;
	struct kube_client *client;
	struct reflector *reflector;
	struct seen seen;
};

static void start(struct world *world, const struct fake_step *steps, struct reflector_config own)
{
	struct err err = ERR_INIT;

	*world = (struct world){.api = fake_api_start(steps), .seen = {.log = STRBUF_INIT(16 * KIB)}};
	world->kubeconfig.server = fake_api_url(world->api);
	own.context = &world->seen;
	assert_int_equal(kube_client_new(&world->kubeconfig, NULL, &world->client, &err), 0);
	assert_int_equal(reflector_start(world->client, &own, &world->reflector, &err), 0);
}

static void stop(struct world *world)
{
	reflector_free(world->reflector);
	kube_client_free(world->client);
	fake_api_free(world->api);
	strbuf_release(&world->seen.log);
}

static void run_to_end(struct world *world)
{
	struct err err = ERR_INIT;

	while (!world->seen.has_ended)
		assert_int_equal(kube_client_poll(world->client, NULL, 0, 1000, &err), 0);
}

static void test_scenarios(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		struct fake_step steps[9];
		const char *log;
		size_t failed, passed_over;
	} rows[] = {
		{"list, then changes, byte by byte",
		 {{.fits = FIRST,
		   .body = LIST("5", META("a", "1") "," META("b", "2")),
		   .piece_bytes = 1,
		   .end = FAKE_END},
		  {.fits = "?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=",
		   .body = EVENT("MODIFIED", "a", "6") EVENT("ADDED", "c", "7") "\n" EVENT("DELETED", "b", "8")
			   EVENT("ADDED", "end", "9"),
		   .piece_bytes = 1,
		   .end = FAKE_HOLD}},
		 "+a@1 +b@2 = ~a@6 +c@7 -b@8 ",
		 0,
		 0},
		{"a cut watch goes on behind its last event",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = "resourceVersion=5&", .body = EVENT("ADDED", "a", "6") "{\"type\":\"ADD", .end = FAKE_CUT},
		  LAST("6")},
		 "= +a@6 ",
		 1,
		 0},
		{"bookmarks move it on",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = "resourceVersion=5&", .body = BOOKMARK("42"), .end = FAKE_CUT},
		  LAST("42")},
		 "= ",
		 1,
		 0},
		{"an end that comes too soon is a failure",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = "resourceVersion=5&", .body = "", .end = FAKE_END},
		  LAST("5")},
		 "= ",
		 1,
		 0},
		{"410 as an event: a new list, differences only",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1") "," META("b", "2") "," META("c", "3"))},
		  {.fits = "resourceVersion=5&", .body = ERROR("410", "Expired"), .end = FAKE_HOLD},
		  {.fits = LISTS, .body = LIST("50", META("a", "1") "," META("c", "30") "," META("d", "40"))},
		  LAST("50")},
		 "+a@1 +b@2 +c@3 = ~c@30 +d@40 -b@! = ",
		 0,
		 0},
		{"410 as an answer",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = "resourceVersion=5&", .status = 410, .body = "{}"},
		  {.fits = LISTS, .body = LIST("50", "")},
		  LAST("50")},
		 "+a@1 = -a@! = ",
		 0,
		 0},
		{"410 after a restart: no further waiting",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = "resourceVersion=5&", .status = 503, .body = "{}"},
		  {.fits = "resourceVersion=5&", .status = 410, .body = "{}"},
		  {.fits = LISTS, .body = LIST("50", "")},
		  LAST("50")},
		 "= = ",
		 1,
		 0},
		{"410 between two pages: what was on the first and has gone is gone",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1") "," META("b", "2") "," META("c", "3"))},
		  {.fits = "resourceVersion=5&", .status = 410, .body = "{}"},
		  {.fits = LISTS, .body = PAGE("x", META("a", "1") "," META("b", "2"))},
		  {.fits = "?limit=500&continue=x HTTP", .status = 410, .body = "{}"},
		  {.fits = "/pods HTTP", .body = LIST("50", META("a", "1") "," META("c", "30"))},
		  LAST("50")},
		 "+a@1 +b@2 +c@3 = ~c@30 -b@! = ",
		 0,
		 0},
		{"410 again and again backs off",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = LISTS, .body = LIST("5", ""), .times = 3},
		  {.fits = "resourceVersion=5&", .status = 410, .body = "{}", .times = 4},
		  {.fits = LISTS, .body = LIST("50", "")},
		  LAST("50")},
		 "= = = = = ",
		 3,
		 0},
		{"503 again and again: listed when it does not stop",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = "resourceVersion=5&", .status = 503, .body = "{}", .times = 4},
		  {.fits = LISTS, .body = LIST("6", META("a", "1"))},
		  LAST("6")},
		 "+a@1 = = ",
		 4,
		 0},
		{"an error of the server as an event, again and again",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = "resourceVersion=5&", .body = ERROR("500", "InternalError"), .end = FAKE_HOLD, .times = 4},
		  {.fits = LISTS, .body = LIST("6", META("a", "1"))},
		  LAST("6")},
		 "+a@1 = = ",
		 4,
		 0},
		{"429 does not lose the place",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = "resourceVersion=5&", .status = 429, .times = 5},
		  LAST("5")},
		 "+a@1 = ",
		 5,
		 0},
		{"429 as an event",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = "resourceVersion=5&", .body = ERROR("429", "TooManyRequests"), .end = FAKE_HOLD},
		  LAST("5")},
		 "= ",
		 1,
		 0},
		{"garbage: resumed, and listed when it does not stop",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = "resourceVersion=5&", .body = "hello\n", .end = FAKE_HOLD, .times = 4},
		  {.fits = LISTS, .body = LIST("6", META("a", "1"))},
		  LAST("6")},
		 "+a@1 = = ",
		 4,
		 0},
		{"an object without a name in a watch",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = "resourceVersion=5&", .body = "{\"type\":\"ADDED\",\"object\":{}}\n", .end = FAKE_HOLD},
		  LAST("5")},
		 "= ",
		 1,
		 0},
		{"lists that fail",
		 {{.fits = FIRST, .status = 403, .body = "{}"},
		  {.fits = LISTS, .body = LIST("5", META("a", "1")), .end = FAKE_CUT},
		  {.fits = FIRST,
		   .body = "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" META("a", "1"),
		   .end = FAKE_END},
		  {.fits = LISTS, .body = LIST("5", META("a", "1"))},
		  LAST("5")},
		 "+a@1 = ",
		 3,
		 0},
		{"what cannot be read in a list is passed over",
		 {{.fits = FIRST, .body = LIST("5", "{\"metadata\":{}}," META("a", "1") ",{\"a\":tru}")}, LAST("5")},
		 "+a@1 = ",
		 0,
		 2},
	};

	for (size_t n = 0; n < 2 * ARRAY_LEN(rows); n++) {
		size_t i = n / 2;
		struct fake_step steps[ARRAY_LEN(rows[i].steps) + 1] = {0};
		struct reflector_config own = config;
		struct world world;

		test_row(rows[i].name);
		memcpy(steps, rows[i].steps, sizeof(rows[i].steps));
		own.wants_text = n % 2;
		start(&world, steps, own);
		run_to_end(&world);
		assert_string_equal(strbuf_text(&world.seen.log), rows[i].log);
		assert_int_equal(world.seen.failed, rows[i].failed);
		assert_int_equal(world.seen.passed_over, rows[i].passed_over);
		assert_int_equal(fake_api_unexpected(world.api), 0);
		stop(&world);
	}
}

static void test_silence_is_cut(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {{.fits = FIRST, .body = LIST("5", "")},
						 {.fits = "resourceVersion=5&", .body = "", .end = FAKE_HOLD},
						 LAST("5"),
						 {0}};
	struct reflector_config own = config;
	struct world world;

	own.stall_ms = 1000;
	start(&world, steps, own);
	run_to_end(&world);
	assert_int_equal(world.seen.failed, 1);
	assert_int_equal(world.seen.last.code, -ETIMEDOUT);
	stop(&world);
}

/* Two reflectors and a request live in one loop; an event that is too long is passed over. */
static void test_together(void **state)
{
	(void)state;
	size_t n = LIMIT_KUBE_OBJECT_BYTES + 100;
	char *text = malloc(n + 4096);
	struct fake_step steps[] = {
		{.fits = "GET /apis/memtamer.io/v1alpha1/nodeshapes?resourceVersion=0 ", .body = LIST("1", "")},
		{.fits = "nodeshapes?watch", .body = "", .end = FAKE_HOLD},
		{.fits = "pods?resourceVersion=0 ", .body = LIST("5", META("a", "1"))},
		{.fits = "pods?watch", .body = text, .end = FAKE_HOLD},
		{.fits = "GET /version", .body = "{}"},
		{0}};
	struct reflector_config other = config;
	struct reflector_stats stats;
	struct reflector *second;
	const struct kube_request request = {.raw_path = "/version"};
	struct err err = ERR_INIT;
	struct world world;

	memset(text, 'x', n);
	snprintf(text + n, 4096, "\n%s%s", BOOKMARK("7"), EVENT("ADDED", "end", "9"));
	start(&world, steps, config);
	other.selection.resource = (struct kube_resource){"memtamer.io", "v1alpha1", "nodeshapes"};
	other.context = &world.seen;
	assert_int_equal(reflector_start(world.client, &other, &second, &err), 0);
	run_to_end(&world);
	assert_int_equal(kube_client_call(world.client, &request, NULL, &err), 0);
	assert_int_equal(world.seen.passed_over, 1);
	assert_int_equal(world.seen.failed, 0);
	reflector_stats(world.reflector, &stats);
	assert_true(stats.is_synced && stats.is_watching);
	assert_int_equal(stats.objects, 2);
	assert_int_equal(stats.bookmarks, 1);
	assert_int_equal(stats.events, 1);
	assert_int_equal(stats.lists, 1);
	while (world.seen.synced < 2)
		assert_int_equal(kube_client_poll(world.client, NULL, 0, 1000, &err), 0);
	reflector_free(second);
	stop(&world);
	free(text);
}

static void count_gone(void *context, const struct kube_object *object)
{
	size_t *n = context;

	assert_int_equal(object->name[0], 'b');
	++*n;
}

static void test_known(void **state)
{
	(void)state;
	struct kube_known known = {.n = 0};
	size_t gone = 0;
	char name[32];

	for (uint32_t round = 0; round < 2; round++)
		for (int i = 0; i < 2000; i++) {
			struct kube_object object = {.namespace = "", .name = name, .resource_version = "1"};

			snprintf(name, sizeof(name), "%c%d", i % 2 && !round ? 'b' : 'a', i);
			assert_int_equal(kube_known_put(&known, &object, round),
					 round && i % 2 == 0 ? KUBE_KNOWN_SAME : KUBE_KNOWN_NEW);
		}
	assert_int_equal(known.n, 3000);
	assert_true(kube_known_remove(&known, "", "b1"));
	assert_false(kube_known_remove(&known, "", "b1"));
	assert_false(kube_known_remove(&known, "b", "3"));
	assert_true(kube_known_has(&known, "", "b3"));
	assert_int_equal(kube_known_sweep(&known, 1, count_gone, &gone), 999);
	assert_int_equal(gone, 999);
	assert_false(kube_known_has(&known, "", "b3"));
	assert_true(kube_known_has(&known, "", "a3"));
	assert_int_equal(known.n, 2000);
	kube_known_release(&known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_silence_is_cut),
		cmocka_unit_test(test_together),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
