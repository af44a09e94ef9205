/* SPDX-License-Identifier: Apache-2.0 */
/* The engine on a cluster: it learns what it learns with a file, whatever happens in between. */
#include "support/test.h"

#include "base/timefmt.h"
#include "engine/engine.h"
#include "engine/learn.h"
#include "fake_evidence.h"
#include "fake_objects.h"
#include "learned_digest.h"
#include "kube/kube_client.h"
#include "kube/kube_server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define DONE  .ends = END_SUCCEEDED, .container_ends = END_COMPLETED
#define GROUP "/apis/memtamer.io/v1alpha1/"

static const struct fake_pod world_pods[] = {
	{"n-1-a", "u1", "Job", "n-1", "CronJob", "n", .start_min = 100, .end_min = 220, DONE, .limit_mib = 400,
	 .request_mib = 400, .usual_mib = 100, .peak_mib = 150, .rss_mib = 150, .peak_after_min = 90},
	{"n-2-a", "u2", "Job", "n-2", "CronJob", "n", .start_min = 1540, .end_min = 1600, .ends = END_FAILED,
	 .container_ends = END_OOM_KILLED, .limit_mib = 160, .request_mib = 160, .usual_mib = 100, .peak_mib = 159,
	 .rss_mib = 159, .peak_after_min = 59},
	{"n-2-b", "u3", "Job", "n-2", "CronJob", "n", .start_min = 1605, .end_min = 1700, DONE, .limit_mib = 400,
	 .request_mib = 400, .usual_mib = 110, .peak_mib = 170, .rss_mib = 170, .peak_after_min = 30},
	{"n-3-a", "u4", "Job", "n-3", "CronJob", "n", .start_min = 4300, .end_min = 4400, DONE, .limit_mib = 400,
	 .request_mib = 400, .usual_mib = 105, .peak_mib = 155, .rss_mib = 155, .peak_after_min = 80},
	{"t-master-0", "u6", "PyTorchJob", "t", .start_min = 3000, .end_min = 4500, DONE, .usual_mib = 500,
	 .peak_mib = 900, .rss_mib = 900, .peak_after_min = 1400},
	{"t-worker-0", "u7", "PyTorchJob", "t", .start_min = 3001, .end_min = 4499, DONE, .usual_mib = 400,
	 .peak_mib = 800, .rss_mib = 800, .peak_after_min = 20},
	{"r-x", "u8", "Job", "r", .start_min = 8600, .usual_mib = 50, .peak_mib = 60, .rss_mib = 60,
	 .peak_after_min = 3},
};
#define WORLD_DAYS 6
#define NOW_MS	   (FAKE_EPOCH_MS + WORLD_DAYS * FAKE_DAY_MS + 3 * TIME_HOUR_MS)

struct place {
	struct fake_objects *objects;
	struct kube_server server;
	struct kube_client *client;
	struct config *config;
	struct fake_reader reader;
	struct store *store;
	struct engine engine;
};

static void restart(struct place *place)
{
	engine_release(&place->engine);
	store_close(place->store);
	assert_int_equal(store_open_kube(place->client, "memtamer", true, &place->store, NULL), 0);
	place->engine = (struct engine){.config = place->config, .reader = &place->reader.base, .store = place->store};
}

static void setup(struct place *place)
{
	*place = (struct place){.objects = fake_objects_start(), .config = config_new_default()};
	assert_non_null(place->config);
	place->config->store.kind = STORE_KUBE;
	place->config->prometheus.history_ms = (WORLD_DAYS + 1) * FAKE_DAY_MS;
	fake_reader_init(&place->reader, world_pods, ARRAY_LEN(world_pods));
	place->server.url = fake_objects_url(place->objects);
	assert_int_equal(kube_client_new(&place->server, &(struct kube_client_config){0}, &place->client, NULL), 0);
	restart(place);
}

static void teardown(struct place *place)
{
	engine_release(&place->engine);
	store_close(place->store);
	kube_client_free(place->client);
	fake_objects_free(place->objects);
	config_free(place->config);
}

static int cycle_at(struct place *place, int64_t now_ms, struct engine_result *result)
{
	struct err err = ERR_INIT;
	int r = engine_cycle(&place->engine, now_ms, result, &err);

	if (r)
		print_message("  %d: %s: %s\n", r, err.where, err.msg);
	return r;
}

static size_t writes(struct place *place)
{
	return fake_objects_count(place->objects, "POST") + fake_objects_count(place->objects, "PUT") +
	       fake_objects_count(place->objects, "DELETE");
}

static void digest(struct store *store, struct strbuf *ret)
{
	learned_digest(store, ret);
	assert_true(ret->len > 1000);
}

/* What the same engine learns with a file. */
static void digest_of_file(struct strbuf *ret)
{
	char folder[] = "/tmp/memtamer-engine-XXXXXX", path[64], other[80];
	static const char *const endings[] = {"", ".lock", ".state"};
	struct engine_result result;
	struct store *store = NULL;
	struct fake_reader reader;
	struct engine engine = {.config = config_new_default(), .reader = &reader.base};

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/p.json", folder);
	assert_int_equal(store_open_file(path, true, &store, NULL), 0);
	((struct config *)(uintptr_t)engine.config)->prometheus.history_ms = (WORLD_DAYS + 1) * FAKE_DAY_MS;
	fake_reader_init(&reader, world_pods, ARRAY_LEN(world_pods));
	engine.store = store;
	assert_int_equal(engine_cycle(&engine, NOW_MS, &result, NULL), 0);
	digest(store, ret);
	engine_release(&engine);
	store_close(store);
	config_free((struct config *)(uintptr_t)engine.config);
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		snprintf(other, sizeof(other), "%s%s", path, endings[i]);
		unlink(other);
	}
	assert_int_equal(rmdir(folder), 0);
}

static void check_learned_all(struct place *place)
{
	CLEANUP(strbuf_release) struct strbuf expected = STRBUF_INIT(MIB), found = STRBUF_INIT(MIB);

	digest_of_file(&expected);
	digest(place->store, &found);
	assert_string_equal(strbuf_text(&found), strbuf_text(&expected));
}

static void it_learns_what_a_file_does_and_rests(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_false(result.is_partial);
	assert_true(result.n_profiles_changed >= 4); /* a profile is written after each day with a run of its own */
	assert_int_equal(result.n_workloads, 4);
	check_learned_all(&place);
	/* the second cycle: histories by name, of what was found only; not a single write */
	fake_objects_count_anew(place.objects);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(writes(&place), 0);
	assert_int_equal(fake_objects_count(place.objects, "GET " GROUP "memoryhistories"), 0);
	assert_int_equal(fake_objects_count(place.objects, "GET " GROUP "namespaces/"), 1);
	assert_int_equal(result.n_workloads, 4);
	/* nor after a restart, when all are sized anew */
	restart(&place);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(writes(&place), 0);
	assert_int_equal(fake_objects_count(place.objects, "GET " GROUP "memoryhistories"), 1);
	teardown(&place);
}

static void replace(struct fake_objects *objects, const char *plural, struct json_object *object)
{
	char *text = strdup(json_object_to_json_string(object));

	fake_objects_put(objects, plural, text);
	free(text);
}

/* A person writes into each profile just before our status for it comes, the first time. */
struct writing {
	size_t n;
	size_t left; /* how many are written */
};

static int write_before_status(void *context, struct fake_objects *self, const char *method, const char *path,
			       const char **ret_reason, const char **ret_message)
{
	struct writing *writing = context;
	char namespace_name[64], name[300];
	struct json_object *profile;

	(void)ret_reason;
	(void)ret_message;
	if (!streq(method, "PUT") || !writing->left ||
	    sscanf(path, GROUP "namespaces/%63[^/]/memoryprofiles/%299[^/]/status", namespace_name, name) != 2)
		return 0;
	profile = fake_objects_get(self, "memoryprofiles", namespace_name, name);
	if (json_member(json_member(profile, "spec"), "class"))
		return 0;
	json_object_object_add(json_member(profile, "spec"), "class", json_object_new_string("guaranteed"));
	replace(self, "memoryprofiles", profile);
	writing->n++;
	writing->left--;
	return 0;
}

static int count_guaranteed(void *context, struct profile *take_profile, struct err *err)
{
	size_t *counts = context;

	(void)err;
	counts[0] += streq(take_profile->spec->size_class, "guaranteed");
	counts[1] += take_profile->parent.limit_bytes > 0 &&
		     take_profile->parent.limit_bytes == take_profile->parent.request_bytes;
	profile_free(take_profile);
	return 0;
}

static void a_conflict_is_computed_anew(void **state)
{
	struct writing writing = {.left = 4};
	size_t counts[2] = {0};
	const struct store_visitor profiles = {.context = counts, .profile = count_guaranteed};
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	fake_objects_hook(place.objects, write_before_status, &writing);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(writing.n, 4);
	/* what was written is there, and the recommendation follows it */
	assert_int_equal(store_visit(place.store, &profiles, NULL), 0);
	assert_int_equal(counts[0], 4);
	assert_int_equal(counts[1], 4);
	fake_objects_count_anew(place.objects);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(writes(&place), 0);
	teardown(&place);
}

/* It never ends: the cycle fails, and the next one makes it good. */
static int always_conflict(void *context, struct fake_objects *self, const char *method, const char *path,
			   const char **ret_reason, const char **ret_message)
{
	(void)context;
	(void)self;
	if (!streq(method, "PUT") || !strstr(path, "/status"))
		return 0;
	*ret_reason = "Conflict";
	*ret_message = "the object has been modified";
	return 409;
}

static void endless_conflict_fails_and_heals(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	fake_objects_hook(place.objects, always_conflict, NULL);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), -EAGAIN);
	/* A day without runs, and the first day with one, which is not passed. */
	assert_int_equal(place.reader.n_reads, 2);
	fake_objects_hook(place.objects, NULL, NULL);
	place.reader.n_reads = 0;
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(place.reader.read_ms[0], FAKE_EPOCH_MS);
	check_learned_all(&place);
	teardown(&place);
}

/* The n-th write and all behind it fail; then the server is well again, with and without a restart of ours. */
static int fail_from(void *context, struct fake_objects *self, const char *method, const char *path,
		     const char **ret_reason, const char **ret_message)
{
	int *left = context;

	(void)self;
	(void)path;
	if (streq(method, "GET") || --*left >= 0)
		return 0;
	*ret_reason = "InternalError";
	*ret_message = "made up";
	return 500;
}

static void an_outage_at_any_write_loses_nothing(void **state)
{
	bool has_ended = false;

	(void)state;
	for (int at = 0; !has_ended; at++)
		for (int restarts = 0; restarts < 2; restarts++) {
			struct engine_result result;
			struct place place;
			int left = at;

			setup(&place);
			/* all were sized before */
			assert_int_equal(cycle_at(&place, FAKE_EPOCH_MS + 2 * FAKE_DAY_MS, &result), 0);
			fake_objects_hook(place.objects, fail_from, &left);
			has_ended = engine_cycle(&place.engine, NOW_MS, &result, NULL) == 0;
			fake_objects_hook(place.objects, NULL, NULL);
			if (restarts)
				restart(&place);
			assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
			check_learned_all(&place);
			fake_objects_count_anew(place.objects);
			assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
			assert_int_equal(writes(&place), 0);
			teardown(&place);
		}
}

/* Names of all profiles, by workload. */
struct names {
	char cron[300], master[300];
};

static int find_names(void *context, struct profile *take_profile, struct err *err)
{
	struct names *names = context;

	(void)err;
	if (streq(take_profile->workload, "CronJob/n"))
		snprintf(names->cron, sizeof(names->cron), "%s", take_profile->name);
	if (streq(take_profile->role, "master"))
		snprintf(names->master, sizeof(names->master), "%s", take_profile->name);
	profile_free(take_profile);
	return 0;
}

static void long_dead_workloads_are_forgotten(void **state)
{
	struct names names = {.cron = ""};
	const struct store_visitor visitor = {.context = &names, .profile = find_names};
	struct json_object *profile;
	struct engine_result result;
	struct place place;
	int64_t later_ms;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(store_visit(place.store, &visitor, NULL), 0);
	assert_true(*names.cron && *names.master);
	profile = fake_objects_get(place.objects, "memoryprofiles", "ml", names.master);
	assert_non_null(profile);
	json_object_object_add(json_member(profile, "spec"), "floor", json_object_new_string("1Mi"));
	replace(place.objects, "memoryprofiles", profile);
	/* nothing before its time, and nothing after a cycle that was not whole */
	later_ms = NOW_MS + place.config->recommender.keep_ms + TIME_DAY_MS;
	place.config->prometheus.history_ms = FAKE_DAY_MS;
	place.reader.is_partial = true;
	assert_int_equal(cycle_at(&place, later_ms, &result), 0);
	assert_int_equal(result.n_removed, 0);
	place.reader.is_partial = false;
	assert_int_equal(cycle_at(&place, NOW_MS + place.config->recommender.keep_ms - TIME_DAY_MS, &result), 0);
	assert_int_equal(result.n_removed, 0);
	assert_int_equal(cycle_at(&place, later_ms, &result), 0);
	assert_non_null(fake_objects_get(place.objects, "memoryprofiles", "ml", names.master));
	assert_non_null(fake_objects_get(place.objects, "memoryhistories", "ml", names.master));
	assert_null(fake_objects_get(place.objects, "memoryprofiles", "ml", names.cron));
	assert_null(fake_objects_get(place.objects, "memoryhistories", "ml", names.cron));
	teardown(&place);
}

/* ---- quick cycles ---- */

static int one_killed_pod(void *context, bool only_news, struct evidence_batch *batch)
{
	struct pod *pod = evidence_pod_put(batch, "ml", "n-9-a", "u99");
	struct pod_container *container = pod_container_put(&batch->pods, pod, "main");

	(void)context;
	(void)only_news;
	pod->owner_kind = "Job";
	pod->owner_name = "n-9";
	pod->root_kind = "CronJob";
	pod->root_name = "n";
	pod->start_ms = NOW_MS - TIME_MINUTE_MS;
	pod->completion_ms = NOW_MS;
	pod->ends = END_FAILED;
	pod->decision = "";
	pod->is_training = pod->is_watched = true;
	container->image = "registry/train:1";
	container->limit_bytes = container->request_bytes = 400 * FAKE_MIB;
	container->ends = END_OOM_KILLED;
	container->killed_limits[0] = 400 * FAKE_MIB;
	container->n_killed_limits = 1;
	return 0;
}

static void nothing_is_to_do(void *context, int64_t now_ms)
{
	(void)context;
	(void)now_ms;
}

/* Once all profiles have been read, a kill costs reading and writing one workload's objects. */
static void a_quick_cycle_asks_for_what_it_needs(void **state)
{
	struct engine_result result;
	struct place place;
	size_t names_bytes;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	place.engine.pods = one_killed_pod;
	place.engine.pods_done = nothing_is_to_do;
	place.engine.has_settled = true;
	fake_objects_count_anew(place.objects);
	assert_int_equal(engine_quick(&place.engine, NOW_MS, &result, NULL), 0);
	assert_int_equal(result.n_profiles_changed, 1);
	assert_int_equal(fake_objects_count(place.objects, "GET /apis/memtamer.io/v1alpha1/memory"), 0); /* lists */
	assert_int_equal(fake_objects_count(place.objects, "GET /apis/memtamer.io/v1alpha1/namespaces/ml/"), 2);
	assert_int_equal(writes(&place), 2);
	/* whose names it reads is remembered already, however often nothing reads all */
	names_bytes = place.engine.names.arena.used_bytes;
	assert_int_equal(engine_quick(&place.engine, NOW_MS, &result, NULL), 0);
	assert_int_equal(engine_quick(&place.engine, NOW_MS, &result, NULL), 0);
	assert_int_equal(place.engine.names.arena.used_bytes, names_bytes);
	teardown(&place);
}

/* Somebody deletes a profile in the middle of a run: the next kill makes it again, of all that its history knows. */
static void a_deleted_profile_comes_back(void **state)
{
	struct engine_result result;
	struct names names = {.cron = ""};
	const struct store_visitor visitor = {.context = &names, .profile = find_names};
	struct json_object *profile;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, NOW_MS, &result), 0);
	assert_int_equal(store_visit(place.store, &visitor, NULL), 0);
	fake_objects_delete(place.objects, "memoryprofiles", "ml", names.cron);
	place.engine.pods = one_killed_pod;
	place.engine.pods_done = nothing_is_to_do;
	place.engine.has_settled = true;
	assert_int_equal(engine_quick(&place.engine, NOW_MS, &result, NULL), 0);
	assert_int_equal(result.n_profiles_changed, 1);
	profile = fake_objects_get(place.objects, "memoryprofiles", "ml", names.cron);
	assert_non_null(profile);
	profile = json_member(json_member(profile, "status"), "recommendation");
	assert_true(json_object_get_int(json_member(profile, "runs")) > 1);
	teardown(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_learns_what_a_file_does_and_rests),
		cmocka_unit_test(a_conflict_is_computed_anew),
		cmocka_unit_test(endless_conflict_fails_and_heals),
		cmocka_unit_test(an_outage_at_any_write_loses_nothing),
		cmocka_unit_test(long_dead_workloads_are_forgotten),
		cmocka_unit_test(a_quick_cycle_asks_for_what_it_needs),
		cmocka_unit_test(a_deleted_profile_comes_back),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
