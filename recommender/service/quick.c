/* SPDX-License-Identifier: Apache-2.0 */
#include "service/quick.h"

#include "base/timefmt.h"
#include "service/service.h"

/* Ends that belong together arrive within this time. */
#define GATHER_MS ((int64_t)200)
#define LEAST_MS  (1 * TIME_SECOND_MS)
#define RETRY_MS  (5 * TIME_SECOND_MS)
#define REST	  4
#define REST_MS	  (3 * TIME_SECOND_MS) /* maximum delay, however long the last quick cycle took */

int quick_pods(void *context, bool only_news, struct evidence_batch *batch)
{
	struct quick *self = context;
	struct replica *replica = service_replica(self->service);
	bool is_all = !only_news && !batch->window.start_ms;
	int r = pods_batch(replica_pods(replica), batch->window.end_ms, is_all ? 0 : self->told_seq, batch,
			   &self->telling_seq);

	if (!r)
		replica_mark_refused(replica, batch);
	return r;
}

void quick_written(void *context, int64_t now_ms)
{
	struct quick *self = context;

	self->told_seq = self->telling_seq;
	pods_written(replica_pods(service_replica(self->service)), self->told_seq, now_ms);
}

int64_t quick_due_ms(const struct quick *self)
{
	int64_t since_ms = self->service ? service_urgent_since_ms(self->service) : 0;

	if (!since_ms && !self->has_failed)
		return INT64_MAX;
	/* The first quick cycle gets all pods anyway, so it need not wait for more. */
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
