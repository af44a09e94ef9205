/* SPDX-License-Identifier: Apache-2.0 */
#include "support/alloc_fail.h"

#include "support/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAVE_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAVE_SANITIZER 1
#endif
#endif

#define TEXT_BYTES (1 << 20)

/* The sanitizers export their own under these names, so that a program may wrap them. */
#ifdef HAVE_SANITIZER
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif
extern void *REAL(malloc)(size_t size);
extern void *REAL(calloc)(size_t count, size_t size);
extern void *REAL(realloc)(void *block, size_t size);
extern void REAL(free)(void *block);

/* The test program is the only writer; one of each a thread. */
static _Thread_local long countdown, live;
static _Thread_local bool was_hit, is_lasting;

static bool is_from(const void *caller, const char *library)
{
	Dl_info place;

	return dladdr(caller, &place) && place.dli_fname && strstr(place.dli_fname, library);
}

/* What libcurl does without memory is not ours to test: some of it leaks. */
static bool refuses(const void *caller)
{
	if (countdown == 0 || is_from(caller, "libcurl") || --countdown > 0)
		return false;
	was_hit = true;
	countdown = is_lasting;
	errno = ENOMEM;
	return true;
}

static void *counted(void *block)
{
	live += block != NULL;
	return block;
}

void *malloc(size_t size)
{
	return refuses(__builtin_return_address(0)) ? NULL : counted(REAL(malloc)(size));
}

void *calloc(size_t count, size_t size)
{
	return refuses(__builtin_return_address(0)) ? NULL : counted(REAL(calloc)(count, size));
}

void *realloc(void *block, size_t size)
{
	void *moved;

	if (refuses(__builtin_return_address(0)))
		return NULL;
	moved = REAL(realloc)(block, size);
	if (!block)
		live += moved != NULL;
	else if (!size && !moved)
		live--;
	return moved;
}

void free(void *block)
{
	live -= block != NULL;
	REAL(free)(block);
}

static char *copy_text(const char *text, size_t length, const void *caller)
{
	long saved = countdown;
	char *copy;

	/* json-c 0.16 does not look whether its copy of a key succeeded, and crashes: not ours to test. */
	if (saved && (is_from(caller, "libjson-c") || is_from(caller, "libcurl")))
		countdown = 0;
	copy = malloc(length + 1);
	if (countdown == 0 && !was_hit)
		countdown = saved;
	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

/* The sanitizers' own do not come by malloc. */
char *strndup(const char *text, size_t n)
{
	return copy_text(text, strnlen(text, n), __builtin_return_address(0));
}

char *strdup(const char *text)
{
	return copy_text(text, strlen(text), __builtin_return_address(0));
}

void alloc_fail_arm_from(long nth)
{
	alloc_fail_arm(nth);
	is_lasting = true;
}

void alloc_fail_arm(long nth)
{
	is_lasting = false;
	was_hit = false;
	countdown = nth;
}

bool alloc_fail_disarm(void)
{
	countdown = 0;
	return was_hit;
}

long alloc_fail_live(void)
{
	return live;
}

int alloc_fail_add_json(struct strbuf *ret, struct json_object *object)
{
	long saved = countdown;
	int r;

	countdown = 0;
	r = strbuf_adds(ret, json_object_to_json_string(object));
	countdown = saved;
	return r;
}

/* One try with the nth allocation refused. @return 1: there were fewer than nth; 0; -ENOMEM. */
static int try_nth(const char *name, alloc_fail_fn *fn, void *context, long nth, const char *wanted)
{
	struct strbuf text = STRBUF_INIT(TEXT_BYTES);
	long before = alloc_fail_live();
	bool hit, is_same;
	int r;

	alloc_fail_arm(nth);
	r = fn(context, &text);
	hit = alloc_fail_disarm();
	is_same = strcmp(strbuf_text(&text), wanted) == 0;
	strbuf_release(&text);
	if (alloc_fail_live() != before)
		fail_msg("%s: allocation %ld refused: %ld blocks left", name, nth, alloc_fail_live() - before);
	if (r == 0 ? !is_same : r != -ENOMEM || !hit)
		fail_msg("%s: allocation %ld refused: returned %d%s", name, nth, r, is_same ? "" : ", other text");
	return r == 0 && !hit ? 1 : r;
}

long alloc_fail_each(const char *name, alloc_fail_fn *fn, void *context)
{
	CLEANUP(strbuf_release) struct strbuf wanted = STRBUF_INIT(TEXT_BYTES);
	/* Once before counting: what is set up once a process (locale, hash seed) is no leak. */
	int r = fn(context, &wanted);
	long failures = 0;

	test_row(name);
	assert_int_equal(r, 0);
	assert_true(wanted.len > 0);
	for (long nth = 1; r <= 0; nth++) {
		r = try_nth(name, fn, context, nth, strbuf_text(&wanted));
		failures += r < 0;
	}
	return failures;
}
