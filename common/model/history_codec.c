/* SPDX-License-Identifier: Apache-2.0 */
/* MemoryHistory as JSON. The tables below are the object's documentation; order is the order of writing. */
#include "base/limits.h"
#include "model/codec.h"
#include "model/history_internal.h"
#include "model/schema_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define F(member, key, type, help) CODEC_FIELD(struct history_aggregate, member, key, type, help)
static const struct codec_field aggregate_fields[] = {
	F(runs, "runs", CODEC_INT64, "Runs."),
	F(whole_runs, "wholeRuns", CODEC_INT64, "Those that completed with usage seen from start to end."),
	F(oom_runs, "oomRuns", CODEC_INT64, "Those that were OOM-killed."),
	F(peak_bytes, "peak", CODEC_BYTES, "Greatest need of whole runs; decays by evidence."),
	F(killed_limit_bytes, "killedLimit", CODEC_BYTES, "Greatest limit that was OOM-killed; decays by evidence."),
	F(ephemeral_peak_bytes, "ephemeralPeak", CODEC_BYTES, "Greatest ephemeral-storage use; decays by evidence."),
	F(peak_mean_bytes, "peakMean", CODEC_DOUBLE, "Mean of the whole runs' needs, in bytes."),
	F(peak_m2, "peakM2", CODEC_DOUBLE, "Sum of squared distances from that mean."),
	F(peak_window.max_bytes, "laterPeak", CODEC_BYTES, "Greatest need of the later runs that stayed far below."),
	F(peak_window.runs, "laterPeakRuns", CODEC_INT32, "How many those are, in a row."),
	F(killed_window.max_bytes, "laterLimit", CODEC_BYTES, "Greatest limit of later runs that completed below."),
	F(killed_window.runs, "laterLimitRuns", CODEC_INT32, "How many those are, in a row."),
	F(ephemeral_window.max_bytes, "laterEphemeral", CODEC_BYTES, "As laterPeak, for ephemeral storage."),
	F(ephemeral_window.runs, "laterEphemeralRuns", CODEC_INT32, "How many those are, in a row."),
};
#undef F

static const struct codec_field day_fields[] = {
	CODEC_FIELD(struct history_day, day, "day", CODEC_DATE, "UTC day."),
	CODEC_FIELD_NAMES(struct history_day, mode, "mode", CODEC_ENUM, -1, history_rung_names,
			  "Mode at work that day."),
	CODEC_FIELD(struct history_day, runs, "runs", CODEC_INT32, "Runs that ended."),
	CODEC_FIELD(struct history_day, oom_kills, "ooms", CODEC_INT32, "Runs that were OOM-killed."),
	CODEC_FIELD(struct history_day, evictions, "evicted", CODEC_INT32, "Runs that were evicted."),
	CODEC_FIELD(struct history_day, harms, "harms", CODEC_INT32, "Runs that memtamer's sizes harmed."),
};

#define F(member, key, type, help) CODEC_FIELD(struct history_decision, member, key, type, help)
static const struct codec_field decision_fields[] = {
	F(time_ms, "time", CODEC_TIME, "When, of the first pod."),
	F(owner, "owner", CODEC_TEXT, "Kind and name of the root owner."),
	F(pod, "pod", CODEC_TEXT, "The first pod."),
	F(pods, "pods", CODEC_INT32, "Pods that were seen with these values."),
	CODEC_FIELD_NAMES(struct history_decision, mode, "mode", CODEC_ENUM, -1, history_rung_names, "Mode at work."),
	F(revision, "revision", CODEC_INT64, "Of the profile."),
	F(request_from_bytes, "requestFrom", CODEC_BYTES, "Request before."),
	F(request_to_bytes, "requestTo", CODEC_BYTES, "Request after."),
	F(limit_from_bytes, "limitFrom", CODEC_BYTES, "Limit before."),
	F(limit_to_bytes, "limitTo", CODEC_BYTES, "Limit after."),
	F(ephemeral_request_to_bytes, "ephemeralRequestTo", CODEC_BYTES, "Ephemeral-storage request after."),
	F(ephemeral_limit_to_bytes, "ephemeralLimitTo", CODEC_BYTES, "Ephemeral-storage limit after."),
	F(rule, "rule", CODEC_TEXT, "The rule at work."),
	F(cap, "cap", CODEC_TEXT, "What capped it."),
};
#undef F

static const struct codec_field history_fields[] = {
	CODEC_FIELD(struct history, dropped_until_ms, "droppedUntil", CODEC_TIME,
		    "Latest start among the runs that fell out of the list."),
	CODEC_FIELD(struct history, dropped_uid, "droppedUid", CODEC_TEXT,
		    "Greatest uid among the runs that fell out and started then."),
};

static const struct codec_part aggregate_parts[] = {CODEC_PARTS_FIELDS(aggregate_fields)};
static const struct codec_part day_parts[] = {CODEC_PARTS_FIELDS(day_fields)};
static const struct codec_part decision_parts[] = {CODEC_PARTS_FIELDS(decision_fields)};
static const struct codec_part spec_parts[] = {
	SCHEMA_WORKLOAD_PARTS,
	CODEC_PARTS_FIELDS(history_fields),
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECT, "dropped", aggregate_parts,
			   "What is known of the runs that fell out of the list."),
	{.type = CODEC_PART_TEXT,
	 .key = "usage",
	 .help = "Sketch of use over time: zero weight, first bucket, then steps and weights in ms."},
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECTS, "days", day_parts, "Counters by day, the last 90."),
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECTS, "decisions", decision_parts,
			   "What was set in pods, the last 32: one for each run and set of values."),
	/* Its parts are run_codec.c's. */
	{.type = CODEC_PART_OBJECTS,
	 .key = "runs",
	 .help = "The last runs, oldest first, at most 32.",
	 .parts = run_parts,
	 .n = RUN_PARTS},
};
static const struct codec_part parts[] = {
	CODEC_PARTS_OBJECT(CODEC_PART_OBJECT, "spec", spec_parts,
			   "What the recommender remembers; here and not in a status, so that backups keep it."),
};
const struct codec_parts history_parts = CODEC_PARTS_LIST(parts);

/* A list of flat objects. */
struct list_table {
	const char *key;
	const struct codec_field *fields;
	size_t n_fields, item_bytes, max;
};

static const struct list_table days_table = {"days", day_fields, ARRAY_LEN(day_fields), sizeof(struct history_day),
					     LIMIT_HISTORY_DAYS};
static const struct list_table decisions_table = {"decisions", decision_fields, ARRAY_LEN(decision_fields),
						  sizeof(struct history_decision), LIMIT_HISTORY_DECISIONS};

/* ---- decoding ---- */

/* The i-th object of spec.`key`, with its path, by the one before it. `*item` is NULL behind the last. */
static int list_item(const struct doc *spec, const char *key, size_t max, size_t i, const struct doc **item,
		     char path[64], struct err *err)
{
	const struct doc *array = NULL;
	int r = i ? 0 : codec_get_array(spec, "spec", key, &array, err);

	snprintf(path, 64, "spec.%s", key);
	if (r < 0)
		return r;
	if (array && array->n_items > max)
		return err_set_at(err, -EINVAL, path, 0, 0, "more than %zu items", max);
	*item = i ? (*item)->next : array ? array->first : NULL;
	if (!*item)
		return 0;
	snprintf(path, 64, "spec.%s[%zu]", key, i);
	return (*item)->type == DOC_OBJECT ? 0 : err_set_at(err, -EINVAL, path, 0, 0, "expected an object");
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static int decode_runs(const struct doc *spec, struct history *self, struct err *err)
{
	const struct doc *item = NULL;
	struct run run;
	char path[64];

	for (size_t i = 0;; i++) {
		int r = list_item(spec, "runs", LIMIT_HISTORY_RUNS, i, &item, path, err);

		if (r || !item)
			return r;
		r = run_decode(item, path, &run, err);
		if (r)
			return r;
		if (history_add_run(self, &run))
			return no_memory(err);
	}
}

/* The same as list_item(), and what the object holds into `self`. */
static int decode_item(const struct list_table *table, const struct doc *spec, size_t i, const struct doc **item,
		       void *self, struct err *err)
{
	char path[64];
	int r = list_item(spec, table->key, table->max, i, item, path, err);

	if (r || !*item)
		return r;
	codec_reset(table->fields, table->n_fields, self);
	return codec_decode(table->fields, table->n_fields, *item, path, self, err);
}

static int decode_days(const struct doc *spec, struct history *self, struct err *err)
{
	const struct doc *item = NULL;

	self->days.n = 0; /* the listed runs are among those that are counted there */
	for (size_t i = 0;; i++) {
		struct history_day day = {0};
		int r = decode_item(&days_table, spec, i, &item, &day, err);

		if (r || !item)
			return r;
		if (vec_push(&self->days, day))
			return no_memory(err);
	}
}

static int decode_decisions(const struct doc *spec, struct history *self, struct err *err)
{
	const struct doc *item = NULL;

	for (size_t i = 0;; i++) {
		struct history_decision decision = {0};
		int r = decode_item(&decisions_table, spec, i, &item, &decision, err);

		if (r || !item)
			return r;
		if (vec_push(&self->decisions, decision))
			return no_memory(err);
	}
}

static int decode_name(const struct doc *spec, const char *key, size_t max, char **ret, struct err *err)
{
	const char *text;
	char *copy;
	int r = codec_get_text(spec, "spec", key, max, &text, err);

	if (r)
		return r;
	copy = strdup(text);
	if (!copy)
		return no_memory(err);
	free(*ret);
	*ret = copy;
	return 0;
}

static int decode_names(const struct doc *spec, struct history *self, struct err *err)
{
	const char *aliases[LIMIT_PROFILE_ALIASES];
	size_t n;
	int r = decode_name(spec, "workload", LIMIT_KEY_BYTES, &self->workload, err);

	if (!r)
		r = decode_name(spec, "role", LIMIT_NAMESPACE_BYTES, &self->role, err);
	if (!r)
		r = decode_name(spec, "container", LIMIT_NAMESPACE_BYTES, &self->container, err);
	if (!r)
		r = codec_get_texts(spec, "spec", "aliases", LIMIT_PROFILE_ALIASES, LIMIT_KEY_BYTES, aliases, &n, err);
	for (size_t i = 0; !r && i < n; i++)
		if (history_add_alias(self, aliases[i]))
			r = no_memory(err);
	return r;
}

static int decode_usage(const struct doc *spec, struct history *self, struct err *err)
{
	const char *text;
	int r = codec_get_string(spec, "spec", "usage", &text, err);

	if (r)
		return r < 0 ? r : 0;
	r = sketch_decode(text, &self->usage);
	if (r == -ENOMEM)
		return no_memory(err);
	return r ? err_set_at(err, r, "spec.usage", 0, 0, "not a sketch") : 0;
}

static int decode_dropped(const struct doc *spec, struct history *self, struct err *err)
{
	const struct doc *dropped = NULL;
	int r = codec_get_object(spec, "spec", "dropped", &dropped, err);

	if (r < 0)
		return r;
	r = codec_decode(aggregate_fields, ARRAY_LEN(aggregate_fields), dropped, "spec.dropped", &self->dropped, err);
	self->aggregate = self->dropped;
	return r;
}

static int decode_history(const struct doc *object, struct history **ret, struct err *err)
{
	CLEANUP(history_freep) struct history *self = NULL;
	const struct doc *spec = NULL;
	const char *namespace_name, *name;
	int64_t until_ms;
	int r = codec_head_decode(object, "MemoryHistory", &namespace_name, &name, err);

	if (r)
		return r;
	self = history_new(namespace_name, name);
	if (!self)
		return no_memory(err);
	r = codec_get_object(object, "", "spec", &spec, err);
	if (r >= 0)
		r = decode_names(spec, self, err);
	if (!r)
		r = codec_decode(history_fields, ARRAY_LEN(history_fields), spec, "spec", self, err);
	if (!r)
		r = decode_dropped(spec, self, err);
	/* Runs of the list are no news: they must not be taken for some that fell out. */
	until_ms = self->dropped_until_ms;
	self->dropped_until_ms = 0;
	if (!r)
		r = decode_runs(spec, self, err);
	self->dropped_until_ms = until_ms;
	if (!r)
		r = decode_usage(spec, self, err);
	if (!r)
		r = decode_days(spec, self, err);
	if (!r)
		r = decode_decisions(spec, self, err);
	if (r)
		return r;
	*ret = TAKE_PTR(self);
	return 0;
}

int history_read(const char *text, size_t n, struct arena *scratch, struct history **ret, struct err *err)
{
	struct doc doc;
	int r = codec_doc_read(text, n, scratch, &doc, err);

	return r ? r : decode_history(&doc, ret, err);
}

int history_decode(struct json_object *object, struct history **ret, struct err *err)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct doc doc;
	int r = codec_doc_of_json(object, &scratch, &doc, err);

	return r ? r : decode_history(&doc, ret, err);
}

/* ---- encoding ---- */

/* Index of the first run whose curve is written, so that at most `n` are. */
static size_t first_with_curve(const struct history *self, size_t n)
{
	size_t i = self->runs.n;

	while (i > 0 && (n > 0 || !run_has_curve(&self->runs.items[i - 1]))) {
		i--;
		if (run_has_curve(&self->runs.items[i]))
			n--;
	}
	return i;
}

/* What is written of the lists. */
struct history_shown {
	size_t first_run, curves, decisions;
};

/* Takes something away where all does not fit; false: nothing is left to take. What was done long ago is worth less
 * than a curve, and that less than a run. */
static bool show_less(const struct history *self, struct history_shown *shown)
{
	if (shown->decisions > LIMIT_HISTORY_DECISIONS / 4)
		shown->decisions--;
	else if (shown->curves)
		shown->curves--;
	else if (shown->decisions > LIMIT_HISTORY_DECISIONS / 8)
		shown->decisions--;
	else if (shown->first_run < self->runs.n)
		shown->first_run++;
	else
		return false;
	return true;
}

static void encode_runs(const struct history *self, struct history_shown shown, struct strbuf *buf, const char **comma)
{
	size_t first_curve = first_with_curve(self, shown.curves);

	if (shown.first_run >= self->runs.n)
		return;
	codec_key(buf, comma, "runs");
	for (size_t i = shown.first_run; i < self->runs.n; i++) {
		const struct run *run = &self->runs.items[i];

		strbuf_addc(buf, i > shown.first_run ? ',' : '[');
		run_encode(run, shown.curves && i >= first_curve && run_has_curve(run), buf);
	}
	strbuf_addc(buf, ']');
}

/* The last items of a list. */
static void encode_list(const struct list_table *table, const void *items, size_t n, size_t max, struct strbuf *buf,
			const char **comma)
{
	size_t first = n > max ? n - max : 0;

	if (!n)
		return;
	codec_key(buf, comma, table->key);
	for (size_t i = first; i < n; i++) {
		const char *inner = "";

		strbuf_adds(buf, i > first ? ",{" : "[{");
		codec_encode(table->fields, table->n_fields, (const char *)items + i * table->item_bytes, NULL, buf,
			     &inner);
		strbuf_addc(buf, '}');
	}
	strbuf_addc(buf, ']');
}

/* Runs that are not shown are written as if they had fallen out of the list. */
static void encode_dropped(const struct history *self, struct history_shown shown, struct strbuf *buf,
			   const char **comma)
{
	struct history_aggregate dropped = self->dropped;
	struct history head = {.dropped_until_ms = self->dropped_until_ms};
	const char *inner = "";

	memcpy(head.dropped_uid, self->dropped_uid, sizeof(head.dropped_uid));
	for (size_t i = 0; i < shown.first_run; i++) {
		history_aggregate_add(&dropped, &self->runs.items[i]);
		history_mark_dropped(&head, &self->runs.items[i]);
	}
	codec_encode(history_fields, ARRAY_LEN(history_fields), &head, NULL, buf, comma);
	codec_key(buf, comma, "dropped");
	strbuf_addc(buf, '{');
	codec_encode(aggregate_fields, ARRAY_LEN(aggregate_fields), &dropped, NULL, buf, &inner);
	strbuf_addc(buf, '}');
}

static void encode_spec(const struct history *self, struct history_shown shown, struct strbuf *buf)
{
	const char *comma = "";

	strbuf_addc(buf, '{');
	codec_text(buf, &comma, "workload", self->workload);
	codec_text(buf, &comma, "role", self->role);
	codec_text(buf, &comma, "container", self->container);
	codec_texts(buf, &comma, "aliases", (const char *const *)self->aliases, self->n_aliases);
	encode_dropped(self, shown, buf, &comma);
	codec_key(buf, &comma, "usage");
	strbuf_addc(buf, '"');
	sketch_encode(&self->usage, buf);
	strbuf_addc(buf, '"');
	encode_list(&days_table, self->days.items, self->days.n, LIMIT_HISTORY_DAYS, buf, &comma);
	encode_list(&decisions_table, self->decisions.items, self->decisions.n, shown.decisions, buf, &comma);
	encode_runs(self, shown, buf, &comma);
	strbuf_addc(buf, '}');
}

int history_encode(const struct history *self, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf whole = STRBUF_INIT(LIMIT_HISTORY_BYTES);
	struct history_shown shown = {
		.first_run = 0, .curves = LIMIT_HISTORY_CURVES, .decisions = LIMIT_HISTORY_DECISIONS};

	for (;;) {
		strbuf_clear(&whole);
		codec_head(&whole, "MemoryHistory", self->namespace_name, self->name);
		strbuf_adds(&whole, ",\"spec\":");
		encode_spec(self, shown, &whole);
		strbuf_addc(&whole, '}');
		if (whole.status != -E2BIG || !show_less(self, &shown))
			break;
	}
	if (whole.status) {
		strbuf_release(buf);
		buf->status = whole.status;
		return whole.status;
	}
	return strbuf_add(buf, strbuf_text(&whole), whole.len);
}
