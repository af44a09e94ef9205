/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of places: the tree of an answer, see prom_stream.c. */
#include "evidence/prom_stream_internal.h"

#include <errno.h>

static const struct {
	const char *name;
	enum place place;
	enum field field;
} fields[] = {
	{"status", PLACE_ROOT, FIELD_STATUS},	     {"data", PLACE_ROOT, FIELD_DATA},
	{"errorType", PLACE_ROOT, FIELD_ERROR_TYPE}, {"error", PLACE_ROOT, FIELD_ERROR},
	{"warnings", PLACE_ROOT, FIELD_WARNINGS},    {"resultType", PLACE_DATA, FIELD_RESULT_TYPE},
	{"result", PLACE_DATA, FIELD_RESULT},	     {"metric", PLACE_SERIES, FIELD_METRIC},
	{"value", PLACE_SERIES, FIELD_VALUE},	     {"values", PLACE_SERIES, FIELD_VALUES},
};

enum { SEEN_OF_SERIES = 1u << FIELD_METRIC | 1u << FIELD_VALUE | 1u << FIELD_VALUES };

int prom_refuse(struct prom_stream *self, struct err *err, const char *what)
{
	return err_set(err, -EPROTO, "not an answer of Prometheus: %s at byte %zu", what, self->n_bytes);
}

enum place prom_place_of(const struct prom_stream *self)
{
	return self->places[self->depth - 1];
}

bool prom_wants_text(const struct prom_stream *self)
{
	if (self->depth == 0 || self->labels_from)
		return false;
	switch (prom_place_of(self)) {
	case PLACE_PAIR:
	case PLACE_WARNINGS:
		return true;
	case PLACE_ROOT:
		return self->field == FIELD_STATUS || self->field == FIELD_ERROR_TYPE || self->field == FIELD_ERROR;
	default:
		return false;
	}
}

static int push(struct prom_stream *self, enum place place, struct err *err)
{
	if (self->depth == PROM_STREAM_DEPTH)
		return err_set(err, -E2BIG, "an answer of Prometheus is nested deeper than %d", PROM_STREAM_DEPTH);
	self->places[self->depth++] = (unsigned char)place;
	self->state = place > PLACE_ARRAYS_ ? STATE_VALUE_OR_END : STATE_KEY_OR_END;
	return 0;
}

int prom_begin_object(struct prom_stream *self, struct err *err)
{
	enum place place = PLACE_OTHER_OBJECT;

	if (self->depth == 0) {
		place = PLACE_ROOT;
	} else if (self->labels_from) {
		place = PLACE_OTHER_OBJECT;
	} else if (prom_place_of(self) == PLACE_ROOT && self->field == FIELD_DATA) {
		place = PLACE_DATA;
	} else if (prom_place_of(self) == PLACE_RESULT) {
		place = PLACE_SERIES;
		self->seen &= ~(unsigned int)SEEN_OF_SERIES;
		if (++self->n_series > LIMIT_PROM_SERIES)
			return err_set(err, -E2BIG, "an answer of Prometheus has more than %d series",
				       LIMIT_PROM_SERIES);
	} else if (prom_place_of(self) == PLACE_SERIES && self->field == FIELD_METRIC) {
		strbuf_clear(&self->labels);
		self->labels_from = self->depth + 1;
	}
	return push(self, place, err);
}

int prom_begin_array(struct prom_stream *self, struct err *err)
{
	enum place above = self->depth ? prom_place_of(self) : PLACE_OTHER_OBJECT, place = PLACE_OTHER_ARRAY;

	if (self->depth == 0)
		return prom_refuse(self, err, "an array");
	if (self->labels_from)
		place = PLACE_OTHER_ARRAY;
	else if (above == PLACE_DATA && self->field == FIELD_RESULT)
		place = PLACE_RESULT;
	else if (above == PLACE_ROOT && self->field == FIELD_WARNINGS)
		place = PLACE_WARNINGS;
	else if (above == PLACE_SERIES && self->field == FIELD_VALUES)
		place = PLACE_VALUES;
	else if (above == PLACE_VALUES || (above == PLACE_SERIES && self->field == FIELD_VALUE))
		place = PLACE_PAIR;
	if ((place == PLACE_PAIR || place == PLACE_VALUES) && !(self->seen & 1u << FIELD_METRIC))
		return prom_refuse(self, err, "values before their labels");
	self->pair_items = 0;
	return push(self, place, err);
}

static int labels_done(struct prom_stream *self, struct err *err)
{
	int r;

	self->labels_from = 0;
	json_putp(&self->current);
	if (self->labels.status)
		return self->labels.status == -ENOMEM
			       ? err_set(err, -ENOMEM, "no memory left for labels")
			       : err_set(err, -E2BIG, "the labels of a series are longer than %zu bytes",
					 LIMIT_PROM_LABELSET_BYTES);
	r = json_parse(strbuf_text(&self->labels), self->labels.len, 2, &self->current, err);
	if (r)
		return r == -ENOMEM ? r : prom_refuse(self, err, "labels that are no flat object of text");
	return self->handler.series ? self->handler.series(self->handler.context, self->current, err) : 0;
}

int prom_pop(struct prom_stream *self, struct err *err)
{
	enum place place = prom_place_of(self);

	self->depth--;
	self->state = self->depth ? STATE_AFTER : STATE_END;
	if (self->labels_from == self->depth + 1)
		return labels_done(self, err);
	if (place == PLACE_PAIR && self->pair_items != 2)
		return prom_refuse(self, err, "a sample that is no pair");
	if (place == PLACE_SERIES && !(self->seen & 1u << FIELD_METRIC))
		return prom_refuse(self, err, "a series without labels");
	return 0;
}

/* A JSON string as it was written, without its quotes, appended unescaped to `ret`. */
static int unescape(struct prom_stream *self, struct strbuf *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT(LIMIT_PROM_ERROR_BYTES + 2);
	CLEANUP(json_putp) struct json_object *string = NULL;
	int r;

	strbuf_addc(&quoted, '[');
	strbuf_addc(&quoted, '"');
	strbuf_add(&quoted, strbuf_text(&self->token), self->token.len);
	strbuf_addc(&quoted, '"');
	strbuf_addc(&quoted, ']');
	r = quoted.status ? quoted.status : json_parse(strbuf_text(&quoted), quoted.len, 2, &string, NULL);
	if (r)
		return r == -ENOMEM ? err_set(err, r, "no memory left")
				    : prom_refuse(self, err, "a string that is none");
	/* Cut to fit: a buffer that runs over keeps nothing. */
	for (const char *p = json_object_get_string(json_object_array_get_idx(string, 0));
	     *p && ret->len < ret->max - 1; p++)
		strbuf_addc(ret, *p == '\n' ? ' ' : *p);
	return ret->status ? err_set(err, -ENOMEM, "no memory left") : 0;
}

static int text_done_in_root(struct prom_stream *self, struct err *err)
{
	switch (self->field) {
	case FIELD_STATUS:
		if (streq(strbuf_text(&self->token), "success"))
			self->status = PROM_STATUS_SUCCESS;
		else if (streq(strbuf_text(&self->token), "error"))
			self->status = PROM_STATUS_ERROR;
		else
			return prom_refuse(self, err, "an unknown status");
		return 0;
	case FIELD_ERROR_TYPE:
		return unescape(self, &self->error_type, err);
	default:
		return unescape(self, &self->error, err);
	}
}

static int sample_value(struct prom_stream *self, struct err *err)
{
	double value;

	if (prom_value_parse(strbuf_text(&self->token), self->token.len, &value))
		return prom_refuse(self, err, "a sample that is no number");
	self->n_samples++;
	return self->handler.sample ? self->handler.sample(self->handler.context, self->time_ms, value, err) : 0;
}

int prom_text_failed(struct prom_stream *self, struct err *err)
{
	if (self->token.status == -ENOMEM)
		return err_set(err, -ENOMEM, "no memory left for an answer of Prometheus");
	return err_set(err, -E2BIG, "an answer of Prometheus has a text longer than %zu bytes", LIMIT_PROM_ERROR_BYTES);
}

int prom_text_done(struct prom_stream *self, bool is_string, struct err *err)
{
	if (self->token.status)
		return prom_text_failed(self, err);
	switch (prom_place_of(self)) {
	case PLACE_ROOT:
		return is_string ? text_done_in_root(self, err)
				 : prom_refuse(self, err, "a number where a text belongs");
	case PLACE_WARNINGS:
		if (!is_string)
			return prom_refuse(self, err, "a warning that is no text");
		if (self->n_warnings++)
			strbuf_addc(&self->warnings, '\n');
		return unescape(self, &self->warnings, err);
	default:
		break;
	}
	if (++self->pair_items > 2 || is_string != (self->pair_items == 2))
		return prom_refuse(self, err, "a sample that is no pair");
	if (is_string)
		return sample_value(self, err);
	return prom_time_parse(strbuf_text(&self->token), self->token.len, &self->time_ms)
		       ? prom_refuse(self, err, "a time that is no number")
		       : 0;
}

int prom_key_done(struct prom_stream *self, struct err *err)
{
	self->state = STATE_COLON;
	if (self->labels_from)
		return 0;
	if (self->token.status)
		return prom_text_failed(self, err);
	self->field = FIELD_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (fields[i].place == prom_place_of(self) && streq(fields[i].name, strbuf_text(&self->token)))
			self->field = (int)fields[i].field;
	if (self->field == FIELD_OTHER)
		return 0;
	if (self->seen & 1u << self->field)
		return prom_refuse(self, err, "a member that comes twice");
	self->seen |= 1u << self->field;
	return 0;
}

bool prom_is_value_expected(const struct prom_stream *self, char c)
{
	if (self->depth == 0)
		return c == '{';
	if (self->labels_from || prom_place_of(self) == PLACE_OTHER_OBJECT || prom_place_of(self) == PLACE_OTHER_ARRAY)
		return true;
	switch (prom_place_of(self)) {
	case PLACE_RESULT:
		return c == '{';
	case PLACE_VALUES:
		return c == '[';
	case PLACE_PAIR:
	case PLACE_WARNINGS:
		return true; /* text_done looks */
	default:
		break;
	}
	switch (self->field) {
	case FIELD_METRIC:
		return c == '{';
	case FIELD_VALUE:
	case FIELD_VALUES:
		return c == '[';
	case FIELD_RESULT: /* scalar and string results are arrays of other things: refused inside */
		return c == '[';
	case FIELD_STATUS:
	case FIELD_ERROR:
	case FIELD_ERROR_TYPE:
		return c == '"';
	case FIELD_DATA: /* absent, null or an object with errors */
		return c == '{' || c == 'n';
	case FIELD_WARNINGS:
		return c == '[' || c == 'n';
	default:
		return true;
	}
}
