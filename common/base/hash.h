/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* hash: SipHash-1-3 with a seed for each process, for tables whose keys cluster users choose; FNV-1a for values that
 * must be the same on every machine and in every release (ids in labels and objects). Any thread. Cost: linear in
 * `n`. */
#include <stddef.h>
#include <stdint.h>

/** Seeded hash; differs between processes. */
uint64_t hash_seeded(const void *bytes, size_t n);
/** Stable hash (FNV-1a, 64 bit): never changes. Start with HASH_STABLE_INIT and pass the result to the next call. */
#define HASH_STABLE_INIT 0xcbf29ce484222325u
uint64_t hash_stable(uint64_t state, const void *bytes, size_t n);
/** The same for a string including its NUL, so that moving bytes between neighbouring strings changes the hash. NULL is
 *  "". */
uint64_t hash_stable_text(uint64_t state, const char *text);
/** For qsort and bsearch of hashes. */
int hash_compare(const void *a, const void *b);
