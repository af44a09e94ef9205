/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* line_shapes: most lines of a training loop differ only in their digits ("step 12 reserved=41.0GiB"). What such lines
 * say is kept by their shape, the line with each digit masked, so that the next line of the shape is neither searched
 * for words nor read as a whole: its numbers stand where they stood in the first one. Which lines may be kept,
 * facts_shapes.c decides. One thread. Cost: linear in the line, eight bytes at a time. */
#include "base/attr.h"
#include "base/str.h"
#include "triage/signals.h"

#define SHAPE_BYTES	256 /* longer lines have no shape, and shorter ones than SHAPE_BYTES_MIN */
#define SHAPE_BYTES_MIN 16
#define SHAPE_FIXED	16 /* digits that are part of a shape */
#define SHAPE_SIGNALS	5
#define SHAPES_MAX	1024 /* a power of two */
#define SHAPES_TRIED	8    /* places where a shape may stand */

/* What a line of the shape says, other than a retry. */
struct shape_signal {
	enum signal_id signal;
	struct spots spots;
};

struct shape {
	size_t n; /* bytes; 0: a free place */
	char masked[SHAPE_BYTES];
	struct shape_digit {
		uint16_t at;
		char digit;
	} fixed[SHAPE_FIXED]; /* digits that decide what the line says, such as exit codes */
	size_t n_fixed;
	size_t body; /* as in struct line */
	int rank_at;
	struct shape_signal signals[SHAPE_SIGNALS];
	size_t n_signals;
	bool is_retry;	  /* a line of the shape is a SIGNAL_RETRY */
	size_t source;	  /* whose line was read as a whole last */
	size_t postponed; /* its line that waits, see facts_shapes.c: index + 1; 0: none */
};

struct line_shapes {
	struct shape *items;	      /* SHAPES_MAX of them */
	uint64_t hashes[SHAPES_MAX];  /* of items */
	uint32_t sighted[SHAPES_MAX]; /* lines without a shape whose like may come again, by their hashes */
	int heat;		      /* lines that may fail to have a known shape before the search comes first */
	uint64_t n_hits, n_learned;
	char words_with_digits[1024]; /* words of signals, separated by '|', each digit as 0 */
	struct reading numbers_read[SHAPE_SIGNALS];
	/* of the line of the last line_shapes_find: */
	char masked[SHAPE_BYTES];
	size_t n;
	uint64_t hash;
};

/** @return 0 or -ENOMEM; either way the caller calls line_shapes_release. Memory: 400 KiB. */
int line_shapes_init(struct line_shapes *self) ATTR_NODISCARD;
void line_shapes_release(struct line_shapes *self);
/** The shape of a line; NULL: it is not known. */
struct shape *line_shapes_find(struct line_shapes *self, struct str text);
/** Whether the last line that line_shapes_find did not know may be kept with line_shapes_keep: a line like it came
 * before. */
bool line_shapes_is_due(struct line_shapes *self);
/** Keeps what lines like the last one of line_shapes_find, which was `text`, say; only n, masked and digits of `shape`
 * need not be set. */
void line_shapes_keep(struct line_shapes *self, struct str text, const struct shape *shape);
