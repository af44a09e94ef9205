/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* stem: what stays of a name when the parts that differ from run to run are taken off. Private to the layer model. */
#include "base/str.h"

#include <stdint.h>

/** The stem, a prefix of `name`; all of it when it has no stable part. */
struct str stem_of(struct str name);
/** Five characters as generateName makes them. */
bool stem_is_random_suffix(struct str part);
bool stem_is_digits(struct str part);
/** An index: up to 9 digits. */
bool stem_is_number(struct str part);
/** A token of a command line that differs from run to run: a time, a hash, a random id. Plain numbers are none: batch
 *  sizes matter. */
bool stem_is_volatile_token(struct str token);

/** Spread a stable hash over all bits before a part of it is shown (FNV's high bits change little with short texts). */
static inline uint64_t identity_mix(uint64_t hash)
{
	hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
	hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
	return hash ^ (hash >> 33);
}
