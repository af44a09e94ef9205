/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* hash: SipHash-1-3 seeded once a process, for tables keyed by names that cluster users choose, and FNV-1a for
 * values that must be the same on every machine and in every release (ids written into labels and objects). */
#include <stddef.h>
#include <stdint.h>

/** Seeded hash: differs between processes. Any thread. */
uint64_t hash_seeded(const void *bytes, size_t n);
/** Stable hash (FNV-1a, 64 bit): same everywhere, for ever. Start with HASH_STABLE_INIT and chain. */
#define HASH_STABLE_INIT 0xcbf29ce484222325u
uint64_t hash_stable(uint64_t state, const void *bytes, size_t n);
/** The same of a text and its end, so that moving a part from one text to the next is a change. NULL is "". */
uint64_t hash_stable_text(uint64_t state, const char *text);
