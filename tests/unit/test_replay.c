/* SPDX-License-Identifier: Apache-2.0 */
/* What memtamer would have done about past runs. */
#include "report_fixture.h"

#include "report/replay.h"

#define FULL(hours, size)                                                                                              \
	{                                                                                                              \
		.hours_ago = (hours), .request = (size), .limit = (size), .peak = 1024                                 \
	}
#define BARE(hours)                                                                                                    \
	{                                                                                                              \
		.hours_ago = (hours), .peak = 1024                                                                     \
	}

struct replay_row {
	const char *name;
	struct run_row runs[10];
	const char *mode_cap;	    /* NULL: none */
	const char *namespace_name; /* NULL: ml */
	bool limits_unknown, requests_unknown;
	int from_hours; /* 0: all */
	struct replay want;
};

static const struct replay_row rows[] = {
	{"nothing before it, nothing decided", {FULL(100, 2048)}, .want = {.runs = 1, .undecided = {1}}},
	{"three whole runs are enough to fill",
	 {BARE(100), BARE(90), BARE(80), BARE(70), BARE(60)},
	 .want = {.runs = 5, .fill = 2, .undecided = {3}, .smallest = 3}},
	{"five are needed to lower",
	 {FULL(100, 10240), FULL(90, 10240), FULL(80, 10240), FULL(70, 10240), FULL(60, 10240), FULL(50, 10240)},
	 .want = {.runs = 6, .lower = 1, .unchanged = 2, .undecided = {3}}},
	{"a limit under the peak is raised, and the kill avoided",
	 {FULL(100, 2048),
	  FULL(90, 2048),
	  FULL(80, 2048),
	  {.hours_ago = 70, .request = 256, .limit = 512, .peak = 512, .outcome = OUTCOME_OOM_KILLED, .killed = 512}},
	 .want = {.runs = 4, .raise = 1, .undecided = {3}, .kills = 1, .avoided = 1}},
	{"a retry that came through proves it",
	 {FULL(100, 2048),
	  FULL(90, 2048),
	  FULL(80, 2048),
	  {.hours_ago = 70, .request = 512, .limit = 2048, .peak = 1024, .killed = 512}},
	 .want = {.runs = 4, .unchanged = 1, .undecided = {3}, .kills = 1, .avoided = 1, .avoided_proven = 1}},
	{"a kill above our limit is not avoided",
	 {FULL(100, 2048),
	  FULL(90, 2048),
	  FULL(80, 2048),
	  {.hours_ago = 70,
	   .request = 2048,
	   .limit = 8192,
	   .peak = 8192,
	   .outcome = OUTCOME_OOM_KILLED,
	   .killed = 8192}},
	 .want = {.runs = 4, .unchanged = 1, .undecided = {3}, .kills = 1}},
	{"a limit that the user raised after the kill is not ours",
	 {FULL(100, 2048),
	  FULL(90, 2048),
	  FULL(80, 2048),
	  {.hours_ago = 70, .request = 512, .limit = 8192, .peak = 4096, .killed = 2048}},
	 .want = {.runs = 4, .unchanged = 1, .undecided = {3}, .kills = 1}},
	{"nor is a limit avoided that we lowered to",
	 {FULL(100, 2048),
	  FULL(90, 2048),
	  FULL(80, 2048),
	  {.hours_ago = 70,
	   .request = 512,
	   .limit = 600,
	   .peak = 600,
	   .outcome = OUTCOME_OOM_KILLED,
	   .killed = 600,
	   .chosen_by = CHOSEN_BY_MEMTAMER,
	   .own_request = 512,
	   .own_limit = 8192}},
	 .want = {.runs = 4, .unchanged = 1, .undecided = {3}, .kills = 1}},
	{"no limit avoids what had none",
	 {{.hours_ago = 100, .peak = 1024, .outcome = OUTCOME_OOM_KILLED, .killed = -1}},
	 .want = {.runs = 1, .undecided = {1}, .smallest = 1, .kills = 1, .kills_without_limit = 1}},
	{"runs submitted at once know nothing of each other",
	 {FULL(100, 2048), FULL(100, 2048), FULL(100, 2048), FULL(100, 2048), FULL(100, 2048)},
	 .want = {.runs = 5, .undecided = {5}}},
	{"a person's undo holds",
	 {BARE(100), BARE(90), BARE(80), BARE(70)},
	 .mode_cap = "observe",
	 .want = {.runs = 4, .undecided = {[REPLAY_CAPPED] = 4}}},
	{"a cap at off too", {BARE(100)}, .mode_cap = "off", .want = {.runs = 1, .undecided = {[REPLAY_CAPPED] = 1}}},
	{"namespaces that are left alone",
	 {BARE(100)},
	 .namespace_name = "kube-system",
	 .want = {.runs = 1, .undecided = {[REPLAY_EXCLUDED] = 1}}},
	{"what we set is not what the user asked for",
	 {FULL(100, 2048),
	  FULL(90, 2048),
	  FULL(80, 2048),
	  {.hours_ago = 70, .request = 512, .limit = 1228, .peak = 1024, .chosen_by = CHOSEN_BY_MEMTAMER},
	  {.hours_ago = 60,
	   .request = 512,
	   .limit = 1228,
	   .peak = 1024,
	   .chosen_by = CHOSEN_BY_MEMTAMER,
	   .own_request = 512,
	   .own_limit = 600}},
	 .want = {.runs = 5, .fill = 1, .raise = 1, .undecided = {3}}},
	{"limits that nobody saw are not missing limits",
	 {BARE(100), BARE(90), BARE(80), BARE(70)},
	 .limits_unknown = true,
	 .want = {.runs = 4, .undecided = {3, 1}, .smallest = 3}},
	{"nor are requests",
	 {{.hours_ago = 100, .limit = 1500, .peak = 1024},
	  {.hours_ago = 90, .limit = 1500, .peak = 1024},
	  {.hours_ago = 80, .limit = 1500, .peak = 1024},
	  {.hours_ago = 70, .limit = 1500, .peak = 1024}},
	 .requests_unknown = true,
	 .want = {.runs = 4, .unchanged = 1, .undecided = {3}}},
	{"lowering below what a run then needed is said",
	 {FULL(100, 10240),
	  FULL(90, 10240),
	  FULL(80, 10240),
	  FULL(70, 10240),
	  FULL(60, 10240),
	  {.hours_ago = 50, .request = 10240, .limit = 10240, .peak = 9900}},
	 .want = {.runs = 6, .lower = 1, .unchanged = 2, .undecided = {3}, .too_small = 1}},
	{"runs before the window are evidence, and not counted",
	 {BARE(100), BARE(90), BARE(80), BARE(70)},
	 .from_hours = 75,
	 .want = {.runs = 1, .fill = 1}},
	{"a run that still runs teaches nothing yet",
	 {BARE(100), BARE(90), {.hours_ago = 80, .peak = 1024, .outcome = OUTCOME_RUNNING}, BARE(70)},
	 .want = {.runs = 4, .undecided = {4}, .smallest = 4}},
};

static size_t count_runs(const struct run_row *runs)
{
	size_t n = 0;

	while (n < 10 && runs[n].hours_ago)
		n++;
	return n;
}

static void replay_of(const struct replay_row *row, struct replay *ret)
{
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct profile_spec spec = profile_spec_none;
	struct replay_world *world = NULL;
	struct replay_scope scope = {.knowledge = &knowledge,
				     .from_ms = row->from_hours ? NOW_MS - row->from_hours * TIME_HOUR_MS : 0,
				     .now_ms = NOW_MS,
				     .knows_limits = !row->limits_unknown,
				     .knows_requests = !row->requests_unknown};
	struct known *known;

	if (row->mode_cap)
		snprintf(spec.mode_cap, sizeof(spec.mode_cap), "%s", row->mode_cap);
	known = know(&knowledge, row->namespace_name ? row->namespace_name : "ml", "train", "main", &spec, row->runs,
		     count_runs(row->runs));
	scope.config = knowledge.config;
	assert_int_equal(replay_open(&scope, &world, NULL), 0);
	assert_int_equal(replay_history(world, known, ret, NULL), 0);
	replay_free(world);
	knowledge_release(&knowledge);
}

static void runs_are_decided_by_what_was_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct replay got = {.runs = 0};

		replay_of(&rows[i], &got);
		if (memcmp(&got, &rows[i].want, sizeof(got)) != 0)
			fail_msg(
				"%s: runs %lld fill %lld raise %lld lower %lld unchanged %lld undecided %lld %lld %lld "
				"%lld smallest %lld kills %lld without %lld avoided %lld proven %lld small %lld",
				rows[i].name, (long long)got.runs, (long long)got.fill, (long long)got.raise,
				(long long)got.lower, (long long)got.unchanged, (long long)got.undecided[0],
				(long long)got.undecided[1], (long long)got.undecided[2], (long long)got.undecided[3],
				(long long)got.smallest, (long long)got.kills, (long long)got.kills_without_limit,
				(long long)got.avoided, (long long)got.avoided_proven, (long long)got.too_small);
	}
}

static void sums_are_sums(void **state)
{
	int64_t once[sizeof(struct replay) / sizeof(int64_t)] = {0};
	struct replay all = {.runs = 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const int64_t *want = (const int64_t *)&rows[i].want; /* all members are counts */

		replay_of(&rows[i], &all); /* adds */
		for (size_t k = 0; k < ARRAY_LEN(once); k++)
			once[k] += want[k];
	}
	assert_memory_equal(&all, once, sizeof(all));
}

/* The cap of a namespace, and a history without a profile. */
static void caps_of_namespaces(void **state)
{
	static const struct run_row runs[] = {BARE(100), BARE(90), BARE(80), BARE(70)};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct replay_scope scope = {
		.knowledge = &knowledge, .now_ms = NOW_MS, .knows_limits = true, .knows_requests = true};

	(void)state;
	know_cap(&knowledge, "ml", "observe");
	know(&knowledge, "ml", "train", "main", NULL, runs, ARRAY_LEN(runs));
	know(&knowledge, "other", "train", "main", NULL, runs, ARRAY_LEN(runs));
	profile_free(knowledge.items.items[1].profile);
	knowledge.items.items[1].profile = NULL;
	scope.config = knowledge.config;
	for (size_t i = 0; i < 2; i++) {
		struct replay_world *world = NULL;
		struct replay got = {.runs = 0};

		assert_int_equal(replay_open(&scope, &world, NULL), 0);
		assert_int_equal(replay_history(world, &knowledge.items.items[i], &got, NULL), 0);
		assert_int_equal(got.undecided[REPLAY_CAPPED], i == 0 ? 4 : 0);
		assert_int_equal(got.fill, i == 0 ? 0 : 1);
		replay_free(world);
	}
	knowledge_release(&knowledge);
}

/* Of a list that younger runs fell out of, as where long ones are still listed, all of it is evidence. */
static void older_than_what_fell_out(void **state)
{
	static const struct run_row runs[] = {BARE(100), BARE(90), BARE(80), BARE(70)};
	struct knowledge knowledge = KNOWLEDGE_INIT;
	struct known *known = know(&knowledge, "ml", "train", "main", NULL, runs, ARRAY_LEN(runs));
	const struct replay_scope scope = {.config = knowledge.config,
					   .knowledge = &knowledge,
					   .now_ms = NOW_MS,
					   .knows_limits = true,
					   .knows_requests = true};
	struct replay_world *world = NULL;
	struct replay got = {.runs = 0};

	(void)state;
	known->history->dropped_until_ms = NOW_MS - 75 * TIME_HOUR_MS;
	assert_int_equal(replay_open(&scope, &world, NULL), 0);
	assert_int_equal(replay_history(world, known, &got, NULL), 0);
	assert_int_equal(got.runs, 4);
	assert_int_equal(got.fill, 1);
	replay_free(world);
	knowledge_release(&knowledge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_decided_by_what_was_known),
		cmocka_unit_test(sums_are_sums),
		cmocka_unit_test(caps_of_namespaces),
		cmocka_unit_test(older_than_what_fell_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
