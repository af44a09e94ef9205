/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* scan: finds which of many words a text contains, without regard to case (Wu and Manber's algorithm with blocks of two
 * bytes). Most lines of a log contain none, and most of their bytes are skipped. A scanner is read-only once built: any
 * thread. Cost of a search: linear in the text times the number of words that share a pair of letters at their end. */
#include "base/attr.h"
#include "base/str.h"

#include <stdint.h>

#define SCAN_WORD_BYTES_MIN 4 /* shorter words would stop the search from skipping bytes */
#define SCAN_WORDS_MAX	    768
#define SCAN_VALUES_MAX	    128

/** A set of values, one bit each. */
struct scan_set {
	uint64_t bits[SCAN_VALUES_MAX / 64];
};

static inline bool scan_set_is_within(const struct scan_set *self, const struct scan_set *other)
{
	for (size_t i = 0; i < ARRAY_LEN(self->bits); i++)
		if (self->bits[i] & ~other->bits[i])
			return false;
	return true;
}

static inline bool scan_set_has(const struct scan_set *self, unsigned int value)
{
	return self->bits[value / 64] >> value % 64 & 1;
}

/** The least value of the set from `value` on; SCAN_VALUES_MAX: none. */
static inline unsigned int scan_set_next(const struct scan_set *self, unsigned int value)
{
	while (value < SCAN_VALUES_MAX) {
		uint64_t rest = self->bits[value / 64] >> value % 64;

		if (rest)
			return value + (unsigned int)__builtin_ctzll(rest);
		value = (value / 64 + 1) * 64;
	}
	return SCAN_VALUES_MAX;
}

struct scan_word {
	const char *text; /* lower case; borrowed */
	uint8_t length, value;
	uint8_t window; /* where the bytes begin that the search looks at first: those that are rare in logs */
	bool has_guard;
	uint32_t folded; /* the window, see fold() */
	int16_t next;	 /* the next word with the same last pair of bytes; -1: none */
};

/** Whether what follows a word makes it count. */
typedef bool (*scan_guard_fn)(const char *behind, size_t n);

struct scanner {
	struct scan_word words[SCAN_WORDS_MAX];
	size_t n;
	scan_guard_fn guard;
	uint8_t shift[65536]; /* by a pair of bytes: how far the search may move; 0: `first` */
	int16_t first[65536];
};

void scanner_init(struct scanner *self);
/** Adds words, separated by '|', that stand for `value`. Asserts the limits above. */
void scanner_add(struct scanner *self, const char *words, unsigned int value);
/** Lets words that were added, each of `words` for all of its values, count only where `guard` says so. */
void scanner_set_guard(struct scanner *self, const char *words, scan_guard_fn guard);
/** Adds the values of all words in `text` to `ret`. @return whether there was one. */
bool scanner_find(const struct scanner *self, struct str text, struct scan_set *ret);
