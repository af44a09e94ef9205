/* SPDX-License-Identifier: Apache-2.0 */
/* New time is learned even if old time is answered only in part, or takes too long. */
#include "support/test.h"

#include "base/timefmt.h"
#include "engine/engine.h"
#include "engine_fixture.h"

#define HOUR	60
#define DAY_MIN (24 * HOUR)
#define AT(min) (FAKE_EPOCH_MS + (min)*TIME_MINUTE_MS)

/* A run at the same hour of each of four days. */
#define DAILY(i)                                                                                                       \
	{                                                                                                              \
		"n-" #i "-a", "u" #i, "Job", "n-" #i, "CronJob", "n",                                                  \
			.start_min = (i)*DAY_MIN + 2 * HOUR, .end_min = (i)*DAY_MIN + 4 * HOUR, DONE,                  \
			.usual_mib = 100, .peak_mib = 150, .rss_mib = 150, .peak_after_min = 90                        \
	}
static const struct fake_pod daily[] = {DAILY(0), DAILY(1), DAILY(2), DAILY(3)};

/* The first day is read without a fault. */
static void setup(struct place *place)
{
	struct engine_result result;

	place_open(place, daily, ARRAY_LEN(daily), 10 * FAKE_DAY_MS);
	assert_int_equal(cycle_at(place, AT(DAY_MIN + HOUR), &result), 0);
	assert_false(result.is_partial);
}

/* Thanos asks its store gateway about all but the last two hours, and the gateway is gone. */
static void a_store_of_old_time_that_fails_holds_up_no_new_time(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	for (int64_t hour = 2; hour < 4 * 24; hour++) {
		int64_t now_ms = AT(DAY_MIN + hour * HOUR + 20);

		place.reader.warned_before_ms = now_ms - 2 * TIME_HOUR_MS;
		assert_int_equal(cycle_at(&place, now_ms, &result), 0);
		assert_int_equal(result.reading, 0);
		/* The first warning was at two. */
		assert_int_equal(result.is_partial, hour < 24 + 2);
	}
	assert_int_equal(cron_of(&place).whole_runs, ARRAY_LEN(daily));
	place_remove(&place);
}

/* Two days with warnings are to be read again in each cycle, and the deadline leaves no time for all of them. It may
 * pass in one of these windows or the other. */
static void a_deadline_that_is_too_short_for_all_days_is_met(void **state)
{
	static const struct {
		const char *name;
		int64_t hours[2]; /* of history that a cycle has time for, in turn */
	} rows[] = {{"in one window", {31, 31}}, {"in two windows", {31, 41}}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct engine_result result;
		struct place place;
		int n = 0;

		test_row(rows[i].name);
		setup(&place);
		place.reader.is_partial = true;
		do {
			place.reader.left_ms = rows[i].hours[n % 2] * TIME_HOUR_MS;
			assert_int_equal(cycle_at(&place, AT(2 * DAY_MIN + 23 * HOUR) + n++, &result), 0);
		} while (n < 20 && result.reading);
		/* Three cycles, then windows of 6 and 3 hours; at last the first day is closed. */
		assert_int_equal(n, 7);
		assert_int_equal(cron_of(&place).runs, 3);
		place_remove(&place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_of_old_time_that_fails_holds_up_no_new_time),
		cmocka_unit_test(a_deadline_that_is_too_short_for_all_days_is_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
