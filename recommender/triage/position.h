/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* position: how far one rank of a run came, and what it said of its memory on the way. Pure. */
#include "triage/signals.h"
#include "triage/trend.h"

#include <stddef.h>

#define STEP_NONE  ((int64_t)-1)
#define EPOCH_NONE ((int64_t)-1)

/* The furthest step of a run that its log shows. */
struct furthest {
	int64_t epoch;	  /* EPOCH_NONE */
	int64_t step;	  /* the greatest one of that epoch; STEP_NONE */
	int64_t n_steps;  /* of how many, where the line says so; STEP_NONE */
	uint64_t n_falls; /* how often a step was smaller than the one before: steps may be counted in each epoch */
	uint64_t number;  /* of the line; 0: none */
};

/* A figure and the line that has it. */
struct sighted {
	int64_t value; /* FIGURE_NONE */
	uint64_t number;
};

/* The greatest of some figures. */
struct peak {
	int64_t value;	 /* FIGURE_NONE */
	uint64_t number; /* its line */
	int64_t step;	 /* of the rank at the last of the figures, which may be smaller; STEP_NONE */
};

struct position {
	size_t source;
	int rank;
	int64_t step, n_steps;	  /* the last one, and of how many (STEP_NONE) */
	uint64_t step_number;	  /* its line */
	int64_t epoch;		  /* the last one; 0: none */
	int64_t epoch_milli;	  /* how much of the epochs was done, at most; 0: not said, or nothing */
	uint64_t n_progress;	  /* lines that show a further step or epoch */
	uint64_t progress_number; /* the last of them; 0: none */
	/* GPU memory in tensors, as the program reports it: whether it only grows. */
	uint64_t n_samples, n_rises;
	int64_t first_bytes, last_bytes;
	struct figures sample;
	uint64_t sample_number; /* line of the last one */
	/* Resident memory on the host, in thousandths of any unit: whether it only grows. */
	uint64_t n_rss, n_rss_rises;
	int64_t first_rss, last_rss;
	struct figures device; /* of its card: capacity, and what was free before this process used it */
	struct furthest furthest;
	struct peak peak_reserved, peak_allocated; /* of GPU memory */
	struct peak peak_cgroup, peak_rss;	   /* of host memory, in bytes: of the cgroup, of one process */
	struct trend gap;			   /* reserved minus allocated */
	uint64_t gap_number;			   /* line of the last sample of it */
	struct sighted rate;			   /* the last throughput, in thousandths of `rate_unit` */
	enum rate_unit rate_unit;
};

void position_init(struct position *self, size_t source, int rank);

/** Takes a line about progress or memory: SIGNAL_STEP, SIGNAL_EPOCH, SIGNAL_RATE, SIGNAL_GPU_SAMPLE, SIGNAL_GPU_DEVICE,
 * SIGNAL_RSS, SIGNAL_CGROUP_PEAK. @param number  of the line in its file. */
void position_see(struct position *self, enum signal_id signal, const struct reading *reading, uint64_t number);
/** Whether the resident memory on the host has only grown, by at least a fifth. */
static inline bool position_is_rss_growing(const struct position *self)
{
	return self->n_rss >= 3 && self->n_rss_rises + 1 >= self->n_rss &&
	       self->last_rss - self->first_rss > self->first_rss / 5;
}
