/* SPDX-License-Identifier: Apache-2.0 */
/* history_codec: MemoryHistory as JSON. The tables below are also the object's documentation; members are written in
 * their order.
 *
 * Nearly all of a history is in `spec.data`, one compressed string; next to it is what people look at. Release 0.1
 * wrote the members of `data` into `spec` itself, and such objects are still read. `spec.runs` of today has only the
 * last run, for kubectl, and without its uid: release 0.1 refuses such an object, and so never takes it for an empty
 * history. */
#include "base/limits.h"
#include "model/codec.h"
#include "model/history_internal.h"
#include "model/codec_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define F(member, key, type, help) CODEC_FIELD(struct history_aggregate, member, key, type, help)
static const struct codec_field aggregate_fields[] = {
	F(runs, "runs", CODEC_INT64, "Runs."),
	F(whole_runs, "wholeRuns", CODEC_INT64, "Those that completed with usage seen from start to end."),
	F(oom_runs, "oomRuns", CODEC_INT64, "Those that were OOM-killed."),
	F(peak.bytes, "peak", CODEC_BYTES, "Greatest need of runs, until it is forgotten."),
	F(killed.bytes, "killedLimit", CODEC_BYTES, "Greatest limit that was OOM-killed, until it is forgotten."),
	F(ephemeral.bytes, "ephemeralPeak", CODEC_BYTES, "Greatest ephemeral-storage use, until it is forgotten."),
	F(peak.later_bytes, "laterPeak", CODEC_BYTES, "Greatest need of the later runs that stayed far below."),
	F(peak.later_runs, "laterPeakRuns", CODEC_INT32, "How many complete runs those are, in a row."),
	F(killed.later_bytes, "laterLimit", CODEC_BYTES, "Greatest limit far below that was OOM-killed since."),
	F(killed.later_runs, "laterLimitRuns", CODEC_INT32, "How many complete runs in a row needed far less since."),
	F(ephemeral.later_bytes, "laterEphemeral", CODEC_BYTES, "As laterPeak, for ephemeral storage."),
	F(ephemeral.later_runs, "laterEphemeralRuns", CODEC_INT32, "As laterPeakRuns, for ephemeral storage."),
};
#undef F

static const struct codec_field day_fields[] = {
	CODEC_FIELD(struct history_day, day, "day", CODEC_DATE, "UTC day."),
	CODEC_FIELD(struct history_day, mode, "mode", CODEC_ENUM, "Mode at work that day.", .absent = -1,
		    CODEC_NAMES(history_rung_names)),
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
	CODEC_FIELD(struct history_decision, mode, "mode", CODEC_ENUM, "Mode at work.", .absent = -1,
		    CODEC_NAMES(history_rung_names)),
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

static const struct codec_table aggregate_table = CODEC_TABLE(aggregate_fields), day_table = CODEC_TABLE(day_fields),
				decision_table = CODEC_TABLE(decision_fields);

/* How many items of the lists in `data` people see as lines. */
enum { SHOWN_DAYS = 7, SHOWN_DECISIONS = 8 };

/* ---- data ---- */

/* A history as it is written: without what has no room, and with the curves of the last `curves` runs that have one.
 * Only the lists' heads are its own. */
struct shown {
	struct history history;
	size_t curves;
};

static int read_run(void *self, const struct doc *item, struct err *err)
{
	struct history *history = self;
	struct run run;
	int r = run_decode(item, &run, err);

	if (r)
		return r;
	return history_put_run(history, &run) ? decode_oom(err) : 0;
}

/* While the listed runs are added, they must not be taken for dropped ones, nor counted again in the days. */
static int read_runs(const struct codec_field *field, const struct doc *object, void *self, struct err *err)
{
	struct history *history = self;
	int64_t until_ms = history->dropped_until_ms;
	__typeof__(history->days) days = history->days;
	int r;

	history->aggregate = history->dropped;
	history->dropped_until_ms = 0;
	history->days = (__typeof__(history->days))VEC_INIT;
	r = codec_get_objects(object, field->key, LIMIT_HISTORY_RUNS, read_run, history, err);
	vec_release(&history->days);
	history->days = days;
	history->dropped_until_ms = until_ms;
	return r;
}

/* Index of the first run whose curve is written, so that at most `n` curves are. */
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

static void write_runs(const struct codec_field *field, const void *self, struct strbuf *buf, const char **comma)
{
	const struct shown *shown = self;
	size_t first_curve = first_with_curve(&shown->history, shown->curves);

	if (!shown->history.runs.n)
		return;
	codec_key(buf, comma, field->key);
	for (size_t i = 0; i < shown->history.runs.n; i++) {
		struct run run = shown->history.runs.items[i];

		run.n_curve = i < first_curve ? 0 : run.n_curve;
		strbuf_addc(buf, i ? ',' : '[');
		codec_encode_object(&run_table, &run, NULL, buf);
	}
	strbuf_addc(buf, ']');
}

/* Release 0.1 wrote these into `spec`. */
#define IN_DATA "deprecated, now in data: "

#define F(member, key, type, ...) CODEC_FIELD(struct history, member, key, type, __VA_ARGS__)
#define LIST(member, key, help, of, most)                                                                              \
	CODEC_MEMBER(key, CODEC_OBJECTS, help, .offset = offsetof(struct history, member),                             \
		     .size = sizeof(*((struct history *)NULL)->member.items), .table = &(of), .max = (most))
static const struct codec_field data_fields[] = {
	F(dropped_until_ms, "droppedUntil", CODEC_TIME,
	  IN_DATA "latest start among the runs that fell out of the list."),
	F(dropped_uid, "droppedUid", CODEC_TEXT, IN_DATA "greatest uid among the runs that fell out and started then."),
	F(dropped, "dropped", CODEC_OBJECT, IN_DATA "what is known of the runs that fell out of the list.",
	  .table = &aggregate_table),
	CODEC_MEMBER("usage", CODEC_CUSTOM, "deprecated, no longer read: sketch of use over time."),
	LIST(days, "days", IN_DATA "counters by day, the last 90.", day_table, LIMIT_HISTORY_DAYS),
	LIST(decisions, "decisions", IN_DATA "what was set in pods, the last 32: one for each run and set of values.",
	     decision_table, LIMIT_HISTORY_DECISIONS),
	CODEC_MEMBER("runs", CODEC_OBJECTS,
		     "The last run in short, for people; data has the last runs, oldest first, at most 32.",
		     .table = &run_table, .read = read_runs, .write = write_runs),
};
#undef F
#undef LIST
static const struct codec_table data_table = CODEC_TABLE(data_fields);
/* Release 0.1 did not know which maxima recur, so this is in `data` only. */
#define FORGOTTEN(member, i, key)                                                                                      \
	CODEC_FIELD(struct history, dropped.member.forgotten[i].bytes, key, CODEC_BYTES,                               \
		    "A maximum that was forgotten."),                                                                  \
		CODEC_FIELD(struct history, dropped.member.forgotten[i].near_ms, key "Time", CODEC_TIME,               \
			    "When the last run near that one ended."),                                                 \
		CODEC_FIELD(struct history, dropped.member.forgotten[i].later_runs, key "Runs", CODEC_INT32,           \
			    "The complete runs since then.")
#define RECURRENCE(member, word)                                                                                       \
	CODEC_FIELD(struct history, dropped.member.near_ms, "near" word, CODEC_TIME,                                   \
		    "When the last run near the maximum ended."),                                                      \
		CODEC_FIELD(struct history, dropped.member.near_runs, "near" word "Runs", CODEC_INT32,                 \
			    "The complete runs near the maximum."),                                                    \
		CODEC_FIELD(struct history, dropped.member.gap_runs, "gap" word, CODEC_INT32,                          \
			    "The most complete runs between two runs near the maximum."),                              \
		FORGOTTEN(member, 0, "forgotten" word), FORGOTTEN(member, 1, "alsoForgotten" word)
static const struct codec_field packed_fields[] = {
	RECURRENCE(peak, "Peak"),
	RECURRENCE(killed, "Limit"),
	RECURRENCE(ephemeral, "Ephemeral"),
	CODEC_FIELD(
		struct history, dropped.node_blame, "nodeBlame", CODEC_INT32,
		"Three for each OOM kill for which a node was blamed, less one for each complete run, at most six."),
	CODEC_FIELD(struct history, dropped.is_kill_unseen, "killUnseen", CODEC_BOOL,
		    "The use of the run with the greatest killed limit was far below that."),
	CODEC_FIELD(struct history, dropped.early_runs, "earlyRuns", CODEC_INT32,
		    "Long runs that ended early since the last complete run."),
	CODEC_ROWS_OF(data_table),
};
#undef RECURRENCE
#undef FORGOTTEN
static const struct codec_table packed_table = CODEC_TABLE(packed_fields);

/* ---- the object ---- */

struct names {
	const char *workload, *role, *container;
	const char *const *aliases;
	uint8_t n_aliases;
};
static const struct codec_field names_fields[] = {CODEC_WORKLOAD(struct names)};
static const struct codec_table names_table = CODEC_TABLE(names_fields);

static const struct codec_field spec_fields[] = {
	CODEC_ROWS_OF(names_table),
	CODEC_MEMBER(
		"data", CODEC_CUSTOM,
		"Everything remembered: v1:, then base64 of gzip of a JSON object of runs and the deprecated fields."),
	CODEC_MEMBER("lastDays", CODEC_TEXTS, "The last 7 of days in data, for people; never read."),
	CODEC_MEMBER("lastDecisions", CODEC_TEXTS, "The last 8 of decisions in data, for people; never read."),
	CODEC_ROWS_OF(data_table),
};
static const struct codec_table spec_table = CODEC_TABLE(spec_fields);
static const struct codec_field object_fields[] = {CODEC_MEMBER(
	"spec", CODEC_OBJECT, "What the recommender remembers; here and not in a status, so that backups keep it.",
	.table = &spec_table)};
const struct codec_table history_table = CODEC_TABLE(object_fields);

static int set_text(char **text, const char *value, struct err *err)
{
	char *copy = strdup(value);

	if (!copy)
		return decode_oom(err);
	free(*text);
	*text = copy;
	return 0;
}

static int decode_names(const struct doc *spec, struct history *self, struct err *err)
{
	const char *aliases[LIMIT_PROFILE_ALIASES];
	struct names names = {.aliases = aliases};
	int r;

	codec_reset(&names_table, &names);
	r = decode_at(codec_decode(&names_table, spec, &names, err), err, "spec");
	if (!r)
		r = set_text(&self->workload, names.workload, err);
	if (!r)
		r = set_text(&self->role, names.role, err);
	if (!r)
		r = set_text(&self->container, names.container, err);
	for (size_t i = 0; !r && i < names.n_aliases; i++)
		if (history_add_alias(self, aliases[i]))
			r = decode_oom(err);
	return r;
}

static int decode_history(const struct doc *object, struct arena *arena, struct history **ret, struct err *err)
{
	CLEANUP(history_freep) struct history *self = NULL;
	const struct doc *spec = NULL;
	struct doc data;
	struct codec_head head;
	int r = codec_head_decode(object, "MemoryHistory", &head, err);

	if (r)
		return r;
	self = history_new(head.namespace_name, head.name);
	if (!self)
		return decode_oom(err);
	r = decode_object(object, "spec", &spec, err);
	if (!r)
		r = decode_names(spec, self, err);
	if (!r)
		r = decode_at(codec_unpack(spec, "data", LIMIT_HISTORY_DATA_BYTES, arena, &data, err), err, "spec");
	if (r >= 0)
		r = decode_at(codec_decode(r ? &data_table : &packed_table, r ? spec : &data, self, err), err,
			      r ? "spec" : "spec.data");
	if (r)
		return r;
	*ret = TAKE_PTR(self);
	return 0;
}

int history_read(const char *text, size_t n, struct arena *scratch, struct history **ret, struct err *err)
{
	struct doc doc;
	int r = codec_doc_read(text, n, scratch, &doc, err);

	return r ? r : decode_history(&doc, scratch, ret, err);
}

/* Omits one more item. false: nothing is left to omit. Old decisions are worth less than a curve, and a curve less than
 * a run, which is written as dropped. */
static bool show_less(struct shown *self)
{
	struct history *history = &self->history;

	if (history->decisions.n > LIMIT_HISTORY_DECISIONS / (self->curves ? 4 : 8)) {
		history->decisions.items++;
		history->decisions.n--;
	} else if (self->curves) {
		self->curves--;
	} else if (history->runs.n) {
		history_aggregate_add(&history->dropped, history->runs.items);
		history_mark_dropped(history, history->runs.items++);
		history->runs.n--;
	} else {
		return false;
	}
	return true;
}

static int encode_data(const struct history *self, struct strbuf *buf)
{
	struct shown shown = {*self, LIMIT_HISTORY_CURVES};

	do {
		strbuf_clear(buf);
		codec_encode_object(&packed_table, &shown.history, NULL, buf);
	} while (buf->status == -E2BIG && show_less(&shown));
	return buf->status;
}

/* Writes the last `max` structs of a list as lines. */
static void encode_lines(const char *key, const struct codec_table *table, const void *items, size_t n, size_t size,
			 size_t max, struct strbuf *buf, const char **comma)
{
	if (!n)
		return;
	codec_key(buf, comma, key);
	for (size_t i = n > max ? n - max : 0, first = i; i < n; i++) {
		strbuf_addc(buf, i > first ? ',' : '[');
		codec_encode_line(table, (const char *)items + i * size, buf);
	}
	strbuf_addc(buf, ']');
}

static int encode_spec(const struct history *self, const struct strbuf *data, struct strbuf *buf)
{
	const struct names names = {self->workload, self->role, self->container, (const char *const *)self->aliases,
				    (uint8_t)self->n_aliases};
	const char *comma = "";
	int r;

	strbuf_addc(buf, '{');
	codec_encode(&names_table, &names, NULL, buf, &comma);
	r = codec_pack(buf, &comma, "data", data);
	encode_lines("lastDays", &day_table, self->days.items, self->days.n, sizeof(*self->days.items), SHOWN_DAYS, buf,
		     &comma);
	encode_lines("lastDecisions", &decision_table, self->decisions.items, self->decisions.n,
		     sizeof(*self->decisions.items), SHOWN_DECISIONS, buf, &comma);
	if (self->runs.n) {
		codec_key(buf, &comma, "runs");
		strbuf_addc(buf, '[');
		run_encode_short(&self->runs.items[self->runs.n - 1], buf);
		strbuf_addc(buf, ']');
	}
	strbuf_addc(buf, '}');
	return r;
}

int history_encode(const struct history *self, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf data = STRBUF_INIT(LIMIT_HISTORY_BYTES);
	int r = encode_data(self, &data);

	codec_head(buf, "MemoryHistory", self->namespace_name, self->name);
	strbuf_adds(buf, ",\"spec\":");
	r = r ? r : encode_spec(self, &data, buf);
	strbuf_addc(buf, '}');
	if (r) {
		strbuf_release(buf);
		buf->status = r;
	}
	return buf->status;
}
