/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/collect_parts.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "engine/collect_gaps.h"

#include <errno.h>

/* In three hours the scrape interval can be measured (evidence_usage_settle). */
#define SHORTEST_MS   (TIME_DAY_MS / 8)
#define LONG_AGAIN_MS TIME_DAY_MS

enum { STUCK_CYCLES = 3 };

static int64_t part_ms(const struct collect *self)
{
	return self->state.part_ms ? self->state.part_ms : TIME_DAY_MS;
}

int64_t collect_closed_until_ms(const struct collect *self)
{
	int64_t closed_ms = self->now_ms - COLLECT_SETTLE_MS;

	return closed_ms - closed_ms % MIN(part_ms(self), COLLECT_PART_MS);
}

int64_t collect_part_end_ms(const struct collect *self)
{
	int64_t start_ms = self->state.watermark_ms;

	return MIN(start_ms - start_ms % part_ms(self) + part_ms(self), collect_closed_until_ms(self));
}

int64_t collect_open_end_ms(const struct collect *self, int64_t start_ms)
{
	int64_t ms = part_ms(self);

	return self->is_unsettled ? MIN(start_ms - start_ms % ms + ms, self->now_ms) : self->now_ms;
}

/* A part divides a day. */
static void set_part(struct collect *self, int64_t longest_ms)
{
	int64_t ms = SHORTEST_MS;

	while (ms < TIME_DAY_MS && 2 * ms <= longest_ms)
		ms *= 2;
	self->state.part_ms = ms < TIME_DAY_MS ? ms : 0;
	self->state.part_since_ms = self->now_ms;
	self->has_changed_state = true;
}

void collect_begin_parts(struct collect *self)
{
	const struct collector_state *state = &self->state;
	int64_t age_ms = self->now_ms - state->part_since_ms;

	/* Or the clock was ahead, or the state is not ours. */
	if (state->part_ms &&
	    (age_ms >= LONG_AGAIN_MS || age_ms < 0 || state->part_ms < SHORTEST_MS || TIME_DAY_MS % state->part_ms))
		set_part(self, 2 * state->part_ms);
}

static void log_stuck(const struct evidence_window *window, const char *why)
{
	char from[TIME_TEXT_BYTES], to[TIME_TEXT_BYTES];

	log_event(LOG_WARN, "reading a window ended early in several cycles; it is read in shorter ones", "from",
		  time_render(window->start_ms, from), "to", time_render(window->end_ms, to), "error", why, NULL);
}

/* The namespaces are not known apart. If Prometheus is down, no window is to blame. */
static void note_gap(struct collect *self, const struct evidence_window *window, int status, const char *why)
{
	if (status == EVIDENCE_STOPPED || collect_check_answered(self, NULL) == 0)
		collect_note_gap(self, window, &(struct collect_namespaces){.n = 0}, why);
}

void collect_note_stuck(struct collect *self, const struct evidence_window *window, int status, const char *why)
{
	struct collector_state *state = &self->state;
	int64_t length_ms = window->end_ms - window->start_ms;
	bool is_again = state->stuck_cycles && (self->is_unsettled || state->stuck_at_ms == window->start_ms);

	if (status != EVIDENCE_STOPPED && status != EVIDENCE_UNREACHABLE && status != -EPROTO)
		return;
	state->stuck_cycles = is_again ? MIN(state->stuck_cycles + 1, STUCK_CYCLES) : 1;
	state->stuck_at_ms = is_again ? MIN(state->stuck_at_ms, window->start_ms) : window->start_ms;
	self->has_changed_state = true;
	if (state->stuck_cycles < STUCK_CYCLES)
		return;
	if (length_ms > SHORTEST_MS) {
		set_part(self, length_ms / 2);
		state->stuck_cycles--; /* shorter windows are tried once before anything else is done */
		log_stuck(window, why);
	} else if (!window->is_open && !self->is_unsettled) {
		note_gap(self, window, status, why);
	}
}

void collect_note_read(struct collect *self, const struct evidence_window *window)
{
	if (!self->state.stuck_cycles || window->end_ms <= self->state.stuck_at_ms ||
	    (self->is_unsettled && !window->is_open))
		return;
	self->has_changed_state = true;
	self->state.stuck_cycles = self->state.stuck_at_ms = 0;
}

bool collect_is_in_the_way(const struct collect *self, int64_t end_ms)
{
	return self->state.stuck_cycles == STUCK_CYCLES && self->state.stuck_at_ms >= end_ms;
}
