/* SPDX-License-Identifier: Apache-2.0 */
/* profile_codec: MemoryProfile as JSON. The tables below are also the object's documentation; members are written in
 * their order. */
#include "model/profile.h"

#include "k8s/quantity.h"
#include "model/codec_internal.h"
#include "model/profile_report.h"
#include "model/profile_spec.h"
#include "model/codec_tables.h"

#include <errno.h>
#include <stdio.h>

static const char *const flag_names[] = {"cache-bound", "leak", "unstable", "no-lower", "harm", "no-raise", "no-limit"};

#define F(member, key, type, help) CODEC_FIELD(struct recommendation, member, key, type, help)
#define FN(member, key, type, names, help)                                                                             \
	CODEC_FIELD(struct recommendation, member, key, type, help, CODEC_NAMES(names))
static const struct codec_field figure_fields[] = {
	F(request_bytes, "request", CODEC_BYTES, "Recommended memory request."),
	F(limit_bytes, "limit", CODEC_BYTES, "Recommended memory limit."),
	F(ephemeral_request_bytes, "ephemeralRequest", CODEC_BYTES, "Recommended ephemeral-storage request."),
	F(ephemeral_limit_bytes, "ephemeralLimit", CODEC_BYTES, "Recommended ephemeral-storage limit."),
	F(median_bytes, "median", CODEC_BYTES, "Time-weighted median of use over complete runs."),
	F(p95_bytes, "p95", CODEC_BYTES, "95th percentile of the runs' peaks."),
	F(peak_bytes, "peak", CODEC_BYTES, "Greatest need of a complete run."),
	F(ephemeral_peak_bytes, "ephemeralPeak", CODEC_BYTES, "Greatest ephemeral-storage use of a run."),
	F(gpu.used_bytes, "gpuPeak", CODEC_BYTES,
	  "Greatest use of GPU memory on one GPU, the fullest of the newest runs."),
	F(gpu.capacity_bytes, "gpuCapacity", CODEC_BYTES, "What processes can use of that GPU."),
	F(is_gpu_full, "gpuFull", CODEC_BOOL,
	  "The last run failed with this GPU nearly full, fuller than in every run that completed."),
	F(proven_bytes, "proven", CODEC_BYTES, "Greatest limit that a run was OOM-killed at: need is at least this."),
	F(last_request_bytes, "lastRequest", CODEC_BYTES, "Memory request of the last complete run."),
	F(last_limit_bytes, "lastLimit", CODEC_BYTES, "Memory limit of the last complete run."),
	F(last_oom_ms, "lastOOM", CODEC_TIME, "When a run was last OOM-killed."),
	F(runs, "runs", CODEC_INT32, "Distinct submissions known."),
	F(whole_runs, "wholeRuns", CODEC_INT32, "Runs that completed with usage seen from start to end."),
	F(oom_kills, "oomKills", CODEC_INT32, "Runs that were OOM-killed."),
	F(buffer_permille, "buffer", CODEC_INT32, "Thousandths added to the peak."),
	F(over_request_permille, "overRequest", CODEC_INT32, "Thousandths of run time with use above the request."),
	F(min_ranks, "minRanks", CODEC_INT32,
	  "Smallest world size of the complete runs: fewer ranks are never lowered."),
	FN(confidence, "confidence", CODEC_ENUM8, confidence_names, "How much evidence there is."),
	FN(flags, "flags", CODEC_FLAGS8, flag_names, "What holds sizing back."),
};
#undef F
#undef FN

static const struct codec_table figures = CODEC_TABLE(figure_fields);

#define RECOMMENDATION(help)                                                                                           \
	{                                                                                                              \
		CODEC_FIELD(struct recommendation, variant, "variant", CODEC_TEXT, help), CODEC_ROWS_OF(figures)       \
	}
static const struct codec_field recommendation_fields[] = RECOMMENDATION(
	"The variant of all runs, where they are of one."),
				variant_fields[] = RECOMMENDATION("Hash of image, arguments and world size."),
				previous_fields[] = RECOMMENDATION("Absent in the first: of several variants.");
static const struct codec_table recommendation_table = CODEC_TABLE(recommendation_fields),
				variant_table = CODEC_TABLE(variant_fields),
				previous_table = CODEC_TABLE(previous_fields);

static const struct codec_field summary_fields[] = {
	CODEC_MEMBER("median", CODEC_CUSTOM, "recommendation.median, rounded up."),
	CODEC_MEMBER("peak", CODEC_CUSTOM, "recommendation.peak, rounded up."),
	CODEC_MEMBER("leak", CODEC_CUSTOM, "Suspected: memory grows to the end of every run."),
};
static const struct codec_table summary_table = CODEC_TABLE(summary_fields);

/* ---- members by hand: they are read into a profile_draft and written from a struct shown ---- */

/* A profile as it is written: without what has no room. Only the heads of its lists are its own. */
struct shown {
	struct profile profile;
	struct profile_report report;
	bool has_summary;
	bool has_evidence; /* of the diagnosis */
};

/* Reads a recommendation behind those that were read before; an absent value is that of the parent. */
static int read_listed(struct profile_draft *draft, const struct doc *item, struct err *err)
{
	struct recommendation *ret = &draft->variants[draft->profile.n_variants + draft->profile.n_previous];

	*ret = draft->profile.parent;
	ret->variant[0] = '\0';
	return codec_decode(&variant_table, item, ret, err);
}

static int missing_variant(struct err *err)
{
	return err_set(err, -EINVAL, "variant: missing");
}

static int read_variant(void *self, const struct doc *item, struct err *err)
{
	struct profile_draft *draft = self;
	int r = read_listed(draft, item, err);

	return r || *draft->variants[draft->profile.n_variants++].variant ? r : missing_variant(err);
}

/* The first one is a parent, which may have several variants. */
static int read_previous(void *self, const struct doc *item, struct err *err)
{
	struct profile_draft *draft = self;
	int r = read_listed(draft, item, err);
	size_t i = draft->profile.n_previous++;

	return r || !i || *draft->variants[draft->profile.n_variants + i].variant ? r : missing_variant(err);
}

/* Values equal to those of the parent are omitted, but not the variant. */
static void write_listed(const struct codec_field *field, const struct profile *self, size_t first, size_t n,
			 struct strbuf *buf, const char **comma)
{
	struct recommendation parent = self->parent;

	parent.variant[0] = '\0';
	codec_encode_objects(field, self->variants + first, n, &parent, buf, comma);
}

static void write_variants(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct profile *profile = self;

	write_listed(field, profile, 0, profile->n_variants, buf, comma);
}

static void write_previous(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct profile *profile = self;

	write_listed(field, profile, profile->n_variants, profile->n_previous, buf, comma);
}

static void encode_human(const char *key, int64_t bytes, struct strbuf *buf, const char **comma)
{
	char text[QUANTITY_TEXT_BYTES];

	if (bytes > 0)
		codec_text(buf, comma, key, quantity_render_human(bytes, text));
}

/* Columns of `kubectl get` show a value as it is stored, and 89758105Ki is hard to read. */
static void write_summary(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct shown *shown = self;
	const struct recommendation *rec = &shown->profile.parent;
	const char *inner = "";

	if (!shown->has_summary || (rec->median_bytes <= 0 && rec->peak_bytes <= 0 && !(rec->flags & REC_LEAK)))
		return;
	codec_key(buf, comma, field->key);
	strbuf_addc(buf, '{');
	encode_human("median", rec->median_bytes, buf, &inner);
	encode_human("peak", rec->peak_bytes, buf, &inner);
	codec_text(buf, &inner, "leak", rec->flags & REC_LEAK ? "Suspected" : NULL);
	strbuf_addc(buf, '}');
}

static int read_diagnosis(const struct codec_field *field, const struct doc *object, void *self, struct err *err)
{
	struct profile_draft *draft = self;
	const struct doc *member = NULL;
	int r = decode_object(object, field->key, &member, err);

	if (r || !member)
		return r;
	draft->profile.diagnosis = &draft->diagnosis;
	return decode_at(codec_decode(field->table, member, &draft->diagnosis, err), err, "%s", field->key);
}

static void write_diagnosis(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct shown *shown = self;
	struct diagnosis diagnosis;

	if (!shown->profile.diagnosis)
		return;
	diagnosis = *shown->profile.diagnosis;
	if (!shown->has_evidence)
		diagnosis.evidence[0] = '\0';
	codec_key(buf, comma, field->key);
	codec_encode_object(field->table, &diagnosis, NULL, buf);
}

static void write_report(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct shown *shown = self;

	codec_encode(field->table, &shown->report, NULL, buf, comma);
}

#define F(member, key, type, ...) CODEC_FIELD(struct profile, member, key, type, __VA_ARGS__)
static const struct codec_field status_fields[] = {
	CODEC_WORKLOAD(struct profile),
	F(revision, "revision", CODEC_INT64, "Counts changes of the recommendation."),
	F(updated_ms, "updated", CODEC_TIME, "When the recommendation last changed."),
	F(reasons, "reasons", CODEC_TEXTS, "Why the sizes are these, most important first.", .max = LIMIT_REASON_BYTES,
	  .max_items = PROFILE_REASONS, .n_offset = offsetof(struct profile, n_reasons)),
	CODEC_MEMBER("summary", CODEC_OBJECT, "Figures as kubectl shows them: written for people and never read.",
		     .table = &summary_table, .write = write_summary),
	F(parent, "recommendation", CODEC_OBJECT, "What runs of all variants used, and the sizes that follow.",
	  .table = &recommendation_table),
	CODEC_MEMBER("variants", CODEC_OBJECTS,
		     "The same of single variants; a figure that is absent is the workload's.", .table = &variant_table,
		     .size = sizeof(struct recommendation), .max = LIMIT_PROFILE_VARIANTS, .read_item = read_variant,
		     .write = write_variants),
	CODEC_MEMBER("previous", CODEC_OBJECTS,
		     "What counts for runs that were submitted before this changed; a figure that is absent is the "
		     "workload's of now.",
		     .table = &previous_table, .size = sizeof(struct recommendation), .max = LIMIT_PROFILE_VARIANTS + 1,
		     .read_item = read_previous, .write = write_previous),
	CODEC_MEMBER("diagnosis", CODEC_OBJECT,
		     "What ended the last run that failed, until a later one completes; an end for memory stays.",
		     .table = &diagnosis_table, .offset = offsetof(struct profile_draft, diagnosis),
		     .read = read_diagnosis, .write = write_diagnosis),
	{.key = "", .type = CODEC_ROWS, .table = &profile_report_table, .write = write_report},
};
#undef F
static const struct codec_table status_table = CODEC_TABLE(status_fields);

static const struct codec_field object_fields[] = {
	CODEC_MEMBER("spec", CODEC_OBJECT, "What people decide; all of it may be absent.",
		     .table = &profile_spec_table),
	CODEC_MEMBER("status", CODEC_OBJECT, "What the recommender knows.", .table = &status_table),
};
const struct codec_table profile_table = CODEC_TABLE(object_fields);

/* ---- decoding ---- */

static int decode_draft(const struct doc *object, struct arena *scratch, struct profile_draft *ret, struct err *err)
{
	const struct doc *status = NULL;
	struct codec_head head;
	int r;

	/* Not the whole draft, as most of the lists are never used. */
	ret->profile = (struct profile){.aliases = ret->aliases,
					.reasons = ret->reasons,
					.variants = ret->variants,
					.spec = &ret->spec,
					.report = &ret->report};
	codec_reset(&status_table, ret);
	r = codec_head_decode(object, "MemoryProfile", &head, err);
	if (r)
		return r;
	ret->profile.namespace_name = head.namespace_name;
	ret->profile.name = head.name;
	ret->report = (struct profile_report){.generation = head.generation};
	r = profile_spec_decode(object, head.created_ms, scratch, &ret->spec, err);
	if (!r)
		r = decode_object(object, "status", &status, err);
	if (!r)
		r = decode_at(codec_decode(&status_table, status, ret, err), err, "status");
	return r ? r : decode_at(codec_decode(&profile_report_table, status, &ret->report, err), err, "status");
}

int profile_read(const char *text, size_t n, struct arena *scratch, struct profile_draft *ret, struct err *err)
{
	struct doc doc;
	int r = codec_doc_read(text, n, scratch, &doc, err);

	return r ? r : decode_draft(&doc, scratch, ret, err);
}

int profile_decode(struct json_object *object, struct profile **ret, struct err *err)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct profile_draft draft;
	struct profile *profile;
	struct doc doc;
	int r = codec_doc_of_json(object, &scratch, &doc, err);

	if (!r)
		r = decode_draft(&doc, &scratch, &draft, err);
	if (r)
		return r;
	profile = profile_dup(&draft.profile);
	if (!profile)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = profile;
	return 0;
}

/* ---- comparing ---- */

/* Compares the first `n` of the listed recommendations. */
static bool same_listed(const struct profile *a, const struct profile *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!codec_same(&variant_table, &a->variants[i], &b->variants[i]))
			return false;
	return true;
}

bool profile_same_sizes(const struct profile *a, const struct profile *b)
{
	return codec_same(&figures, &a->parent, &b->parent) && a->n_variants == b->n_variants &&
	       same_listed(a, b, a->n_variants);
}

bool profile_same(const struct profile *a, const struct profile *b)
{
	return streq(a->namespace_name, b->namespace_name) && streq(a->name, b->name) &&
	       codec_same(&status_table, a, b) && a->n_variants == b->n_variants && a->n_previous == b->n_previous &&
	       same_listed(a, b, (size_t)a->n_variants + a->n_previous) && profile_spec_same(a->spec, b->spec) &&
	       profile_report_same(a->report, b->report) && diagnosis_same(a->diagnosis, b->diagnosis);
}

/* ---- encoding ---- */

static void encode_body(const struct shown *shown, struct strbuf *buf)
{
	strbuf_adds(buf, "\"spec\":");
	profile_spec_encode(shown->profile.spec, buf);
	strbuf_adds(buf, ",\"status\":");
	codec_encode_object(&status_table, shown, NULL, buf);
}

/* Omits the messages of all conditions. false: there are none. */
static bool omit_messages(struct profile_report *report)
{
	bool has_omitted = false;

	for (size_t i = 0; i < PROFILE_CONDITIONS; i++) {
		has_omitted |= report->conditions[i].message != NULL;
		report->conditions[i].message = NULL;
	}
	return has_omitted;
}

/* Omits one more thing, in the order given in profile.h. false: nothing is left to omit. */
static bool show_less(struct shown *self)
{
	struct profile *profile = &self->profile;

	if (profile->n_reasons > 1)
		profile->n_reasons--;
	else if (self->has_summary)
		self->has_summary = false;
	else if (omit_messages(&self->report))
		return true;
	else if (self->has_evidence)
		self->has_evidence = false;
	else if (profile->n_previous > 1)
		profile->n_previous--;
	else if (profile->n_aliases > 1)
		profile->n_aliases--;
	else if (profile->n_reasons)
		profile->n_reasons--;
	else if (profile->n_previous)
		profile->n_previous--;
	else if (profile->n_variants)
		profile->n_variants--;
	else
		return false;
	return true;
}

int profile_encode(const struct profile *self, struct strbuf *buf)
{
	struct shown shown = {.profile = *self, .has_summary = true, .has_evidence = self->diagnosis != NULL};
	size_t least = LIMIT_PROFILE_BYTES + (self->spec && self->spec->source ? strlen(self->spec->source) : 0);
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(0);

	if (self->diagnosis)
		least += LIMIT_DIAGNOSIS_BYTES;
	if (self->report)
		shown.report = *self->report;
	do {
		size_t further = shown.profile.n_variants > 1 ? shown.profile.n_variants - (size_t)1 : 0;

		strbuf_clear(&body);
		body.max = least + further * LIMIT_PROFILE_VARIANT_BYTES;
		encode_body(&shown, &body);
	} while (body.status == -E2BIG && show_less(&shown));
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
