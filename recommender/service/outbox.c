/* SPDX-License-Identifier: Apache-2.0 */
#include "service/outbox.h"

#include "base/str.h"
#include "base/vec.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct waiting {
	int64_t since_ms;
	struct notice notice;
};

struct outbox {
	pthread_mutex_t mutex;
	VEC(struct waiting) items; /* oldest first */
};

struct outbox *outbox_new(void)
{
	struct outbox *self = calloc(1, sizeof(*self));

	if (self)
		pthread_mutex_init(&self->mutex, NULL);
	return self;
}

void outbox_free(struct outbox *self)
{
	if (!self)
		return;
	vec_release(&self->items);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

static void drop(struct outbox *self, size_t at)
{
	if (at >= self->items.n)
		return;
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there are items */
	memmove(&self->items.items[at], &self->items.items[at + 1],
		(self->items.n - at - 1) * sizeof(*self->items.items));
	self->items.n--;
}

static struct waiting *find(struct outbox *self, const struct notice *notice)
{
	for (size_t i = 0; i < self->items.n; i++) {
		const struct notice *other = &self->items.items[i].notice;

		if (streq(other->subject, notice->subject) && streq(other->namespace_name, notice->namespace_name) &&
		    streq(other->owner, notice->owner))
			return &self->items.items[i];
	}
	return NULL;
}

void outbox_put(struct outbox *self, const struct notice *notice, int64_t now_ms)
{
	struct waiting *known, waiting = {.since_ms = now_ms, .notice = *notice};

	pthread_mutex_lock(&self->mutex);
	known = find(self, notice);
	if (known) {
		known->notice = *notice;
		known->notice.is_update = false; /* the one that it takes the place of was to be told */
	} else if (!notice->is_update) {
		if (self->items.n == OUTBOX_MAX)
			drop(self, 0);
		(void)!vec_push(&self->items, waiting); /* best effort: it stands in the history */
	}
	pthread_mutex_unlock(&self->mutex);
}

static void drop_stale(struct outbox *self, int64_t now_ms)
{
	while (self->items.n && now_ms - self->items.items[0].since_ms > OUTBOX_KEPT_MS)
		drop(self, 0);
}

bool outbox_take(struct outbox *self, int64_t now_ms, struct notice *ret)
{
	bool is_any;

	pthread_mutex_lock(&self->mutex);
	drop_stale(self, now_ms);
	is_any = self->items.n && now_ms - self->items.items[0].since_ms >= OUTBOX_SETTLE_MS;
	if (is_any) {
		*ret = self->items.items[0].notice;
		drop(self, 0);
	}
	pthread_mutex_unlock(&self->mutex);
	return is_any;
}
