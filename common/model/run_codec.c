/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a MemoryHistory as JSON. */
#include "model/history_internal.h"

#include "base/limits.h"
#include "k8s/quantity.h"
#include "model/codec.h"
#include "model/schema_internal.h"

#include <errno.h>

static const char *const chosen_by_names[] = {"user", "memtamer", "unknown"};
static const char *const source_names[] = {"query", "remote-read", "pods", "trace", "query+pods", "remote-read+pods"};
/* The ladder of policy.h, which lies above this layer. */
const char *const history_rung_names[HISTORY_RUNGS] = {"off", "observe", "fill", "raise", "enforce"};

#define F(member, key, type, help)		   CODEC_FIELD(struct run, member, key, type, help)
#define FN(member, key, type, absent, names, help) CODEC_FIELD_NAMES(struct run, member, key, type, absent, names, help)
static const struct codec_field run_fields[] = {
	F(uid, "uid", CODEC_TEXT, "Stable id: a run is counted once."),
	F(name, "name", CODEC_TEXT, "Root owner's name."),
	F(variant, "variant", CODEC_TEXT, "Image, arguments and world size."),
	FN(outcome, "outcome", CODEC_ENUM, OUTCOME_UNKNOWN, outcome_names, "How it ended."),
	F(start_ms, "start", CODEC_TIME, "Start of the first attempt."),
	F(duration_ms, "duration", CODEC_DURATION, "All attempts together."),
	F(attempts, "attempts", CODEC_INT32, "Tries of the run."),
	F(ranks, "ranks", CODEC_INT32, "Pods of an attempt that were seen."),
	F(world_size, "world", CODEC_INT32, "Pods of an attempt that there should be."),
	F(accelerators_milli, "acceleratorsMilli", CODEC_INT64, "Accelerators of one pod, in thousandths."),
	F(request_bytes, "request", CODEC_BYTES, "Memory request of the last attempt."),
	F(limit_bytes, "limit", CODEC_BYTES, "Memory limit of the last attempt."),
	FN(chosen_by, "by", CODEC_ENUM, CHOSEN_BY_UNKNOWN, chosen_by_names, "Who chose request and limit."),
	FN(mode, "mode", CODEC_ENUM, -1, history_rung_names, "Mode at work when memtamer chose."),
	F(own_request_bytes, "ownRequest", CODEC_BYTES, "Memory request of its own, where memtamer chose."),
	F(own_limit_bytes, "ownLimit", CODEC_BYTES, "Memory limit of its own, where memtamer chose."),
	F(revision, "revision", CODEC_INT64, "Of the profile that memtamer chose by."),
	F(pending_ms, "pending", CODEC_DURATION, "From creation to start, of the rank that waited longest."),
	FN(harm, "harm", CODEC_FLAGS8, 0, harm_names, "What went wrong because of sizes that memtamer chose."),
	F(peak_bytes, "peak", CODEC_BYTES, "Greatest working set of any rank."),
	F(peak_rss_bytes, "rss", CODEC_BYTES, "Greatest anonymous memory."),
	F(peak_active_file_bytes, "activeFile", CODEC_BYTES, "Greatest active page cache."),
	F(median_bytes, "median", CODEC_BYTES, "Time-weighted median of the working set."),
	F(p95_bytes, "p95", CODEC_BYTES, "Time-weighted 95th percentile."),
	F(min_rank_peak_bytes, "minRankPeak", CODEC_BYTES, "Smallest peak among the ranks."),
	F(peak_ephemeral_bytes, "ephemeral", CODEC_BYTES, "Greatest ephemeral-storage use."),
	F(is_whole, "whole", CODEC_BOOL, "Completed, with usage seen from start to end."),
	F(is_cache_bound, "cacheBound", CODEC_BOOL, "The working set near the limit is page cache."),
	F(is_quantile_exact, "exact", CODEC_BOOL, "Median and p95 within one UTC day."),
	F(samples, "samples", CODEC_INT64, "Samples seen."),
	{.key = "activity",
	 .type = CODEC_INT32,
	 .offset = offsetof(struct run, activity_permille),
	 .size = sizeof(int32_t),
	 .absent = -1,
	 .max = 1000,
	 .help = "Share of the time in which its accelerators had work, in thousandths; absent where not measured."},
	FN(shape, "shape", CODEC_ENUM, RUN_SHAPE_UNKNOWN, run_shape_names,
	   "How its use went; absent where no curve was read."),
	FN(source, "source", CODEC_NAME, 0, source_names, "Where the figures come from."),
};
#undef F
#undef FN

const struct codec_part run_parts[RUN_PARTS] = {
	CODEC_PARTS_FIELDS(run_fields),
	{.type = CODEC_PART_TEXTS,
	 .key = "killedAt",
	 .help = "Limits at which attempts were OOM-killed; none: killed without a limit."},
	{.type = CODEC_PART_INTEGERS,
	 .key = "curveMax",
	 .help = "Greatest use at equal steps of the run, in thousandths of its peak; at most the last 8 runs have "
		 "one."},
	{.type = CODEC_PART_INTEGERS,
	 .key = "curveMean",
	 .help = "Mean use at the same steps, without page cache and at most rss."},
};

#define KILLED_WITHOUT_LIMIT "none"

static int decode_killed_limits(const struct doc *item, const char *path, struct run *run, struct err *err)
{
	const char *texts[RUN_KILLED_LIMITS];
	size_t n;
	int r = codec_get_texts(item, path, "killedAt", RUN_KILLED_LIMITS, QUANTITY_TEXT_BYTES, texts, &n, err);

	for (size_t i = 0; !r && i < n; i++) {
		if (streq(texts[i], KILLED_WITHOUT_LIMIT))
			run->killed_limits[i] = -1;
		else
			r = codec_parse_bytes(texts[i], path, &run->killed_limits[i], err);
	}
	run->n_killed_limits = (int)n;
	return r;
}

static int64_t of_permille(int64_t permille, int64_t peak)
{
	return (int64_t)(((__int128)permille * peak + 500) / 1000);
}

static int64_t to_permille(int64_t bytes, int64_t peak)
{
	int64_t permille = (int64_t)(((__int128)MAX(bytes, 0) * 1000 + peak / 2) / peak);

	return MIN(permille, 1000);
}

/* One half of a curve; both must be equally long. */
static int decode_curve(const struct doc *item, const char *path, const char *key, int64_t peak, int64_t *points,
			int *n, struct err *err)
{
	const struct doc *array;
	int r = codec_get_array(item, path, key, &array, err);
	int64_t permille;

	*n = 0;
	if (r)
		return r < 0 ? r : 0;
	if (array->n_items > LIMIT_CURVE_POINTS)
		return err_set_at(err, -EINVAL, path, 0, 0, "%s: more than %d points", key, LIMIT_CURVE_POINTS);
	for (const struct doc *point = array->first; point; point = point->next) {
		if (!codec_is_integer(point, &permille) || permille < 0 || permille > 1000)
			return err_set_at(err, -EINVAL, path, 0, 0, "%s: expected integers of 0 to 1000", key);
		points[(*n)++] = of_permille(permille, peak);
	}
	return 0;
}

int run_decode(const struct doc *item, const char *path, struct run *run, struct err *err)
{
	int n_mean, r;

	*run = (struct run){0};
	codec_reset(run_fields, ARRAY_LEN(run_fields), run);
	r = codec_decode(run_fields, ARRAY_LEN(run_fields), item, path, run, err);
	if (!r && !*run->uid)
		r = err_set_at(err, -EINVAL, path, 0, 0, "uid: missing");
	if (!r)
		r = decode_killed_limits(item, path, run, err);
	if (!r)
		r = decode_curve(item, path, "curveMax", run->peak_bytes, run->curve_max, &run->n_curve, err);
	if (!r)
		r = decode_curve(item, path, "curveMean", run->peak_bytes, run->curve_mean, &n_mean, err);
	if (!r && n_mean != run->n_curve)
		r = err_set_at(err, -EINVAL, path, 0, 0, "curveMax and curveMean differ in length");
	return r;
}

static void encode_killed_limits(const struct run *run, struct strbuf *buf, const char **comma)
{
	char text[QUANTITY_TEXT_BYTES];

	if (!run->n_killed_limits)
		return;
	codec_key(buf, comma, "killedAt");
	for (int i = 0; i < run->n_killed_limits; i++)
		strbuf_addf(buf, "%s\"%s\"", i ? "," : "[",
			    run->killed_limits[i] < 0 ? KILLED_WITHOUT_LIMIT
						      : quantity_render_bytes(run->killed_limits[i], text));
	strbuf_addc(buf, ']');
}

static void encode_curve(const struct run *run, const char *key, const int64_t *points, struct strbuf *buf,
			 const char **comma)
{
	codec_key(buf, comma, key);
	for (int i = 0; i < run->n_curve; i++)
		strbuf_addf(buf, "%s%lld", i ? "," : "[", (long long)to_permille(points[i], run->peak_bytes));
	strbuf_addc(buf, ']');
}

void run_encode(const struct run *run, bool has_curve, struct strbuf *buf)
{
	const char *comma = "";

	strbuf_addc(buf, '{');
	codec_encode(run_fields, ARRAY_LEN(run_fields), run, NULL, buf, &comma);
	encode_killed_limits(run, buf, &comma);
	if (has_curve) {
		encode_curve(run, "curveMax", run->curve_max, buf, &comma);
		encode_curve(run, "curveMean", run->curve_mean, buf, &comma);
	}
	strbuf_addc(buf, '}');
}

bool run_has_curve(const struct run *run)
{
	return run->n_curve > 0 && run->peak_bytes > 0;
}
