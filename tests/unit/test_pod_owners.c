/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns an owner, asked of an API server that fails: when it is asked again, and what is dropped when there are too
 * many owners. */
#include "support/test.h"

#include "base/timefmt.h"
#include "fake_api.h"
#include "kube/kube_server.h"
#include "pods/pod_owners.h"

#include <signal.h>

#define JOBS		  "GET /apis/batch/v1/namespaces/ml/jobs/"
#define STATUS(code, why) "{\"kind\":\"Status\",\"code\":" code ",\"reason\":\"" why "\",\"message\":\"the words\"}"

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
	struct pod_owners owners;
	int n_answered, n_failed;
};

static void on_answered(void *context)
{
	((struct world *)context)->n_answered++;
}

static void on_failed(void *context, const struct err *why)
{
	(void)why;
	((struct world *)context)->n_failed++;
}

static void begin(struct world *world, struct fake_api *api)
{
	*world = (struct world){.api = api};
	world->server.url = fake_api_url(world->api);
	assert_int_equal(kube_client_new(&world->server, NULL, &world->client, NULL), 0);
	world->owners = (struct pod_owners){
		.client = world->client, .answered = on_answered, .failed = on_failed, .context = world};
}

static void end(struct world *world)
{
	assert_int_equal(fake_api_unexpected(world->api), 0);
	pod_owners_release(&world->owners);
	kube_client_free(world->client);
	fake_api_free(world->api);
}

/* A Job whose uid is its name. 0, 1 or -ENOMEM; who is at its top, where it is known. */
static int root_of(struct world *world, const char *name, const char **ret_kind)
{
	char text[32];
	struct sighting_owner job = {.api_version = (char *)(uintptr_t) "batch/v1",
				     .kind = (char *)(uintptr_t) "Job",
				     .name = text,
				     .uid = text};
	const struct sighting_owner *root = NULL;
	int r;

	snprintf(text, sizeof(text), "%s", name);
	r = pod_owners_root(&world->owners, "ml", &job, &root);
	*ret_kind = r ? "" : streq(root->kind, "Job") ? "Job" : "CronJob";
	return r;
}

static const char *wait_for_root(struct world *world, const char *name)
{
	const char *kind;

	while (root_of(world, name, &kind) == 1) {
		assert_int_equal(kube_client_poll(world->client, NULL, 0, 100, NULL), 0);
		assert_int_equal(fake_api_unexpected(world->api), 0); /* else it would be waited for in vain */
	}
	return kind;
}

/* What will do again in a moment must not give a run another name; what may not be asked is not asked again. */
static void who_cannot_answer_now_is_asked_again(void **state)
{
	static const struct fake_step steps[] = {
		{JOBS "a ", .status = 500, .body = STATUS("500", "InternalError")},
		{JOBS "a ",
		 .body = "{\"metadata\":{\"uid\":\"a\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"
			 "\"CronJob\",\"name\":\"nightly\",\"uid\":\"c\",\"controller\":true}]}}"},
		{JOBS "broken ", .status = 500, .body = STATUS("500", "InternalError"), .times = 6},
		{JOBS "b ", .status = 403, .body = STATUS("403", "Forbidden")},
		{JOBS "c ", .status = 404, .body = STATUS("404", "NotFound")},
		{.fits = NULL},
	};
	struct world world;
	int64_t start_ms = time_monotonic_ms();

	(void)state;
	begin(&world, fake_api_start(steps));
	world.owners.pause_ms = 20;
	assert_string_equal(wait_for_root(&world, "a"), "CronJob");
	assert_true(time_monotonic_ms() - start_ms >= 19); /* not at once */
	assert_int_equal(world.n_failed, 1);
	assert_string_equal(wait_for_root(&world, "b"), "Job");
	assert_string_equal(wait_for_root(&world, "c"), "Job");
	assert_int_equal(world.n_failed, 2);
	assert_string_equal(wait_for_root(&world, "broken"), "Job");
	assert_int_equal(fake_api_count(world.api, JOBS "broken "), 6);
	end(&world);
}

static char *answer_cron_job(void *context, const char *request, struct fake_step *ret)
{
	const char *name = strstr(request, "/jobs/") + strlen("/jobs/");
	char *text = NULL;

	(void)context;
	ret->status = 200;
	return asprintf(&text,
			"{\"metadata\":{\"uid\":\"%.*s\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":"
			"\"CronJob\",\"name\":\"nightly\",\"uid\":\"c\",\"controller\":true}]}}",
			(int)strcspn(name, " "), name) < 0
		       ? NULL
		       : text;
}

/* However many there were before, who comes later has a name of its own. */
static void the_oldest_are_dropped_when_there_are_too_many(void **state)
{
	struct world world;
	char name[16];

	(void)state;
	begin(&world, fake_api_start_with(answer_cron_job, NULL));
	world.owners.limit = 16;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		assert_string_equal(wait_for_root(&world, name), "CronJob");
		assert_true(world.owners.entries.n <= 16);
	}
	assert_int_equal(fake_api_count(world.api, JOBS), 100);
	/* one that was dropped is asked for once more, one that was not is not */
	assert_string_equal(wait_for_root(&world, "job-0"), "CronJob");
	assert_string_equal(wait_for_root(&world, "job-99"), "CronJob");
	assert_int_equal(fake_api_count(world.api, JOBS), 101);
	end(&world);
}

/* Nobody takes the answers until all of them are there: more than fit, at once. */
static void who_finds_no_room_waits_for_it(void **state)
{
	enum { JOBS_AT_ONCE = 60 };
	struct world world;
	int n_known = 0;

	(void)state;
	begin(&world, fake_api_start_with(answer_cron_job, NULL));
	world.owners.limit = 16;
	for (bool is_known[JOBS_AT_ONCE] = {false}; n_known < JOBS_AT_ONCE;) {
		for (int i = 0; i < JOBS_AT_ONCE; i++) {
			const char *kind = "";
			char name[16];

			snprintf(name, sizeof(name), "job-%d", i);
			if (is_known[i] || root_of(&world, name, &kind))
				continue;
			assert_string_equal(kind, "CronJob");
			is_known[i] = true;
			n_known++;
		}
		assert_int_equal(kube_client_poll(world.client, NULL, 0, 5, NULL), 0);
		assert_true(world.owners.entries.n <= 16);
	}
	end(&world);
}

/* Pods that are gone before the answer never take it: what nobody took is dropped when nothing is left to come. */
static void answers_that_nobody_takes_make_room(void **state)
{
	struct world world;
	const char *kind;
	char name[16];

	(void)state;
	begin(&world, fake_api_start_with(answer_cron_job, NULL));
	world.owners.limit = 16;
	for (int i = 0; i < 13; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		assert_int_equal(root_of(&world, name, &kind), 1);
	}
	while (world.n_answered < 13)
		assert_int_equal(kube_client_poll(world.client, NULL, 0, 100, NULL), 0);
	assert_string_equal(wait_for_root(&world, "another"), "CronJob");
	end(&world);
}

static int ignore_sigpipe(void **state)
{
	(void)state;
	return signal(SIGPIPE, SIG_IGN) == SIG_ERR;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_cannot_answer_now_is_asked_again),
		cmocka_unit_test(the_oldest_are_dropped_when_there_are_too_many),
		cmocka_unit_test(who_finds_no_room_waits_for_it),
		cmocka_unit_test(answers_that_nobody_takes_make_room),
	};

	return cmocka_run_group_tests(tests, ignore_sigpipe, NULL);
}
