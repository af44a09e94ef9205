/* SPDX-License-Identifier: Apache-2.0 */
/* Lines become facts. */
#include "triage/facts_internal.h"

#include "triage/dcgm.h"
#include "triage/lines.h"
#include "triage/node_folder.h"
#include "triage/slurm.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* Lines behind a failed allocation that may belong to it: PyTorch's message is sometimes wrapped, TensorFlow prints
 * its statistics behind a dump of all chunks. */
#define DETAIL_LINES	  12
#define DETAIL_LINES_DUMP 20000

/* Lines over which somebody may have wrapped TensorFlow's message. */
#define WRAPPED_LINES 3

/* ---- the kernel's report of a kill, over many lines ---- */

/* Up to 4.x the kernel first names a task ("Kill process 4142 (python3) score 68 or sacrifice child"), and then the
 * one that it killed: it may be a child of the first. */
static bool is_announcement(const struct fact *fact)
{
	return strstr(fact->text, "sacrifice child") && !figures_has(&fact->reading.figures, FIGURE_ANON_RSS);
}

/* After the victim or the size of a page has changed. */
static void add_tasks_again(struct facts *self, struct reading *kill)
{
	reading_copy(kill->largest, sizeof(kill->largest), "", "");
	kill->n_tasks = 0;
	kill->figures.bytes[FIGURE_SAME_RSS] = kill->figures.bytes[FIGURE_LARGEST_RSS] = FIGURE_NONE;
	kernel_add_tasks(&self->kernel, kill);
}

/* The process that was killed takes the place of the one that was announced; its line stays as evidence. */
static void replace_victim(struct facts *self, const struct line *line, const struct reading *reading)
{
	struct reading *kill = &self->items.items[self->kernel.open].reading;

	kill->value = reading->value;
	reading_copy(kill->name, sizeof(kill->name), reading->name, "");
	figures_fill(&kill->figures, &reading->figures);
	add_tasks_again(self, kill);
	facts_add_line(self, line, SIGNAL_KERNEL_KILL, reading);
}

/* Whether the line completes the kill that is open. */
static bool complete_kill(struct facts *self, const struct line *line, const struct reading *reading)
{
	struct kernel_state *kernel = &self->kernel;
	struct fact *fact;
	bool is_rescaled = kernel_find_page(kernel, line->lower, reading->value);

	if (kernel->open == SIZE_MAX)
		return false;
	fact = &self->items.items[kernel->open];
	if (is_rescaled) {
		fact->reading.figures.bytes[FIGURE_NODE_RAM] = kernel->figures.bytes[FIGURE_NODE_RAM];
		add_tasks_again(self, &fact->reading);
	}
	if (kernel->pid == reading->value) {
		figures_fill(&fact->reading.figures, &reading->figures);
		/* The line of the kill knows better than a constraint. */
		if (fact->reading.scope == SCOPE_NODE && reading->scope == SCOPE_CGROUP)
			fact->reading.scope = SCOPE_CGROUP;
		/* It found nothing to kill, and then it says that this is a deadlock of the node. */
		if (reading->value < 0 && reading->scope == SCOPE_NODE)
			fact->reading.scope = SCOPE_NODE;
		return true;
	}
	if (reading->scope != SCOPE_NONE || !is_announcement(fact))
		return false;
	replace_victim(self, line, reading);
	kernel->pid = reading->value;
	return true;
}

/* The line that names a kill: it gets what the kernel has said before. */
static void add_kill(struct facts *self, const struct line *line, enum signal_id signal, struct reading *reading)
{
	struct kernel_state *kernel = &self->kernel;

	if (signal == SIGNAL_KERNEL_KILL && complete_kill(self, line, reading))
		return;
	if (signal == SIGNAL_KERNEL_KILL && kernel->scope != SCOPE_NONE && reading->scope != SCOPE_NODE) {
		reading->scope = kernel->scope;
		reading_copy(reading->words, sizeof(reading->words), kernel->path, "");
	}
	if (signal == SIGNAL_KERNEL_KILL && !reading->uid[0])
		reading_copy(reading->uid, sizeof(reading->uid), kernel->uid, "");
	if (reading->scope == SCOPE_NONE)
		return;
	kernel_close_cut(kernel);
	figures_fill(&reading->figures, &kernel->figures);
	kernel_add_tasks(kernel, reading);
	kernel->open = facts_add_line(self, line, signal, reading);
	kernel->pid = reading->value;
}

/* A report has ended before the line of the kill: what it has told is all there is. */
static void close_report(struct facts *self)
{
	struct kernel_cut *cut = &self->kernel.cut;
	size_t n = strlen(cut->text);
	struct line line = {.text = cut->text,
			    .lower = cut->text,
			    .n = n,
			    .body = MIN(cut->body, n),
			    .rank = cut->rank,
			    .number = cut->number};

	if (n && self->kernel.limited == SIZE_MAX) {
		figures_fill(&cut->reading.figures, &self->kernel.figures);
		kernel_add_tasks(&self->kernel, &cut->reading);
		facts_add_line(self, &line, SIGNAL_KERNEL_CUT, &cut->reading);
	}
	kernel_close_cut(&self->kernel);
}

static bool is_kernel_signal(enum signal_id signal)
{
	return signal >= SIGNAL_KERNEL_INVOKED && signal <= SIGNAL_KERNEL_KILL;
}

static void see_kernel(struct facts *self, const struct line *line, enum signal_id signal, struct reading *reading)
{
	struct kernel_state *kernel = &self->kernel;

	switch (signal) {
	case SIGNAL_KERNEL_INVOKED:
		close_report(self);
		kernel_reset(kernel);
		kernel_see_cut(kernel, line, signal, reading);
		facts_add_line(self, line, signal, reading);
		break;
	case SIGNAL_KERNEL_CUT:
		kernel_see_cut(kernel, line, signal, reading);
		break;
	case SIGNAL_KERNEL_LIMIT_OF:
		kernel->scope = reading->scope;
		reading_copy(kernel->path, sizeof(kernel->path), reading->words, "");
		reading_copy(kernel->uid, sizeof(kernel->uid), reading->uid, "");
		kernel->limited = facts_add_line(self, line, signal, reading);
		break;
	case SIGNAL_KERNEL_STATS:
		kernel_open_stats(kernel, line->lower);
		kernel_see_cut(kernel, line, signal, reading);
		break;
	case SIGNAL_KERNEL_TABLE:
		kernel_open_table(kernel, line->lower);
		break;
	case SIGNAL_KERNEL_CONSTRAINT:
	case SIGNAL_KERNEL_KILL:
		add_kill(self, line, signal, reading);
		break;
	default:
		if (signal == SIGNAL_KERNEL_USAGE)
			kernel_close_stats(kernel);
		figures_fill(&kernel->figures, &reading->figures);
		if (kernel->limited != SIZE_MAX)
			figures_fill(&self->items.items[kernel->limited].reading.figures, &reading->figures);
	}
}

/* ---- one line ---- */

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
	if (fact->source != self->sources.n - 1 || fact->rank != line->rank || line->number > self->open_until)
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
	if (fact->source != self->sources.n - 1 || fact->rank != line->rank ||
	    line->number - fact->number > WRAPPED_LINES ||
	    !strcasestr(fact->text, "ran out of memory trying to allocate"))
		return;
	fact->reading.is_taken_back = true;
	self->open_oom = SIZE_MAX;
}

static void see_card(struct facts *self, uint64_t number)
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
	card->source = self->sources.n - 1;
	card->number = number;
}

static void see(struct facts *self, const struct line *line, enum signal_id signal, struct reading *reading)
{
	if (is_kernel_signal(signal)) {
		see_kernel(self, line, signal, reading);
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
		see_card(self, line->number);
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

static void see_signals(struct facts *self, struct line *line, const struct scan_set *found)
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
		see(self, line, (enum signal_id)i, &reading);
	}
}

/* @return whether the line is one of DCGM. */
static bool take_dcgm(struct facts *self, struct line *line)
{
	static const enum signal_id of_dcgm[] = {SIGNAL_XID,	      SIGNAL_GPU_ECC,
						 SIGNAL_ROW_REMAP,    SIGNAL_DEVICE_UNHEALTHY,
						 SIGNAL_GPU_ECC_PAST, SIGNAL_DCGM_MEMORY};
	struct reading reading;

	if (!dcgm_is_line(line))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(of_dcgm) && !self->status; i++)
		if (signal_read(of_dcgm[i], line, &reading)) {
			see(self, line, of_dcgm[i], &reading);
			return true;
		}
	return false;
}

/* nvidia-smi: what a line says depends on its section. Nothing in it says which rank it is. */
static void take_smi(struct facts *self, const struct raw_line *raw)
{
	struct reading reading;
	enum signal_id signal;
	struct line line;

	line_make(raw->text, raw->number, self->buffer, &line);
	line.rank = RANK_NONE;
	if (take_dcgm(self, &line))
		return;
	reading_init(&reading);
	signal = smi_read(&self->smi, &line);
	see_card(self, raw->number);
	if (signal != SIGNAL_COUNT_)
		facts_add_line(self, &line, signal, &reading);
}

static void add_sight(struct facts *self, enum signal_id signal, const struct smi_sight *sight,
		      const struct reading *reading)
{
	struct line line;
	size_t added;

	if (sight->value == FIGURE_NONE)
		return;
	line_make(str_c(sight->text), sight->number, self->buffer, &line);
	line.rank = RANK_NONE;
	added = facts_add_line(self, &line, signal, reading);
	if (added != SIZE_MAX)
		line_excerpt(&line, NULL, self->items.items[added].text, sizeof(self->items.items[added].text));
}

/* What only all of nvidia-smi's output shows. */
static void end_smi(struct facts *self)
{
	struct smi_state *smi = &self->smi;
	struct reading reading;

	smi_end(smi);
	reading_init(&reading);
	if (smi->zombie.value != FIGURE_NONE) {
		figures_set(&reading.figures, FIGURE_CAPACITY, smi->zombie_total);
		figures_set(&reading.figures, FIGURE_OTHERS, smi->zombie.value);
	}
	add_sight(self, SIGNAL_GPU_ZOMBIE, &smi->zombie, &reading);
	reading_init(&reading);
	reading.value = smi->shared.value;
	add_sight(self, SIGNAL_GPU_SHARED, &smi->shared, &reading);
}

/* The settings of a node are kept apart from the facts; only a setting that refuses memory can explain an end. */
static void take_node(struct facts *self, const struct raw_line *raw)
{
	int64_t before = self->node.values[NODE_OVERCOMMIT];
	struct reading reading;
	struct line line;
	size_t added;

	line_make(raw->text, raw->number, self->buffer, &line);
	node_read(&self->node, line.lower);
	if (self->node.values[NODE_OVERCOMMIT] != NODE_STRICT || before == NODE_STRICT)
		return;
	line.rank = RANK_NONE;
	reading_init(&reading);
	added = facts_add_line(self, &line, SIGNAL_STRICT_OVERCOMMIT, &reading);
	if (added != SIZE_MAX)
		line_excerpt(&line, NULL, self->items.items[added].text, sizeof(self->items.items[added].text));
}

/* Signals that only say how far the run came. */
#define BIT_IN(word, signal) ((signal) / 64 == (word) ? (uint64_t)1 << (signal) % 64 : 0)
#define PROGRESS_IN(word)    (BIT_IN(word, SIGNAL_STEP) | BIT_IN(word, SIGNAL_EPOCH) | BIT_IN(word, SIGNAL_RATE))
static const struct scan_set progress_signals = {.bits = {PROGRESS_IN(0), PROGRESS_IN(1)}};
static_assert(SCAN_VALUES_MAX == 2 * 64, "the set has two words");

static void read_line(struct facts *self, struct line *line, const struct scan_set *found)
{
	facts_see_head(self, line);
	if (line->rank == RANK_NONE)
		line->rank = self->sources.items[self->sources.n - 1].origin.rank;
	line_focus(line);
	see_signals(self, line, found);
	line_focus(NULL);
}

static void read_text(struct facts *self, struct str text, uint64_t number, const struct scan_set *found)
{
	struct line line;

	line_make(text, number, self->buffer, &line);
	read_line(self, &line, found);
	facts_learn_shape(self, text, &line, found);
}

static void read_progress(struct facts *self)
{
	const struct progress_line *step;

	while ((step = progress_take(&self->progress)))
		read_text(self, (struct str){step->text, step->n}, step->number, &progress_signals);
}

/* Lines that wait come first; they may change the shapes. */
static bool take_shape(struct facts *self, struct str text, uint64_t number)
{
	struct shape *shape = line_shapes_find(&self->shapes, text);

	if (shape && self->progress.n) {
		read_progress(self);
		shape = line_shapes_find(&self->shapes, text);
	}
	return shape && facts_take_shape(self, shape, text, number);
}

static void take_log(struct facts *self, const struct raw_line *raw)
{
	struct scan_set found = {{0}};
	struct str text = raw->text;
	bool may_repeat;
	struct line line;

	/* Colours may stand within words. */
	if (line_has_colour(text) || self->kernel.is_table || self->kernel.is_stats) {
		line_make(text, raw->number, self->buffer, &line);
		text = (struct str){line.text, line.n};
	}
	if (self->kernel.is_table)
		self->kernel.is_table = kernel_read_row(&self->kernel, line.text);
	if (self->kernel.is_stats)
		self->kernel.is_stats = kernel_read_stat(&self->kernel, line.lower);
	/* The text of a line that was cleaned is in the buffer, which the lines before it need. */
	may_repeat = text.p == raw->text.p;
	if (may_repeat && self->shapes.heat && take_shape(self, text, raw->number))
		return;
	if (!scanner_find(&self->scanner, text, &found))
		return;
	if (scan_set_is_within(&found, &progress_signals) && progress_keep(&self->progress, text, raw->number))
		return;
	if (may_repeat && !self->shapes.heat && take_shape(self, text, raw->number))
		return;
	read_progress(self);
	facts_read_postponed(self);
	read_text(self, raw->text, raw->number, &found);
}

static void end_log(struct facts *self)
{
	read_progress(self);
	facts_read_postponed(self);
	if (!self->status)
		close_report(self);
}

static void take_line(void *context, const struct raw_line *raw)
{
	struct facts *self = context;

	if (raw->is_last && self->sources.items[self->sources.n - 1].input == INPUT_SMI)
		end_smi(self);
	else if (raw->is_last)
		end_log(self);
	else if (self->sources.items[self->sources.n - 1].input == INPUT_SMI)
		take_smi(self, raw);
	else if (self->sources.items[self->sources.n - 1].input == INPUT_NODE)
		take_node(self, raw);
	else if (!self->status)
		take_log(self, raw);
}

static void close_source(struct facts *self, const struct lines_result *result)
{
	struct source *source = &self->sources.items[self->sources.n - 1];

	facts_close_head(self);
	source->n_lines = result->n_lines;
	source->n_bytes = result->n_bytes;
	source->is_damaged = result->is_damaged;
	source->is_binary = result->is_binary;
	source->packer = result->packer;
}

static bool is_folder(const char *name)
{
	struct stat status;

	return stat(name, &status) == 0 && S_ISDIR(status.st_mode);
}

static int read_folder(struct facts *self, const char *name, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_TRIAGE_NODE_BYTES);
	int r = node_collect(name, &buf, err);

	if (r)
		return r;
	if (facts_read_bytes(self, name, INPUT_NODE, strbuf_text(&buf), buf.len))
		return err_set(err, -ENOMEM, "no memory left");
	return 0;
}

int facts_read(struct facts *self, const char *name, enum input input, struct err *err)
{
	struct lines_result result = {0};
	int r;

	if (input == INPUT_NODE && is_folder(name))
		return read_folder(self, name, err);
	r = facts_open_source(self, name, input);
	if (r)
		return err_set(err, r, "no memory left");
	r = lines_read(name, take_line, self, &result, err);
	if (!r && self->status)
		r = err_set(err, self->status, "no memory left");
	if (!r)
		close_source(self, &result);
	return r;
}

int facts_read_bytes(struct facts *self, const char *name, enum input input, const char *bytes, size_t n)
{
	struct lines_result result = {0};
	int r = facts_open_source(self, name, input);

	if (!r)
		r = lines_read_bytes(bytes, n, take_line, self, &result);
	if (!r)
		close_source(self, &result);
	return r ? r : self->status;
}
