/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "fake_api.h"
#include "kube/kube_cache.h"
#include "kube/kube_server.h"
#include "kube/reflector_internal.h"
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
/* One whose object has 70 levels, as managedFields may, before the metadata. */
#define TEN_OPEN  "[[[[[[[[[["
#define TEN_CLOSE "]]]]]]]]]]"
#define DEEP(name, version)                                                                                            \
	"{\"deep\":" TEN_OPEN TEN_OPEN TEN_OPEN TEN_OPEN TEN_OPEN TEN_OPEN TEN_OPEN                                    \
	"\"]\"" TEN_CLOSE TEN_CLOSE TEN_CLOSE TEN_CLOSE TEN_CLOSE TEN_CLOSE TEN_CLOSE                                  \
	",\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define DEEP_EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" DEEP(name, version) "}\n"
#define FIRST				"?resourceVersion=0 HTTP"
#define LISTS				"?limit=500 HTTP"
#define WATCH(version)			"resourceVersion=" version "&timeoutSeconds="
#define SINCE(version)			"?resourceVersion=" version "&resourceVersionMatch=NotOlderThan HTTP"
/* The watch that a scenario ends with stays open. */
#define LAST(version)                                                                                                  \
	{                                                                                                              \
		.fits = WATCH(version), .body = EVENT("ADDED", "end", "99"), .end = FAKE_HOLD                          \
	}

struct seen {
	struct strbuf log;
	bool has_ended;
	size_t synced, failed, passed_over, n_delays;
	int64_t delays_ms[32];
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

static void note_delay(struct seen *seen, int64_t delay_ms)
{
	if (seen->n_delays < ARRAY_LEN(seen->delays_ms))
		seen->delays_ms[seen->n_delays++] = delay_ms;
}

static void on_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct seen *seen = context;

	seen->last = *why;
	if (retry_ms < 0) {
		seen->passed_over++;
		return;
	}
	seen->failed++;
	note_delay(seen, retry_ms);
}

static void on_ended(void *context, const struct err *why, int64_t delay_ms)
{
	(void)why;
	note_delay(context, delay_ms);
}

static const struct reflector_config config = {
	.selection = {.resource = {"", "v1", "pods"}},
	.added = on_added,
	.modified = on_modified,
	.deleted = on_deleted,
	.synced = on_synced,
	.failed = on_failed,
	.ended = on_ended,
	.backoff_min_ms = 1,
	.backoff_max_ms = 20,
};

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
	struct reflector *reflector;
	struct seen seen;
};

static void start(struct world *world, const struct fake_step *steps, struct reflector_config own)
{
	struct err err = ERR_INIT;

	*world = (struct world){.api = fake_api_start(steps), .seen = {.log = STRBUF_INIT(16 * KIB)}};
	world->server.url = fake_api_url(world->api);
	own.context = &world->seen;
	assert_int_equal(kube_client_new(&world->server, NULL, &world->client, &err), 0);
	assert_int_equal(reflector_start(world->client, &own, &world->reflector, &err), 0);
}

static void stop(struct world *world)
{
	reflector_free(world->reflector);
	kube_client_free(world->client);
	fake_api_free(world->api);
	strbuf_release(&world->seen.log);
}

static void poll_once(struct world *world)
{
	struct err err = ERR_INIT;

	assert_int_equal(kube_client_poll(world->client, NULL, 0, 1000, &err), 0);
}

static void run_to_end(struct world *world)
{
	while (!world->seen.has_ended)
		poll_once(world);
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
		  {.fits = WATCH("5"), .body = EVENT("ADDED", "a", "6") "{\"type\":\"ADD", .end = FAKE_CUT},
		  LAST("6")},
		 "= +a@6 ",
		 1,
		 0},
		{"bookmarks move it on",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = WATCH("5"), .body = BOOKMARK("42"), .end = FAKE_CUT},
		  LAST("42")},
		 "= ",
		 1,
		 0},
		{"an end that comes too soon is a failure",
		 {{.fits = FIRST, .body = LIST("5", "")}, {.fits = WATCH("5"), .body = "", .end = FAKE_END}, LAST("5")},
		 "= ",
		 1,
		 0},
		{"410 as an event: a new list, differences only",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1") "," META("b", "2") "," META("c", "3"))},
		  {.fits = WATCH("5"), .body = ERROR("410", "Expired"), .end = FAKE_HOLD},
		  {.fits = SINCE("5"), .body = LIST("50", META("a", "1") "," META("c", "30") "," META("d", "40"))},
		  LAST("50")},
		 "+a@1 +b@2 +c@3 = ~c@30 +d@40 -b@! = ",
		 0,
		 0},
		{"410 as an answer",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = WATCH("5"), .status = 410, .body = "{}"},
		  {.fits = SINCE("5"), .body = LIST("50", "")},
		  LAST("50")},
		 "+a@1 = -a@! = ",
		 0,
		 0},
		{"410, and the server's cache is older than what was seen: the list is read from etcd",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = WATCH("5"), .status = 410, .body = "{}"},
		  {.fits = SINCE("5"), .status = 504, .body = "{}"},
		  {.fits = LISTS, .body = LIST("50", "")},
		  LAST("50")},
		 "+a@1 = -a@! = ",
		 1,
		 0},
		{"410 after a restart is no second failure",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = WATCH("5"), .status = 503, .body = "{}"},
		  {.fits = WATCH("5"), .status = 410, .body = "{}"},
		  {.fits = LISTS, .body = LIST("50", "")},
		  LAST("50")},
		 "= = ",
		 1,
		 0},
		{"410 between two pages: what was on the first and has gone is gone",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1") "," META("b", "2") "," META("c", "3"))},
		  {.fits = WATCH("5"), .status = 410, .body = "{}"},
		  {.fits = SINCE("5"), .status = 504, .body = "{}"},
		  {.fits = LISTS, .body = PAGE("x", META("a", "1") "," META("b", "2"))},
		  {.fits = "?limit=500&continue=x HTTP", .status = 410, .body = "{}"},
		  {.fits = "/pods HTTP", .body = LIST("50", META("a", "1") "," META("c", "30"))},
		  LAST("50")},
		 "+a@1 +b@2 +c@3 = ~c@30 -b@! = ",
		 1,
		 0},
		{"410 again and again backs off",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = SINCE("5"), .body = LIST("5", ""), .times = 2},
		  {.fits = LISTS, .body = LIST("5", ""), .times = 1},
		  {.fits = WATCH("5"), .status = 410, .body = "{}", .times = 4},
		  {.fits = LISTS, .body = LIST("50", "")},
		  LAST("50")},
		 "= = = = = ",
		 3,
		 0},
		{"503 again and again: listed when it does not stop",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = WATCH("5"), .status = 503, .body = "{}", .times = 4},
		  {.fits = LISTS, .body = LIST("6", META("a", "1"))},
		  LAST("6")},
		 "+a@1 = = ",
		 4,
		 0},
		{"an error of the server as an event, again and again",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = WATCH("5"), .body = ERROR("500", "InternalError"), .end = FAKE_HOLD, .times = 4},
		  {.fits = LISTS, .body = LIST("6", META("a", "1"))},
		  LAST("6")},
		 "+a@1 = = ",
		 4,
		 0},
		{"429 does not lose the place",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = WATCH("5"), .status = 429, .times = 5},
		  LAST("5")},
		 "+a@1 = ",
		 5,
		 0},
		{"429 as an event",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = WATCH("5"), .body = ERROR("429", "TooManyRequests"), .end = FAKE_HOLD},
		  LAST("5")},
		 "= ",
		 1,
		 0},
		{"garbage: resumed, and listed when it does not stop",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
		  {.fits = WATCH("5"), .body = "hello\n", .end = FAKE_HOLD, .times = 4},
		  {.fits = LISTS, .body = LIST("6", META("a", "1"))},
		  LAST("6")},
		 "+a@1 = = ",
		 4,
		 0},
		{"an object without a name in a watch",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = WATCH("5"), .body = "{\"type\":\"ADDED\",\"object\":{}}\n", .end = FAKE_HOLD},
		  LAST("5")},
		 "= ",
		 1,
		 0},
		{"an object that is too deep stops nothing, and counts as deleted",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1") "," META("b", "2"))},
		  {.fits = WATCH("5"),
		   .body = EVENT("MODIFIED", "a", "6") DEEP_EVENT("MODIFIED", "b", "7") DEEP_EVENT("ADDED", "c", "8")
			   DEEP_EVENT("DELETED", "c", "9") EVENT("MODIFIED", "b", "10") EVENT("ADDED", "end", "11"),
		   .end = FAKE_HOLD}},
		 "+a@1 +b@2 = ~a@6 -b@7! +b@10 ",
		 0,
		 3},
		{"a cut watch goes on behind an object that is too deep",
		 {{.fits = FIRST, .body = LIST("5", "")},
		  {.fits = WATCH("5"), .body = DEEP_EVENT("ADDED", "a", "6"), .end = FAKE_CUT},
		  LAST("6")},
		 "= ",
		 1,
		 1},
		{"an object that is too deep in a list",
		 {{.fits = FIRST, .body = LIST("5", META("a", "1") "," DEEP("b", "2"))}, LAST("5")},
		 "+a@1 = ",
		 0,
		 1},
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

static void test_an_unanswered_watch_is_given_up(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = FIRST, .body = LIST("5", "")}, {.fits = WATCH("5"), .end = FAKE_SILENT}, LAST("5"), {0}};
	struct reflector_config own = config;
	struct world world;

	own.open_ms = 1000;
	start(&world, steps, own);
	run_to_end(&world);
	assert_int_equal(world.seen.failed, 1);
	assert_int_equal(world.seen.last.code, -ETIMEDOUT);
	stop(&world);
}

/* When an API server restarts, everybody's watches end at once. */
static void test_delays_after_an_end(void **state)
{
	(void)state;
	enum { MIN_MS = 64, MAX_MS = 4 * MIN_MS };
	static const struct fake_step expired = {.fits = WATCH("5"), .status = 410, .body = "{}"},
				      cut = {.fits = WATCH("5"),
					     .body = EVENT("ADDED", "a", "5"),
					     .end = FAKE_CUT,
					     .times = 5};
	static const struct {
		const char *name;
		const struct fake_step *end;
		int64_t steady_ms;
		size_t n;
		struct {
			int64_t least_ms, most_ms;
		} delays[5];
	} rows[] = {
		{"the first 410", &expired, 0, 1, {{0, MIN_MS}}},
		{"a watch that was steady (any is, here) was cut",
		 &cut,
		 -1,
		 3,
		 {{0, MIN_MS}, {0, MIN_MS}, {0, MIN_MS}}},
		{"cut at once, again and again, events or not: longer each time",
		 &cut,
		 0,
		 5,
		 {{MIN_MS, 2 * MIN_MS},
		  {MAX_MS / 2, MAX_MS},
		  {MAX_MS / 2, MAX_MS},
		  {MAX_MS / 2, MAX_MS},
		  {MAX_MS / 2, MAX_MS}}},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct fake_step steps[] = {{.fits = FIRST, .body = LIST("5", "")},
						  *rows[i].end,
						  {.fits = SINCE("5"), .body = LIST("50", "")},
						  LAST("50"),
						  {0}};
		struct reflector_config own = config;
		struct world world;

		test_row(rows[i].name);
		own.backoff_min_ms = MIN_MS;
		own.backoff_max_ms = MAX_MS;
		own.steady_ms = rows[i].steady_ms;
		start(&world, steps, own);
		while (world.seen.n_delays < rows[i].n)
			poll_once(&world);
		for (size_t n = 0; n < rows[i].n; n++)
			assert_in_range(world.seen.delays_ms[n], rows[i].delays[n].least_ms, rows[i].delays[n].most_ms);
		stop(&world);
	}
}

/* The relists of many watches after one 410 are not sent at one moment. */
static void test_relists_are_spread(void **state)
{
	(void)state;
	enum { N = 32, MIN_MS = 1000 };
	static const struct fake_step steps[] = {{.fits = FIRST, .body = LIST("5", ""), .times = N},
						 {.fits = WATCH("5"), .status = 410, .body = "{}", .times = N},
						 {.fits = SINCE("5"), .body = LIST("50", ""), .times = N},
						 LAST("50"),
						 {0}};
	struct reflector *others[N - 1];
	struct reflector_config own = config;
	struct err err = ERR_INIT;
	int64_t least_ms = MIN_MS, most_ms = 0;
	struct world world;

	own.backoff_min_ms = MIN_MS;
	start(&world, steps, own);
	own.context = &world.seen;
	for (size_t i = 0; i < N - 1; i++)
		assert_int_equal(reflector_start(world.client, &own, &others[i], &err), 0);
	while (world.seen.n_delays < N)
		poll_once(&world);
	for (size_t i = 0; i < N; i++) {
		least_ms = MIN(least_ms, world.seen.delays_ms[i]);
		most_ms = MAX(most_ms, world.seen.delays_ms[i]);
	}
	/* of 32 even numbers less than half of the range would be one in 40 million */
	assert_true(most_ms - least_ms > MIN_MS / 2);
	for (size_t i = 0; i < N - 1; i++)
		reflector_free(others[i]);
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
	assert_true(stats.is_synced);
	assert_int_equal(stats.objects, 2);
	assert_int_equal(stats.bookmarks, 1);
	assert_int_equal(stats.events, 1);
	assert_int_equal(stats.lists, 1);
	while (world.seen.synced < 2)
		poll_once(&world);
	reflector_free(second);
	stop(&world);
	free(text);
}

/* An event with more tokens than a list accepts is left out before it is parsed, and its memory is given back. */
static void test_an_event_with_too_many_tokens(void **state)
{
	(void)state;
	for (int wants_text = 0; wants_text < 2; wants_text++) {
		struct strbuf text = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);
		struct fake_step steps[] = {{.fits = FIRST, .body = LIST("5", META("a", "1"))},
					    {.fits = WATCH("5"), .end = FAKE_HOLD},
					    {0}};
		struct reflector_config own = config;
		struct world world;

		strbuf_adds(&text, "{\"type\":\"MODIFIED\",\"object\":{\"items\":[1");
		for (size_t i = 0; i < LIMIT_KUBE_OBJECT_TOKENS; i++)
			strbuf_adds(&text, ",1");
		strbuf_adds(&text,
			    "],\"metadata\":{\"namespace\":\"ml\",\"name\":\"a\",\"resourceVersion\":\"6\"}}}\n");
		strbuf_adds(&text, EVENT("ADDED", "end", "7"));
		steps[1].body = strbuf_text(&text);
		own.wants_text = wants_text;
		start(&world, steps, own);
		run_to_end(&world);
		assert_string_equal(strbuf_text(&world.seen.log), "+a@1 = -a@6! ");
		assert_int_equal(world.seen.passed_over, 1);
		assert_string_equal(world.seen.last.where, "ml/a");
		assert_int_equal(world.seen.last.code, -E2BIG);
		assert_int_equal(world.seen.failed, 0);
		assert_true(world.reflector->line.capacity <= 64 * KIB);
		stop(&world);
		strbuf_release(&text);
	}
}

/* Its owner knows that something has changed without an event: it lists from etcd, and watches from there. */
static void test_list_again(void **state)
{
	(void)state;
	static const struct fake_step steps[] = {
		{.fits = FIRST, .body = LIST("50", META("a", "41") "," META("b", "42"))},
		{.fits = WATCH("50"), .end = FAKE_HOLD},
		{.fits = LISTS, .body = LIST("5", META("a", "4"))},
		LAST("5"),
		{0}};
	struct world world;

	start(&world, steps, config);
	while (!world.seen.synced || !fake_api_count(world.api, WATCH("50")))
		poll_once(&world);
	reflector_list_again(world.reflector);
	run_to_end(&world);
	assert_string_equal(strbuf_text(&world.seen.log), "+a@41 +b@42 = ~a@4 -b@! = ");
	assert_int_equal(world.seen.failed, 0);
	assert_int_equal(fake_api_unexpected(world.api), 0);
	stop(&world);
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
	struct kube_cache known = {.forgets_names = false};
	size_t gone = 0;
	char name[32];

	for (uint32_t round = 0; round < 2; round++)
		for (int i = 0; i < 2000; i++) {
			struct kube_object object = {.namespace = "", .name = name, .resource_version = "1"};

			snprintf(name, sizeof(name), "%c%d", i % 2 && !round ? 'b' : 'a', i);
			assert_int_equal(kube_cache_put(&known, &object, round),
					 round && i % 2 == 0 ? KUBE_CACHE_SAME : KUBE_CACHE_NEW);
		}
	assert_int_equal(known.objects.n, 3000);
	assert_true(kube_cache_remove(&known, "", "b1"));
	assert_false(kube_cache_remove(&known, "", "b1"));
	assert_false(kube_cache_remove(&known, "b", "3"));
	assert_true(kube_cache_has(&known, "", "b3"));
	assert_int_equal(kube_cache_sweep(&known, 1, count_gone, &gone), 999);
	assert_int_equal(gone, 999);
	assert_false(kube_cache_has(&known, "", "b3"));
	assert_true(kube_cache_has(&known, "", "a3"));
	assert_int_equal(known.objects.n, 2000);
	kube_cache_release(&known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_an_unanswered_watch_is_given_up),
		cmocka_unit_test(test_delays_after_an_end),
		cmocka_unit_test(test_relists_are_spread),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_an_event_with_too_many_tokens),
		cmocka_unit_test(test_list_again),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
