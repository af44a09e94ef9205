/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* json_text: the grammar of JSON. A cursor over text that is read once, from start to end, without building anything.
 * Functions return 0, -EINVAL with the byte offset in err, or -E2BIG beyond a limit. json_text_peek skips white space
 * before a value, a key or a punctuation mark; the other functions expect that it was called.
 *
 * json_skip finds the end of an object or array in text that arrives in pieces (json_split). Cost of everything: linear
 * in the bytes; no allocation. */
#include "base/err.h"
#include "base/json_scan.h"
#include "base/str.h"

struct json_text {
	const char *text;
	size_t n, pos;
	size_t entered; /* offset behind the bracket that was entered last */
	size_t from;	/* offset of the text in what it was taken from; errors count bytes from there */
	size_t tokens;	/* number of `{`, `[` and `,` so far */
	struct err *err;
};

struct json_string {
	size_t from;	   /* offset of the opening quote */
	struct str inside; /* between the quotes, as written */
	bool has_escape, has_nul;
};

/** The next character that is not white space; '\0' at the end. */
static inline char json_text_peek(struct json_text *self)
{
	for (; self->pos < self->n; self->pos++) {
		char c = self->text[self->pos];

		STEPS(1);
		if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
			return c;
	}
	return '\0';
}

/** Sets err to "`what` at byte N". @return -EINVAL. */
int json_text_bad(struct json_text *self, size_t at, const char *what);
int json_text_expect_slow(struct json_text *self, char c);
/** Skips white space and then expects `c`. */
static inline int json_text_expect(struct json_text *self, char c)
{
	if (json_text_peek(self) != c)
		return json_text_expect_slow(self, c);
	self->pos++;
	return 0;
}
/** Skips the `{` or `[` that json_text_peek returned; `depth` is the number of brackets that are open around it. */
int json_text_enter(struct json_text *self, int depth);
/** What follows in the container that was entered, from behind its bracket or an item: `while (!r && (r =
 * json_text_next(in, ']')) > 0) r = ...`. Skips the comma before an item, or `close`. @return 1: an item; 0: the end;
 * -EINVAL. */
static inline int json_text_next(struct json_text *self, char close)
{
	bool is_first = self->pos == self->entered;
	char c = json_text_peek(self);

	if (c == ',' && !is_first) {
		self->pos++;
		self->tokens++;
		return 1;
	}
	if (c == close) {
		self->pos++;
		return 0;
	}
	return is_first ? 1 : json_text_expect_slow(self, close);
}
int json_text_string_slow(struct json_text *self, struct json_string *ret);
/** Reads a string. Escapes, control characters and UTF-8 are checked. */
static inline int json_text_string(struct json_text *self, struct json_string *ret)
{
	size_t from = self->pos, end;

	if (from < self->n && self->text[from] == '"') {
		end = from + 1 + scan_plain(self->text + from + 1, self->n - from - 1);
		if (end < self->n && self->text[end] == '"') {
			*ret = (struct json_string){.from = from, .inside = {self->text + from + 1, end - from - 1}};
			self->pos = end + 1;
			return 0;
		}
	}
	return json_text_string_slow(self, ret);
}
/** The same as json_text_next for an object: reads the key, too, and skips the colon. */
static inline int json_text_member(struct json_text *self, struct json_string *ret_key)
{
	int r = json_text_next(self, '}');

	if (r <= 0)
		return r;
	(void)json_text_peek(self);
	r = json_text_string(self, ret_key);
	if (!r)
		r = json_text_expect(self, ':');
	return r ? r : 1;
}
/** Read a number, true, false or null. */
int json_text_scalar(struct json_text *self);
/** Skips an object or array: what json_skip does. With -E2BIG the cursor is behind it, or at the end of the text. */
int json_text_skip_container(struct json_text *self, int depth);
/** Skips white space and any value. */
int json_text_skip(struct json_text *self, int depth);
/** Unescapes the content of a checked string into `ret`, which needs room for inside.n bytes, as it never becomes
 * longer. Half a surrogate pair becomes U+FFFD. @return the number of bytes written. */
size_t json_text_unescape(struct str inside, char *ret);
/** The number of bytes that json_text_unescape would write. */
size_t json_text_unescaped_length(struct str inside);

/* Follows one object or array to its end, 64 bytes at a time: strings are recognised and brackets counted, nothing else
 * is checked. Initialise with zeros, max_depth and is_strict. */
struct json_skip {
	uint64_t in_string;  /* all ones or zero */
	uint64_t is_escaped; /* 1: the next byte is escaped */
	uint64_t arrays;     /* bit 0: the innermost bracket is '[', bit 1: the one around it ... */
	size_t depth;	     /* number of open brackets */
	size_t max_depth;    /* is_too_deep is set where it is exceeded */
	size_t tokens;	     /* number of `{`, `[` and `,` so far */
	bool is_strict;	     /* both kinds of brackets must match, down to a depth of 64; otherwise they are the same */
	bool is_too_deep;
	const char *fault; /* NULL, or what is wrong with the byte at which the skip stopped */
};
/** Takes the next `n` bytes. The first byte of all is the opening bracket. @return the number of bytes that belong to
 * the value; it ended when `depth` is 0. */
size_t json_skip(struct json_skip *self, const char *bytes, size_t n);
