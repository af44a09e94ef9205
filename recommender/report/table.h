/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* table: prints rows of text in columns as wide as their widest cell. One thread. */
#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "k8s/quantity.h"

#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS 16
/** How wide a table is at most that is not `is_wide`, as far as it has columns whose cells may be shortened. */
#define TABLE_WIDTH 120

struct table {
	struct arena arena;
	size_t n_columns;
	bool is_right[TABLE_COLUMNS]; /* right-aligned, for numbers */
	bool is_more[TABLE_COLUMNS];  /* only printed if is_wide */
	bool is_short[TABLE_COLUMNS]; /* cells may be shortened unless is_wide */
	bool is_wide;
	VEC(const char *) cells; /* row by row, the titles first */
	int status;		 /* sticky: -ENOMEM */
};

/** `heads`: titles, separated by commas, such as "~NAME,>LIMIT,+>PEAK". Marks before a title, in this order: '+': the
 * column is omitted unless the caller sets is_wide; '~': its cells are shortened in the middle ("resnet-...-x7k2p")
 * where the table would be wider than TABLE_WIDTH, unless is_wide is set; '>': it is right-aligned. */
void table_init(struct table *self, const char *heads);
void table_release(struct table *self);
/** Adds the next cell; n_columns of them are a row. Text is copied and cleaned (plain.h); NULL and "" are printed as
 * "-". */
void table_add(struct table *self, const char *text);
/** The same for a text of less than 640 bytes; a longer one is cut. */
void table_addf(struct table *self, const char *fmt, ...) ATTR_PRINTF(2, 3);
/** A size as people read it; 0 is printed as "-". */
void table_add_bytes(struct table *self, int64_t bytes);
/** The number of rows below the titles. */
size_t table_rows(const struct table *self);
/** Prints the table, each line indented by `indent` blanks, and releases it. Columns that contain only "-" are omitted;
 * without a row nothing is printed. @return 0 or -ENOMEM. */
int table_print(struct table *self, FILE *out, int indent) ATTR_NODISCARD;
