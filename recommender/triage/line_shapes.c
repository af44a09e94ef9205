/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/line_shapes.h"

#include "base/steps.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define HEAT_MAX 64
/* A shape costs about as much as reading a few lines: a log whose lines seldom repeat gets no more of them. */
#define LEARNED_FREE 2048
#define HITS_EACH    8

/* Adds a word if it has a digit. */
static size_t add_word(struct line_shapes *self, size_t n, const char *word, size_t length)
{
	if (strcspn(word, "0123456789") >= length)
		return n;
	assert(n + length + 2 <= sizeof(self->words_with_digits));
	if (n)
		self->words_with_digits[n++] = '|';
	for (size_t i = 0; i < length; i++)
		self->words_with_digits[n++] = isdigit((unsigned char)word[i]) ? '0' : word[i];
	return n;
}

int line_shapes_init(struct line_shapes *self)
{
	size_t n = 0;

	*self = (struct line_shapes){.items = calloc(SHAPES_MAX, sizeof(*self->items))};
	for (size_t i = 0; i < SHAPE_SIGNALS; i++)
		reading_init(&self->numbers_read[i]);
	for (size_t i = 0; i < SIGNAL_COUNT_; i++)
		for (const char *words = signals[i].words; words && *words;) {
			size_t length = strcspn(words, "|");

			n = add_word(self, n, words, length);
			words += length + (words[length] == '|');
		}
	return self->items ? 0 : -ENOMEM;
}

void line_shapes_release(struct line_shapes *self)
{
	free(self->items);
	*self = (struct line_shapes){0};
}

/* Eight bytes, each digit as '0'. */
static uint64_t mask_eight(const char *p)
{
	const uint64_t ones = UINT64_MAX / 255;
	uint64_t bytes, high, other;

	memcpy(&bytes, p, sizeof(bytes));
	high = bytes ^ ones * '0'; /* digits are now 0 to 9 */
	other = (((high & ones * 0x7f) + ones * (0x80 - 10)) | high) & ones * 0x80;
	other = (other >> 7) * 0xff;
	return (bytes & other) | (ones * '0' & ~other);
}

static uint64_t mix(uint64_t hash, uint64_t bytes)
{
	hash = (hash ^ bytes) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static void mask(struct line_shapes *self, struct str text)
{
	uint64_t hash = text.n, bytes;
	size_t i = 0;

	STEPS_BULK(text.n);
	for (; i + 8 <= text.n; i += 8) {
		bytes = mask_eight(text.p + i);
		memcpy(self->masked + i, &bytes, sizeof(bytes));
		hash = mix(hash, bytes);
	}
	if (i < text.n) {
		bytes = mask_eight(text.p + text.n - 8);
		memcpy(self->masked + text.n - 8, &bytes, sizeof(bytes));
		hash = mix(hash, bytes);
	}
	self->n = text.n;
	self->hash = hash;
}

static bool is_shape(const struct line_shapes *self, const struct shape *shape, struct str text)
{
	if (shape->n != text.n || memcmp(shape->masked, self->masked, text.n) != 0)
		return false;
	for (size_t i = 0; i < shape->n_fixed; i++)
		if (text.p[shape->fixed[i].at] != shape->fixed[i].digit)
			return false;
	return true;
}

static size_t place_of(const struct line_shapes *self, size_t i)
{
	return (self->hash / 256 + i) % SHAPES_MAX;
}

struct shape *line_shapes_find(struct line_shapes *self, struct str text)
{
	self->n = 0;
	if (text.n < SHAPE_BYTES_MIN || text.n > SHAPE_BYTES)
		return NULL;
	mask(self, text);
	for (size_t i = 0; i < SHAPES_TRIED; i++) {
		size_t at = place_of(self, i);

		if (self->hashes[at] != self->hash || !is_shape(self, &self->items[at], text))
			continue;
		self->heat = HEAT_MAX;
		self->n_hits++;
		return &self->items[at];
	}
	self->heat -= self->heat > 0;
	return NULL;
}

bool line_shapes_is_due(struct line_shapes *self)
{
	uint32_t *sighted = &self->sighted[self->hash % SHAPES_MAX];

	if (!self->n || self->n_learned > LEARNED_FREE + self->n_hits / HITS_EACH)
		return false;
	if (*sighted == (uint32_t)(self->hash >> 32))
		return true;
	*sighted = (uint32_t)(self->hash >> 32);
	return false;
}

/* The place of the shape itself, which has become known anew, or a free one, or that of another shape. */
static size_t choose_place(const struct line_shapes *self, struct str text)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < SHAPES_TRIED; i++) {
		size_t at = place_of(self, i);

		if (self->items[at].n && self->hashes[at] == self->hash && is_shape(self, &self->items[at], text))
			return at;
		if (!self->items[at].n && found == SIZE_MAX)
			found = at;
	}
	return found != SIZE_MAX ? found : place_of(self, self->n_learned % SHAPES_TRIED);
}

void line_shapes_keep(struct line_shapes *self, struct str text, const struct shape *shape)
{
	size_t at = choose_place(self, text);

	self->n_learned++;
	self->items[at] = *shape;
	self->items[at].n = text.n;
	memcpy(self->items[at].masked, self->masked, text.n);
	for (size_t i = 0; i < shape->n_fixed; i++)
		self->items[at].fixed[i].digit = text.p[shape->fixed[i].at];
	self->hashes[at] = self->hash;
}
