/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* str: a borrowed view of bytes, not NUL-terminated; and comparisons of strings. Cost: linear in the
 * shorter one. Any thread. */
#include "base/steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

/** A view of a string literal. */
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

static inline struct str str_c(const char *text)
{
	return (struct str){text, text ? strlen(text) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
	STEPS_BULK(a.n == b.n ? a.n : 0);
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

/** Compares C strings; NULL equals only NULL. */
static inline bool streq(const char *a, const char *b)
{
	STEPS(1);
	return a == b || (a && b && strcmp(a, b) == 0);
}

static inline bool strstarts(const char *text, const char *prefix)
{
	STEPS(1);
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/** Whether the byte is a control character of ASCII. */
static inline bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static inline bool str_has_control(struct str s)
{
	size_t i = 0;

	while (i < s.n && !is_control(s.p[i]))
		i++;
	STEPS(i);
	return i < s.n;
}

/** Copies `s`, cut to `size` - 1 bytes and with spaces for control characters, so that it can be a part of a line.
 *  @return the number of bytes. */
static inline size_t str_to_line(struct str s, char *buf, size_t size)
{
	size_t n = s.n < size ? s.n : size - 1;

	for (size_t i = 0; i < n; i++)
		buf[i] = is_control(s.p[i]) ? ' ' : s.p[i];
	STEPS(n);
	buf[n] = '\0';
	return n;
}

/** The ending of a regular noun after a number. */
#define PLURAL(n) ((n) == 1 ? "" : "s")

/** Copies a C string, cut to `size` - 1 bytes. NULL: "". */
static inline void str_copy(char *buf, size_t size, const char *text)
{
	size_t n = 0;

	for (; text && n < size - 1 && text[n]; n++)
		buf[n] = text[n];
	STEPS(n);
	buf[n] = '\0';
}
