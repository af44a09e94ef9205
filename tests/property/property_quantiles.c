/* SPDX-License-Identifier: Apache-2.0 */
/* property_quantiles SEED COUNT: the median and the 95th percentile of a run against the exact ones of all its samples,
 * for random series over some days and ranks, and requests by other quantiles. Prometheus answers with quantiles of
 * each day and container, which are merged; docs/SIZING.md says how far that may be from the truth. */
#include "runs/fold.h"
#include "runs/pod_table.h"

#include "base/timefmt.h"
#include "policy/size.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_DAYS = 5, MOST_RANKS = 3, DAY_SAMPLES = 2000, MOST_SAMPLES = MOST_DAYS * MOST_RANKS * DAY_SAMPLES };
#define STEP_MS	 ((int64_t)30 * TIME_SECOND_MS)
#define BEGIN_MS ((int64_t)20000 * TIME_DAY_MS)

struct chance {
	uint64_t state;
};

static int64_t between(struct chance *self, int64_t from, int64_t to)
{
	uint64_t z = self->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return from + (int64_t)(z % (uint64_t)(to - from + 1));
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The samples of one day of a rank: constant, even, two levels, a ramp, or low with spikes. */
static void make_samples(struct chance *chance, int64_t *samples, int n)
{
	int64_t shape = between(chance, 0, 4), low = between(chance, (int64_t)MIB, 8 * (int64_t)GIB),
		high = low + between(chance, (int64_t)MIB, 32 * (int64_t)GIB), share = between(chance, 1, 99);

	for (int i = 0; i < n; i++) {
		samples[i] = low;
		if (shape == 1 || (shape == 4 && between(chance, 1, 50) == 1))
			samples[i] = between(chance, low, high);
		else if (shape == 2 && between(chance, 1, 100) <= share)
			samples[i] = high;
		else if (shape == 3)
			samples[i] = low + (high - low) / n * i;
	}
}

/* As quantile_over_time: linear between the two nearest samples. */
static int64_t quantile(const int64_t *sorted, int n, int permille)
{
	int64_t at = (int64_t)permille * (n - 1);
	int64_t value = sorted[at / 1000], next = sorted[MIN(at / 1000 + 1, n - 1)];

	return value + (int64_t)((double)(next - value) * (double)(at % 1000) / 1000);
}

struct made {
	struct pod_table table;
	int n_days, n_ranks, n_samples;
	int64_t samples[MOST_SAMPLES];
};

static int add_usage(struct evidence_batch *batch, struct pod_container *container, const char *name, int64_t first_ms,
		     int64_t *samples, int n)
{
	struct evidence_usage *usage = evidence_usage_put(batch, container, name);

	if (!usage)
		return -1;
	qsort(samples, (size_t)n, sizeof(*samples), compare);
	usage->samples = n;
	usage->first_ms = first_ms;
	usage->last_ms = first_ms + (n - 1) * STEP_MS;
	usage->peak_bytes = usage->peak_rss_bytes = samples[n - 1];
	for (int i = 0; i < EVIDENCE_LADDER; i++)
		usage->ladder_bytes[i] = quantile(samples, n, evidence_ladder_permille[i]);
	usage->ladder_seen = (1U << EVIDENCE_LADDER) - 1;
	return 0;
}

/* What is read of one day of one rank. */
static int add_day(struct made *self, struct chance *chance, int rank, int day)
{
	const struct evidence_window window = {.start_ms = BEGIN_MS + day * TIME_DAY_MS,
					       .end_ms = BEGIN_MS + (day + 1) * TIME_DAY_MS};
	int n = (int)between(chance, 50, DAY_SAMPLES);
	struct evidence_batch batch;
	struct pod_container *container;
	struct pod *pod;
	char name[32];
	int r = -1;

	evidence_batch_init(&batch, &window);
	snprintf(name, sizeof(name), "train-%d", rank);
	pod = evidence_pod_put(&batch, "ml", name, name);
	container = pod ? pod_container_put(&batch.pods, pod, "main") : NULL;
	if (container) {
		pod->owner_kind = "Job";
		pod->owner_name = "train";
		pod->start_ms = BEGIN_MS;
		pod->is_owner_known = pod->is_training = true;
		container->image = "image";
		if (day == self->n_days - 1) {
			pod->completion_ms = window.start_ms + DAY_SAMPLES * STEP_MS;
			pod->ends = END_SUCCEEDED;
			container->ends = END_COMPLETED;
		}
		make_samples(chance, &self->samples[self->n_samples], n);
		r = add_usage(&batch, container, name, window.start_ms, &self->samples[self->n_samples], n);
		self->n_samples += n;
	}
	r = r ? r : pod_table_merge(&self->table, &batch, NULL);
	evidence_batch_release(&batch);
	return r;
}

/* Whether the found quantile lies between two exact ones, or within the sketch's error of 1 % of them. */
static bool is_within(const struct made *self, const char *name, int64_t found, int low, int high)
{
	int64_t least = quantile(self->samples, self->n_samples, low),
		most = quantile(self->samples, self->n_samples, high);
	bool is_exact = self->n_days * self->n_ranks == 1;

	if (is_exact ? found == least : found >= least - least / 100 - 1 && found <= most + most / 100 + 1)
		return true;
	fprintf(stderr, "%s of %d days and %d ranks is %lld, not within %lld and %lld\n", name, self->n_days,
		self->n_ranks, (long long)found, (long long)least, (long long)most);
	return false;
}

/* The request of a workload that has only this run. */
static int64_t request_of(const struct run *run, int permille)
{
	struct profile_spec spec = {.quantile_permille = permille, .buffer_permille = -1};
	struct history *history = history_new("ml", "train");
	struct arena arena = ARENA_INIT(MIB);
	struct recommendation rec = {0};
	struct size_reasons reasons;
	struct policy policy;

	policy_default(&policy);
	if (!history || history_add_run(history, run) ||
	    size_base(history, NULL, &policy.sizing, &spec, &arena, &rec, &reasons, NULL))
		rec.request_bytes = 0;
	history_free(history);
	arena_release(&arena);
	return rec.request_bytes;
}

/* Whether a request by a quantile of 60 to 95 % lies, as that quantile does, between the neighbouring known points. */
static bool are_requests_between(const struct made *self, const struct run *run)
{
	for (int permille = 600; permille <= 950; permille += 50) {
		int64_t request = request_of(run, permille);

		if (request >= run->median_bytes && request <= size_round_up(run->p95_bytes))
			continue;
		fprintf(stderr,
			"the request of %d permille of %d days and %d ranks is %lld, not within %lld and %lld\n",
			permille, self->n_days, self->n_ranks, (long long)request, (long long)run->median_bytes,
			(long long)run->p95_bytes);
		return false;
	}
	return true;
}

static bool judge(struct made *self, const struct run *run)
{
	bool is_single = self->n_days * self->n_ranks == 1;

	qsort(self->samples, (size_t)self->n_samples, sizeof(*self->samples), compare);
	return is_within(self, "the median", run->median_bytes, is_single ? 500 : 375, is_single ? 500 : 625) &&
	       is_within(self, "the 95th percentile", run->p95_bytes, is_single ? 950 : 900, is_single ? 950 : 1000) &&
	       are_requests_between(self, run);
}

static bool check(struct made *self, struct chance *chance)
{
	const struct fold_options options = {.now_ms = BEGIN_MS + 30 * TIME_DAY_MS, .source = "query"};
	struct fold fold = {.is_open = NULL};
	bool is_good;
	int r = 0;

	*self = (struct made){.table = POD_TABLE_INIT,
			      .n_days = (int)between(chance, 1, MOST_DAYS),
			      .n_ranks = (int)between(chance, 1, MOST_RANKS)};
	self->table.step_ms = STEP_MS;
	self->table.is_step_fixed = true;
	for (int day = 0; day < self->n_days; day++)
		for (int rank = 0; rank < self->n_ranks && !r; rank++)
			r = add_day(self, chance, rank, day);
	r = r ? r : fold_runs(&self->table, &options, &fold, NULL);
	is_good = !r && fold.runs.n == 1 && judge(self, &fold.runs.items[0].run);
	if (r || fold.runs.n != 1)
		fprintf(stderr, "%d: %zu runs\n", r, fold.runs.n);
	fold_release(&fold);
	pod_table_release(&self->table);
	return is_good;
}

int main(int argc, char **argv)
{
	struct chance chance = {argc == 3 ? strtoull(argv[1], NULL, 10) : 0};
	long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	struct made *made = malloc(sizeof(*made));
	bool is_good = count > 0 && made;

	for (long i = 0; i < count && is_good; i++)
		is_good = check(made, &chance);
	free(made);
	return is_good ? 0 : 1;
}
