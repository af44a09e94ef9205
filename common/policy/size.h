/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size: the two named steps of sizing. Nobody else computes a size.
 *   size_base: evidence -> recommendation (runs in the recommender): quantile, buffer, OOM evidence, floor, ceiling,
 *              pin.
 *   size_fit:  recommendation -> what this pod may get (runs in decide, see size_fit.c): request <= limit, QoS, node.
 * Exact integers; every cap leaves a reason in words. Pure. docs/SIZING.md is the prose. */
#include "base/arena.h"
#include "model/history.h"
#include "model/profile.h"
#include "policy/policy.h"

/** A list of reasons, most important first; text lives in the arena. */
struct size_reasons {
	const char *items[16];
	size_t n;
};

/** After a harm (struct run) so many runs go at the workload's own values where these are kinder. */
#define SIZE_HARM_RUNS 10

/** Buffer in permille for n distinct whole runs: min + spread * sqrt(3 / n), more for n = 1, 2. */
int32_t size_buffer_permille(const struct sizing_policy *sizing, int64_t n);

/** Compute the parent recommendation, or with `variant` non-NULL that of the variant's own runs.
 *  `previous` (may be NULL) is what was recommended last: nothing but OOM evidence changes while runs are active.
 *  Sizes of a `previous` that was in use (confidence above low) stand while a run of the history is active; people's
 *  pins, floors and ceilings count at once.
 *  `spec` (may be NULL) holds pins and overrides. @return 0 or -ENOMEM. A history without runs gives zeros, unless
 *  `spec` pins a size. */
int size_base(const struct history *history, const char *variant, const struct sizing_policy *sizing,
	      const struct profile_spec *spec, const struct recommendation *previous, struct arena *arena,
	      struct recommendation *ret, struct size_reasons *ret_reasons, struct err *err) ATTR_NODISCARD;

/** Round a size up to something people can read (at most 1/64 more, whole Mi). */
int64_t size_round_up(int64_t bytes);
