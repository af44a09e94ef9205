/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/untold.h"

#include "base/hash.h"

#include <string.h>

void untold_init(struct untold *self)
{
	*self = (struct untold){.next = 0};
	pthread_mutex_init(&self->mutex, NULL);
}

void untold_release(struct untold *self)
{
	pthread_mutex_destroy(&self->mutex);
}

static uint64_t hash_of(const char *uid)
{
	uint64_t hash = hash_seeded(uid, strlen(uid));

	return hash ? hash : 1;
}

/* Under the mutex. */
static struct untold_owner *owner_of(struct untold *self, uint64_t hash)
{
	for (size_t i = 0; i < UNTOLD_MAX; i++) {
		if (self->owners[i].hash == hash)
			return &self->owners[i];
	}
	return NULL;
}

void untold_add(struct untold *self, const char *uid, int64_t now_ms)
{
	uint64_t hash = hash_of(uid);
	struct untold_owner *owner;

	pthread_mutex_lock(&self->mutex);
	owner = owner_of(self, hash);
	if (owner && now_ms - owner->since_ms >= UNTOLD_MEMORY_MS) {
		owner->since_ms = now_ms;
	} else if (!owner) {
		self->owners[self->next] = (struct untold_owner){.hash = hash, .since_ms = now_ms};
		self->next = (self->next + 1) % UNTOLD_MAX;
	}
	pthread_mutex_unlock(&self->mutex);
}

bool untold_is_given_up(struct untold *self, const char *uid, int64_t now_ms)
{
	const struct untold_owner *owner;
	int64_t age_ms;

	pthread_mutex_lock(&self->mutex);
	owner = owner_of(self, hash_of(uid));
	age_ms = owner ? now_ms - owner->since_ms : 0;
	pthread_mutex_unlock(&self->mutex);
	return age_ms >= UNTOLD_PATIENCE_MS && age_ms < UNTOLD_MEMORY_MS;
}
