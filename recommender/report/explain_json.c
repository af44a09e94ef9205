/* SPDX-License-Identifier: Apache-2.0 */
/* explain_json: what `explain` says, for programs; docs/FINDINGS.md describes it. Sizes are bytes, and null where there
 * is none. */
#include "report/changes.h"
#include "report/explain_internal.h"
#include "report/figures.h"

#include "base/json_write.h"
#include "base/timefmt.h"
#include "policy/decide.h"

static const struct {
	enum recommendation_flag flag;
	const char *name;
} flag_names[] = {{REC_CACHE_BOUND, "cache-bound"}, {REC_LEAK, "leak"}, {REC_UNSTABLE, "unstable"}, {REC_HARM, "harm"}};

static int write_verdict(const struct knowledge *knowledge, const struct known *known, struct strbuf *buf)
{
	struct verdict verdict = VERDICT_INIT;
	int r = explain_verdict(knowledge, known, &verdict);

	json_write_open(buf, "nextRun", '{');
	json_write_text(buf, "text", strbuf_text(&verdict.text));
	json_write_text(buf, "mode", known->profile ? mode_names[verdict.mode] : NULL);
	json_write_int_or_null(buf, "requestFrom", verdict.request_from_bytes);
	json_write_int_or_null(buf, "requestTo", verdict.request_to_bytes);
	json_write_int_or_null(buf, "limitFrom", verdict.limit_from_bytes);
	json_write_int_or_null(buf, "limitTo", verdict.limit_to_bytes);
	strbuf_addc(buf, '}');
	strbuf_release(&verdict.text);
	return r;
}

static void write_sizes(const struct recommendation *sizes, struct strbuf *buf)
{
	json_write_int_or_null(buf, "requestBytes", sizes->request_bytes);
	json_write_int_or_null(buf, "limitBytes", sizes->limit_bytes);
	json_write_int_or_null(buf, "ephemeralRequestBytes", sizes->ephemeral_request_bytes);
	json_write_int_or_null(buf, "ephemeralLimitBytes", sizes->ephemeral_limit_bytes);
}

/* The setting that decided a size; "runs" if nobody changed what was learned. */
static void write_by(const char *key, enum size_by by, struct strbuf *buf)
{
	json_write_text(buf, key, by == SIZE_BY_RUNS ? "runs" : size_by_names[by]);
}

static void write_evidence(const struct recommendation *rec, struct strbuf *buf)
{
	json_write_int_or_null(buf, "learnedRequestBytes", rec->request_bytes);
	json_write_int_or_null(buf, "learnedLimitBytes", rec->limit_bytes);
	json_write_int_or_null(buf, "medianBytes", rec->median_bytes);
	json_write_int_or_null(buf, "peakBytes", rec->peak_bytes);
	json_write_int_or_null(buf, "ephemeralPeakBytes", rec->ephemeral_peak_bytes);
	json_write_int_or_null(buf, "gpuPeakBytes", rec->gpu.used_bytes);
	json_write_int_or_null(buf, "gpuCapacityBytes", rec->gpu.capacity_bytes);
	json_write_bool(buf, "isGpuFull", rec->is_gpu_full);
	json_write_int_or_null(buf, "oomKilledAtBytes", rec->proven_bytes);
	json_write_double(buf, "timeOverRequest", rec->over_request_permille / 1000.0);
	json_write_double(buf, "buffer", rec->buffer_permille / 1000.0);
	json_write_text(buf, "confidence", confidence_names[rec->confidence]);
	json_write_int(buf, "runs", rec->runs);
	json_write_int(buf, "wholeRuns", rec->whole_runs);
	json_write_int(buf, "oomKilledRuns", rec->oom_kills);
	json_write_open(buf, "flags", '[');
	for (size_t i = 0; i < ARRAY_LEN(flag_names); i++)
		if (rec->flags & flag_names[i].flag)
			json_write_text(buf, NULL, flag_names[i].name);
	strbuf_addc(buf, ']');
}

static void write_variants(const struct knowledge *knowledge, const struct known *known, struct strbuf *buf)
{
	json_write_open(buf, "variants", '[');
	for (size_t i = 0; i < known->profile->n_variants; i++) {
		const struct recommendation *variant = &known->profile->variants[i];
		enum size_by by[2];
		const struct recommendation sizes = known_sizes(knowledge, known, variant, by);

		json_write_open(buf, NULL, '{');
		json_write_text(buf, "variant", variant->variant);
		write_sizes(&sizes, buf);
		json_write_int(buf, "wholeRuns", variant->whole_runs);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

static void write_number(const char *key, int64_t value, struct strbuf *buf)
{
	if (value == DIAGNOSIS_NONE)
		json_write_text(buf, key, NULL);
	else
		json_write_int(buf, key, value);
}

static void write_since(const struct known *known, struct strbuf *buf)
{
	const struct run *later;
	enum diagnosis_since since = known_since(known, &later);

	json_write_text(buf, "since", since ? diagnosis_since_names[since] : NULL);
	json_write_text(buf, "sinceRun", since ? later->name : NULL);
}

static void write_diagnosis(const struct known *known, struct strbuf *buf)
{
	const struct diagnosis *diagnosis = known->profile->diagnosis;

	if (!diagnosis) {
		json_write_text(buf, "diagnosis", NULL);
		return;
	}
	json_write_open(buf, "diagnosis", '{');
	json_write_text(buf, "kind", diagnosis->kind);
	json_write_text(buf, "cause", diagnosis->cause);
	json_write_text(buf, "confidence", diagnosis->confidence);
	json_write_time(buf, "time", diagnosis->time_ms);
	json_write_text(buf, "run", diagnosis->run);
	json_write_text(buf, "evidence", diagnosis->evidence);
	json_write_text(buf, "allocatorVariable", *diagnosis->variable ? diagnosis->variable : NULL);
	json_write_text(buf, "helped", *diagnosis->helped ? diagnosis->helped : NULL);
	write_number("epoch", diagnosis->epoch, buf);
	write_number("step", diagnosis->step, buf);
	write_number("steps", diagnosis->n_steps, buf);
	write_since(known, buf);
	strbuf_addc(buf, '}');
}

static void write_profile(const struct knowledge *knowledge, const struct known *known, struct strbuf *buf)
{
	const struct profile *profile = known->profile, *decided = known_decided(knowledge, known);
	const struct profile_spec *spec = decided ? decided->spec : &profile_spec_none;
	enum size_by by[2];
	struct recommendation sizes;

	if (!profile) {
		json_write_text(buf, "profile", NULL);
		return;
	}
	sizes = known_sizes(knowledge, known, &profile->parent, by);
	json_write_open(buf, "profile", '{');
	json_write_text(buf, "name", profile->name);
	json_write_int(buf, "revision", profile->revision);
	write_sizes(&sizes, buf);
	write_by("requestBy", by[SIZE_REQUEST], buf);
	write_by("limitBy", by[SIZE_LIMIT], buf);
	write_evidence(&profile->parent, buf);
	json_write_text(buf, "notLowered", figures_not_lowered(knowledge, known));
	json_write_text(buf, "specOf", decided && decided != profile ? decided->name : NULL);
	json_write_text(buf, "specInvalid", spec->invalid);
	json_write_text(buf, "modeCap", spec->mode_cap[0] ? spec->mode_cap : NULL);
	json_write_open(buf, "reasons", '[');
	for (size_t i = 0; i < profile->n_reasons; i++)
		json_write_text(buf, NULL, profile->reasons[i]);
	strbuf_addc(buf, ']');
	write_variants(knowledge, known, buf);
	write_diagnosis(known, buf);
	strbuf_addc(buf, '}');
}

static void write_run(const struct run *run, struct strbuf *buf)
{
	json_write_line(buf, 6);
	json_write_open(buf, NULL, '{');
	json_write_time(buf, "start", run->start_ms);
	json_write_text(buf, "name", run->name);
	json_write_int(buf, "durationSeconds", run->duration_ms / TIME_SECOND_MS);
	json_write_int(buf, "ranks", run->ranks);
	json_write_int(buf, "attempts", run->attempts);
	json_write_int_or_null(buf, "requestBytes", run->request_bytes);
	json_write_int_or_null(buf, "limitBytes", run->limit_bytes);
	json_write_int_or_null(buf, "medianBytes", run->median_bytes);
	json_write_bool(buf, "isMedianExact", run->is_quantile_exact);
	json_write_int_or_null(buf, "peakRssBytes", run->peak_rss_bytes);
	json_write_int_or_null(buf, "peakBytes", run->peak_bytes);
	json_write_int_or_null(buf, "gpuPeakBytes", run->gpu.used_bytes);
	json_write_int_or_null(buf, "gpuCapacityBytes", run->gpu.capacity_bytes);
	if (run->activity_permille >= 0)
		json_write_double(buf, "active", run->activity_permille / 1000.0);
	else
		json_write_text(buf, "active", NULL);
	json_write_text(buf, "outcome", outcome_names[run->outcome]);
	json_write_bool(buf, "isWhole", run->is_whole);
	json_write_bool(buf, "isCacheBound", run->is_cache_bound);
	json_write_open(buf, "harm", '[');
	for (int i = 0; i < HARM_COUNT_; i++)
		if (run->harm & 1U << i)
			json_write_text(buf, NULL, harm_names[i]);
	strbuf_adds(buf, "]}");
}

static void write_growth(const struct history *history, struct strbuf *buf)
{
	int64_t permille[GROWTH_PARTS];
	const struct run *run = history ? explain_growth(history, permille) : NULL;

	if (!run) {
		json_write_text(buf, "growth", NULL);
		return;
	}
	json_write_open(buf, "growth", '{');
	json_write_text(buf, "run", run->name);
	json_write_open(buf, "ofPeak", '[');
	for (int i = 0; i < GROWTH_PARTS; i++)
		json_write_double(buf, NULL, (double)permille[i] / 1000);
	strbuf_adds(buf, "]}");
}

static int write_known(const struct knowledge *knowledge, const struct known *known, struct strbuf *buf)
{
	struct changes changes = {.items = VEC_INIT};
	int r;

	json_write_line(buf, 4);
	json_write_open(buf, NULL, '{');
	known_write_names(known, buf);
	r = write_verdict(knowledge, known, buf);
	write_profile(knowledge, known, buf);
	json_write_open(buf, "runs", '[');
	for (size_t i = 0; known->history && i < known->history->runs.n; i++)
		write_run(&known->history->runs.items[i], buf);
	strbuf_addc(buf, ']');
	write_growth(known->history, buf);
	if (!r)
		r = changes_find(known, 1, &changes);
	changes_write_json(&changes, buf);
	vec_release(&changes.items);
	strbuf_addc(buf, '}');
	return r ? r : buf->status;
}

int explain_write_json(const struct knowledge *knowledge, struct strbuf *buf)
{
	int r = 0;

	knowledge_write_head("explain.memtamer.io/v1alpha1", "Explanation", time_now_ms(), buf);
	json_write_open(buf, "workloads", '[');
	for (size_t i = 0; i < knowledge->items.n && !r; i++)
		r = write_known(knowledge, &knowledge->items.items[i], buf);
	strbuf_adds(buf, "\n  ]\n}\n");
	return r ? r : buf->status;
}
