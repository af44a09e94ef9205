/* SPDX-License-Identifier: Apache-2.0 */
/* Caps for harm: a namespace is capped and told once, and a person has the last word. */
#include "caps_fixture.h"

#include <signal.h>

static void a_quick_cycle_leaves_caps_to_the_whole_one(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(quick_harm(&place, "ml", 0, 3), 0);
	assert_string_equal(cap_of(&place, "ml"), "");
	assert_false(place.last.capped.is_counted);
	place.n = 0;
	assert_int_equal(cycle(&place), 0);
	assert_string_equal(cap_of(&place, "ml"), "observe");
	assert_int_equal(remembered(&place), 1);
	assert_int_equal(harm(&place, "other", 0, 1), 0);
	assert_int_equal(remembered(&place), 1);
	assert_true(place.last.capped.is_counted);
	assert_int_equal(place.last.capped.n[CAP_BY_HARM], 1);
	teardown(&place);
}

static void caps_are_counted_by_who_set_them(void **state)
{
	struct place place;
	struct err err = ERR_INIT;

	(void)state;
	setup(&place);
	assert_int_equal(store_lower_mode_cap(place.store, "other", "observe", &err), 0); /* as a person would */
	assert_int_equal(harm(&place, "ml", 0, 3), 0);
	assert_int_equal(place.last.capped.n[CAP_BY_PERSON], 1);
	assert_int_equal(place.last.capped.n[CAP_BY_HARM], 1);
	/* Somebody who has changed the cap has decided. */
	assert_int_equal(store_lower_mode_cap(place.store, "ml", "off", &err), 0);
	assert_int_equal(cycle(&place), 0);
	assert_int_equal(place.last.capped.n[CAP_BY_PERSON], 2);
	assert_int_equal(place.last.capped.n[CAP_BY_HARM], 0);
	teardown(&place);
}

static void a_cap_is_told_once(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	for (int i = 0; i < 3; i++) { /* each of runs that began after the one before */
		assert_int_equal(harm(&place, "ml", 3 * i, 3), 0);
		place.now_ms += 3 * TIME_HOUR_MS;
	}
	assert_int_equal(harm(&place, "other", 0, 1), 0);
	assert_int_equal(place.told_harms, 10);
	assert_int_equal(place.told_caps, 1);
	teardown(&place);
}

static void a_lifted_cap_forgives_what_began_before(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(harm(&place, "ml", 0, 3), 0);
	lift(&place, "ml");
	place.now_ms += TIME_MINUTE_MS;
	assert_int_equal(harm(&place, "ml", 3, 3), 0); /* of before that, and told late */
	assert_string_equal(cap_of(&place, "ml"), "");
	assert_int_equal(remembered(&place), 0);
	place.now_ms += 3 * TIME_HOUR_MS;
	assert_int_equal(harm(&place, "ml", 6, 3), 0);
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
		assert_int_equal(harm(&place, "ml", 0, 3), 0);
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
	assert_true(harm(&place, "ml", 0, 3) < 0);
	assert_string_equal(cap_of(&place, "ml"), "observe");
	assert_int_equal(remembered(&place), 0);
	place.refuses_state = false;
	assert_int_equal(cycle(&place), 0);
	assert_int_equal(remembered(&place), 1);
	teardown(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quick_cycle_leaves_caps_to_the_whole_one),
		cmocka_unit_test(caps_are_counted_by_who_set_them),
		cmocka_unit_test(a_cap_is_told_once),
		cmocka_unit_test(a_lifted_cap_forgives_what_began_before),
		cmocka_unit_test(what_a_person_said_stays),
		cmocka_unit_test(a_whole_cycle_keeps_what_came_between),
		cmocka_unit_test(what_could_not_be_saved_is_kept),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
