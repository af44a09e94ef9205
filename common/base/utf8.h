/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* utf8: decodes and encodes single characters. Pure functions, any thread. Cost: constant for one
 * character; utf8_clean() is linear in the text. */
#include <stddef.h>
#include <stdint.h>

/** The length of the character at `p` in bytes, and its code point. `n`, at least 1, is the number of bytes at `p`. 0:
 *  the bytes are not UTF-8 (overlong form, surrogate, beyond U+10FFFF, or cut off). */
size_t utf8_decode(const unsigned char *p, size_t n, uint32_t *ret);
/** Replaces each byte of the text that is not part of a character by '?'. */
void utf8_clean(char *text);
/** Writes a code point. @return the number of bytes. */
size_t utf8_encode(uint32_t code, char ret[4]);
