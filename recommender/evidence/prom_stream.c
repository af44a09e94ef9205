/* SPDX-License-Identifier: Apache-2.0 */
/* An answer is split into its series and what stands around them:
 *
 *	{"status": "success", "data": {"resultType": "matrix", "result": [
 *	    {"metric": {labels}, "values": [[time, "value"], ...]}, ...]}, "warnings": ["..."]} */
#include "evidence/prom_stream.h"

#include "base/limits.h"
#include "k8s/doc.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* --- Series --- */

/* A number as Prometheus writes it ("1.5e+09", "NaN", "+Inf"). 0 or -EINVAL. */
static int parse_number(struct str text, double *ret)
{
	char buf[64], *end;
	size_t sign = text.n > 0 && (text.p[0] == '+' || text.p[0] == '-');
	double value;

	if (text.n == 0 || text.n >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text.p, text.n);
	buf[text.n] = '\0';
	/* strtod also takes hexadecimal numbers and blanks in front; Prometheus writes neither. */
	if (!isdigit((unsigned char)buf[sign]) && buf[sign] != '.' && strcmp(buf, "NaN") != 0 &&
	    strcmp(buf + sign, "Inf") != 0)
		return -EINVAL;
	if (memchr(buf, 'x', text.n) || memchr(buf, 'X', text.n))
		return -EINVAL;
	value = strtod(buf, &end);
	if (end != buf + text.n)
		return -EINVAL;
	*ret = value;
	return 0;
}

static int read_labels(struct prom_stream *self, struct json_text *in)
{
	const struct prom_handler *handler = &self->handler;
	size_t from = in->pos, n;
	int r = json_text_skip(in, 1);

	if (r)
		return r;
	n = in->pos - from;
	if (n > LIMIT_PROM_LABELSET_BYTES)
		return err_set(in->err, -E2BIG, "the labels of a series are longer than %zu bytes",
			       LIMIT_PROM_LABELSET_BYTES);
	json_putp(&self->current);
	r = json_parse(in->text + from, n, 2, &self->current, in->err);
	if (r == -ENOMEM)
		return r;
	if (r || !json_object_is_type(self->current, json_type_object))
		return json_text_bad(in, from, "labels that are no flat object of text");
	return self->stopped = handler->series ? handler->series(handler->context, self->current, in->err) : 0;
}

/* Reads `[time, "value"]`. */
static int read_pair(struct json_text *in, struct str *ret_time, struct json_string *ret_value)
{
	int r = json_text_peek(in) == '[' ? json_text_enter(in, 2) : -EINVAL;

	(void)json_text_peek(in);
	ret_time->p = in->text + in->pos;
	if (!r)
		r = json_text_scalar(in);
	ret_time->n = (size_t)(in->text + in->pos - ret_time->p);
	if (!r)
		r = json_text_expect(in, ',');
	(void)json_text_peek(in);
	if (!r)
		r = json_text_string(in, ret_value);
	return r ? r : json_text_expect(in, ']');
}

static int read_sample(struct prom_stream *self, struct json_text *in)
{
	const struct prom_handler *handler = &self->handler;
	size_t from = in->pos;
	struct json_string text = {.from = 0};
	struct str time;
	double seconds, value;
	int r = read_pair(in, &time, &text);

	if (r)
		return r == -EINVAL ? json_text_bad(in, from, "a sample that is no pair") : r;
	if (parse_number(time, &seconds) || !(fabs(seconds) < 1e15))
		return json_text_bad(in, from, "a time that is no number");
	if (parse_number(text.inside, &value))
		return json_text_bad(in, from, "a sample that is no number");
	self->n_samples++;
	if (!handler->sample)
		return 0;
	return self->stopped = handler->sample(handler->context, llround(seconds * 1000.0), value, in->err);
}

static int read_samples(struct prom_stream *self, struct json_text *in)
{
	int r = json_text_peek(in) == '[' ? json_text_enter(in, 1)
					  : json_text_bad(in, in->pos, "values that are no array");

	while (!r && (r = json_text_next(in, ']')) > 0)
		r = read_sample(self, in);
	return r;
}

static int read_member(struct prom_stream *self, struct json_text *in, const struct json_string *key,
		       unsigned int *seen)
{
	static const struct {
		struct str key;
		int (*read)(struct prom_stream *self, struct json_text *in);
	} members[] = {{{"metric", 6}, read_labels}, {{"value", 5}, read_sample}, {{"values", 6}, read_samples}};

	json_text_peek(in);
	for (unsigned int i = 0; i < ARRAY_LEN(members); i++) {
		if (!str_eq(key->inside, members[i].key))
			continue;
		if (*seen & 1u << i)
			return json_text_bad(in, key->from, "a member that comes twice");
		if (i && !*seen)
			return json_text_bad(in, key->from, "values before their labels");
		*seen |= 1u << i;
		return members[i].read(self, in);
	}
	return json_text_skip(in, 1);
}

static int take_series(void *context, const struct json_item *item, struct err *err)
{
	struct prom_stream *self = context;
	struct json_text in = {.text = item->text, .n = item->n, .from = item->from, .err = err};
	struct json_string key;
	unsigned int seen = 0;
	int r;

	if (++self->n_series > LIMIT_PROM_SERIES)
		return err_set(err, -E2BIG, "more than %d series", LIMIT_PROM_SERIES);
	if (!item->text)
		return err_set(err, -E2BIG, "a series is longer than %zu bytes or nested too deep",
			       LIMIT_PROM_SERIES_BYTES);
	r = json_text_enter(&in, 0);
	while (!r && (r = json_text_member(&in, &key)) > 0)
		r = read_member(self, &in, &key, &seen);
	return !r && !seen ? json_text_bad(&in, 0, "a series without labels") : r;
}

static const struct json_split_rule answer_rule = {
	.path = {"data", "result"},
	.max_item_bytes = LIMIT_PROM_SERIES_BYTES,
	.max_item_depth = LIMIT_REVIEW_DEPTH,
	.max_item_tokens = LIMIT_REVIEW_TOKENS,
	.max_envelope_bytes = LIMIT_PROM_ENVELOPE_BYTES,
	.take_item = take_series,
};

/* --- What stands around the series --- */

static const struct allow allow_value = {.n_fields = 0};
static const struct allow_field data_fields[] = {ALLOW_FIELD("resultType", allow_value),
						 ALLOW_FIELD("result", allow_value)};
static const struct allow allow_data = {ALLOW_FIELDS(data_fields)};
static const struct allow_field answer_fields[] = {
	ALLOW_FIELD("status", allow_value), ALLOW_FIELD("errorType", allow_value), ALLOW_FIELD("error", allow_value),
	ALLOW_FIELD("warnings", allow_value), ALLOW_FIELD("data", allow_data)};
static const struct allow allow_answer = {ALLOW_FIELDS(answer_fields)};

/* Appends one line, cut to fit: a buffer that runs over keeps nothing. */
static void add_line(struct strbuf *ret, const char *text)
{
	for (const char *p = text; *p && ret->len < ret->max - 1; p++)
		strbuf_addc(ret, *p == '\n' ? ' ' : *p);
}

static int take_warnings(struct prom_stream *self, const struct doc *warnings, struct err *err)
{
	for (const struct doc *item = warnings ? warnings->first : NULL; item; item = item->next) {
		if (item->type != DOC_STRING)
			return err_set(err, -EINVAL, "a warning that is no text");
		if (self->n_warnings++ && self->warnings.len < self->warnings.max - 1)
			strbuf_addc(&self->warnings, '\n');
		add_line(&self->warnings, item->text);
	}
	return 0;
}

static int take_envelope(struct prom_stream *self, const struct doc *answer, struct err *err)
{
	const char *status = doc_member_text(answer, "status");
	int r;

	self->status = streq(status, "success") ? PROM_STATUS_SUCCESS
		       : streq(status, "error") ? PROM_STATUS_ERROR
						: PROM_STATUS_ABSENT;
	if (self->status == PROM_STATUS_ABSENT)
		return err_set(err, -EINVAL, *status ? "an unknown status" : "no status");
	if (self->status == PROM_STATUS_SUCCESS && !self->split.has_items)
		return err_set(err, -EINVAL, "success without a result");
	add_line(&self->error_type, doc_member_text(answer, "errorType"));
	add_line(&self->error, doc_member_text(answer, "error"));
	r = take_warnings(self, doc_member(answer, "warnings"), err);
	if (!r && (self->error_type.status || self->error.status || self->warnings.status))
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

/* --- The stream --- */

void prom_stream_init(struct prom_stream *self, const struct prom_handler *handler)
{
	*self = (struct prom_stream){
		.error_type = STRBUF_INIT(256),
		.error = STRBUF_INIT(LIMIT_PROM_ERROR_BYTES),
		.warnings = STRBUF_INIT(LIMIT_PROM_ERROR_BYTES),
		.handler = *handler,
	};
	json_split_init(&self->split, &answer_rule, self);
}

void prom_stream_release(struct prom_stream *self)
{
	strbuf_release(&self->error_type);
	strbuf_release(&self->error);
	strbuf_release(&self->warnings);
	json_split_release(&self->split);
	json_putp(&self->current);
}

/* Says of what an error is. */
static int ended(struct prom_stream *self, int r, struct err *err)
{
	if (r && r != self->stopped) {
		err_wrap(err, r == -EINVAL ? "not an answer of Prometheus" : "an answer of Prometheus");
		r = r == -EINVAL ? -EPROTO : r;
		if (err)
			err->code = r;
	}
	return self->failed = r;
}

int prom_stream_feed(struct prom_stream *self, const char *bytes, size_t n, struct err *err)
{
	return self->failed ? self->failed : ended(self, json_split_feed(&self->split, bytes, n, err), err);
}

int prom_stream_finish(struct prom_stream *self, struct err *err)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	const struct strbuf *envelope = &self->split.envelope;
	struct doc answer;
	int r;

	if (self->failed)
		return err_set(err, self->failed, "the answer was refused before its end");
	r = json_split_finish(&self->split, err);
	if (!r)
		r = doc_read(envelope->text, envelope->len, &allow_answer, &arena, &answer, err);
	if (!r)
		r = take_envelope(self, &answer, err);
	return ended(self, r, err);
}
