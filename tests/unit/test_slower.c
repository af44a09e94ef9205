/* SPDX-License-Identifier: Apache-2.0 */
/* Harm that only other runs of the same work tell: longer, or with less active accelerators, than the runs before. */
#include "learn_fixture.h"

#include <math.h>

enum { MEASURES = SLOWER_RUNS };

/* The last one of `n` + 1 runs had its limit lowered, and page cache filled it. The durations of the others go from 58
 * to 60 s, and their activities from the least one to 2 permille more. */
static void make_runs(struct found_run *runs, int n, int32_t least_permille)
{
	for (int k = 0; k <= n; k++) {
		struct run *run = &runs[k].run;

		make_run(&runs[k], "ml", "train", k, 0);
		run->limit_bytes = run->own_limit_bytes = 128 * MI;
		run->duration_ms = (58 + k % 3) * 1000;
		run->activity_permille = least_permille + (least_permille > 0) * (k % 3);
	}
	runs[n].run.limit_bytes = 96 * MI;
	runs[n].run.peak_bytes = 92 * MI;
	runs[n].run.is_cache_bound = true;
}

static void slower_is_beyond_the_range_of_earlier_runs(void **state)
{
	static const struct {
		int measures;
		int64_t duration_ms, limit_mib;
		const char *variant;
		int32_t own_activity, activity; /* the least of the earlier runs; -1: not measured */
		const char *words;		/* NULL: no harm */
	} rows[] = {
		/* the slowest took 60 s, 25 % more are 75 s */
		{MEASURES, 76000, 96, "0123456789", -1, -1, "slower: took 1m16s, at most 1m in 10 runs before it; "},
		{MEASURES, 75000, 96, "0123456789", -1, -1, NULL},	/* no more than that */
		{MEASURES - 1, 110000, 96, "0123456789", -1, -1, NULL}, /* few runs say little */
		{MEASURES, 110000, 128, "0123456789", -1, -1, NULL},	/* at its own size */
		{MEASURES, 110000, 160, "0123456789", -1, -1, NULL},	/* raised */
		{MEASURES, 110000, 96, "abcdefabcd", -1, -1, NULL},	/* of other work */
		/* 479 and a quarter of it are less than 600 */
		{MEASURES, 60000, 96, "0123456789", 600, 479,
		 "slower: accelerators 47.9 % active, at least 60.0 % in 10 runs before it; "},
		{MEASURES, 60000, 96, "0123456789", 600, 480, NULL}, /* no less than that */
		{MEASURES, 60000, 96, "0123456789", 600, 0, "accelerators 0.0 % active"},
		{MEASURES, 60000, 96, "0123456789", 0, 0, NULL},    /* its work needs none */
		{MEASURES, 60000, 96, "0123456789", 600, -1, NULL}, /* not measured */
		{MEASURES, 60000, 96, "0123456789", -1, 100, NULL},
		{MEASURES - 1, 60000, 96, "0123456789", 600, 100, NULL},
		{MEASURES, 60000, 128, "0123456789", 600, 100, NULL},
		{MEASURES, 60000, 96, "abcdefabcd", 600, 100, NULL},
		/* both: what is worse is told */
		{MEASURES, 90000, 96, "0123456789", 600, 470, "took 1m30s"},
		{MEASURES, 78000, 96, "0123456789", 600, 100, "accelerators 10.0 % active"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct found_run runs[MEASURES + 1];
		struct learn learn;
		struct place place;
		int n = rows[i].measures;

		setup(&place);
		make_runs(runs, n, rows[i].own_activity);
		runs[n].run.limit_bytes = rows[i].limit_mib * MI;
		runs[n].run.peak_bytes = (rows[i].limit_mib - 4) * MI;
		runs[n].run.duration_ms = rows[i].duration_ms;
		runs[n].run.activity_permille = rows[i].activity;
		snprintf(runs[n].run.variant, sizeof(runs[n].run.variant), "%s", rows[i].variant);
		learn_from(&place, runs, (size_t)n + 1, &learn);
		if (harms_of(&learn) != (rows[i].words != NULL))
			fail_msg("row %zu", i);
		if (rows[i].words) {
			assert_int_equal(learn.notices.items[0].harm, HARM_SLOWER);
			assert_non_null(strstr(learn.notices.items[0].text, rows[i].words));
		}
		learn_release(&learn);
		teardown(&place);
	}
}

static void keep(struct found_run *runs)
{
	(void)runs;
}

static void own_size(struct found_run *runs)
{
	runs[MEASURES].run.own_limit_bytes = runs[MEASURES].run.limit_bytes;
	runs[MEASURES].run.own_request_bytes = 2 * runs[MEASURES].run.request_bytes;
}

static void no_own_limit(struct found_run *runs)
{
	runs[MEASURES].run.own_limit_bytes = 0;
}

static void no_cache(struct found_run *runs)
{
	runs[MEASURES].run.is_cache_bound = false;
}

static void room_left(struct found_run *runs)
{
	runs[MEASURES].run.peak_bytes = 86 * MI;
}

static void wide_range(struct found_run *runs)
{
	runs[0].run.duration_ms = 10 * 1000;
}

static void one_as_slow(struct found_run *runs)
{
	runs[0].run.duration_ms = 100 * 1000;
}

static void one_as_slow_but_harmed(struct found_run *runs)
{
	one_as_slow(runs);
	runs[0].run.harm = 1U << HARM_PENDING;
}

static void fewer_accelerators(struct found_run *runs)
{
	runs[MEASURES].run.accelerators_milli = 1000;
}

static void began_later(struct found_run *runs)
{
	runs[0].run.start_ms = runs[MEASURES].run.start_ms + 1;
}

static void slower_needs_a_reason_and_earlier_runs(void **state)
{
	static const struct {
		const char *name;
		void (*edit)(struct found_run *runs);
		int harms;
	} rows[] = {
		{"as they are", keep, 1},
		{"only the request is lowered", own_size, 0},
		{"the limit was added", no_own_limit, 0},
		{"no page cache at the limit", no_cache, 0},
		{"page cache below the limit", room_left, 0},
		{"the others differ by more", wide_range, 0},
		{"another was as slow", one_as_slow, 0},
		{"another accelerator count", fewer_accelerators, 0},
		{"one of the ten began later", began_later, 0},
		{"a harmed run is no measure", one_as_slow_but_harmed, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct found_run runs[MEASURES + 1];
		struct history *history = history_new("ml", "train-0123456789");
		struct slower slower;

		assert_non_null(history);
		make_runs(runs, MEASURES, -1);
		runs[MEASURES].run.duration_ms = 100 * 1000;
		rows[i].edit(runs);
		for (int k = 0; k <= MEASURES; k++)
			assert_int_equal(history_add_run(history, &runs[k].run), 0);
		slower = slower_compare(history, &runs[MEASURES].run);
		if (slower_by(&slower, 250) != (enum slower_by)rows[i].harms)
			fail_msg("%s", rows[i].name);
		history_free(history);
	}
}

/* Prometheus tells the activity of a run when its pods are gone: whose size it had is known from before. What was seen
 * of a run while it ran is not what it did altogether. */
static void activity_is_told_late(void **state)
{
	struct found_run runs[MEASURES + 1], *found = &runs[MEASURES];
	struct run *last = &found->run;
	struct learn learn;
	struct place place;

	(void)state;
	setup(&place);
	make_runs(runs, MEASURES, 600);
	found->is_watched = true;
	last->chosen_by = CHOSEN_BY_MEMTAMER;
	last->activity_permille = 100;
	last->is_whole = false; /* ended, and its last minutes are not known */
	learn_from(&place, runs, MEASURES + 1, &learn);
	assert_int_equal(harms_of(&learn), 0);
	learn_release(&learn);
	found->is_watched = false;
	found->is_seen = true;
	last->is_whole = true;
	last->own_limit_bytes = 0;
	last->chosen_by = CHOSEN_BY_UNKNOWN;
	last->samples++;
	last->activity_permille = 300;
	for (int again = 0; again < 2; again++) {
		learn_from(&place, found, 1, &learn);
		assert_int_equal(harms_of(&learn), !again);
		learn_release(&learn);
	}
	teardown(&place);
}

/* ---- durations that do not depend on memory, and some that do ---- */

enum { RUNS = 1000, OWN_RUNS = 12, SEEDS = 20 };

struct random {
	uint64_t state;
};

/* 0 to 1, splitmix64 */
static double chance(struct random *self)
{
	uint64_t z = self->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return (double)(z >> 11) / (double)(1ULL << 53);
}

static double normal(struct random *self)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += chance(self);
	return sum;
}

/* Sets the duration of a run, in hours; everything else that differs is set in `run`. */
typedef double scenario_fn(struct random *random, int index, struct run *run);

static double growing_data(struct random *random, int index, struct run *run)
{
	(void)run;
	return pow(1.05, index % 200) * (0.97 + 0.06 * chance(random));
}

static double bimodal(struct random *random, int index, struct run *run)
{
	(void)index, (void)run;
	return (chance(random) < 0.3 ? 3 : 1) * (0.95 + 0.1 * chance(random));
}

static double noisy(struct random *random, int index, struct run *run)
{
	(void)index, (void)run;
	return exp(0.294 * normal(random)); /* coefficient of variation 30 % */
}

/* The same number of cards of an older model from run 20 on; runs do not tell the model. */
static double older_cards(struct random *random, int index, struct run *run)
{
	(void)run;
	return (index < 20 ? 1 : 2.5) * (0.95 + 0.1 * chance(random));
}

static double fewer_cards(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = chance(random) < 0.03;
	run->accelerators_milli = index < 20 ? 8000 : 1000;
	return (index < 20 ? 1 : 8) * (0.95 + 0.1 * chance(random));
}

static double other_world_size(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = chance(random) < 0.03;
	run->world_size = index < 20 ? 8 : 1;
	return (index < 20 ? 1 : 8) * (0.95 + 0.1 * chance(random));
}

static double new_images(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = chance(random) < 0.03;
	snprintf(run->variant, sizeof(run->variant), "%010d", index / 50);
	return 1 + index / 50;
}

static double raised(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = true;
	run->own_limit_bytes = run->limit_bytes / 2;
	return noisy(random, index, run) * (1 + index % 7);
}

static double filled(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = true;
	run->own_limit_bytes = run->own_request_bytes = 0;
	return noisy(random, index, run) * (1 + index % 7);
}

/* Only the request is lowered. */
static double lowered_request(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = true;
	run->own_limit_bytes = run->limit_bytes;
	return noisy(random, index, run) * (1 + index % 7);
}

/* Much page cache, and room for more. */
static double roomy_cache(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = true;
	run->peak_bytes = run->limit_bytes / 2;
	return noisy(random, index, run) * (1 + index % 7);
}

/* Page cache reaches the limit now and then, and durations differ without it. */
static double noisy_cache(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = chance(random) < 0.03;
	return noisy(random, index, run);
}

static double growing_cache(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = true;
	return growing_data(random, index, run);
}

/* Readers fill the lowered limit, and read their data from disk again and again. */
static double real_pressure(struct random *random, int index, struct run *run)
{
	run->is_cache_bound = index >= OWN_RUNS;
	return (run->is_cache_bound ? 2 : 1) * (0.9 + 0.2 * chance(random));
}

/* Run `index` at a lowered size, after OWN_RUNS at its own size, at 97 % of its limit or somewhere below it. */
static struct run make_sized(struct random *random, scenario_fn *scenario, int index)
{
	struct run run = {.start_ms = index * TIME_DAY_MS * 30,
			  .attempts = 1,
			  .ranks = 1,
			  .world_size = 1,
			  .mode = -1,
			  .outcome = OUTCOME_COMPLETED,
			  .is_whole = true,
			  .samples = 60,
			  .source = "query",
			  .own_limit_bytes = 128 * MI,
			  .own_request_bytes = 96 * MI,
			  .limit_bytes = 96 * MI,
			  .request_bytes = 64 * MI};
	double hours;

	snprintf(run.uid, sizeof(run.uid), "%d", index);
	if (index < OWN_RUNS) {
		run.limit_bytes = run.own_limit_bytes;
		run.request_bytes = run.own_request_bytes;
	}
	run.peak_bytes = run.limit_bytes / 100 * (chance(random) < 0.3 ? 97 : 60);
	hours = scenario(random, index, &run);
	run.duration_ms = (int64_t)(hours * TIME_HOUR_MS);
	run.activity_permille = (int32_t)MIN(500 / hours, 1000); /* the same work, longer */
	if (run.is_cache_bound && run.peak_bytes != run.limit_bytes / 2)
		run.peak_bytes = run.limit_bytes / 100 * 97;
	return run;
}

/* The number of verdicts, and the first run with one. */
static int count_slower(scenario_fn *scenario, uint64_t seed, int *ret_first)
{
	struct history *history = history_new("ml", "train-0123456789");
	struct random random = {seed};
	int n = 0;

	assert_non_null(history);
	*ret_first = -1;
	for (int i = 0; i < RUNS; i++) {
		struct run run = make_sized(&random, scenario, i);
		struct slower slower = slower_compare(history, &run);

		if (slower_by(&slower, 250) != SLOWER_BY_NOTHING) {
			run.harm = 1U << HARM_SLOWER;
			*ret_first = n++ ? *ret_first : i;
		}
		assert_int_equal(history_add_run(history, &run), 0);
	}
	history_free(history);
	return n;
}

static void what_memory_cannot_slow_is_never_slower(void **state)
{
#define S(scenario)                                                                                                    \
	{                                                                                                              \
#scenario, scenario                                                                                    \
	}
	static const struct {
		const char *name;
		scenario_fn *scenario;
	} rows[] = {S(growing_data),	 S(bimodal),	 S(noisy),	  S(older_cards), S(fewer_cards),
		    S(other_world_size), S(new_images),	 S(raised),	  S(filled),	  S(roomy_cache),
		    S(lowered_request),	 S(noisy_cache), S(growing_cache)};
	int first, wrong = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int n = 0;

		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			n += count_slower(rows[i].scenario, seed, &first);
		if (n)
			print_error("%s: %d false verdicts in %d runs\n", rows[i].name, n, SEEDS * RUNS);
		wrong += n;
	}
	assert_int_equal(wrong, 0);
}

static void pressure_is_found(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		int first;

		assert_true(count_slower(real_pressure, seed, &first) > 0);
		assert_in_range(first, OWN_RUNS, OWN_RUNS + 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slower_is_beyond_the_range_of_earlier_runs),
		cmocka_unit_test(slower_needs_a_reason_and_earlier_runs),
		cmocka_unit_test(activity_is_told_late),
		cmocka_unit_test(what_memory_cannot_slow_is_never_slower),
		cmocka_unit_test(pressure_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
