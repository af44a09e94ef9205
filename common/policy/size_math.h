/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* size_math: exact integer arithmetic of sizes. Results are clamped to INT64_MAX. Pure. Cost: constant, but for
 * size_weighted_quantile. */
#include <stddef.h>
#include <stdint.h>

/** bytes x permille / 1000, rounded up. Negative input gives 0. */
int64_t size_scale_permille(int64_t bytes, int64_t permille);
/** bytes x part / whole, rounded down; 0 if `whole` is not positive. */
int64_t size_share(int64_t bytes, int64_t part, int64_t whole);
/** Whole Mi, rounded down. */
int64_t size_round_down_mi(int64_t bytes);

/** A value with a weight (milliseconds). */
struct size_point {
	int64_t value, weight;
};
/** The smallest value that covers `permille` of the weight; 0 without points. Sorts the points. Cost: n log n. */
int64_t size_weighted_quantile(struct size_point *points, size_t n, int64_t permille);
