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

static void drop_first(struct outbox *self)
{
	self->items.n--;
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there are items */
	memmove(self->items.items, self->items.items + 1, self->items.n * sizeof(*self->items.items));
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
		known->notice.is_update = false; /* the notice that it replaces was not sent yet */
	} else if (!notice->is_update) {
		if (self->items.n == OUTBOX_MAX)
			drop_first(self);
		(void)!vec_push(&self->items, waiting); /* best effort: the history has the entry */
	}
	pthread_mutex_unlock(&self->mutex);
}

bool outbox_take(struct outbox *self, int64_t now_ms, struct notice *ret)
{
	bool is_any;

	pthread_mutex_lock(&self->mutex);
	while (self->items.n && now_ms - self->items.items[0].since_ms > OUTBOX_KEPT_MS)
		drop_first(self);
	is_any = self->items.n && now_ms - self->items.items[0].since_ms >= OUTBOX_SETTLE_MS;
	if (is_any) {
		*ret = self->items.items[0].notice;
		drop_first(self);
	}
	pthread_mutex_unlock(&self->mutex);
	return is_any;
}
