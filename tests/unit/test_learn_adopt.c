/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that people write for a workload: one object for it, whichever was there first, and no run is forgotten. */
#include "learn_fixture.h"

#include "base/str.h"

#include <stdio.h>

/* ---- what is in the store ---- */

struct listing {
	char text[512]; /* "gitops(3 runs, pinned) ..." by name */
};

static void add(struct listing *self, const char *before, const char *name, const char *behind, int runs)
{
	size_t n = strlen(self->text);

	snprintf(self->text + n, sizeof(self->text) - n, "%s%s%s%s:%d", n ? " " : "", before, name, behind, runs);
}

static int list_profile(void *context, struct profile *take_profile, struct err *err)
{
	(void)err;
	add(context, "", take_profile->name, take_profile->spec->pin_limit_bytes ? "*" : "", take_profile->parent.runs);
	profile_free(take_profile);
	return 0;
}

static int list_history(void *context, struct history *take_history, struct err *err)
{
	(void)err;
	add(context, "+", take_history->name, "", (int)take_history->runs.n);
	history_free(take_history);
	return 0;
}

/* "name:runs" of profiles, with a star where it is pinned, then "+name:runs" of histories. */
static void check(struct place *place, const char *want)
{
	struct listing listing = {""};
	const struct store_visitor visitor = {.context = &listing, .profile = list_profile, .history = list_history};

	struct err err = ERR_INIT;

	if (store_visit(place->store, &visitor, &err))
		fail_msg("%s: %s", err.where, err.msg);
	assert_string_equal(listing.text, want);
}

static int take_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct profile **ret = context;

	(void)err;
	profile_free(*ret);
	*ret = take_profile;
	return 0;
}

static struct profile *profile_named(struct place *place, const char *name)
{
	struct profile *profile = NULL;
	const struct store_visitor visitor = {.context = &profile, .profile = take_profile};
	const struct store_name wanted = {"ml", name};

	assert_int_equal(store_visit_named(place->store, &visitor, &wanted, 1, NULL), 0);
	return profile;
}

/* ---- what people and the recommender do ---- */

static void commit(struct place *place, const struct profile *profile)
{
	const struct store_change change = {.profiles = &profile, .n_profiles = 1};

	assert_int_equal(store_commit(place->store, &change, NULL), 0);
}

static void write_named(struct place *place, const char *name, const char *role, const char *job)
{
	struct profile_spec spec = profile_spec_none;
	char key[64];

	snprintf(key, sizeof(key), "Job/%s", job);
	spec.pin_limit_bytes = 200 * MI;
	spec.ref = (struct profile_ref){"Job", job, role, "", key, NULL, 0};
	commit(place, &(struct profile){.namespace_name = "ml",
					.name = name,
					.workload = "",
					.role = "",
					.container = "",
					.spec = &spec});
}

/* The file loses an object: its line goes. */
static void delete_object(struct place *place, const char *kind, const char *name)
{
	char line[64 * 1024], to[128], what[64], whose[64];
	FILE *in = fopen(place->path, "r"), *out;

	snprintf(to, sizeof(to), "%s.new", place->path);
	out = fopen(to, "w");
	assert_non_null(in);
	assert_non_null(out);
	snprintf(what, sizeof(what), "\"kind\":\"%s\"", kind);
	snprintf(whose, sizeof(whose), "\"name\":\"%s\"}", name);
	while (fgets(line, sizeof(line), in)) {
		if (!strstr(line, what) || !strstr(line, whose))
			fputs(line, out);
	}
	fclose(in);
	fclose(out);
	assert_int_equal(rename(to, place->path), 0);
}

/* Whole cycles, one after the other, that remember names as the engine does. */
struct teller {
	struct place place;
	struct learn_names names;
	int n_runs;
	char id[IDENTITY_ID_BYTES]; /* of Job "train" */
};

static int start(void **state)
{
	static struct teller teller;

	teller = (struct teller){.n_runs = 0};
	setup(&teller.place);
	identity_id("ml", "Job/train", "", "main", teller.id);
	*state = &teller;
	return 0;
}

static int stop(void **state)
{
	struct teller *self = *state;

	learn_names_release(&self->names);
	teardown(&self->place);
	return 0;
}

static struct learn learning(struct teller *self)
{
	return (struct learn){
		.config = self->place.config, .store = self->place.store, .now_ms = NOW_MS, .names = &self->names};
}

typedef int learn_fn(struct learn *self, const struct found_run *runs, size_t n, struct err *err);

static void learn_run(struct teller *self, const char *role, bool is_main, struct learn learn, learn_fn *by)
{
	struct found_run run;

	make_run(&run, "ml", "train", ++self->n_runs, 0);
	snprintf(run.identity.role, sizeof(run.identity.role), "%s", role);
	run.is_main = is_main;
	assert_int_equal(by(&learn, &run, 1, NULL), 0);
	assert_int_equal(learn_commit(&learn, NULL, 0, NULL), 0);
	learn_release(&learn);
}

static void cycle(struct teller *self)
{
	learn_run(self, "", true, learning(self), learn_runs);
}

#define CHECK(self, ...)                                                                                               \
	do {                                                                                                           \
		char want[512];                                                                                        \
		snprintf(want, sizeof(want), __VA_ARGS__);                                                             \
		check(&(self)->place, want);                                                                           \
	} while (0)

/* ---- */

static void the_first_run_is_learned_into_it(void **state)
{
	struct teller *self = *state;

	write_named(&self->place, "gitops", "", "train");
	cycle(self);
	CHECK(self, "gitops*:1 +gitops:1");
	cycle(self);
	CHECK(self, "gitops*:2 +gitops:2");
}

static void what_was_learned_moves_and_stays_as_it_was(void **state)
{
	struct teller *self = *state;
	struct profile *before, *after;
	struct learn learn;

	for (int i = 0; i < 3; i++)
		cycle(self);
	CHECK(self, "%s:3 +%s:3", self->id, self->id);
	before = profile_named(&self->place, self->id);
	write_named(&self->place, "gitops", "", "train");
	/* The same run again, a day later. */
	self->n_runs--;
	learn = learning(self);
	learn.now_ms += TIME_DAY_MS;
	learn_run(self, "", true, learn, learn_runs);
	CHECK(self, "gitops*:3 +gitops:3");
	after = profile_named(&self->place, "gitops");
	assert_true(profile_same_sizes(before, after));
	assert_int_equal(after->updated_ms, before->updated_ms);
	assert_int_equal(after->revision, before->revision);
	profile_free(before);
	profile_free(after);
	cycle(self);
	CHECK(self, "gitops*:4 +gitops:4");
}

static void a_deleted_profile_comes_back_with_its_history(void **state)
{
	struct teller *self = *state;

	write_named(&self->place, "gitops", "", "train");
	cycle(self);
	cycle(self);
	delete_object(&self->place, "MemoryProfile", "gitops");
	CHECK(self, "+gitops:2");
	cycle(self);
	CHECK(self, "gitops:3 +gitops:3");
}

static void a_renamed_profile_takes_the_history_along(void **state)
{
	struct teller *self = *state;

	write_named(&self->place, "gitops", "", "train");
	cycle(self);
	delete_object(&self->place, "MemoryProfile", "gitops");
	write_named(&self->place, "release-2", "", "train");
	cycle(self);
	CHECK(self, "release-2*:2 +release-2:2");
}

/* Nobody remembers names: all histories are read. */
static void a_renamed_profile_takes_the_history_along_after_a_restart(void **state)
{
	struct teller *self = *state;

	write_named(&self->place, "gitops", "", "train");
	cycle(self);
	delete_object(&self->place, "MemoryProfile", "gitops");
	write_named(&self->place, "release-2", "", "train");
	learn_names_release(&self->names);
	learn_run(self, "", true, learning(self), learn_all);
	CHECK(self, "release-2*:2 +release-2:2");
}

static void both_stay_where_people_decided_something_in_both(void **state)
{
	struct teller *self = *state;
	struct profile_spec spec = profile_spec_none;
	struct profile *learned, capped;

	cycle(self);
	learned = profile_named(&self->place, self->id);
	capped = *learned;
	spec.buffer_permille = 100;
	capped.spec = &spec;
	commit(&self->place, &capped);
	profile_free(learned);
	write_named(&self->place, "gitops", "", "train");
	cycle(self);
	CHECK(self, "gitops*:0 %s:2 +%s:2", self->id, self->id);
}

static void a_profile_of_all_roles_is_no_ones(void **state)
{
	struct teller *self = *state;
	char worker[IDENTITY_ID_BYTES];

	identity_id("ml", "Job/train", "worker", "main", worker);
	write_named(&self->place, "gitops", "", "train");
	learn_run(self, "worker", true, learning(self), learn_runs);
	CHECK(self, "gitops*:0 %s:1 +%s:1", worker, worker);
	write_named(&self->place, "gitops", "worker", "train");
	learn_run(self, "worker", true, learning(self), learn_runs);
	CHECK(self, "gitops*:2 +gitops:2");
}

static void a_profile_of_the_main_container_is_not_a_sidecars(void **state)
{
	struct teller *self = *state;

	write_named(&self->place, "gitops", "", "train");
	learn_run(self, "", false, learning(self), learn_runs);
	CHECK(self, "gitops*:0 %s:1 +%s:1", self->id, self->id);
}

static void a_profile_that_names_another_workload_now_keeps_what_it_learned(void **state)
{
	struct teller *self = *state;
	struct profile *learned, moved;
	struct profile_spec spec;

	write_named(&self->place, "gitops", "", "train");
	cycle(self);
	learned = profile_named(&self->place, "gitops");
	moved = *learned;
	spec = *learned->spec;
	spec.ref = (struct profile_ref){"Job", "other", "", "", "Job/other", NULL, 0};
	moved.spec = &spec;
	commit(&self->place, &moved);
	profile_free(learned);
	cycle(self);
	CHECK(self, "gitops*:2 +gitops:2");
}

/* As after a crash between the commit and the deletion: what moved is there under both names. */
static void duplicate(struct teller *self, const char *from, const char *to)
{
	struct history *history = NULL;
	const struct store_visitor visitor = {.context = &history, .history = take_history};
	const struct store_name wanted = {"ml", from};
	struct store_change change = {.histories = &history, .n_histories = 1};
	struct profile *profile = profile_named(&self->place, from), copy = *profile;

	assert_int_equal(store_visit_named(self->place.store, &visitor, &wanted, 1, NULL), 0);
	free(history->name);
	history->name = strdup(to);
	assert_int_equal(store_commit(self->place.store, &change, NULL), 0);
	history_free(history);
	copy.name = to;
	copy.spec = &profile_spec_none;
	commit(&self->place, &copy);
	profile_free(profile);
}

static void what_a_crash_left_twice_is_cleaned_up(void **state)
{
	struct teller *self = *state;

	write_named(&self->place, "gitops", "", "train");
	cycle(self);
	duplicate(self, "gitops", self->id);
	CHECK(self, "gitops*:1 %s:1 +gitops:1 +%s:1", self->id, self->id);
	cycle(self);
	CHECK(self, "gitops*:2 +gitops:2");
}

static void what_knows_more_runs_is_not_deleted(void **state)
{
	struct teller *self = *state;

	cycle(self);
	cycle(self);
	write_named(&self->place, "gitops", "", "train");
	cycle(self);
	duplicate(self, "gitops", self->id);
	/* the one under the new name lost a run */
	delete_object(&self->place, "MemoryHistory", "gitops");
	{
		struct history *history = history_new("ml", "gitops");
		struct store_change change = {.histories = &history, .n_histories = 1};

		assert_non_null(history);
		assert_int_equal(history_add_alias(history, "Job/train"), 0);
		free(history->workload);
		free(history->container);
		history->workload = strdup("Job/train");
		history->container = strdup("main");
		assert_int_equal(store_commit(self->place.store, &change, NULL), 0);
		history_free(history);
	}
	cycle(self);
	CHECK(self, "gitops*:1 %s:3 +gitops:1 +%s:3", self->id, self->id);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		T(the_first_run_is_learned_into_it),
		T(what_was_learned_moves_and_stays_as_it_was),
		T(a_deleted_profile_comes_back_with_its_history),
		T(a_renamed_profile_takes_the_history_along),
		T(a_renamed_profile_takes_the_history_along_after_a_restart),
		T(both_stay_where_people_decided_something_in_both),
		T(a_profile_of_all_roles_is_no_ones),
		T(a_profile_of_the_main_container_is_not_a_sidecars),
		T(a_profile_that_names_another_workload_now_keeps_what_it_learned),
		T(what_a_crash_left_twice_is_cleaned_up),
		T(what_knows_more_runs_is_not_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
