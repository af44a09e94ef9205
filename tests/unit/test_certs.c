/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of the rotation against answers that are made up. tests/e2e/test_certs.py has a real API server. */
#include "base/base64.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "certs/bundles.h"
#include "certs/certs.h"
#include "fake_api.h"
#include "kube/kube_server.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define LIFE	   (30 * TIME_DAY_MS)
#define SECRETS	   "/api/v1/namespaces/memtamer/secrets"
#define LEASES	   "/apis/coordination.k8s.io/v1/namespaces/memtamer/leases"
#define MUTATING   "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
#define VALIDATING "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
#define WATCH	   "watch=true"
#define LEASE(holder)                                                                                                  \
	"{\"metadata\":{\"name\":\"tls\",\"resourceVersion\":\"1\"},\"spec\":{\"holderIdentity\":\"" holder            \
	"\",\"leaseDurationSeconds\":15}}"
#define LIST(items) "{\"metadata\":{\"resourceVersion\":\"100\"},\"items\":[" items "]}"

struct seen {
	size_t used, failed;
	size_t refusals, refused; /* of `use`: up to how many, and so far */
	size_t steps[ROTATION_ACTION_COUNT_];
	char cert[16 * 1024], why[512];
};

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
	struct configurations *configurations;
	struct certs *certs;
	struct seen seen;
};

/* What the API server has, as text; made once. */
static char *secret_text, *filled_text, *empty_text; /* one object each */
static char *secret_list, *filled_list, *empty_list;

/* Steps of a server where nothing is left to do. */
#define ALL_IS_THERE                                                                                                   \
	{.fits = WATCH, .end = FAKE_HOLD, .times = 100}, {.fits = "GET " SECRETS "?", .body = secret_list},            \
		{.fits = "GET " MUTATING "?", .body = filled_list},                                                    \
	{                                                                                                              \
		.fits = "GET " VALIDATING "?", .body = filled_list                                                     \
	}
static struct tls_secret made;

static int use(void *context, const char *cert_pem, const char *key_pem, struct err *err)
{
	struct seen *seen = context;

	if (seen->refused < seen->refusals) {
		seen->refused++;
		return err_set(err, -ENOMEM, "no room for it");
	}
	assert_non_null(strstr(key_pem, "PRIVATE KEY"));
	snprintf(seen->cert, sizeof(seen->cert), "%s", cert_pem);
	seen->used++;
	return 0;
}

static void stepped(void *context, enum rotation_action action, const char *why)
{
	(void)why;
	((struct seen *)context)->steps[action]++;
}

static void failed(void *context, const struct err *why)
{
	struct seen *seen = context;

	snprintf(seen->why, sizeof(seen->why), "%s", why->msg);
	seen->failed++;
}

static void changed(void *context, enum configuration_kind kind, struct json_object *object)
{
	certs_take_configuration(((struct world *)context)->certs, kind, object);
}

static void start(struct world *world, const struct fake_step *steps)
{
	static const char *const names[] = {"memtamer-webhook.memtamer.svc", NULL};
	const struct configurations_config watched = {.names = {"a0", "w0"}, .changed = changed, .context = world};
	struct certs_config config = {
		.namespace = "memtamer",
		.secret = "tls",
		.identity = "me",
		.server_names = names,
		.cert_lifetime_ms = LIFE,
		.ca_lifetime_ms = 12 * LIFE,
		.use = use,
		.stepped = stepped,
		.failed = failed,
		.context = &world->seen,
	};
	struct err err = ERR_INIT;

	*world = (struct world){.api = fake_api_start(steps)};
	world->server.url = fake_api_url(world->api);
	assert_int_equal(kube_client_new(&world->server, NULL, &world->client, &err), 0);
	assert_int_equal(configurations_start(world->client, &watched, &world->configurations, &err), 0);
	assert_int_equal(certs_start(world->client, world->configurations, &config, &world->certs, &err), 0);
}

static void stop(struct world *world)
{
	assert_int_equal(fake_api_unexpected(world->api), 0);
	certs_free(world->certs);
	configurations_free(world->configurations);
	kube_client_free(world->client);
	fake_api_free(world->api);
}

static void poll_once(struct world *world)
{
	struct err err = ERR_INIT;

	assert_int_equal(kube_client_poll(world->client, NULL, 0, 50, &err), 0);
}

static enum rotation_action action_of(const struct world *world)
{
	struct certs_state state;

	certs_state(world->certs, &state);
	return state.action;
}

/* Everything is as it should be: nothing but the three watches is asked for, and no Lease taken. */
static void test_idle(void **state)
{
	(void)state;
	const struct fake_step steps[] = {ALL_IS_THERE, {0}};
	struct certs_state now;
	struct world world;

	start(&world, steps);
	while (!world.seen.used || fake_api_count(world.api, WATCH) < 3)
		poll_once(&world);
	certs_state(world.certs, &now);
	assert_int_equal(now.action, ROTATION_WAIT);
	assert_true(now.is_serving && now.leaf_until_ms && now.ca_until_ms && !now.last_error.code);
	assert_string_equal(world.seen.cert, made.leaf.cert_pem);
	assert_string_equal(certs_serving(world.certs), made.leaf.cert_pem);
	for (int i = 0; i < 5; i++)
		poll_once(&world);
	assert_int_equal(world.seen.used, 1);
	assert_int_equal(world.seen.failed, 0);
	assert_int_equal(fake_api_count(world.api, LEASES), 0);
	assert_int_equal(fake_api_count(world.api, "HTTP/1.1"), 6);
	stop(&world);
}

/* A certificate that cannot be taken now is tried again soon, and said until then, though there is nothing else to do.
 */
static void test_leaf_cannot_be_used(void **state)
{
	(void)state;
	const struct fake_step steps[] = {ALL_IS_THERE, {0}};
	struct certs_state now;
	struct world world;

	start(&world, steps);
	world.seen.refusals = SIZE_MAX;
	while (world.seen.refused < 2 || action_of(&world) != ROTATION_WAIT || fake_api_count(world.api, WATCH) < 3)
		poll_once(&world);
	certs_state(world.certs, &now);
	assert_false(now.is_serving);
	assert_int_equal(now.last_error.code, -ENOMEM);
	assert_int_equal(world.seen.failed, 1);
	assert_string_equal(world.seen.why, "no room for it");
	world.seen.refusals = 0;
	while (!world.seen.used)
		poll_once(&world);
	certs_state(world.certs, &now);
	assert_true(now.is_serving);
	assert_int_equal(now.last_error.code, 0);
	assert_int_equal(world.seen.failed, 1);
	assert_string_equal(world.seen.cert, made.leaf.cert_pem);
	stop(&world);
}

/* Nothing is there; another replica creates the Secret first, and its certificate is used. The watch reports what it
 * wrote; nothing else is read. */
static void test_start_and_race(void **state)
{
	(void)state;
	CLEANUP(strbuf_release) struct strbuf created = STRBUF_INIT(MIB);

	strbuf_addf(&created, "{\"type\":\"ADDED\",\"object\":%s}\n", secret_text);
	const struct fake_step steps[] = {
		{.fits = SECRETS "?fieldSelector=metadata.name%3Dtls&" WATCH,
		 .body = strbuf_text(&created),
		 .end = FAKE_HOLD,
		 .after = "POST " SECRETS " "},
		{.fits = WATCH, .end = FAKE_HOLD, .times = 100},
		{.fits = "GET " SECRETS "?", .body = LIST("")},
		{.fits = "GET " MUTATING "?", .body = empty_list},
		{.fits = "GET " VALIDATING "?", .body = LIST("")},
		{.fits = "GET " LEASES "/tls ", .status = 404, .body = "{}"},
		{.fits = "POST " LEASES " ", .status = 201, .body = LEASE("me")},
		{.fits = "POST " SECRETS " ", .status = 409, .body = "{\"reason\":\"AlreadyExists\"}"},
		{.fits = "PATCH " MUTATING "/a0 ", .status = 409, .body = "{}"},
		{.fits = "PATCH " MUTATING "/a0 ", .body = filled_text},
		{.fits = "GET " LEASES "/tls ", .body = LEASE("me"), .times = 100},
		{.fits = "PUT " LEASES "/tls ", .body = LEASE("me"), .times = 100},
		{0}};
	struct world world;
	char text[65536];

	start(&world, steps);
	while (!world.seen.steps[ROTATION_FILL])
		poll_once(&world);
	assert_int_equal(world.seen.used, 1);
	assert_int_equal(world.seen.steps[ROTATION_CREATE], 0);
	assert_string_equal(world.seen.cert, made.leaf.cert_pem);
	assert_int_equal(world.seen.failed, 0); /* races are ordinary */
	/* the Lease is given up when there is no work any more */
	while (!fake_api_count(world.api, "\"holderIdentity\":\"\""))
		poll_once(&world);
	for (size_t i = 0;; i++) {
		fake_api_request(world.api, i, text, sizeof(text));
		assert_true(*text);
		if (strstarts(text, "PATCH"))
			break;
	}
	assert_non_null(strstr(text, "Content-Type: application/json-patch+json"));
	assert_non_null(strstr(text, "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"},{"
				     "\"op\":\"add\",\"path\":\"/webhooks/0/clientConfig/caBundle\",\"value\":\""));
	assert_null(strstr(text, "PRIVATE"));
	stop(&world);
}

#define EXPIRED "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}}\n"
#define BLANK(version)                                                                                                 \
	"{\"metadata\":{\"name\":\"tls\",\"namespace\":\"memtamer\",\"uid\":\"u\",\"resourceVersion\":\"" version      \
	"\"},\"type\":\"Opaque\"}"
#define UNFILLED(version)                                                                                              \
	"{\"metadata\":{\"name\":\"a0\",\"resourceVersion\":\"" version                                                \
	"\"},\"webhooks\":[{\"name\":\"w\",\"clientConfig\":{\"url\":\"https://x/mutate\"}}]}"
#define EVENT(object) "{\"type\":\"MODIFIED\",\"object\":" object "}\n"
#define A_LEASE                                                                                                        \
	{.fits = "GET " LEASES "/tls ", .status = 404, .body = "{}"},                                                  \
		{.fits = "POST " LEASES " ", .status = 201, .body = LEASE("me")},                                      \
		{.fits = "GET " LEASES "/tls ", .body = LEASE("me"), .times = 100},                                    \
	{                                                                                                              \
		.fits = "PUT " LEASES "/tls ", .body = LEASE("me"), .times = 100                                       \
	}
#define LEFT_LEASE "\"holderIdentity\":\"\""

/* Polls until so many requests held this text, for at most 20 s. */
static void wait_for(struct world *world, const char *text, size_t n)
{
	for (int i = 0; i < 400 && fake_api_count(world->api, text) < n; i++)
		poll_once(world);
	assert_true(fake_api_count(world->api, text) >= n);
}

/* The store was restored from a backup, with smaller resourceVersions: what a list has now counts. An event that was
 * under way when an answer came does not. */
static void test_restored_secret(void **state)
{
	(void)state;
	const struct fake_step steps[] = {
		{.fits = SECRETS "?fieldSelector=metadata.name%3Dtls&" WATCH, .body = EXPIRED, .end = FAKE_END},
		{.fits = SECRETS "?fieldSelector=metadata.name%3Dtls&" WATCH,
		 .body = EVENT(BLANK("3")),
		 .end = FAKE_HOLD,
		 .after = LEFT_LEASE},
		{.fits = WATCH, .end = FAKE_HOLD, .times = 100},
		{.fits = "GET " SECRETS "?", .body = secret_list},
		{.fits = "GET " SECRETS "?", .body = LIST(BLANK("4"))},
		{.fits = "GET " MUTATING "?", .body = filled_list},
		{.fits = "GET " VALIDATING "?", .body = filled_list},
		A_LEASE,
		{.fits = "PUT " SECRETS "/tls ", .body = secret_text},
		{0}};
	struct world world;

	start(&world, steps);
	wait_for(&world, "PUT " SECRETS "/tls ", 1);
	assert_int_equal(fake_api_count(world.api, "\"resourceVersion\":\"4\""), 1);
	wait_for(&world, LEFT_LEASE, 1);
	for (int i = 0; i < 20; i++)
		poll_once(&world);
	assert_int_equal(action_of(&world), ROTATION_WAIT);
	assert_int_equal(fake_api_count(world.api, "PUT " SECRETS "/tls "), 1);
	assert_string_equal(world.seen.cert, made.leaf.cert_pem);
	assert_int_equal(world.seen.failed, 0);
	stop(&world);
}

/* The same of a configuration. */
static void test_restored_configuration(void **state)
{
	(void)state;
	const struct fake_step steps[] = {
		{.fits = MUTATING "?fieldSelector=metadata.name%3Da0&" WATCH, .body = EXPIRED, .end = FAKE_END},
		{.fits = MUTATING "?fieldSelector=metadata.name%3Da0&" WATCH,
		 .body = EVENT(UNFILLED("6")),
		 .end = FAKE_HOLD,
		 .after = LEFT_LEASE},
		{.fits = WATCH, .end = FAKE_HOLD, .times = 100},
		{.fits = "GET " SECRETS "?", .body = secret_list},
		{.fits = "GET " MUTATING "?", .body = filled_list},
		{.fits = "GET " MUTATING "?", .body = LIST(UNFILLED("7"))},
		{.fits = "GET " VALIDATING "?", .body = filled_list},
		A_LEASE,
		{.fits = "PATCH " MUTATING "/a0 ", .body = filled_text},
		{0}};
	struct world world;

	start(&world, steps);
	wait_for(&world, "PATCH " MUTATING "/a0 ", 1);
	assert_int_equal(fake_api_count(world.api, "\"path\":\"/metadata/resourceVersion\",\"value\":\"7\""), 1);
	wait_for(&world, LEFT_LEASE, 1);
	for (int i = 0; i < 20; i++)
		poll_once(&world);
	assert_int_equal(action_of(&world), ROTATION_WAIT);
	assert_int_equal(fake_api_count(world.api, "PATCH " MUTATING "/a0 "), 1);
	assert_int_equal(world.seen.failed, 0);
	stop(&world);
}

/* The same while the API server, which was not restarted, accepts the watch from a resourceVersion that it has not
 * reached: the watch says nothing. */
static void test_conflicts_lead_to_a_new_list(void **state)
{
	(void)state;
	const struct fake_step steps[] = {
		{.fits = WATCH, .end = FAKE_HOLD, .times = 100},
		{.fits = "GET " SECRETS "?", .body = LIST(BLANK("50"))},
		{.fits = "limit=500 ", .body = LIST(BLANK("4"))},
		{.fits = "GET " MUTATING "?", .body = filled_list},
		{.fits = "GET " VALIDATING "?", .body = filled_list},
		A_LEASE,
		{.fits = "PUT " SECRETS "/tls ", .status = 409, .body = "{\"reason\":\"Conflict\"}", .times = 3},
		{.fits = "PUT " SECRETS "/tls ", .body = secret_text},
		{0}};
	struct world world;

	start(&world, steps);
	wait_for(&world, "PUT " SECRETS "/tls ", 4);
	assert_int_equal(fake_api_count(world.api, "\"resourceVersion\":\"50\""), 3);
	assert_int_equal(fake_api_count(world.api, "\"resourceVersion\":\"4\""), 1);
	wait_for(&world, LEFT_LEASE, 1);
	assert_string_equal(world.seen.cert, made.leaf.cert_pem);
	assert_int_equal(world.seen.failed, 0);
	stop(&world);
}

/* The same of a configuration. */
static void test_conflicts_of_a_configuration_lead_to_a_new_list(void **state)
{
	(void)state;
	const struct fake_step steps[] = {
		{.fits = WATCH, .end = FAKE_HOLD, .times = 100},
		{.fits = "GET " SECRETS "?", .body = secret_list},
		{.fits = "GET " MUTATING "?", .body = LIST(UNFILLED("50"))},
		{.fits = "limit=500 ", .body = LIST(UNFILLED("4"))},
		{.fits = "GET " VALIDATING "?", .body = filled_list},
		A_LEASE,
		{.fits = "PATCH " MUTATING "/a0 ", .status = 409, .body = "{\"reason\":\"Conflict\"}", .times = 3},
		{.fits = "PATCH " MUTATING "/a0 ", .body = filled_text},
		{0}};
	struct world world;

	start(&world, steps);
	wait_for(&world, "PATCH " MUTATING "/a0 ", 4);
	assert_int_equal(fake_api_count(world.api, "\"path\":\"/metadata/resourceVersion\",\"value\":\"4\""), 1);
	wait_for(&world, LEFT_LEASE, 1);
	assert_int_equal(world.seen.failed, 0);
	stop(&world);
}

/* Nobody lets us write: it is told once, and tried again with growing pauses. */
static void test_forbidden(void **state)
{
	(void)state;
	const struct fake_step steps[] = {
		{.fits = WATCH, .end = FAKE_HOLD, .times = 100},
		{.fits = "GET " SECRETS "?", .body = LIST("")},
		{.fits = "GET " MUTATING "?", .body = empty_list},
		{.fits = "GET " VALIDATING "?", .body = LIST("")},
		{.fits = "GET " LEASES "/tls ", .body = LEASE(""), .times = 100},
		{.fits = "PUT " LEASES "/tls ", .body = LEASE("me"), .times = 100},
		{.fits = "POST " SECRETS " ",
		 .status = 403,
		 .body = "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"no secrets for you\"}",
		 .times = 100},
		{0}};
	struct certs_state now;
	struct world world;

	start(&world, steps);
	while (fake_api_count(world.api, "POST " SECRETS " ") < 2)
		poll_once(&world);
	assert_int_equal(world.seen.failed, 1);
	assert_non_null(strstr(world.seen.why, "no secrets for you"));
	assert_non_null(strstr(world.seen.why, "create"));
	certs_state(world.certs, &now);
	assert_true(now.failures >= 1 && now.last_error.code && !now.is_serving);
	assert_int_equal(world.seen.used, 0);
	stop(&world);
}

/* What a clock that is wrong by years signs, nobody would believe in. */
static void test_wrong_clock(void **state)
{
	(void)state;
	static const char old_lease[] =
		"{\"metadata\":{\"name\":\"tls\",\"resourceVersion\":\"1\",\"managedFields\":[{\"time\":"
		"\"2019-01-01T00:00:00Z\"},{\"time\":\"2020-01-01T00:00:00Z\",\"fieldsV1\":{\"f:spec\":{\"f:"
		"renewTime\":{}}"
		"}}]},\"spec\":{\"holderIdentity\":\"me\","
		"\"leaseDurationSeconds\":15}}";
	const struct fake_step steps[] = {{.fits = WATCH, .end = FAKE_HOLD, .times = 100},
					  {.fits = "GET " SECRETS "?", .body = LIST("")},
					  {.fits = "GET " MUTATING "?", .body = empty_list},
					  {.fits = "GET " VALIDATING "?", .body = LIST("")},
					  {.fits = "GET " LEASES "/tls ", .body = LEASE("")},
					  {.fits = "GET " LEASES "/tls ", .body = old_lease, .times = 100},
					  {.fits = "PUT " LEASES "/tls ", .body = old_lease, .times = 100},
					  {0}};
	struct world world;

	start(&world, steps);
	/* the Lease is given up, for another to do it */
	while (!fake_api_count(world.api, "\"holderIdentity\":\"\""))
		poll_once(&world);
	for (int i = 0; i < 10; i++)
		poll_once(&world);
	assert_int_equal(world.seen.failed, 1);
	assert_non_null(strstr(world.seen.why, "our clock is "));
	assert_non_null(strstr(world.seen.why, "ahead of the API server's"));
	assert_int_equal(fake_api_count(world.api, "POST " SECRETS), 0);
	assert_int_equal(fake_api_count(world.api, "PUT " LEASES), 2);
	stop(&world);
}

/* Somebody else's: no request but the watches. */
static void test_refused(void **state)
{
	(void)state;
	const struct fake_step steps[] = {
		{.fits = WATCH, .end = FAKE_HOLD, .times = 100},
		{.fits = "GET " SECRETS "?",
		 .body = LIST("{\"metadata\":{\"name\":\"tls\",\"namespace\":\"memtamer\",\"resourceVersion\":\"5\"},"
			      "\"type\":\"kubernetes.io/tls\",\"data\":{\"tls.crt\":\"eA==\",\"tls.key\":\"eA==\"}}")},
		{.fits = "GET " MUTATING "?", .body = empty_list},
		{.fits = "GET " VALIDATING "?", .body = LIST("")},
		{0}};
	struct world world;

	start(&world, steps);
	while (!world.seen.failed || fake_api_count(world.api, WATCH) < 3)
		poll_once(&world);
	for (int i = 0; i < 5; i++)
		poll_once(&world);
	assert_int_equal(action_of(&world), ROTATION_WAIT);
	assert_int_equal(world.seen.used, 0);
	assert_int_equal(world.seen.failed, 1);
	assert_non_null(strstr(world.seen.why, "not made by memtamer"));
	assert_int_equal(fake_api_count(world.api, LEASES), 0);
	stop(&world);
}

/* ---- what the API server has ---- */

static char *list_of(const char *item)
{
	struct strbuf text = STRBUF_INIT(MIB);

	strbuf_addf(&text, LIST("%s"), item);
	return strbuf_detach(&text);
}

static char *make_configuration(const char *pem)
{
	struct strbuf text = STRBUF_INIT(MIB);

	strbuf_addf(&text,
		    "{\"metadata\":{\"name\":\"a0\",\"resourceVersion\":\"%s\"},\"webhooks\":[{\"name\":\"w\","
		    "\"clientConfig\":{\"url\":\"https://x/mutate\",\"caBundle\":\"",
		    *pem ? "8" : "7");
	base64_encode(pem, strlen(pem), &text);
	strbuf_adds(&text, "\"}}]}");
	return strbuf_detach(&text);
}

static int set_up(void **state)
{
	static const char *const names[] = {"memtamer-webhook.memtamer.svc", NULL};
	struct tls_secret_names secret_names = {.namespace = "memtamer", .secret = "tls", .server = names};
	const struct rotation_view view = {.now_ms = time_now_ms(), .times = rotation_times_for(LIFE, 12 * LIFE, 0)};
	const struct rotation_plan plan = {.makes_ca = true, .leaf = ROTATION_LEAF_MAKE};
	struct json_object *object = NULL, *metadata;
	struct tls_secret none = TLS_SECRET_INIT;
	struct err err = ERR_INIT;

	(void)state;
	tls_secret_name_ca(&secret_names);
	if (tls_secret_encode(&none, &secret_names, &view, &plan, NULL, &object, &err))
		return 1;
	metadata = json_member(object, "metadata");
	if (json_add(metadata, "resourceVersion", json_object_new_string("5")) ||
	    json_add(metadata, "uid", json_object_new_string("u")))
		return 1;
	secret_text = strdup(json_object_to_json_string(object));
	if (tls_secret_decode(object, &secret_names, &made, &err))
		return 1;
	filled_text = make_configuration(made.cas.certs[0].pem);
	empty_text = make_configuration("");
	secret_list = list_of(secret_text);
	filled_list = list_of(filled_text);
	empty_list = list_of(empty_text);
	json_object_put(object);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tls_secret_release(&made);
	free(secret_text);
	free(filled_text);
	free(empty_text);
	free(secret_list);
	free(filled_list);
	free(empty_list);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_leaf_cannot_be_used),
		cmocka_unit_test(test_start_and_race),
		cmocka_unit_test(test_restored_secret),
		cmocka_unit_test(test_restored_configuration),
		cmocka_unit_test(test_conflicts_lead_to_a_new_list),
		cmocka_unit_test(test_conflicts_of_a_configuration_lead_to_a_new_list),
		cmocka_unit_test(test_forbidden),
		cmocka_unit_test(test_wrong_clock),
		cmocka_unit_test(test_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
