/* SPDX-License-Identifier: Apache-2.0 */
/* Two machines in one: `state` walks JSON's grammar byte by byte (here), `places` is the stack of where in an answer
 * that is (prom_places.c).
 *
 *	{"status": "success", "data": {"resultType": "matrix", "result": [
 *	    {"metric": {labels}, "values": [[time, "value"], ...]}, ...]}, "warnings": ["..."]}
 *
 * Everything else is walked over as PLACE_OTHER_*. Text is copied only where it is wanted: into `token` (members'
 * names, numbers, strings at places of ours) and `labels` (one labels object, raw, for json-c). */
#include "evidence/prom_stream_internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static int begin_value(struct prom_stream *self, char c, struct err *err)
{
	if (!prom_is_value_expected(self, c))
		return prom_refuse(self, err, self->depth ? "a value of another type" : "no JSON object");
	strbuf_clear(&self->token);
	switch (c) {
	case '{':
		return prom_begin_object(self, err);
	case '[':
		return prom_begin_array(self, err);
	case '"':
		self->state = STATE_STRING;
		return 0;
	case 't':
	case 'f':
	case 'n':
		if (self->depth && prom_place_of(self) == PLACE_PAIR)
			return prom_refuse(self, err, "a sample that is no pair");
		self->state = STATE_LITERAL;
		strbuf_addc(&self->token, c);
		return 0;
	default:
		if (c != '-' && !isdigit((unsigned char)c))
			return prom_refuse(self, err, "no value");
		self->state = STATE_NUMBER;
		strbuf_addc(&self->token, c);
		return 0;
	}
}

/* Inside a string: consumes up to its closing quote or the end of the block. `escape` counts what an escape needs. */
static int in_string(struct prom_stream *self, const char *bytes, size_t n, size_t *used, struct err *err)
{
	bool is_key = self->state == STATE_IN_KEY, wants = is_key ? !self->labels_from : prom_wants_text(self);
	size_t i = 0;

	for (; i < n; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (self->escape > 1) {
			if (!isxdigit(c))
				return prom_refuse(self, err, "a bad escape");
			self->escape = self->escape == 5 ? 0 : self->escape + 1;
		} else if (self->escape == 1) {
			if (!strchr("\"\\/bfnrtu", c) || !c)
				return prom_refuse(self, err, "a bad escape");
			self->escape = c == 'u' ? 2 : 0;
		} else if (c == '\\') {
			self->escape = 1;
		} else if (c == '"') {
			break;
		} else if (c < 0x20) {
			return prom_refuse(self, err, "a control character in a string");
		}
	}
	if (wants)
		strbuf_add(&self->token, bytes, i);
	*used = i;
	if (i == n)
		return 0;
	*used = i + 1;
	if (is_key)
		return prom_key_done(self, err);
	self->state = STATE_AFTER;
	return wants ? prom_text_done(self, true, err) : 0;
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
	if (self->token.status)
		return prom_text_failed(self, err);
	if (self->token.len >= SAMPLE_TEXT_BYTES)
		return prom_refuse(self, err, "a number that is too long");
	if (i == n)
		return 0;
	if (self->state == STATE_NUMBER)
		is_ok = prom_value_parse(strbuf_text(&self->token), self->token.len, &number) == 0;
	else
		is_ok = streq(strbuf_text(&self->token), "true") || streq(strbuf_text(&self->token), "false") ||
			streq(strbuf_text(&self->token), "null");
	if (!is_ok)
		return prom_refuse(self, err, "no value");
	is_ok = self->state == STATE_NUMBER && prom_wants_text(self);
	self->state = STATE_AFTER;
	return is_ok ? prom_text_done(self, false, err) : 0;
}

static int end_of(struct prom_stream *self, char c, struct err *err)
{
	bool is_array = prom_place_of(self) > PLACE_ARRAYS_;

	if (c != (is_array ? ']' : '}'))
		return prom_refuse(self, err, "a bracket that does not fit");
	return prom_pop(self, err);
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
			return prom_refuse(self, err, "no member's name");
		strbuf_clear(&self->token);
		self->state = STATE_IN_KEY;
		return 0;
	case STATE_COLON:
		self->state = STATE_VALUE;
		return c == ':' ? 0 : prom_refuse(self, err, "no colon");
	case STATE_AFTER:
		if (c != ',')
			return end_of(self, c, err);
		self->state = prom_place_of(self) > PLACE_ARRAYS_ ? STATE_VALUE : STATE_KEY;
		return 0;
	default:
		return prom_refuse(self, err, "something behind the end");
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
		return self->failed = prom_refuse(self, err, "no status");
	if (self->status == PROM_STATUS_SUCCESS && !(self->seen & 1u << FIELD_RESULT))
		return self->failed = prom_refuse(self, err, "success without a result");
	return 0;
}
