/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* scan: examines JSON text many bytes at a time, for json_text. scan_block classifies 64 bytes into six 64-bit masks,
 * bit i for byte i; scan_plain counts the bytes of a string that need no further check. With SSE2 (every x86-64) it
 * uses vectors, otherwise 64-bit words; a test compares both. Cost: constant for a block, linear for a
 * string. */
#include "base/steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SCAN_BLOCK 64

struct scan_masks {
	uint64_t quote, backslash, control; /* control: below 0x20 */
	uint64_t open, close, comma;	    /* brackets of both kinds */
};

#define SCAN_ONES  UINT64_C(0x0101010101010101)
#define SCAN_HIGHS UINT64_C(0x8080808080808080)

/* Bit i is byte i's high bit. */
static inline uint64_t scan_word_mask(uint64_t highs)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	highs = __builtin_bswap64(highs);
#endif
	return ((highs & SCAN_HIGHS) >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* High bits of the bytes that are zero. Exact: no carry crosses bytes. */
static inline uint64_t scan_word_zeros(uint64_t word)
{
	return ~(((word & ~SCAN_HIGHS) + ~SCAN_HIGHS) | word) & SCAN_HIGHS;
}

static inline uint64_t scan_word_equal(uint64_t word, unsigned char byte)
{
	return scan_word_mask(scan_word_zeros(word ^ (SCAN_ONES * byte)));
}

static inline uint64_t scan_word_load(const char *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static inline void scan_block_portable(const char *p, struct scan_masks *ret)
{
	*ret = (struct scan_masks){.quote = 0};
	for (int i = 0; i < SCAN_BLOCK; i += 8) {
		uint64_t word = scan_word_load(p + i), folded = word | (SCAN_ONES * 0x20);

		ret->quote |= scan_word_equal(word, '"') << i;
		ret->backslash |= scan_word_equal(word, '\\') << i;
		ret->control |= scan_word_mask(scan_word_zeros(word & (SCAN_ONES * 0xe0))) << i;
		ret->open |= scan_word_equal(folded, '{') << i; /* '[' | 0x20 == '{' */
		ret->close |= scan_word_equal(folded, '}') << i;
		ret->comma |= scan_word_equal(word, ',') << i;
	}
}

/* The number of bytes at `p` before the first one that is a quote, a backslash, a control character or not ASCII; at
 * most `n`. */
static inline size_t scan_plain_portable(const char *p, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t word = scan_word_load(p + i);
		uint64_t found = scan_word_equal(word, '"') | scan_word_equal(word, '\\') |
				 scan_word_mask(scan_word_zeros(word & (SCAN_ONES * 0xe0))) | scan_word_mask(word);

		STEPS(1);
		if (found)
			return i + (size_t)__builtin_ctzll(found);
	}
	while (i < n && p[i] != '"' && p[i] != '\\' && (signed char)p[i] >= 0x20)
		i++;
	STEPS(1 + i % 8);
	return i;
}

#ifdef __SSE2__
static inline uint64_t scan_vector_mask(__m128i v, int shift)
{
	return (uint64_t)(unsigned)_mm_movemask_epi8(v) << shift;
}

static inline void scan_block(const char *p, struct scan_masks *ret)
{
	*ret = (struct scan_masks){.quote = 0};
	for (int i = 0; i < SCAN_BLOCK; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		__m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));

		ret->quote |= scan_vector_mask(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), i);
		ret->backslash |= scan_vector_mask(_mm_cmpeq_epi8(v, _mm_set1_epi8('\\')), i);
		ret->control |= scan_vector_mask(_mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v), i);
		ret->open |= scan_vector_mask(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')), i);
		ret->close |= scan_vector_mask(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')), i);
		ret->comma |= scan_vector_mask(_mm_cmpeq_epi8(v, _mm_set1_epi8(',')), i);
	}
}

static inline size_t scan_plain(const char *p, size_t n)
{
	size_t i = 0;

	for (; i + 16 <= n; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		/* Signed comparison: finds control characters and all bytes that are not ASCII. */
		__m128i found = _mm_or_si128(
			_mm_cmplt_epi8(v, _mm_set1_epi8(0x20)),
			_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'))));
		unsigned mask = (unsigned)_mm_movemask_epi8(found);

		STEPS(1);
		if (mask)
			return i + (size_t)__builtin_ctz(mask);
	}
	return i + scan_plain_portable(p + i, n - i);
}
#else
static inline void scan_block(const char *p, struct scan_masks *ret)
{
	scan_block_portable(p, ret);
}

static inline size_t scan_plain(const char *p, size_t n)
{
	return scan_plain_portable(p, n);
}
#endif
