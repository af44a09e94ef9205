/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/facts_internal.h"

#include <stdint.h>
#include <stdlib.h>

int facts_init(struct facts *self)
{
	int r;

	*self = (struct facts){.open_oom = SIZE_MAX,
			       .open_checkpoint = SIZE_MAX,
			       .open_slurm = SIZE_MAX,
			       .stepped = SIZE_MAX,
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
	scanner_set_guard(&self->scanner, EXIT_CODE_WORDS, is_exit_code_next);
	self->buffer = calloc(1, sizeof(*self->buffer));
	r = progress_init(&self->progress);
	return line_shapes_init(&self->shapes) || r || !self->buffer ? -ENOMEM : 0;
}

void facts_release(struct facts *self)
{
	vec_release(&self->sources);
	vec_release(&self->items);
	vec_release(&self->positions);
	vec_release(&self->lives);
	vec_release(&self->kernel.tasks);
	progress_release(&self->progress);
	line_shapes_release(&self->shapes);
	free(self->buffer);
	self->buffer = NULL;
}

/* ---- positions of ranks ---- */

/* The place of a rank in the table of the source's positions; SIZE_MAX: the table has none. */
static size_t place_of(int rank)
{
	if (rank == RANK_NONE)
		return 0;
	return rank >= 0 && rank < LIMIT_TRIAGE_RANKS ? (size_t)rank + 1 : SIZE_MAX;
}

static size_t search_position(const struct facts *self, int rank)
{
	size_t place = place_of(rank);

	if (place != SIZE_MAX)
		return self->ranks[place] ? (size_t)self->ranks[place] - 1 : SIZE_MAX;
	for (size_t i = self->first_position; i < self->positions.n; i++)
		if (self->positions.items[i].rank == rank)
			return i;
	return SIZE_MAX;
}

size_t facts_find_position(struct facts *self, int rank)
{
	size_t found = search_position(self, rank), place = place_of(rank);
	struct position position;

	if (found != SIZE_MAX)
		return found;
	if (self->positions.n >= LIMIT_TRIAGE_RANKS)
		return self->positions.n - 1;
	position_init(&position, facts_current_index(self), rank);
	if (vec_push(&self->positions, position)) {
		self->status = -ENOMEM;
		return 0;
	}
	found = self->positions.n - 1;
	if (place != SIZE_MAX)
		self->ranks[place] = (uint16_t)(found + 1);
	return found;
}

void facts_see_progress(struct facts *self, const struct line *line, enum signal_id signal,
			const struct reading *reading)
{
	size_t i = facts_find_position(self, line->rank);
	struct position *position = &self->positions.items[i];

	if (self->status)
		return;
	position_see(position, signal, reading, line->number);
	self->most_progress = MAX(self->most_progress, position->n_progress);
	if (position->step != STEP_NONE)
		self->stepped = MIN(self->stepped, i);
}

/* Where the step of a rank is not known, the file's other lines say how far the run came. */
struct stand facts_stand(const struct facts *self, int rank, size_t position)
{
	const struct position *items = self->positions.items;
	size_t whole = search_position(self, RANK_NONE);
	struct stand stand = {.step = items[position].step, .n_progress = self->most_progress};

	if (stand.step == STEP_NONE && self->stepped != SIZE_MAX)
		stand.step = items[self->stepped].step;
	if (rank == RANK_NONE)
		return stand;
	stand.n_progress = items[position].n_progress;
	if (whole != SIZE_MAX && whole != position)
		stand.n_progress += items[whole].n_progress;
	return stand;
}

uint64_t facts_progress_since(const struct facts *self, const struct fact *fact)
{
	uint64_t now = 0, most = 0;

	for (size_t i = 0; i < self->positions.n; i++) {
		const struct position *position = &self->positions.items[i];

		if (position->source != fact->source)
			continue;
		most = MAX(most, position->n_progress);
		if (position->rank == fact->rank || position->rank == RANK_NONE)
			now += position->n_progress;
	}
	if (fact->rank == RANK_NONE)
		now = most;
	return now - MIN(now, fact->n_progress);
}

/* ---- the list ---- */

/* A fact of the current source, without its text. */
static struct fact make_fact(struct facts *self, enum signal_id signal, const struct reading *reading, uint64_t number,
			     int rank)
{
	return (struct fact){.signal = signal,
			     .reading = *reading,
			     .source = facts_current_index(self),
			     .number = number,
			     .order = self->order++,
			     .rank = rank};
}

/* ---- the time of a source ---- */

#define HEAD_BYTES_MIN 19 /* of a date with a time */

static void see_clock(struct facts *self, const char *text)
{
	struct clock clock = clock_read(text);

	if (clock.kind == CLOCK_LOCAL || clock.kind == CLOCK_ZONED)
		facts_current_source(self)->clock = clock;
}

void facts_see_head(struct facts *self, const struct line *line)
{
	size_t n = MIN(sizeof(self->head) - 1, line->body);

	if (line->body < HEAD_BYTES_MIN)
		return;
	memcpy(self->head, line->text, n);
	self->head[n] = '\0';
}

void facts_close_head(struct facts *self)
{
	see_clock(self, self->head);
}

/* ---- lines ---- */

size_t facts_add_line(struct facts *self, const struct line *line, enum signal_id signal, const struct reading *reading)
{
	struct fact fact = make_fact(self, signal, reading, line->number, line->rank);
	struct stand stand;

	fact.position = facts_find_position(self, fact.rank);
	if (self->status)
		return SIZE_MAX;
	stand = self->stand ? *self->stand : facts_stand(self, fact.rank, fact.position);
	fact.step = stand.step;
	fact.n_progress = stand.n_progress;
	fact.stamp = stamp_read(line->text, line->body, &fact.time_ms);
	see_clock(self, line->text);
	if (signals[signal].words)
		line_excerpt(line, signals[signal].words, fact.text, sizeof(fact.text));
	return facts_keep(self, &fact);
}

void facts_expect(struct facts *self, const char *name)
{
	self->buffer->has_master = self->buffer->has_master || rank_is_master(name);
}

int facts_open_source(struct facts *self, const char *name, enum input input)
{
	struct source source = {.name = name, .input = input, .origin = self->origin};

	if (source.origin.rank == RANK_NONE && input != INPUT_NODE && input != INPUT_STATUS)
		source.origin.rank = rank_of_name(name, self->buffer->has_master);
	self->node.is_given = self->node.is_given || input == INPUT_NODE;
	self->n_groups = MAX(self->n_groups, source.origin.group);
	kernel_reset(&self->kernel);
	smi_reset(&self->smi);
	self->progress.n = 0;
	self->n_postponed = 0;
	self->open_oom = self->open_checkpoint = self->open_slurm = SIZE_MAX;
	self->slurm_head[0] = '\0';
	memset(self->ranks, 0, sizeof(self->ranks));
	self->first_position = self->positions.n;
	self->stepped = SIZE_MAX;
	self->most_progress = 0;
	self->head[0] = '\0';
	self->n_pod_facts = 0;
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
			self->numbers[i] = (struct seen_number){values[i], facts_current_index(self), number};
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
	struct source *source = facts_current_source(self);
	struct fact fact = make_fact(self, signal, reading, ++source->n_lines, source->origin.rank);

	fact.position = facts_find_position(self, fact.rank);
	if (self->status)
		return;
	set_position_of_group(self, &fact);
	line_excerpt(line, NULL, fact.text, sizeof(fact.text));
	facts_keep(self, &fact);
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

const struct fact *facts_first_that(const struct facts *self, enum signal_id signal,
				    bool (*test)(const struct facts *self, const struct fact *fact))
{
	const struct fact *first = NULL;

	for (size_t i = 0; i < self->items.n; i++) {
		const struct fact *fact = &self->items.items[i];

		if (fact->signal == signal && (!first || fact->order < first->order) && (!test || test(self, fact)))
			first = fact;
	}
	return first;
}

const struct fact *facts_first(const struct facts *self, enum signal_id signal)
{
	return facts_first_that(self, signal, NULL);
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
		    (self->items.items[i].reading.value == (int64_t)setting ||
		     setting_is_in(setting, self->items.items[i].text)))
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
