/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of a line that is too long: a piece with the words for which it was chosen. */
#include "triage/line.h"

#include <ctype.h>
#include <stdio.h>

static bool is_within_character(const char *text, size_t at)
{
	return ((unsigned char)text[at] & 0xc0) == 0x80;
}

/* Where a piece of at most `room` bytes begins: a third of it stands before the words. */
static size_t find_start(const char *lower, size_t n, const char *words, size_t room)
{
	const char *at = words && n > room ? text_find(lower, words) : NULL;
	size_t start;

	if (!at || (size_t)(at - lower) <= room / 2)
		return 0;
	start = MIN((size_t)(at - lower) - room / 3, n - room);
	while (start < n && is_within_character(lower, start))
		start++;
	return start;
}

/* The bytes of whole characters from `start` on. */
static size_t find_length(const char *text, size_t n, size_t start, size_t room)
{
	size_t length = MIN(n - start, room);

	while (length && start + length < n && is_within_character(text, start + length))
		length--;
	return length;
}

void line_excerpt(const struct line *line, const char *words, char *buf, size_t size)
{
	size_t start = find_start(line->lower, line->n, words, size - 1);
	size_t n = find_length(line->text, line->n, start, size - 1);

	memcpy(buf, line->text + start, n);
	buf[n] = '\0';
}

void text_excerpt(const char *text, const char *words, size_t room, char *buf, size_t size)
{
	char lower[LIMIT_TRIAGE_EVIDENCE_BYTES];
	size_t n = MIN(strlen(text), sizeof(lower) - 1), start, length;

	for (size_t i = 0; i < n; i++)
		lower[i] = (char)(isupper((unsigned char)text[i]) ? text[i] + 32 : text[i]);
	lower[n] = '\0';
	start = find_start(lower, n, words, room);
	length = find_length(text, n, start, room);
	snprintf(buf, size, "%s%.*s%s", start ? "..." : "", (int)length, text + start, start + length < n ? "..." : "");
}
