/* SPDX-License-Identifier: Apache-2.0 */
#include "backtest/packing.h"

#include "backtest/random.h"

#include <errno.h>
#include <stdlib.h>

enum { NODES = 2000, QUANTILES = 64, SEED = 1 };

struct use {
	int64_t at[QUANTILES]; /* use at the middle of each 64th of the run's time, sorted by use */
};

struct packing {
	const struct trace *trace;
	int64_t node_bytes;
	struct use *uses; /* of each run */
};

/* The scored runs and the sum of their durations up to each of them. */
struct drawing {
	size_t *runs;
	double *until;
	size_t n;
};

struct packing *packing_new(const struct trace *trace, int64_t node_bytes)
{
	struct packing *self = calloc(1, sizeof(*self));

	if (!self)
		return NULL;
	*self = (struct packing){.trace = trace, .node_bytes = node_bytes};
	self->uses = calloc(trace->runs.n + 1, sizeof(*self->uses));
	if (!self->uses) {
		packing_free(self);
		return NULL;
	}
	for (size_t i = 0; i < trace->runs.n; i++)
		for (int k = 0; k < QUANTILES; k++)
			self->uses[i].at[k] = sketch_quantile(&trace->runs.items[i].use, (k + 0.5) / QUANTILES);
	return self;
}

void packing_free(struct packing *self)
{
	if (self)
		free(self->uses);
	free(self);
}

static size_t draw(const struct drawing *self, struct random *random)
{
	double at = random_share(random) * self->until[self->n - 1];
	size_t low = 0, high = self->n - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (self->until[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return self->runs[low];
}

static bool is_overrun(const struct packing *self, const struct drawing *drawing, const int64_t *requests,
		       struct random *random)
{
	int64_t requested = 0, used = 0;

	for (int i = 0; i < PACKING_PODS; i++) {
		size_t run = draw(drawing, random);
		size_t moment = random_below(random, QUANTILES);

		if (requested + requests[run] > self->node_bytes)
			break;
		requested += requests[run];
		used += self->uses[run].at[moment];
	}
	return used > self->node_bytes;
}

int packing_overrun_share(const struct packing *self, const int64_t *requests, double *ret)
{
	struct drawing drawing = {.runs = calloc(self->trace->runs.n, sizeof(size_t)),
				  .until = calloc(self->trace->runs.n, sizeof(double))};
	double sum = 0;
	int n_overrun = 0;
	bool has_memory = drawing.runs && drawing.until;

	for (size_t i = 0; has_memory && i < self->trace->runs.n; i++) {
		if (!requests[i] || requests[i] > self->node_bytes)
			continue;
		sum += (double)self->trace->runs.items[i].duration_ms;
		drawing.runs[drawing.n] = i;
		drawing.until[drawing.n++] = sum;
	}
	for (int i = 0; drawing.n && i < NODES; i++) {
		struct random random = {((uint64_t)SEED << 32) + (uint64_t)i};

		n_overrun += is_overrun(self, &drawing, requests, &random);
	}
	free(drawing.runs);
	free(drawing.until);
	*ret = (double)n_overrun / NODES;
	return has_memory ? 0 : -ENOMEM;
}
