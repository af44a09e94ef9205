/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/collect_warnings.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "engine/collect_parts.h"

#include <stdio.h>

bool collect_ignores_warnings(const struct collect *self)
{
	const struct collector_state *state = &self->state;

	return state->warned_since_ms && self->now_ms - state->warned_since_ms >= COLLECT_WARNED_MS;
}

void collect_begin_warnings(struct collect *self)
{
	struct collector_state *state = &self->state;
	char since[TIME_TEXT_BYTES], from[TIME_TEXT_BYTES];

	/* The clock was ahead. */
	if (state->warned_since_ms > self->now_ms + TIME_MINUTE_MS)
		state->warned_since_ms = state->warned_from_ms = 0;
	if (!collect_ignores_warnings(self) || !state->warned_from_ms)
		return;
	log_event(LOG_WARN,
		  "every answer of Prometheus has a warning; it is ignored from now on, and the days that were read "
		  "with it are read again",
		  "since", time_render(state->warned_since_ms, since), "from", time_render(state->warned_from_ms, from),
		  NULL);
	collector_state_read_again(state, state->warned_from_ms, self->oldest_ms);
	state->warned_from_ms = 0;
	self->has_changed_state = true;
}

void collect_note_answer(struct collect *self, struct evidence_batch *batch)
{
	if (!batch->is_partial) {
		self->has_whole_answer |= batch->window.end_ms <= collect_closed_until_ms(self);
		return;
	}
	if (!self->warning[0])
		snprintf(self->warning, sizeof(self->warning), "%s", batch->warning[0] ? batch->warning : "(no text)");
	if (collect_ignores_warnings(self))
		batch->is_partial = false;
}

void collect_note_warned_day(struct collect *self, int64_t start_ms)
{
	struct collector_state *state = &self->state;
	int64_t from_ms = MIN(state->open_from_ms, start_ms);

	state->warned_from_ms = state->warned_from_ms ? MIN(state->warned_from_ms, from_ms) : from_ms;
}

void collect_end_warnings(struct collect *self)
{
	struct collector_state *state = &self->state;

	if (self->has_whole_answer ? !state->warned_since_ms && !state->warned_from_ms
				   : state->warned_since_ms || !self->warning[0])
		return;
	state->warned_since_ms = self->has_whole_answer ? 0 : self->now_ms;
	if (self->has_whole_answer)
		state->warned_from_ms = 0;
	self->has_changed_state = true;
}
