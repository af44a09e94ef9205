/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* suggest: "did you mean" for options, commands, configuration keys and names of checks.
 *	struct suggest s = SUGGEST_INIT(word);
 *	for (each candidate) suggest_consider(&s, candidate);
 *	if (suggest_best(&s)) ...
 * No allocation; words longer than SUGGEST_WORD_CHARS are never near anything. Any thread. */
#include <stddef.h>

#define SUGGEST_WORD_CHARS 63

struct suggest {
	const char *word;
	const char *best;     /* borrowed from the caller's table */
	size_t best_distance; /* edits from word to best */
};

#define SUGGEST_INIT(text)                                                                                             \
	{                                                                                                              \
		.word = (text), .best = NULL, .best_distance = (size_t)-1                                              \
	}

void suggest_consider(struct suggest *self, const char *candidate);
/** The nearest candidate, or NULL when none is near enough to be what was meant (a third of the word's length). */
const char *suggest_best(const struct suggest *self);
