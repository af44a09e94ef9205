/* SPDX-License-Identifier: Apache-2.0 */
/* One size for all pods of a root owner, whenever and by whichever replica they are looked at. */
#include "support/test.h"

#include "base/limits.h"
#include "model/profile.h"

#include <stdlib.h>

#define DELAY PROFILE_EFFECT_DELAY_MS
#define T0    ((int64_t)1793607300000)

struct version {
	struct profile profile;
	struct recommendation variants[PROFILE_RECOMMENDATIONS];
};

/* The version that a recommender writes at `now_ms` over `before` (NULL: the first). */
static void write_version(struct version *ret, const struct version *before, int64_t limit_bytes, int64_t now_ms)
{
	*ret = (struct version){.profile = {.name = "p", .spec = &profile_spec_none}};
	ret->profile.parent = (struct recommendation){.limit_bytes = limit_bytes, .runs = 7};
	profile_change(&ret->profile, ret->variants, before ? &before->profile : NULL, now_ms);
}

static int64_t limit_for(const struct version *version, int64_t created_ms, int64_t now_ms)
{
	return profile_sizes_for(&version->profile, created_ms, now_ms).parent->limit_bytes;
}

static void older_owners_keep_what_counted(void **state)
{
	struct version first, second;

	(void)state;
	write_version(&first, NULL, 10, T0);
	assert_int_equal(first.profile.n_previous, 0);
	assert_int_equal(limit_for(&first, T0 - 1, T0), 10); /* there was none before */
	write_version(&second, &first, 20, T0 + 60000);
	assert_int_equal(second.profile.n_previous, 1);
	assert_int_equal(second.profile.updated_ms, T0 + 60000);
	assert_int_equal(limit_for(&second, T0, T0 + 60001), 10);
	assert_int_equal(limit_for(&second, T0 + 60000 + DELAY - 1, T0 + 60000 + DELAY), 10);
	assert_int_equal(limit_for(&second, T0 + 60000 + DELAY, T0 + 60000 + DELAY), 20);
	/* not for ever, nor by a clock that is wrong by hours */
	assert_int_equal(limit_for(&second, T0, T0 + 60000 + PROFILE_PREVIOUS_MS), 20);
	assert_int_equal(limit_for(&second, T0, T0 + 60000 - PROFILE_PREVIOUS_MS), 20);
}

static void what_says_the_same_is_no_change(void **state)
{
	struct version first, second, third;

	(void)state;
	write_version(&first, NULL, 10, T0);
	write_version(&second, &first, 20, T0 + 60000);
	write_version(&third, &second, 20, T0 + 900000);
	assert_int_equal(third.profile.updated_ms, T0 + 60000);
	assert_int_equal(limit_for(&third, T0, T0 + 900001), 10);
	assert_int_equal(limit_for(&third, T0 + 90000, T0 + 900001), 20);
	/* and where nothing was known before, there is nothing to go back to */
	first.profile.parent.runs = 0;
	write_version(&second, &first, 20, T0 + 60000);
	assert_int_equal(second.profile.n_previous, 0);
}

/* A reading commits each closed day: what it makes of the first days is replaced without a trace. */
static void days_of_one_reading_are_one_change(void **state)
{
	struct version day, next, last, later;

	(void)state;
	write_version(&day, NULL, 10, T0);
	write_version(&next, &day, 20, T0);
	write_version(&last, &next, 30, T0);
	assert_int_equal(last.profile.n_previous, 0);
	assert_int_equal(limit_for(&last, T0 - 1, T0), 30);
	write_version(&later, &last, 40, T0 + 300000);
	write_version(&last, &later, 50, T0 + 300000);
	assert_int_equal(last.profile.n_previous, 1);
	assert_int_equal(limit_for(&last, T0, T0 + 300001), 30);
}

static void variants_go_with_their_parent(void **state)
{
	struct version first, second;
	struct profile_sizes sizes;

	(void)state;
	write_version(&first, NULL, 10, T0);
	first.variants[0] = (struct recommendation){.limit_bytes = 11, .variant = "aaaaaaaaaa"};
	first.profile.n_variants = 1;
	second = (struct version){.profile = {.name = "p", .spec = &profile_spec_none, .n_variants = 2}};
	second.profile.parent = (struct recommendation){.limit_bytes = 20, .runs = 8};
	second.variants[0] = (struct recommendation){.limit_bytes = 21, .variant = "bbbbbbbbbb"};
	second.variants[1] = (struct recommendation){.limit_bytes = 22, .variant = "aaaaaaaaaa"};
	profile_change(&second.profile, second.variants, &first.profile, T0 + 60000);
	assert_int_equal(second.profile.n_previous, 2);
	sizes = profile_sizes_for(&second.profile, T0, T0 + 60001);
	assert_true(sizes.is_previous);
	assert_int_equal(profile_sizes_variant(&sizes, "aaaaaaaaaa")->limit_bytes, 11);
	assert_null(profile_sizes_variant(&sizes, "bbbbbbbbbb"));
	assert_null(profile_sizes_variant(&sizes, ""));
	sizes = profile_sizes_for(&second.profile, T0 + 70000, T0 + 70000);
	assert_false(sizes.is_previous);
	assert_int_equal(profile_sizes_variant(&sizes, "aaaaaaaaaa")->limit_bytes, 22);
}

enum { VERSIONS = 12, SERIES = 3000, LOOKS = 40 };

/* Versions that follow within the delay; two replicas that hear of each a while later; an owner made at any
 * time, whose pods come while the last are heard of: one size. */
static void any_order_on_two_replicas_gives_one_size(void **state)
{
	struct version versions[VERSIONS];
	int n_old = 0, n_new = 0;

	(void)state;
	srand(11);
	for (int series = 0; series < SERIES; series++) {
		int n = 2 + rand() % (VERSIONS - 2);
		int64_t at_ms = T0, created_ms, expected = 0, last_ms;

		write_version(&versions[0], NULL, 100, T0 - 86400000);
		for (int i = 1; i < n; i++) {
			write_version(&versions[i], &versions[i - 1], 100 + i, at_ms);
			at_ms += rand() % (DELAY - PROFILE_HEARD_MS);
		}
		last_ms = versions[n - 1].profile.updated_ms;
		created_ms = T0 - DELAY + rand() % (last_ms - T0 + 3 * DELAY);
		for (int look = 0; look < LOOKS; look++) {
			int64_t now_ms = created_ms + rand() % DELAY, heard_ms = now_ms - rand() % PROFILE_HEARD_MS,
				got;
			int at = 0;

			/* the latest that this replica has heard of */
			while (at + 1 < n && versions[at + 1].profile.updated_ms <= heard_ms)
				at++;
			got = limit_for(&versions[at], created_ms, now_ms);
			if (look && got != expected)
				fail_msg("series %d: %lld, not %lld", series, (long long)got, (long long)expected);
			expected = got;
		}
		n_old += expected == 100;
		n_new += expected != 100;
	}
	/* both happen */
	assert_true(n_old > SERIES / 10 && n_new > SERIES / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(older_owners_keep_what_counted),
		cmocka_unit_test(what_says_the_same_is_no_change),
		cmocka_unit_test(days_of_one_reading_are_one_change),
		cmocka_unit_test(variants_go_with_their_parent),
		cmocka_unit_test(any_order_on_two_replicas_gives_one_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
