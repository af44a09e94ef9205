/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* lines: reads a log as a stream of lines, in constant memory.
 *
 * A line ends with a newline; a carriage return ends one as well, so that each state of a progress bar is a line, but
 * only newlines are counted. Files compressed with gzip or Zstandard are unpacked, and UTF-16, also without a byte
 * order mark, becomes UTF-8. Files of other compressors are not read. A line longer than LIMIT_TRIAGE_LINE_BYTES comes
 * in pieces of that size, with the same number. Bytes that are not text stay as they are. One thread. Cost: linear in
 * the file; about 1 MiB of memory. */
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct raw_line {
	struct str text; /* without its end; borrowed for the call */
	uint64_t number; /* 1-based */
	bool is_last;	 /* whether the file is read to its end; then `text` may be empty */
};

struct lines_result {
	uint64_t n_lines, n_bytes;
	bool is_damaged;    /* the compressed data ends early or is damaged; what could be read was read */
	const char *packer; /* what has compressed the file, which was not read; static; NULL: nothing */
	bool is_binary;	    /* it begins as no text does; what of it is text was read */
};

typedef void (*raw_line_fn)(void *context, const struct raw_line *line);

/** Calls `fn` for each line of `path`; "-" is standard input.
 *  @return 0; -errno: the file cannot be opened or read (a folder: -EISDIR); -ENOMEM. */
int lines_read(const char *path, raw_line_fn fn, void *context, struct lines_result *ret,
	       struct err *err) ATTR_NODISCARD;
/** The same for bytes in memory, which are not unpacked. @return 0 or -ENOMEM. */
int lines_read_bytes(const char *bytes, size_t n, raw_line_fn fn, void *context,
		     struct lines_result *ret) ATTR_NODISCARD;
