/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* suggest: "did you mean" for options, commands, configuration keys and names of checks.
 *	struct suggest s = SUGGEST_INIT(word);
 *	for (each candidate) suggest_consider(&s, candidate);
 *	if (suggest_best(&s)) ...
 * No allocation. Words longer than SUGGEST_WORD_CHARS are never similar to anything. Any thread. */
#include <stddef.h>

#define SUGGEST_WORD_CHARS 63

struct suggest {
	const char *word;
	const char *best;     /* borrowed from the caller's table */
	size_t best_distance; /* edits from word to best */
	char hint[SUGGEST_WORD_CHARS + 24];
};

#define SUGGEST_INIT(text)                                                                                             \
	{                                                                                                              \
		.word = (text), .best = NULL, .best_distance = (size_t)-1                                              \
	}

/** Compares one candidate, which is borrowed. Cost: the product of both lengths. */
void suggest_consider(struct suggest *self, const char *candidate);
/** The most similar candidate (borrowed). NULL: every candidate differs in more than a third of the word's
 *  characters. */
const char *suggest_best(const struct suggest *self);
/** "; did you mean BEST?" for the end of a message, or "". Borrowed from `self`. */
const char *suggest_hint(struct suggest *self);
