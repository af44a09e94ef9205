/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size_fixture: a history that is built by adding runs, and what size_base() makes of it. */
#include "support/test.h"

#include "base/limits.h"
#include "policy/size.h"
#include "policy/size_math.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GI	((int64_t)GIB)
#define MI	((int64_t)MIB)
#define HOUR_MS 3600000

struct fixture {
	struct history *history;
	struct arena arena;
	struct sizing_policy sizing;
	struct profile_spec spec;
	struct recommendation rec;
	struct size_reasons reasons;
	int n;
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct policy policy;

	policy_default(&policy);
	f->history = history_new("ns", "w");
	f->arena = (struct arena)ARENA_INIT(GIB);
	f->sizing = policy.sizing;
	f->spec = (struct profile_spec){.quantile_permille = -1, .buffer_permille = -1};
	*state = f;
	return f->history ? 0 : -1;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	history_free(f->history);
	arena_release(&f->arena);
	free(f);
	return 0;
}

/** A whole run of one hour under a limit of twice its peak. */
static inline struct run run_of(struct fixture *f, int64_t peak, int64_t median)
{
	struct run run = {.attempts = 1,
			  .ranks = 1,
			  .world_size = 1,
			  .start_ms = (int64_t)(++f->n) * 2 * HOUR_MS,
			  .duration_ms = HOUR_MS,
			  .limit_bytes = 2 * peak,
			  .mode = -1,
			  .peak_bytes = peak,
			  .peak_rss_bytes = peak,
			  .median_bytes = median,
			  .p95_bytes = (median + peak) / 2,
			  .outcome = OUTCOME_COMPLETED,
			  .is_whole = true,
			  .source = "trace"};

	snprintf(run.uid, sizeof(run.uid), "run-%d", f->n);
	snprintf(run.variant, sizeof(run.variant), "0123456789");
	return run;
}

static inline void add(struct fixture *f, struct run run)
{
	assert_int_equal(history_add_run(f->history, &run), 0);
}

static inline void add_whole(struct fixture *f, int64_t peak, int64_t median)
{
	add(f, run_of(f, peak, median));
}

static inline void add_killed(struct fixture *f, int64_t limit, enum outcome outcome)
{
	struct run run = run_of(f, limit, limit / 2);

	run.is_whole = false;
	run.outcome = outcome;
	run.limit_bytes = limit;
	run.killed_limits[run.n_killed_limits++] = limit;
	add(f, run);
}

static inline void size(struct fixture *f)
{
	assert_int_equal(size_base(f->history, NULL, &f->sizing, &f->spec, &f->arena, &f->rec, &f->reasons, NULL), 0);
}

static inline bool has_reason(const struct fixture *f, const char *part)
{
	for (size_t i = 0; i < f->reasons.n; i++)
		if (strstr(f->reasons.items[i], part))
			return true;
	return false;
}
