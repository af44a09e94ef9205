/* SPDX-License-Identifier: Apache-2.0 */
#include "service/overdue_pods.h"

/* A pod became overdue if the start of its wait is between these times. */
struct range {
	int64_t from_ms, to_ms;
};

static bool is_overdue(void *context, const struct sighting *sighting)
{
	const struct range *self = context;
	int64_t since_ms = sighting->room_since_ms - sighting->room_waited_ms; /* as if it had waited without a break */

	return sighting->room_since_ms && since_ms > self->from_ms && since_ms <= self->to_ms;
}

void overdue_pods_start(struct overdue_pods *self, int64_t now_ms)
{
	*self = (struct overdue_pods){.until_ms = now_ms};
}

bool overdue_pods_turn(struct overdue_pods *self, struct pods *pods, int64_t after_ms, int64_t monotonic_ms,
		       int64_t now_ms)
{
	struct range range = {self->until_ms - after_ms, now_ms - after_ms};

	if (self->turned_ms && monotonic_ms < self->turned_ms + OVERDUE_TURN_MS)
		return false;
	self->turned_ms = monotonic_ms;
	if (range.from_ms < range.to_ms)
		pods_touch(pods, is_overdue, &range);
	self->until_ms = now_ms; /* earlier than before, if the clock was set back */
	return true;
}
