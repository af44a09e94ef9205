/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from harm: in size_base the flags and the sentence, in decide() what is not done any more. */
#include "size_fixture.h"

#include "decide_fixture.h"
#include "model/slower.h"

static struct run harmed_run(struct fixture *f, enum harm harm, int64_t own_limit)
{
	struct run run = run_of(f, 96 * MI, 60 * MI);

	run.chosen_by = CHOSEN_BY_MEMTAMER;
	run.harm = (uint8_t)(1U << harm);
	run.limit_bytes = 96 * MI;
	run.request_bytes = 64 * MI;
	run.own_limit_bytes = own_limit;
	run.own_request_bytes = 80 * MI;
	if (harm == HARM_OOM) {
		run.is_whole = false;
		run.outcome = OUTCOME_OOM_KILLED;
		run.killed_limits[run.n_killed_limits++] = 96 * MI;
	}
	return run;
}

static void each_harm_has_its_consequence(void **state)
{
	static const struct {
		enum harm harm;
		int64_t own_limit;
		int flags;
		const char *words;
	} rows[] = {
		{HARM_OOM, 128 * MI, 0, "OOM-killed at 96Mi, its own limit is 128Mi"},
		{HARM_OOM, 0, REC_NO_LIMIT, "it had no limit of its own"},
		{HARM_EVICTED, 128 * MI, 0, "evicted above the request 64Mi, its own is 80Mi"},
		{HARM_PENDING, 128 * MI, REC_NO_RAISE, "no node had room for the request 64Mi"},
		{HARM_QUOTA, 128 * MI, REC_NO_RAISE, "a quota had no room"},
		{HARM_SLOWER, 128 * MI, 0, "slower at a lowered size"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		history_free(f->history);
		f->history = history_new("ns", "w");
		for (int k = 0; k < 6; k++)
			add_whole(f, 90 * MI, 60 * MI);
		size(f);
		assert_int_equal(f->rec.flags & (REC_HARM | REC_NO_LOWER | REC_NO_RAISE | REC_NO_LIMIT), 0);
		add(f, harmed_run(f, rows[i].harm, rows[i].own_limit));
		size(f);
		assert_int_equal(f->rec.flags & (REC_HARM | REC_NO_LOWER | REC_NO_RAISE | REC_NO_LIMIT),
				 REC_HARM | REC_NO_LOWER | rows[i].flags);
		assert_non_null(strstr(f->reasons.items[0], rows[i].words));
		assert_non_null(strstr(f->reasons.items[0], "harm: "));
	}
}

static void slower_says_by_what(void **state)
{
	static const struct {
		int64_t duration_ms;
		int32_t activity_permille;
		const char *words;
	} rows[] = {
		{HOUR_MS * 3 / 2, -1, "harm: slower: took 1h30m, at most 1h in 10 runs before it (run"},
		{HOUR_MS, 310, "harm: slower: accelerators 31.0 % active, at least 80.0 % in 10 runs before it (run"},
		/* the longest there is */
		{HOUR_MS, 799, "harm: slower: accelerators 79.9 % active, at least 80.0 % in 10 runs before it (run"},
		{(int64_t)1 << 53, -1, "harm: slower: took 104249991d8h59m"},
		{HOUR_MS, -1, "slower at a lowered size (run"}, /* it was, by runs that are forgotten */
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run run;

		history_free(f->history);
		f->history = history_new("ns", "w");
		for (int k = 0; k < SLOWER_RUNS; k++) {
			run = run_of(f, 90 * MI, 60 * MI);
			run.activity_permille = 800;
			add(f, run);
		}
		run = harmed_run(f, HARM_SLOWER, 128 * MI);
		run.is_cache_bound = true;
		run.duration_ms = rows[i].duration_ms;
		run.activity_permille = rows[i].activity_permille;
		memset(run.name, 'n', sizeof(run.name) - 1);
		add(f, run);
		size(f);
		if (!strstr(f->reasons.items[0], rows[i].words))
			fail_msg("%s", f->reasons.items[0]);
		assert_true(strlen(f->reasons.items[0]) <= LIMIT_REASON_BYTES);
	}
}

static void ten_runs_later_it_is_over(void **state)
{
	struct fixture *f = *state;

	for (int k = 0; k < 6; k++)
		add_whole(f, 90 * MI, 60 * MI);
	add(f, harmed_run(f, HARM_EVICTED, 128 * MI));
	for (int k = 0; k < SIZE_HARM_RUNS - 1; k++) {
		add_whole(f, 90 * MI, 60 * MI);
		size(f);
		assert_true(f->rec.flags & REC_HARM);
		assert_true(f->rec.flags & REC_NO_LOWER);
	}
	add_whole(f, 90 * MI, 60 * MI);
	size(f);
	assert_int_equal(f->rec.flags & (REC_HARM | REC_NO_LOWER), 0);
	assert_false(has_reason(f, "harm"));
}

/* Its retry must not be harmed again. */
static void it_counts_while_a_run_is_active(void **state)
{
	struct fixture *f = *state;
	struct run active;

	for (int k = 0; k < 6; k++)
		add_whole(f, 90 * MI, 60 * MI);
	active = harmed_run(f, HARM_OOM, 0);
	active.outcome = OUTCOME_RUNNING;
	add(f, active);
	size(f);
	assert_int_equal(f->rec.flags & (REC_HARM | REC_NO_LOWER | REC_NO_LIMIT),
			 REC_HARM | REC_NO_LOWER | REC_NO_LIMIT);
}

/* ---- decide ---- */

#define POD(resources)                                                                                                 \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"train-x\",\"namespace\":\"team-a\",\"labels\":"                    \
	"{\"memtamer.io/training\":\"true\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","      \
	"\"name\":\"train\",\"uid\":\"u\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"main\","        \
	"\"image\":\"i\",\"resources\":" resources "}]}}"

static const struct recommendation base = {.request_bytes = 4 * GI,
					   .limit_bytes = 8 * GI,
					   .median_bytes = 4 * GI,
					   .peak_bytes = 7 * GI,
					   .runs = 12,
					   .whole_runs = 12,
					   .confidence = CONFIDENCE_HIGH};

/* Sizes that are decided for the main container's memory; -1: none. */
static void decide_sizes(const char *pod, uint8_t flags, int64_t *ret_request, int64_t *ret_limit)
{
	struct recommendation rec = base;
	struct decide_fixture self;

	rec.flags = flags;
	fixture_init(&self, pod, fixture_snapshot(&rec, 0, false));
	self.policy.mode = MODE_ENFORCE;
	fixture_decide(&self);
	*ret_request = *ret_limit = -1;
	for (size_t i = 0; i < self.decision.n_sizes; i++) {
		const struct size_change *size = &self.decision.sizes[i];

		if (size->resource == K8S_MEMORY)
			*(size->field == SIZE_LIMIT ? ret_limit : ret_request) = size->to_bytes;
	}
	fixture_release(&self);
}

static void own_values_stand(void **state)
{
	static const struct {
		const char *pod;
		uint8_t flags;
		int64_t request, limit;
	} rows[] = {
		/* lowered, and not after harm */
		{POD("{\"requests\":{\"memory\":\"8Gi\"},\"limits\":{\"memory\":\"16Gi\"}}"), 0, 6 * GI, 12 * GI},
		{POD("{\"requests\":{\"memory\":\"8Gi\"},\"limits\":{\"memory\":\"16Gi\"}}"), REC_HARM | REC_NO_LOWER,
		 -1, -1},
		/* no limit where it had none */
		{POD("{\"requests\":{\"memory\":\"4Gi\"}}"), 0, -1, 8 * GI},
		{POD("{\"requests\":{\"memory\":\"4Gi\"}}"), REC_HARM | REC_NO_LIMIT, -1, -1},
		/* nor where page cache hides what it needs; a limit that it has is raised */
		{POD("{\"requests\":{\"memory\":\"4Gi\"}}"), REC_CACHE_BOUND | REC_NO_LOWER, -1, -1},
		{POD("{\"requests\":{\"memory\":\"4Gi\"},\"limits\":{\"memory\":\"5Gi\"}}"),
		 REC_CACHE_BOUND | REC_NO_LOWER, -1, 8 * GI},
		/* its own request where ours found no room; what is proven about the limit still counts */
		{POD("{\"requests\":{\"memory\":\"1Gi\"},\"limits\":{\"memory\":\"5Gi\"}}"), 0, 4 * GI, 8 * GI},
		{POD("{\"requests\":{\"memory\":\"1Gi\"},\"limits\":{\"memory\":\"5Gi\"}}"), REC_HARM | REC_NO_RAISE,
		 -1, 8 * GI},
		/* and the least that there must be beside a limit */
		{POD("{}"), REC_HARM | REC_NO_RAISE, 64 * MI, 8 * GI},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t request, limit;

		decide_sizes(rows[i].pod, rows[i].flags, &request, &limit);
		assert_int_equal(request, rows[i].request);
		assert_int_equal(limit, rows[i].limit);
	}
}

/* The request that no node had room for may have been one for disk, and a disk limit may be what ended the run. */
static void disk_is_not_added_again(void **state)
{
	static const struct {
		uint8_t flags;
		int64_t measured_bytes;
		int64_t request, limit; /* 0: not added */
	} rows[] = {{0, 0, GI, 0},
		    {0, 2 * GI, 2 * GI, 3 * GI},
		    {REC_HARM | REC_NO_LOWER, 0, GI, 0},
		    {REC_HARM | REC_NO_LOWER, 2 * GI, 2 * GI, 0},
		    {REC_HARM | REC_NO_RAISE, 0, 0, 0},
		    {REC_HARM | REC_NO_RAISE, 2 * GI, 0, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct recommendation rec = base;
		struct decide_fixture self;
		int64_t added[2] = {0, 0};

		rec.flags = rows[i].flags;
		rec.ephemeral_request_bytes = rows[i].measured_bytes;
		rec.ephemeral_limit_bytes = rows[i].measured_bytes * 3 / 2;
		fixture_init(&self, POD("{\"requests\":{\"memory\":\"4Gi\"}}"), fixture_snapshot(&rec, 0, false));
		self.policy.mode = MODE_ENFORCE;
		self.policy.sizing.no_history_ephemeral_request_bytes = GI;
		fixture_decide(&self);
		for (size_t k = 0; k < self.decision.n_sizes; k++)
			if (self.decision.sizes[k].resource == K8S_EPHEMERAL_STORAGE)
				added[self.decision.sizes[k].field == SIZE_LIMIT] = self.decision.sizes[k].to_bytes;
		assert_int_equal(added[0], rows[i].request);
		assert_int_equal(added[1], rows[i].limit);
		fixture_release(&self);
	}
}

int main(void)
{
#define T(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_harm_has_its_consequence),   T(slower_says_by_what), T(ten_runs_later_it_is_over),
		T(it_counts_while_a_run_is_active), T(own_values_stand),    T(disk_is_not_added_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
