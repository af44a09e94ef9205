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
	static const struct {
		const char *name;
		int64_t from_min;
	} rows[] = {{"in the open time", DAY_MIN + 12 * HOUR}, {"and in closed hours", DAY_MIN + 6 * HOUR}};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		struct engine_result result;
		struct place place;

		test_row(rows[k].name);
		setup(&place);
		place.reader.base.namespaces = namespaces;
		place.reader.base.n_namespaces = ARRAY_LEN(namespaces);
		place.reader.bad_namespace = "bad";
		place.reader.bad_from_min = rows[k].from_min;
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
		assert_true(result.gaps.items[0].start_ms >= AT(rows[k].from_min - 10));
		/* Only what is new is asked for: by all, by the others, by the namespace, and whether anything is
		 * answered. */
		assert_true(place.reader.n_reads <= 5);
		place.reader.bad_until_min = 0;
		assert_int_equal(cycle_at(&place, TODAY_NOON + 2 * TIME_HOUR_MS, &result), 0);
		assert_int_equal(result.gaps.n, 0);
		place_remove(&place);
	}
}

/* ---- three hours that fail, of all namespaces ---- */

#define TEAMS 16

static void put_teams(struct fake_pod pods[TEAMS], char names[TEAMS][8], const char *namespaces[TEAMS])
{
	for (int i = 0; i < TEAMS; i++) {
		snprintf(names[i], sizeof(names[i]), "ns-%02d", i);
		namespaces[i] = names[i];
		pods[i] = nightly[0];
		pods[i].uid = pods[i].namespace_name = names[i];
	}
}

static int count_whole(void *context, struct history *take_history, struct err *err)
{
	(void)err;
	for (size_t i = 0; i < take_history->runs.n; i++)
		*(int64_t *)context += take_history->runs.items[i].is_whole;
	history_free(take_history);
	return 0;
}

static int64_t whole_runs_of(struct place *place)
{
	int64_t n = 0;
	const struct store_visitor visitor = {.context = &n, .history = count_whole};
	CLEANUP(store_closep) struct store *store = NULL;

	assert_int_equal(store_open_file(place->path, false, &store, NULL), 0);
	assert_int_equal(store_visit(store, &visitor, NULL), 0);
	return n;
}

static void what_can_be_read_of_a_day_is_learned(void **state)
{
	const char *namespaces[TEAMS];
	char names[TEAMS][8];
	struct fake_pod pods[TEAMS];
	struct engine_result result;
	struct place place;
	struct gap gap;

	(void)state;
	put_teams(pods, names, namespaces);
	place_open(&place, pods, TEAMS, 10 * FAKE_DAY_MS);
	place.reader.base.namespaces = namespaces;
	place.reader.base.n_namespaces = TEAMS;
	place.reader.bad_from_min = 12 * HOUR;
	place.reader.bad_until_min = 15 * HOUR;
	place.reader.bad_status = EVIDENCE_TOO_HEAVY;
	for (int64_t i = 0; i < GAP_FAILURES; i++)
		assert_int_equal(cycle_at(&place, TODAY_NOON + i * 5 * TIME_MINUTE_MS, &result), 0);
	assert_false(result.is_partial);
	assert_int_equal(whole_runs_of(&place), TEAMS);
	assert_int_equal(result.gaps.n, 1);
	gap = result.gaps.items[0];
	assert_string_equal(gap.namespace_name, "");
	assert_true(gap.start_ms <= AT(12 * HOUR) && gap.end_ms >= AT(15 * HOUR));
	assert_true(gap.end_ms - gap.start_ms <= 6 * TIME_HOUR_MS);

	/* It is asked for again each day, and that undoes nothing. */
	for (int64_t i = 1; i < 4; i++) {
		assert_int_equal(cycle_at(&place, TODAY_NOON + i * 26 * TIME_HOUR_MS, &result), 0);
		assert_false(result.is_partial);
		assert_true(place.reader.n_reads < 32);
		assert_int_equal(result.gaps.n, 1);
		assert_true(result.gaps.items[0].start_ms == gap.start_ms && result.gaps.items[0].end_ms == gap.end_ms);
	}
	place.reader.bad_until_min = 0;
	assert_int_equal(cycle_at(&place, TODAY_NOON + 4 * 26 * TIME_HOUR_MS, &result), 0);
	assert_int_equal(result.gaps.n, 0);
	assert_int_equal(whole_runs_of(&place), TEAMS);
	place_remove(&place);
}

/* A namespace that fails all day is not taken for the others that fail for some hours of it. */
static void a_long_gap_of_one_namespace_stays_its_own(void **state)
{
	struct gap day = {.namespace_name = "bad", .end_ms = TIME_DAY_MS, .tried_ms = 1000};
	struct gaps gaps = {.n = 0};

	(void)state;
	(void)gaps_note(&gaps, &day);
	for (int i = 0; i < 12; i++) {
		struct gap gap = {.start_ms = 12 * TIME_HOUR_MS, .end_ms = 15 * TIME_HOUR_MS, .tried_ms = 1000};

		snprintf(gap.namespace_name, sizeof(gap.namespace_name), "ns-%d", i);
		(void)gaps_note(&gaps, &gap);
	}
	assert_int_equal(gaps.n, 2);
	assert_string_equal(gaps.items[0].namespace_name, "bad");
	assert_string_equal(gaps.items[1].namespace_name, "");
	assert_int_equal(gaps.items[1].start_ms, 12 * TIME_HOUR_MS);
	assert_int_equal(gaps.items[1].end_ms, 15 * TIME_HOUR_MS);
	(void)gaps_note(&gaps, &day);
	assert_int_equal(gaps.n, 2);
}

/* What cannot be read for days is waited for only once. */
static void what_fails_again_within_a_day_is_passed_at_once(void **state)
{
	static const struct {
		const char *name, *namespace_name;
		int64_t start_hour;
		bool is_passed;
	} rows[] = {
		{"some hours later", "bad", 12, true},
		{"of another namespace", "other", 12, false},
		{"days later", "bad", 72, false},
		{"before it", "bad", -12, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct gap gap = {.namespace_name = "bad", .end_ms = TIME_HOUR_MS};
		struct gaps gaps = {.n = 0};

		test_row(rows[i].name);
		for (gap.tried_ms = 1; gap.tried_ms <= GAP_FAILURES; gap.tried_ms++)
			assert_int_equal(gap_is_passed(gaps_note(&gaps, &gap)), gap.tried_ms == GAP_FAILURES);
		gap.start_ms = rows[i].start_hour * TIME_HOUR_MS;
		gap.end_ms = gap.start_ms + TIME_HOUR_MS;
		snprintf(gap.namespace_name, sizeof(gap.namespace_name), "%s", rows[i].namespace_name);
		assert_int_equal(gap_is_passed(gaps_note(&gaps, &gap)), rows[i].is_passed);
		assert_int_equal(gaps.n, 2);
	}
}

/* ---- windows in which reading ends early ---- */

static void a_window_that_ends_reading_is_read_in_shorter_ones(void **state)
{
	static const struct {
		const char *name;
		int status;
		int64_t above_ms;
		int n_cycles; /* until all is read */
		int n_reads;  /* in the last of them */
	} rows[] = {
		{"the deadline", EVIDENCE_STOPPED, 12 * TIME_HOUR_MS, 4, 3},
		{"a query that ends Prometheus", EVIDENCE_UNREACHABLE, 6 * TIME_HOUR_MS, 5, 5},
		{"a damaged answer", -EPROTO, 6 * TIME_HOUR_MS, 5, 5},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct engine_result result;
		struct place place;
		int n = 0;

		test_row(rows[i].name);
		setup(&place);
		place.reader.heavy_above_ms = rows[i].above_ms;
		place.reader.heavy_status = rows[i].status;
		do
			(void)!cycle_at(&place, AT(DAY_MIN + 5 * HOUR + ++n), &result);
		while (n < 12 && (result.is_partial || !result.has_read));
		assert_int_equal(n, rows[i].n_cycles);
		assert_int_equal(place.reader.n_reads, rows[i].n_reads);
		assert_int_equal(cron_of(&place).whole_runs, 3);
		/* A day later it is tried with windows of twice the length. */
		place.reader.heavy_above_ms = 0;
		assert_int_equal(cycle_at(&place, AT(2 * DAY_MIN + 6 * HOUR), &result), 0);
		assert_int_equal(place.reader.n_reads, rows[i].above_ms > 6 * TIME_HOUR_MS ? 2 : 3);
		place_remove(&place);
	}
}

/* The closed hours before it are answered with a warning, and are read again in each cycle. */
static void open_time_that_ends_reading_is_read_in_shorter_windows(void **state)
{
	static const int rows[] = {EVIDENCE_STOPPED, EVIDENCE_UNREACHABLE, -EPROTO};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct engine_result result;
		struct place place;
		int n = 0;

		setup(&place);
		assert_int_equal(cycle_at(&place, AT(DAY_MIN + HOUR), &result), 0);
		place.reader.is_partial = true;
		place.reader.heavy_above_ms = 6 * TIME_HOUR_MS;
		place.reader.heavy_status = rows[i];
		do
			(void)!cycle_at(&place, AT(DAY_MIN + 12 * HOUR + 10) + ++n * TIME_SECOND_MS, &result);
		while (n < 12 && !result.has_read);
		assert_int_equal(n, 4);
		assert_int_equal(place.reader.n_reads, 5);
		assert_int_equal(place.reader.read_ms[1], AT(DAY_MIN + 3 * HOUR));
		assert_int_equal(cron_of(&place).runs, 4);
		assert_int_equal(result.gaps.n, 0);
		place_remove(&place);
	}
}

static int cycle_of_bad_hours(struct place *place, int fail_from_read, int fail_status, struct engine_result *result)
{
	setup(place);
	place->reader.bad_from_min = 2 * HOUR;
	place->reader.bad_until_min = 3 * HOUR;
	place->reader.bad_status = EVIDENCE_TOO_HEAVY;
	place->reader.fail_from_read = fail_from_read;
	place->reader.fail_status = fail_status;
	return cycle_at(place, TODAY_NOON, result);
}

/* After a part failed, Prometheus is asked for the last ten minutes. If the deadline passes then, it is not down. */
static void a_deadline_is_not_taken_for_an_outage(void **state)
{
	static const struct {
		int status, cycle;
	} rows[] = {{EVIDENCE_STOPPED, 0}, {EVIDENCE_UNREACHABLE, EVIDENCE_UNREACHABLE}};
	struct engine_result result;
	struct place place;
	int check = 0;

	(void)state;
	assert_int_equal(cycle_of_bad_hours(&place, 0, 0, &result), 0);
	while (check < place.reader.n_reads && place.reader.read_ms[check++] != TODAY_NOON - 10 * TIME_MINUTE_MS)
		;
	assert_true(check < place.reader.n_reads);
	place_remove(&place);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(cycle_of_bad_hours(&place, check, rows[i].status, &result), rows[i].cycle);
		assert_int_equal(result.reading, rows[i].status);
		place_remove(&place);
	}
}

/* Nothing is answered in time, however short the window: it is passed like any other gap. */
static void the_shortest_window_is_passed_in_the_end(void **state)
{
	struct engine_result result;
	struct place place;
	int n = 0;

	(void)state;
	setup(&place);
	place.reader.bad_from_min = 0;
	place.reader.bad_until_min = 30;
	place.reader.bad_status = EVIDENCE_STOPPED;
	do
		(void)!cycle_at(&place, TODAY_NOON + ++n * TIME_MINUTE_MS, &result);
	while (n < 20 && (result.is_partial || !result.has_read));
	assert_int_equal(n, 9);
	assert_int_equal(gaps_passed(&result.gaps), 1);
	assert_int_equal(result.gaps.items[0].start_ms, AT(0));
	assert_int_equal(result.gaps.items[0].end_ms, AT(3 * HOUR));
	assert_int_equal(cron_of(&place).whole_runs, 4);
	place_remove(&place);
}

/* ---- the present day ---- */

static void closed_hours_of_the_present_day_are_read_once(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, TODAY_NOON, &result), 0);
	assert_int_equal(place.reader.n_reads, 3);
	assert_int_equal(result.days_done, 2);
	assert_int_equal(result.days_total, 2);
	assert_int_equal(cron_of(&place).whole_runs, 4);
	assert_int_equal(cycle_at(&place, TODAY_NOON + 5 * TIME_MINUTE_MS, &result), 0);
	assert_int_equal(place.reader.n_reads, 1);
	assert_int_equal(place.reader.read_ms[0], AT(DAY_MIN + 12 * HOUR));
	/* The rest of the day closes at once. */
	assert_int_equal(cycle_at(&place, AT(2 * DAY_MIN + HOUR), &result), 0);
	assert_int_equal(place.reader.n_reads, 2);
	assert_int_equal(place.reader.read_ms[0], AT(DAY_MIN + 12 * HOUR));
	assert_int_equal(place.reader.read_ms[1], AT(2 * DAY_MIN));
	place_remove(&place);
}

/* What was answered with a warning is used, and read again. */
static void hours_with_a_warning_do_not_close(void **state)
{
	struct engine_result result;
	struct place place;

	(void)state;
	setup(&place);
	assert_int_equal(cycle_at(&place, AT(DAY_MIN + HOUR), &result), 0);
	place.reader.is_partial = true;
	assert_int_equal(cycle_at(&place, TODAY_NOON, &result), 0);
	assert_true(result.is_partial);
	assert_int_equal(result.days_done, result.days_total);
	assert_int_equal(cron_of(&place).runs, 4);
	assert_int_equal(cron_of(&place).whole_runs, 2);
	place.reader.is_partial = false;
	assert_int_equal(cycle_at(&place, TODAY_NOON + 5 * TIME_MINUTE_MS, &result), 0);
	assert_int_equal(place.reader.read_ms[0], AT(DAY_MIN));
	assert_int_equal(cron_of(&place).runs, 4);
	assert_int_equal(cron_of(&place).whole_runs, 4);
	place_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_namespace_holds_up_no_other),
		cmocka_unit_test(what_can_be_read_of_a_day_is_learned),
		cmocka_unit_test(a_long_gap_of_one_namespace_stays_its_own),
		cmocka_unit_test(what_fails_again_within_a_day_is_passed_at_once),
		cmocka_unit_test(a_window_that_ends_reading_is_read_in_shorter_ones),
		cmocka_unit_test(open_time_that_ends_reading_is_read_in_shorter_windows),
		cmocka_unit_test(a_deadline_is_not_taken_for_an_outage),
		cmocka_unit_test(the_shortest_window_is_passed_in_the_end),
		cmocka_unit_test(closed_hours_of_the_present_day_are_read_once),
		cmocka_unit_test(hours_with_a_warning_do_not_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
