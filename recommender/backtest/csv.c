/* SPDX-License-Identifier: Apache-2.0 */
/* csv: zlib reads plain files too, so both forms take one way. A truncated gzip gives all of its complete bytes first;
 * the end is checked before the last row is used. */
#include "backtest/csv.h"

#include "base/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#undef csv_error

#define BUFFER_BYTES LIMIT_TRACE_LINE_BYTES

int csv_error(const struct csv *self, struct err *err, const char *fmt, ...)
{
	char text[sizeof(err->msg)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return err_set_at(err, -EINVAL, self->path, self->line, 0, "%s", text);
}

void csv_release(struct csv *self)
{
	if (self->file)
		gzclose(self->file);
	free(self->buffer);
	*self = (struct csv)CSV_INIT;
}

int64_t csv_offset(const struct csv *self)
{
	return self->file ? (int64_t)gzoffset(self->file) : 0;
}

/* ---- lines ---- */

/* Moves what is left to the front and reads more. */
static int fill(struct csv *self, struct err *err)
{
	int n, code;

	memmove(self->buffer, self->buffer + self->at, self->end - self->at);
	self->end -= self->at;
	self->at = 0;
	if (self->end == BUFFER_BYTES)
		return err_set_at(err, -E2BIG, self->path, self->line + 1, 0, "a line is longer than %zu bytes",
				  (size_t)BUFFER_BYTES);
	n = gzread(self->file, self->buffer + self->end, (unsigned int)(BUFFER_BYTES - self->end));
	if (n > 0) {
		self->end += (size_t)n;
		return 0;
	}
	self->is_at_end = true;
	gzerror(self->file, &code);
	if (code == Z_BUF_ERROR)
		return err_set_at(err, -EINVAL, self->path, self->line + 1, 0, "the gzip ends early: it is truncated");
	if (code == Z_MEM_ERROR)
		return err_set(err, -ENOMEM, "no memory left to read %s", self->path);
	if (code == Z_ERRNO)
		return err_set_at(err, -EIO, self->path, self->line + 1, 0, "it cannot be read");
	return code ? err_set_at(err, -EINVAL, self->path, self->line + 1, 0, "the gzip is damaged") : 0;
}

/* The next line without its end. @return 0; 1: there is none. */
static int next_line(struct csv *self, struct str *ret, struct err *err)
{
	size_t scanned = 0;

	for (;;) {
		const char *start = self->buffer + self->at;
		const char *newline = self->end > self->at + scanned
					      ? memchr(start + scanned, '\n', self->end - self->at - scanned)
					      : NULL;
		int r;

		if (newline || self->is_at_end) {
			size_t n = newline ? (size_t)(newline - start) : self->end - self->at;

			if (!newline && !n)
				return 1;
			self->at += n + (newline != NULL);
			self->line++;
			*ret = (struct str){start, n && start[n - 1] == '\r' ? n - 1 : n};
			return 0;
		}
		scanned = self->end - self->at;
		r = fill(self, err);
		if (r)
			return r;
	}
}

/* ---- fields ---- */

/* Reads a field in quotes, in place: `p` is behind the first quote. @return where the field ends; NULL: it does not. */
static char *unquote(char *p, const char *end, struct str *ret)
{
	char *to = p;

	ret->p = p;
	for (; p < end; p++) {
		if (*p == '"' && (p + 1 == end || p[1] != '"')) {
			ret->n = (size_t)(to - ret->p);
			return p + 1;
		}
		p += *p == '"';
		*to++ = *p;
	}
	return NULL;
}

static int split(struct csv *self, struct str line, struct err *err)
{
	char *p = self->buffer + (line.p - self->buffer), *end = p + line.n;

	self->n_fields = 0;
	if (memchr(p, '\0', line.n))
		return csv_error(self, err, "the line has a NUL byte");
	for (;; p++) {
		struct str *field = &self->fields[self->n_fields];
		char *comma;

		if (self->n_fields == CSV_COLUMNS)
			return csv_error(self, err, "the line has more than %d fields", CSV_COLUMNS);
		self->n_fields++;
		if (p < end && *p == '"') {
			p = unquote(p + 1, end, field);
			if (!p || (p < end && *p != ','))
				return csv_error(self, err, "a quoted field has no end");
		} else {
			comma = memchr(p, ',', (size_t)(end - p));
			*field = (struct str){p, (size_t)((comma ? comma : end) - p)};
			p = comma ? comma : end;
		}
		if (p == end)
			return 0;
	}
}

static int next_fields(struct csv *self, struct err *err)
{
	struct str line;
	int r;

	do {
		r = next_line(self, &line, err);
		if (r)
			return r;
	} while (!line.n);
	return split(self, line, err);
}

int csv_next(struct csv *self, struct err *err)
{
	int r = next_fields(self, err);

	if (!r && self->n_fields != self->n_heads)
		return csv_error(self, err, "the row has %zu fields, the header has %zu", self->n_fields,
				 self->n_heads);
	return r;
}

struct str csv_field(const struct csv *self, size_t column)
{
	int field = self->index[column];

	return field < 0 ? (struct str){"", 0} : self->fields[field];
}

/* ---- the header ---- */

static int read_header(struct csv *self, struct err *err)
{
	int r = next_fields(self, err);

	if (r)
		return r < 0 ? r : err_set_at(err, -EINVAL, self->path, 1, 0, "the file is empty; a header is missing");
	if (str_starts(self->fields[0], STR("\xef\xbb\xbf"))) { /* the byte order mark of some spreadsheets */
		self->fields[0].p += 3;
		self->fields[0].n -= 3;
	}
	self->n_heads = self->n_fields;
	for (size_t c = 0; c < self->n_columns; c++) {
		self->index[c] = -1;
		for (size_t i = 0; i < self->n_fields; i++) {
			if (!str_eq(self->fields[i], str_c(self->columns[c].name)))
				continue;
			if (self->index[c] >= 0)
				return csv_error(self, err, "column %s is there twice", self->columns[c].name);
			self->index[c] = (int)i;
		}
		if (self->index[c] < 0 && !self->columns[c].is_optional)
			return csv_error(self, err, "column %s is missing", self->columns[c].name);
	}
	return 0;
}

int csv_open(struct csv *self, const char *path, bool is_gzip, const struct csv_column *columns, size_t n,
	     struct err *err)
{
	int r;

	*self = (struct csv){.columns = columns, .n_columns = n};
	snprintf(self->path, sizeof(self->path), "%s", path);
	self->buffer = malloc(BUFFER_BYTES);
	if (!self->buffer)
		return err_set(err, -ENOMEM, "no memory left to read %s", path);
	errno = 0;
	self->file = gzopen(path, "rbe");
	if (!self->file) {
		r = errno ? -errno : -ENOMEM;
		return err_set(err, r, "open %s: %s", path, strerror(-r));
	}
	r = fill(self, err);
	if (r)
		return r;
	if (gzdirect(self->file) == is_gzip)
		return err_set_at(err, -EINVAL, path, 1, 0,
				  is_gzip ? "the file is not gzip" : "the file is gzip; name it .gz");
	return read_header(self, err);
}

/* ---- numbers ---- */

int csv_milli(struct str text, int64_t low, int64_t high, int64_t *ret)
{
	bool is_negative = text.n && text.p[0] == '-';
	int64_t value = 0;
	int n_digits = 0, n_after = -1; /* digits behind the point; -1: there is no point */

	for (size_t i = is_negative; i < text.n; i++) {
		char c = text.p[i];

		if (c == '.' && n_after < 0) {
			n_after = 0;
			continue;
		}
		if (c < '0' || c > '9')
			return -EINVAL;
		n_digits++;
		if (n_after >= 3)
			continue;
		n_after += n_after >= 0;
		if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
		    __builtin_add_overflow(value, (int64_t)(c - '0'), &value))
			return -ERANGE;
	}
	if (!n_digits)
		return -EINVAL;
	for (int i = MAX(n_after, 0); i < 3; i++)
		if (__builtin_mul_overflow(value, (int64_t)10, &value))
			return -ERANGE;
	value = is_negative ? -value : value;
	if (value < low || value > high)
		return -ERANGE;
	*ret = value;
	return 0;
}
