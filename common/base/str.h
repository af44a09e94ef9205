/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* str: a borrowed view of bytes. Not NUL-terminated; wire data is always handled by pointer and length. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

/** View of a string literal. */
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

static inline struct str str_c(const char *text)
{
	return (struct str){text, text ? strlen(text) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

static inline bool str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0;
}

/** NULL-safe comparison of C strings; NULL equals only NULL. */
static inline bool streq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static inline bool strstarts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}
