/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* csv: reads a file of comma-separated values, plain or gzip, row by row. The first line names the columns; they are
 * found by name and unknown ones are ignored. A field may be in double quotes ("" is a quote) but may not contain a
 * line break. Lines end with LF or CRLF; empty lines are skipped. Every error names file and line. Cost: linear in the
 * bytes of the file; memory: one line of at most LIMIT_TRACE_LINE_BYTES and the window of zlib. One thread. */
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>
#include <zlib.h>

#define CSV_COLUMNS 64

/** A column that the reader of a file asks for. */
struct csv_column {
	const char *name;
	bool is_optional;
};

struct csv {
	char path[512];
	gzFile file;
	char *buffer;
	size_t at, end; /* of the bytes that are not yet used */
	size_t line;	/* 1-based line of the current row */
	bool is_at_end;
	const struct csv_column *columns; /* borrowed */
	size_t n_columns;
	int index[CSV_COLUMNS]; /* field of each column; -1: the file lacks it */
	struct str fields[CSV_COLUMNS];
	size_t n_fields, n_heads;
};

#define CSV_INIT                                                                                                       \
	{                                                                                                              \
		.file = NULL                                                                                           \
	}

/** Opens a file and reads its first line. `is_gzip`: the file must be gzip; else it must be plain. The columns are
 * borrowed. @return 0; -errno; -EINVAL: no header, a column that is missing or twice; -ENOMEM. */
int csv_open(struct csv *self, const char *path, bool is_gzip, const struct csv_column *columns, size_t n,
	     struct err *err) ATTR_NODISCARD;
void csv_release(struct csv *self);
/** Reads the next row. @return 0; 1: there are no more rows; -EINVAL: a damaged row or a truncated gzip; -E2BIG: a line
 * is too long; -EIO. */
int csv_next(struct csv *self, struct err *err) ATTR_NODISCARD;
/** A field of the current row, valid until the next one. `column`: index in the table of columns. An absent column is
 * empty. */
struct str csv_field(const struct csv *self, size_t column);
/** Sets an error at the current line. @return -EINVAL. */
int csv_error(const struct csv *self, struct err *err, const char *fmt, ...) ATTR_PRINTF(3, 4);
/** Reads a decimal number such as "12.5" as thousandths; further digits are dropped.
 * @return 0; -EINVAL: another form; -ERANGE: it is not in low..high (in thousandths). */
int csv_milli(struct str text, int64_t low, int64_t high, int64_t *ret) ATTR_NODISCARD;
/** Bytes of the file that were read so far, before decompression. */
int64_t csv_offset(const struct csv *self);

#ifdef __clang_analyzer__
#include <errno.h>

/* As for err_set. */
#define csv_error(self, err, ...) ((void)csv_error(self, err, __VA_ARGS__), -EINVAL)
#endif
