/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* table: rows of text printed in columns that are as wide as their widest cell. One thread. */
#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdio.h>

#define TABLE_COLUMNS 16

struct table {
	struct arena arena;
	size_t n_columns;
	bool is_right[TABLE_COLUMNS]; /* numbers stand right */
	VEC(const char **) rows;
	int status; /* sticky: -ENOMEM */
};

/** `heads` like "NAMESPACE" or ">LIMIT" (right-aligned), n of them. */
void table_init(struct table *self, const char *const *heads, size_t n);
void table_release(struct table *self);
/** Add a row of n_columns cells; text is copied and made plain (plain.h), NULL and "" print as "-". */
void table_add(struct table *self, const char *const *cells);
/** Print, each line with `indent` blanks. Columns that hold nothing but "-" are left out. 0 or -ENOMEM. */
int table_print(const struct table *self, FILE *out, int indent) ATTR_NODISCARD;
