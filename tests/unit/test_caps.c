/* SPDX-License-Identifier: Apache-2.0 */
/* Caps for harm, by whole and quick cycles: a namespace is capped and told once, and a person has the last word. */
#include "caps_fixture.h"

#include <signal.h>

/* ---- a quick cycle has read no profile but those of its runs ---- */

static void a_quick_cycle_forgets_no_cap(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(quick_harm(&place, "ml", 0, 3), 0);
	assert_string_equal(cap_of(&place, "ml"), "observe");
	assert_int_equal(remembered(&place), 1);
	assert_int_equal(quick_harm(&place, "other", 0, 1), 0);
	assert_int_equal(remembered(&place), 1);
	assert_true(place.last.n_capped == SIZE_MAX); /* it has not counted */
	assert_int_equal(quick_harm(&place, "other", 0, 0), 1);
	assert_int_equal(cycle(&place), 0);
	assert_int_equal(place.last.n_capped, 1);
	teardown(&place);
}

static void a_cap_is_told_once(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	for (int i = 0; i < 3; i++) { /* each of runs that began after the one before */
		assert_int_equal(quick_harm(&place, "ml", 3 * i, 3), 0);
		place.now_ms += 3 * TIME_HOUR_MS;
	}
	assert_int_equal(quick_harm(&place, "other", 0, 1), 0);
	assert_int_equal(place.told_harms, 10);
	assert_int_equal(place.told_caps, 1);
	teardown(&place);
}

static void a_quick_cycle_sees_a_lifted_cap(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(quick_harm(&place, "ml", 0, 3), 0);
	lift(&place, "ml");
	place.now_ms += TIME_MINUTE_MS;
	assert_int_equal(quick_harm(&place, "ml", 3, 3), 0); /* of before that, and told late */
	assert_string_equal(cap_of(&place, "ml"), "");
	assert_int_equal(remembered(&place), 0);
	place.now_ms += 3 * TIME_HOUR_MS;
	assert_int_equal(quick_harm(&place, "ml", 6, 3), 0);
	assert_string_equal(cap_of(&place, "ml"), "observe");
	teardown(&place);
}

static void what_a_person_said_stays(void **state)
{
	static const struct {
		const char *name;
		bool is_before, is_meanwhile;
	} rows[] = {{"said before", true, false}, {"said while harm was counted", false, true}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct place place;

		test_row(rows[i].name);
		setup(&place);
		if (rows[i].is_before)
			put_cap(place.objects, "off");
		place.has_person = rows[i].is_meanwhile;
		assert_int_equal(quick_harm(&place, "ml", 0, 3), 0);
		assert_false(place.last.is_partial);
		assert_string_equal(cap_of(&place, "ml"), "off");
		assert_int_equal(place.told_caps, 0);
		teardown(&place);
	}
}

/* ---- a quick cycle in the middle of a whole one ---- */

static void harm_once(void *context)
{
	struct place *place = context;
	struct engine_result result;

	if (place->n_between++)
		return;
	place->n = 3;
	assert_int_equal(engine_quick(&place->engine, place->now_ms, &result, NULL), 0);
}

static void a_whole_cycle_keeps_what_came_between(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	place.engine.between = harm_once;
	place.engine.between_context = &place;
	place.now_ms += FAKE_DAY_MS; /* a day is closed: the state is saved in any case */
	assert_int_equal(cycle(&place), 0);
	assert_true(place.n_between > 0);
	assert_string_equal(cap_of(&place, "ml"), "observe");
	assert_int_equal(remembered(&place), 1);
	lift(&place, "ml");
	place.n = 0;
	place.now_ms += 10 * TIME_MINUTE_MS;
	assert_int_equal(cycle(&place), 0);
	assert_int_equal(remembered(&place), 0);
	place.first = 3;
	place.n = 1; /* it began before that */
	assert_int_equal(cycle(&place), 0);
	assert_string_equal(cap_of(&place, "ml"), "");
	teardown(&place);
}

/* The state could not be saved when a cap was set: the next cycle does not read the older memory over the newer. */
static void what_could_not_be_saved_is_kept(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	place.refuses_state = true;
	assert_int_equal(quick_harm(&place, "ml", 0, 3), 0);
	assert_true(place.last.is_partial);
	assert_string_equal(cap_of(&place, "ml"), "observe");
	assert_int_equal(remembered(&place), 0);
	place.refuses_state = false;
	place.n = 0;
	assert_int_equal(cycle(&place), 0);
	assert_int_equal(remembered(&place), 1);
	teardown(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quick_cycle_forgets_no_cap),
		cmocka_unit_test(a_cap_is_told_once),
		cmocka_unit_test(a_quick_cycle_sees_a_lifted_cap),
		cmocka_unit_test(what_a_person_said_stays),
		cmocka_unit_test(a_whole_cycle_keeps_what_came_between),
		cmocka_unit_test(what_could_not_be_saved_is_kept),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
