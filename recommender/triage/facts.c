/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/facts_internal.h"

#include <stdint.h>
#include <stdlib.h>

int facts_init(struct facts *self)
{
	*self = (struct facts){.open_oom = SIZE_MAX,
			       .kernel = {.open = SIZE_MAX, .limited = SIZE_MAX, .pid = -1},
			       .card = {.used = FIGURE_NONE, .total = FIGURE_NONE, .most_processes = -1},
			       .origin = {.rank = RANK_NONE, .limit_bytes = FIGURE_NONE}};
	scanner_init(&self->scanner);
	figures_init(&self->kernel.figures);
	node_init(&self->node);
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		self->numbers[i].value = NUMBER_NONE;
	for (unsigned int i = 0; i < SIGNAL_COUNT_; i++)
		if (signals[i].words)
			scanner_add(&self->scanner, signals[i].words, i);
	self->buffer = malloc(sizeof(*self->buffer));
	return progress_init(&self->progress) || !self->buffer ? -ENOMEM : 0;
}

void facts_release(struct facts *self)
{
	vec_release(&self->sources);
	vec_release(&self->items);
	vec_release(&self->positions);
	vec_release(&self->lives);
	vec_release(&self->kernel.tasks);
	progress_release(&self->progress);
	free(self->buffer);
	self->buffer = NULL;
}

/* ---- positions of ranks ---- */

static bool is_position(const struct facts *self, size_t i, size_t source, int rank)
{
	return i < self->positions.n && self->positions.items[i].source == source &&
	       self->positions.items[i].rank == rank;
}

size_t facts_find_position(struct facts *self, size_t source, int rank)
{
	struct position position;

	if (is_position(self, self->position, source, rank))
		return self->position;
	for (size_t i = 0; i < self->positions.n; i++)
		if (is_position(self, i, source, rank))
			return self->position = i;
	if (self->positions.n >= LIMIT_TRIAGE_RANKS)
		return self->positions.n - 1;
	position_init(&position, source, rank);
	if (vec_push(&self->positions, position)) {
		self->status = -ENOMEM;
		return 0;
	}
	return self->position = self->positions.n - 1;
}

/* ---- the list ---- */

/* Where the step of a rank is not known, the file's other lines say how far the run came. */
static void set_position(struct facts *self, struct fact *fact)
{
	const struct position *items = self->positions.items;

	fact->step = items[fact->position].step;
	fact->n_progress = items[fact->position].n_progress;
	for (size_t i = 0; i < self->positions.n; i++) {
		if (items[i].source != fact->source || i == fact->position)
			continue;
		if (items[i].rank == RANK_NONE)
			fact->n_progress += items[i].n_progress;
		if (fact->step == STEP_NONE)
			fact->step = items[i].step;
	}
}

/* Signals whose values do not stand for each other: each value has a first and a last fact. */
static bool is_apart(enum signal_id signal)
{
	return signal == SIGNAL_SETTING || signal == SIGNAL_XID || signal == SIGNAL_MEMORY_VOLUME ||
	       signal == SIGNAL_DATASET;
}

static size_t find_fact(const struct facts *self, const struct fact *fact, bool is_last)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < self->items.n; i++) {
		const struct fact *other = &self->items.items[i];

		if (other->signal != fact->signal || other->rank != fact->rank || other->source != fact->source ||
		    other->reading.scope != fact->reading.scope || !streq(other->reading.uid, fact->reading.uid) ||
		    (fact->signal == SIGNAL_EXCEPTION && other->reading.is_exact != fact->reading.is_exact) ||
		    (is_apart(fact->signal) && other->reading.value != fact->reading.value))
			continue;
		if (!is_last)
			return i;
		found = i;
	}
	return found;
}

/* A fact of the current source, without its text. */
static struct fact make_fact(struct facts *self, enum signal_id signal, const struct reading *reading, uint64_t number,
			     int rank)
{
	return (struct fact){.signal = signal,
			     .reading = *reading,
			     .source = self->sources.n - 1,
			     .number = number,
			     .order = self->order++,
			     .rank = rank,
			     .n_lines = 1};
}

/* The oldest kill of a source that has kills of many pods; SIZE_MAX: it has not. */
static size_t find_oldest_kill(const struct facts *self, const struct fact *fact)
{
	size_t oldest = SIZE_MAX, n = 0;

	for (size_t i = 0; i < self->items.n && fact->reading.uid[0]; i++) {
		const struct fact *other = &self->items.items[i];

		if (other->signal != fact->signal || other->source != fact->source || !other->reading.uid[0])
			continue;
		n++;
		if (oldest == SIZE_MAX || other->order < self->items.items[oldest].order)
			oldest = i;
	}
	return n >= LIMIT_TRIAGE_KILLS ? oldest : SIZE_MAX;
}

/* Keeps the first and the last fact of a signal, rank, source, scope and killed pod, and of some signals of each value.
 * @return its index; SIZE_MAX: no room. */
static size_t keep_fact(struct facts *self, struct fact *fact)
{
	size_t first = find_fact(self, fact, false), last = find_fact(self, fact, true), oldest;

	if (first != last) {
		fact->n_lines += self->items.items[last].n_lines;
		self->items.items[last] = *fact;
		return last;
	}
	oldest = find_oldest_kill(self, fact);
	if (oldest != SIZE_MAX) {
		self->items.items[oldest] = *fact;
		return oldest;
	}
	if (self->items.n >= LIMIT_TRIAGE_FACTS)
		return SIZE_MAX;
	if (vec_push(&self->items, *fact)) {
		self->status = -ENOMEM;
		return SIZE_MAX;
	}
	return self->items.n - 1;
}

size_t facts_add_line(struct facts *self, const struct line *line, enum signal_id signal, const struct reading *reading)
{
	struct fact fact = make_fact(self, signal, reading, line->number, line->rank);
	struct clock clock;

	fact.position = facts_find_position(self, fact.source, fact.rank);
	if (self->status)
		return SIZE_MAX;
	set_position(self, &fact);
	clock = clock_read(line->text);
	if (clock.kind == CLOCK_LOCAL || clock.kind == CLOCK_ZONED)
		self->sources.items[fact.source].clock = clock;
	if (signals[signal].words)
		line_excerpt(line, signals[signal].words, fact.text, sizeof(fact.text));
	return keep_fact(self, &fact);
}

int facts_open_source(struct facts *self, const char *name, enum input input)
{
	struct source source = {.name = name, .input = input, .origin = self->origin};

	if (source.origin.rank == RANK_NONE && input != INPUT_NODE && input != INPUT_STATUS)
		source.origin.rank = rank_of_name(name);
	self->node.is_given = self->node.is_given || input == INPUT_NODE;
	self->n_groups = MAX(self->n_groups, source.origin.group);
	kernel_reset(&self->kernel);
	smi_reset(&self->smi);
	self->progress.n = 0;
	self->head[0] = '\0';
	self->open_oom = SIZE_MAX;
	return vec_push(&self->sources, source);
}

/* ---- numbers ---- */

void facts_see_numbers(struct facts *self, const char *lower, uint64_t number)
{
	int64_t values[NUMBER_COUNT];

	numbers_init(values);
	if (!numbers_read(lower, values))
		return;
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		if (values[i] != NUMBER_NONE && self->numbers[i].value == NUMBER_NONE)
			self->numbers[i] = (struct seen_number){values[i], self->sources.n - 1, number};
}

int64_t facts_number(const struct facts *self, const char *key)
{
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		if (streq(number_rows[i].key, key))
			return self->numbers[i].value;
	return NUMBER_NONE;
}

void facts_add_numbers(struct facts *self, const char *text)
{
	struct line line;

	line_make(str_c(text), 1, self->buffer, &line);
	facts_see_numbers(self, line.lower, 0);
}

/* ---- statements ---- */

int facts_open(struct facts *self, const char *name)
{
	return facts_open_source(self, name, INPUT_STATUS);
}

/* How far the logs of the group came. */
static void set_position_of_group(const struct facts *self, struct fact *fact)
{
	size_t group = self->sources.items[fact->source].origin.group;

	fact->step = STEP_NONE;
	for (size_t i = 0; i < self->positions.n; i++) {
		const struct position *position = &self->positions.items[i];

		if (self->sources.items[position->source].origin.group != group)
			continue;
		fact->step = MAX(fact->step, position->step);
		fact->n_progress += position->n_progress;
	}
}

static void add_statement(struct facts *self, const struct line *line, enum signal_id signal,
			  const struct reading *reading)
{
	struct source *source = &self->sources.items[self->sources.n - 1];
	struct fact fact = make_fact(self, signal, reading, ++source->n_lines, source->origin.rank);

	fact.position = facts_find_position(self, fact.source, fact.rank);
	if (self->status)
		return;
	set_position_of_group(self, &fact);
	line_excerpt(line, NULL, fact.text, sizeof(fact.text));
	keep_fact(self, &fact);
}

void facts_add(struct facts *self, enum signal_id signal, const struct reading *reading, const char *text)
{
	struct line line;

	line_make(str_c(text), 1, self->buffer, &line);
	if (!self->status)
		add_statement(self, &line, signal, reading);
}

bool facts_add_read(struct facts *self, enum signal_id signal, const char *text)
{
	struct reading reading;
	struct line line;

	line_make(str_c(text), 1, self->buffer, &line);
	if (!signal_read(signal, &line, &reading))
		return false;
	if (!self->status)
		add_statement(self, &line, signal, &reading);
	return true;
}

void facts_add_life(struct facts *self, const char *uid, int64_t start_ms, int64_t end_ms)
{
	struct pod_life life = {.start_ms = start_ms, .end_ms = end_ms, .group = self->origin.group};

	reading_copy(life.uid, sizeof(life.uid), uid, "");
	if (vec_push(&self->lives, life))
		self->status = -ENOMEM;
}

const struct pod_life *facts_find_life(const struct facts *self, const char *uid)
{
	for (size_t i = 0; *uid && i < self->lives.n; i++)
		if (strcasecmp(self->lives.items[i].uid, uid) == 0)
			return &self->lives.items[i];
	return NULL;
}

size_t facts_group_of(const struct facts *self, const struct fact *fact)
{
	const struct pod_life *life = facts_find_life(self, fact->reading.uid);

	return life ? life->group : self->sources.items[fact->source].origin.group;
}

const struct fact *facts_first(const struct facts *self, enum signal_id signal)
{
	const struct fact *first = NULL;

	for (size_t i = 0; i < self->items.n; i++)
		if (self->items.items[i].signal == signal && (!first || self->items.items[i].order < first->order))
			first = &self->items.items[i];
	return first;
}

const struct fact *facts_last(const struct facts *self, enum signal_id signal)
{
	const struct fact *last = NULL;

	for (size_t i = 0; i < self->items.n; i++)
		if (self->items.items[i].signal == signal && (!last || self->items.items[i].order > last->order))
			last = &self->items.items[i];
	return last;
}

const struct fact *facts_setting(const struct facts *self, enum setting setting)
{
	for (size_t i = 0; i < self->items.n; i++)
		if (self->items.items[i].signal == SIGNAL_SETTING &&
		    self->items.items[i].reading.value == (int64_t)setting)
			return &self->items.items[i];
	return NULL;
}

static bool is_further(const struct furthest *one, const struct furthest *other)
{
	return one->epoch != other->epoch ? one->epoch > other->epoch : one->step > other->step;
}

const struct position *facts_furthest(const struct facts *self)
{
	const struct position *found = NULL;

	for (size_t i = 0; i < self->positions.n; i++) {
		const struct position *position = &self->positions.items[i];

		if (position->furthest.number && (!found || is_further(&position->furthest, &found->furthest)))
			found = position;
	}
	return found;
}
