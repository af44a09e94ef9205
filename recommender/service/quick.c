/* SPDX-License-Identifier: Apache-2.0 */
#include "service/quick.h"

#include "base/timefmt.h"
#include "service/service.h"

/* Ends that belong together come within this time. */
#define GATHER_MS ((int64_t)200)
#define LEAST_MS  (1 * TIME_SECOND_MS)
#define RETRY_MS  (5 * TIME_SECOND_MS)
#define REST	  4
#define REST_MS	  (3 * TIME_SECOND_MS) /* nobody waits longer, however long the first one took */

int quick_pods(void *context, bool only_news, struct evidence_batch *batch)
{
	struct quick *self = context;
	struct pods *pods = self->service ? service_pods(self->service) : NULL;
	bool is_all = !only_news && !batch->window.start_ms;
	int r = pods ? pods_batch(pods, batch->window.end_ms, is_all ? 0 : self->told_seq, batch, &self->telling_seq)
		     : 1;

	if (!r)
		service_mark_refused(self->service, batch);
	return r;
}

void quick_written(void *context, int64_t now_ms)
{
	struct quick *self = context;

	self->told_seq = self->telling_seq;
	pods_written(service_pods(self->service), self->told_seq, now_ms);
}

int64_t quick_due_ms(const struct quick *self)
{
	int64_t since_ms = self->service ? service_urgent_since_ms(self->service) : 0;

	if (!since_ms && !self->has_failed)
		return INT64_MAX;
	/* The first one tells everything, and there is nothing to gather. */
	return MAX(since_ms && self->told_seq ? since_ms + GATHER_MS : since_ms, self->not_before_ms);
}

void quick_begin(struct quick *self)
{
	if (self->service)
		service_take_urgent(self->service);
}

void quick_end(struct quick *self, int64_t took_ms, bool has_failed)
{
	int64_t rest_ms = has_failed ? RETRY_MS : MIN(MAX(REST * took_ms, LEAST_MS), REST_MS);

	self->has_failed = has_failed;
	self->not_before_ms = time_monotonic_ms() + rest_ms;
}
