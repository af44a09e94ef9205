/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/steps.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_PER_ITEM 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_PER_ITEM 1
#endif
#endif
#ifndef ARENA_PER_ITEM
#define ARENA_PER_ITEM 0
#endif

#define ARENA_CHUNK_BYTES ((size_t)16 * 1024)
#define ARENA_OWN_BYTES	  (ARENA_CHUNK_BYTES / 4) /* larger items get a chunk of their own */
#define ARENA_ALIGN	  ((size_t)16)

struct arena_chunk {
	struct arena_chunk *next;
	size_t used, size;
	_Alignas(16) unsigned char data[];
};

void arena_release(struct arena *self)
{
	struct arena_chunk *chunk = self->chunks;

	while (chunk) {
		struct arena_chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
	self->chunks = NULL;
	self->used_bytes = 0;
	self->has_failed = false;
	self->is_full = false;
}

void arena_reset(struct arena *self)
{
	struct arena_chunk *keep = self->chunks;

	if (ARENA_PER_ITEM || !keep || keep->size > 4 * ARENA_CHUNK_BYTES) {
		arena_release(self);
		return;
	}
	self->chunks = keep->next;
	arena_release(self);
	keep->next = NULL;
	keep->used = 0;
	self->chunks = keep;
}

/* A chunk for one large item goes behind the first chunk, whose free space is still used: at most a quarter of a chunk
 * is wasted, whatever the sizes of items. */
static struct arena_chunk *arena_chunk_add(struct arena *self, size_t bytes)
{
	bool is_own = ARENA_PER_ITEM || bytes > ARENA_OWN_BYTES;
	size_t size = is_own ? bytes : ARENA_CHUNK_BYTES;
	struct arena_chunk **place = is_own && self->chunks ? &self->chunks->next : &self->chunks;
	struct arena_chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		return NULL;
	*chunk = (struct arena_chunk){.next = *place, .used = 0, .size = size};
	*place = chunk;
	return chunk;
}

static void *arena_take(struct arena *self, size_t bytes)
{
	struct arena_chunk *chunk = self->chunks;
	void *item;

	if (bytes <= SIZE_MAX / 2 && !ARENA_PER_ITEM)
		bytes = (bytes + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
	if (bytes > SIZE_MAX / 2 || bytes > self->max_bytes - self->used_bytes) {
		self->is_full = true;
		return NULL;
	}
	if (ARENA_PER_ITEM || !chunk || chunk->size - chunk->used < bytes)
		chunk = arena_chunk_add(self, bytes);
	if (!chunk)
		return NULL;
	item = chunk->data + chunk->used;
	chunk->used += bytes;
	self->used_bytes += bytes;
	STEPS_BULK(bytes);
	memset(item, 0, bytes);
	return item;
}

void *arena_alloc(struct arena *self, size_t bytes)
{
	void *item = arena_take(self, bytes);

	self->has_failed |= !item;
	return item;
}

void *arena_array(struct arena *self, size_t count, size_t element_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, element_bytes, &bytes))
		bytes = SIZE_MAX;
	return arena_alloc(self, bytes);
}

char *arena_strndup(struct arena *self, const char *text, size_t n)
{
	char *copy = n < SIZE_MAX ? arena_alloc(self, n + 1) : NULL;

	if (copy && n)
		memcpy(copy, text, n);
	return copy;
}

char *arena_strdup(struct arena *self, const char *text)
{
	return text ? arena_strndup(self, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *self, const char *fmt, ...)
{
	va_list args;
	char line[256], *text;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (n < 0)
		return NULL;
	if ((size_t)n < sizeof(line))
		return arena_strndup(self, line, (size_t)n);
	text = arena_alloc(self, (size_t)n + 1);
	if (!text)
		return NULL;
	va_start(args, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, args);
	va_end(args);
	return text;
}
