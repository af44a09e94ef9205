/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/scan.h"

#include "base/steps.h"

#include <assert.h>
#include <ctype.h>

/* The search looks for SCAN_WORD_BYTES_MIN bytes of each word; where their last pair is met, the word is compared. */
#define WINDOW SCAN_WORD_BYTES_MIN

void scanner_init(struct scanner *self)
{
	self->n = 0;
	self->guard = NULL;
	memset(self->shift, WINDOW - 1, sizeof(self->shift));
	memset(self->first, 0xff, sizeof(self->first));
}

static unsigned int pair_at(const unsigned char *p)
{
	return (unsigned int)p[0] << 8 | p[1];
}

/* Sets the shift of a pair of bytes in each of its spellings; 0 adds the word to the pair's list. */
static void set_pair(struct scanner *self, const char *pair, uint8_t shift, int word)
{
	for (int i = 0; i < 4; i++) {
		unsigned char p[2] = {(unsigned char)pair[0], (unsigned char)pair[1]};
		unsigned int at;

		if ((i & 1 && !islower(p[0])) || (i & 2 && !islower(p[1])))
			continue;
		p[0] = i & 1 ? (unsigned char)toupper(p[0]) : p[0];
		p[1] = i & 2 ? (unsigned char)toupper(p[1]) : p[1];
		at = pair_at(p);
		self->shift[at] = MIN(self->shift[at], shift);
		if (!shift) {
			if (word >= 0)
				self->words[word].next = self->first[at];
			self->first[at] = (int16_t)word;
		}
	}
}

/* How often logs have a byte: the rarer, the further the search moves. */
static unsigned int frequency(char c)
{
	static const char order[] = "zqjx][)(:=|'\"@vkwybg_ufmpdchlnrisaote ";
	const char *at = strchr(order, c);

	return at ? (unsigned int)(at - order) : 0;
}

/* The place of the window in a word whose pairs of bytes are the rarest ones. */
static size_t choose_window(const char *text, size_t n)
{
	size_t best = 0;
	unsigned int best_cost = UINT32_MAX;

	for (size_t at = 0; at + WINDOW <= n; at++) {
		unsigned int cost = 0;

		for (size_t i = 0; i + 1 < WINDOW; i++) {
			unsigned int pair = (frequency(text[at + i]) + 1) * (frequency(text[at + i + 1]) + 1);

			/* The last pair stops the search; the others shorten its moves. */
			cost += i + 2 == WINDOW ? 3 * pair : pair;
		}
		if (cost < best_cost) {
			best = at;
			best_cost = cost;
		}
	}
	return best;
}

/* The four bytes of a window, those of letters without their case: where two differ, the windows do. */
static uint32_t fold(const char *p)
{
	uint32_t bytes;

	static_assert(WINDOW == sizeof(bytes), "a window is one number");
	memcpy(&bytes, p, sizeof(bytes));
	return bytes | 0x20202020;
}

static void add_word(struct scanner *self, const char *text, size_t n, unsigned int value)
{
	size_t window;
	int16_t head;
	char last[2];

	assert(n >= WINDOW && n < 256 && self->n < SCAN_WORDS_MAX && value < SCAN_VALUES_MAX);
	window = choose_window(text, n);
	for (size_t i = 0; i + 1 < WINDOW - 1; i++)
		set_pair(self, text + window + i, (uint8_t)(WINDOW - 2 - i), -1);
	last[0] = text[window + WINDOW - 2];
	last[1] = text[window + WINDOW - 1];
	head = self->first[pair_at((const unsigned char *)last)];
	self->words[self->n] = (struct scan_word){.text = text,
						  .length = (uint8_t)n,
						  .value = (uint8_t)value,
						  .window = (uint8_t)window,
						  .folded = fold(text + window)};
	set_pair(self, last, 0, (int)self->n);
	/* All spellings of a pair have the same list. */
	self->words[self->n].next = head;
	self->n++;
}

void scanner_add(struct scanner *self, const char *words, unsigned int value)
{
	while (*words) {
		size_t n = strcspn(words, "|");

		add_word(self, words, n, value);
		words += n + (words[n] == '|');
	}
}

static char lower_of(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_listed(const char *words, const struct scan_word *word)
{
	for (size_t n; *words; words += n + (words[n] == '|')) {
		n = strcspn(words, "|");
		if (n == word->length && memcmp(words, word->text, n) == 0)
			return true;
	}
	return false;
}

void scanner_set_guard(struct scanner *self, const char *words, scan_guard_fn guard)
{
	self->guard = guard;
	for (size_t i = 0; i < self->n; i++)
		self->words[i].has_guard = is_listed(words, &self->words[i]);
}

/* Whether the word stands in `text` so that its window is at `at`. */
static bool is_word_at(const struct scan_word *word, struct str text, size_t at)
{
	const char *p;

	if (at < word->window || text.n - (at - word->window) < word->length)
		return false;
	p = text.p + at - word->window;
	for (size_t i = 0; i < word->length; i++)
		if (lower_of(p[i]) != word->text[i])
			return false;
	return true;
}

static bool is_guarded(const struct scanner *self, const struct scan_word *word, struct str text, size_t at)
{
	size_t end = at - word->window + word->length;

	return word->has_guard && !self->guard(text.p + end, text.n - end);
}

bool scanner_find(const struct scanner *self, struct str text, struct scan_set *ret)
{
	const unsigned char *p = (const unsigned char *)text.p;
	bool is_found = false;

	STEPS(text.n);
	for (size_t at = 0; at + WINDOW <= text.n;) {
		unsigned int pair = pair_at(p + at + WINDOW - 2);
		uint32_t folded;

		if (self->shift[pair]) {
			at += self->shift[pair];
			continue;
		}
		folded = fold(text.p + at);
		for (int i = self->first[pair]; i >= 0; i = self->words[i].next) {
			const struct scan_word *word = &self->words[i];

			if (word->folded != folded || !is_word_at(word, text, at) || is_guarded(self, word, text, at))
				continue;
			ret->bits[word->value / 64] |= (uint64_t)1 << word->value % 64;
			is_found = true;
		}
		at++;
	}
	return is_found;
}
