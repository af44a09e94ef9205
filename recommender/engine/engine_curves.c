/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine_internal.h"

#include <errno.h>
#include <stdlib.h>

int engine_want_curves(const struct learn *learn, struct collect *collect, struct wanted_curves *ret)
{
	int r = 0;

	for (size_t i = 0; i < collect->found.runs.n && !r; i++) {
		struct found_run *found = &collect->found.runs.items[i];
		const struct learned *item = curves_can_be_of(found) ? learn_find(learn, found) : NULL;

		if (item && item->history && learn_history_wants_curve(item->history, &found->run))
			r = vec_push(&ret->runs, found);
	}
	return r;
}

static int learn_them(struct engine *self, int64_t now_ms, const struct found_run *runs, size_t n,
		      struct engine_result *ret, struct err *err)
{
	struct learn learn = engine_begin_learn(self, now_ms);
	int r = learn_curves(&learn, runs, n, err);

	if (!r)
		r = engine_commit(self, &learn, NULL, ret, err);
	learn_release(&learn);
	return r;
}

int engine_learn_curves(struct engine *self, const struct collect *collect, struct wanted_curves *wanted,
			struct engine_result *ret, struct err *err)
{
	int came = curves_read(&self->curves, self->reader, wanted->runs.items, wanted->runs.n, self->between,
			       self->between_context);
	struct found_run *runs;
	size_t n = 0;
	int r;

	if (came <= 0)
		return came ? err_set(err, came, "no memory left for curves of runs") : 0;
	runs = calloc((size_t)came, sizeof(*runs));
	for (size_t i = 0; runs && i < wanted->runs.n; i++)
		if (wanted->runs.items[i]->run.n_curve)
			runs[n++] = *wanted->runs.items[i];
	r = runs ? learn_them(self, collect->now_ms, runs, n, ret, err)
		 : err_set(err, -ENOMEM, "no memory left for curves of runs");
	free(runs);
	if (r)
		curves_release(&self->curves); /* curves that are not in the store must be asked for again */
	return r;
}
