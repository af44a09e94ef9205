/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* split: remembers which sizes of windows Prometheus refused, so that later windows are split without asking. A size
 * counts as too heavy after two different windows of it were refused and none was answered in between: one window that
 * cannot be read says nothing about the others. Sizes are powers of two, of the number of namespaces, or of the time
 * for one namespace. Everything is forgotten after a day. Initialise with zeros. Pure; constant time. One thread. */
#include "evidence/evidence.h"

#define SPLIT_KEPT_MS ((int64_t)24 * 3600 * 1000)

struct split_size {
	int refused;	   /* number of different windows, up to 2 */
	int64_t length_ms; /* of the shortest window that was refused */
	/* The last window that was refused: its start, and its first namespace (hash). */
	int64_t start_ms;
	uint64_t namespace_hash;
};

enum { SPLIT_SIZES = 24 }; /* larger sizes count as the largest one */
enum split_kind { SPLIT_NAMESPACES, SPLIT_TIME, SPLIT_KINDS_ };

struct split {
	struct split_size sizes[SPLIT_KINDS_][SPLIT_SIZES]; /* second index: binary logarithm */
	int64_t since_ms;				    /* 0: nothing is remembered */
};

/** A part of a window: `n` namespaces beginning with `first` ("": not known). */
struct split_part {
	int64_t start_ms, length_ms;
	const char *first;
	size_t n;
};

/** Forgets everything if it is older than SPLIT_KEPT_MS, or from the future. */
void split_begin(struct split *self, int64_t now_ms);
/** Whether the part should be split without asking. */
bool split_is_heavy(const struct split *self, const struct split_part *part);
void split_note_refusal(struct split *self, const struct split_part *part, int64_t now_ms);
/** The part was answered, so smaller ones are not too heavy. */
void split_note_answer(struct split *self, const struct split_part *part);
