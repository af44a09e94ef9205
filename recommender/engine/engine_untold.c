/* SPDX-License-Identifier: Apache-2.0 */
/* engine_untold: what a cycle found, until it is told. A history is written before its profile, so that a commit that
 * fails half-way leaves harm in the store that is news to nobody any more; and harm that was not written is found
 * again. Therefore all of it is kept, and what is found again counts once. */
#include "engine/engine_internal.h"

#include <errno.h>
#include <string.h>

enum { KEPT = 1024 }; /* from cycle to cycle, while nothing can be written */

#define DROP_OLD(v)                                                                                                    \
	do {                                                                                                           \
		size_t drop_ = (v)->n > KEPT ? (v)->n - KEPT : 0;                                                      \
		if (drop_)                                                                                             \
			memmove((v)->items, (v)->items + drop_, KEPT * sizeof(*(v)->items));                           \
		(v)->n -= drop_;                                                                                       \
	} while (0)

static bool is_kept(const struct engine *self, size_t n, const struct learned_harm *harm)
{
	for (size_t i = 0; i < n; i++)
		if (learned_harm_is_same(&self->untold_harms.items[i], harm))
			return true;
	return false;
}

static int keep_harms(struct engine *self, const struct learn *learn)
{
	size_t n = self->untold_harms.n; /* those of one cycle are told apart already */
	int r = 0;

	for (size_t i = 0; i < learn->harms.n && !r; i++)
		if (!is_kept(self, n, &learn->harms.items[i]))
			r = vec_push(&self->untold_harms, learn->harms.items[i]);
	return r;
}

static struct notice *find_notice(const struct engine *self, size_t n, const struct notice *notice)
{
	for (size_t i = 0; i < n; i++) {
		struct notice *kept = &self->untold.items[i];

		if (kept->kind == notice->kind && streq(kept->subject, notice->subject) &&
		    streq(kept->owner, notice->owner) && streq(kept->namespace_name, notice->namespace_name))
			return kept;
	}
	return NULL;
}

/* The later one of a subject says more; it is as new as the first one, which nobody heard. */
static int keep_notice(struct engine *self, size_t n, const struct notice *notice)
{
	struct notice *kept = find_notice(self, n, notice);
	bool is_update = notice->is_update && (!kept || kept->is_update);

	if (!kept)
		return vec_push(&self->untold, *notice);
	*kept = *notice;
	kept->is_update = is_update;
	return 0;
}

int engine_keep_untold(struct engine *self, struct learn *learn)
{
	size_t n;
	int r = caps_note_harm(&self->caps, learn);

	DROP_OLD(&self->untold_harms);
	DROP_OLD(&self->untold);
	n = self->untold.n;
	r = r ? r : keep_harms(self, learn);
	for (size_t i = 0; i < learn->notices.n && !r; i++)
		r = keep_notice(self, n, &learn->notices.items[i]);
	learn->harms.n = learn->notices.n = 0;
	return r;
}
