/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sources, and hands their lines to facts_see.c. */
#include "triage/facts_internal.h"

#include "triage/dcgm.h"
#include "triage/lines.h"
#include "triage/node_folder.h"

#include <assert.h>
#include <stdint.h>
#include <sys/stat.h>

/* @return whether the line is one of DCGM that says something. */
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
			facts_see(self, line, of_dcgm[i], &reading);
			return true;
		}
	return false;
}

/* nvidia-smi: what a line says depends on its section. Nothing in it says which rank it is. */
static void take_smi(struct facts *self, const struct raw_line *raw)
{
	struct smi_state *smi = &self->smi;
	struct reading reading;
	enum signal_id signal;
	struct line line;

	line_make(raw->text, raw->number, self->buffer, &line);
	line.rank = RANK_NONE;
	if (take_dcgm(self, &line)) {
		facts_current_source(self)->is_smi = true;
		return;
	}
	signal = smi_read(smi, &line);
	if (signal != SIGNAL_COUNT_ || smi->n_begun || smi->is_list || smi->is_csv || smi->total > 0)
		facts_current_source(self)->is_smi = true;
	facts_see_card(self, raw->number);
	reading_init(&reading);
	if (signal != SIGNAL_COUNT_)
		facts_add_line(self, &line, signal, &reading);
}

/* Lines at the begin of a file that tell whether it is one of nvidia-smi. */
#define HEAD_LINES 3

static void see_head(struct facts *self, const struct raw_line *raw)
{
	struct line line;

	line_make(raw->text, raw->number, self->buffer, &line);
	if (smi_csv_begins(line.lower) || text_has(line.lower, "nvsmi log==|<nvidia_smi_log>"))
		facts_current_source(self)->is_smi = true;
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
		line->rank = facts_current_source(self)->origin.rank;
	line_focus(line);
	facts_see_signals(self, line, found);
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

	if (raw->number <= HEAD_LINES)
		see_head(self, raw);
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
		facts_close_report(self);
}

static void take_line(void *context, const struct raw_line *raw)
{
	struct facts *self = context;

	if (raw->is_last && facts_current_source(self)->input == INPUT_SMI)
		end_smi(self);
	else if (raw->is_last)
		end_log(self);
	else if (facts_current_source(self)->input == INPUT_SMI)
		take_smi(self, raw);
	else if (facts_current_source(self)->input == INPUT_NODE)
		take_node(self, raw);
	else if (!self->status)
		take_log(self, raw);
}

static void close_source(struct facts *self, const struct lines_result *result)
{
	struct source *source = facts_current_source(self);

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
