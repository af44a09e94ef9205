/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while a store is read and written: -ENOMEM, nothing leaked, and the file is the old one or the new
 * one, whole. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "base/io.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GI ((int64_t)1 << 30)

static char folder[] = "/tmp/memtamer-test-XXXXXX";
static char path[64];

static struct profile *make_profile(int64_t limit_bytes)
{
	static const char *const aliases[] = {"Job/bert"};
	const struct profile draft = {.namespace_name = "ml",
				      .name = "bert-0123456789",
				      .workload = "Job/bert",
				      .role = "",
				      .container = "pytorch",
				      .aliases = aliases,
				      .n_aliases = 1,
				      .spec = &profile_spec_none,
				      .parent = {.request_bytes = GI, .limit_bytes = limit_bytes, .runs = 3}};

	return profile_dup(&draft);
}

static int commit_all(struct store *store, struct err *err)
{
	CLEANUP(profile_freep) struct profile *profile = make_profile(2 * GI);
	CLEANUP(history_freep) struct history *history = history_new("ml", "bert-0123456789");
	const struct node_shape shape = {.name = "a", .resource = "nvidia.com/gpu", .accelerators = 8};
	const struct run run = {.uid = "run-1",
				.attempts = 1,
				.ranks = 1,
				.start_ms = 1793607300000,
				.duration_ms = 60000,
				.peak_bytes = GI,
				.mode = -1,
				.outcome = OUTCOME_COMPLETED,
				.source = "query"};
	struct store_change change = {.profiles = (const struct profile *[]){profile},
				      .n_profiles = 1,
				      .histories = (struct history *[]){history},
				      .n_histories = 1,
				      .shapes = &shape,
				      .n_shapes = 1};
	int r = profile && history ? history_add_run(history, &run) : -ENOMEM;

	return r ? r : store_commit(store, &change, err);
}

static int write_store(void *context, struct strbuf *ret)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct err err = ERR_INIT;
	int r = store_open_file(path, true, &store, &err);

	(void)context;
	if (!r)
		r = commit_all(store, &err);
	if (!r)
		r = store_state_save(store, "{\"watermark\":1}", 15, &err);
	return r ? r : strbuf_adds(ret, "written");
}

static int read_store(void *context, struct strbuf *ret)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(strbuf_release) struct strbuf state = STRBUF_INIT(1000);
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct snapshot *snapshot;
	struct err err = ERR_INIT;
	int r = builder ? store_open_file(path, false, &store, &err) : -ENOMEM;

	(void)context;
	if (!r)
		r = store_read_profiles(store, builder, &err);
	if (!r)
		r = store_state_load(store, &state, &err);
	if (r) {
		snapshot_builder_free(builder);
		return r;
	}
	snapshot = snapshot_builder_finish(builder, 1);
	if (!snapshot)
		return -ENOMEM;
	r = strbuf_addf(ret, "%zu %s", snapshot_profile_count(snapshot), strbuf_text(&state));
	snapshot_unref(snapshot);
	return r;
}

static int see_profile(void *context, struct profile *take_profile, struct err *err)
{
	int r = profile_encode(take_profile, context);

	(void)err;
	profile_free(take_profile);
	return r;
}

static int see_history(void *context, struct history *take_history, struct err *err)
{
	int r = history_encode(take_history, context);

	(void)err;
	history_free(take_history);
	return r;
}

static int see_shape(void *context, const struct node_shape *shape, struct err *err)
{
	(void)err;
	return strbuf_adds(context, shape->name);
}

static int visit_store(void *context, struct strbuf *ret)
{
	const struct store_visitor visitor = {
		.context = ret, .profile = see_profile, .history = see_history, .shape = see_shape};
	CLEANUP(store_closep) struct store *store = NULL;
	struct err err = ERR_INIT;
	int r = store_open_file(path, false, &store, &err);

	(void)context;
	return r ? r : store_visit(store, &visitor, &err);
}

static void stores_survive(void **state)
{
	CLEANUP(strbuf_release) struct strbuf wanted = STRBUF_INIT(100000);
	CLEANUP(strbuf_release) struct strbuf got = STRBUF_INIT(100000);

	(void)state;
	assert_true(alloc_fail_each("store_commit", write_store, NULL) > 5);
	assert_true(alloc_fail_each("store_read_profiles", read_store, NULL) > 5);
	assert_true(alloc_fail_each("store_visit", visit_store, NULL) > 5);
	assert_int_equal(visit_store(NULL, &wanted), 0);
	/* A commit that failed half-way left the file as it was. */
	for (long nth = 1; nth < 10; nth++) {
		strbuf_clear(&got);
		alloc_fail_arm(nth);
		(void)!write_store(NULL, &got);
		(void)alloc_fail_disarm();
		strbuf_clear(&got);
		assert_int_equal(visit_store(NULL, &got), 0);
		assert_string_equal(strbuf_text(&got), strbuf_text(&wanted));
	}
}

/* Memory comes back, and the file is as it was: it is to be read again. */
static void what_was_not_read_has_changed(void **state)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct err err = ERR_INIT;
	bool was_hit = true;

	(void)state;
	assert_int_equal(store_open_file(path, false, &store, &err), 0);
	for (long nth = 1; was_hit; nth++) {
		struct snapshot_builder *builder = snapshot_builder_new(NULL);
		int r;

		assert_non_null(builder);
		alloc_fail_arm(nth);
		r = store_read_profiles(store, builder, &err);
		was_hit = alloc_fail_disarm();
		assert_int_equal(store_watch_changed(store), r != 0);
		snapshot_builder_free(builder);
	}
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/profiles.json", folder);
	return 0;
}

/* Fails when anything else was left there: a temporary file of a failed write. */
static int remove_folder(void **state)
{
	static const char *const endings[] = {"", ".lock", ".state"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		char file[80];

		snprintf(file, sizeof(file), "%s%s", path, endings[i]);
		unlink(file);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stores_survive),
		cmocka_unit_test(what_was_not_read_has_changed),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
