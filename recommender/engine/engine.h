/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* engine: one cycle of the recommender: state -> read what is due -> runs -> profiles -> commit -> state.
 * Profiles are committed before the state that says "these days are done": a crash in between repeats work and changes
 * nothing, because runs have stable uids. A cycle that cannot read leaves the store as it is. One thread. */
#include "config/config.h"
#include "engine/collect.h"
#include "evidence/evidence.h"
#include "store/store.h"

struct engine {
	const struct config *config;
	struct store *store; /* opened as writer */
	struct evidence_reader *reader;
	collect_progress_fn *progress; /* may be NULL */
	void *progress_context;
	bool has_sized_all; /* since the start, with this configuration */
};

/** What one cycle did. */
struct engine_result {
	size_t n_runs, n_workloads; /* runs found; workloads known */
	size_t n_profiles_changed, n_queries, n_series;
	size_t days_done, days_total;
	int64_t n_samples, duration_ms;
	bool is_partial; /* something was not read, or answered in part: `why` */
	char why[640];
};

/** @return 0 (see is_partial); EVIDENCE_UNREACHABLE: nothing could be asked; -errno: the store or memory. */
int engine_cycle(struct engine *self, int64_t now_ms, struct engine_result *ret, struct err *err) ATTR_NODISCARD;
