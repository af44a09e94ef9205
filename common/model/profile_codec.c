/* SPDX-License-Identifier: Apache-2.0 */
/* MemoryProfile as JSON. The tables below are the object's documentation; order is the order of writing. */
#include "model/profile.h"

#include "k8s/quantity.h"
#include "model/codec.h"
#include "model/schema_internal.h"

#include <errno.h>
#include <stdio.h>

static const char *const flag_names[] = {"cache-bound", "leak", "unstable", "no-lower", "harm", "no-raise", "no-limit"};
static const char *const size_classes[] = {"dense", "standing", "guaranteed"};
static const char *const mode_caps[] = {"off", "observe", "fill", "raise"};

#define F(member, key, type, help)	   CODEC_FIELD(struct recommendation, member, key, type, help)
#define FN(member, key, type, names, help) CODEC_FIELD_NAMES(struct recommendation, member, key, type, 0, names, help)
static const struct codec_field recommendation_fields[] = {
	F(request_bytes, "request", CODEC_BYTES, "Recommended memory request."),
	F(limit_bytes, "limit", CODEC_BYTES, "Recommended memory limit."),
	F(ephemeral_request_bytes, "ephemeralRequest", CODEC_BYTES, "Recommended ephemeral-storage request."),
	F(ephemeral_limit_bytes, "ephemeralLimit", CODEC_BYTES, "Recommended ephemeral-storage limit."),
	F(median_bytes, "median", CODEC_BYTES, "Time-weighted median of use over whole runs."),
	F(p95_bytes, "p95", CODEC_BYTES, "95th percentile of the runs' peaks."),
	F(peak_bytes, "peak", CODEC_BYTES, "Greatest need of a whole run."),
	F(ephemeral_peak_bytes, "ephemeralPeak", CODEC_BYTES, "Greatest ephemeral-storage use of a run."),
	F(proven_bytes, "proven", CODEC_BYTES, "Greatest limit that a run was OOM-killed at: need is at least this."),
	F(last_request_bytes, "lastRequest", CODEC_BYTES, "Memory request of the last whole run."),
	F(last_limit_bytes, "lastLimit", CODEC_BYTES, "Memory limit of the last whole run."),
	F(last_oom_ms, "lastOOM", CODEC_TIME, "When a run was last OOM-killed."),
	F(runs, "runs", CODEC_INT32, "Distinct submissions known."),
	F(whole_runs, "wholeRuns", CODEC_INT32, "Runs that completed with usage seen from start to end."),
	F(oom_kills, "oomKills", CODEC_INT32, "Runs that were OOM-killed."),
	F(buffer_permille, "buffer", CODEC_INT32, "Thousandths added to the peak."),
	F(over_request_permille, "overRequest", CODEC_INT32, "Thousandths of run time with use above the request."),
	F(min_ranks, "minRanks", CODEC_INT32, "Smallest world size of the whole runs: fewer ranks are never lowered."),
	FN(confidence, "confidence", CODEC_ENUM8, confidence_names, "How much evidence there is."),
	FN(flags, "flags", CODEC_FLAGS8, flag_names, "What holds sizing back."),
};
#undef F
#undef FN

#define F(member, key, help) CODEC_FIELD(struct profile_spec, member, key, CODEC_BYTES, help)
#define FP(member_, key_, max_, help_)                                                                                 \
	{                                                                                                              \
		.key = (key_), .type = CODEC_INT32, .offset = offsetof(struct profile_spec, member_),                  \
		.size = sizeof(int32_t), .absent = -1, .max = (max_), .help = (help_)                                  \
	}
#define FN(member, key, names, help) CODEC_FIELD_NAMES(struct profile_spec, member, key, CODEC_TEXT, 0, names, help)
static const struct codec_field spec_fields[] = {
	F(pin_request_bytes, "pinRequest", "Memory request taken as it is, whatever runs used."),
	F(pin_limit_bytes, "pinLimit", "Memory limit taken as it is, whatever runs used."),
	FP(quantile_permille, "quantile", 1000, "Quantile of use for the request, in thousandths: 500 is the median."),
	FP(buffer_permille, "buffer", 10000, "Thousandths to add to the peak for the limit: 100 is a tenth."),
	F(floor_bytes, "floor", "Never size below."),
	F(ceiling_bytes, "ceiling", "Never size above."),
	FN(size_class, "class", size_classes,
	   "How the request is chosen: dense by the quantile, standing by the runs' peaks, guaranteed equal to the "
	   "limit."),
	FN(mode_cap, "modeCap", mode_caps,
	   "Highest mode for pods of this workload; in the profile named memtamer-namespace, for the whole namespace. "
	   "Remove it to lift the cap."),
	FN(mode_cap_before_undo, "modeCapBeforeUndo", mode_caps,
	   "Written by `undo`: the modeCap that it replaced. `undo --release` brings it back; it caps nothing."),
};
#undef F
#undef FP
#undef FN

static const struct codec_field status_fields[] = {
	CODEC_FIELD(struct profile, revision, "revision", CODEC_INT64, "Counts changes of the recommendation."),
	CODEC_FIELD(struct profile, updated_ms, "updated", CODEC_TIME, "When the recommendation last changed."),
};

static const struct codec_part recommendation_parts[] = {
	{.type = CODEC_PART_TEXT, .key = "variant", .help = "The variant of all runs, where they are of one."},
	CODEC_PARTS_FIELDS(recommendation_fields),
};
static const struct codec_part variant_parts[] = {
	{.type = CODEC_PART_TEXT, .key = "variant", .help = "Hash of image, arguments and world size."},
	CODEC_PARTS_FIELDS(recommendation_fields),
};
static const struct codec_part spec_parts[] = {CODEC_PARTS_FIELDS(spec_fields)};
static const struct codec_part summary_parts[] = {
	{.type = CODEC_PART_TEXT, .key = "median", .help = "recommendation.median, rounded up."},
	{.type = CODEC_PART_TEXT, .key = "peak", .help = "recommendation.peak, rounded up."},
};
static const struct codec_part previous_parts[] = {
	{.type = CODEC_PART_TEXT, .key = "variant", .help = "Absent in the first: of several variants."},
	CODEC_PARTS_FIELDS(recommendation_fields),
};
static const struct codec_part status_parts[] = {
	SCHEMA_WORKLOAD_PARTS,
	CODEC_PARTS_FIELDS(status_fields),
	{.type = CODEC_PART_TEXTS, .key = "reasons", .help = "Why the sizes are these, most important first."},
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECT, "summary", summary_parts,
			   "Figures as kubectl shows them: written for people and never read."),
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECT, "recommendation", recommendation_parts,
			   "What runs of all variants used, and the sizes that follow."),
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECTS, "variants", variant_parts,
			   "The same of single variants; a figure that is absent is the workload's."),
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECTS, "previous", previous_parts,
			   "What counts for runs that were submitted before this changed; a figure that is absent is "
			   "the workload's of now."),
};
static const struct codec_part parts[] = {
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECT, "spec", spec_parts, "What people decide; all of it may be absent."),
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECT, "status", status_parts, "What the recommender knows."),
};
const struct codec_parts profile_parts = CODEC_PARTS_LIST(parts);

#define REC_N  ARRAY_LEN(recommendation_fields)
#define SPEC_N ARRAY_LEN(spec_fields)

/* ---- decoding ---- */

static const struct profile_spec *spec_of(const struct profile *profile)
{
	return profile->spec ? profile->spec : &profile_spec_none;
}

static int decode_spec(const struct doc *object, struct profile_spec *spec, struct err *err)
{
	const struct doc *member = NULL;
	int r = codec_get_object(object, "", "spec", &member, err);

	codec_reset(spec_fields, SPEC_N, spec);
	if (r < 0)
		return r;
	return codec_decode(spec_fields, SPEC_N, member, "spec", spec, err);
}

static int decode_figures(const struct doc *object, const char *path, struct recommendation *ret, struct err *err)
{
	const char *id;
	int r = codec_get_text(object, path, "variant", sizeof(ret->variant) - 1, &id, err);

	if (r)
		return r;
	snprintf(ret->variant, sizeof(ret->variant), "%s", id);
	return codec_decode(recommendation_fields, REC_N, object, path, ret, err);
}

/* A recommendation in a list; the first of the previous ones is a parent, which may be of several variants. */
static int decode_one(const struct doc *item, const char *path, bool is_variant, struct recommendation *ret,
		      struct err *err)
{
	int r;

	if (item->type != DOC_OBJECT)
		return err_set_at(err, -EINVAL, path, 0, 0, "expected an object");
	r = decode_figures(item, path, ret, err);
	if (!r && is_variant && !ret->variant[0])
		return err_set_at(err, -EINVAL, path, 0, 0, "variant: missing");
	return r;
}

static int decode_variants(const struct doc *status, const struct recommendation *parent,
			   struct recommendation *variants, size_t *ret_n, struct err *err)
{
	const struct doc *array;
	char path[64];
	size_t n = 0;
	int r = codec_get_array(status, "status", "variants", &array, err);

	*ret_n = 0;
	if (r)
		return r < 0 ? r : 0;
	if (array->n_items > LIMIT_PROFILE_VARIANTS)
		return err_set_at(err, -EINVAL, "status.variants", 0, 0, "more than %d items", LIMIT_PROFILE_VARIANTS);
	for (const struct doc *item = array->first; item; item = item->next, n++) {
		snprintf(path, sizeof(path), "status.variants[%zu]", n);
		variants[n] = *parent;
		r = decode_one(item, path, true, &variants[n], err);
		if (r)
			return r;
	}
	*ret_n = n;
	return 0;
}

/* Of the parent and of variants; figures that are absent are those of the parent of now. */
static int decode_previous(const struct doc *status, const struct recommendation *parent,
			   struct recommendation *previous, size_t *ret_n, struct err *err)
{
	const struct doc *array;
	char path[64];
	size_t n = 0;
	int r = codec_get_array(status, "status", "previous", &array, err);

	*ret_n = 0;
	if (r)
		return r < 0 ? r : 0;
	if (array->n_items > LIMIT_PROFILE_VARIANTS + 1)
		return err_set_at(err, -EINVAL, "status.previous", 0, 0, "more than %d items",
				  LIMIT_PROFILE_VARIANTS + 1);
	for (const struct doc *item = array->first; item; item = item->next, n++) {
		snprintf(path, sizeof(path), "status.previous[%zu]", n);
		previous[n] = *parent;
		r = decode_one(item, path, n > 0, &previous[n], err);
		if (r)
			return r;
	}
	*ret_n = n;
	return 0;
}

static int decode_recommendation(const struct doc *status, struct recommendation *ret, struct err *err)
{
	const struct doc *member = NULL;
	int r = codec_get_object(status, "status", "recommendation", &member, err);

	codec_reset(recommendation_fields, REC_N, ret);
	if (r < 0)
		return r;
	return decode_figures(member, "status.recommendation", ret, err);
}

static int decode_names(const struct doc *status, struct profile_draft *ret, struct err *err)
{
	struct profile *profile = &ret->profile;
	size_t n_aliases = 0, n_reasons = 0;
	int r = codec_get_text(status, "status", "workload", LIMIT_KEY_BYTES, &profile->workload, err);

	if (!r)
		r = codec_get_text(status, "status", "role", LIMIT_NAMESPACE_BYTES, &profile->role, err);
	if (!r)
		r = codec_get_text(status, "status", "container", LIMIT_NAMESPACE_BYTES, &profile->container, err);
	if (!r)
		r = codec_get_texts(status, "status", "aliases", LIMIT_PROFILE_ALIASES, LIMIT_KEY_BYTES, ret->aliases,
				    &n_aliases, err);
	if (!r)
		r = codec_get_texts(status, "status", "reasons", PROFILE_REASONS, LIMIT_REASON_BYTES, ret->reasons,
				    &n_reasons, err);
	profile->n_aliases = (uint8_t)n_aliases;
	profile->n_reasons = (uint8_t)n_reasons;
	return r;
}

static int decode_draft(const struct doc *object, struct profile_draft *ret, struct err *err)
{
	struct profile *profile = &ret->profile;
	const struct doc *status = NULL;
	size_t n_variants = 0, n_previous = 0;
	int r = codec_head_decode(object, "MemoryProfile", &profile->namespace_name, &profile->name, err);

	if (!r)
		r = decode_spec(object, &ret->spec, err);
	if (r)
		return r;
	r = codec_get_object(object, "", "status", &status, err);
	if (r >= 0)
		r = decode_names(status, ret, err);
	if (!r)
		r = codec_decode(status_fields, ARRAY_LEN(status_fields), status, "status", profile, err);
	if (!r)
		r = decode_recommendation(status, &profile->parent, err);
	if (!r)
		r = decode_variants(status, &profile->parent, ret->variants, &n_variants, err);
	if (!r)
		r = decode_previous(status, &profile->parent, ret->variants + n_variants, &n_previous, err);
	profile->n_variants = (uint8_t)n_variants;
	profile->n_previous = (uint8_t)n_previous;
	return r;
}

/* Member by member: most of the lists is never looked at. */
static void draft_init(struct profile_draft *self)
{
	self->profile = (struct profile){
		.aliases = self->aliases, .reasons = self->reasons, .variants = self->variants, .spec = &self->spec};
}

int profile_read(const char *text, size_t n, struct arena *scratch, struct profile_draft *ret, struct err *err)
{
	struct doc doc;
	int r = codec_doc_read(text, n, scratch, &doc, err);

	draft_init(ret);
	return r ? r : decode_draft(&doc, ret, err);
}

int profile_decode(struct json_object *object, struct profile **ret, struct err *err)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct profile_draft draft;
	struct profile *profile;
	struct doc doc;
	int r = codec_doc_of_json(object, &scratch, &doc, err);

	draft_init(&draft);
	if (!r)
		r = decode_draft(&doc, &draft, err);
	if (r)
		return r;
	profile = profile_dup(&draft.profile);
	if (!profile)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = profile;
	return 0;
}

/* ---- comparing ---- */

static bool same_texts(const char *const *a, size_t n_a, const char *const *b, size_t n_b)
{
	for (size_t i = 0; n_a == n_b && i < n_a; i++)
		if (!streq(a[i], b[i]))
			return false;
	return n_a == n_b;
}

/* `and_previous`: those behind the variants, too. */
static bool same_variants(const struct profile *a, const struct profile *b, bool and_previous)
{
	size_t n = a->n_variants + (and_previous ? a->n_previous : (size_t)0);

	if (a->n_variants != b->n_variants || (and_previous && a->n_previous != b->n_previous))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!streq(a->variants[i].variant, b->variants[i].variant) ||
		    !codec_same(recommendation_fields, REC_N, &a->variants[i], &b->variants[i]))
			return false;
	return true;
}

bool profile_same_sizes(const struct profile *a, const struct profile *b)
{
	return codec_same(recommendation_fields, REC_N, &a->parent, &b->parent) && same_variants(a, b, false);
}

bool profile_same(const struct profile *a, const struct profile *b)
{
	const char *const names_a[] = {a->namespace_name, a->name, a->workload, a->role, a->container};
	const char *const names_b[] = {b->namespace_name, b->name, b->workload, b->role, b->container};

	return same_texts(names_a, ARRAY_LEN(names_a), names_b, ARRAY_LEN(names_b)) &&
	       same_texts(a->aliases, a->n_aliases, b->aliases, b->n_aliases) &&
	       same_texts(a->reasons, a->n_reasons, b->reasons, b->n_reasons) &&
	       codec_same(status_fields, ARRAY_LEN(status_fields), a, b) &&
	       codec_same(spec_fields, SPEC_N, spec_of(a), spec_of(b)) && streq(a->parent.variant, b->parent.variant) &&
	       codec_same(recommendation_fields, REC_N, &a->parent, &b->parent) && same_variants(a, b, true);
}

/* ---- encoding ---- */

static void encode_variants(const struct profile *self, size_t n, struct strbuf *buf, const char **comma)
{
	if (!n)
		return;
	codec_key(buf, comma, "variants");
	for (size_t i = 0; i < n; i++) {
		const char *inner = "";

		strbuf_adds(buf, i ? ",{" : "[{");
		codec_text(buf, &inner, "variant", self->variants[i].variant);
		codec_encode(recommendation_fields, REC_N, &self->variants[i], &self->parent, buf, &inner);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

static void encode_previous(const struct profile *self, size_t n, struct strbuf *buf, const char **comma)
{
	const struct recommendation *previous = self->variants + self->n_variants;

	if (!n)
		return;
	codec_key(buf, comma, "previous");
	for (size_t i = 0; i < n; i++) {
		const char *inner = "";

		strbuf_adds(buf, i ? ",{" : "[{");
		codec_text(buf, &inner, "variant", previous[i].variant);
		codec_encode(recommendation_fields, REC_N, &previous[i], &self->parent, buf, &inner);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

static void encode_human(const char *key, int64_t bytes, struct strbuf *buf, const char **comma)
{
	char text[QUANTITY_TEXT_BYTES];

	if (bytes > 0)
		codec_text(buf, comma, key, quantity_render_human(bytes, text));
}

/* Columns of `kubectl get` show a figure as it is written, and 89758105Ki says nothing at a glance. */
static void encode_summary(const struct recommendation *rec, struct strbuf *buf, const char **comma)
{
	const char *inner = "";

	if (rec->median_bytes <= 0 && rec->peak_bytes <= 0)
		return;
	codec_key(buf, comma, "summary");
	strbuf_addc(buf, '{');
	encode_human("median", rec->median_bytes, buf, &inner);
	encode_human("peak", rec->peak_bytes, buf, &inner);
	strbuf_addc(buf, '}');
}

/* How many of each list are written. */
struct profile_shown {
	size_t aliases, reasons, variants, previous;
	bool has_summary;
};

static void encode_body(const struct profile *self, struct profile_shown shown, struct strbuf *buf)
{
	const char *comma = "";

	strbuf_adds(buf, "\"spec\":{");
	codec_encode(spec_fields, SPEC_N, spec_of(self), NULL, buf, &comma);
	strbuf_adds(buf, "},\"status\":{");
	comma = "";
	codec_text(buf, &comma, "workload", self->workload);
	codec_text(buf, &comma, "role", self->role);
	codec_text(buf, &comma, "container", self->container);
	codec_texts(buf, &comma, "aliases", self->aliases, shown.aliases);
	codec_encode(status_fields, ARRAY_LEN(status_fields), self, NULL, buf, &comma);
	codec_texts(buf, &comma, "reasons", self->reasons, shown.reasons);
	if (shown.has_summary)
		encode_summary(&self->parent, buf, &comma);
	codec_key(buf, &comma, "recommendation");
	strbuf_addc(buf, '{');
	comma = "";
	codec_text(buf, &comma, "variant", self->parent.variant);
	codec_encode(recommendation_fields, REC_N, &self->parent, NULL, buf, &comma);
	strbuf_addc(buf, '}');
	comma = ",";
	encode_variants(self, shown.variants, buf, &comma);
	encode_previous(self, shown.previous, buf, &comma);
	strbuf_addc(buf, '}');
}

/* Leave one more thing out, in the order that profile.h says; false when nothing is left to leave out. */
static bool show_less(struct profile_shown *shown)
{
	if (shown->reasons > 1)
		shown->reasons--;
	else if (shown->has_summary)
		shown->has_summary = false;
	else if (shown->previous > 1)
		shown->previous--;
	else if (shown->aliases > 1)
		shown->aliases--;
	else if (shown->reasons)
		shown->reasons--;
	else if (shown->previous)
		shown->previous--;
	else if (shown->variants)
		shown->variants--;
	else
		return false;
	return true;
}

int profile_encode(const struct profile *self, struct strbuf *buf)
{
	size_t further = self->n_variants > 1 ? self->n_variants - 1 : 0;
	CLEANUP(strbuf_release)
	struct strbuf body = STRBUF_INIT(LIMIT_PROFILE_BYTES + further * LIMIT_PROFILE_VARIANT_BYTES);
	struct profile_shown shown = {self->n_aliases, self->n_reasons, self->n_variants, self->n_previous, true};

	encode_body(self, shown, &body);
	while (body.status == -E2BIG && show_less(&shown)) {
		strbuf_clear(&body);
		body.max = LIMIT_PROFILE_BYTES +
			   (shown.variants > 1 ? shown.variants - 1 : 0) * LIMIT_PROFILE_VARIANT_BYTES;
		encode_body(self, shown, &body);
	}
	if (body.status) {
		strbuf_release(buf);
		buf->status = body.status;
		return body.status;
	}
	codec_head(buf, "MemoryProfile", self->namespace_name, self->name);
	strbuf_addc(buf, ',');
	strbuf_add(buf, strbuf_text(&body), body.len);
	return strbuf_addc(buf, '}');
}
