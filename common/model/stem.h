/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* stem: the part of a name that stays the same from run to run. Private to the layer model. Cost: linear in the text,
 * which each rule reads at most a few times. */
#include "base/str.h"

#include <stdint.h>

/** The stem, a prefix of `name`; the whole name if it has no stable part. */
struct str stem_of(struct str name);
/** Whether it is five characters as generateName makes them. */
bool stem_is_random_suffix(struct str part);
/** Whether it is not empty and has only digits. */
bool stem_is_digits(struct str part);
/** Whether it is an index: up to 9 digits. */
bool stem_is_number(struct str part);
/** Whether a token of a command line differs from run to run: a time, a hash, a random id. Plain numbers do not count,
 * as batch sizes matter. */
bool stem_is_volatile_token(struct str token);

/** Spreads a stable hash over all bits, before a part of it is used (the high bits of FNV change little for short
 * texts). */
static inline uint64_t identity_mix(uint64_t hash)
{
	hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
	hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
	return hash ^ (hash >> 33);
}
