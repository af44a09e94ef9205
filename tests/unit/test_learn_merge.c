/* SPDX-License-Identifier: Apache-2.0 */
/* Which end counts when a run is found again by the watch of pods. */
#include "support/test.h"

#include "base/timefmt.h"
#include "engine/learn_merge.h"

/* The known run lasted an hour and was seen with its use. */
static const struct {
	const char *label;
	enum outcome known, found;
	int64_t found_ms, found_peak_bytes;
	enum outcome want;
} rows[] = {
	{"the pods are deleted", OUTCOME_SUSPECTED_OOM, OUTCOME_COMPLETED, TIME_HOUR_MS, 0, OUTCOME_SUSPECTED_OOM},
	{"the pods are deleted", OUTCOME_SUSPECTED_OOM, OUTCOME_FAILED, TIME_HOUR_MS, 0, OUTCOME_SUSPECTED_OOM},
	{"another attempt ended", OUTCOME_SUSPECTED_OOM, OUTCOME_COMPLETED, 2 * TIME_HOUR_MS, 0, OUTCOME_COMPLETED},
	{"with its use", OUTCOME_SUSPECTED_OOM, OUTCOME_COMPLETED, TIME_HOUR_MS, MIB, OUTCOME_COMPLETED},
	{"a kill is no suspicion", OUTCOME_SUSPECTED_OOM, OUTCOME_OOM_KILLED, TIME_HOUR_MS, 0, OUTCOME_OOM_KILLED},
	{"a failure is not kept", OUTCOME_FAILED, OUTCOME_COMPLETED, TIME_HOUR_MS, 0, OUTCOME_COMPLETED},
};

static void which_end_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct run known = {.start_ms = TIME_DAY_MS,
					  .duration_ms = TIME_HOUR_MS,
					  .attempts = 1,
					  .peak_bytes = MIB,
					  .samples = 60,
					  .source = "query+pods",
					  .outcome = rows[i].known};
		struct found_run found = {.run = known, .is_watched = true};

		found.run.outcome = rows[i].found;
		found.run.duration_ms = rows[i].found_ms;
		found.run.peak_bytes = rows[i].found_peak_bytes;
		found.run.samples = rows[i].found_peak_bytes ? 60 : 0;
		found.run.source = "pods";
		if (learn_merge(&known, &found).outcome != rows[i].want)
			fail_msg("%s: row %zu", rows[i].label, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(which_end_counts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
