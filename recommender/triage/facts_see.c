/* SPDX-License-Identifier: Apache-2.0 */
/* What a line says becomes a fact, or completes one. */
#include "triage/facts_internal.h"

#include "triage/slurm.h"

#include <stdio.h>

/* Lines behind a failed allocation that may belong to it: PyTorch's message is sometimes wrapped, TensorFlow prints
 * its statistics behind a dump of all chunks. */
#define DETAIL_LINES	  12
#define DETAIL_LINES_DUMP 20000

/* Lines over which somebody may have wrapped TensorFlow's message. */
#define WRAPPED_LINES 3

static bool is_kernel_signal(enum signal_id signal)
{
	return signal >= SIGNAL_KERNEL_INVOKED && signal <= SIGNAL_KERNEL_KILL;
}

static void keep_end(struct facts *self, const struct line *line)
{
	text_before(line->lower, line->lower + line->n, self->open_end, sizeof(self->open_end));
	self->open_line = line->number;
}

/* Figures that only the end of the line before and this one have together. */
static void fill_wrapped(struct facts *self, const struct line *line, struct figures *figures)
{
	char joined[KIB];
	struct figures wrapped;

	if (line->number != self->open_line + 1)
		return;
	snprintf(joined, sizeof(joined), "%s %s", self->open_end, line->lower + line->body);
	figures_parse_gpu(joined, &wrapped);
	figures_fill(figures, &wrapped);
}

/* Completes the last failed allocation of the same rank with figures of a later line. */
static void see_detail(struct facts *self, const struct line *line, const struct reading *reading)
{
	struct fact *fact;

	if (self->open_oom == SIZE_MAX)
		return;
	fact = &self->items.items[self->open_oom];
	/* The text of another rank may have cut the message: then its rest is in the next line, without a rank. */
	if (fact->source != facts_current_index(self) || line->number > self->open_until ||
	    (fact->rank != line->rank && !(line->rank == RANK_NONE && line->number == self->open_line + 1)))
		return;
	figures_fill(&fact->reading.figures, &reading->figures);
	fill_wrapped(self, line, &fact->reading.figures);
	keep_end(self, line);
}

static void see_oom(struct facts *self, const struct line *line, const struct reading *reading)
{
	bool is_dump = reading->framework == FRAMEWORK_TENSORFLOW || reading->framework == FRAMEWORK_JAX;
	size_t added = facts_add_line(self, line, SIGNAL_GPU_OOM, reading);

	/* TensorFlow's second message says less than its first one. */
	if (is_dump && self->open_oom != SIZE_MAX && line->number <= self->open_until)
		return;
	keep_end(self, line);
	self->open_oom = added;
	self->open_until = line->number + (is_dump ? DETAIL_LINES_DUMP : DETAIL_LINES);
}

/* Rows of sacct for a job and its steps: what one of them lacks, another one has. */
static void see_slurm(struct facts *self, const struct line *line, struct reading *reading)
{
	size_t added;

	if (self->slurm_head[0])
		slurm_read_row(self->slurm_head, line->lower, &reading->figures);
	if (self->open_slurm != SIZE_MAX)
		figures_fill(&self->items.items[self->open_slurm].reading.figures, &reading->figures);
	added = facts_add_line(self, line, SIGNAL_SLURM, reading);
	if (self->open_slurm == SIZE_MAX)
		self->open_slurm = added;
}

static void see_slurm_figures(struct facts *self, const struct line *line, const struct reading *reading)
{
	if (reading->is_exact)
		snprintf(self->slurm_head, sizeof(self->slurm_head), "%s", line->lower);
	else if (self->open_slurm != SIZE_MAX)
		figures_fill(&self->items.items[self->open_slurm].reading.figures, &reading->figures);
}

/* TensorFlow's "... ran out of memory trying to allocate 2.59GiB. The caller indicates that this is not a failure",
 * wrapped: the first of the lines reads as a failure. */
static void take_back(struct facts *self, const struct line *line)
{
	struct fact *fact;

	if (self->open_oom == SIZE_MAX)
		return;
	fact = &self->items.items[self->open_oom];
	if (fact->source != facts_current_index(self) || fact->rank != line->rank ||
	    line->number - fact->number > WRAPPED_LINES ||
	    !strcasestr(fact->text, "ran out of memory trying to allocate"))
		return;
	fact->reading.is_taken_back = true;
	self->open_oom = SIZE_MAX;
}

void facts_see_card(struct facts *self, uint64_t number)
{
	const struct smi_state *smi = &self->smi;
	struct card *card = &self->card;
	bool is_fuller = smi->total > 0 && smi->used > card->used,
	     has_more = smi->most_processes > card->most_processes;

	if (!is_fuller && !has_more)
		return;
	if (is_fuller) {
		card->used = smi->used;
		card->total = smi->total;
	}
	card->most_processes = MAX(card->most_processes, smi->most_processes);
	card->source = facts_current_index(self);
	card->number = number;
}

void facts_see(struct facts *self, const struct line *line, enum signal_id signal, struct reading *reading)
{
	if (is_kernel_signal(signal)) {
		facts_see_kernel(self, line, signal, reading);
		return;
	}
	switch (signal) {
	case SIGNAL_GPU_OOM:
		see_oom(self, line, reading);
		break;
	case SIGNAL_GPU_DETAIL:
		see_detail(self, line, reading);
		break;
	case SIGNAL_SLURM:
		see_slurm(self, line, reading);
		break;
	case SIGNAL_SLURM_FIGURES:
		see_slurm_figures(self, line, reading);
		break;
	case SIGNAL_NO_FAILURE:
		take_back(self, line);
		facts_add_line(self, line, signal, reading);
		break;
	case SIGNAL_STEP:
	case SIGNAL_EPOCH:
	case SIGNAL_RATE:
	case SIGNAL_RSS:
	case SIGNAL_CGROUP_PEAK:
	case SIGNAL_GPU_SAMPLE:
	case SIGNAL_GPU_DEVICE:
		facts_see_progress(self, line, signal, reading);
		break;
	case SIGNAL_CHECKPOINT:
		facts_add_checkpoint(self, line, reading);
		break;
	case SIGNAL_DCGM_MEMORY:
		smi_see_dcgm(&self->smi, line->lower, reading);
		facts_see_card(self, line->number);
		break;
	case SIGNAL_NUMBER:
		facts_see_numbers(self, line->lower, line->number);
		break;
	default:
		facts_add_line(self, line, signal, reading);
	}
}

/* Words that the search found and that another signal of the same line has explained. An exception that
 * reports a signal or a time-out of other ranks is no ordinary error. */
static bool is_explained(enum signal_id signal, bool has_oom, bool has_reason)
{
	if (has_reason && signal == SIGNAL_EXCEPTION)
		return true;
	return has_oom && (signal == SIGNAL_GPU_DETAIL || signal == SIGNAL_EXCEPTION || signal == SIGNAL_REFUSED ||
			   signal == SIGNAL_MEMORY_ERROR || signal == SIGNAL_GPU_SAMPLE);
}

void facts_see_signals(struct facts *self, struct line *line, const struct scan_set *found)
{
	bool has_oom = false, has_reason = false, has_failure = false;

	for (unsigned int i = scan_set_next(found, 0); i < SIGNAL_COUNT_ && !self->status;
	     i = scan_set_next(found, i + 1)) {
		struct reading reading;

		/* Binary noise may have words that cleaning has changed: the clean line is read. */
		if (is_explained((enum signal_id)i, has_oom, has_reason) ||
		    !signal_read((enum signal_id)i, line, &reading))
			continue;
		/* Words about memory that are not known; these are. */
		if (i == SIGNAL_MEMORY_ERROR && !reading.is_exact && has_failure)
			continue;
		has_failure = has_failure || i < SIGNAL_TESTS_PASSED;
		has_oom = has_oom || i == SIGNAL_GPU_OOM;
		has_reason = has_reason || i == SIGNAL_COLLECTIVE_TIMEOUT || i == SIGNAL_TERMINATED;
		facts_see(self, line, (enum signal_id)i, &reading);
	}
}
