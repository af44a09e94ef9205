/* SPDX-License-Identifier: Apache-2.0 */
/* resizer_queue: what other threads hand to the resizer: requests, and what pods use; and what its jobs ask about both.
 */
#include "base/limits.h"
#include "resize/resizer_job_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How long a measured working set counts. */
#define USED_MS (3 * TIME_MINUTE_MS)
/* A container whose use rises, and that got nothing, is requested again within this time. */
#define RISES_MS (5 * TIME_MINUTE_MS)

bool resizer_is_same(const struct resize_ask *a, const struct resize_ask *b)
{
	return streq(a->uid, b->uid) && streq(a->container, b->container);
}

bool resizer_plans_on(const struct resizer *self, const char *node)
{
	for (size_t i = 0; i < RESIZER_JOBS && *node; i++)
		if (self->jobs[i] && self->jobs[i]->is_planning && streq(self->jobs[i]->ask.node, node))
			return true;
	return false;
}

static bool is_of_pod(const struct resize_ask *ask, const char *namespace_name, const char *pod)
{
	return streq(ask->pod, pod) && streq(ask->namespace_name, namespace_name);
}

static bool is_riser(const struct resizer_riser *riser, const char *namespace_name, const char *pod)
{
	return streq(riser->pod, pod) && streq(riser->namespace_name, namespace_name);
}

/* Old entries are removed. */
static int note_riser(struct resizer *self, const struct resize_ask *ask)
{
	struct resizer_riser riser = {.asked_ms = time_monotonic_ms()};

	snprintf(riser.namespace_name, sizeof(riser.namespace_name), "%s", ask->namespace_name);
	snprintf(riser.pod, sizeof(riser.pod), "%s", ask->pod);
	for (size_t i = 0; i < self->risers.n;) {
		struct resizer_riser *one = &self->risers.items[i];

		if (is_riser(one, riser.namespace_name, riser.pod) || riser.asked_ms - one->asked_ms >= RISES_MS)
			*one = self->risers.items[--self->risers.n];
		else
			i++;
	}
	return vec_push(&self->risers, riser);
}

bool resizer_rises(struct resizer *self, const char *namespace_name, const char *pod)
{
	int64_t now_ms = time_monotonic_ms();
	bool rises = false;

	for (size_t i = 0; i < RESIZER_JOBS && !rises; i++)
		rises = self->jobs[i] && !self->jobs[i]->is_done && is_of_pod(&self->jobs[i]->ask, namespace_name, pod);
	pthread_mutex_lock(&self->mutex);
	for (size_t i = 0; i < self->asks.n && !rises; i++)
		rises = is_of_pod(&self->asks.items[i], namespace_name, pod);
	for (size_t i = 0; i < self->risers.n && !rises; i++)
		rises = now_ms - self->risers.items[i].asked_ms < RISES_MS &&
			is_riser(&self->risers.items[i], namespace_name, pod);
	pthread_mutex_unlock(&self->mutex);
	return rises;
}

/* A queued request for the same container. */
static struct resize_ask *waiting_ask(const struct resizer *self, const struct resize_ask *ask)
{
	for (size_t i = 0; i < self->asks.n; i++)
		if (resizer_is_same(&self->asks.items[i], ask))
			return &self->asks.items[i];
	return NULL;
}

int resizer_post(struct resizer *self, const struct resize_ask *ask)
{
	struct resize_ask *waiting;
	int r;

	pthread_mutex_lock(&self->mutex);
	waiting = waiting_ask(self, ask);
	r = note_riser(self, ask);
	if (!r && !waiting)
		r = self->asks.n < LIMIT_RESIZE_ASKS ? vec_push(&self->asks, *ask) : -EAGAIN;
	else if (!r && ask->kind == RESIZE_KIND_OOM)
		*waiting = *ask; /* the container was killed since */
	pthread_mutex_unlock(&self->mutex);
	return r;
}

size_t resizer_count(struct resizer *self)
{
	size_t n;

	pthread_mutex_lock(&self->mutex);
	n = self->asks.n + self->n_jobs;
	pthread_mutex_unlock(&self->mutex);
	return n;
}

void resizer_set_used(struct resizer *self, struct resize_used *take_used)
{
	struct resize_used *before;

	pthread_mutex_lock(&self->mutex);
	before = self->used;
	self->used = take_used;
	self->used_ms = time_monotonic_ms();
	pthread_mutex_unlock(&self->mutex);
	if (before)
		before->free(before);
}

int64_t resizer_used_bytes(struct resizer *self, const char *namespace_name, const char *pod)
{
	int64_t bytes = -1;
	const int64_t *found;
	char key[520];

	snprintf(key, sizeof(key), "%s/%s", namespace_name, pod);
	pthread_mutex_lock(&self->mutex);
	if (self->used && time_monotonic_ms() - self->used_ms < USED_MS) {
		found = strmap_get(&self->used->pods, key);
		bytes = found ? *found : -1;
	}
	pthread_mutex_unlock(&self->mutex);
	return bytes;
}
