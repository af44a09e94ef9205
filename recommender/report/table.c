/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"

#include "base/limits.h"
#include "base/plain.h"
#include "base/str.h"

#include <stdarg.h>

#define CELL_BYTES 640

static const char dots[] = "...";
enum { GAP = 2, SHORT_MIN = 12 }; /* SHORT_MIN: no column is shortened to less */

void table_init(struct table *self, const char *heads)
{
	*self = (struct table){.arena = ARENA_INIT(64 * MIB)};
	while (*heads) {
		size_t n = strcspn(heads, ",");
		const char *title = heads;

		self->is_more[self->n_columns] = *title == '+' && title++;
		self->is_short[self->n_columns] = *title == '~' && title++;
		self->is_right[self->n_columns++] = *title == '>' && title++;
		table_addf(self, "%.*s", (int)(heads + n - title), title);
		heads += n + (heads[n] == ',');
	}
}

void table_add(struct table *self, const char *text)
{
	char *cell = arena_strdup(&self->arena, text && *text ? text : "-");

	if (cell)
		plain_clean(cell);
	if (!cell || vec_push(&self->cells, cell))
		self->status = -ENOMEM;
}

void table_addf(struct table *self, const char *fmt, ...)
{
	char text[CELL_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	table_add(self, text);
}

void table_add_bytes(struct table *self, int64_t bytes)
{
	table_add(self, bytes ? HUMAN(bytes) : "");
}

size_t table_rows(const struct table *self)
{
	return MAX(self->cells.n / self->n_columns, (size_t)1) - 1;
}

/* Terminal columns of UTF-8 text: the number of bytes that start a character. */
static int text_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* Width of a column; 0: it is omitted, for wide tables only or because all cells below the title are empty. */
static int column_width(const struct table *self, size_t column)
{
	int width = text_width(self->cells.items[column]);
	bool is_empty = true;

	for (size_t i = column + self->n_columns; i < self->cells.n; i += self->n_columns) {
		width = MAX(width, text_width(self->cells.items[i]));
		is_empty = is_empty && streq(self->cells.items[i], "-");
	}
	return is_empty || (self->is_more[column] && !self->is_wide) ? 0 : width;
}

/* The column to shorten next: the widest of those that may be. NULL: none. */
static int *widest_short(const struct table *self, int widths[TABLE_COLUMNS])
{
	int *found = NULL;

	for (size_t c = 0; c < self->n_columns; c++)
		if (self->is_short[c] && widths[c] > SHORT_MIN && (!found || widths[c] > *found))
			found = &widths[c];
	return found;
}

static void find_widths(const struct table *self, int indent, int ret[TABLE_COLUMNS])
{
	int total = indent - GAP, *widest;

	for (size_t c = 0; c < self->n_columns; c++) {
		ret[c] = column_width(self, c);
		total += ret[c] ? ret[c] + GAP : 0;
	}
	for (; !self->is_wide && total > TABLE_WIDTH && (widest = widest_short(self, ret)); total--)
		--*widest;
}

/* The number of bytes of the first `n` characters. */
static int bytes_of(const char *text, int n)
{
	const char *at = text;

	while (*at && (((unsigned char)*at & 0xc0) == 0x80 || n-- > 0))
		at++;
	return (int)(at - text);
}

/* Prints a cell in at most `width` columns, of which it may need more: then without its middle. */
static void print_cell(const char *text, int width, FILE *out)
{
	int n = text_width(text), left = (width - (int)strlen(dots) + 1) / 2;

	if (n <= width)
		fputs(text, out);
	else
		fprintf(out, "%.*s%s%s", bytes_of(text, left), text, dots,
			text + bytes_of(text, n - (width - (int)strlen(dots) - left)));
}

static void print_rows(const struct table *self, FILE *out, int indent)
{
	int widths[TABLE_COLUMNS], gap = indent, padding = 0;

	find_widths(self, indent, widths);
	for (size_t i = 0; i < self->cells.n; i++) {
		size_t c = i % self->n_columns;
		int blanks = MAX(widths[c] - text_width(self->cells.items[i]), 0);

		if (widths[c]) {
			fprintf(out, "%*s", padding + gap + (self->is_right[c] ? blanks : 0), "");
			print_cell(self->cells.items[i], widths[c], out);
			padding = self->is_right[c] ? 0 : blanks;
			gap = GAP;
		}
		if (c == self->n_columns - 1) {
			fputc('\n', out);
			gap = indent;
			padding = 0;
		}
	}
}

void table_release(struct table *self)
{
	arena_release(&self->arena);
	vec_release(&self->cells);
}

int table_print(struct table *self, FILE *out, int indent)
{
	int r = self->status;

	if (!r && table_rows(self))
		print_rows(self, out, indent);
	table_release(self);
	return r;
}
