/* SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"

#include "base/limits.h"
#include "base/str.h"
#include "report/plain.h"

void table_init(struct table *self, const char *const *heads, size_t n)
{
	const char *cells[TABLE_COLUMNS] = {NULL};

	*self = (struct table){.arena = ARENA_INIT(64 * MIB), .n_columns = n};
	for (size_t i = 0; i < n; i++) {
		self->is_right[i] = heads[i][0] == '>';
		cells[i] = heads[i] + self->is_right[i];
	}
	table_add(self, cells);
}

void table_release(struct table *self)
{
	arena_release(&self->arena);
	vec_release(&self->rows);
}

void table_add(struct table *self, const char *const *cells)
{
	const char **row = arena_array(&self->arena, self->n_columns, sizeof(*row));

	for (size_t i = 0; row && i < self->n_columns; i++) {
		char *cell = arena_strdup(&self->arena, cells[i] && cells[i][0] ? cells[i] : "-");

		if (cell)
			plain_clean(cell);
		row[i] = cell;
		if (!cell)
			row = NULL;
	}
	if (!row || vec_push(&self->rows, row))
		self->status = -ENOMEM;
}

/* Terminal columns of UTF-8 text: bytes that start a character. */
static int text_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* Width of a column; 0 when only its head says anything. */
static int column_width(const struct table *self, size_t column)
{
	int width = text_width(self->rows.items[0][column]);
	bool is_empty = self->rows.n > 1;

	for (size_t i = 1; i < self->rows.n; i++) {
		const char *cell = self->rows.items[i][column];

		width = MAX(width, text_width(cell));
		is_empty = is_empty && streq(cell, "-");
	}
	return is_empty ? 0 : width;
}

int table_print(const struct table *self, FILE *out, int indent)
{
	int widths[TABLE_COLUMNS];

	if (self->status)
		return self->status;
	for (size_t c = 0; c < self->n_columns; c++)
		widths[c] = column_width(self, c);
	for (size_t i = 0; i < self->rows.n; i++) {
		int gap = indent, padding = 0;

		for (size_t c = 0; c < self->n_columns; c++) {
			const char *cell = self->rows.items[i][c];

			if (!widths[c])
				continue;
			padding += gap + (self->is_right[c] ? widths[c] - text_width(cell) : 0);
			fprintf(out, "%*s%s", padding, "", cell);
			padding = self->is_right[c] ? 0 : widths[c] - text_width(cell);
			gap = 2;
		}
		fputc('\n', out);
	}
	return 0;
}
