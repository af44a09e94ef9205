/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* position: how far one rank of a run came, and what it said of its memory on the way. Pure. */
#include "triage/signals.h"

#include <stddef.h>

#define STEP_NONE ((int64_t)-1)

struct position {
	size_t source;
	int rank;
	int64_t step;
	int64_t epoch;	     /* the last one; 0: none */
	uint64_t n_progress; /* lines that show a further step */
	/* GPU memory in tensors, as the program reports it: whether it only grows. */
	uint64_t n_samples, n_rises;
	int64_t first_bytes, last_bytes;
	struct figures sample;
	/* Resident memory on the host, in thousandths of any unit: whether it only grows. */
	uint64_t n_rss, n_rss_rises;
	int64_t first_rss, last_rss;
	struct figures device; /* of its card: capacity, and what was free before this process used it */
};

/** Takes a line about progress or memory: SIGNAL_STEP, SIGNAL_EPOCH, SIGNAL_GPU_SAMPLE, SIGNAL_GPU_DEVICE, SIGNAL_RSS.
 */
void position_see(struct position *self, enum signal_id signal, const struct reading *reading);
/** Whether the resident memory on the host has only grown, by at least a fifth. */
static inline bool position_is_rss_growing(const struct position *self)
{
	return self->n_rss >= 3 && self->n_rss_rises + 1 >= self->n_rss &&
	       self->last_rss - self->first_rss > self->first_rss / 5;
}
