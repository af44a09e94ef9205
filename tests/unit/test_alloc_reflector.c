/* SPDX-License-Identifier: Apache-2.0 */
/* A change that comes while there is no memory is told later, whichever allocation fails. */
#include "base/limits.h"
#include "fake_api.h"
#include "kube/kube_server.h"
#include "kube/reflector.h"
#include "support/alloc_fail.h"
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define META(name, version)                                                                                            \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define ADDED(name, version) "{\"type\":\"ADDED\",\"object\":" META(name, version) "}\n"
#define MOST_ALLOCATIONS     2000

struct seen {
	bool is_synced, has_first, has_last;
};

static void on_object(void *context, const struct kube_object *object)
{
	struct seen *seen = context;

	seen->has_first |= streq(object->name, "first");
	seen->has_last |= streq(object->name, "last");
}

static void on_synced(void *context)
{
	((struct seen *)context)->is_synced = true;
}

/* @return whether an allocation failed. */
static bool try_one(long nth, bool wants_text)
{
	static const struct fake_step steps[] = {
		{.fits = "resourceVersion=0 ", .body = "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"},
		{.fits = "resourceVersion=5&",
		 .body = ADDED("first", "6") ADDED("last", "7"),
		 .end = FAKE_HOLD,
		 .times = 100},
		{.fits = "resourceVersion=6&", .body = ADDED("last", "7"), .end = FAKE_HOLD, .times = 100},
		/* where the answer to a watch could not be had so often that it lists */
		{.fits = "limit=500 ",
		 .body = "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" META("first", "6") "," META("last",
													     "7") "]}",
		 .times = 100},
		{0}};
	struct fake_api *api = fake_api_start(steps);
	struct kube_server server = {.url = fake_api_url(api)};
	struct kube_client *client = NULL;
	struct reflector *reflector = NULL;
	struct err err = ERR_INIT;
	struct seen seen = {.is_synced = false};
	const struct reflector_config config = {
		.selection = {.resource = {"", "v1", "pods"}},
		.added = on_object,
		.modified = on_object,
		.deleted = on_object,
		.synced = on_synced,
		.context = &seen,
		.wants_text = wants_text,
		.backoff_min_ms = 1,
		.backoff_max_ms = 2,
	};
	bool has_failed;

	assert_int_equal(kube_client_new(&server, NULL, &client, &err), 0);
	assert_int_equal(reflector_start(client, &config, &reflector, &err), 0);
	while (!seen.is_synced)
		assert_int_equal(kube_client_poll(client, NULL, 0, 1000, &err), 0);
	alloc_fail_arm(nth);
	while (!seen.has_last) {
		int r = kube_client_poll(client, NULL, 0, 1000, &err);

		assert_true(r == 0 || r == -ENOMEM);
	}
	has_failed = alloc_fail_disarm();
	if (!seen.has_first)
		fail_msg("allocation %ld failed, and a change is lost", nth);
	reflector_free(reflector);
	kube_client_free(client);
	fake_api_free(api);
	return has_failed;
}

static void test_changes(void **state)
{
	(void)state;
	for (int wants_text = 0; wants_text < 2; wants_text++) {
		long nth = 1;

		while (try_one(nth, wants_text) && nth < MOST_ALLOCATIONS)
			nth++;
		assert_true(nth > 10 && nth < MOST_ALLOCATIONS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes)};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
