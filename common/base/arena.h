/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* arena: allocations that live and die together (one admission request, one manifest, one profile).
 * Memory is zeroed and 16-byte aligned. Under AddressSanitizer every item is its own malloc, so that overruns show.
 * Threads: an arena belongs to one thread. */
#include "base/attr.h"

struct arena_chunk;
struct arena {
	struct arena_chunk *chunks;
	size_t used_bytes; /* handed out so far */
	size_t max_bytes;  /* cap; an allocation beyond it fails */
	bool has_failed;   /* one failed since arena_reset: text made of other texts may lack a part */
	bool is_full;	   /* the cap, not lack of memory, made one fail since arena_reset */
};

#define ARENA_INIT(limit)                                                                                              \
	{                                                                                                              \
		.chunks = NULL, .used_bytes = 0, .max_bytes = (limit)                                                  \
	}

void arena_release(struct arena *self);
/** Forget all items but keep one chunk for the next use. */
void arena_reset(struct arena *self);
/** NULL when memory or the cap is out. */
void *arena_alloc(struct arena *self, size_t bytes) ATTR_NODISCARD;
/** Zeroed array of `count` elements; overflow-checked. */
void *arena_array(struct arena *self, size_t count, size_t element_bytes) ATTR_NODISCARD;
/** NUL-terminated copy of `n` bytes. */
char *arena_strndup(struct arena *self, const char *text, size_t n) ATTR_NODISCARD;
/** Copy of a C string; NULL stays NULL (which looks like failure: check the input first). */
char *arena_strdup(struct arena *self, const char *text) ATTR_NODISCARD;
char *arena_printf(struct arena *self, const char *fmt, ...) ATTR_PRINTF(2, 3) ATTR_NODISCARD;
