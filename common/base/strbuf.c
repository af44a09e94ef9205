/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include "base/steps.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void strbuf_release(struct strbuf *self)
{
	free(self->text);
	*self = (struct strbuf)STRBUF_INIT(self->max);
}

void strbuf_wipe(struct strbuf *self)
{
	if (self->text)
		explicit_bzero(self->text, self->capacity);
	strbuf_release(self);
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

/* Makes room for `n` more bytes and the NUL. */
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

	STEPS_BULK(n);
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

int strbuf_addf(struct strbuf *self, const char *fmt, ...)
{
	size_t room = self->status ? 0 : self->capacity - self->len;
	va_list args;
	int n, r;

	/* format into the free space; a second time only if it was too small */
	va_start(args, fmt);
	n = vsnprintf(room ? self->text + self->len : NULL, room, fmt, args);
	va_end(args);
	STEPS_BULK(n);
	r = n < 0 ? strbuf_fail(self, -EINVAL) : strbuf_grow(self, (size_t)n);
	if (r)
		return r;
	va_start(args, fmt);
	if ((size_t)n >= room)
		vsnprintf(self->text + self->len, (size_t)n + 1, fmt, args);
	va_end(args);
	self->len += (size_t)n;
	return 0;
}

/* Whether a control character of C1 (U+0080 to U+009F) begins here. */
static bool is_c1(const char *p)
{
	return p[0] == '\xc2' && (unsigned char)p[1] >= 0x80 && (unsigned char)p[1] < 0xa0;
}

/* JSON allows DEL and C1 as they are; YAML and terminals do not. */
int strbuf_add_json_text(struct strbuf *self, const char *text)
{
	size_t start = 0, n = strlen(text);

	STEPS(n);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		bool is_wide = is_c1(text + i);

		if (c >= 0x20 && c != 0x7f && c != '"' && c != '\\' && !is_wide)
			continue;
		strbuf_add(self, text + start, i - start);
		i += is_wide;
		start = i + 1;
		if (c == '"' || c == '\\')
			strbuf_add(self, (const char[]){'\\', (char)c}, 2);
		else if (c == '\n')
			strbuf_adds(self, "\\n");
		else if (c == '\t')
			strbuf_adds(self, "\\t");
		else
			strbuf_addf(self, "\\u%04x", is_wide ? (unsigned char)text[i] : c);
	}
	return strbuf_add(self, text + start, n - start);
}

int strbuf_add_json_string(struct strbuf *self, const char *text)
{
	if (!text)
		return strbuf_adds(self, "null");
	strbuf_addc(self, '"');
	strbuf_add_json_text(self, text);
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
