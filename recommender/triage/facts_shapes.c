/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that are like an earlier one but for their digits, see line_shapes.h. A shape is kept if none of its digits
 * decides what a line says: such a line says how far the run came, what memory it has, that it retries, or nothing.
 * Steps and figures are taken at once. Of retries only the first and the last are kept as facts: a line waits until it
 * is known whether another one of its shape follows. */
#include "triage/facts_internal.h"

#include <ctype.h>

/* What a line of a known shape may say, and what its words may stand for without saying it: their readers look at no
 * digits other than those of exit codes and of their own words. */
static const enum signal_id allowed[] = {
	SIGNAL_STEP,	     SIGNAL_EPOCH,     SIGNAL_RATE,	 SIGNAL_RSS,	    SIGNAL_GPU_SAMPLE,
	SIGNAL_RETRY,	     SIGNAL_EXCEPTION, SIGNAL_EXIT_ZERO, SIGNAL_EXIT_137,   SIGNAL_SEGFAULT,
	SIGNAL_MEMORY_ERROR, SIGNAL_COMPLETED, SIGNAL_CHILD_BUS, SIGNAL_TERMINATED, SIGNAL_CHILD_KILLED,
};

typedef bool (*parse_fn)(const char *text, const struct spots *spots, struct reading *ret);

static parse_fn find_parse(enum signal_id signal)
{
	switch (signal) {
	case SIGNAL_STEP:
		return parse_step;
	case SIGNAL_EPOCH:
		return parse_epoch;
	case SIGNAL_RATE:
		return parse_rate;
	case SIGNAL_RSS:
		return parse_rss;
	case SIGNAL_GPU_SAMPLE:
		return parse_gpu_sample;
	default:
		return NULL;
	}
}

/* ---- a line of a known shape ---- */

/* Many are read: only what the functions above set is set anew. */
static void reset_numbers(struct reading *self)
{
	self->value = self->total = -1;
	self->is_peak = false;
	self->figures.bytes[FIGURE_ALLOCATED] = self->figures.bytes[FIGURE_RESERVED] = FIGURE_NONE;
	self->figures.bytes[FIGURE_UNALLOCATED] = self->figures.bytes[FIGURE_USAGE] = FIGURE_NONE;
}

static bool parse_numbers(struct facts *self, const struct shape *shape, const char *text)
{
	for (size_t i = 0; i < shape->n_signals; i++) {
		reset_numbers(&self->shapes.numbers_read[i]);
		if (!find_parse(shape->signals[i].signal)(text, &shape->signals[i].spots,
							  &self->shapes.numbers_read[i]))
			return false;
	}
	return true;
}

/* The place of a retry that waits; NULL: there is no room, or the file has none of this shape so far. */
static struct postponed *find_postponed(struct facts *self, struct shape *shape)
{
	if (shape->source != facts_current_index(self))
		return NULL;
	if (!shape->postponed) {
		if (self->n_postponed == POSTPONED_MAX)
			return NULL;
		shape->postponed = ++self->n_postponed;
		self->postponed[shape->postponed - 1].shape = shape;
	}
	return &self->postponed[shape->postponed - 1];
}

bool facts_take_shape(struct facts *self, struct shape *shape, struct str text, uint64_t number)
{
	struct postponed *retry = NULL;
	char copy[SHAPE_BYTES + 1];
	struct line line = {.text = copy, .n = text.n, .body = shape->body, .number = number};
	int64_t rank = facts_current_source(self)->origin.rank;

	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	if (!parse_numbers(self, shape, copy))
		return false;
	if (shape->is_retry && !(retry = find_postponed(self, shape)))
		return false;
	if (shape->rank_at >= 0)
		text_number(copy + shape->rank_at, &rank);
	line.rank = (int)rank;
	facts_see_head(self, &line);
	if (retry) {
		memcpy(retry->text, text.p, text.n);
		retry->n = text.n;
		retry->number = number;
		retry->turn = ++self->n_turns;
		retry->stand = facts_stand(self, line.rank, facts_find_position(self, line.rank));
	}
	for (size_t i = 0; i < shape->n_signals; i++)
		facts_see_progress(self, &line, shape->signals[i].signal, &self->shapes.numbers_read[i]);
	return true;
}

/* ---- retries that wait ---- */

static const struct postponed *next_postponed(const struct facts *self, uint64_t turn)
{
	const struct postponed *next = NULL;

	for (size_t i = 0; i < self->n_postponed; i++)
		if (self->postponed[i].turn > turn && (!next || self->postponed[i].turn < next->turn))
			next = &self->postponed[i];
	return next;
}

void facts_read_postponed(struct facts *self)
{
	struct reading reading;
	struct line line;
	uint64_t turn = 0;

	for (const struct postponed *next; (next = next_postponed(self, turn)); turn = next->turn) {
		line_make((struct str){next->text, next->n}, next->number, self->buffer, &line);
		if (line.rank == RANK_NONE)
			line.rank = facts_current_source(self)->origin.rank;
		self->stand = &next->stand;
		if (signal_read(SIGNAL_RETRY, &line, &reading))
			facts_add_line(self, &line, SIGNAL_RETRY, &reading);
		self->stand = NULL;
		next->shape->postponed = 0;
	}
	self->n_postponed = 0;
}

/* ---- a new shape ---- */

static bool is_within(const struct scan_set *found)
{
	struct scan_set rest = *found;

	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		rest.bits[allowed[i] / 64] &= ~((uint64_t)1 << allowed[i] % 64);
	return scan_set_is_within(&rest, &(struct scan_set){{0}});
}

/* Whether other digits could make one of the words with digits of the line, a number that is too large for its readers,
 * or the "[1,3]<stderr>:" of a launcher. */
static bool is_ambiguous(const struct facts *self, const struct line *line)
{
	char zeros[SHAPE_BYTES + 1];
	size_t run = 0, most = 0;
	const char *launcher;

	for (size_t i = 0; i <= line->n; i++) {
		bool is_digit = isdigit((unsigned char)line->lower[i]);

		zeros[i] = is_digit ? '0' : line->lower[i];
		run = is_digit ? run + 1 : 0;
		most = MAX(most, run);
	}
	launcher = strstr(zeros, "[0,");
	return most > 15 || text_has(zeros, self->shapes.words_with_digits) ||
	       (launcher && (size_t)(launcher - zeros) <= line->body);
}

static bool fix_digits(struct shape *shape, const struct line *line, size_t at)
{
	for (; isdigit((unsigned char)line->lower[at]); at++) {
		if (shape->n_fixed == SHAPE_FIXED)
			return false;
		shape->fixed[shape->n_fixed++].at = (uint16_t)at;
	}
	return true;
}

/* The digits behind what may stand before an exit code. */
static bool fix_codes(struct shape *shape, const struct line *line)
{
	static const char *const words[] = {"exit code", "exitcode", "exit_code", "exit status"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		for (const char *at = strstr(line->lower, words[i]); at; at = strstr(at + 1, words[i])) {
			size_t n = strlen(words[i]);

			n += strcspn(at + n, "0123456789");
			if (!fix_digits(shape, line, (size_t)(at - line->lower) + n))
				return false;
		}
	return true;
}

/* @return false: the line says something else. */
static bool add_signal(struct shape *shape, enum signal_id signal, struct line *line)
{
	struct spots spots = SPOTS_NONE;
	struct reading reading;

	line->spots = &spots;
	if (!signal_read(signal, line, &reading))
		return true;
	if (signal == SIGNAL_RETRY) {
		shape->is_retry = true;
		return true;
	}
	if (!find_parse(signal) || !spots.is_noted)
		return false;
	shape->signals[shape->n_signals++] = (struct shape_signal){signal, spots};
	return true;
}

static bool make_shape(const struct facts *self, struct line *line, const struct scan_set *found, struct shape *ret)
{
	*ret = (struct shape){.body = line->body, .rank_at = line->rank_at, .source = facts_current_index(self)};
	if (line->rank_at == RANK_AT_UNKNOWN || !is_within(found) || is_ambiguous(self, line) || !fix_codes(ret, line))
		return false;
	for (unsigned int i = scan_set_next(found, 0); i < SIGNAL_COUNT_; i = scan_set_next(found, i + 1))
		if (!add_signal(ret, (enum signal_id)i, line))
			return false;
	return !ret->is_retry || ret->rank_at < 0 || fix_digits(ret, line, (size_t)ret->rank_at);
}

void facts_learn_shape(struct facts *self, struct str text, struct line *line, const struct scan_set *found)
{
	struct shape *known = line_shapes_find(&self->shapes, text), shape;

	if (known)
		known->source = facts_current_index(self);
	if (known || !line_shapes_is_due(&self->shapes) || !str_eq((struct str){line->text, line->n}, text))
		return;
	line_focus(line);
	if (make_shape(self, line, found, &shape))
		line_shapes_keep(&self->shapes, text, &shape);
	line_focus(NULL);
	line->spots = NULL;
}
