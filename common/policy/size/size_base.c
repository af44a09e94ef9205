/* SPDX-License-Identifier: Apache-2.0 */
/* size_base: evidence -> recommendation. The request is a quantile of use; the limit is the greater of peak + buffer
 * and what OOM kills prove. Everything that changed a value adds a reason. Floors, ceilings and pins are applied later,
 * when a pod is sized (size_apply.c). */
#include "policy/size.h"

#include "base/str.h"
#include "k8s/quantity.h"
#include "model/slower.h"
#include "policy/size/size_evidence.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	HIGH_CONFIDENCE_RUNS = 10,
	STANDING_PERMILLE = 950,
	NEAR_RUN_COUNTS = 12, /* each run near the peak counts for as many runs as there are, up to this many */
};

struct basing {
	const struct sizing_policy *sizing;
	const struct profile_spec *spec; /* never NULL */
	const struct history *history;
	struct arena *arena;
	struct size_reasons *reasons;
	struct size_evidence evidence;
	enum size_class size_class;
	int32_t quantile_permille;
	struct recommendation *ret;
};

/* The first reason is that of the limit, the second that of the request; others follow. */
#define because(self, ...) because_((self), arena_printf((self)->arena, __VA_ARGS__))
static int because_(struct basing *self, const char *text)
{
	if (!text)
		return -ENOMEM;
	if (self->reasons->n < ARRAY_LEN(self->reasons->items))
		self->reasons->items[self->reasons->n++] = text;
	return 0;
}

static void choose_options(struct basing *self)
{
	self->size_class = self->sizing->size_class;
	self->quantile_permille = self->sizing->quantile_permille;
	for (int i = 0; i < (int)ARRAY_LEN(size_class_names); i++)
		if (streq(self->spec->size_class, size_class_names[i]))
			self->size_class = (enum size_class)i;
	if (self->spec->quantile_permille >= 0)
		self->quantile_permille = self->spec->quantile_permille;
}

/* Many small runs say little about how far a large one goes, so the buffer is wider where peaks are spread. */
static int32_t buffer_above(const struct basing *self, int64_t bytes)
{
	int64_t n = MIN(self->evidence.n_whole, NEAR_RUN_COUNTS * MAX(self->evidence.n_near, 1));

	return self->spec->buffer_permille >= 0 ? self->spec->buffer_permille
						: size_buffer_permille(self->sizing, n, bytes);
}

static int64_t with_buffer(const struct basing *self, int64_t bytes)
{
	return size_scale_permille(bytes, 1000 + buffer_above(self, bytes));
}

static void fill_figures(struct basing *self, const char *variant)
{
	const struct size_evidence *evidence = &self->evidence;
	struct recommendation *ret = self->ret;

	ret->runs = (int32_t)MIN(evidence->n_runs, INT32_MAX);
	ret->whole_runs = (int32_t)MIN(evidence->n_whole, INT32_MAX);
	ret->oom_kills = (int32_t)MIN(evidence->oom_runs, INT32_MAX);
	ret->last_oom_ms = evidence->last_oom_ms;
	ret->last_request_bytes = evidence->last_request_bytes;
	ret->last_limit_bytes = evidence->last_limit_bytes;
	ret->proven_bytes = evidence->killed_bytes;
	ret->peak_bytes = evidence->peak_bytes;
	ret->ephemeral_peak_bytes = evidence->ephemeral_peak_bytes;
	ret->gpu = evidence->gpu;
	ret->is_gpu_full = evidence->is_gpu_full;
	ret->buffer_permille = buffer_above(self, ret->peak_bytes);
	if (evidence->n_peaks)
		ret->p95_bytes = evidence->peaks[(evidence->n_peaks * STANDING_PERMILLE + 999) / 1000 - 1];
	if (variant)
		snprintf(ret->variant, sizeof(ret->variant), "%s", variant);
}

/* Without an OOM kill, fewer than minRuns whole runs give figures for a warning, but no size. */
static void fill_confidence(struct basing *self)
{
	const struct size_evidence *evidence = &self->evidence;
	struct recommendation *ret = self->ret;
	bool is_proven = evidence->step_bytes > 0 || evidence->answered_bytes > 0 || evidence->suspected_bytes > 0;

	if (evidence->n_whole >= HIGH_CONFIDENCE_RUNS && evidence->n_whole >= self->sizing->min_runs &&
	    !evidence->is_unstable && !evidence->is_leak)
		ret->confidence = CONFIDENCE_HIGH;
	else if (is_proven || (evidence->n_whole > 0 && evidence->n_whole >= self->sizing->min_runs))
		ret->confidence = CONFIDENCE_MEDIUM;
	else
		ret->confidence = evidence->n_runs ? CONFIDENCE_LOW : CONFIDENCE_NONE;
}

/* Sets the flags that forbid lowering. */
static void fill_flags(struct basing *self)
{
	const struct size_evidence *evidence = &self->evidence;
	uint8_t flags = 0;

	flags |= evidence->is_cache_bound ? REC_CACHE_BOUND : 0;
	flags |= evidence->is_leak ? REC_LEAK : 0;
	flags |= evidence->is_unstable ? REC_UNSTABLE : 0;
	if (evidence->n_whole < self->sizing->lower_min_runs || evidence->is_new_variant || evidence->is_recent_oom ||
	    evidence->is_unstable || evidence->is_cache_bound)
		flags |= REC_NO_LOWER;
	if (evidence->harm)
		flags |= REC_HARM | REC_NO_LOWER;
	if (evidence->harm & (1U << HARM_PENDING | 1U << HARM_QUOTA))
		flags |= REC_NO_RAISE;
	if (evidence->is_harmed_by_fill)
		flags |= REC_NO_LIMIT;
	self->ret->flags = flags;
}

/* Text for the worst harm of the last harmed run. */
static const char *harm_words(const struct basing *self, const struct run *run)
{
	int64_t killed = run_killed_limit_max(run);
	char slower[SLOWER_TEXT_BYTES];

	if (run->harm & 1U << HARM_OOM && killed > 0 && run->own_limit_bytes > killed)
		return arena_printf(self->arena, "OOM-killed at %s, its own limit is %s", HUMAN(killed),
				    HUMAN(run->own_limit_bytes));
	if (run->harm & 1U << HARM_OOM)
		return arena_printf(self->arena, "OOM-killed at %s, it had no limit of its own", HUMAN(MAX(killed, 0)));
	if (run->harm & 1U << HARM_EVICTED && run->outcome == OUTCOME_EVICTED_EPHEMERAL)
		return arena_printf(self->arena, "evicted at a disk limit that it did not have itself");
	if (run->harm & 1U << HARM_EVICTED)
		return arena_printf(self->arena, "evicted above the request %s, its own is %s",
				    HUMAN(run->request_bytes), HUMAN(run->own_request_bytes));
	if (run->harm & 1U << HARM_PENDING)
		return arena_printf(self->arena, "no node had room for the request %s", HUMAN(run->request_bytes));
	if (run->harm & 1U << HARM_QUOTA)
		return arena_printf(self->arena, "a quota had no room for its pods at our size");
	slower_tell(self->history, run, slower);
	return arena_printf(self->arena, "slower%s%s", *slower ? ": " : " at a lowered size", slower);
}

/* Adds the harm as the first reason, because it prevents all other changes. Truncated to LIMIT_REASON_BYTES. */
static int add_harm_reason(struct basing *self)
{
	const struct run *run = self->evidence.harmed;
	struct size_reasons *reasons = self->reasons;
	const char *words = run ? harm_words(self, run) : NULL, *text;

	if (!run)
		return 0;
	text = words ? arena_printf(self->arena, "harm: %.77s (run %.44s); not lowered for %d runs", words, run->name,
				    SIZE_HARM_RUNS)
		     : NULL;
	if (!text)
		return -ENOMEM;
	reasons->n = MIN(reasons->n + 1, ARRAY_LEN(reasons->items));
	memmove(reasons->items + 1, reasons->items, (reasons->n - 1) * sizeof(*reasons->items));
	reasons->items[0] = text;
	return 0;
}

static int limit_by_peak(struct basing *self)
{
	const struct size_evidence *evidence = &self->evidence;
	struct recommendation *ret = self->ret;
	int percent = (ret->buffer_permille + 5) / 10;

	if (!ret->peak_bytes)
		return 0;
	ret->limit_bytes = with_buffer(self, ret->peak_bytes);
	if (evidence->is_early_peak)
		return because(self, "limit %s = %s used by a run that ended early + %d %%",
			       HUMAN(size_round_up(ret->limit_bytes)), HUMAN(ret->peak_bytes), percent);
	return because(self, "limit %s = peak %s of %d complete run%s + %d %%%s",
		       HUMAN(size_round_up(ret->limit_bytes)), HUMAN(ret->peak_bytes), ret->whole_runs,
		       PLURAL(ret->whole_runs), percent, evidence->is_cache_bound ? ", page cache left out" : "");
}

static int raise_limit(struct basing *self, int64_t bytes, const char *why, int64_t from_bytes)
{
	if (bytes <= self->ret->limit_bytes)
		return 0;
	self->ret->limit_bytes = bytes;
	return because(self, "limit %s: %s %s", HUMAN(size_round_up(bytes)), why, HUMAN(from_bytes));
}

/* A kill at a limit proves that the need is at least that limit. */
static int limit_by_kills(struct basing *self)
{
	const struct size_evidence *evidence = &self->evidence;
	int r = raise_limit(self, with_buffer(self, evidence->answered_bytes),
			    "buffer above a limit that was OOM-killed,", evidence->answered_bytes);

	if (r || !evidence->step_bytes)
		return r;
	if (evidence->is_step_spent && evidence->step_bytes == evidence->step_from_bytes)
		return raise_limit(self, evidence->step_bytes, "this run was doubled once and OOM-killed again at",
				   evidence->step_from_bytes);
	return raise_limit(self, evidence->step_bytes, "one step beyond a limit that was OOM-killed,",
			   evidence->step_from_bytes);
}

static int limit_by_evidence(struct basing *self)
{
	const struct size_evidence *evidence = &self->evidence;
	int r = limit_by_peak(self);

	if (!r)
		r = limit_by_kills(self);
	if (!r)
		r = raise_limit(self, evidence->suspected_bytes,
				"a run failed within 5% of its limit, or lost a process to the OOM killer,",
				evidence->suspected_from_bytes);
	self->ret->limit_bytes = size_round_up(self->ret->limit_bytes);
	return r;
}

static int request_by_class(struct basing *self)
{
	const struct recommendation *ret = self->ret;

	if (self->size_class == CLASS_GUARANTEED)
		return because(self, "request %s = limit (class guaranteed)", HUMAN(ret->request_bytes));
	if (self->size_class == CLASS_STANDING)
		return because(self, "request %s = p95 of the peaks of %zu run%s (class standing)",
			       HUMAN(ret->request_bytes), self->evidence.n_peaks, PLURAL(self->evidence.n_peaks));
	if (self->quantile_permille == 500)
		return because(self, "request %s = median use over time", HUMAN(ret->request_bytes));
	return because(self, "request %s = %d.%d %% quantile of use over time", HUMAN(ret->request_bytes),
		       self->quantile_permille / 10, self->quantile_permille % 10);
}

static int request_by_evidence(struct basing *self)
{
	struct recommendation *ret = self->ret;
	int64_t quantile;
	int r = size_evidence_quantile(&self->evidence, 500, self->arena, &ret->median_bytes);

	if (!r)
		r = size_evidence_quantile(&self->evidence, self->quantile_permille, self->arena, &quantile);
	if (r)
		return r;
	if (self->size_class == CLASS_GUARANTEED)
		ret->request_bytes = ret->limit_bytes;
	else if (self->size_class == CLASS_STANDING && ret->p95_bytes)
		ret->request_bytes = size_round_up(ret->p95_bytes);
	else
		ret->request_bytes = size_round_up(quantile);
	return ret->request_bytes ? request_by_class(self) : 0;
}

static int ephemeral_by_evidence(struct basing *self)
{
	const struct size_evidence *evidence = &self->evidence;
	struct recommendation *ret = self->ret;

	if (!evidence->ephemeral_peak_bytes)
		return 0;
	ret->ephemeral_request_bytes = size_round_up(evidence->ephemeral_median_bytes);
	ret->ephemeral_limit_bytes = size_round_up(with_buffer(self, evidence->ephemeral_peak_bytes));
	if (!ret->ephemeral_request_bytes) /* the runs that measured it were dropped, but their peak is known */
		ret->ephemeral_request_bytes = ret->ephemeral_limit_bytes;
	return 0;
}

static int size_all(struct basing *self, const char *variant)
{
	int r;

	choose_options(self);
	fill_figures(self, variant);
	fill_confidence(self);
	fill_flags(self);
	r = limit_by_evidence(self);
	if (!r)
		r = request_by_evidence(self);
	if (!r)
		r = ephemeral_by_evidence(self);
	return r ? r : add_harm_reason(self);
}

int size_base(const struct history *history, const char *variant, const struct sizing_policy *sizing,
	      const struct profile_spec *spec, struct arena *arena, struct recommendation *ret,
	      struct size_reasons *ret_reasons, struct err *err)
{
	static const struct profile_spec no_spec = {.quantile_permille = -1, .buffer_permille = -1};
	struct recommendation result = {0};
	struct size_reasons reasons = {.n = 0};
	struct basing self = {.sizing = sizing,
			      .spec = spec ? spec : &no_spec,
			      .history = history,
			      .arena = arena,
			      .reasons = &reasons,
			      .ret = &result};
	int r = size_evidence_gather(history, variant, sizing, arena, &self.evidence);

	if (!r)
		r = size_all(&self, variant);
	if (r)
		return err_set(err, r, "no memory left to size %s", history->name ? history->name : "a workload");
	if (result.request_bytes)
		result.over_request_permille = size_evidence_share_above(&self.evidence, result.request_bytes);
	*ret = result;
	*ret_reasons = reasons;
	return 0;
}
