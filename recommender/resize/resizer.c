/* SPDX-License-Identifier: Apache-2.0 */
#include "resize/resizer_job_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_under_way(const struct resizer *self, const struct resize_ask *ask)
{
	for (size_t i = 0; i < RESIZER_JOBS; i++)
		if (self->jobs[i] && !self->jobs[i]->is_done && resizer_is_same(&self->jobs[i]->ask, ask))
			return true;
	return false;
}

static void drop_ask(struct resizer *self, size_t index)
{
	self->asks.n--;
	memmove(self->asks.items + index, self->asks.items + index + 1,
		(self->asks.n - index) * sizeof(*self->asks.items));
}

/* The next request that can start; NULL: none. A request after a kill waits while its container is being resized, as it
 * is made only once; a request before a kill is dropped then, as it will be made again. Both wait while another job
 * plans on their node, as they share its memory. */
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

/* NULL: nothing to do, or out of memory; then the request stays queued. */
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
		if (self->jobs[i] && self->jobs[i]->is_done) {
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
