/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/size/size_evidence.h"

#include "base/limits.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

enum {
	STEP_KILLED_PERMILLE = 2000,	/* a kill does not say how much is missing: double */
	STEP_SUSPECTED_PERMILLE = 1500, /* weaker evidence, half the step */
	RECENT_RUNS = 5,
	BIMODAL_PERMILLE = 1500, /* two groups of peaks, the greater 1.5 times the smaller */
	SPREAD_PERMILLE = 2000,	 /* the greatest peak is twice the middle one */
	LEAK_RUNS = 2,
	GPU_FULL_PERMILLE = 950,
	GPU_MARGIN_PERMILLE = 10, /* runs that hold a fixed share of the card differ by less */
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

static bool is_of(const struct run *run, const char *variant)
{
	return !variant || streq(run->variant, variant);
}

/* Older runs than the newest HISTORY_FORGET_RUNS whole ones, and what happened between them, say nothing about today;
 * only the maxima of the aggregate reach further back. */
static int gather_runs(const struct history *history, const char *variant, struct arena *arena,
		       struct size_evidence *ret)
{
	size_t first = history->runs.n;

	ret->runs = arena_array(arena, history->runs.n + 1, sizeof(const struct run *));
	ret->peaks = arena_array(arena, HISTORY_FORGET_RUNS, sizeof(int64_t));
	if (!ret->runs || !ret->peaks)
		return -ENOMEM;
	for (int n_whole = 0; first > 0 && n_whole < HISTORY_FORGET_RUNS; first--) {
		const struct run *run = &history->runs.items[first - 1];

		n_whole += run->is_whole && is_of(run, variant);
	}
	for (size_t i = first; i < history->runs.n; i++)
		if (is_of(&history->runs.items[i], variant))
			ret->runs[ret->n++] = &history->runs.items[i];
	return 0;
}

/* The aggregate of all runs, or of the listed runs of a variant. */
static void gather_aggregate(const struct history *history, const char *variant, struct size_evidence *ret)
{
	struct history_aggregate of_variant = {0};
	const struct history_aggregate *aggregate = variant ? &of_variant : &history->aggregate;

	if (variant)
		history_aggregate_list(history, variant, &of_variant);
	ret->n_runs = aggregate->runs;
	ret->n_whole = aggregate->whole_runs;
	ret->oom_runs = aggregate->oom_runs;
	ret->peak_bytes = aggregate->peak.bytes;
	ret->n_near = aggregate->peak.near_runs;
	ret->killed_bytes = aggregate->killed.bytes;
	ret->is_kill_unseen = aggregate->is_kill_unseen;
	ret->ephemeral_peak_bytes = aggregate->ephemeral.bytes;
}

static void gather_peaks(struct size_evidence *ret)
{
	int64_t early_bytes = 0;

	for (size_t i = 0; i < ret->n; i++) {
		const struct run *run = ret->runs[i];
		int64_t need = run_need_bytes(run);

		if (!run->is_whole) {
			/* A killed run's peak is its limit, which counts as a kill. */
			if (!run_killed_limit_max(run))
				early_bytes = MAX(early_bytes, need);
			continue;
		}
		ret->last_request_bytes = run->request_bytes;
		ret->last_limit_bytes = run->limit_bytes;
		ret->is_cache_bound |= run->is_cache_bound;
		ret->peaks[ret->n_peaks++] = need;
	}
	qsort(ret->peaks, ret->n_peaks, sizeof(*ret->peaks), compare_bytes);
	ret->is_early_peak = early_bytes == ret->peak_bytes &&
			     (!ret->n_peaks || ret->peaks[ret->n_peaks - 1] < early_bytes);
}

/* Uses the newest runs, so that a leak that was fixed is forgotten. */
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

/* Whether a later whole run had a limit above the killed one: then its use is known and nothing has to be guessed,
 * unless samples did not show the use that was killed. */
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

/* One step above the greatest killed limit; all steps of the current run together at most double the limit it began
 * with. */
static void weigh_kill(struct size_evidence *ret, const struct run *run, size_t index, int64_t killed)
{
	int64_t first = run ? run_killed_limit_min(run) : killed, step;
	bool is_unseen = !run && ret->is_kill_unseen;

	if (!is_unseen && is_answered(ret, index, killed)) {
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
	int64_t greatest = 0;

	for (size_t i = 0; i < ret->n; i++) {
		const struct run *run = ret->runs[i];
		int64_t killed = run_killed_limit_max(run);

		if (run->n_killed_limits > 0 || run->outcome == OUTCOME_OOM_KILLED) {
			/* A running run becomes longer all the time; its start is used, so that the evidence does not
			 * change with every cycle. */
			ret->last_oom_ms = MAX(ret->last_oom_ms,
					       run->start_ms + (is_ended(run) ? run->duration_ms : 0));
			ret->is_recent_oom |= i + RECENT_RUNS >= ret->n;
		}
		/* Forgotten, or no proof; if a kill far below the limit became one, the aggregate knows. */
		if (killed <= 0 || killed > ret->killed_bytes || run_is_killed_by_node(run))
			continue;
		weigh_kill(ret, run, i, killed);
		greatest = MAX(greatest, killed);
	}
	if (ret->killed_bytes > greatest) /* of such a run, or an older one */
		weigh_kill(ret, NULL, 0, ret->killed_bytes);
}

/* One step above the greatest limit close to which a run failed, so one for each such limit. */
static void gather_suspicions(struct size_evidence *ret)
{
	for (size_t i = 0; i < ret->n; i++) {
		const struct run *run = ret->runs[i];
		bool counts = run->outcome == OUTCOME_SUSPECTED_OOM && !run->is_cache_bound && run->limit_bytes > 0;

		if (!counts || is_answered(ret, i, run->limit_bytes))
			continue;
		ret->is_recent_oom |= i + RECENT_RUNS >= ret->n;
		ret->suspected_from_bytes = MAX(ret->suspected_from_bytes, run->limit_bytes);
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
	for (size_t i = 0; i < ret->n; i++)
		if (ret->runs[i]->peak_ephemeral_bytes > 0)
			points[n++] = (struct size_point){ret->runs[i]->peak_ephemeral_bytes, 1};
	ret->ephemeral_median_bytes = size_weighted_quantile(points, n, 500);
	return 0;
}

/* Whether a run ended by itself: not stopped by somebody, and not unknown. */
static bool is_own_end(enum outcome outcome)
{
	return outcome != OUTCOME_RUNNING && outcome != OUTCOME_UNKNOWN && outcome != OUTCOME_PREEMPTED &&
	       outcome != OUTCOME_DELETED;
}

/* A full card alone says little: TensorFlow takes nearly all of it at the start, JAX a fixed share, and PyTorch keeps
 * what it has freed. It is suspicious where a run failed with a card fuller than in every run that completed. */
static void gather_gpu(struct size_evidence *ret)
{
	struct gpu_memory completed = {0};
	const struct run *last = NULL;
	int32_t permille;

	for (size_t i = 0; i < ret->n; i++) {
		const struct run *run = ret->runs[i];

		gpu_memory_raise(&ret->gpu, &run->gpu);
		if (run->outcome == OUTCOME_COMPLETED)
			gpu_memory_raise(&completed, &run->gpu);
		if (is_own_end(run->outcome))
			last = run;
	}
	if (!last || last->outcome != OUTCOME_FAILED)
		return;
	permille = gpu_memory_permille(&last->gpu);
	if (permille < GPU_FULL_PERMILLE || permille < gpu_memory_permille(&completed) + GPU_MARGIN_PERMILLE)
		return;
	ret->gpu = last->gpu;
	ret->is_gpu_full = true;
}

/* Whether the newest run's variant was seen too rarely: figures of other variants may not apply to it. */
static void gather_variant(const struct sizing_policy *sizing, struct size_evidence *ret)
{
	int same = 0;

	if (!ret->n)
		return;
	for (size_t i = 0; i < ret->n; i++)
		same += ret->runs[i]->is_whole && streq(ret->runs[i]->variant, ret->runs[ret->n - 1]->variant);
	ret->is_new_variant = same < sizing->lower_min_runs;
}

/* A change that did harm is not repeated for some time, whatever the variant. */
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
	gather_aggregate(history, variant, ret);
	gather_peaks(ret);
	gather_shapes(ret);
	gather_kills(ret);
	gather_suspicions(ret);
	gather_spread(ret);
	r = gather_ephemeral(ret, arena);
	if (r)
		return r;
	gather_gpu(ret);
	gather_variant(sizing, ret);
	gather_harm(history, ret);
	return 0;
}

static int64_t between(int64_t bytes, int64_t low, int64_t high, int64_t at_low, int64_t at_high)
{
	return at_low - size_share(at_low - at_high, bytes - low, high - low);
}

/* Linear between the known points: 50 % at the median, 5 % at p95, nothing above the peak. */
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

/* Runs that ended early count only if there is no whole one. */
static bool has_use(const struct size_evidence *self, const struct run *run)
{
	return is_ended(run) && run->median_bytes > 0 && (run->is_whole || !self->n_peaks);
}

static int64_t use_ms(const struct size_evidence *self)
{
	int64_t sum_ms = 0;

	for (size_t i = 0; i < self->n; i++)
		sum_ms += has_use(self, self->runs[i]) ? self->runs[i]->duration_ms : 0;
	return sum_ms;
}

/* A run counts by its length, but not for more than half of all others together, so that none decides alone. */
static int64_t use_weight(const struct run *run, int64_t sum_ms)
{
	return MAX(MIN(run->duration_ms, (sum_ms - run->duration_ms) / 2), 1);
}

int32_t size_evidence_share_above(const struct size_evidence *self, int64_t bytes)
{
	__int128 above = 0, total = 0;
	int64_t sum_ms = use_ms(self);

	for (size_t i = 0; i < self->n; i++) {
		int64_t weight = use_weight(self->runs[i], sum_ms);

		if (!has_use(self, self->runs[i]))
			continue;
		above += (__int128)run_share_above(self->runs[i], bytes) * weight;
		total += weight;
	}
	return total ? (int32_t)((above + total / 2) / total) : 0;
}

/* Use at `permille` of one run's time, as far as its three figures show. */
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
	int64_t sum_ms = use_ms(self);
	size_t n = 0;

	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < self->n; i++)
		if (has_use(self, self->runs[i]))
			points[n++] = (struct size_point){run_quantile(self->runs[i], permille),
							  use_weight(self->runs[i], sum_ms)};
	*ret = size_weighted_quantile(points, n, permille);
	return 0;
}
