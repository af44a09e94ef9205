/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* facts_internal: what the files of facts share: facts.c has positions and sources, facts_keep.c the list of facts,
 * facts_read.c reads lines, facts_shapes.c those that repeat; facts_see.c takes what they say, facts_kernel.c what the
 * kernel says over many of them. */
#include "triage/facts.h"

/** Begins a source. @return 0 or -ENOMEM. */
int facts_open_source(struct facts *self, const char *name, enum input input) ATTR_NODISCARD;
/** The source that was opened last: its index, which facts and positions keep, and the source itself. */
static inline size_t facts_current_index(const struct facts *self)
{
	return self->sources.n - 1;
}
static inline struct source *facts_current_source(const struct facts *self)
{
	return &self->sources.items[facts_current_index(self)];
}
/** Takes the numbers that a line of the current source shows. */
void facts_see_numbers(struct facts *self, const char *lower, uint64_t number);
/** The index of a rank's position in the current source, which is made where it is new. Ranks beyond the limit share
 *  the last one. */
size_t facts_find_position(struct facts *self, int rank);
/** Takes a line of the current source about progress or memory, see position_see. */
void facts_see_progress(struct facts *self, const struct line *line, enum signal_id signal,
			const struct reading *reading);
/** Adds what a line of the current source says. @return the index of the fact; SIZE_MAX: no room. */
size_t facts_add_line(struct facts *self, const struct line *line, enum signal_id signal,
		      const struct reading *reading);
/** Takes what a signal in a line of the current source says. */
void facts_see(struct facts *self, const struct line *line, enum signal_id signal, struct reading *reading);
/** Takes all that a line says. @param found  its words. */
void facts_see_signals(struct facts *self, struct line *line, const struct scan_set *found);
/** Keeps the fullest card that nvidia-smi or DCGM has shown; `number` is that of the line. */
void facts_see_card(struct facts *self, uint64_t number);
/** Takes a line of the kernel's report of a kill. */
void facts_see_kernel(struct facts *self, const struct line *line, enum signal_id signal, struct reading *reading);
/** A report has ended before the line of the kill: what it has told is all there is. */
void facts_close_report(struct facts *self);
/** What stands before the message of a line may be its time: that of the last line is read when the source ends. */
void facts_see_head(struct facts *self, const struct line *line);
void facts_close_head(struct facts *self);
/** Takes a line about a checkpoint. */
void facts_add_checkpoint(struct facts *self, const struct line *line, const struct reading *reading);
/** How far a rank, whose position is given, is now. */
struct stand facts_stand(const struct facts *self, int rank, size_t position);
/** Takes a line of a known shape, behind those of self->progress. @return false: it must be read as a whole. */
bool facts_take_shape(struct facts *self, struct shape *shape, struct str text, uint64_t number);
/** Takes the retries that wait: they come before each line that is read as a whole, and before the end of the source.
 */
void facts_read_postponed(struct facts *self);
/** Keeps the shape of a line that was read as a whole, if it says what lines of a shape may say. @param text  as
 *  written. @param found  its words. */
void facts_learn_shape(struct facts *self, struct str text, struct line *line, const struct scan_set *found);
/** Keeps a fact, or adds it to one like it. Indices of facts that `self` has are kept right. @return its index;
 *  SIZE_MAX: no room. */
size_t facts_keep(struct facts *self, struct fact *fact);
/** Puts all facts anew, after their order or self->crowd has changed. */
void facts_keep_again(struct facts *self);
/** Compares two uint64_t, for qsort. */
int facts_compare_orders(const void *a, const void *b);
/** Whether a signal says how a rank ended, other than for the end of another one. */
bool facts_is_end(enum signal_id signal);
