/* SPDX-License-Identifier: Apache-2.0 */
/* Harm that is in the store, but was not followed up: it is told once, and its namespace capped, all the same. */
#include "caps_fixture.h"

#include <signal.h>

static void a_refused_cap_is_set_later(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	place.refuses_caps = true;
	assert_int_equal(harm(&place, "ml", 0, 3), 0);
	assert_true(place.last.partial & 1U << ENGINE_PARTIAL_CAP);
	assert_int_equal(harm(&place, "other", 0, 3), 0);
	assert_int_equal(place.told_harms, 6);
	assert_true(place.last.partial & 1U << ENGINE_PARTIAL_CAP);
	assert_string_equal(cap_of(&place, "ml"), "");
	assert_string_equal(cap_of(&place, "other"), "observe"); /* it was refused in ml alone */
	place.refuses_caps = false;
	assert_int_equal(cycle(&place), 0);
	assert_false(place.last.is_partial);
	assert_string_equal(cap_of(&place, "ml"), "observe");
	assert_int_equal(place.last.capped.n[CAP_BY_HARM], 2);
	assert_int_equal(remembered(&place), 2);
	assert_int_equal(place.told_caps, 2);
	teardown(&place);
}

/* Histories are written, profiles are not: next time the same harm is no news. */
static void harm_of_half_a_commit_is_told_once(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	place.refuses_profiles = true;
	for (int i = 0; i < 2; i++) {
		assert_true(quick_harm(&place, "ml", 0, 3) < 0);
		assert_int_equal(place.last.harms[HARM_OOM], 0);
	}
	assert_int_equal(place.told_harms + place.told_sets, 0);
	assert_string_equal(cap_of(&place, "ml"), "");
	place.refuses_profiles = false;
	assert_int_equal(quick(&place), 0);
	assert_int_equal(place.last.harms[HARM_OOM], 3);
	assert_int_equal(cycle(&place), 0);
	assert_string_equal(cap_of(&place, "ml"), "observe");
	assert_int_equal(place.last.harms[HARM_OOM], 0);
	assert_int_equal(place.told_harms, 3);
	assert_int_equal(place.told_sets, 3);
	assert_int_equal(place.told_caps, 1);
	teardown(&place);
}

/* Another leader, or the same one after a crash. */
static void who_starts_looks_at_recent_harm(void **state)
{
	static const struct {
		const char *name;
		bool has_no_profiles;
		int64_t after_ms;
		const char *cap;
	} rows[] = {
		{"ended before the cap", false, TIME_HOUR_MS, "observe"},
		{"ended between history and profile", true, TIME_HOUR_MS, "observe"},
		{"harm of the day before", false, FAKE_DAY_MS, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct place place;

		test_row(rows[i].name);
		setup(&place);
		place.refuses_profiles = rows[i].has_no_profiles;
		(void)!quick_harm(&place, "ml", 0, 3);
		place.refuses_profiles = false;
		assert_string_equal(cap_of(&place, "ml"), "");
		close_engine(&place);
		open_engine(&place);
		place.n = 0;
		place.now_ms += rows[i].after_ms;
		assert_int_equal(cycle(&place), 0);
		assert_string_equal(cap_of(&place, "ml"), rows[i].cap);
		teardown(&place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_cap_is_set_later),
		cmocka_unit_test(harm_of_half_a_commit_is_told_once),
		cmocka_unit_test(who_starts_looks_at_recent_harm),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
