/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* vec: typed growing arrays. `VEC(struct run) runs = VEC_INIT;` then vec_push returns 0 or -ENOMEM. Invariant: `n`
 * elements are in use, `capacity` are allocated. Sizes are checked for overflow. Adding takes amortised constant time.
 * Threads: an array belongs to one thread. */
#include "base/attr.h"

#include <errno.h>
#include <stdlib.h>

#define VEC(type)                                                                                                      \
	struct {                                                                                                       \
		type *items;                                                                                           \
		size_t n, capacity;                                                                                    \
	}
#define VEC_INIT                                                                                                       \
	{                                                                                                              \
		NULL, 0, 0                                                                                             \
	}

/* Lists of larger elements, such as the containers of a pod, begin with room for one. */
enum { VEC_LARGE_BYTES = 128 };

static inline int vec_grow_(void **items, size_t *capacity, size_t n, size_t element_bytes)
{
	size_t first = element_bytes > VEC_LARGE_BYTES ? 1 : 4, want = *capacity ? *capacity : first, bytes;
	void *p;

	if (n <= *capacity)
		return 0;
	while (want < n)
		if (__builtin_mul_overflow(want, (size_t)2, &want))
			return -ENOMEM;
	if (__builtin_mul_overflow(want, element_bytes, &bytes))
		return -ENOMEM;
	p = realloc(*items, bytes);
	if (!p)
		return -ENOMEM;
	*items = p;
	*capacity = want;
	return 0;
}

/** Makes room for `count` elements in total. @return 0; -ENOMEM. */
#define vec_reserve(v, count) vec_grow_((void **)&(v)->items, &(v)->capacity, (count), sizeof(*(v)->items))
/** Appends a copy of `element`. @return 0; -ENOMEM, and nothing changed. */
#define vec_push(v, element)                                                                                           \
	({                                                                                                             \
		int vec_r_ = vec_reserve((v), (v)->n + 1);                                                             \
		if (!vec_r_)                                                                                           \
			(v)->items[(v)->n++] = (element);                                                              \
		vec_r_;                                                                                                \
	})
/** Frees the array, not what its elements point to. */
#define vec_release(v)                                                                                                 \
	do {                                                                                                           \
		free((v)->items);                                                                                      \
		(v)->items = NULL;                                                                                     \
		(v)->n = (v)->capacity = 0;                                                                            \
	} while (0)
