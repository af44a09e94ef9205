/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that name a workload in their spec: which one of them counts for which container of which pods. */
#include "snapshot_fixture.h"

#include "base/str.h"

/* "" as in the object: role and container that are left open. */
struct named {
	const char *object, *key, *role, *container;
	int64_t created_ms;
	const char *learned; /* container that its status is about; NULL: nothing was learned */
};

static struct profile *profile_of(const struct named *named)
{
	struct profile_spec spec = profile_spec_none;
	struct profile draft = {.namespace_name = "ml",
				.name = named->object,
				.workload = named->learned ? "Job/bert" : "",
				.role = "",
				.container = named->learned,
				.spec = &spec};
	struct profile *profile;

	if (named->key)
		spec.ref = (struct profile_ref){"Job",	    "bert", named->role,      named->container,
						named->key, NULL,   named->created_ms};
	profile = profile_dup(&draft);
	assert_non_null(profile);
	return profile;
}

static struct snapshot *snapshot_of(const struct named *items, size_t n)
{
	struct snapshot_builder *builder = start(NULL);

	for (size_t i = 0; i < n; i++)
		assert_int_equal(snapshot_builder_put(builder, profile_of(&items[i])), 0);
	return finish(builder);
}

/* A pod of Job bert, whose user also gave it the label memtamer.io/workload: nlp. */
static struct snapshot_found find(const struct snapshot *snapshot, const char *role, const char *container)
{
	struct identity identity = {.keys = {{.text = "workload:nlp"}, {.text = "Job/bert"}}, .n_keys = 2};

	snprintf(identity.role, sizeof(identity.role), "%s", role);
	return snapshot_find(snapshot, "ml", &identity, container, streq(container, "main"));
}

static const char *decided(const struct snapshot *snapshot, const char *role, const char *container)
{
	const struct profile *profile = find(snapshot, role, container).decided;

	return profile ? profile->name : "-";
}

#define CHECK(role, container, name) assert_string_equal(decided(snapshot, role, container), name)
#define SNAPSHOT(...)                                                                                                  \
	const struct named items[] = {__VA_ARGS__};                                                                    \
	struct snapshot *snapshot = snapshot_of(items, ARRAY_LEN(items))

static void what_is_left_open_is_all_roles_and_the_main_container(void **state)
{
	SNAPSHOT({"a", "Job/bert", "", "", 0, NULL});

	(void)state;
	CHECK("", "main", "a");
	CHECK("worker", "main", "a");
	CHECK("", "sidecar", "-");
	assert_null(find(snapshot, "", "main").learned);
	assert_null(snapshot_find(snapshot, "other", &(struct identity){.keys = {{.text = "Job/bert"}}, .n_keys = 1},
				  "main", true)
			    .decided);
	/* it is no key that was learned, nor a name */
	assert_null(snapshot_profile(snapshot, "ml", "Job/bert", "", "main"));
	assert_null(snapshot_profile(snapshot, "ml", "Job/bert", "*", "*"));
	snapshot_unref(snapshot);
}

static void who_says_more_counts_first(void **state)
{
	SNAPSHOT({"any", "Job/bert", "", "", 1, NULL}, {"role", "Job/bert", "worker", "", 2, NULL},
		 {"container", "Job/bert", "", "main", 3, NULL}, {"both", "Job/bert", "worker", "main", 4, NULL},
		 {"sidecar", "Job/bert", "", "sidecar", 5, NULL});

	(void)state;
	CHECK("worker", "main", "both");
	CHECK("master", "main", "container");
	CHECK("", "main", "container");
	CHECK("worker", "sidecar", "sidecar");
	CHECK("worker", "other", "-");
	snapshot_unref(snapshot);
}

static void the_best_key_of_the_pod_counts_first(void **state)
{
	SNAPSHOT({"job", "Job/bert", "", "main", 1, NULL}, {"label", "workload:nlp", "", "", 2, NULL});

	(void)state;
	CHECK("", "main", "label");
	CHECK("", "sidecar", "-");
	snapshot_unref(snapshot);
}

static void of_two_that_say_the_same_the_older_object_counts(void **state)
{
	static const struct {
		const char *name;
		int64_t a_ms, b_ms;
		const char *want;
	} rows[] = {
		{"older", 20, 10, "b"},
		{"as old: by name", 10, 10, "a"},
		{"ages not known: by name", 0, 0, "a"},
		{"one age not known", 0, 10, "b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int order = 0; order < 2; order++) {
			SNAPSHOT({order ? "a" : "b", "Job/bert", "", "", order ? rows[i].a_ms : rows[i].b_ms, NULL},
				 {order ? "b" : "a", "Job/bert", "", "", order ? rows[i].b_ms : rows[i].a_ms, NULL});

			test_row(rows[i].name);
			CHECK("", "main", rows[i].want);
			snapshot_unref(snapshot);
		}
}

static void the_other_one_takes_over_when_it_goes(void **state)
{
	SNAPSHOT({"old", "Job/bert", "", "", 1, NULL}, {"new", "Job/bert", "", "", 2, NULL});
	struct snapshot_builder *builder = start(snapshot);
	const struct named elsewhere = {"new", "Job/gpt", "", "", 2, NULL};

	(void)state;
	CHECK("", "main", "old");
	snapshot_unref(snapshot);
	assert_int_equal(snapshot_builder_remove(builder, "ml", "old"), 0);
	snapshot = finish(builder);
	CHECK("", "main", "new");
	builder = start(snapshot);
	assert_int_equal(snapshot_builder_put(builder, profile_of(&elsewhere)), 0);
	snapshot_unref(snapshot);
	snapshot = finish(builder);
	CHECK("", "main", "-");
	builder = start(snapshot);
	assert_int_equal(snapshot_builder_remove(builder, "ml", "new"), 0);
	snapshot_unref(snapshot);
	snapshot = finish(builder);
	CHECK("", "main", "-");
	snapshot_unref(snapshot);
}

static void the_spec_of_a_learned_profile_is_about_what_it_names(void **state)
{
	static const struct {
		const char *name;
		struct named items[2];
		size_t n;
		const char *learned, *decided;
	} rows[] = {
		{"it names nothing", {{"a", NULL, NULL, NULL, 0, "main"}}, 1, "a", "a"},
		{"another one names it",
		 {{"a", NULL, NULL, NULL, 0, "main"}, {"b", "Job/bert", "", "", 0, NULL}},
		 2,
		 "a",
		 "b"},
		{"it names itself", {{"a", "Job/bert", "", "", 0, "main"}}, 1, "a", "a"},
		{"it names another workload", {{"a", "Job/gpt", "", "", 0, "main"}}, 1, "a", "-"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct snapshot *snapshot = snapshot_of(rows[i].items, rows[i].n);

		test_row(rows[i].name);
		CHECK("", "main", rows[i].decided);
		assert_string_equal(find(snapshot, "", "main").learned->name, rows[i].learned);
		snapshot_unref(snapshot);
	}
}

/* At its creation a pod of a CronJob shows only the Job that was made, whose stem is that of others, too. */
static void what_an_object_makes_is_meant_too(void **state)
{
	static const struct {
		const char *key, *run_key;
		bool is_meant;
	} rows[] = {
		{"CronJob/nightly-2", "Job/nightly-2-29384756", true},
		{"Job/nightly", "Job/nightly-2-29384756", true},
		{"Job/nightly", "Job/nightly-2", true},
		{"Job/nightly", "Job/nightly-3-29384756", false},
		{"Job/nightly", "Job/nightly-2-b-29384756", false},
		{"Job/nightly", "Job/nightly-29384756", false},
		{"Job/other", "Job/nightly-2-29384756", false},
	};
	struct snapshot_builder *builder = start(NULL);
	struct profile_spec spec = profile_spec_none;
	const struct profile draft = {.namespace_name = "ml", .name = "a", .spec = &spec};
	struct snapshot *snapshot;

	(void)state;
	spec.ref = (struct profile_ref){"CronJob", "nightly-2", "", "", "CronJob/nightly-2", "Job/nightly", 0};
	assert_int_equal(snapshot_builder_put_copy(builder, &draft), 0);
	snapshot = finish(builder);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct identity identity = {.n_keys = 1};

		test_row(rows[i].run_key);
		snprintf(identity.keys[0].text, sizeof(identity.keys[0].text), "%s", rows[i].key);
		snprintf(identity.run_key, sizeof(identity.run_key), "%s", rows[i].run_key);
		assert_int_equal(snapshot_find(snapshot, "ml", &identity, "main", true).decided != NULL,
				 rows[i].is_meant);
	}
	builder = start(snapshot);
	assert_int_equal(snapshot_builder_remove(builder, "ml", "a"), 0);
	snapshot_unref(snapshot);
	snapshot = finish(builder);
	assert_int_equal(snapshot_profile_count(snapshot), 0);
	snapshot_unref(snapshot);
}

/* Its key may be none that pods show; what was learned into it is. */
static void what_was_learned_into_a_named_profile_is_its_own(void **state)
{
	static const char *const aliases[] = {"CronJob/bert", "Job/bert"};
	struct identity identity = {.keys = {{.text = "Job/bert"}}, .n_keys = 1, .run_key = "Job/bert-1-2-3"};
	struct snapshot_builder *builder = start(NULL);
	struct profile_spec spec = profile_spec_none;
	const struct profile draft = {.namespace_name = "ml",
				      .name = "a",
				      .workload = "CronJob/bert",
				      .role = "",
				      .container = "main",
				      .aliases = aliases,
				      .n_aliases = 2,
				      .spec = &spec};
	struct snapshot *snapshot;

	(void)state;
	spec.ref = (struct profile_ref){"CronJob", "bert", "", "", "CronJob/bert", "Job/bert", 0};
	assert_int_equal(snapshot_builder_put_copy(builder, &draft), 0);
	snapshot = finish(builder);
	assert_non_null(snapshot_find(snapshot, "ml", &identity, "main", true).decided);
	snapshot_unref(snapshot);
}

static void what_is_named_after_a_workload_waits_for_it(void **state)
{
	char id[IDENTITY_ID_BYTES];

	(void)state;
	identity_id("ml", "Job/bert", "worker", "main", id);
	{
		SNAPSHOT({id, NULL, NULL, NULL, 0, NULL});

		CHECK("worker", "main", id);
		CHECK("", "main", "-");
		CHECK("worker", "sidecar", "-");
		snapshot_unref(snapshot);
	}
	{
		SNAPSHOT({id, "Job/gpt", "", "", 0, NULL});

		CHECK("worker", "main", "-");
		snapshot_unref(snapshot);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_open_is_all_roles_and_the_main_container),
		cmocka_unit_test(who_says_more_counts_first),
		cmocka_unit_test(the_best_key_of_the_pod_counts_first),
		cmocka_unit_test(of_two_that_say_the_same_the_older_object_counts),
		cmocka_unit_test(the_other_one_takes_over_when_it_goes),
		cmocka_unit_test(the_spec_of_a_learned_profile_is_about_what_it_names),
		cmocka_unit_test(what_an_object_makes_is_meant_too),
		cmocka_unit_test(what_was_learned_into_a_named_profile_is_its_own),
		cmocka_unit_test(what_is_named_after_a_workload_waits_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
