/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/current_state.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct config_share {
	struct config *config;
	size_t references; /* used by the control thread only, which makes and frees states */
};

/* A state with the number of its users. Being current counts as one user. */
struct counted {
	struct state state; /* first, because users have a pointer to it */
	struct config_share *config;
	size_t users;
	struct counted *next; /* in the list of idle states */
};

struct current_state {
	pthread_mutex_t mutex;
	struct counted *current;
	struct counted *idle; /* states without users; freed by the control thread */
};

struct config_share *config_share_new(struct config *take_config)
{
	struct config_share *self = take_config ? malloc(sizeof(*self)) : NULL;

	if (!self) {
		config_free(take_config);
		return NULL;
	}
	*self = (struct config_share){.config = take_config, .references = 1};
	return self;
}

void config_share_unref(struct config_share *self)
{
	if (!self || --self->references)
		return;
	config_free(self->config);
	free(self);
}

const struct config *config_share_get(const struct config_share *self)
{
	return self->config;
}

struct current_state *current_state_new(void)
{
	struct current_state *self = calloc(1, sizeof(*self));

	if (self && pthread_mutex_init(&self->mutex, NULL)) {
		free(self);
		return NULL;
	}
	return self;
}

/* Removes one user; the caller holds the mutex. */
static void drop_user(struct current_state *self, struct counted *counted)
{
	if (--counted->users)
		return;
	counted->next = self->idle;
	self->idle = counted;
}

void current_state_free(struct current_state *self)
{
	if (!self)
		return;
	if (self->current)
		drop_user(self, self->current);
	current_state_collect(self);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

const struct state *current_state_acquire(struct current_state *self)
{
	struct counted *counted;

	pthread_mutex_lock(&self->mutex);
	counted = self->current;
	if (counted)
		counted->users++;
	pthread_mutex_unlock(&self->mutex);
	return counted ? &counted->state : NULL;
}

void current_state_release(struct current_state *self, const struct state *state)
{
	if (!state)
		return;
	pthread_mutex_lock(&self->mutex);
	drop_user(self, (struct counted *)(uintptr_t)state);
	pthread_mutex_unlock(&self->mutex);
}

int current_state_replace(struct current_state *self, struct snapshot *take_snapshot, struct config_share *config)
{
	struct counted *counted = malloc(sizeof(*counted));

	if (!counted) {
		snapshot_unref(take_snapshot);
		return -ENOMEM;
	}
	config->references++;
	*counted = (struct counted){.state = {take_snapshot, config->config}, .config = config, .users = 1};
	pthread_mutex_lock(&self->mutex);
	if (self->current)
		drop_user(self, self->current);
	self->current = counted;
	pthread_mutex_unlock(&self->mutex);
	return 0;
}

size_t current_state_collect(struct current_state *self)
{
	struct counted *idle;
	size_t n = 0;

	pthread_mutex_lock(&self->mutex);
	idle = TAKE_PTR(self->idle);
	pthread_mutex_unlock(&self->mutex);
	while (idle) {
		struct counted *next = idle->next;

		snapshot_unref((struct snapshot *)(uintptr_t)idle->state.snapshot);
		config_share_unref(idle->config);
		free(idle);
		idle = next;
		n++;
	}
	return n;
}
