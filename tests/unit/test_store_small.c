/* SPDX-License-Identifier: Apache-2.0 */
/* The small writes of both kinds of store: spec.modeCap of one profile, and what the last cycle did. */
#include "support/test.h"

#include "base/io.h"
#include "base/limits.h"
#include "fake_objects.h"
#include "kube/kube_client.h"
#include "kube/kube_server.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define PROFILES "memoryprofiles"

/* ---- a store of either kind ---- */

struct world {
	bool is_kube;
	char folder[64], path[96];
	struct fake_objects *objects;
	struct kube_server config;
	struct kube_client *client;
	struct store *store;
	struct err err;
};

#define PROFILE(more)                                                                                                  \
	"{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{\"namespace\":\"ml\","      \
	"\"name\":\"bert-0123456789\"},\"spec\":{\"pinLimit\":\"12Gi\"" more                                           \
	"},\"status\":{\"workload\":\"Job/bert\","                                                                     \
	"\"role\":\"\",\"container\":\"main\",\"aliases\":[\"Job/bert\"],\"revision\":7,"                              \
	"\"recommendation\":{\"limit\":\"8Gi\",\"runs\":5}}}"

static const char profile_text[] = PROFILE("");

static void write_file(const struct world *world, const char *profile)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);

	strbuf_addf(&text, "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"metadata\":{},\"items\":[%s]}", profile);
	assert_int_equal(io_write_file_atomic(world->path, text.text, text.len, 0600, NULL), 0);
}

static void start_file(struct world *world, bool is_writer)
{
	snprintf(world->folder, sizeof(world->folder), "/tmp/test_store_small.XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	snprintf(world->path, sizeof(world->path), "%s/p.json", world->folder);
	write_file(world, profile_text);
	assert_int_equal(store_open_file(world->path, is_writer, &world->store, &world->err), 0);
}

static void start(struct world *world, bool is_kube, bool is_writer)
{
	const struct kube_client_config config = {.user_agent = "tester"};

	*world = (struct world){.is_kube = is_kube};
	if (!is_kube) {
		start_file(world, is_writer);
		return;
	}
	world->objects = fake_objects_start();
	world->config.url = fake_objects_url(world->objects);
	assert_int_equal(kube_client_new(&world->config, &config, &world->client, NULL), 0);
	fake_objects_put(world->objects, PROFILES, profile_text);
	assert_int_equal(store_open_kube(world->client, "memtamer", is_writer, &world->store, NULL), 0);
}

static void stop(struct world *world)
{
	static const char *const ends[] = {"", ".lock", ".status"};
	char path[128];

	store_close(world->store);
	if (world->is_kube) {
		kube_client_free(world->client);
		fake_objects_free(world->objects);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		snprintf(path, sizeof(path), "%s%s", world->path, ends[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(world->folder), 0);
}

static int take_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct profile **ret = context;

	(void)err;
	profile_free(*ret);
	*ret = take_profile;
	return 0;
}

/* NULL: not there. To be freed. */
static struct profile *profile_of(struct world *world, const char *namespace_name, const char *name)
{
	const struct store_name wanted = {namespace_name, name};
	struct profile *found = NULL;
	const struct store_visitor visitor = {.context = &found, .profile = take_profile};

	assert_int_equal(store_visit_named(world->store, &visitor, &wanted, 1, &world->err), 0);
	return found;
}

static int undo(struct world *world, const char *name, const char *cap)
{
	world->err = (struct err)ERR_INIT;
	return store_undo_mode_cap(world->store, "ml", name, cap, &world->err);
}

static int release(struct world *world, const char *name, const char *cap)
{
	world->err = (struct err)ERR_INIT;
	return store_release_mode_cap(world->store, "ml", name, cap, &world->err);
}

/* A person writes the object by hand. */
static void write_by_hand(struct world *world, const char *profile)
{
	if (world->is_kube)
		fake_objects_put(world->objects, PROFILES, profile);
	else
		write_file(world, profile);
}

/* ---- modeCap ---- */

static void assert_cap(struct world *world, const char *name, const char *cap)
{
	struct profile *profile = profile_of(world, "ml", name);

	assert_non_null(profile);
	assert_string_equal(profile->spec->mode_cap, cap);
	if (streq(name, "bert-0123456789")) { /* nothing else changed */
		assert_int_equal(profile->spec->pin_limit_bytes, 12 * (int64_t)GIB);
		assert_int_equal(profile->parent.limit_bytes, 8 * (int64_t)GIB);
		assert_int_equal(profile->revision, 7);
		assert_string_equal(profile->aliases[0], "Job/bert");
	}
	assert_false(*cap && store_may_remove(profile));
	profile_free(profile);
}

static void a_cap_comes_and_goes(void **state)
{
	static const struct {
		int (*act)(struct world *world, const char *name, const char *cap);
		const char *name, *cap;
		int want;
		const char *after; /* NULL: not looked at */
	} rows[] = {
		{release, "bert-0123456789", "observe", 1, ""},
		{undo, "bert-0123456789", "observe", 0, "observe"},
		{undo, "bert-0123456789", "observe", 1, "observe"},
		{undo, "bert-0123456789", "fill", 1, "observe"},
		{undo, "bert-0123456789", "enforce", -EINVAL, "observe"},
		{undo, "bert-0123456789", "", -EINVAL, "observe"},
		{release, "bert-0123456789", "enforce", -EINVAL, "observe"},
		{release, "bert-0123456789", "fill", 1, "observe"},
		{release, "bert-0123456789", "observe", 0, ""},
		{undo, "nobody", "observe", -ENOENT, NULL},
		{release, "nobody", "observe", -ENOENT, NULL},
		{undo, PROFILE_OF_NAMESPACE, "observe", -ENOENT, NULL},
	};

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct world world;

		start(&world, kind == 1, true);
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			assert_int_equal(rows[i].act(&world, rows[i].name, rows[i].cap), rows[i].want);
			if (rows[i].want < 0)
				assert_true(world.err.msg[0]);
			if (rows[i].after)
				assert_cap(&world, rows[i].name, rows[i].after);
		}
		stop(&world);
	}
}

#define SAID(cap, before) PROFILE(",\"modeCap\":\"" cap "\",\"modeCapBeforeUndo\":\"" before "\"")

static void what_an_undo_replaced_comes_back(void **state)
{
	static const struct {
		const char *name, *by_hand; /* NULL: as the row before left it */
		int (*act)(struct world *world, const char *name, const char *cap);
		int want;
		const char *after, *before_undo;
	} rows[] = {
		{"a person's cap", PROFILE(",\"modeCap\":\"fill\""), undo, 0, "observe", "fill"},
		{"once more", NULL, undo, 1, "observe", "fill"},
		{"back", NULL, release, 0, "fill", ""},
		{"back once more", NULL, release, 1, "fill", ""},
		{"again", NULL, undo, 0, "observe", "fill"},
		{"changed in between", SAID("raise", "fill"), release, 0, "raise", ""},
		{"and undone", NULL, undo, 0, "observe", "raise"},
		{"to that", NULL, release, 0, "raise", ""},
		{"lowered in between", SAID("off", "fill"), release, 0, "off", ""},
		{"lower anyway", NULL, undo, 1, "off", ""},
		{"taken away in between", PROFILE(",\"modeCapBeforeUndo\":\"fill\""), release, 0, "", ""},
		{"undone from none", NULL, undo, 0, "observe", ""},
		{"to none", NULL, release, 0, "", ""},
	};

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct world world;

		start(&world, kind == 1, true);
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			struct profile *profile;

			test_row(rows[i].name);
			if (rows[i].by_hand)
				write_by_hand(&world, rows[i].by_hand);
			assert_int_equal(rows[i].act(&world, "bert-0123456789", "observe"), rows[i].want);
			assert_cap(&world, "bert-0123456789", rows[i].after);
			profile = profile_of(&world, "ml", "bert-0123456789");
			assert_string_equal(profile->spec->mode_cap_before_undo, rows[i].before_undo);
			profile_free(profile);
		}
		stop(&world);
	}
}

static void counted_harm_only_lowers(void **state)
{
	static const struct {
		const char *before; /* NULL: none */
		int want;
		const char *after;
	} rows[] = {
		{NULL, 0, "observe"},	{"off", 1, "off"},	 {"observe", 1, "observe"},
		{"fill", 0, "observe"}, {"raise", 0, "observe"},
	};

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct world world;

		start(&world, kind == 1, true);
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			test_row(rows[i].before ? rows[i].before : "none");
			if (rows[i].before)
				assert_int_equal(store_lower_mode_cap(world.store, "ml", rows[i].before, &world.err),
						 0);
			assert_int_equal(store_lower_mode_cap(world.store, "ml", "observe", &world.err), rows[i].want);
			assert_cap(&world, PROFILE_OF_NAMESPACE, rows[i].after);
			assert_int_equal(release(&world, PROFILE_OF_NAMESPACE, rows[i].after), 0);
			assert_cap(&world, PROFILE_OF_NAMESPACE, "");
		}
		assert_int_equal(store_lower_mode_cap(world.store, "ml", "enforce", &world.err), -EINVAL);
		stop(&world);
	}
}

static void readers_set_nothing(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct world world;

		start(&world, kind == 1, false);
		assert_int_equal(undo(&world, "bert-0123456789", "observe"), -EACCES);
		assert_int_equal(store_status_save(world.store, "{}", 2, &world.err), -EACCES);
		assert_cap(&world, "bert-0123456789", "");
		stop(&world);
	}
}

struct trouble {
	int left; /* patches to get in the way of */
	int status;
};

static int get_in_the_way(void *context, struct fake_objects *objects, const char *method, const char *path,
			  const char **ret_reason, const char **ret_message)
{
	struct trouble *self = context;

	(void)path;
	if (!streq(method, "PATCH") || self->left-- <= 0)
		return 0;
	if (!self->status) { /* somebody else writes in between */
		fake_objects_put(objects, PROFILES, profile_text);
		return 0;
	}
	*ret_reason = "Forbidden";
	*ret_message = "memoryprofiles.memtamer.io is forbidden: User \\\"x\\\" cannot patch";
	return self->status;
}

static void others_and_rights(void **state)
{
	struct trouble few = {.left = 3}, many = {.left = 100}, forbidden = {.left = 1, .status = 403};
	struct world world;

	(void)state;
	start(&world, true, true);
	fake_objects_hook(world.objects, get_in_the_way, &few);
	assert_int_equal(undo(&world, "bert-0123456789", "observe"), 0);
	assert_cap(&world, "bert-0123456789", "observe");
	assert_int_equal(few.left, -1);
	fake_objects_hook(world.objects, get_in_the_way, &many);
	assert_int_equal(undo(&world, "bert-0123456789", "off"), -EAGAIN);
	assert_non_null(strstr(world.err.msg, "changed by others"));
	fake_objects_hook(world.objects, get_in_the_way, &forbidden);
	assert_int_equal(undo(&world, "bert-0123456789", "off"), -EACCES);
	assert_non_null(strstr(world.err.msg, "not allowed to patch memoryprofiles.memtamer.io in namespace ml"));
	assert_non_null(strstr(world.err.where, "MemoryProfile ml/bert-0123456789"));
	stop(&world);
}

/* A writer knows the object as it is after its own small write. */
static void a_commit_behind_it_is_no_conflict(void **state)
{
	struct world world;
	struct profile *profile;
	const struct profile *profiles[1];
	const struct store_change change = {.profiles = profiles, .n_profiles = 1};

	(void)state;
	start(&world, true, true);
	profile = profile_of(&world, "ml", "bert-0123456789");
	assert_non_null(profile);
	profiles[0] = profile;
	assert_int_equal(undo(&world, "bert-0123456789", "observe"), 0);
	assert_int_equal(store_commit(world.store, &change, &world.err), 0);
	assert_cap(&world, "bert-0123456789", "observe");
	profile_free(profile);
	stop(&world);
}

/* ---- what the last cycle did ---- */

static void the_status_comes_back(void **state)
{
	static const char *const texts[] = {"{\"result\":\"done\"}", "{\"why\":\"a \\\"quoted\\\" {text}\"}\n"};
	static char large[LIMIT_STATUS_BYTES + 1];

	(void)state;
	memset(large, 'x', sizeof(large));
	for (int kind = 0; kind < 2; kind++) {
		struct strbuf text = STRBUF_INIT(LIMIT_STATUS_BYTES);
		struct world world;
		char place[128];

		start(&world, kind == 1, true);
		assert_int_equal(store_status_load(world.store, &text, &world.err), 1);
		for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
			assert_int_equal(store_status_save(world.store, texts[i], strlen(texts[i]), &world.err), 0);
			strbuf_clear(&text);
			assert_int_equal(store_status_load(world.store, &text, &world.err), 0);
			assert_string_equal(strbuf_text(&text), texts[i]);
		}
		assert_int_equal(store_status_save(world.store, large, sizeof(large), &world.err), -E2BIG);
		store_status_place(world.store, place, sizeof(place));
		assert_non_null(strstr(place, kind ? "ConfigMap memtamer/memtamer-status" : "p.json.status"));
		strbuf_release(&text);
		stop(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cap_comes_and_goes),	 cmocka_unit_test(what_an_undo_replaced_comes_back),
		cmocka_unit_test(readers_set_nothing),	 cmocka_unit_test(counted_harm_only_lowers),
		cmocka_unit_test(others_and_rights),	 cmocka_unit_test(a_commit_behind_it_is_no_conflict),
		cmocka_unit_test(the_status_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
