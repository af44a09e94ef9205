/* SPDX-License-Identifier: Apache-2.0 */
/* Which ends of runs are told to their owners, and in which words. */
#include "learn_fixture.h"

#include "engine/endings.h"

#define CYCLE_MS (5 * TIME_MINUTE_MS)

/* A run of this Job that ended so long before NOW_MS, after an hour. */
static void make_ended(struct found_run *ret, const char *job, int64_t before_ms, enum outcome outcome)
{
	make_run(ret, "ml", job, 0, 0);
	ret->run.duration_ms = TIME_HOUR_MS;
	ret->run.start_ms = NOW_MS - before_ms - TIME_HOUR_MS;
	ret->run.outcome = outcome;
	ret->run.is_whole = outcome == OUTCOME_COMPLETED;
}

static void set_container(struct found_run *found, const char *container, int64_t limit_bytes)
{
	snprintf(found->container, sizeof(found->container), "%s", container);
	found->run.limit_bytes = limit_bytes;
}

/* The notices of a closed day, or of the end of a cycle, with these runs. */
static void note_part(struct place *place, struct endings *endings, const struct found_run *runs, size_t n,
		      bool is_cycle_end, struct learn *ret)
{
	learn_from(place, runs, n, ret);
	assert_int_equal(ret->notices.n, 0);
	assert_int_equal(endings_note(endings, ret, is_cycle_end), 0);
}

static void note(struct place *place, struct endings *endings, const struct found_run *runs, size_t n,
		 struct learn *ret)
{
	note_part(place, endings, runs, n, true, ret);
}

static void only_ends_since_the_last_cycle_are_told(void **state)
{
	static const struct {
		const char *name;
		int64_t until_ms, before_ms;
		enum outcome outcome;
		size_t n;
	} rows[] = {
		{"it just ended", NOW_MS - CYCLE_MS, 2 * TIME_MINUTE_MS, OUTCOME_COMPLETED, 1},
		{"its last use is not scraped yet", NOW_MS - CYCLE_MS, 0, OUTCOME_COMPLETED, 0},
		{"told by the last cycle", NOW_MS - CYCLE_MS, 7 * TIME_MINUTE_MS, OUTCOME_COMPLETED, 0},
		{"the first cycle", 0, 2 * TIME_MINUTE_MS, OUTCOME_COMPLETED, 0},
		{"the last cycle is a day ago", NOW_MS - TIME_DAY_MS, 50 * TIME_MINUTE_MS, OUTCOME_COMPLETED, 1},
		{"it ended more than an hour ago", NOW_MS - TIME_DAY_MS, 62 * TIME_MINUTE_MS, OUTCOME_COMPLETED, 0},
		{"it runs", NOW_MS - CYCLE_MS, 2 * TIME_MINUTE_MS, OUTCOME_RUNNING, 0},
		{"another attempt may follow", NOW_MS - CYCLE_MS, 2 * TIME_MINUTE_MS, OUTCOME_OOM_KILLED, 0},
		{"no other attempt follows", NOW_MS - CYCLE_MS, 32 * TIME_MINUTE_MS, OUTCOME_OOM_KILLED, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct endings endings = {.until_ms = rows[i].until_ms};
		struct found_run found;
		struct learn learn;
		struct place place;

		test_row(rows[i].name);
		setup(&place);
		make_ended(&found, "train-7", rows[i].before_ms, rows[i].outcome);
		note(&place, &endings, &found, 1, &learn);
		assert_int_equal(learn.notices.n, rows[i].n);
		assert_int_equal(endings.until_ms, NOW_MS);
		learn_release(&learn);
		teardown(&place);
	}
}

static void the_line_says_what_was_asked_and_used(void **state)
{
	static const struct {
		const char *name;
		struct run run; /* the figures only */
		int64_t next_bytes;
		const char *text;
	} rows[] = {
		{"too large",
		 {.limit_bytes = 64 * GIB,
		  .peak_bytes = 39117 * MI,
		  .duration_ms = 6 * TIME_HOUR_MS + 90000,
		  .outcome = OUTCOME_COMPLETED},
		 44 * GIB,
		 "trainer: memory asked 64Gi, used at most 39117Mi in 6h1m, completed; 155.4 GiB-hours unused; next "
		 "time "
		 "44Gi"},
		{"of eight ranks",
		 {.limit_bytes = 64 * GIB,
		  .peak_bytes = 32 * GIB,
		  .duration_ms = TIME_HOUR_MS,
		  .ranks = 8,
		  .outcome = OUTCOME_FAILED},
		 44 * GIB,
		 "trainer: memory asked 64Gi, used at most 32Gi in 1h, failed; 256.0 GiB-hours unused; next time 44Gi"},
		{"page cache is no need",
		 {.limit_bytes = 64 * GIB,
		  .peak_bytes = 64 * GIB,
		  .peak_rss_bytes = 16 * GIB,
		  .peak_active_file_bytes = 60 * GIB,
		  .is_cache_bound = true,
		  .duration_ms = 61 * TIME_SECOND_MS,
		  .outcome = OUTCOME_COMPLETED},
		 0,
		 "trainer: memory asked 64Gi, used at most 16Gi in 1m1s, completed; 0.8 GiB-hours unused"},
		{"killed",
		 {.limit_bytes = 64 * MI,
		  .peak_bytes = 63 * MI,
		  .duration_ms = TIME_MINUTE_MS,
		  .n_killed_limits = 1,
		  .killed_limits = {64 * MI},
		  .outcome = OUTCOME_OOM_KILLED},
		 128 * MI,
		 "trainer: memory asked 64Mi, used at most 63Mi in 1m, oom-killed at 64Mi; next time 128Mi"},
		{"killed once",
		 {.limit_bytes = 128 * MI,
		  .peak_bytes = 126 * MI,
		  .duration_ms = TIME_MINUTE_MS,
		  .n_killed_limits = 1,
		  .killed_limits = {64 * MI},
		  .outcome = OUTCOME_COMPLETED},
		 144 * MI,
		 "trainer: memory asked 128Mi, used at most 126Mi in 1m, completed after an OOM kill at 64Mi; next "
		 "time "
		 "144Mi"},
		{"killed, not measured",
		 {.limit_bytes = 64 * MI,
		  .duration_ms = TIME_MINUTE_MS,
		  .n_killed_limits = 1,
		  .killed_limits = {64 * MI},
		  .outcome = OUTCOME_OOM_KILLED},
		 128 * MI,
		 "trainer: memory asked 64Mi, oom-killed at 64Mi; next time 128Mi"},
		{"no limit",
		 {.request_bytes = 8 * GIB,
		  .peak_bytes = 9 * GIB,
		  .duration_ms = TIME_HOUR_MS,
		  .outcome = OUTCOME_COMPLETED},
		 10 * GIB,
		 "trainer: memory asked no limit and request 8Gi, used at most 9Gi in 1h, completed; next time 10Gi"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct notice notice;

		test_row(rows[i].name);
		notice_of_end("ml", "Job/train-7", "trainer", &rows[i].run, rows[i].next_bytes, NULL, &notice);
		assert_string_equal(notice.text, rows[i].text);
		assert_string_equal(notice.owner, "Job/train-7");
		assert_string_equal(notice.reason, "MemoryUsed");
	}
}

static void the_line_says_what_triage_found(void **state)
{
	static const struct {
		const char *name;
		struct diagnosis diagnosis;
		const char *text;
	} rows[] = {
		{"of this run",
		 {.kind = "fragmentation", .cause = "growth", .run = "train-7"},
		 "trainer: memory asked 64Mi, used at most 63Mi in 1m, failed (fragmentation: growth)"},
		{"no cause",
		 {.kind = "node-oom", .run = "train-7"},
		 "trainer: memory asked 64Mi, used at most 63Mi in 1m, failed (node-oom)"},
		{"of another run",
		 {.kind = "node-oom", .run = "train-6"},
		 "trainer: memory asked 64Mi, used at most 63Mi in 1m, failed"},
	};
	const struct run run = {.name = "train-7",
				.limit_bytes = 64 * MI,
				.peak_bytes = 63 * MI,
				.duration_ms = TIME_MINUTE_MS,
				.outcome = OUTCOME_FAILED};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct notice notice;

		test_row(rows[i].name);
		notice_of_end("ml", "Job/train-7", "trainer", &run, 0, &rows[i].diagnosis, &notice);
		assert_string_equal(notice.text, rows[i].text);
	}
}

/* Of the containers of a run one is told: the one that was killed, else the one that wasted most. */
static void one_line_for_each_owner(void **state)
{
	struct endings endings = {.until_ms = NOW_MS - CYCLE_MS};
	struct found_run found[3];
	struct learn learn;
	struct place place;

	(void)state;
	setup(&place);
	for (int i = 0; i < 3; i++)
		make_ended(&found[i], "train-7", 2 * TIME_MINUTE_MS, OUTCOME_COMPLETED);
	set_container(&found[1], "most", 1024 * MI);
	set_container(&found[2], "least", 81 * MI);
	note(&place, &endings, found, 3, &learn);
	assert_int_equal(learn.notices.n, 1);
	assert_non_null(
		strstr(learn.notices.items[0].text, "most: memory asked 1Gi, used at most 80Mi in 1h, completed"));
	assert_non_null(strstr(learn.notices.items[0].text, "; next time "));
	learn_release(&learn);

	/* A second run of the owner within the hour, and one of another owner. */
	endings.until_ms = NOW_MS - CYCLE_MS;
	make_ended(&found[0], "train-7", 3 * TIME_MINUTE_MS, OUTCOME_COMPLETED);
	make_ended(&found[1], "train-8", 3 * TIME_MINUTE_MS, OUTCOME_COMPLETED);
	run_add_killed_limit(found[1].run.killed_limits, &found[1].run.n_killed_limits, 64 * MI);
	make_ended(&found[2], "train-8", 3 * TIME_MINUTE_MS, OUTCOME_COMPLETED);
	set_container(&found[2], "most", 1024 * MI);
	note(&place, &endings, found, 3, &learn);
	assert_int_equal(learn.notices.n, 1);
	assert_string_equal(learn.notices.items[0].owner, "Job/train-8");
	assert_non_null(strstr(learn.notices.items[0].text, "main: "));
	learn_release(&learn);
	teardown(&place);
}

/* A run that ended before midnight is told of with its day; the cycle that closes the day then goes on to the others.
 */
static void ends_of_a_closed_day_are_told(void **state)
{
	struct endings endings = {.until_ms = NOW_MS - CYCLE_MS};
	struct found_run found[2];
	struct learn learn;
	struct place place;

	(void)state;
	setup(&place);
	make_ended(&found[0], "train-7", 3 * TIME_MINUTE_MS, OUTCOME_COMPLETED);
	make_ended(&found[1], "train-8", 2 * TIME_MINUTE_MS, OUTCOME_COMPLETED);
	for (int i = 0; i < 2; i++) {
		note_part(&place, &endings, &found[i], 1, i == 1, &learn);
		assert_int_equal(learn.notices.n, 1);
		assert_string_equal(learn.notices.items[0].owner, found[i].identity.run_key);
		assert_int_equal(endings.until_ms, i ? NOW_MS : NOW_MS - CYCLE_MS);
		learn_release(&learn);
	}
	teardown(&place);
}

static void a_cycle_tells_a_bounded_number(void **state)
{
	size_t n = ENDINGS_MAX + 44;
	struct endings endings = {.until_ms = NOW_MS - CYCLE_MS};
	struct found_run *found = calloc(n, sizeof(*found));
	struct learn learn;
	struct place place;

	(void)state;
	assert_non_null(found);
	setup(&place);
	for (size_t i = 0; i < n; i++) {
		char job[32];

		snprintf(job, sizeof(job), "job%c%c%c", 'a' + (int)(i / 100), 'a' + (int)(i / 10 % 10),
			 'a' + (int)(i % 10));
		make_ended(&found[i], job, 2 * TIME_MINUTE_MS, OUTCOME_COMPLETED);
	}
	note(&place, &endings, found, n, &learn);
	assert_int_equal(learn.notices.n, ENDINGS_MAX);
	learn_release(&learn);
	teardown(&place);
	free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_ends_since_the_last_cycle_are_told),
		cmocka_unit_test(the_line_says_what_was_asked_and_used),
		cmocka_unit_test(the_line_says_what_triage_found),
		cmocka_unit_test(one_line_for_each_owner),
		cmocka_unit_test(ends_of_a_closed_day_are_told),
		cmocka_unit_test(a_cycle_tells_a_bounded_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
