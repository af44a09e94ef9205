/* SPDX-License-Identifier: Apache-2.0 */
/* pods_batch: converts sightings to evidence. A run is reported with all of its pods or not at all, because half a run
 * would look like a smaller run. If one pod changed, all pods of its run are reported; if the owner chain of one pod is
 * not known, none is. */
#include "base/hash.h"
#include "base/timefmt.h"
#include "pods/pods_internal.h"
#include "runs/fold.h"

#include <errno.h>

enum { GONE_AFTER_MS = FOLD_RETRY_MS + 5 * 60 * 1000, GONE_MAX = 20000 };

/* ---- sets of runs ---- */

struct run_set {
	VEC(uint64_t) hashes; /* sorted by run_set_sort, before run_set_has */
	int status;
};

static void run_set_add(struct run_set *self, uint64_t hash)
{
	if (vec_push(&self->hashes, hash))
		self->status = -ENOMEM;
}

static void run_set_sort(struct run_set *self)
{
	if (self->hashes.n)
		qsort(self->hashes.items, self->hashes.n, sizeof(uint64_t), hash_compare);
}

static bool run_set_has(const struct run_set *self, uint64_t hash)
{
	return self->hashes.n &&
	       bsearch(&hash, self->hashes.items, self->hashes.n, sizeof(uint64_t), hash_compare) != NULL;
}

/* ---- reporting ---- */

struct telling {
	int64_t since_seq, now_ms;
	/* news: runs with changes; unknown: runs with a pod whose topmost owner is not known */
	struct run_set news, unknown;
	struct evidence_batch *batch;
	int status;
};

/* Whether the run may have existed in the batch's window. */
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

/* A pod that is not scheduled has not begun to run and is no evidence about a size, unless it waits because of its
 * size. */
static bool has_begun(const struct sighting *sighting)
{
	return sighting->start_ms || sighting->end_ms || sighting->ends & END_UNSCHEDULABLE;
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

static int tell_synced(struct pods *self, struct telling *telling, int64_t *ret_seq)
{
	int r = 1;

	pthread_mutex_lock(&self->mutex);
	if (self->is_synced) {
		r = tell_all(self, telling);
		if (!r && ret_seq)
			*ret_seq = self->seq;
	}
	pthread_mutex_unlock(&self->mutex);
	vec_release(&telling->news.hashes);
	vec_release(&telling->unknown.hashes);
	return r;
}

int pods_batch(struct pods *self, int64_t now_ms, int64_t since_seq, struct evidence_batch *batch, int64_t *ret_seq)
{
	struct telling telling = {.since_seq = since_seq, .now_ms = now_ms, .batch = batch};

	return tell_synced(self, &telling, ret_seq);
}

int pods_batch_run(struct pods *self, int64_t now_ms, uint64_t run_hash, struct evidence_batch *batch)
{
	struct telling telling = {.since_seq = INT64_MAX, .now_ms = now_ms, .batch = batch};

	run_set_add(&telling.news, run_hash);
	return tell_synced(self, &telling, NULL);
}

/* ---- deletion of old sightings ---- */

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
		/* The table is bounded: above GONE_MAX a run may lose its first attempts. */
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
