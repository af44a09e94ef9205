/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void strbuf_release(struct strbuf *self)
{
	free(self->text);
	*self = (struct strbuf)STRBUF_INIT(self->max);
}

void strbuf_clear(struct strbuf *self)
{
	self->len = 0;
	self->status = 0;
	if (self->text)
		self->text[0] = '\0';
}

static int strbuf_fail(struct strbuf *self, int status)
{
	strbuf_release(self);
	self->status = status;
	return status;
}

/* Room for `n` more bytes and the NUL. */
static int strbuf_grow(struct strbuf *self, size_t n)
{
	size_t capacity;
	char *text;

	if (self->status)
		return self->status;
	if (n > self->max - self->len)
		return strbuf_fail(self, -E2BIG);
	if (self->text && self->len + n < self->capacity)
		return 0;
	capacity = self->capacity ? self->capacity * 2 : 128;
	if (capacity < self->len + n + 1)
		capacity = self->len + n + 1;
	text = realloc(self->text, capacity);
	if (!text)
		return strbuf_fail(self, -ENOMEM);
	self->text = text;
	self->capacity = capacity;
	return 0;
}

int strbuf_add(struct strbuf *self, const char *bytes, size_t n)
{
	int r = strbuf_grow(self, n);

	if (r)
		return r;
	if (n)
		memcpy(self->text + self->len, bytes, n);
	self->len += n;
	self->text[self->len] = '\0';
	return 0;
}

int strbuf_adds(struct strbuf *self, const char *text)
{
	return strbuf_add(self, text, strlen(text));
}

int strbuf_addc(struct strbuf *self, char c)
{
	return strbuf_add(self, &c, 1);
}

/* Formatted into the room that there is; a second time only when that was not enough. */
int strbuf_vaddf(struct strbuf *self, const char *fmt, va_list args)
{
	size_t room = self->text ? self->capacity - self->len : 0;
	va_list again;
	int n, r;

	va_copy(again, args);
	n = vsnprintf(room ? self->text + self->len : NULL, room, fmt, args);
	r = n < 0 ? strbuf_fail(self, -EINVAL) : strbuf_grow(self, (size_t)n);
	if (!r) {
		if ((size_t)n >= room)
			vsnprintf(self->text + self->len, (size_t)n + 1, fmt, again);
		self->len += (size_t)n;
	}
	va_end(again);
	return r;
}

int strbuf_addf(struct strbuf *self, const char *fmt, ...)
{
	va_list args;
	int r;

	va_start(args, fmt);
	r = strbuf_vaddf(self, fmt, args);
	va_end(args);
	return r;
}

/* The letter behind the backslash for a byte that is escaped so; 'u': by its number; 0: not escaped. */
static char json_escape_of(unsigned char c)
{
	if (c >= 0x20)
		return c == '"' || c == '\\' ? (char)c : '\0';
	return c == '\n' ? 'n' : c == '\t' ? 't' : 'u';
}

int strbuf_add_json(struct strbuf *self, const char *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	size_t extra = 0;
	char *to;
	int r;

	for (size_t i = 0; i < n; i++) {
		char escape = json_escape_of((unsigned char)bytes[i]);

		extra += escape == 'u' ? 5 : escape != '\0';
	}
	r = extra ? strbuf_grow(self, n + extra) : strbuf_add(self, bytes, n);
	if (r || !extra)
		return r;
	to = self->text + self->len;
	for (size_t i = 0; i < n; i++) {
		char escape = json_escape_of((unsigned char)bytes[i]);

		if (!escape) {
			*to++ = bytes[i];
			continue;
		}
		*to++ = '\\';
		*to++ = escape;
		if (escape == 'u') {
			*to++ = '0';
			*to++ = '0';
			*to++ = digits[(unsigned char)bytes[i] >> 4];
			*to++ = digits[bytes[i] & 15];
		}
	}
	*to = '\0';
	self->len += n + extra;
	return 0;
}

int strbuf_add_json_string(struct strbuf *self, const char *text)
{
	if (!text)
		return strbuf_adds(self, "null");
	strbuf_addc(self, '"');
	strbuf_add_json(self, text, strlen(text));
	return strbuf_addc(self, '"');
}

const char *strbuf_text(const struct strbuf *self)
{
	return self->text ? self->text : "";
}

char *strbuf_detach(struct strbuf *self)
{
	char *text;

	if (!self->status && !self->text)
		strbuf_add(self, "", 0);
	text = TAKE_PTR(self->text);
	strbuf_release(self);
	return text;
}
