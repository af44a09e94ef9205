/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/size_evidence.h"

#include "base/limits.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

enum {
	STEP_KILLED_PERMILLE = 2000,	/* a kill says nothing about how much is missing: double */
	STEP_SUSPECTED_PERMILLE = 1500, /* weaker evidence, half the step */
	RECENT_RUNS = 5,
	BIMODAL_PERMILLE = 1500, /* a gap of half between two groups of peaks */
	SPREAD_PERMILLE = 2000,	 /* greatest peak twice the middle one */
	LEAK_RUNS = 2,
};

static int compare_bytes(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_ended(const struct run *run)
{
	return run->outcome != OUTCOME_RUNNING;
}

static int gather_runs(const struct history *history, const char *variant, struct arena *arena,
		       struct size_evidence *ret)
{
	ret->runs = arena_array(arena, history->runs.n + 1, sizeof(const struct run *));
	ret->peaks = arena_array(arena, history->runs.n + 1, sizeof(int64_t));
	if (!ret->runs || !ret->peaks)
		return -ENOMEM;
	for (size_t i = 0; i < history->runs.n; i++)
		if (!variant || streq(history->runs.items[i].variant, variant))
			ret->runs[ret->n++] = &history->runs.items[i];
	return 0;
}

static void gather_peaks(struct size_evidence *ret)
{
	for (size_t i = 0; i < ret->n; i++) {
		const struct run *run = ret->runs[i];
		int64_t need = run_need_bytes(run);

		ret->n_runs++;
		ret->is_active |= !is_ended(run);
		if (!run->is_whole) {
			/* A killed run's peak is its limit: that is weighed as a kill. */
			if (!run_killed_limit_max(run))
				ret->bound_bytes = MAX(ret->bound_bytes, need);
			continue;
		}
		ret->n_whole++;
		ret->last_request_bytes = run->request_bytes;
		ret->last_limit_bytes = run->limit_bytes;
		ret->is_cache_bound |= run->is_cache_bound;
		ret->peaks[ret->n_peaks++] = need;
		ret->peak_bytes = MAX(ret->peak_bytes, need);
	}
	qsort(ret->peaks, ret->n_peaks, sizeof(*ret->peaks), compare_bytes);
}

/* By the newest ones, so that a leak that was mended is over some day. */
static void gather_shapes(struct size_evidence *ret)
{
	int n_growing = 0, n_known = 0;

	for (size_t i = ret->n; i-- > 0 && n_known < LIMIT_HISTORY_CURVES;) {
		const struct run *run = ret->runs[i];

		n_known += run->is_whole && run->shape != RUN_SHAPE_UNKNOWN;
		n_growing += run->is_whole && run->shape == RUN_SHAPE_GROWING;
	}
	ret->is_leak = n_growing >= LEAK_RUNS && n_growing * 2 > n_known;
}

/* Later whole runs that lived above the killed limit answer it: what they used is known, nothing has to be guessed. */
static bool is_answered(const struct size_evidence *self, size_t from, int64_t limit_bytes)
{
	for (size_t i = from; i < self->n; i++) {
		const struct run *run = self->runs[i];

		if (run->is_whole && (run->limit_bytes == 0 || run->limit_bytes > limit_bytes))
			return true;
	}
	return false;
}

static int64_t run_killed_limit_min(const struct run *run)
{
	int64_t least = 0;

	for (int i = 0; i < run->n_killed_limits; i++)
		if (run->killed_limits[i] > 0 && (!least || run->killed_limits[i] < least))
			least = run->killed_limits[i];
	return least;
}

/* One step beyond the greatest limit that was killed; all steps of a run under way together at most double it. */
static void weigh_kill(struct size_evidence *ret, const struct run *run, size_t index, int64_t killed)
{
	int64_t first = run ? run_killed_limit_min(run) : killed, step;

	ret->killed_bytes = MAX(ret->killed_bytes, killed);
	if (is_answered(ret, index, killed)) {
		ret->answered_bytes = MAX(ret->answered_bytes, killed);
		return;
	}
	step = size_scale_permille(run && !is_ended(run) ? first : killed, STEP_KILLED_PERMILLE);
	if (step <= killed) {
		step = killed;
		ret->is_step_spent = true;
	}
	if (step > ret->step_bytes) {
		ret->step_bytes = step;
		ret->step_from_bytes = killed;
	}
}

static void gather_kills(struct size_evidence *ret)
{
	for (size_t i = 0; i < ret->n; i++) {
		const struct run *run = ret->runs[i];
		int64_t killed = run_killed_limit_max(run);

		if (run->n_killed_limits > 0 || run->outcome == OUTCOME_OOM_KILLED) {
			ret->oom_runs++;
			/* A run that goes on grows longer by the hour: its start stands, or every look would be news.
			 */
			ret->last_oom_ms = MAX(ret->last_oom_ms,
					       run->start_ms + (is_ended(run) ? run->duration_ms : 0));
			ret->is_recent_oom |= i + RECENT_RUNS >= ret->n;
		}
		if (killed > 0)
			weigh_kill(ret, run, i, killed);
	}
}

/* A run that failed close under its limit raises once: from the smallest such limit, whatever follows. */
static void gather_suspicions(struct size_evidence *ret)
{
	for (size_t i = 0; i < ret->n; i++) {
		const struct run *run = ret->runs[i];
		bool counts = run->outcome == OUTCOME_SUSPECTED_OOM && !run->is_cache_bound && run->limit_bytes > 0;

		if (!counts || is_answered(ret, i, run->limit_bytes))
			continue;
		ret->is_recent_oom |= i + RECENT_RUNS >= ret->n;
		if (!ret->suspected_from_bytes || run->limit_bytes < ret->suspected_from_bytes)
			ret->suspected_from_bytes = run->limit_bytes;
	}
	ret->suspected_bytes = size_scale_permille(ret->suspected_from_bytes, STEP_SUSPECTED_PERMILLE);
}

static void gather_spread(struct size_evidence *ret)
{
	const int64_t *peaks = ret->peaks;
	size_t n = ret->n_peaks;

	if (n >= 3 && peaks[n - 1] > size_scale_permille(peaks[n / 2], SPREAD_PERMILLE))
		ret->is_unstable = true;
	for (size_t i = 2; i + 2 <= n; i++)
		if (peaks[i] > size_scale_permille(peaks[i - 1], BIMODAL_PERMILLE))
			ret->is_unstable = true;
}

static int gather_ephemeral(struct size_evidence *ret, struct arena *arena)
{
	struct size_point *points = arena_array(arena, ret->n + 1, sizeof(*points));
	size_t n = 0;

	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < ret->n; i++) {
		int64_t peak = ret->runs[i]->peak_ephemeral_bytes;

		ret->ephemeral_peak_bytes = MAX(ret->ephemeral_peak_bytes, peak);
		if (peak > 0)
			points[n++] = (struct size_point){peak, 1};
	}
	ret->ephemeral_median_bytes = size_weighted_quantile(points, n, 500);
	return 0;
}

static void gather_aggregate(const struct history *history, struct size_evidence *ret)
{
	const struct history_aggregate *aggregate = &history->aggregate;

	ret->n_runs = MAX(ret->n_runs, aggregate->runs);
	ret->n_whole = MAX(ret->n_whole, aggregate->whole_runs);
	ret->oom_runs = MAX(ret->oom_runs, aggregate->oom_runs);
	ret->peak_bytes = MAX(ret->peak_bytes, aggregate->peak_bytes);
	ret->ephemeral_peak_bytes = MAX(ret->ephemeral_peak_bytes, aggregate->ephemeral_peak_bytes);
	/* Older than every run of the list. */
	if (aggregate->killed_limit_bytes > ret->killed_bytes)
		weigh_kill(ret, NULL, 0, aggregate->killed_limit_bytes);
}

/* The newest run's variant has not been seen often enough: what the others used may not hold for it. */
static void gather_variant(const struct sizing_policy *sizing, struct size_evidence *ret)
{
	int same = 0;

	if (!ret->n)
		return;
	for (size_t i = 0; i < ret->n; i++)
		same += ret->runs[i]->is_whole && streq(ret->runs[i]->variant, ret->runs[ret->n - 1]->variant);
	ret->is_new_variant = same < sizing->lower_min_runs;
}

/* What was tried and did harm is not tried again for a while, whichever variant it was. */
static void gather_harm(const struct history *history, struct size_evidence *ret)
{
	size_t n = history->runs.n;

	for (size_t i = n > SIZE_HARM_RUNS ? n - SIZE_HARM_RUNS : 0; i < n; i++) {
		const struct run *run = &history->runs.items[i];

		if (!run->harm)
			continue;
		ret->harm |= run->harm;
		ret->harmed = run;
		ret->is_harmed_by_fill |= run->harm & 1U << HARM_OOM && !run->own_limit_bytes;
	}
}

int size_evidence_gather(const struct history *history, const char *variant, const struct sizing_policy *sizing,
			 struct arena *arena, struct size_evidence *ret)
{
	int r;

	*ret = (struct size_evidence){0};
	r = gather_runs(history, variant, arena, ret);
	if (r)
		return r;
	gather_peaks(ret);
	gather_shapes(ret);
	gather_kills(ret);
	gather_suspicions(ret);
	gather_spread(ret);
	r = gather_ephemeral(ret, arena);
	if (r)
		return r;
	if (!variant)
		gather_aggregate(history, ret);
	gather_variant(sizing, ret);
	gather_harm(history, ret);
	/* The sketch holds working sets of all runs: no use for one variant, nor where that is mostly page cache. */
	if (!variant && !ret->is_cache_bound && history->usage.total_weight > 0)
		ret->usage = &history->usage;
	return 0;
}

/* Use at `permille` of one run's time, as far as its three figures tell. */
static int64_t run_quantile(const struct run *run, int32_t permille)
{
	int64_t need = run_need_bytes(run), value;
	int64_t median = run->median_bytes, p95 = MAX(run->p95_bytes, run->median_bytes);

	if (permille <= 500)
		value = median;
	else if (permille <= 950)
		value = median + size_share(p95 - median, permille - 500, 450);
	else
		value = p95 + size_share(MAX(need - p95, 0), permille - 950, 50);
	return run->is_cache_bound ? MIN(value, need) : value;
}

int size_evidence_quantile(const struct size_evidence *self, int32_t permille, struct arena *arena, int64_t *ret)
{
	struct size_point *points = arena_array(arena, self->n + 1, sizeof(*points));
	bool wants_whole = self->n_peaks > 0;
	size_t n = 0;

	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < self->n; i++) {
		const struct run *run = self->runs[i];

		if ((wants_whole && !run->is_whole) || !is_ended(run) || run->median_bytes <= 0)
			continue;
		points[n++] = (struct size_point){run_quantile(run, permille), MAX(run->duration_ms, 1)};
	}
	if (self->usage)
		*ret = sketch_quantile(self->usage, permille / 1000.0);
	else
		*ret = size_weighted_quantile(points, n, permille);
	return 0;
}

static int64_t between(int64_t bytes, int64_t low, int64_t high, int64_t at_low, int64_t at_high)
{
	return at_low - size_share(at_low - at_high, bytes - low, high - low);
}

/* Straight lines between the points that are known: 50 % at the median, 5 % at p95, nothing above the peak. */
static int64_t run_share_above(const struct run *run, int64_t bytes)
{
	int64_t p95 = MAX(run->p95_bytes, run->median_bytes);

	if (bytes >= run->peak_bytes)
		return 0;
	if (bytes >= p95)
		return between(bytes, p95, run->peak_bytes, 50, 0);
	if (bytes >= run->median_bytes)
		return between(bytes, run->median_bytes, p95, 500, 50);
	return between(bytes, 0, run->median_bytes, 1000, 500);
}

int32_t size_evidence_share_above(const struct size_evidence *self, int64_t bytes)
{
	__int128 above = 0, total = 0;

	if (self->usage)
		return (int32_t)(sketch_share_above(self->usage, bytes) * 1000 + 0.5);
	for (size_t i = 0; i < self->n; i++) {
		const struct run *run = self->runs[i];
		int64_t weight = MAX(run->duration_ms, 1);

		if (!is_ended(run) || run->median_bytes <= 0)
			continue;
		above += (__int128)run_share_above(run, bytes) * weight;
		total += weight;
	}
	return total ? (int32_t)((above + total / 2) / total) : 0;
}
