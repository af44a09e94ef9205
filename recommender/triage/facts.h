/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* facts: what the logs of one call say, in bounded memory: of each signal and rank the first line and the last, how far
 * each rank came, and what the kernel said before a kill. Where there are too many, fewer are kept of lines that only
 * describe the run, then of errors that follow a rank's end, so that a line that decides always has room. One thread.
 * Cost of a line: linear in the line, whatever is kept; each of the FACTS_CROWD_MAX times that room is made costs
 * linear in the number of facts. */
#include "base/err.h"
#include "base/vec.h"
#include "base/limits.h"
#include "triage/clock.h"
#include "triage/kernel.h"
#include "triage/node.h"
#include "triage/numbers.h"
#include "triage/position.h"
#include "triage/scan.h"
#include "triage/line_shapes.h"
#include "triage/signals.h"
#include "triage/slurm.h"
#include "triage/smi.h"
#include "triage/stamp.h"
#include "triage/progress.h"

enum input { INPUT_LOG, INPUT_DMESG, INPUT_SMI, INPUT_NODE, INPUT_STATUS };

/* Whose the next source is. Of several groups (the pods of one run) each is decided on its own, see groups.h. */
struct origin {
	size_t group;	     /* 1 for the pod that ended first, then in the order of their ends; 0: of all of them */
	int rank;	     /* RANK_NONE: by the name of the source */
	int64_t limit_bytes; /* memory limit of the container whose log it is; FIGURE_NONE: none, or not known */
};

struct fact {
	enum signal_id signal;
	struct reading reading;
	size_t source;	 /* of facts.sources */
	uint64_t number; /* of the line, 1-based */
	uint64_t order;	 /* over all sources: of reading, or of time after facts_order_by_time */
	int rank;
	int64_t step;	     /* of its rank when it was read; STEP_NONE: no step so far */
	uint64_t n_progress; /* of its rank when it was read; of a line without a rank that of the furthest one */
	size_t position;     /* of facts.positions */
	enum stamp stamp;    /* of the line itself */
	int64_t time_ms;     /* by that clock */
	size_t last;	     /* of the first fact of its key, see facts_keep.c: the index of the last one */
	char text[LIMIT_TRIAGE_EVIDENCE_BYTES];
};

struct source {
	const char *name; /* borrowed */
	enum input input;
	struct origin origin; /* with its rank */
	uint64_t n_lines, n_bytes;
	bool is_damaged, is_binary; /* as in struct lines_result */
	bool is_smi;		    /* it has what nvidia-smi or DCGM prints, whatever `input` says */
	const char *packer;
	struct clock clock; /* of the last line with a signal that has a date; CLOCK_NONE */
};

/* What nvidia-smi shows of the card with the most memory in use, and of processes. */
struct card {
	int64_t used, total; /* FIGURE_NONE */
	int most_processes;  /* on one card; -1: no list was seen */
	size_t source;	     /* of the last line of these */
	uint64_t number;
};

/* A number that a lever may lower, and the line that has it. */
struct seen_number {
	int64_t value; /* NUMBER_NONE */
	size_t source;
	uint64_t number;
};

#define FACTS_CROWD_MAX 5 /* how often room can be made */

/* A pod that was read: what the log of its node says of other pods and other times is not about it (outside.h). */
struct pod_life {
	char uid[READING_UID_BYTES];
	int64_t start_ms, end_ms; /* INT64_MAX: it may still run */
	size_t group;
};

/* How far a rank was when it wrote a line. */
struct stand {
	int64_t step;
	uint64_t n_progress; /* as in struct fact */
};

/* A retry that waits for the next one of its shape, see facts_shapes.c. */
struct postponed {
	char text[SHAPE_BYTES];
	size_t n;
	uint64_t number, turn;
	struct stand stand;
	struct shape *shape;
};
#define POSTPONED_MAX 16

struct facts {
	struct scanner scanner;
	struct origin origin; /* of the next source; the caller sets it */
	size_t n_groups;
	VEC(struct source) sources;
	VEC(struct fact) items;
	uint16_t slots[2 * LIMIT_TRIAGE_FACTS]; /* a hash table of the first facts of all keys: index + 1; 0: free */
	int crowd;				/* how often room was made */
	uint64_t n_left_out;			/* facts for which there was no room */
	VEC(struct position) positions;
	VEC(struct pod_life) lives; /* none: no pod was read */
	/* Of the source that is being read: */
	uint16_t ranks[LIMIT_TRIAGE_RANKS + 1]; /* the position of rank - 1, and of no rank at 0: index + 1; 0: none */
	size_t first_position;
	size_t stepped;				   /* the first of its positions with a step; SIZE_MAX: none */
	uint64_t most_progress;			   /* the most n_progress of its positions */
	struct progress progress;		   /* of the source that is being read */
	struct line_shapes shapes;		   /* of all sources */
	struct postponed postponed[POSTPONED_MAX]; /* of the source that is being read, in any order */
	size_t n_postponed;
	uint64_t n_turns;
	const struct stand *stand; /* of the line that is being read; NULL: that of its rank */
	char head[64];		   /* of its last line with a signal: what stands before the message */
	size_t n_pod_facts;	   /* its facts that name a pod */
	struct kernel_state kernel;
	struct smi_state smi;
	struct card card;			  /* of all sources */
	struct seen_number numbers[NUMBER_COUNT]; /* the first of each row of numbers.h, of all sources */
	struct node node;			  /* settings of the node; of all sources */
	size_t open_oom;			  /* the fact that the next lines may complete; SIZE_MAX: none */
	uint64_t open_until;
	size_t open_slurm;		   /* the first fact of a job of Slurm in the source; SIZE_MAX: none */
	char slurm_head[SLURM_HEAD_BYTES]; /* the heading of the source's table of sacct; "": none */
	char open_end[64];		   /* the end of its last line: a figure and its label may be wrapped */
	uint64_t open_line;		   /* the number of that line */
	size_t open_checkpoint;		   /* the fact of the one that was being written last; SIZE_MAX: none */
	uint64_t order;
	int status; /* sticky: -ENOMEM */
	struct line_buffer *buffer;
};

/** @return 0 or -ENOMEM; either way the caller calls facts_release. */
int facts_init(struct facts *self) ATTR_NODISCARD;
void facts_release(struct facts *self);
/** Says that a file of this name will be read: a master beside workers changes their ranks. */
void facts_expect(struct facts *self, const char *name);
/** Reads one file; "-" is standard input. `name` is borrowed until facts_release. With INPUT_NODE it may be a folder,
 * see node_folder.h. @return 0; -errno as lines_read and node_collect. */
int facts_read(struct facts *self, const char *name, enum input input, struct err *err) ATTR_NODISCARD;
/** The same for bytes in memory. @return 0 or -ENOMEM. */
int facts_read_bytes(struct facts *self, const char *name, enum input input, const char *bytes,
		     size_t n) ATTR_NODISCARD;
/** Opens a source whose statements facts_add adds, with INPUT_STATUS. @return 0 or -ENOMEM. */
int facts_open(struct facts *self, const char *name) ATTR_NODISCARD;
/** Adds a statement of the source that was opened last. The step is that of the logs of its group, so they come first.
 */
void facts_add(struct facts *self, enum signal_id signal, const struct reading *reading, const char *text);
/** The same if the signal can be read in the text. @return whether it can. */
bool facts_add_read(struct facts *self, enum signal_id signal, const char *text);
/** Takes the numbers that a statement shows. */
void facts_add_numbers(struct facts *self, const char *text);

/** After all was read: brings the facts of logs of the command line (group 0) into the order of time, as far as the
 *  lines that tell of ends have it; facts of other files keep their places. Cost: n log n in the facts. Without memory
 *  the order of reading stays. */
void facts_order_by_time(struct facts *self);

/** Adds a pod that was read. @param uid  cut where it is longer than any. */
void facts_add_life(struct facts *self, const char *uid, int64_t start_ms, int64_t end_ms);
/** The pod with this uid; NULL: none. */
const struct pod_life *facts_find_life(const struct facts *self, const char *uid);
/** The group that a fact is of: that of its source, or of the pod whose task the kernel killed; 0: of all. */
size_t facts_group_of(const struct facts *self, const struct fact *fact);
/** The number of a row of numbers.h that was seen; NUMBER_NONE. */
int64_t facts_number(const struct facts *self, const char *key);
/** The first fact of a signal by order; NULL: none. */
const struct fact *facts_first(const struct facts *self, enum signal_id signal);
/** The first one that passes a test; NULL: none. Cost: the test is made at most once for each fact of the signal. */
const struct fact *facts_first_that(const struct facts *self, enum signal_id signal,
				    bool (*test)(const struct facts *self, const struct fact *fact));
/** The last one. */
const struct fact *facts_last(const struct facts *self, enum signal_id signal);
/** The first fact with a setting; NULL: none. */
const struct fact *facts_setting(const struct facts *self, enum setting setting);
/** Lines that show a further step of the fact's rank since it was read; of a fact without a rank those of the rank with
 * the most. */
uint64_t facts_progress_since(const struct facts *facts, const struct fact *fact);
/** The position that came furthest; NULL: no step or epoch was seen. */
const struct position *facts_furthest(const struct facts *self);
static inline const struct position *fact_position(const struct facts *self, const struct fact *fact)
{
	return &self->positions.items[fact->position];
}
