/* SPDX-License-Identifier: Apache-2.0 */
/* Two machines in one: `state` walks JSON's grammar byte by byte, `places` is the stack of where in an answer that is.
 *
 *	{"status": "success", "data": {"resultType": "matrix", "result": [
 *	    {"metric": {labels}, "values": [[time, "value"], ...]}, ...]}, "warnings": ["..."]}
 *
 * Everything else is walked over as PLACE_OTHER_*. Text is copied only where it is wanted: into `token` (members'
 *names, numbers, strings at places of ours) and `labels` (one labels object, raw, for json-c). */
#include "evidence/prom_stream.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum state {
	STATE_VALUE,	    /* a value must begin */
	STATE_VALUE_OR_END, /* the same, or `]` of an empty array */
	STATE_KEY,	    /* a member's name must begin */
	STATE_KEY_OR_END,   /* the same, or `}` of an empty object */
	STATE_IN_KEY,
	STATE_COLON,
	STATE_AFTER, /* `,` or the end of what we are in */
	STATE_STRING,
	STATE_NUMBER,
	STATE_LITERAL, /* true, false, null */
	STATE_END,     /* only blanks */
};

enum place {
	PLACE_ROOT,
	PLACE_DATA,
	PLACE_SERIES,
	PLACE_OTHER_OBJECT,
	PLACE_ARRAYS_, /* objects above, arrays below */
	PLACE_RESULT,
	PLACE_VALUES,
	PLACE_PAIR,
	PLACE_WARNINGS,
	PLACE_OTHER_ARRAY,
};

enum field {
	FIELD_OTHER,
	FIELD_STATUS,
	FIELD_DATA,
	FIELD_ERROR_TYPE,
	FIELD_ERROR,
	FIELD_WARNINGS,
	FIELD_RESULT_TYPE,
	FIELD_RESULT,
	FIELD_METRIC,
	FIELD_VALUE,
	FIELD_VALUES,
};

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

enum { SEEN_OF_SERIES = 1u << FIELD_METRIC | 1u << FIELD_VALUE | 1u << FIELD_VALUES, SAMPLE_TEXT_BYTES = 64 };

void prom_stream_init(struct prom_stream *self, const struct prom_handler *handler)
{
	*self = (struct prom_stream){
		.error_type = STRBUF_INIT(256),
		.error = STRBUF_INIT(LIMIT_PROM_ERROR_BYTES),
		.warnings = STRBUF_INIT(LIMIT_PROM_ERROR_BYTES),
		.handler = *handler,
		.state = STATE_VALUE,
		.token = STRBUF_INIT(LIMIT_PROM_ERROR_BYTES),
		.labels = STRBUF_INIT(LIMIT_PROM_LABELSET_BYTES),
	};
}

void prom_stream_release(struct prom_stream *self)
{
	strbuf_release(&self->error_type);
	strbuf_release(&self->error);
	strbuf_release(&self->warnings);
	strbuf_release(&self->token);
	strbuf_release(&self->labels);
	json_putp(&self->current);
}

int prom_value_parse(const char *text, size_t n, double *ret)
{
	char buf[SAMPLE_TEXT_BYTES], *end;
	size_t sign = n > 0 && (text[0] == '+' || text[0] == '-');
	double value;

	if (n == 0 || n >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, n);
	buf[n] = '\0';
	/* strtod also takes hexadecimal numbers and blanks in front; Prometheus writes neither. */
	if (!isdigit((unsigned char)buf[sign]) && buf[sign] != '.' && strcmp(buf, "NaN") != 0 &&
	    strcmp(buf + sign, "Inf") != 0)
		return -EINVAL;
	if (memchr(buf, 'x', n) || memchr(buf, 'X', n))
		return -EINVAL;
	value = strtod(buf, &end);
	if (end != buf + n)
		return -EINVAL;
	*ret = value;
	return 0;
}

int prom_time_parse(const char *text, size_t n, int64_t *ret_ms)
{
	double seconds;

	if (prom_value_parse(text, n, &seconds) || !(fabs(seconds) < 1e15))
		return -EINVAL;
	*ret_ms = llround(seconds * 1000.0);
	return 0;
}

static int refuse(struct prom_stream *self, struct err *err, const char *what)
{
	return err_set(err, -EPROTO, "not an answer of Prometheus: %s at byte %zu", what, self->n_bytes);
}

static enum place place_of(const struct prom_stream *self)
{
	return self->places[self->depth - 1];
}

/* Is the text of the string or number that begins here wanted? */
static bool wants_text(const struct prom_stream *self)
{
	if (self->depth == 0 || self->labels_from)
		return false;
	switch (place_of(self)) {
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

static int begin_object(struct prom_stream *self, struct err *err)
{
	enum place place = PLACE_OTHER_OBJECT;

	if (self->depth == 0) {
		place = PLACE_ROOT;
	} else if (self->labels_from) {
		place = PLACE_OTHER_OBJECT;
	} else if (place_of(self) == PLACE_ROOT && self->field == FIELD_DATA) {
		place = PLACE_DATA;
	} else if (place_of(self) == PLACE_RESULT) {
		place = PLACE_SERIES;
		self->seen &= ~(unsigned int)SEEN_OF_SERIES;
		if (++self->n_series > LIMIT_PROM_SERIES)
			return err_set(err, -E2BIG, "an answer of Prometheus has more than %d series",
				       LIMIT_PROM_SERIES);
	} else if (place_of(self) == PLACE_SERIES && self->field == FIELD_METRIC) {
		strbuf_clear(&self->labels);
		self->labels_from = self->depth + 1;
	}
	return push(self, place, err);
}

static int begin_array(struct prom_stream *self, struct err *err)
{
	enum place above = self->depth ? place_of(self) : PLACE_OTHER_OBJECT, place = PLACE_OTHER_ARRAY;

	if (self->depth == 0)
		return refuse(self, err, "an array");
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
		return refuse(self, err, "values before their labels");
	self->pair_items = 0;
	return push(self, place, err);
}

static int labels_done(struct prom_stream *self, struct err *err)
{
	int r;

	self->labels_from = 0;
	json_putp(&self->current);
	if (self->labels.status)
		return err_set(err, self->labels.status, "the labels of a series are longer than %zu bytes",
			       LIMIT_PROM_LABELSET_BYTES);
	r = json_parse(strbuf_text(&self->labels), self->labels.len, 2, &self->current, err);
	if (r)
		return r == -ENOMEM ? r : refuse(self, err, "labels that are no flat object of text");
	return self->handler.series ? self->handler.series(self->handler.context, self->current, err) : 0;
}

static int pop(struct prom_stream *self, struct err *err)
{
	enum place place = place_of(self);

	self->depth--;
	self->state = self->depth ? STATE_AFTER : STATE_END;
	if (self->labels_from == self->depth + 1)
		return labels_done(self, err);
	if (place == PLACE_PAIR && self->pair_items != 2)
		return refuse(self, err, "a sample that is no pair");
	if (place == PLACE_SERIES && !(self->seen & 1u << FIELD_METRIC))
		return refuse(self, err, "a series without labels");
	return 0;
}

/* A JSON string as it was written, without its quotes, appended unescaped to `ret`. */
static int unescape(struct prom_stream *self, struct strbuf *ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf quoted = STRBUF_INIT(LIMIT_PROM_ERROR_BYTES + 2);
	CLEANUP(json_putp) struct json_object *string = NULL;

	strbuf_addc(&quoted, '[');
	strbuf_addc(&quoted, '"');
	strbuf_add(&quoted, strbuf_text(&self->token), self->token.len);
	strbuf_addc(&quoted, '"');
	strbuf_addc(&quoted, ']');
	if (quoted.status || json_parse(strbuf_text(&quoted), quoted.len, 2, &string, NULL))
		return refuse(self, err, "a string that is none");
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
			return refuse(self, err, "an unknown status");
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
		return refuse(self, err, "a sample that is no number");
	self->n_samples++;
	return self->handler.sample ? self->handler.sample(self->handler.context, self->time_ms, value, err) : 0;
}

/* A wanted string or number is complete in `token`. */
static int text_done(struct prom_stream *self, bool is_string, struct err *err)
{
	if (self->token.status)
		return err_set(err, self->token.status, "an answer of Prometheus has a text longer than %zu bytes",
			       LIMIT_PROM_ERROR_BYTES);
	switch (place_of(self)) {
	case PLACE_ROOT:
		return is_string ? text_done_in_root(self, err) : refuse(self, err, "a number where a text belongs");
	case PLACE_WARNINGS:
		if (!is_string)
			return refuse(self, err, "a warning that is no text");
		if (self->n_warnings++)
			strbuf_addc(&self->warnings, '\n');
		return unescape(self, &self->warnings, err);
	default:
		break;
	}
	if (++self->pair_items > 2 || is_string != (self->pair_items == 2))
		return refuse(self, err, "a sample that is no pair");
	if (is_string)
		return sample_value(self, err);
	return prom_time_parse(strbuf_text(&self->token), self->token.len, &self->time_ms)
		       ? refuse(self, err, "a time that is no number")
		       : 0;
}

static int key_done(struct prom_stream *self, struct err *err)
{
	self->state = STATE_COLON;
	if (self->labels_from)
		return 0;
	self->field = FIELD_OTHER;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (fields[i].place == place_of(self) && streq(fields[i].name, strbuf_text(&self->token)))
			self->field = (int)fields[i].field;
	if (self->field == FIELD_OTHER)
		return 0;
	if (self->seen & 1u << self->field)
		return refuse(self, err, "a member that comes twice");
	self->seen |= 1u << self->field;
	return 0;
}

/* A member that we read has the type that belongs there. */
static bool is_value_expected(const struct prom_stream *self, char c)
{
	if (self->depth == 0)
		return c == '{';
	if (self->labels_from || place_of(self) == PLACE_OTHER_OBJECT || place_of(self) == PLACE_OTHER_ARRAY)
		return true;
	switch (place_of(self)) {
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

static int begin_value(struct prom_stream *self, char c, struct err *err)
{
	if (!is_value_expected(self, c))
		return refuse(self, err, self->depth ? "a value of another type" : "no JSON object");
	strbuf_clear(&self->token);
	switch (c) {
	case '{':
		return begin_object(self, err);
	case '[':
		return begin_array(self, err);
	case '"':
		self->state = STATE_STRING;
		return 0;
	case 't':
	case 'f':
	case 'n':
		if (self->depth && place_of(self) == PLACE_PAIR)
			return refuse(self, err, "a sample that is no pair");
		self->state = STATE_LITERAL;
		strbuf_addc(&self->token, c);
		return 0;
	default:
		if (c != '-' && !isdigit((unsigned char)c))
			return refuse(self, err, "no value");
		self->state = STATE_NUMBER;
		strbuf_addc(&self->token, c);
		return 0;
	}
}

/* Inside a string: consumes up to its closing quote or the end of the block. `escape` counts what an escape needs. */
static int in_string(struct prom_stream *self, const char *bytes, size_t n, size_t *used, struct err *err)
{
	bool is_key = self->state == STATE_IN_KEY, wants = is_key ? !self->labels_from : wants_text(self);
	size_t i = 0;

	for (; i < n; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (self->escape > 1) {
			if (!isxdigit(c))
				return refuse(self, err, "a bad escape");
			self->escape = self->escape == 5 ? 0 : self->escape + 1;
		} else if (self->escape == 1) {
			if (!strchr("\"\\/bfnrtu", c) || !c)
				return refuse(self, err, "a bad escape");
			self->escape = c == 'u' ? 2 : 0;
		} else if (c == '\\') {
			self->escape = 1;
		} else if (c == '"') {
			break;
		} else if (c < 0x20) {
			return refuse(self, err, "a control character in a string");
		}
	}
	if (wants)
		strbuf_add(&self->token, bytes, i);
	*used = i;
	if (i == n)
		return 0;
	*used = i + 1;
	if (is_key)
		return key_done(self, err);
	self->state = STATE_AFTER;
	return wants ? text_done(self, true, err) : 0;
}

/* Numbers and literals end at the first byte that does not belong to them; that byte is not consumed. */
static int in_word(struct prom_stream *self, const char *bytes, size_t n, size_t *used, struct err *err)
{
	const char *charset = self->state == STATE_NUMBER ? "0123456789+-.eE" : "truefalsn";
	size_t i = 0;
	double number;
	bool is_ok;

	while (i < n && bytes[i] && strchr(charset, bytes[i]))
		i++;
	strbuf_add(&self->token, bytes, i);
	*used = i;
	if (self->token.len >= SAMPLE_TEXT_BYTES || self->token.status)
		return refuse(self, err, "a number that is too long");
	if (i == n)
		return 0;
	if (self->state == STATE_NUMBER)
		is_ok = prom_value_parse(strbuf_text(&self->token), self->token.len, &number) == 0;
	else
		is_ok = streq(strbuf_text(&self->token), "true") || streq(strbuf_text(&self->token), "false") ||
			streq(strbuf_text(&self->token), "null");
	if (!is_ok)
		return refuse(self, err, "no value");
	is_ok = self->state == STATE_NUMBER && wants_text(self);
	self->state = STATE_AFTER;
	return is_ok ? text_done(self, false, err) : 0;
}

static int end_of(struct prom_stream *self, char c, struct err *err)
{
	bool is_array = place_of(self) > PLACE_ARRAYS_;

	if (c != (is_array ? ']' : '}'))
		return refuse(self, err, "a bracket that does not fit");
	return pop(self, err);
}

/* One byte between tokens. */
static int structural(struct prom_stream *self, char c, struct err *err)
{
	if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
		return 0;
	switch (self->state) {
	case STATE_VALUE_OR_END:
		return c == ']' ? end_of(self, c, err) : begin_value(self, c, err);
	case STATE_VALUE:
		return begin_value(self, c, err);
	case STATE_KEY_OR_END:
		if (c == '}')
			return end_of(self, c, err);
		__attribute__((fallthrough));
	case STATE_KEY:
		if (c != '"')
			return refuse(self, err, "no member's name");
		strbuf_clear(&self->token);
		self->state = STATE_IN_KEY;
		return 0;
	case STATE_COLON:
		self->state = STATE_VALUE;
		return c == ':' ? 0 : refuse(self, err, "no colon");
	case STATE_AFTER:
		if (c != ',')
			return end_of(self, c, err);
		self->state = place_of(self) > PLACE_ARRAYS_ ? STATE_VALUE : STATE_KEY;
		return 0;
	default:
		return refuse(self, err, "something behind the end");
	}
}

static int step(struct prom_stream *self, const char *bytes, size_t n, size_t *used, struct err *err)
{
	switch (self->state) {
	case STATE_STRING:
	case STATE_IN_KEY:
		return in_string(self, bytes, n, used, err);
	case STATE_NUMBER:
	case STATE_LITERAL:
		return in_word(self, bytes, n, used, err);
	default:
		*used = 1;
		return structural(self, bytes[0], err);
	}
}

int prom_stream_feed(struct prom_stream *self, const char *bytes, size_t n, struct err *err)
{
	size_t used;

	while (n > 0 && !self->failed) {
		bool was_labels = self->labels_from > 0;
		unsigned int depth_before = self->depth;

		used = 0;
		/* The closing brace of the labels must be in `labels` before they are parsed in `pop`. */
		if (was_labels && self->depth == self->labels_from && bytes[0] == '}' &&
		    (self->state == STATE_AFTER || self->state == STATE_KEY_OR_END))
			strbuf_addc(&self->labels, '}');
		self->failed = step(self, bytes, n, &used, err);
		if (!self->failed && self->labels_from && (was_labels || self->depth > depth_before))
			strbuf_add(&self->labels, bytes, used);
		bytes += used;
		n -= used;
		self->n_bytes += used;
	}
	return self->failed;
}

int prom_stream_finish(struct prom_stream *self, struct err *err)
{
	if (self->failed)
		return err_set(err, self->failed, "the answer was refused before its end");
	if (self->state != STATE_END)
		return self->failed = err_set(err, -EPROTO,
					      "an answer of Prometheus ends in the middle, after %zu bytes",
					      self->n_bytes);
	if (self->status == PROM_STATUS_ABSENT)
		return self->failed = refuse(self, err, "no status");
	if (self->status == PROM_STATUS_SUCCESS && !(self->seen & 1u << FIELD_RESULT))
		return self->failed = refuse(self, err, "success without a result");
	return 0;
}
