/* SPDX-License-Identifier: Apache-2.0 */
/* Harm that only other runs of the same work tell: longer, or with less active accelerators, than at its own size. */
#include "learn_fixture.h"

static void slower_is_more_than_the_slowest(void **state)
{
	static const struct {
		int measures;
		int64_t duration_ms, limit_mib;
		const char *variant;
		int32_t own_activity, activity; /* the least of its own runs; -1: not measured */
		const char *words;		/* NULL: no harm */
	} rows[] = {
		/* the slowest took 60 s, 25 % more are 75 s */
		{3, 76000, 96, "0123456789", -1, -1, "slower: took 1m16s, at most 1m in 3 runs at its own size; "},
		{3, 75000, 96, "0123456789", -1, -1, NULL},   /* no more than that */
		{2, 110000, 96, "0123456789", -1, -1, NULL},  /* two runs say little */
		{3, 110000, 128, "0123456789", -1, -1, NULL}, /* at its own size */
		{3, 110000, 96, "abcdefabcd", -1, -1, NULL},  /* of other work */
		/* 479 and a quarter of it are less than 600 */
		{3, 60000, 96, "0123456789", 600, 479,
		 "slower: accelerators 47.9% active, at least 60.0% in 3 runs at its own size; "},
		{3, 60000, 96, "0123456789", 600, 480, NULL}, /* no less than that */
		{3, 60000, 96, "0123456789", 600, 0, "accelerators 0.0% active"},
		{3, 60000, 96, "0123456789", 0, 0, NULL},    /* its work needs none */
		{3, 60000, 96, "0123456789", 600, -1, NULL}, /* not measured */
		{3, 60000, 96, "0123456789", -1, 100, NULL},
		{2, 60000, 96, "0123456789", 600, 100, NULL},
		{3, 60000, 128, "0123456789", 600, 100, NULL},
		{3, 60000, 96, "abcdefabcd", 600, 100, NULL},
		/* both: what is worse is told */
		{3, 90000, 96, "0123456789", 600, 470, "took 1m30s"},
		{3, 78000, 96, "0123456789", 600, 100, "accelerators 10.0% active"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct found_run runs[4];
		struct learn learn;
		struct place place;
		int n = rows[i].measures;

		setup(&place);
		for (int k = 0; k < n; k++) {
			make_run(&runs[k], "ml", "train", k, 0);
			runs[k].run.limit_bytes = 128 * MI;
			runs[k].run.duration_ms = (58 + k) * 1000;
			runs[k].run.activity_permille = rows[i].own_activity + (rows[i].own_activity > 0) * k;
		}
		make_run(&runs[n], "ml", "train", n, 0);
		runs[n].run.own_limit_bytes = 128 * MI;
		runs[n].run.limit_bytes = rows[i].limit_mib * MI;
		runs[n].run.duration_ms = rows[i].duration_ms;
		runs[n].run.activity_permille = rows[i].activity;
		snprintf(runs[n].run.variant, sizeof(runs[n].run.variant), "%s", rows[i].variant);
		learn_from(&place, runs, (size_t)n + 1, &learn);
		assert_int_equal(harms_of(&learn), rows[i].words != NULL);
		if (rows[i].words) {
			assert_int_equal(learn.notices.items[0].harm, HARM_SLOWER);
			assert_non_null(strstr(learn.notices.items[0].text, rows[i].words));
		}
		learn_release(&learn);
		teardown(&place);
	}
}

/* Prometheus tells the activity of a run when its pods are gone: whose size it had is known from before. What was seen
 * of a run while it ran is not what it did altogether. */
static void activity_is_told_late(void **state)
{
	struct found_run runs[4];
	struct run *last = &runs[3].run;
	struct learn learn;
	struct place place;

	(void)state;
	setup(&place);
	for (int k = 0; k < 4; k++) {
		make_run(&runs[k], "ml", "train", k, 0);
		runs[k].run.limit_bytes = runs[k].run.own_limit_bytes = 128 * MI;
		runs[k].run.activity_permille = 600;
	}
	runs[3].is_watched = true;
	last->limit_bytes = 96 * MI;
	last->chosen_by = CHOSEN_BY_MEMTAMER;
	last->activity_permille = 100;
	last->is_whole = false; /* ended, and its last minutes are not known */
	learn_from(&place, runs, 4, &learn);
	assert_int_equal(harms_of(&learn), 0);
	learn_release(&learn);
	runs[3].is_watched = false;
	runs[3].is_seen = true;
	last->is_whole = true;
	last->own_limit_bytes = 0;
	last->chosen_by = CHOSEN_BY_UNKNOWN;
	last->samples++;
	last->activity_permille = 300;
	for (int again = 0; again < 2; again++) {
		learn_from(&place, &runs[3], 1, &learn);
		assert_int_equal(harms_of(&learn), !again);
		learn_release(&learn);
	}
	teardown(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slower_is_more_than_the_slowest),
		cmocka_unit_test(activity_is_told_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
