/* SPDX-License-Identifier: Apache-2.0 */
/* What of a status is not well. */
#include "report/status.h"

bool status_is_lost(const struct status *self, const struct evidence_finding *finding)
{
	return !finding->is_present && !(self->has_cycle && self->cycle.watches_pods && finding->is_of_pods);
}

bool status_is_silent(const struct status *self)
{
	return self->has_cycle && self->cycle.silent_after_ms > 0 &&
	       self->now_ms - self->cycle.time_ms > self->cycle.silent_after_ms;
}

bool status_is_partial(const struct status *self)
{
	bool is_partial = self->n_bad || self->n_ignored || !self->has_cycle || (!self->is_asked && !self->n_findings);

	if (self->has_cycle)
		is_partial |= !streq(self->cycle.result, "done") || status_is_silent(self) ||
			      (!streq(self->cycle.webhook, "reached") && !streq(self->cycle.webhook, "not-asked"));
	for (size_t i = 0; i < self->n_findings; i++)
		is_partial |= status_is_lost(self, &self->findings[i]) && !self->findings[i].without;
	return is_partial;
}
