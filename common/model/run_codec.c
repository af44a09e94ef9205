/* SPDX-License-Identifier: Apache-2.0 */
/* run_codec: a run of a MemoryHistory as JSON. */
#include "model/history_internal.h"

#include "base/limits.h"
#include "k8s/quantity.h"
#include "model/codec.h"
#include "model/codec_tables.h"

#include <errno.h>
#include <string.h>

static const char *const chosen_by_names[] = {"user", "memtamer", "unknown"};
static const char *const source_names[] = {"query", "remote-read", "pods", "trace", "query+pods", "remote-read+pods"};
/* As in policy.h, which is a higher layer. */
const char *const history_rung_names[HISTORY_RUNGS] = {"off", "observe", "fill", "raise", "enforce"};

#define KILLED_WITHOUT_LIMIT "none"

static int read_killed_limits(const struct codec_field *field, const struct doc *item, void *self, struct err *err)
{
	const char *texts[RUN_KILLED_LIMITS];
	struct run *run = self;
	size_t n;
	int r = codec_get_texts(item, field->key, RUN_KILLED_LIMITS, QUANTITY_TEXT_BYTES, texts, &n, err);

	for (size_t i = 0; !r && i < n; i++) {
		if (streq(texts[i], KILLED_WITHOUT_LIMIT))
			run->killed_limits[i] = -1;
		else
			r = decode_at(codec_parse_bytes(texts[i], &run->killed_limits[i], err), err, "%s", field->key);
	}
	run->n_killed_limits = (int)n;
	return r;
}

static void write_killed_limits(const struct codec_field *field, const void *self, struct strbuf *buf,
				const char **comma)
{
	const struct run *run = self;
	char text[QUANTITY_TEXT_BYTES];

	if (!run->n_killed_limits)
		return;
	codec_key(buf, comma, field->key);
	for (int i = 0; i < run->n_killed_limits; i++)
		strbuf_addf(buf, "%s\"%s\"", i ? "," : "[",
			    run->killed_limits[i] < 0 ? KILLED_WITHOUT_LIMIT
						      : quantity_render_bytes(run->killed_limits[i], text));
	strbuf_addc(buf, ']');
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

/* Reads one half of a curve; both halves must have the same length. */
static int read_curve(const struct codec_field *field, const struct doc *item, void *self, struct err *err)
{
	struct run *run = self;
	bool is_first = field->offset == offsetof(struct run, curve_max);
	int64_t *points = is_first ? run->curve_max : run->curve_mean, permille;
	const struct doc *array = NULL;
	int n = 0, r = decode_array(item, field->key, &array, err);

	if (r)
		return r;
	if (array && array->n_items > LIMIT_CURVE_POINTS)
		r = err_set(err, -EINVAL, "more than %d points", LIMIT_CURVE_POINTS);
	for (const struct doc *point = doc_children(array, DOC_ARRAY); point && !r; point = point->next) {
		if (codec_is_integer(point, &permille) && permille >= 0 && permille <= 1000)
			points[n++] = of_permille(permille, run->peak_bytes);
		else
			r = err_set(err, -EINVAL, "expected integers of 0 to 1000");
	}
	if (is_first)
		run->n_curve = n;
	if (!r && n != run->n_curve)
		r = err_set(err, -EINVAL, "curveMax and curveMean differ in length");
	return decode_at(r, err, "%s", field->key);
}

static void write_curve(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct run *run = self;
	const int64_t *points = field->offset == offsetof(struct run, curve_max) ? run->curve_max : run->curve_mean;

	if (!run_has_curve(run))
		return;
	codec_key(buf, comma, field->key);
	for (int i = 0; i < run->n_curve; i++)
		strbuf_addf(buf, "%s%lld", i ? "," : "[", (long long)to_permille(points[i], run->peak_bytes));
	strbuf_addc(buf, ']');
}

#define F(member, key, type, ...) CODEC_FIELD(struct run, member, key, type, __VA_ARGS__)
#define FN(member, key, type, none, names, help)                                                                       \
	CODEC_FIELD(struct run, member, key, type, help, .absent = (none), CODEC_NAMES(names))
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
	F(gpu.used_bytes, "gpuPeak", CODEC_BYTES, "Greatest use of GPU memory on one GPU, the fullest."),
	F(gpu.capacity_bytes, "gpuCapacity", CODEC_BYTES, "What processes can use of that GPU."),
	F(is_whole, "whole", CODEC_BOOL, "Completed, with usage seen from start to end."),
	F(is_cache_bound, "cacheBound", CODEC_BOOL, "Much of the peak is page cache, which is not counted as need."),
	F(is_quantile_exact, "exact", CODEC_BOOL, "Median and p95 within one UTC day."),
	F(samples, "samples", CODEC_INT64, "Samples seen."),
	CODEC_FIELD(struct run, activity_permille, "activity", CODEC_INT32,
		    "Share of the time in which its accelerators had work, in thousandths; absent where not measured.",
		    .absent = -1, .max = 1000),
	FN(shape, "shape", CODEC_ENUM, RUN_SHAPE_UNKNOWN, run_shape_names,
	   "How its use went; absent where no curve was read."),
	FN(source, "source", CODEC_NAME, 0, source_names, "Where the figures come from."),
	F(killed_limits, "killedAt", CODEC_TEXTS,
	  "Limits at which attempts were OOM-killed; none: killed without a limit.", .read = read_killed_limits,
	  .write = write_killed_limits),
	F(curve_max, "curveMax", CODEC_INTEGERS,
	  "Greatest use at equal steps of the run, in thousandths of its peak; at most the last 8 runs have one.",
	  .read = read_curve, .write = write_curve),
	F(curve_mean, "curveMean", CODEC_INTEGERS, "Mean use at the same steps, without page cache and at most rss.",
	  .read = read_curve, .write = write_curve),
};
#undef F
#undef FN
const struct codec_table run_table = CODEC_TABLE(run_fields);

int run_decode(const struct doc *item, struct run *run, struct err *err)
{
	int r;

	*run = (struct run){0};
	codec_reset(&run_table, run);
	r = codec_decode(&run_table, item, run, err);
	return r || *run->uid ? r : err_set(err, -EINVAL, "uid: missing");
}

void run_encode_short(const struct run *run, struct strbuf *buf)
{
	struct run shown = {0};

	codec_reset(&run_table, &shown);
	shown.start_ms = run->start_ms;
	shown.outcome = run->outcome;
	shown.peak_bytes = run->peak_bytes;
	shown.limit_bytes = run->limit_bytes;
	shown.chosen_by = run->chosen_by;
	codec_encode_object(&run_table, &shown, NULL, buf);
}

bool run_has_curve(const struct run *run)
{
	return run->n_curve > 0 && run->peak_bytes > 0;
}

bool run_same(const struct run *a, const struct run *b)
{
	return codec_same(&run_table, a, b) && a->n_killed_limits == b->n_killed_limits &&
	       memcmp(a->killed_limits, b->killed_limits, (size_t)a->n_killed_limits * sizeof(*a->killed_limits)) == 0;
}
