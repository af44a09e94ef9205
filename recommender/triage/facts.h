/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* facts: what the logs of one call say, in bounded memory: of each signal and rank the first line and the last, how far
 * each rank came, and what the kernel said before a kill. One thread. Cost of a line: linear in the line plus the
 * number of facts. */
#include "base/err.h"
#include "base/vec.h"
#include "triage/kernel.h"
#include "triage/position.h"
#include "triage/scan.h"
#include "triage/signals.h"
#include "triage/smi.h"
#include "triage/progress.h"

enum input { INPUT_LOG, INPUT_DMESG, INPUT_SMI };

struct fact {
	enum signal_id signal;
	struct reading reading;
	size_t source;	 /* of facts.sources */
	uint64_t number; /* of the line, 1-based */
	uint64_t order;	 /* in the order of reading, over all sources */
	int rank;
	int64_t step;	     /* of its rank when it was read; STEP_NONE: no step so far */
	uint64_t n_progress; /* of its rank when it was read */
	uint64_t n_lines;    /* lines like this one, of this rank */
	size_t position;     /* of facts.positions */
	char text[LIMIT_TRIAGE_EVIDENCE_BYTES];
};

struct source {
	const char *name; /* borrowed */
	enum input input;
	int rank; /* by its name */
	uint64_t n_lines, n_bytes;
	bool is_damaged;
};

struct facts {
	struct scanner scanner;
	VEC(struct source) sources;
	VEC(struct fact) items;
	VEC(struct position) positions;
	size_t position;	  /* the last one used */
	struct progress progress; /* of the source that is being read */
	struct kernel_state kernel;
	struct smi_state smi;
	size_t open_oom; /* the fact that the next lines may complete; SIZE_MAX: none */
	uint64_t open_until;
	uint64_t order;
	int status; /* sticky: -ENOMEM */
	struct line_buffer *buffer;
};

/** @return 0 or -ENOMEM; either way the caller calls facts_release. */
int facts_init(struct facts *self) ATTR_NODISCARD;
void facts_release(struct facts *self);
/** Reads one file; "-" is standard input. `name` is borrowed until facts_release. @return 0; -errno as lines_read. */
int facts_read(struct facts *self, const char *name, enum input input, struct err *err) ATTR_NODISCARD;
/** The same for bytes in memory. @return 0 or -ENOMEM. */
int facts_read_bytes(struct facts *self, const char *name, enum input input, const char *bytes,
		     size_t n) ATTR_NODISCARD;

/** The first fact of a signal by order; NULL: none. */
const struct fact *facts_first(const struct facts *self, enum signal_id signal);
/** The last one. */
const struct fact *facts_last(const struct facts *self, enum signal_id signal);
static inline const struct position *fact_position(const struct facts *self, const struct fact *fact)
{
	return &self->positions.items[fact->position];
}
