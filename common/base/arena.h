/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* arena: allocations that are freed together (for one admission request, one manifest, one profile). Memory is zeroed
 * and 16-byte aligned. With AddressSanitizer every item is a malloc of its own, so that overruns are detected.
 * Cost: an allocation takes time linear in its bytes; the heap contains at most a third more than `used_bytes`, plus 16
 * KiB. Threads: an arena belongs to one thread. */
#include "base/attr.h"

struct arena_chunk;
struct arena {
	struct arena_chunk *chunks;
	size_t used_bytes; /* bytes allocated since the last reset */
	size_t max_bytes;  /* cap of used_bytes; an allocation beyond it fails */
	bool has_failed;   /* an allocation has failed since arena_reset, so text made from others may be incomplete */
	bool is_full;	   /* an allocation has failed since arena_reset because of the cap */
};

#define ARENA_INIT(limit)                                                                                              \
	{                                                                                                              \
		.chunks = NULL, .used_bytes = 0, .max_bytes = (limit)                                                  \
	}

/** Frees all memory; the arena can be used again. */
void arena_release(struct arena *self);
/** Discards all items but keeps one chunk for the next use. */
void arena_reset(struct arena *self);
/** NULL: out of memory, or the cap is reached. */
void *arena_alloc(struct arena *self, size_t bytes) ATTR_NODISCARD;
/** A zeroed array of `count` elements. NULL also on overflow. */
void *arena_array(struct arena *self, size_t count, size_t element_bytes) ATTR_NODISCARD;
/** A NUL-terminated copy of `n` bytes. */
char *arena_strndup(struct arena *self, const char *text, size_t n) ATTR_NODISCARD;
/** A copy of a C string. NULL returns NULL, which looks like a failure: check the input first. */
char *arena_strdup(struct arena *self, const char *text) ATTR_NODISCARD;
/** A formatted string. NULL: as arena_alloc. */
char *arena_printf(struct arena *self, const char *fmt, ...) ATTR_PRINTF(2, 3) ATTR_NODISCARD;
