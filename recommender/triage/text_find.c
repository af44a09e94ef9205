/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the words that a line may have, and what stands before them. */
#include "triage/line.h"

/* Which pairs of bytes the line has that is being read: a word with another pair is not in it. Two pairs may have the
 * same bit. */
static _Thread_local struct focus {
	const char *start, *end; /* NULL: no line */
	uint64_t pairs[64];
} focus;

static unsigned int pair_of(char a, char b)
{
	return ((unsigned int)a & 63) << 6 | ((unsigned int)b & 63);
}

static bool has_pair(unsigned int pair)
{
	return focus.pairs[pair / 64] >> pair % 64 & 1;
}

void line_focus(const struct line *line)
{
	focus.start = focus.end = NULL;
	if (!line)
		return;
	focus.start = line->lower;
	focus.end = line->lower + line->n;
	memset(focus.pairs, 0, sizeof(focus.pairs));
	for (size_t i = 0; i + 1 < line->n; i++) {
		unsigned int pair = pair_of(line->lower[i], line->lower[i + 1]);

		focus.pairs[pair / 64] |= (uint64_t)1 << pair % 64;
	}
}

static bool is_in_focus(const char *lower)
{
	return focus.start && lower >= focus.start && lower <= focus.end;
}

static bool is_end(char c)
{
	return !c || c == '|';
}

/* The next word of a list that a text may have: where it ends; NULL: none. */
static const char *next_word(const char **words, bool is_known)
{
	while (**words) {
		const char *at = *words;
		bool is_possible = true;

		if (is_known && !is_end(*at))
			for (; is_possible && !is_end(at[1]); at++)
				is_possible = has_pair(pair_of(at[0], at[1]));
		while (!is_end(*at))
			at++;
		if (is_possible)
			return at;
		*words = at + (*at == '|');
	}
	return NULL;
}

const char *text_find(const char *lower, const char *words)
{
	bool is_known = is_in_focus(lower);
	const char *end, *at;
	char word[96];

	while ((end = next_word(&words, is_known))) {
		size_t n = MIN((size_t)(end - words), sizeof(word) - 1);

		memcpy(word, words, n);
		word[n] = '\0';
		at = strstr(lower, word);
		if (at)
			return at;
		words = end + (*end == '|');
	}
	return NULL;
}

bool text_has_before(const char *lower, const char *at, size_t n, const char *words)
{
	const char *start = at - MIN((size_t)(at - lower), n), *end;
	bool is_known = is_in_focus(lower);

	while ((end = next_word(&words, is_known))) {
		if (memmem(start, (size_t)(at - start), words, (size_t)(end - words)))
			return true;
		words = end + (*end == '|');
	}
	return false;
}

bool text_may_have(const char *lower, const char *word)
{
	return next_word(&word, is_in_focus(lower)) != NULL;
}

bool text_has(const char *lower, const char *words)
{
	return text_find(lower, words) != NULL;
}

size_t text_before(const char *lower, const char *at, char *buf, size_t size)
{
	size_t n = MIN((size_t)(at - lower), size - 1);

	memcpy(buf, at - n, n);
	buf[n] = '\0';
	return n;
}
