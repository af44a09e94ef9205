/* SPDX-License-Identifier: Apache-2.0 */
/* A client's timers, clock and random numbers. */
#include "base/hash.h"
#include "base/timefmt.h"
#include "kube/kube_internal.h"

int64_t kube_client_now_ms(const struct kube_client *self)
{
	return self->now_ms();
}

int64_t kube_client_random(struct kube_client *self, int64_t from, int64_t to)
{
	uint64_t random;

	self->random_state += (uint64_t)time_monotonic_ms() << 20 | 1;
	random = hash_seeded(&self->random_state, sizeof(self->random_state));
	return to > from ? from + (int64_t)(random % (uint64_t)(to - from)) : from;
}

void kube_timer_stop(struct kube_client *self, struct kube_timer *timer)
{
	struct kube_timer **at = &self->timers;

	if (!timer->is_set)
		return;
	while (*at != timer)
		at = &(*at)->next;
	*at = timer->next;
	timer->is_set = false;
}

/* The list is sorted by time; equal times keep the order in which they were set. */
void kube_timer_set(struct kube_client *self, struct kube_timer *timer, int64_t delay_ms)
{
	struct kube_timer **at = &self->timers;

	kube_timer_stop(self, timer);
	timer->due_ms = time_monotonic_ms() + MAX(delay_ms, 0);
	while (*at && (*at)->due_ms <= timer->due_ms)
		at = &(*at)->next;
	timer->next = *at;
	timer->is_set = true;
	*at = timer;
}
