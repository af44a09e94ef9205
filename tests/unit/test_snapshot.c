/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot_fixture.h"

#include "base/str.h"
#include "model/snapshot.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct profile *make_profile(const char *name, const char *key, const char *alias, int64_t updated_ms)
{
	const char *aliases[] = {key, alias};
	struct profile draft = {.namespace_name = "ml",
				.name = name,
				.workload = key,
				.role = "worker",
				.container = "pytorch",
				.aliases = aliases,
				.n_aliases = alias ? 2 : 1,
				.updated_ms = updated_ms};
	struct profile *profile = profile_dup(&draft);

	assert_non_null(profile);
	return profile;
}

static void put(struct snapshot_builder *builder, struct profile *profile)
{
	assert_int_equal(snapshot_builder_put(builder, profile), 0);
}

static const char *name_of(const struct snapshot *snapshot, const char *key)
{
	const struct profile *profile = snapshot_profile(snapshot, "ml", key, "worker", "pytorch");

	return profile ? profile->name : "-";
}

static void lookups_need_every_part(void **state)
{
	struct snapshot_builder *builder = start(NULL);
	struct snapshot *snapshot;

	(void)state;
	put(builder, make_profile("a", "Job/bert", "pod-stem:bert", 1));
	snapshot = finish(builder);
	assert_string_equal(name_of(snapshot, "Job/bert"), "a");
	assert_string_equal(name_of(snapshot, "pod-stem:bert"), "a");
	assert_string_equal(name_of(snapshot, "Job/bert-large"), "-");
	assert_string_equal(name_of(snapshot, "a"), "-");
	assert_string_equal(name_of(snapshot, ""), "-");
	assert_null(snapshot_profile(snapshot, "other", "Job/bert", "worker", "pytorch"));
	assert_null(snapshot_profile(snapshot, "ml", "Job/bert", "", "pytorch"));
	assert_null(snapshot_profile(snapshot, "ml", "Job/bert", "worker", "main"));
	assert_non_null(snapshot_profile_by_name(snapshot, "ml", "a"));
	assert_null(snapshot_profile_by_name(snapshot, "ml", "Job/bert"));
	assert_null(snapshot_profile_by_name(snapshot, "other", "a"));
	assert_int_equal(snapshot_profile_count(snapshot), 1);
	assert_int_equal(snapshot_built_ms(snapshot), 42);
	assert_null(snapshot_unref(snapshot));
}

static void later_profile_wins_a_shared_key(void **state)
{
	struct snapshot_builder *builder = start(NULL);
	struct snapshot *snapshot, *next;

	(void)state;
	put(builder, make_profile("new", "Job/bert", "alias:shared", 20));
	put(builder, make_profile("old", "Job/bert-v1", "alias:shared", 10));
	put(builder, make_profile("twin-b", "Job/twin", NULL, 5));
	put(builder, make_profile("twin-a", "Job/twin", NULL, 5));
	snapshot = finish(builder);
	assert_string_equal(name_of(snapshot, "alias:shared"), "new");
	assert_string_equal(name_of(snapshot, "Job/twin"), "twin-a");
	builder = start(snapshot);
	assert_int_equal(snapshot_builder_remove(builder, "ml", "new"), 0);
	assert_int_equal(snapshot_builder_remove(builder, "ml", "never-was"), 0);
	next = finish(builder);
	assert_string_equal(name_of(next, "alias:shared"), "old");
	assert_string_equal(name_of(next, "Job/bert"), "-");
	assert_null(snapshot_profile_by_name(next, "ml", "new"));
	assert_int_equal(snapshot_profile_count(next), 3);
	/* The base still says what it said. */
	assert_string_equal(name_of(snapshot, "alias:shared"), "new");
	assert_int_equal(snapshot_profile_count(snapshot), 4);
	snapshot_unref(snapshot);
	assert_string_equal(name_of(next, "alias:shared"), "old");
	builder = start(next);
	put(builder, make_profile("old", "Job/bert-v2", NULL, 30)); /* replaced: its old keys go */
	snapshot = finish(builder);
	assert_string_equal(name_of(snapshot, "alias:shared"), "-");
	assert_string_equal(name_of(snapshot, "Job/bert-v1"), "-");
	assert_string_equal(name_of(snapshot, "Job/bert-v2"), "old");
	assert_int_equal(snapshot_profile_count(snapshot), 3);
	snapshot_unref(next);
	snapshot_unref(snapshot);
}

static void empty_snapshot_answers(void **state)
{
	struct snapshot *snapshot = finish(start(NULL));
	size_t n = 1;

	(void)state;
	assert_string_equal(name_of(snapshot, "Job/bert"), "-");
	assert_null(snapshot_profile_by_name(snapshot, "ml", "a"));
	assert_null(snapshot_node_shapes(snapshot, &n));
	assert_int_equal(n, 0);
	assert_null(snapshot_namespace(snapshot, "a"));
	snapshot_unref(snapshot);
	snapshot_builder_free(start(NULL));
}

/* Random puts and removals against a plain model: `owner[key]` is found by looking at all profiles. */
#define MODEL_NAMES 60
#define MODEL_KEYS  40

struct model_profile {
	bool is_there;
	int keys[2];
	int64_t updated_ms;
};

static int model_winner(const struct model_profile *profiles, int key)
{
	int winner = -1;

	for (int i = 0; i < MODEL_NAMES; i++)
		if (profiles[i].is_there && (profiles[i].keys[0] == key || profiles[i].keys[1] == key) &&
		    (winner < 0 || profiles[i].updated_ms > profiles[winner].updated_ms))
			winner = i; /* names sort as their numbers do: the first of equals stays */
	return winner;
}

static void random_updates_match_a_model(void **state)
{
	struct model_profile model[MODEL_NAMES] = {{0}};
	struct snapshot *snapshot = finish(start(NULL)), *next;
	uint32_t random = 12345;
	char name[16], key[16], alias[16];

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct snapshot_builder *builder = start(snapshot);

		for (int step = 0; step < 5; step++) {
			int i;

			random = random * 1664525 + 1013904223;
			i = (int)(random >> 8) % MODEL_NAMES;
			snprintf(name, sizeof(name), "n%02d", i);
			if ((random & 0xc0) == 0) {
				assert_int_equal(snapshot_builder_remove(builder, "ml", name), 0);
				model[i].is_there = false;
				continue;
			}
			model[i] = (struct model_profile){
				.is_there = true,
				.keys = {(int)(random >> 20) % MODEL_KEYS, (int)(random >> 14) % MODEL_KEYS},
				.updated_ms = (random >> 4) % 8};
			snprintf(key, sizeof(key), "k%d", model[i].keys[0]);
			snprintf(alias, sizeof(alias), "k%d", model[i].keys[1]);
			put(builder, make_profile(name, key, alias, model[i].updated_ms));
		}
		next = finish(builder);
		snapshot_unref(snapshot);
		snapshot = next;
		for (int k = 0; k < MODEL_KEYS; k++) {
			int winner = model_winner(model, k);

			snprintf(key, sizeof(key), "k%d", k);
			snprintf(name, sizeof(name), "n%02d", winner);
			assert_string_equal(name_of(snapshot, key), winner < 0 ? "-" : name);
		}
	}
	snapshot_unref(snapshot);
}

/* ---- threads: readers take and drop references while a writer swaps ---- */

struct shared {
	pthread_mutex_t mutex;
	struct snapshot *current;
	atomic_bool stop;
	atomic_int reads;
};

static void *reader(void *context)
{
	struct shared *shared = context;

	while (!atomic_load(&shared->stop)) {
		struct snapshot *mine;

		pthread_mutex_lock(&shared->mutex);
		mine = snapshot_ref(shared->current);
		pthread_mutex_unlock(&shared->mutex);
		if (!streq(name_of(mine, "Job/fixed"), "fixed") || snapshot_profile_count(mine) != 2)
			abort();
		snapshot_unref(mine);
		atomic_fetch_add(&shared->reads, 1);
	}
	return NULL;
}

static void readers_and_a_writer(void **state)
{
	struct shared shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};
	struct snapshot_builder *builder = start(NULL);
	pthread_t threads[3];

	(void)state;
	put(builder, make_profile("fixed", "Job/fixed", NULL, 1));
	put(builder, make_profile("moving", "Job/0", NULL, 1));
	shared.current = finish(builder);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &shared), 0);
	for (int i = 0; i < 300 || atomic_load(&shared.reads) < 300; i++) {
		char key[16];
		struct snapshot *old, *next;

		snprintf(key, sizeof(key), "Job/%d", i % 1000);
		builder = start(shared.current);
		put(builder, make_profile("moving", key, NULL, i));
		next = finish(builder);
		pthread_mutex_lock(&shared.mutex);
		old = shared.current;
		shared.current = next;
		pthread_mutex_unlock(&shared.mutex);
		snapshot_unref(old);
	}
	atomic_store(&shared.stop, true);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	snapshot_unref(shared.current);
}

/* 100,000 realistic profiles: says what they take (not asserted under sanitizers, whose heap is another). */
static void memory_of_many(void **state)
{
	static const char *const reasons[] = {"request = median of 14 runs; limit = peak 85Gi + 12 %"};
	struct snapshot_builder *builder = start(NULL);
	size_t before = mallinfo2().uordblks, after;
	struct snapshot *snapshot;
	char name[80], key[80];

	(void)state;
	for (int i = 0; i < 100000; i++) {
		const char *aliases[] = {key};
		struct profile draft = {.namespace_name = "team-research",
					.name = name,
					.workload = key,
					.role = "worker",
					.container = "pytorch",
					.aliases = aliases,
					.n_aliases = 1,
					.reasons = reasons,
					.n_reasons = 1};

		snprintf(name, sizeof(name), "llama-finetune-%d-0123456789", i);
		snprintf(key, sizeof(key), "PyTorchJob/llama-finetune-%d", i);
		put(builder, profile_dup(&draft));
	}
	snapshot = finish(builder);
	after = mallinfo2().uordblks;
	print_message("  100,000 profiles and their index: %.1f MB\n", (double)(after - before) / 1e6);
	assert_int_equal(snapshot_profile_count(snapshot), 100000);
	for (int i = 0; i < 100000; i += 997) {
		snprintf(name, sizeof(name), "llama-finetune-%d-0123456789", i);
		snprintf(key, sizeof(key), "PyTorchJob/llama-finetune-%d", i);
		assert_string_equal(snapshot_profile(snapshot, "team-research", key, "worker", "pytorch")->name, name);
	}
	snapshot_unref(snapshot);
}

/* Each row is a difference from the profile that is there before. */
static void unchanged_profiles_are_shared(void **state)
{
	const char *const aliases[] = {"Job/bert", "pod-stem:bert"}, *const others[] = {"Job/bert", "pod-stem:berta"};
	const struct recommendation variant[] = {{.variant = "0123456789", .limit_bytes = 5}, {.limit_bytes = 4}},
				    other_variant = {.variant = "0123456789", .limit_bytes = 6};
	const struct profile base = {.namespace_name = "ml",
				     .name = "a",
				     .workload = "Job/bert",
				     .role = "worker",
				     .container = "pytorch",
				     .aliases = aliases,
				     .n_aliases = 2,
				     .revision = 7,
				     .updated_ms = 1,
				     .parent = {.limit_bytes = 5},
				     .variants = variant,
				     .n_variants = 1};
	struct profile rows[10];
	struct snapshot_builder *builder = start(NULL);
	struct snapshot *old, *fresh;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		rows[i] = base;
	rows[1].workload = "Job/roberta";
	rows[2].aliases = others;
	rows[3].n_aliases = 1;
	rows[4].revision = 8;
	rows[5].spec = &(struct profile_spec){.pin_limit_bytes = 1};
	rows[6].parent.limit_bytes = 6;
	rows[7].variants = &other_variant;
	rows[8].n_variants = 0;
	rows[9].n_previous = 1;
	assert_int_equal(snapshot_builder_put_copy(builder, &base), 0);
	old = finish(builder);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct profile *before = snapshot_profile_by_name(old, "ml", "a"), *after;

		builder = start(NULL);
		snapshot_builder_share(builder, old);
		assert_int_equal(snapshot_builder_put_copy(builder, &rows[i]), 0);
		fresh = finish(builder);
		after = snapshot_profile_by_name(fresh, "ml", "a");
		if ((after == before) != (i == 0) || !profile_same(after, &rows[i]))
			fail_msg("row %zu", i);
		snapshot_unref(fresh);
	}
	snapshot_unref(old);
}

/* What counted before a change goes when it can count for nobody any more. */
static void previous_sizes_are_forgotten(void **state)
{
	const struct recommendation previous = {.limit_bytes = 4};
	struct profile draft = {.namespace_name = "ml",
				.name = "a",
				.workload = "Job/a",
				.updated_ms = 1000,
				.parent = {.limit_bytes = 5},
				.variants = &previous,
				.n_previous = 1};
	struct snapshot_builder *builder = start(NULL);
	struct snapshot *old, *fresh;

	(void)state;
	assert_int_equal(snapshot_builder_put_copy(builder, &draft), 0);
	draft.name = "b";
	draft.workload = "Job/b";
	draft.updated_ms = 2000;
	assert_int_equal(snapshot_builder_put_copy(builder, &draft), 0);
	old = finish(builder);
	builder = start(old);
	assert_int_equal(snapshot_builder_forget_previous(builder, 1000 + PROFILE_PREVIOUS_MS), 0);
	fresh = finish(builder);
	assert_int_equal(snapshot_profile_by_name(old, "ml", "a")->n_previous, 1);
	assert_int_equal(snapshot_profile_by_name(fresh, "ml", "a")->n_previous, 0);
	assert_int_equal(snapshot_profile(fresh, "ml", "Job/a", "", "")->n_previous, 0);
	assert_ptr_equal(snapshot_profile_by_name(fresh, "ml", "b"), snapshot_profile_by_name(old, "ml", "b"));
	assert_int_equal(snapshot_profile_count(fresh), 2);
	snapshot_unref(old);
	snapshot_unref(fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unchanged_profiles_are_shared), cmocka_unit_test(lookups_need_every_part),
		cmocka_unit_test(previous_sizes_are_forgotten),	 cmocka_unit_test(later_profile_wins_a_shared_key),
		cmocka_unit_test(empty_snapshot_answers),	 cmocka_unit_test(random_updates_match_a_model),
		cmocka_unit_test(readers_and_a_writer),		 cmocka_unit_test(memory_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
