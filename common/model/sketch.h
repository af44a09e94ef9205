/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* sketch: quantiles in log buckets with at most 1 % relative error, mergeable, weighted by time.
 * Values are bytes > 0 (0 has a bucket of its own). Weights are milliseconds. Encoded sparsely as text for objects. */
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
int sketch_add(struct sketch *self, int64_t value_bytes, int64_t weight_ms) ATTR_NODISCARD;
int sketch_merge(struct sketch *self, const struct sketch *other) ATTR_NODISCARD;
/** q in 0..1; 0 when empty. The bucket's upper bound never understates by more than the error. */
int64_t sketch_quantile(const struct sketch *self, double q);
/** Share (0..1) of weight with values above `value_bytes`. */
double sketch_share_above(const struct sketch *self, int64_t value_bytes);
/** "z12;340:5000,2:100,..." (delta-coded); decode refuses anything else with -EINVAL. */
int sketch_encode(const struct sketch *self, struct strbuf *buf);
int sketch_decode(const char *text, struct sketch *ret) ATTR_NODISCARD;
