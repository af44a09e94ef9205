/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggest.h"

#include "base/attr.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static char lower(char c)
{
	return (char)tolower((unsigned char)c);
}

/* Optimal string alignment distance: insert, delete, replace, swap neighbours. Letter case is ignored. */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
	size_t rows[3][SUGGEST_WORD_CHARS + 1];

	for (size_t j = 0; j <= n_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n_a; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			size_t cost = lower(a[i - 1]) != lower(b[j - 1]);

			row[j] = MIN(MIN(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
				row[j] = MIN(row[j], above2[j - 2] + 1);
		}
	}
	return rows[n_a % 3][n_b];
}

void suggest_consider(struct suggest *self, const char *candidate)
{
	size_t n_word = strlen(self->word), n = strlen(candidate), distance;

	if (n_word > SUGGEST_WORD_CHARS || n > SUGGEST_WORD_CHARS)
		return;
	distance = edit_distance(self->word, n_word, candidate, n);
	if (distance < self->best_distance) {
		self->best_distance = distance;
		self->best = candidate;
	}
}

const char *suggest_best(const struct suggest *self)
{
	size_t n = strlen(self->word);

	return self->best && self->best_distance <= (n + 2) / 3 && self->best_distance < n ? self->best : NULL;
}

const char *suggest_hint(struct suggest *self)
{
	const char *best = suggest_best(self);

	if (best)
		snprintf(self->hint, sizeof(self->hint), "; did you mean %s?", best);
	return self->hint;
}
