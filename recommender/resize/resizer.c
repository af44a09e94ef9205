/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/timefmt.h"
#include "resize/resizer_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So long a measured working set counts. */
#define USED_MS (3 * TIME_MINUTE_MS)
/* What rises, and got nothing, is asked for again within so long. */
#define RISES_MS (5 * TIME_MINUTE_MS)

/* ---- the queue ---- */

static bool is_same(const struct resize_ask *a, const struct resize_ask *b)
{
	return streq(a->uid, b->uid) && streq(a->container, b->container);
}

static bool is_under_way(const struct resizer *self, const struct resize_ask *ask)
{
	for (size_t i = 0; i < RESIZER_JOBS; i++)
		if (self->jobs[i] && !resizer_job_is_done(self->jobs[i]) &&
		    is_same(resizer_job_ask(self->jobs[i]), ask))
			return true;
	return false;
}

bool resizer_plans_on(const struct resizer *self, const char *node)
{
	for (size_t i = 0; i < RESIZER_JOBS && *node; i++)
		if (self->jobs[i] && resizer_job_is_planning(self->jobs[i]) &&
		    streq(resizer_job_ask(self->jobs[i])->node, node))
			return true;
	return false;
}

static void drop_ask(struct resizer *self, size_t index)
{
	self->asks.n--;
	memmove(self->asks.items + index, self->asks.items + index + 1,
		(self->asks.n - index) * sizeof(*self->asks.items));
}

/* The next one that nobody works on; NULL: there is none. A kill waits until its container is free, as it is told
 * once; what will reach its limit is told again. Both wait for what is being planned on their node, as they divide its
 * memory. */
static const struct resize_ask *find_ask(struct resizer *self, size_t *ret_index)
{
	for (*ret_index = 0; *ret_index < self->asks.n;) {
		const struct resize_ask *ask = &self->asks.items[*ret_index];
		bool is_taken = is_under_way(self, ask);

		if (!is_taken && !resizer_plans_on(self, ask->node))
			return ask;
		if (!is_taken || ask->kind == RESIZE_KIND_OOM)
			(*ret_index)++;
		else
			drop_ask(self, *ret_index);
	}
	return NULL;
}

/* NULL: there is nothing to do, or no memory for it: then the ask stays where it is. */
static struct resizer_job *take_job(struct resizer *self)
{
	struct resizer_job *job = NULL;
	const struct resize_ask *ask;
	size_t index;

	pthread_mutex_lock(&self->mutex);
	ask = find_ask(self, &index);
	if (ask)
		job = resizer_job_new(self, ask);
	if (job)
		drop_ask(self, index);
	pthread_mutex_unlock(&self->mutex);
	return job;
}

static void count_jobs(struct resizer *self)
{
	size_t n = 0;

	for (size_t i = 0; i < RESIZER_JOBS; i++)
		n += self->jobs[i] != NULL;
	pthread_mutex_lock(&self->mutex);
	self->n_jobs = n;
	pthread_mutex_unlock(&self->mutex);
}

void resizer_turn(struct resizer *self)
{
	bool has_more = true;

	for (size_t i = 0; i < RESIZER_JOBS; i++) {
		if (self->jobs[i] && resizer_job_is_done(self->jobs[i])) {
			resizer_job_free(self->jobs[i]);
			self->jobs[i] = NULL;
		}
		if (self->jobs[i] || !has_more)
			continue;
		self->jobs[i] = take_job(self);
		has_more = self->jobs[i] != NULL;
		if (has_more)
			resizer_job_begin(self->jobs[i]);
	}
	count_jobs(self);
}

static bool is_of_pod(const struct resize_ask *ask, const char *namespace_name, const char *pod)
{
	return streq(ask->pod, pod) && streq(ask->namespace_name, namespace_name);
}

static bool is_riser(const struct resizer_riser *riser, const char *namespace_name, const char *pod)
{
	return streq(riser->pod, pod) && streq(riser->namespace_name, namespace_name);
}

/* Those of long ago make room. */
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
		rises = self->jobs[i] && !resizer_job_is_done(self->jobs[i]) &&
			is_of_pod(resizer_job_ask(self->jobs[i]), namespace_name, pod);
	pthread_mutex_lock(&self->mutex);
	for (size_t i = 0; i < self->asks.n && !rises; i++)
		rises = is_of_pod(&self->asks.items[i], namespace_name, pod);
	for (size_t i = 0; i < self->risers.n && !rises; i++)
		rises = now_ms - self->risers.items[i].asked_ms < RISES_MS &&
			is_riser(&self->risers.items[i], namespace_name, pod);
	pthread_mutex_unlock(&self->mutex);
	return rises;
}

/* One of the same container that waits. */
static struct resize_ask *waiting_ask(const struct resizer *self, const struct resize_ask *ask)
{
	for (size_t i = 0; i < self->asks.n; i++)
		if (is_same(&self->asks.items[i], ask))
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
		*waiting = *ask; /* it was killed since */
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

/* ---- what pods use ---- */

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

/* ---- the resizer ---- */

int resizer_new(const struct resizer_config *config, struct resizer **ret, struct err *err)
{
	struct resizer *self = calloc(1, sizeof(*self));

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->config = *config;
	pthread_mutex_init(&self->mutex, NULL);
	*ret = self;
	return 0;
}

void resizer_free(struct resizer *self)
{
	if (!self)
		return;
	for (size_t i = 0; i < RESIZER_JOBS; i++)
		if (self->jobs[i])
			resizer_job_free(self->jobs[i]);
	resizer_set_used(self, NULL);
	vec_release(&self->asks);
	vec_release(&self->risers);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}
