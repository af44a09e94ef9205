/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/curves.h"

#include "base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SAMPLES_PER_STEP = 2, /* with fewer samples, late scrapes would leave steps empty */
	BATCH = 32,
	ASKED_MAX = 65536, /* beyond this number all are dropped; LIMIT_CYCLE_CURVES still bounds the queries */
	KEY_BYTES = LIMIT_NAMESPACE_BYTES + LIMIT_KEY_BYTES + 2 * LIMIT_NAME_BYTES,
};

void curves_release(struct curves *self)
{
	strmap_release(&self->asked);
	arena_release(&self->arena);
}

/* The number of steps of a curve; 0: the run was too short. */
static int steps_of(const struct run_widest *widest)
{
	int64_t length_ms = widest->end_ms - widest->start_ms;
	int64_t steps = widest->step_ms > 0 ? length_ms / (SAMPLES_PER_STEP * widest->step_ms) : 0;

	return steps >= LIMIT_CURVE_POINTS_MIN ? (int)MIN(steps, LIMIT_CURVE_POINTS) : 0;
}

bool curves_can_be_of(const struct found_run *found)
{
	return *found->widest.pod && steps_of(&found->widest) > 0;
}

/* Newest runs first; of the same run, the finding that came last first. */
static int compare_found(const void *a, const void *b)
{
	const struct found_run *x = *(struct found_run *const *)a, *y = *(struct found_run *const *)b;
	int64_t p = x->run.start_ms, q = y->run.start_ms;

	return p != q ? (p < q) - (p > q) : (x < y) - (x > y);
}

/* The runs that are chosen for this cycle. */
struct choice {
	struct found_run *items[LIMIT_CYCLE_CURVES];
	size_t n;
	struct strmap taken;  /* keys as in `asked` */
	struct strmap counts; /* by workload: number of runs chosen */
	struct arena arena;
};

static int remember(struct strmap *map, struct arena *arena, const char *text, uintptr_t value)
{
	const char *key = arena_strdup(arena, text);

	return key ? strmap_put(map, key, (void *)value) : -ENOMEM;
}

static void key_of_run(const struct found_run *found, char ret[KEY_BYTES])
{
	snprintf(ret, KEY_BYTES, "%s %s %s", found->run.uid, found->identity.role, found->container);
}

static void key_of_workload(const struct found_run *found, char ret[KEY_BYTES])
{
	const struct identity *identity = &found->identity;

	snprintf(ret, KEY_BYTES, "%s %s %s %s", found->namespace_name,
		 identity->n_keys ? identity->keys[0].text : found->run.name, identity->role, found->container);
}

/* Chooses a run, unless it was asked for before or `of_workload` runs of its workload are chosen. 0 or -ENOMEM. */
static int consider(const struct curves *self, struct choice *choice, struct found_run *found, uintptr_t of_workload)
{
	char run[KEY_BYTES], workload[KEY_BYTES];
	uintptr_t n;

	key_of_run(found, run);
	key_of_workload(found, workload);
	n = (uintptr_t)strmap_get(&choice->counts, workload);
	if (n >= of_workload || strmap_has(&choice->taken, run) || strmap_has(&self->asked, run))
		return 0;
	choice->items[choice->n++] = found;
	return remember(&choice->taken, &choice->arena, run, 1) ||
			       remember(&choice->counts, &choice->arena, workload, n + 1)
		       ? -ENOMEM
		       : 0;
}

static int choose(const struct curves *self, struct choice *choice, struct found_run *const *wanted, size_t n)
{
	static const uintptr_t of_workload[] = {2, LIMIT_HISTORY_CURVES};
	int r = 0;

	for (size_t turn = 0; turn < ARRAY_LEN(of_workload); turn++)
		for (size_t i = 0; i < n && choice->n < LIMIT_CYCLE_CURVES && !r; i++)
			r = consider(self, choice, wanted[i], of_workload[turn]);
	return r;
}

/* Fills a gap with the value before it, and a gap at the start with the first value. */
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
	run_judge_shape(run);
}

static void begin(struct evidence_curve *curve, const struct found_run *found)
{
	const struct run_widest *widest = &found->widest;

	*curve = (struct evidence_curve){.namespace_name = found->namespace_name,
					 .pod = widest->pod,
					 .container = found->container,
					 .start_ms = widest->start_ms,
					 .end_ms = widest->end_ms,
					 .n = steps_of(widest)};
	for (int i = 0; i < LIMIT_CURVE_POINTS; i++)
		curve->max_bytes[i] = curve->mean_bytes[i] = -1;
}

/* @return as the reader. Answers that arrived before an error are used. */
static int read_batch(struct curves *self, struct evidence_reader *reader, struct found_run *const *items, size_t n)
{
	struct evidence_curve curves[BATCH];
	struct err ignored = ERR_INIT;
	char key[KEY_BYTES];
	int r;

	for (size_t i = 0; i < n; i++)
		begin(&curves[i], items[i]);
	r = reader->curves(reader, curves, n, &ignored);
	for (size_t i = 0; i < n && r != -ENOMEM; i++) {
		curve_settle(&curves[i], &items[i]->run);
		key_of_run(items[i], key);
		if ((!r || r == EVIDENCE_TOO_HEAVY) && remember(&self->asked, &self->arena, key, 1))
			return -ENOMEM;
	}
	return r;
}

/* @return the number of curves that arrived; -ENOMEM. If the source fails or runs out of time, the next cycle asks for
 * the rest. */
static int read_choice(struct curves *self, struct evidence_reader *reader, const struct choice *choice,
		       void (*between)(void *context), void *between_context)
{
	int r = 0, n = 0;

	for (size_t i = 0; i < choice->n && (!r || r == EVIDENCE_TOO_HEAVY); i += BATCH) {
		r = read_batch(self, reader, &choice->items[i], MIN(choice->n - i, (size_t)BATCH));
		if (between)
			between(between_context);
	}
	for (size_t i = 0; i < choice->n; i++)
		n += choice->items[i]->run.n_curve > 0;
	return r == -ENOMEM ? r : n;
}

int curves_read(struct curves *self, struct evidence_reader *reader, struct found_run **wanted, size_t n,
		void (*between)(void *context), void *between_context)
{
	struct choice *choice;
	int r;

	if (!n || !reader || !reader->curves)
		return 0;
	choice = calloc(1, sizeof(*choice));
	if (!choice)
		return -ENOMEM;
	if (self->asked.n > ASKED_MAX)
		curves_release(self);
	if (!self->arena.max_bytes)
		self->arena = (struct arena)ARENA_INIT(LIMIT_EVIDENCE_BYTES);
	choice->arena = (struct arena)ARENA_INIT(LIMIT_EVIDENCE_BYTES);
	qsort(wanted, n, sizeof(*wanted), compare_found);
	r = choose(self, choice, wanted, n);
	r = r ? r : read_choice(self, reader, choice, between, between_context);
	strmap_release(&choice->taken);
	strmap_release(&choice->counts);
	arena_release(&choice->arena);
	free(choice);
	return r;
}
