/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* line: one line of a log as the signals read it: without colours and control characters, also in lower case, with the
 * rank and the place where the message itself begins. Pure functions on buffers of the caller; cost: linear. */
#include "base/attr.h"
#include "base/limits.h"
#include "base/str.h"

#include <stdint.h>

#define RANK_NONE	(-1)
#define RANK_AT_UNKNOWN (-2)
#define SPOTS		3

/* Where the numbers of a reading stand in their line. A line that has the same bytes, other than digits, has its
 * numbers at the same places, see line_shapes.h. */
struct spots {
	int at[SPOTS]; /* offsets; -1: there is no such number */
	uint8_t unit;  /* what else the reader knows of the line */
	bool is_noted;
};
#define SPOTS_NONE                                                                                                     \
	(struct spots)                                                                                                 \
	{                                                                                                              \
		.at = { -1, -1, -1 }                                                                                   \
	}

struct line {
	const char *text;  /* NUL-terminated; as written, cleaned */
	const char *lower; /* the same length; ASCII letters in lower case */
	size_t n;
	size_t body;	     /* where the message begins, behind rank, time, level and the like */
	const char *at;	     /* in `lower`: the first word of the signal that is being read; NULL: none */
	int rank;	     /* RANK_NONE: not in this line */
	int rank_at;	     /* where its digits stand; -1: no rank; RANK_AT_UNKNOWN: it is in the name of a pod */
	uint64_t number;     /* in its file */
	struct spots *spots; /* where readers note the places of numbers; NULL: nobody asks */
};

struct line_buffer {
	bool has_master; /* for the names of pods before lines, see rank_of_name */
	char text[LIMIT_TRIAGE_LINE_BYTES + 1], lower[LIMIT_TRIAGE_LINE_BYTES + 1];
};

/** Whether the text contains a byte that line_make removes in the middle of words (ESC). */
static inline bool line_has_colour(struct str raw)
{
	return memchr(raw.p, 0x1b, raw.n) != NULL;
}

/** Cleans `raw`, cut to LIMIT_TRIAGE_LINE_BYTES, into the buffer and finds rank and body. The line borrows it. */
void line_make(struct str raw, uint64_t number, struct line_buffer *buffer, struct line *ret);

/** Notes where the numbers of the signal that is being read stand. */
static inline void line_note(const struct line *line, const struct spots *spots)
{
	if (!line->spots)
		return;
	*line->spots = *spots;
	line->spots->is_noted = true;
}

/** Whether `lower` ends with the words. */
static inline bool line_ends_with(const struct line *line, const char *words)
{
	size_t n = strlen(words);

	return line->n >= n && streq(line->lower + line->n - n, words);
}

/** Copies what fits of a line, around the first of the words, with whole characters. `words` NULL: its beginning. */
void line_excerpt(const struct line *line, const char *words, char *buf, size_t size);
/** The same of a text of at most LIMIT_TRIAGE_EVIDENCE_BYTES: at most `room` bytes of it, with "..." where it is cut.
 */
void text_excerpt(const char *text, const char *words, size_t room, char *buf, size_t size);

/** The rank that the name of a file or pod ends with: rank3.log, worker-3, rank_3/stderr. Operators that make a master
 *  beside the workers give it rank 0, and the workers their index and one.
 *  @param has_master  whether there is a name with rank_is_master. @return RANK_NONE: none. */
int rank_of_name(const char *name, bool has_master);
/** Whether it is the name of a master's pod or log: "bert-master-0", "bert-master-0.log". */
bool rank_is_master(const char *name);

/** Until the next call texts within `line`, which must not change, are searched faster; what is found is the same.
 * NULL: no line. For each thread. Cost: linear. */
void line_focus(const struct line *line);
/** Whether `lower` contains one of the words, which are separated by '|'. */
bool text_has(const char *lower, const char *words);
/** Whether one of the words stands in the `n` bytes before `at`. */
bool text_has_before(const char *lower, const char *at, size_t n, const char *words);
/** False: the word is not in `lower`, as is known without a search. */
bool text_may_have(const char *lower, const char *word);
/** The first of the words in `lower`; NULL: none. */
const char *text_find(const char *lower, const char *words);
/** Copies what stands before `at` in `lower`, at most the last `size` - 1 bytes. @return how many. */
size_t text_before(const char *lower, const char *at, char *buf, size_t size);
/** A whole number at `at`, in decimal. @return the bytes read; 0: no number, or one beyond INT64_MAX. */
size_t text_number(const char *at, int64_t *ret);
/** A size such as "20.81 GiB", "372.76MiB", "0 bytes", "1048576kB", "1,024 bytes" at `at`, in bytes, rounded. KB and kB
 * are 1024 bytes, as the frameworks and the kernel print them. A number without a unit is bytes if `is_plain_allowed`.
 *  @return the bytes read; 0: no size. A size beyond INT64_MAX gives INT64_MAX. */
size_t text_size(const char *at, bool is_plain_allowed, int64_t *ret);
/** The size that ends before `at`, blanks between left out; `start` is where the text begins. @return whether there is
 *  one. */
bool text_size_before(const char *start, const char *at, int64_t *ret);
/** The number behind `label` in `lower`, with `=`, `:`, quotes and blanks between. @return whether there is one. */
bool text_labelled(const char *lower, const char *label, int64_t *ret);
