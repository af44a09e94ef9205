/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile keeps of the end of a failed run, and what later runs make of it. */
#include "support/test.h"

#include "base/attr.h"
#include "base/str.h"
#include "model/diagnosis.h"
#include "model/run.h"

#include <stdio.h>
#include <string.h>

#define CUDA	  ALLOCATOR_VARIABLE_CUDA
#define FAILED_MS ((int64_t)1793606400000)
#define HOUR_MS	  ((int64_t)60 * 60 * 1000)

static struct diagnosis make(const char *kind, const char *variable, const char *helped)
{
	struct diagnosis ret = {.time_ms = FAILED_MS,
				.run = "train-7",
				.cause = "growth",
				.confidence = "high",
				.evidence = "a line",
				.epoch = DIAGNOSIS_NONE,
				.step = 40,
				.n_steps = DIAGNOSIS_NONE,
				.limit_bytes = 1 << 30};

	snprintf(ret.kind, sizeof(ret.kind), "%s", kind);
	snprintf(ret.variable, sizeof(ret.variable), "%s", variable);
	snprintf(ret.helped, sizeof(ret.helped), "%s", helped);
	return ret;
}

static void a_newer_failure_replaces_the_older_one(void **state)
{
	static const struct {
		const char *name;
		const char *before, *before_variable, *before_helped; /* before NULL: none */
		const char *kind, *variable;
		bool has_setting;
		const char *want_variable, *want_helped;
	} rows[] = {
		{"the first failure", NULL, "", "", "container-limit", "", false, "", ""},
		{"the first fragmentation", NULL, "", "", "fragmentation", CUDA, false, CUDA, ""},
		{"fragmentation of another framework", NULL, "", "", "fragmentation", "", false, "", ""},
		{"a user's own setting did not help", NULL, "", "", "fragmentation", CUDA, true, CUDA, "no"},
		{"fragmentation again, with the setting", "fragmentation", CUDA, "", "fragmentation", CUDA, true, CUDA,
		 "no"},
		{"it helped, and then a run ended by fragmentation again", "fragmentation", CUDA, "yes",
		 "fragmentation", CUDA, true, CUDA, "no"},
		{"a pod that missed the setting says nothing of it", "fragmentation", CUDA, "yes", "fragmentation",
		 CUDA, false, CUDA, "yes"},
		{"it stays off", "fragmentation", CUDA, "no", "fragmentation", CUDA, false, CUDA, "no"},
		{"another end keeps the setting", "fragmentation", CUDA, "yes", "container-limit", "", true, CUDA,
		 "yes"},
		{"any end with the setting before it has helped", "fragmentation", CUDA, "", "unknown", "", true, CUDA,
		 "no"},
		{"another end keeps it off", "fragmentation", CUDA, "no", "unknown", "", false, CUDA, "no"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct diagnosis before = make(rows[i].before ? rows[i].before : "", rows[i].before_variable,
					       rows[i].before_helped);
		struct diagnosis now = make(rows[i].kind, rows[i].variable, "");

		test_row(rows[i].name);
		diagnosis_follow(&now, rows[i].before ? &before : NULL, rows[i].has_setting);
		assert_string_equal(now.kind, rows[i].kind);
		assert_string_equal(now.variable, rows[i].want_variable);
		assert_string_equal(now.helped, rows[i].want_helped);
		assert_int_equal(diagnosis_wants_setting(&now),
				 *rows[i].want_variable && !streq(rows[i].want_helped, "no"));
	}
}

/* A run that completed without the setting: it is not needed. */
static bool is_over(const struct diagnosis_success *success)
{
	return !success->has_setting && success->start_ms > FAILED_MS;
}

static void a_later_run_that_completes_ends_it(void **state)
{
	static const struct {
		const char *name;
		const char *kind, *variable, *helped;
		struct diagnosis_success success;
		const char *want_kind; /* NULL: nothing is left */
		const char *want_helped, *want_run;
	} rows[] = {
		{"a later run",
		 "container-limit",
		 "",
		 "",
		 {"train-8", FAILED_MS + 1, FAILED_MS + HOUR_MS, false},
		 "container-limit",
		 "",
		 "train-7"},
		{"a later run, after an end that was not about memory",
		 "not-oom",
		 "",
		 "",
		 {"train-8", FAILED_MS + 1, FAILED_MS + HOUR_MS, false},
		 NULL,
		 "",
		 ""},
		{"a later run, after an end of which nothing is known",
		 "unknown",
		 "",
		 "",
		 {"train-8", FAILED_MS + 1, FAILED_MS + HOUR_MS, false},
		 NULL,
		 "",
		 ""},
		{"the failed run itself, by a retry",
		 "container-limit",
		 "",
		 "",
		 {"train-7", FAILED_MS - HOUR_MS, FAILED_MS + HOUR_MS, false},
		 NULL,
		 "",
		 ""},
		{"a run beside it, started before",
		 "container-limit",
		 "",
		 "",
		 {"train-6", FAILED_MS - HOUR_MS, FAILED_MS + HOUR_MS, false},
		 "container-limit",
		 "",
		 "train-7"},
		{"a run that completed before",
		 "container-limit",
		 "",
		 "",
		 {"train-6", FAILED_MS - 2 * HOUR_MS, FAILED_MS - HOUR_MS, false},
		 "container-limit",
		 "",
		 "train-7"},
		{"with the setting",
		 "fragmentation",
		 CUDA,
		 "",
		 {"train-8", FAILED_MS + 1, FAILED_MS + HOUR_MS, true},
		 "fragmentation",
		 "yes",
		 "train-8"},
		{"with the setting, after another end",
		 "container-limit",
		 CUDA,
		 "yes",
		 {"train-8", FAILED_MS + 1, FAILED_MS + HOUR_MS, true},
		 "",
		 "yes",
		 "train-8"},
		{"without the setting",
		 "fragmentation",
		 CUDA,
		 "",
		 {"train-8", FAILED_MS + 1, FAILED_MS + HOUR_MS, false},
		 "fragmentation",
		 "",
		 "train-7"},
		{"without the setting, which had helped",
		 "fragmentation",
		 CUDA,
		 "yes",
		 {"train-8", FAILED_MS + 1, FAILED_MS + HOUR_MS, false},
		 NULL,
		 "",
		 ""},
		{"the way back after it did not help",
		 "fragmentation",
		 CUDA,
		 "no",
		 {"train-8", FAILED_MS + 1, FAILED_MS + HOUR_MS, false},
		 "fragmentation",
		 "",
		 "train-7"},
		{"the end of the run that it helped, known better",
		 "fragmentation",
		 CUDA,
		 "yes",
		 {"train-7", FAILED_MS - HOUR_MS, FAILED_MS + 1000, false},
		 "fragmentation",
		 "yes",
		 "train-7"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct diagnosis before = make(rows[i].kind, rows[i].variable, rows[i].helped), left;
		bool is_left = diagnosis_after(&before, &rows[i].success, &left);

		test_row(rows[i].name);
		assert_int_equal(is_left, rows[i].want_kind != NULL);
		if (!is_left)
			continue;
		assert_string_equal(left.kind, rows[i].want_kind);
		assert_string_equal(left.helped, rows[i].want_helped);
		assert_string_equal(left.run, rows[i].want_run);
		assert_string_equal(left.variable, is_over(&rows[i].success) ? "" : rows[i].variable);
		assert_int_equal(left.step, *left.kind ? 40 : DIAGNOSIS_NONE);
		assert_int_equal(left.limit_bytes, *left.kind ? 1 << 30 : 0);
		/* The same run, found again, changes nothing. */
		assert_true(diagnosis_after(&left, &rows[i].success, &before));
		assert_memory_equal(&before, &left, sizeof(left));
	}
}

static void only_the_failed_run_has_the_kind(void **state)
{
	const struct diagnosis failed = make("fragmentation", CUDA, ""), helped = make("fragmentation", CUDA, "yes");
	const struct run run = {.name = "train-7", .start_ms = FAILED_MS - HOUR_MS};
	const struct run other = {.name = "train-8", .start_ms = FAILED_MS - HOUR_MS};
	const struct run later = {.name = "train-7", .start_ms = FAILED_MS + HOUR_MS};

	(void)state;
	assert_string_equal(diagnosis_kind_of(&failed, &run), "fragmentation");
	assert_null(diagnosis_kind_of(&failed, &other));
	assert_null(diagnosis_kind_of(&failed, &later));
	assert_null(diagnosis_kind_of(&helped, &run));
	assert_null(diagnosis_kind_of(NULL, &run));
	assert_false(diagnosis_wants_setting(NULL));
}

#define RUN(hours, outcome_, ...)                                                                                      \
	{                                                                                                              \
		.name = #hours, .start_ms = FAILED_MS + (hours)*HOUR_MS, .outcome = (outcome_), __VA_ARGS__            \
	}
#define WHOLE(peak) .is_whole = true, .peak_bytes = (int64_t)(peak) << 20, .limit_bytes = (int64_t)1000 << 20

static void later_runs_say_whether_it_held(void **state)
{
	static const struct {
		const char *name, *kind, *helped;
		struct run runs[3];
		enum diagnosis_since want;
		const char *want_run; /* NULL: none */
	} rows[] = {
		{"no later run", "container-limit", "", {RUN(-1, OUTCOME_COMPLETED, WHOLE(500))}, SINCE_NOTHING, NULL},
		{"nine tenths", "container-limit", "", {RUN(1, OUTCOME_COMPLETED, WHOLE(900))}, SINCE_HELD, "1"},
		{"more than that",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, WHOLE(901))},
		 SINCE_COMPLETED,
		 "1"},
		{"the pod's limit", "pod-limit", "", {RUN(1, OUTCOME_COMPLETED, WHOLE(900))}, SINCE_HELD, "1"},
		{"without a limit",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, .is_whole = true, .peak_bytes = 1 << 20)},
		 SINCE_COMPLETED,
		 "1"},
		{"not seen as a whole",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, .peak_bytes = 1 << 20, .limit_bytes = 1 << 30)},
		 SINCE_COMPLETED,
		 "1"},
		{"not measured", "container-limit", "", {RUN(1, OUTCOME_COMPLETED, WHOLE(0))}, SINCE_COMPLETED, "1"},
		{"a GPU says nothing of its margin",
		 "true-oom",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, WHOLE(100))},
		 SINCE_COMPLETED,
		 "1"},
		{"a node neither", "node-oom", "", {RUN(1, OUTCOME_COMPLETED, WHOLE(100))}, SINCE_COMPLETED, "1"},
		{"no end for memory", "not-oom", "", {RUN(1, OUTCOME_COMPLETED, WHOLE(100))}, SINCE_NOTHING, NULL},
		{"not known", "unknown", "", {RUN(1, OUTCOME_COMPLETED, WHOLE(100))}, SINCE_NOTHING, NULL},
		{"none", "", "", {RUN(1, OUTCOME_COMPLETED, WHOLE(100))}, SINCE_NOTHING, NULL},
		{"the setting helped, which is said elsewhere",
		 "fragmentation",
		 "yes",
		 {RUN(1, OUTCOME_COMPLETED, WHOLE(100))},
		 SINCE_NOTHING,
		 NULL},
		{"the first that held",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, WHOLE(950)), RUN(2, OUTCOME_COMPLETED, WHOLE(800)),
		  RUN(3, OUTCOME_COMPLETED, WHOLE(700))},
		 SINCE_HELD,
		 "2"},
		{"only the first completed with room",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, WHOLE(800)), RUN(2, OUTCOME_COMPLETED, WHOLE(950)), RUN(3, OUTCOME_FAILED)},
		 SINCE_HELD,
		 "1"},
		{"a kill after it",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, WHOLE(800)), RUN(2, OUTCOME_OOM_KILLED)},
		 SINCE_NOTHING,
		 NULL},
		{"a kill that is suspected",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, WHOLE(800)), RUN(2, OUTCOME_SUSPECTED_OOM)},
		 SINCE_NOTHING,
		 NULL},
		{"an attempt of a run that completed was killed",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, WHOLE(800), .n_killed_limits = 1, .killed_limits = {1 << 30})},
		 SINCE_NOTHING,
		 NULL},
		{"after the last kill",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_COMPLETED, WHOLE(800)), RUN(2, OUTCOME_OOM_KILLED),
		  RUN(3, OUTCOME_COMPLETED, WHOLE(700))},
		 SINCE_HELD,
		 "3"},
		{"failed",
		 "container-limit",
		 "",
		 {RUN(1, OUTCOME_FAILED), RUN(2, OUTCOME_RUNNING)},
		 SINCE_NOTHING,
		 NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct diagnosis diagnosis = make(rows[i].kind, "", rows[i].helped);
		const struct run *run = rows[i].runs;

		test_row(rows[i].name);
		assert_int_equal(diagnosis_since(&diagnosis, rows[i].runs, ARRAY_LEN(rows[i].runs), &run),
				 rows[i].want);
		if (rows[i].want_run)
			assert_string_equal(run->name, rows[i].want_run);
		else
			assert_null(run);
	}
	assert_int_equal(diagnosis_since(NULL, NULL, 0, &(const struct run *){NULL}), SINCE_NOTHING);
}

static void a_counted_kill_tells_hidden_ones(void **state)
{
	static const struct {
		const char *name, *kind, *cause, *confidence;
		int64_t limit_mib;
		const char *want_kind, *want_confidence; /* NULL: nothing changes */
	} rows[] = {
		{"nothing was known", "unknown", "", "low", 1000, "container-limit", "low"},
		{"a log hints at it", "container-limit", "child-killed", "low", 1000, "container-limit", "medium"},
		{"a log says it", "container-limit", "child-killed", "medium", 1000, "container-limit", "high"},
		{"another limit is known", "container-limit", "growth", "high", 1000, NULL, NULL},
		{"a full card", "true-oom", "", "high", 1000, NULL, NULL},
		{"an error of the program", "not-oom", "error", "medium", 1000, NULL, NULL},
		{"without a limit", "unknown", "", "low", 0, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct run run = {
			.name = "train-7", .peak_bytes = (int64_t)990 << 20, .limit_bytes = rows[i].limit_mib << 20};
		struct diagnosis diagnosis = make(rows[i].kind, "", ""), before, once;

		test_row(rows[i].name);
		snprintf(diagnosis.cause, sizeof(diagnosis.cause), "%s", rows[i].cause);
		snprintf(diagnosis.confidence, sizeof(diagnosis.confidence), "%s", rows[i].confidence);
		before = diagnosis;
		diagnosis_add_counted(&diagnosis, &run);
		assert_int_equal(diagnosis_same(&diagnosis, &before), !rows[i].want_kind);
		once = diagnosis;
		diagnosis_add_counted(&diagnosis, &run);
		assert_true(diagnosis_same(&diagnosis, &once) || !rows[i].want_kind);
		if (!rows[i].want_kind)
			continue;
		assert_string_equal(diagnosis.kind, rows[i].want_kind);
		assert_string_equal(diagnosis.cause, "child-killed");
		assert_string_equal(diagnosis.confidence, rows[i].want_confidence);
		assert_string_equal(diagnosis.evidence,
				    "container_oom_events_total rose; used at most 990Mi of the limit of 1000Mi");
		assert_int_equal(diagnosis.peak_bytes, run.peak_bytes);
	}
}

static void evidence_is_short_and_plain(void **state)
{
	struct diagnosis diagnosis = {.kind = ""};
	char line[2 * LIMIT_DIAGNOSIS_EVIDENCE_BYTES];

	(void)state;
	diagnosis_set_evidence(&diagnosis, "a\tb\x1b[31mc\xc3\xa4");
	assert_string_equal(diagnosis.evidence, "a?b?[31mc??");
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	diagnosis_set_evidence(&diagnosis, line);
	assert_int_equal(strlen(diagnosis.evidence), LIMIT_DIAGNOSIS_EVIDENCE_BYTES);
	diagnosis_set_evidence(&diagnosis, "");
	assert_string_equal(diagnosis.evidence, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_newer_failure_replaces_the_older_one),
		cmocka_unit_test(a_later_run_that_completes_ends_it),
		cmocka_unit_test(only_the_failed_run_has_the_kind),
		cmocka_unit_test(later_runs_say_whether_it_held),
		cmocka_unit_test(a_counted_kill_tells_hidden_ones),
		cmocka_unit_test(evidence_is_short_and_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
