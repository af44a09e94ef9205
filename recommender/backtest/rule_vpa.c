/* SPDX-License-Identifier: Apache-2.0 */
/* rule_vpa: the recommender of the VerticalPodAutoscaler, with the peak of a run as one sample: a histogram with
 * buckets that grow by 5 %, the first 10Mi wide; the weight of a sample halves with each day; the end of the bucket
 * that contains the percentile, + 15 %, at least 250Mi. Its confidence multiplier, which widens the bounds while few
 * days are known, is left out. */
#include "backtest/rule.h"

#include "base/limits.h"

#include <math.h>
#include <stdlib.h>

#define GROWTH	       1.05
#define FIRST_BYTES    (10.0 * (double)MIB)
#define BUCKETS	       400 /* bucket 399 ends beyond LIMIT_TRACE_VALUE */
#define HALF_LIFE_MS   86400000.0
#define MARGIN_PERCENT 115
#define FLOOR_BYTES    (250 * (int64_t)MIB)
#define FAR_DAYS       500 /* weights are scaled down before they overflow */

struct state {
	int64_t reference_ms; /* a sample of this time has the weight 1 */
	double weights[BUCKETS];
	double total;
};

static void *create(const struct rule *rule, const struct sizing_policy *sizing)
{
	struct state *self = calloc(1, sizeof(struct state));

	(void)rule;
	(void)sizing;
	if (self)
		self->reference_ms = -1;
	return self;
}

static void move_reference(struct state *self, int64_t to_ms)
{
	double factor = exp2((double)(self->reference_ms - to_ms) / HALF_LIFE_MS);

	for (size_t i = 0; i < BUCKETS; i++)
		self->weights[i] *= factor;
	self->total *= factor;
	self->reference_ms = to_ms;
}

static size_t bucket_of(double bytes)
{
	double bucket = bytes < FIRST_BYTES ? 0 : log(bytes / FIRST_BYTES * (GROWTH - 1) + 1) / log(GROWTH);

	return MIN((size_t)bucket, (size_t)BUCKETS - 1);
}

static int learn(void *state, const struct rule_run *run)
{
	struct state *self = state;
	int64_t start_ms = run->run->start_ms;
	double weight;

	if (self->reference_ms < 0)
		self->reference_ms = start_ms;
	if ((double)(start_ms - self->reference_ms) > FAR_DAYS * HALF_LIFE_MS)
		move_reference(self, start_ms);
	weight = exp2((double)(start_ms - self->reference_ms) / HALF_LIFE_MS);
	self->weights[bucket_of((double)run->run->peak_bytes)] += weight;
	self->total += weight;
	return 0;
}

static int64_t percentile(const struct state *self, double share)
{
	double sum = 0;
	size_t i;
	int64_t bytes;

	for (i = 0; i < BUCKETS - 1; i++) {
		sum += self->weights[i];
		if (sum >= share * self->total && self->weights[i] > 0)
			break;
	}
	bytes = (int64_t)(FIRST_BYTES * (pow(GROWTH, (double)i + 1) - 1) / (GROWTH - 1));
	return MAX(bytes * MARGIN_PERCENT / 100, FLOOR_BYTES);
}

static int size_p90(void *state, const struct trace_run *run, struct rule_size *ret)
{
	(void)run;
	ret->limit_bytes = ret->request_bytes = percentile(state, 0.9);
	return 0;
}

static int size_p95(void *state, const struct trace_run *run, struct rule_size *ret)
{
	(void)run;
	*ret = (struct rule_size){percentile(state, 0.9), percentile(state, 0.95)};
	return 0;
}

const struct rule rule_vpa_p90 = {
	.name = "vpa-p90", .create = create, .destroy = free, .learn = learn, .size = size_p90};
const struct rule rule_vpa_p95 = {
	.name = "vpa-p95", .create = create, .destroy = free, .learn = learn, .size = size_p95};
