/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* sketch: quantiles from logarithmic buckets with a relative error of at most 1 %; mergeable, weighted by time. Values
 * are bytes > 0 (0 has a bucket of its own), weights are milliseconds. Encoded sparsely as text. Cost: linear in the
 * buckets, 64 for each factor of two between the smallest and the greatest value. One thread. sketch_add and
 * sketch_merge return 0 or -ENOMEM. */
#include "base/strbuf.h"

#include <stdint.h>

struct sketch {
	int64_t zero_weight;
	int32_t first; /* index of bucket 0 of `weights` */
	int64_t *weights;
	size_t n;
	int64_t total_weight;
};

#define SKETCH_INIT                                                                                                    \
	{                                                                                                              \
		0, 0, NULL, 0, 0                                                                                       \
	}
void sketch_release(struct sketch *self);
/** Adds a value with a weight; a weight that is not positive adds nothing, a value that is not positive counts as 0.
 * @return 0 or -ENOMEM (unchanged). */
int sketch_add(struct sketch *self, int64_t value_bytes, int64_t weight_ms) ATTR_NODISCARD;
/** Adds all values of another sketch. @return 0 or -ENOMEM (unchanged). */
int sketch_merge(struct sketch *self, const struct sketch *other) ATTR_NODISCARD;
/** The quantile `q` in 0..1; 0 if empty. It is the middle of a bucket, within the error of the true value. */
int64_t sketch_quantile(const struct sketch *self, double q);
/** The share (0..1) of the weight with values above `value_bytes`, as far as buckets distinguish them. */
double sketch_share_above(const struct sketch *self, int64_t value_bytes);
/** "z12;340:5000,2:100,..." (delta-coded). @return encode: the sticky status of `buf`; decode: 0; -EINVAL: any other
 * form; -ENOMEM. */
int sketch_encode(const struct sketch *self, struct strbuf *buf);
int sketch_decode(const char *text, struct sketch *ret) ATTR_NODISCARD;
