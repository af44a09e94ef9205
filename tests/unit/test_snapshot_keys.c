/* SPDX-License-Identifier: Apache-2.0 */
/* Many profiles with the same keys, which anybody may write who may write one: which one counts, and what that costs.
 */
#include "snapshot_fixture.h"

#include "base/str.h"
#include "support/cost.h"

#include <stdio.h>
#include <stdlib.h>

/* A profile that names CronJob nightly, which makes Jobs, or learned Job nightly, or both. */
struct made {
	int name;
	const char *key; /* of the reference; NULL: none */
	const char *role, *container;
	int64_t created_ms, updated_ms;
	bool is_learned, is_there;
};

static const char *const keys[] = {NULL, "CronJob/nightly", "CronJob/other"};
static const char *const roles[] = {"", "worker"};
static const char *const containers[] = {"", "main"};

static struct profile *profile_of(const struct made *made)
{
	static const char *const aliases[] = {"Job/nightly", "pod-stem:nightly"};
	char name[16];
	struct profile_spec spec = profile_spec_none;
	struct profile draft = {.namespace_name = "ml",
				.name = name,
				.workload = made->is_learned ? "Job/nightly" : "",
				.role = "",
				.container = made->is_learned ? "main" : "",
				.aliases = aliases,
				.n_aliases = made->is_learned ? 2 : 0,
				.updated_ms = made->updated_ms,
				.spec = &spec};
	struct profile *profile;

	snprintf(name, sizeof(name), "n%05d", made->name);
	if (made->key)
		spec.ref = (struct profile_ref){"CronJob", "nightly",	  made->role,	   made->container,
						made->key, "Job/nightly", made->created_ms};
	profile = profile_dup(&draft);
	assert_non_null(profile);
	return profile;
}

static void put(struct snapshot_builder *builder, const struct made *made)
{
	assert_int_equal(snapshot_builder_put(builder, profile_of(made)), 0);
}

static void take_out(struct snapshot_builder *builder, int number)
{
	char name[16];

	snprintf(name, sizeof(name), "n%05d", number);
	assert_int_equal(snapshot_builder_remove(builder, "ml", name), 0);
}

/* ---- which one counts ---- */

enum { MADE = 150, ROUNDS = 150 };

/* An old object before a young one, an unknown age last; then by name. */
static int by_age(const void *a, const void *b)
{
	const struct made *x = *(const struct made *const *)a, *y = *(const struct made *const *)b;
	int64_t x_ms = x->created_ms ? x->created_ms : INT64_MAX, y_ms = y->created_ms ? y->created_ms : INT64_MAX;

	return x_ms != y_ms ? (x_ms > y_ms) - (x_ms < y_ms) : x->name - y->name;
}

/* The last update first; then by name. */
static int by_update(const void *a, const void *b)
{
	const struct made *x = *(const struct made *const *)a, *y = *(const struct made *const *)b;

	return x->updated_ms != y->updated_ms ? (x->updated_ms < y->updated_ms) - (x->updated_ms > y->updated_ms)
					      : x->name - y->name;
}

/* Sorts all that are there and fit, and takes the first. -1: none. `key` NULL: of those that learned. */
static int first_of(const struct made *made, const char *key, const char *role, const char *container)
{
	const struct made *fit[MADE];
	size_t n = 0;

	for (size_t i = 0; i < MADE; i++) {
		bool names = key && made[i].key && (!*key || streq(made[i].key, key)) && streq(made[i].role, role) &&
			     streq(made[i].container, container);

		if (made[i].is_there && (key ? names : made[i].is_learned))
			fit[n++] = &made[i];
	}
	qsort(fit, n, sizeof(*fit), key ? by_age : by_update); /* NOLINT(bugprone-sizeof-expression) */
	return n ? fit[0]->name : -1;
}

/* Who says more counts first. `key` "": of any key, as they make Jobs of one name. */
static int decider_of(const struct made *made, const char *key, const char *role)
{
	int found = -1;

	for (int c = 1; c >= 0; c--)
		for (int r = *role ? 1 : 0; r >= 0; r--)
			if (found < 0)
				found = first_of(made, key, roles[r], containers[c]);
	return found;
}

static int number_of(const struct profile *profile)
{
	return profile ? atoi(profile->name + 1) : -1; /* NOLINT(cert-err34-c): ours */
}

static void assert_winners(const struct snapshot *snapshot, const struct made *made)
{
	for (size_t r = 0; r < ARRAY_LEN(roles); r++) {
		struct snapshot_container of = {"ml", roles[r], "main", NULL, true};

		for (size_t k = 1; k < ARRAY_LEN(keys); k++)
			assert_int_equal(number_of(snapshot_profile_of_ref(snapshot, &of, keys[k])),
					 decider_of(made, keys[k], roles[r]));
		of.run_key = "Job/nightly-29384756";
		assert_int_equal(number_of(snapshot_profile_of_ref(snapshot, &of, "Job/nightly")),
				 decider_of(made, "", roles[r]));
	}
	assert_int_equal(number_of(snapshot_profile(snapshot, "ml", "Job/nightly", "", "main")),
			 first_of(made, NULL, NULL, NULL));
	assert_int_equal(number_of(snapshot_profile(snapshot, "ml", "pod-stem:nightly", "", "main")),
			 first_of(made, NULL, NULL, NULL));
}

static void change_one(struct snapshot_builder *builder, struct made *made)
{
	int i = rand() % MADE;

	if (rand() % 3 == 0) {
		take_out(builder, i);
		made[i].is_there = false;
		return;
	}
	made[i] = (struct made){.name = i,
				.key = keys[rand() % 3],
				.role = roles[rand() % 2],
				.container = containers[rand() % 2],
				.created_ms = rand() % 4,
				.updated_ms = rand() % 4,
				.is_learned = rand() % 2,
				.is_there = true};
	put(builder, &made[i]);
}

static void the_first_of_all_counts(void **state)
{
	struct made made[2][MADE] = {{{0}}};
	struct snapshot *snapshot = finish(start(NULL)), *next;
	size_t n = 0;

	(void)state;
	srand(11);
	for (int round = 0; round < ROUNDS; round++) {
		struct snapshot_builder *builder = start(snapshot);

		memcpy(made[0], made[1], sizeof(made[0]));
		for (int changes = 1 << rand() % 10; changes; changes--)
			change_one(builder, made[1]);
		next = finish(builder);
		assert_winners(next, made[1]);
		assert_winners(snapshot, made[0]); /* as it was */
		snapshot_unref(snapshot);
		snapshot = next;
	}
	for (size_t i = 0; i < MADE; i++)
		n += made[1][i].is_there;
	assert_int_equal(snapshot_profile_count(snapshot), n);
	snapshot_unref(snapshot);
}

/* ---- what it costs ---- */

/* Each newer one counts before all others. */
static struct made older(int i)
{
	return (struct made){.name = i,
			     .key = keys[1],
			     .role = "",
			     .container = "",
			     .created_ms = 1000000 - i,
			     .updated_ms = i,
			     .is_learned = true};
}

struct steps {
	uint64_t fill, lookup, change, empty;
};

static struct steps steps_of(int n)
{
	struct snapshot_builder *builder = start(NULL);
	struct snapshot_container of = {"ml", "", "main", NULL, true};
	struct snapshot *snapshot, *next;
	struct steps steps;

	cost_begin();
	for (int i = 0; i < n; i++) {
		struct made made = older(i);

		put(builder, &made);
	}
	snapshot = finish(builder);
	steps.fill = cost_steps();

	cost_begin();
	assert_int_equal(number_of(snapshot_profile_of_ref(snapshot, &of, keys[1])), n - 1);
	assert_int_equal(number_of(snapshot_profile(snapshot, "ml", "Job/nightly", "", "main")), n - 1);
	steps.lookup = cost_steps();

	cost_begin();
	builder = start(snapshot);
	put(builder, &(struct made){.name = 0, .is_learned = true});
	next = finish(builder);
	steps.change = cost_steps();

	cost_begin();
	builder = start(next);
	for (int i = n - 1; i > 0; i--)
		take_out(builder, i);
	snapshot_unref(snapshot);
	snapshot = finish(builder);
	steps.empty = cost_steps();
	assert_int_equal(number_of(snapshot_profile(snapshot, "ml", "Job/nightly", "", "main")), 0);
	assert_int_equal(snapshot_profile_count(snapshot), 1);
	snapshot_unref(snapshot);
	snapshot_unref(next);
	return steps;
}

static void many_of_one_workload_take_linear_time(void **state)
{
	struct steps few = steps_of(10000), many = steps_of(20000);

	(void)state;
	if (!few.fill)
		skip(); /* this build does not count */
	print_message("  a profile of 20,000: %llu steps to put, %llu to remove; a lookup: %llu\n",
		      (unsigned long long)many.fill / 20000, (unsigned long long)many.empty / 20000,
		      (unsigned long long)many.lookup);
	assert_true(many.fill <= few.fill * 5 / 2);
	assert_true(many.lookup <= few.lookup + 100);
	assert_true(many.change <= few.change * 5 / 2);
	assert_true(many.empty <= few.empty * 5 / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_of_all_counts),
		cmocka_unit_test(many_of_one_workload_take_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
