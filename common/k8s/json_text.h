/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* json_text: a cursor over JSON text that is read once, front to back, without building anything. Private to k8s/.
 * Functions return 0, -EINVAL with the byte offset in err, or -E2BIG beyond a limit. White space before a value, a key
 * or a punctuation mark is passed by json_text_peek, which the others expect to have been called. */
#include "base/err.h"
#include "base/str.h"
#include "k8s/scan.h"

struct json_text {
	const char *text;
	size_t n, pos;
	size_t tokens; /* `{`, `[` and `,` so far */
	struct err *err;
};

struct json_string {
	size_t from;	   /* offset of the opening quote */
	struct str inside; /* between the quotes, as written */
	bool has_escape, has_nul;
};

/** The next character that is no white space; '\0' at the end. */
static inline char json_text_peek(struct json_text *self)
{
	for (; self->pos < self->n; self->pos++) {
		char c = self->text[self->pos];

		if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
			return c;
	}
	return '\0';
}

/** Fill err with "`what` at byte N"; -EINVAL. */
int json_text_bad(struct json_text *self, size_t at, const char *what);
int json_text_expect_slow(struct json_text *self, char c);
/** Pass white space and then `c`. */
static inline int json_text_expect(struct json_text *self, char c)
{
	if (json_text_peek(self) != c)
		return json_text_expect_slow(self, c);
	self->pos++;
	return 0;
}
/** Pass the comma that json_text_peek saw. */
static inline void json_text_comma(struct json_text *self)
{
	self->pos++;
	self->tokens++;
}
/** Pass the `{` or `[` that json_text_peek saw; `depth` brackets are open around it. */
int json_text_enter(struct json_text *self, int depth);
int json_text_string_slow(struct json_text *self, struct json_string *ret);
/** Read a string: escapes, control characters and UTF-8 are checked. */
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
/** Read a number, true, false or null. */
int json_text_scalar(struct json_text *self);
/** Pass an object or array: strings are told apart, nesting and tokens are counted, nothing else is looked at. */
int json_text_skip_container(struct json_text *self, int depth);
/** Pass white space and any value. */
int json_text_skip(struct json_text *self, int depth);
/** The inside of a checked string without escapes, into `ret` (room for inside.n bytes: it never gets longer). Half a
 *  surrogate pair becomes U+FFFD. @return how many bytes were written. */
size_t json_text_unescape(struct str inside, char *ret);
