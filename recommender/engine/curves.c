/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/curves.h"

#include "base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SAMPLES_PER_STEP = 2, /* of fewer, late scrapes would leave steps empty */
	STEPS_MIN = 8,
	BATCH = 32,
	ASKED_MAX = 65536, /* then they are forgotten: what is asked again is bounded as ever */
	KEY_BYTES = LIMIT_NAMESPACE_BYTES + LIMIT_KEY_BYTES + 2 * LIMIT_NAME_BYTES,
};

void curves_release(struct curves *self)
{
	strmap_release(&self->asked);
	arena_release(&self->arena);
}

/* 0: too short. */
static int steps_of(const struct run_widest *widest)
{
	int64_t length_ms = widest->end_ms - widest->start_ms;
	int64_t steps = widest->step_ms > 0 ? length_ms / (SAMPLES_PER_STEP * widest->step_ms) : 0;

	return steps >= STEPS_MIN ? (int)MIN(steps, LIMIT_CURVE_POINTS) : 0;
}

static bool is_wanted(const struct found_run *found)
{
	return found->summary.run.is_whole && *found->summary.widest.pod && steps_of(&found->summary.widest) > 0;
}

/* The newest first; of the same run the one that was found last, which replaces the others. */
static int compare_found(const void *a, const void *b)
{
	const struct found_run *x = *(struct found_run *const *)a, *y = *(struct found_run *const *)b;
	int64_t p = x->summary.run.start_ms, q = y->summary.run.start_ms;

	return p != q ? (p < q) - (p > q) : (x < y) - (x > y);
}

/* What is being chosen, of which workloads how many. */
struct choice {
	struct found_run *items[LIMIT_CYCLE_CURVES];
	size_t n;
	struct strmap counts;
	struct arena arena;
};

/* Has its workload enough of them? Counts it if not. @return 0; 1 enough; -ENOMEM. */
static int count_workload(struct choice *self, const struct found_run *found)
{
	const struct identity *identity = &found->summary.identity;
	const char *workload = identity->n_keys ? identity->keys[0].text : found->summary.run.name;
	char text[KEY_BYTES], *key;
	uintptr_t n;

	snprintf(text, sizeof(text), "%s %s %s %s", found->namespace_name, workload, identity->role, found->container);
	n = (uintptr_t)strmap_get(&self->counts, text);
	if (n >= LIMIT_HISTORY_CURVES)
		return 1;
	key = arena_strdup(&self->arena, text);
	return key ? strmap_put(&self->counts, key, (void *)(n + 1)) : -ENOMEM;
}

/* Was it asked for before? From now on it was. @return 0; 1 it was; -ENOMEM. */
static int mark_asked(struct curves *self, const struct found_run *found)
{
	char text[KEY_BYTES], *key;

	snprintf(text, sizeof(text), "%s %s %s", found->summary.run.uid, found->summary.identity.role,
		 found->container);
	if (strmap_has(&self->asked, text))
		return 1;
	key = arena_strdup(&self->arena, text);
	return key ? strmap_put(&self->asked, key, NULL) : -ENOMEM;
}

static int choose(struct curves *self, struct found_run **wanted, size_t n, struct choice *ret)
{
	qsort(wanted, n, sizeof(*wanted), compare_found);
	for (size_t i = 0; i < n && ret->n < LIMIT_CYCLE_CURVES; i++) {
		int r = count_workload(ret, wanted[i]);

		r = r ? r : mark_asked(self, wanted[i]);
		if (r < 0)
			return r;
		if (r == 0)
			ret->items[ret->n++] = wanted[i];
	}
	return 0;
}

/* The last value before, at the start the first one after. */
static void fill_gaps(int64_t *points, int n)
{
	int known = 0;

	while (known < n && points[known] < 0)
		known++;
	for (int i = 0; i < n && known < n; i++)
		if (points[i] < 0)
			points[i] = i < known ? points[known] : points[i - 1];
}

void curve_settle(const struct evidence_curve *curve, struct run *run)
{
	int n_known = 0;

	for (int i = 0; i < curve->n; i++)
		n_known += curve->max_bytes[i] >= 0 && curve->mean_bytes[i] >= 0;
	if (curve->n <= 0 || n_known * 4 < curve->n * 3)
		return;
	run->n_curve = curve->n;
	memcpy(run->curve_max, curve->max_bytes, sizeof(run->curve_max));
	memcpy(run->curve_mean, curve->mean_bytes, sizeof(run->curve_mean));
	fill_gaps(run->curve_max, run->n_curve);
	fill_gaps(run->curve_mean, run->n_curve);
	for (int i = 0; i < run->n_curve; i++) {
		run->curve_max[i] = MIN(run->curve_max[i], run->peak_bytes);
		run->curve_mean[i] = MIN(run->curve_mean[i], run->curve_max[i]);
	}
}

/* @return what the reader does. */
static int read_batch(struct evidence_reader *reader, struct found_run *const *items, size_t n)
{
	struct evidence_curve curves[BATCH];
	struct err ignored = ERR_INIT;
	int r;

	for (size_t i = 0; i < n; i++) {
		const struct run_widest *widest = &items[i]->summary.widest;

		curves[i] = (struct evidence_curve){.namespace_name = items[i]->namespace_name,
						    .pod = widest->pod,
						    .container = items[i]->container,
						    .start_ms = widest->start_ms,
						    .end_ms = widest->end_ms,
						    .n = steps_of(widest)};
	}
	r = reader->curves(reader, curves, n, &ignored);
	for (size_t i = 0; i < n && !r; i++)
		curve_settle(&curves[i], &items[i]->summary.run);
	return r;
}

static int read_choice(struct evidence_reader *reader, const struct choice *choice, void (*between)(void *context),
		       void *between_context)
{
	int r = 0;

	for (size_t i = 0; i < choice->n && !r; i += BATCH) {
		r = read_batch(reader, &choice->items[i], MIN(choice->n - i, (size_t)BATCH));
		if (between)
			between(between_context);
	}
	return r;
}

int curves_read(struct curves *self, struct evidence_reader *reader, struct found_run *runs, size_t n,
		void (*between)(void *context), void *between_context)
{
	struct choice *choice = calloc(1, sizeof(*choice));
	struct found_run **wanted = calloc(n + 1, sizeof(struct found_run *));
	size_t n_wanted = 0;
	int r = choice && wanted ? 0 : -ENOMEM;

	if (self->asked.n > ASKED_MAX)
		curves_release(self);
	if (!self->arena.max_bytes)
		self->arena = (struct arena)ARENA_INIT(LIMIT_EVIDENCE_BYTES);
	for (size_t i = 0; i < n && !r && reader && reader->curves; i++)
		if (is_wanted(&runs[i]))
			wanted[n_wanted++] = &runs[i];
	if (!r) {
		choice->arena = (struct arena)ARENA_INIT(LIMIT_EVIDENCE_BYTES);
		r = choose(self, wanted, n_wanted, choice);
		r = r ? r : read_choice(reader, choice, between, between_context);
		if (r)
			curves_release(self); /* the same are asked for in the next cycle */
		strmap_release(&choice->counts);
		arena_release(&choice->arena);
	}
	free(wanted);
	free(choice);
	return r == -ENOMEM ? r : 0;
}
