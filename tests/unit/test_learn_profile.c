/* SPDX-License-Identifier: Apache-2.0 */
/* From a history to the profile that is written: the smallest world, and what counts until a change takes effect. */
#include "size_fixture.h"

#include "engine/learn.h"

#define NOW_MS ((int64_t)400 * HOUR_MS)

static void add_world(struct history *history, int n, int world_size, int64_t peak_bytes, bool is_whole)
{
	struct run run = {.start_ms = (int64_t)n * 2 * HOUR_MS,
			  .duration_ms = HOUR_MS,
			  .variant = "0123456789",
			  .ranks = world_size,
			  .world_size = world_size,
			  .peak_bytes = peak_bytes,
			  .median_bytes = peak_bytes / 2,
			  .p95_bytes = peak_bytes,
			  .limit_bytes = 2 * peak_bytes,
			  .outcome = is_whole ? OUTCOME_COMPLETED : OUTCOME_DELETED,
			  .is_whole = is_whole,
			  .source = "query"};

	snprintf(run.uid, sizeof(run.uid), "run%d", n);
	assert_int_equal(history_add_run(history, &run), 0);
}

static struct profile *learn(const struct config *config, struct history *history, const struct profile *before,
			     int64_t now_ms)
{
	struct profile *profile = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(learn_profile(config, history, before, NULL, now_ms, NULL, &profile, &err), 0);
	return profile;
}

static void the_smallest_world_is_kept(void **state)
{
	CLEANUP(history_freep) struct history *history = history_new("ml", "bert");
	struct config *config = config_new_default();
	CLEANUP(profile_freep) struct profile *profile = NULL;

	(void)state;
	add_world(history, 1, 8, GI, true);
	add_world(history, 2, 4, GI, true);
	add_world(history, 3, 2, GI, false); /* what was not seen whole backs nothing */
	add_world(history, 4, 0, GI, true);  /* not known */
	add_world(history, 5, 6, GI, true);
	profile = learn(config, history, NULL, NOW_MS);
	assert_int_equal(profile->parent.min_ranks, 4);
	config_free(config);
}

static void what_counted_before_is_written_beside(void **state)
{
	CLEANUP(history_freep) struct history *history = history_new("ml", "bert");
	struct config *config = config_new_default();
	CLEANUP(profile_freep) struct profile *first = NULL, *second = NULL, *third = NULL;

	(void)state;
	for (int n = 1; n < 5; n++)
		add_world(history, n, 8, GI, true);
	first = learn(config, history, NULL, NOW_MS);
	assert_int_equal(first->n_previous, 0);
	assert_int_equal(first->updated_ms, NOW_MS);
	assert_null(learn(config, history, first, NOW_MS + HOUR_MS)); /* nothing new: nothing to write */
	add_world(history, 5, 8, 3 * GI, true);
	second = learn(config, history, first, NOW_MS + HOUR_MS);
	assert_int_equal(second->n_previous, 1);
	assert_int_equal(second->updated_ms, NOW_MS + HOUR_MS);
	assert_true(second->parent.limit_bytes > first->parent.limit_bytes);
	assert_int_equal(second->variants[second->n_variants].limit_bytes, first->parent.limit_bytes);
	/* learned again while it counts for some: still nothing to write */
	assert_null(learn(config, history, second, NOW_MS + HOUR_MS + 60000));
	/* a change right behind it: what counted before it never did */
	add_world(history, 6, 8, 4 * GI, true);
	third = learn(config, history, second, NOW_MS + HOUR_MS + 1000);
	assert_int_equal(third->variants[third->n_variants].limit_bytes, first->parent.limit_bytes);
	config_free(config);
}

static void set_variant(struct history *history, size_t from, const char *variant)
{
	for (size_t i = from; i < history->runs.n; i++)
		snprintf(history->runs.items[i].variant, sizeof(history->runs.items[i].variant), "%s", variant);
}

/* Only then is a run of another image known to be new before it has ended. */
static void an_only_variant_is_named(void **state)
{
	CLEANUP(history_freep) struct history *history = history_new("ml", "bert");
	struct config *config = config_new_default();
	CLEANUP(profile_freep) struct profile *one = NULL, *two = NULL, *unknown = NULL;

	(void)state;
	for (int n = 1; n < 5; n++)
		add_world(history, n, 1, GI, true);
	one = learn(config, history, NULL, NOW_MS);
	assert_string_equal(one->parent.variant, "0123456789");
	assert_int_equal(one->n_variants, 0);
	add_world(history, 5, 1, GI, false);
	set_variant(history, 4, "abcdef0123");
	two = learn(config, history, one, NOW_MS);
	assert_string_equal(two->parent.variant, "");
	assert_int_equal(two->n_variants, 1);
	assert_string_equal(two->variants[0].variant, "0123456789");
	set_variant(history, 0, "");
	unknown = learn(config, history, NULL, NOW_MS);
	assert_string_equal(unknown->parent.variant, "");
	assert_int_equal(unknown->n_variants, 0);
	config_free(config);
}

/* The list has the runs of about a day: nothing in it says that a large run comes each week. */
static void a_variant_keeps_what_comes_rarely(void **state)
{
	static const struct {
		const char *name;
		int large_every, runs_of_a_variant;
		bool is_covered;
	} rows[] = {
		{"a large run each week, and an image each day", 168, 24, true},
		{"a large run each week, and an image for each week", 168, 168, true},
		{"each second run is large, and has another world size", 2, 1, false},
		{"each sixth run is", 6, 0, false},
		{"each sixth run is large, and an image each day", 6, 24, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(history_freep) struct history *history = history_new("ml", "bert");
		struct config *config = config_new_default();
		CLEANUP(profile_freep) struct profile *profile = NULL;
		bool has_small = false;

		test_row(rows[i].name);
		for (int n = 0; n < 528; n++) {
			bool is_large = n % rows[i].large_every == rows[i].large_every / 2;
			char variant[11];

			add_world(history, n + 1, 1, (is_large ? 40 : 10) * GI, true);
			snprintf(variant, sizeof(variant), "%010d",
				 rows[i].runs_of_a_variant > 1 ? n / rows[i].runs_of_a_variant : is_large);
			set_variant(history, history->runs.n - 1, variant);
		}
		profile = learn(config, history, NULL, NOW_MS);
		assert_true(profile->parent.limit_bytes > 40 * GI);
		for (size_t v = 0; v < profile->n_variants; v++)
			has_small |= profile->variants[v].limit_bytes < 12 * GI;
		assert_int_equal(has_small, !rows[i].is_covered);
		config_free(config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smallest_world_is_kept),
		cmocka_unit_test(what_counted_before_is_written_beside),
		cmocka_unit_test(an_only_variant_is_named),
		cmocka_unit_test(a_variant_keeps_what_comes_rarely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
