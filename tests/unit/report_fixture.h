/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* report_fixture: what a store would hold, made of rows of runs. */
#include "support/test.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "engine/learn.h"
#include "report/knowledge.h"

#include <stdlib.h>
#include <string.h>

#define GI     ((int64_t)GIB)
#define MI     ((int64_t)MIB)
#define NOW_MS ((int64_t)1793607300000)

/** A run: it started so many hours ago and took one hour. Bytes in Mi; 0: none. */
struct run_row {
	int hours_ago;
	int request, limit, peak;
	enum outcome outcome; /* OUTCOME_UNKNOWN: completed */
	int killed;	      /* -1: without a limit */
	enum chosen_by chosen_by;
	int own_request, own_limit;
	int ranks;
};

static inline struct run run_of_row(const struct run_row *row, int n)
{
	enum outcome outcome = row->outcome == OUTCOME_UNKNOWN ? OUTCOME_COMPLETED : row->outcome;
	struct run run = {.attempts = 1,
			  .ranks = MAX(row->ranks, 1),
			  .world_size = 1,
			  .start_ms = NOW_MS - row->hours_ago * TIME_HOUR_MS,
			  .duration_ms = TIME_HOUR_MS,
			  .accelerators_milli = 1000,
			  .request_bytes = row->request * MI,
			  .limit_bytes = row->limit * MI,
			  .chosen_by = row->chosen_by,
			  .own_request_bytes = row->own_request * MI,
			  .own_limit_bytes = row->own_limit * MI,
			  .mode = row->chosen_by == CHOSEN_BY_MEMTAMER ? MODE_RAISE : -1,
			  .peak_bytes = row->peak * MI,
			  .peak_rss_bytes = row->peak * MI,
			  .median_bytes = row->peak * MI / 2,
			  .p95_bytes = row->peak * MI,
			  .outcome = outcome,
			  .is_whole = outcome == OUTCOME_COMPLETED && row->peak,
			  .source = "query"};

	if (row->killed) {
		run.killed_limits[0] = row->killed < 0 ? -1 : row->killed * MI;
		run.n_killed_limits = 1;
	}
	snprintf(run.uid, sizeof(run.uid), "run-%d", n);
	snprintf(run.name, sizeof(run.name), "train-%d", n);
	snprintf(run.variant, sizeof(run.variant), "0123456789");
	return run;
}

static inline char *text_of(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	return copy;
}

/** Add a workload with its runs and the profile that follows; `spec` may be NULL. Returns it. */
static inline struct known *know(struct knowledge *self, const char *namespace_name, const char *name,
				 const char *container, const struct profile_spec *spec, const struct run_row *rows,
				 size_t n)
{
	struct known known = {.history = history_new(namespace_name, name)};
	struct profile draft = {.namespace_name = namespace_name,
				.name = name,
				.workload = name,
				.role = "",
				.container = container,
				.spec = spec ? spec : &profile_spec_none};
	struct profile *before = profile_dup(&draft);

	if (!self->config)
		self->config = config_new_default();
	assert_non_null(self->config);
	assert_non_null(known.history);
	assert_non_null(before);
	free(known.history->workload);
	free(known.history->container);
	known.history->workload = text_of(name);
	known.history->container = text_of(container);
	for (size_t i = 0; i < n; i++) {
		struct run run = run_of_row(&rows[i], (int)i);

		assert_int_equal(history_add_run(known.history, &run), 0);
	}
	assert_int_equal(learn_profile(self->config, known.history, before, NULL, NOW_MS, NULL, &known.profile, NULL),
			 0);
	if (known.profile)
		profile_free(before);
	else
		known.profile = before;
	assert_int_equal(vec_push(&self->items, known), 0);
	return &self->items.items[self->items.n - 1];
}

/** Add a cap of the mode of a whole namespace. */
static inline void know_cap(struct knowledge *self, const char *namespace_name, const char *mode)
{
	struct profile_spec spec = profile_spec_none;
	const struct profile draft = {.namespace_name = namespace_name,
				      .name = PROFILE_OF_NAMESPACE,
				      .workload = "",
				      .role = "",
				      .container = "",
				      .spec = &spec};
	struct profile *cap;

	snprintf(spec.mode_cap, sizeof(spec.mode_cap), "%s", mode);
	cap = profile_dup(&draft);
	assert_non_null(cap);
	assert_int_equal(vec_push(&self->caps, cap), 0);
}
