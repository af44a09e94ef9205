/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size: the two steps of sizing. No other code computes a size. docs/SIZING.md explains the rules.
 *   size_base: evidence -> recommendation (in the recommender): quantile, buffer, OOM kills.
 *   size_fit:  recommendation -> what this pod may get (in decide(), see size_fit.c): floors, ceilings and pins
 *              (size_apply), request <= limit, QoS, node.
 * Exact integers; everything that limits a size is given as a reason. Pure. */
#include "base/arena.h"
#include "model/history.h"
#include "model/profile.h"
#include "policy/policy.h"

/** A list of reasons, most important first; texts are in the arena. */
struct size_reasons {
	const char *items[16];
	size_t n;
};

/** For this many runs after harm (struct run), values are not lowered and a change that did harm is not made. */
#define SIZE_HARM_RUNS 10

/** The buffer above a peak in thousandths of it, rounded up: min + spread / n + fixed. Of n runs that are alike, and
 * one more, each has the greatest peak with the same chance: the new one with 1 / (n + 1). The fixed part is for what
 * small processes vary by; it is left out where peak_bytes is 0. At most SIZE_BUFFER_PERMILLE_MAX.
 * @param n  distinct whole runs; less than 1 counts as 1. */
int32_t size_buffer_permille(const struct sizing_policy *sizing, int64_t n, int64_t peak_bytes);
#define SIZE_BUFFER_PERMILLE_MAX 1000000

/** Computes the parent recommendation, or with `variant` non-NULL the one of the variant's own runs.
 * @param spec  provides quantile, buffer and class; its pins, floor and ceiling are not used (size_apply). May be
 * NULL.
 * @return 0 or -ENOMEM. A history without runs gives zeros. Cost: at most quadratic in the listed runs,
 * LIMIT_HISTORY_RUNS of them. */
int size_base(const struct history *history, const char *variant, const struct sizing_policy *sizing,
	      const struct profile_spec *spec, struct arena *arena, struct recommendation *ret,
	      struct size_reasons *ret_reasons, struct err *err) ATTR_NODISCARD;

/** Raises the limits of a variant's recommendation to those of its workload, unless the variant had so many whole runs
 * that three near the workload's maximum would have been among them, if it had these as often as all runs have. */
void size_cover_variant(const struct history *history, const struct recommendation *parent, struct recommendation *ret);

/** The setting that decided a size. Pins come last, so that `by >= SIZE_BY_PIN_REQUEST` means pinned. */
enum size_by {
	SIZE_BY_RUNS,
	SIZE_BY_FLOOR,
	SIZE_BY_CEILING,
	SIZE_BY_SPEC_FLOOR,
	SIZE_BY_SPEC_CEILING,
	SIZE_BY_LIMIT,	     /* of a request: it equals the limit, or would have been above it */
	SIZE_BY_PIN_REQUEST, /* of a limit: it makes room for the pinned request */
	SIZE_BY_PIN_LIMIT,
	SIZE_BY_COUNT_
};
/** "sizing.floors", "spec.pinLimit" ...; "" for SIZE_BY_RUNS. */
extern const char *const size_by_names[SIZE_BY_COUNT_];

/** Applies what people decided to request_bytes and limit_bytes of a recommendation: the pins of `spec`, else its floor
 * and ceiling, else those of the configuration. Class guaranteed makes the request equal to the limit. Afterwards
 * request <= limit if both are known (not 0). An unknown size stays unknown unless it is pinned; a pinned limit
 * without a known request is the request too. Constant cost.
 * @param ret_by  what decided request and limit, indexed by enum size_field. */
void size_apply(const struct sizing_policy *sizing, const struct profile_spec *spec, struct recommendation *rec,
		enum size_by ret_by[2]);
/** The recommended limit, where people may be told to set it in place of `now_bytes` (0: none); 0: they may not. That
 * of a cache-bound workload may be less than it needs (run_need_bytes), so it may only raise one, unless somebody has
 * pinned it.
 * @param by  of size_apply. */
int64_t size_advised_limit(const struct recommendation *rec, const enum size_by by[2], int64_t now_bytes);
/** Applies only floor and ceiling to one size, without pins. `field` is an enum size_field; bytes > 0. */
int64_t size_bounded(const struct sizing_policy *sizing, const struct profile_spec *spec, int field, int64_t bytes,
		     enum size_by *ret_by);

/** Whether the reason that capped a change is the most that a value is lowered by from one run to the next. NULL: no.
 */
bool size_cap_is_step(const char *cap);
/** Rounds a size up to a readable value: at most 1/64 more, in whole Mi. */
int64_t size_round_up(int64_t bytes);
