/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while status, history and explain compute what they say: -ENOMEM or the same words, nothing leaked.
 */
#include "support/alloc_fail.h"
#include "report_fixture.h"

#include "report/changes.h"
#include "report/coverage.h"
#include "report/cycle_status.h"
#include "report/replay.h"

#include <errno.h>

static int compute_coverage(void *context, struct strbuf *ret)
{
	struct coverage coverage;
	int r = coverage_compute(context, 0, NOW_MS, &coverage);

	return r ? r : strbuf_addf(ret, "%lld %.2f", (long long)coverage.total_runs, coverage.total_pod_hours);
}

static int replay_all(void *context, struct strbuf *ret)
{
	const struct knowledge *knowledge = context;
	const struct replay_scope scope = {.config = knowledge->config,
					   .knowledge = knowledge,
					   .now_ms = NOW_MS,
					   .knows_limits = true,
					   .knows_requests = true};
	struct replay_world *world = NULL;
	struct replay got = {.runs = 0};
	int r = replay_open(&scope, &world, NULL);

	for (size_t i = 0; i < knowledge->items.n && !r; i++)
		r = replay_history(world, &knowledge->items.items[i], &got, NULL);
	replay_free(world);
	return r ? r
		 : strbuf_addf(ret, "%lld %lld %lld", (long long)got.runs, (long long)got.fill, (long long)got.lower);
}

static int list_changes(void *context, struct strbuf *ret)
{
	const struct knowledge *knowledge = context;
	struct changes changes = {.items = VEC_INIT};
	int r = changes_find(knowledge->items.items, knowledge->items.n, &changes);

	for (size_t i = 0; i < changes.items.n && !r; i++)
		r = strbuf_adds(ret, changes.items.items[i].decision->owner);
	vec_release(&changes.items);
	return r;
}

/* Not read back: json-c 0.16 leaks what it cannot put into an array. */
static int write_record(void *context, struct strbuf *ret)
{
	static const struct evidence_finding findings[] = {{"a", true, NULL, true}, {"b", false, "something", false}};
	const struct cycle_status status = {
		.time_ms = NOW_MS, .result = "done", .why = "", .findings = findings, .n_findings = 2};

	(void)context;
	return cycle_status_encode(&status, ret);
}

static void memory_for_what_is_said(void **state)
{
	static const struct run_row runs[] = {{.hours_ago = 90, .peak = 1024},
					      {.hours_ago = 80, .peak = 1024},
					      {.hours_ago = 70, .peak = 1024},
					      {.hours_ago = 60, .peak = 1024},
					      {.hours_ago = 50, .peak = 1024, .request = 8192, .limit = 8192}};
	struct knowledge knowledge = KNOWLEDGE_INIT;

	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct history_decision decision = {.time_ms = NOW_MS - i, .owner = "Job/train"};
		struct known *known = know(&knowledge, i ? "ml" : "other", "train", i == 2 ? "helper" : "main", NULL,
					   runs, ARRAY_LEN(runs));

		assert_int_equal(vec_push(&known->history->decisions, decision), 0);
	}
	assert_true(alloc_fail_each("coverage", compute_coverage, &knowledge) > 1);
	assert_true(alloc_fail_each("replay", replay_all, &knowledge) > 100);
	assert_true(alloc_fail_each("changes", list_changes, &knowledge) > 0);
	assert_true(alloc_fail_each("record", write_record, NULL) > 0);
	knowledge_release(&knowledge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(memory_for_what_is_said)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
