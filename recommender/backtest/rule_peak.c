/* SPDX-License-Identifier: Apache-2.0 */
/* rule_peak: the rules that need only the greatest peak and the medians of the past runs, and the oracle. */
#include "backtest/rule.h"

#include "base/limits.h"

#include <string.h>

#define FLOOR_BYTES (100 * (int64_t)MIB) /* of krr */

struct state {
	int buffer_percent;
	int64_t peak_bytes;
	VEC(int64_t) medians; /* ascending */
};

static void *create(const struct rule *rule, const struct sizing_policy *sizing)
{
	struct state *self = calloc(1, sizeof(struct state));

	(void)sizing;
	if (self)
		self->buffer_percent = rule->buffer_percent;
	return self;
}

static void destroy(void *state)
{
	struct state *self = state;

	if (self)
		vec_release(&self->medians);
	free(self);
}

static int learn_peak(void *state, const struct rule_run *run)
{
	struct state *self = state;

	self->peak_bytes = MAX(self->peak_bytes, run->run->peak_bytes);
	return 0;
}

/* Keeps the medians sorted. Cost: linear in the past runs. */
static int learn_median(void *state, const struct rule_run *run)
{
	struct state *self = state;
	int64_t median = run->run->median_bytes;
	size_t at = self->medians.n;

	if (vec_reserve(&self->medians, at + 1))
		return -ENOMEM;
	while (at > 0 && self->medians.items[at - 1] > median)
		at--;
	memmove(self->medians.items + at + 1, self->medians.items + at,
		(self->medians.n - at) * sizeof(*self->medians.items));
	self->medians.items[at] = median;
	self->medians.n++;
	return learn_peak(state, run);
}

static int64_t with_buffer(const struct state *self)
{
	return self->peak_bytes * (100 + self->buffer_percent) / 100;
}

static int size_krr(void *state, const struct trace_run *run, struct rule_size *ret)
{
	const struct state *self = state;

	(void)run;
	ret->limit_bytes = MAX(with_buffer(self), FLOOR_BYTES);
	ret->request_bytes = ret->limit_bytes;
	return 0;
}

static int size_peak_20(void *state, const struct trace_run *run, struct rule_size *ret)
{
	const struct state *self = state;
	size_t n = self->medians.n;

	(void)run;
	ret->limit_bytes = MAX(with_buffer(self), 1);
	ret->request_bytes = (self->medians.items[(n - 1) / 2] + self->medians.items[n / 2]) / 2;
	ret->request_bytes = MAX(ret->request_bytes, 1);
	return 0;
}

static int size_oracle(void *state, const struct trace_run *run, struct rule_size *ret)
{
	(void)state;
	*ret = (struct rule_size){run->peak_bytes, run->peak_bytes};
	return 0;
}

const struct rule rule_krr = {.name = "krr",
			      .buffer_percent = 15,
			      .create = create,
			      .destroy = destroy,
			      .learn = learn_peak,
			      .size = size_krr};
const struct rule rule_peak_20 = {.name = "peak-20",
				  .buffer_percent = 20,
				  .create = create,
				  .destroy = destroy,
				  .learn = learn_median,
				  .size = size_peak_20};
const struct rule rule_oracle = {.name = "oracle",
				 .is_oracle = true,
				 .create = create,
				 .destroy = destroy,
				 .learn = learn_peak,
				 .size = size_oracle};
