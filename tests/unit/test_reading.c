/* SPDX-License-Identifier: Apache-2.0 */
/* Reading goes on: what a source cannot answer, or not in time, holds up nothing else, and is asked for again. */
#include "support/test.h"

#include "base/timefmt.h"
#include "engine/engine.h"
#include "engine_fixture.h"

#include <errno.h>
#include <string.h>

#define HOUR	   60
#define DAY_MIN	   (24 * HOUR)
#define AT(min)	   (FAKE_EPOCH_MS + (min)*TIME_MINUTE_MS)
#define TODAY_NOON AT(DAY_MIN + 13 * HOUR)

/* Two runs of yesterday and two of today. */
#define NIGHTLY(i, start)                                                                                              \
	{                                                                                                              \
		"n-" #i "-a", "u" #i, "Job", "n-" #i, "CronJob", "n", .start_min = (start), .end_min = (start) + 100,  \
								      DONE, .usual_mib = 100, .peak_mib = 150,         \
								      .rss_mib = 150, .peak_after_min = 90             \
	}
static const struct fake_pod nightly[] = {
	NIGHTLY(1, 4 * HOUR),
	NIGHTLY(2, 14 * HOUR),
	NIGHTLY(3, DAY_MIN + 2 * HOUR),
	NIGHTLY(4, DAY_MIN + 7 * HOUR),
	{"r-x", "u9", "Job", "r", .start_min = 20 * HOUR, .usual_mib = 50, .peak_mib = 60, .rss_mib = 60,
	 .namespace_name = "bad"},
};

static void setup(struct place *place)
{
	place_open(place, nightly, ARRAY_LEN(nightly), FAKE_DAY_MS);
}

static void one_namespace_holds_up_no_other(void **state)
{
	static const char *const namespaces[] = {"bad", "ml"};
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	place.reader.base.namespaces = namespaces;
	place.reader.base.n_namespaces = ARRAY_LEN(namespaces);
	place.reader.bad_namespace = "bad";
	place.reader.bad_from_min = DAY_MIN + 12 * HOUR;
	place.reader.bad_until_min = 3 * DAY_MIN;
	place.reader.bad_status = EVIDENCE_TOO_HEAVY;
	for (int64_t i = 0; i < GAP_FAILURES + 3; i++) {
		assert_int_equal(cycle_at(&place, TODAY_NOON + i * 5 * TIME_MINUTE_MS, &result), 0);
		assert_true(result.has_read);
		assert_int_equal(result.days_done, result.days_total);
		assert_int_equal(cron_of(&place).whole_runs, 4);
		assert_int_equal(result.is_partial, i + 1 < GAP_FAILURES);
		assert_int_equal(gaps_passed(&result.gaps), i + 1 >= GAP_FAILURES);
	}
	assert_int_equal(result.gaps.n, 1);
	assert_string_equal(result.gaps.items[0].namespace_name, "bad");
	assert_true(result.gaps.items[0].start_ms >= AT(DAY_MIN + 12 * HOUR - 10));
	/* Only what is new is asked for: by all, by the others, by the namespace, and whether anything is answered. */
	assert_true(place.reader.n_reads <= 5);
	place.reader.bad_until_min = 0;
	assert_int_equal(cycle_at(&place, TODAY_NOON + 2 * TIME_HOUR_MS, &result), 0);
	assert_int_equal(result.gaps.n, 0);
	place_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_namespace_holds_up_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
