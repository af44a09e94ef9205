/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include <errno.h>
#include <stdarg.h>
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

ATTR_PRINTF(2, 0) static int strbuf_vaddf(struct strbuf *self, const char *fmt, va_list args)
{
	size_t room = self->status ? 0 : self->capacity - self->len;
	va_list again;
	int n, r;

	/* straight into the spare room; a second time only where it does not fit */
	va_copy(again, args);
	n = vsnprintf(room ? self->text + self->len : NULL, room, fmt, args);
	r = n < 0 ? strbuf_fail(self, -EINVAL) : strbuf_grow(self, (size_t)n);
	if (!r && (size_t)n >= room)
		vsnprintf(self->text + self->len, (size_t)n + 1, fmt, again);
	if (!r)
		self->len += (size_t)n;
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

static int strbuf_add_json(struct strbuf *self, const char *bytes, size_t n)
{
	size_t start = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		strbuf_add(self, bytes + start, i - start);
		start = i + 1;
		if (c == '"' || c == '\\')
			strbuf_add(self, (const char[]){'\\', (char)c}, 2);
		else if (c == '\n')
			strbuf_adds(self, "\\n");
		else if (c == '\t')
			strbuf_adds(self, "\\t");
		else
			strbuf_addf(self, "\\u%04x", c);
	}
	return strbuf_add(self, bytes + start, n - start);
}

int strbuf_add_json_text(struct strbuf *self, const char *text)
{
	strbuf_add_json(self, text, strlen(text));
	return self->status;
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
