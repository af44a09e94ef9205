/* SPDX-License-Identifier: Apache-2.0 */
/* pods_batch: sightings as evidence. A run is told whole or not at all: where something is new of one of its pods, all
 * its pods are told, and none as long as the chain of owners of one of them is not known, because half a run would look
 * like a smaller one. */
#include "base/timefmt.h"
#include "pods/pods_internal.h"
#include "runs/fold.h"

#include <errno.h>

enum { GONE_AFTER_MS = FOLD_RETRY_MS + 5 * 60 * 1000, GONE_MAX = 20000 };

/* ---- sets of runs ---- */

struct run_set {
	VEC(uint64_t) hashes; /* sorted once it is whole */
	int status;
};

static void run_set_add(struct run_set *self, uint64_t hash)
{
	if (vec_push(&self->hashes, hash))
		self->status = -ENOMEM;
}

static int compare_hashes(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void run_set_sort(struct run_set *self)
{
	if (self->hashes.n)
		qsort(self->hashes.items, self->hashes.n, sizeof(uint64_t), compare_hashes);
}

static bool run_set_has(const struct run_set *self, uint64_t hash)
{
	return self->hashes.n &&
	       bsearch(&hash, self->hashes.items, self->hashes.n, sizeof(uint64_t), compare_hashes) != NULL;
}

/* ---- telling ---- */

struct telling {
	int64_t since_seq, now_ms;
	struct run_set news, unknown; /* runs with news; runs of which an owner is not known yet */
	struct evidence_batch *batch;
	int status;
};

/* Its run was there in the window that is asked for. */
static bool is_within(const struct telling *self, const struct sighting *sighting)
{
	int64_t start_ms = self->batch->window.start_ms;

	return start_ms > 0 && (!sighting_is_over(sighting) || sighting->end_ms >= start_ms - FOLD_RETRY_MS);
}

static bool gather(void *context, const struct sighting *sighting)
{
	struct telling *self = context;

	if (self->since_seq > 0 && (sighting->changed_seq > self->since_seq || is_within(self, sighting)))
		run_set_add(&self->news, sighting->run_hash);
	if (!sighting->is_root_known)
		run_set_add(&self->unknown, sighting->run_hash);
	return true;
}

/* One that waits for a node has not begun to run, and tells nothing about a size yet, unless it is memory that it waits
 * for. */
static bool has_begun(const struct sighting *sighting)
{
	return sighting->start_ms || sighting->end_ms || sighting->ends & END_UNSCHEDULABLE_MEMORY;
}

static bool tell(void *context, const struct sighting *sighting)
{
	struct telling *self = context;

	if (!has_begun(sighting) || run_set_has(&self->unknown, sighting->run_hash) ||
	    (self->since_seq > 0 && !run_set_has(&self->news, sighting->run_hash)))
		return true;
	self->status = sighting_tell(sighting, self->now_ms, self->batch);
	return self->status == 0;
}

static int tell_all(struct pods *self, struct telling *telling)
{
	(void)pods_visit_all(self, gather, telling);
	if (telling->news.status || telling->unknown.status)
		return -ENOMEM;
	run_set_sort(&telling->news);
	run_set_sort(&telling->unknown);
	telling->batch->is_partial = telling->unknown.hashes.n > 0;
	(void)pods_visit_all(self, tell, telling);
	return telling->status;
}

int pods_batch(struct pods *self, int64_t now_ms, int64_t since_seq, struct evidence_batch *batch, int64_t *ret_seq)
{
	struct telling telling = {.since_seq = since_seq, .now_ms = now_ms, .batch = batch};
	int r = 1;

	pthread_mutex_lock(&self->mutex);
	if (self->is_synced) {
		r = tell_all(self, &telling);
		if (!r && ret_seq)
			*ret_seq = self->seq;
	}
	pthread_mutex_unlock(&self->mutex);
	vec_release(&telling.news.hashes);
	vec_release(&telling.unknown.hashes);
	return r;
}

/* ---- forgetting ---- */

static bool gather_alive(void *context, const struct sighting *sighting)
{
	if (!sighting_is_over(sighting))
		run_set_add(context, sighting->run_hash);
	return true;
}

static bool is_done_with(const struct sighting *sighting, const struct run_set *alive, int64_t seq, int64_t now_ms)
{
	return sighting->changed_seq <= seq && now_ms - sighting->end_ms > GONE_AFTER_MS &&
	       !run_set_has(alive, sighting->run_hash);
}

void pods_written(struct pods *self, int64_t seq, int64_t now_ms)
{
	struct run_set alive = {.status = 0};
	size_t kept = 0;

	pthread_mutex_lock(&self->mutex);
	if (self->gone.n) {
		(void)pods_visit_all(self, gather_alive, &alive);
		run_set_sort(&alive);
	}
	for (size_t i = 0; i < self->gone.n && !alive.status; i++) {
		struct sighting *sighting = self->gone.items[i];
		/* A table that only grows would be worse than a run that forgets its first attempts. */
		bool is_surplus = self->gone.n - i + kept > GONE_MAX && sighting->changed_seq <= seq;

		if (is_surplus || is_done_with(sighting, &alive, seq, now_ms))
			sighting_free(sighting);
		else
			self->gone.items[kept++] = sighting;
	}
	if (!alive.status)
		self->gone.n = kept;
	pthread_mutex_unlock(&self->mutex);
	vec_release(&alive.hashes);
}
