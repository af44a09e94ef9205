/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_text.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"

#include <errno.h>

int json_text_bad(struct json_text *self, size_t at, const char *what)
{
	return err_set(self->err, -EINVAL, "%s at byte %zu", what, self->from + at);
}

static int ends_early(struct json_text *self)
{
	return json_text_bad(self, self->n, "JSON text ends early");
}

static int too_deep(struct json_text *self)
{
	return err_set(self->err, -E2BIG, "nested deeper than %d", LIMIT_REVIEW_DEPTH);
}

static int too_many_tokens(struct json_text *self)
{
	return err_set(self->err, -E2BIG, "more than %d tokens", LIMIT_REVIEW_TOKENS);
}

int json_text_expect_slow(struct json_text *self, char c)
{
	if (self->pos == self->n)
		return ends_early(self);
	return err_set(self->err, -EINVAL, "expected '%c' at byte %zu", c, self->from + self->pos);
}

int json_text_enter(struct json_text *self, int depth)
{
	if (depth >= LIMIT_REVIEW_DEPTH)
		return too_deep(self);
	if (self->tokens >= LIMIT_REVIEW_TOKENS)
		return too_many_tokens(self);
	self->pos++;
	self->tokens++;
	self->entered = self->pos;
	return 0;
}

/* --- Strings --- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The value of the four hexadecimal digits at `p`; -1: other characters. */
static int hex4(const char *p)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(p[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Skips the escape at the cursor. */
static int pass_escape(struct json_text *self, struct json_string *string)
{
	size_t left = self->n - self->pos;
	const char *p = self->text + self->pos;
	int value;

	string->has_escape = true;
	if (left < 2 || (p[1] == 'u' && left < 6))
		return ends_early(self);
	if (p[1] != 'u') {
		if (!p[1] || !strchr("\"\\/bfnrt", p[1]))
			return json_text_bad(self, self->pos, "unknown escape");
		self->pos += 2;
		return 0;
	}
	value = hex4(p + 2);
	if (value < 0)
		return json_text_bad(self, self->pos, "unknown escape");
	if (value == 0)
		string->has_nul = true;
	self->pos += 6;
	return 0;
}

int json_text_string_slow(struct json_text *self, struct json_string *ret)
{
	*ret = (struct json_string){.from = self->pos};
	if (self->pos == self->n)
		return ends_early(self);
	if (self->text[self->pos] != '"')
		return json_text_bad(self, self->pos, "expected a string");
	self->pos++;
	for (;;) {
		unsigned char c;
		uint32_t code;
		size_t length;
		int r;

		STEPS(1);
		self->pos += scan_plain(self->text + self->pos, self->n - self->pos);
		if (self->pos == self->n)
			return ends_early(self);
		c = (unsigned char)self->text[self->pos];
		if (c == '"')
			break;
		if (c == '\\') {
			r = pass_escape(self, ret);
			if (r)
				return r;
			continue;
		}
		if (c < 0x20)
			return json_text_bad(self, self->pos, "control character in a string");
		length = utf8_decode((const unsigned char *)self->text + self->pos, self->n - self->pos, &code);
		if (!length)
			return json_text_bad(self, self->pos, "invalid UTF-8");
		self->pos += length;
	}
	ret->inside = (struct str){self->text + ret->from + 1, self->pos - ret->from - 1};
	self->pos++;
	return 0;
}

/* The character of the \u escape at `p` (6 bytes, or 12 for a pair); `*ret_taken`: the number of bytes. */
static uint32_t unicode_of(const char *p, size_t n, size_t *ret_taken)
{
	uint32_t high = (uint32_t)hex4(p + 2), low;

	*ret_taken = 6;
	if (high < 0xd800 || high >= 0xe000)
		return high;
	if (high < 0xdc00 && n >= 12 && p[6] == '\\' && p[7] == 'u') {
		low = (uint32_t)hex4(p + 8);
		if (low >= 0xdc00 && low < 0xe000) {
			*ret_taken = 12;
			return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return 0xfffd;
}

size_t json_text_unescape(struct str inside, char *ret)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	size_t i = 0, n = 0, taken;

	STEPS(inside.n);
	while (i < inside.n) {
		const char *p = inside.p + i;

		taken = 1;
		if (*p != '\\') {
			ret[n++] = *p;
		} else if (p[1] == 'u') {
			n += utf8_encode(unicode_of(p, inside.n - i, &taken), ret + n);
		} else {
			ret[n++] = to[strchr(from, p[1]) - from];
			taken = 2;
		}
		i += taken;
	}
	return n;
}

size_t json_text_unescaped_length(struct str inside)
{
	const char *end = inside.p + inside.n, *p = inside.p;
	size_t n = inside.n;

	STEPS_BULK(inside.n);
	while (p < end && (p = memchr(p, '\\', (size_t)(end - p)))) {
		size_t taken = 2, written = 1;
		char bytes[4];

		STEPS(1);
		if (p[1] == 'u')
			written = utf8_encode(unicode_of(p, (size_t)(end - p), &taken), bytes);
		n -= taken - written;
		p += taken;
	}
	return n;
}

/* --- Other values --- */

int json_text_scalar(struct json_text *self)
{
	static const struct str words[] = {{"true", 4}, {"false", 5}, {"null", 4}};
	const struct str rest = {self->text + self->pos, self->n - self->pos};
	size_t n;

	if (!rest.n)
		return ends_early(self);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_starts(rest, words[i])) {
			self->pos += words[i].n;
			return 0;
		}
	n = json_number_length(rest.p, rest.n);
	if (!n)
		return json_text_bad(self, self->pos, "expected a value");
	self->pos += n;
	return 0;
}

/* --- Skipping --- */

/* Without a machine instruction, which not every x86-64 has, the compiler would call a function with a table. */
static inline int count_bits(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (int)(x * UINT64_C(0x0101010101010101) >> 56);
}

#define MATCHED_DEPTH 64 /* bits of `arrays` */

/* Which bytes are escaped: those after a backslash that is not escaped itself. Bit `n` is that of the byte behind the
 * block. */
static uint64_t escaped_bytes(struct json_skip *skip, uint64_t backslashes, size_t n)
{
	uint64_t escaped = skip->is_escaped;

	backslashes &= ~escaped;
	skip->is_escaped = 0;
	while (backslashes) {
		size_t i = (size_t)__builtin_ctzll(backslashes);

		STEPS(1);
		if (i == n - 1) {
			skip->is_escaped = 1;
			break;
		}
		escaped |= UINT64_C(2) << i;
		backslashes &= ~(UINT64_C(3) << i);
	}
	return escaped;
}

/* Bit i: the number of quotes up to and including byte i is odd, so it is inside a string or its opening quote. */
static uint64_t string_bytes(struct json_skip *skip, uint64_t quotes)
{
	uint64_t inside = quotes;

	for (int shift = 1; shift < SCAN_BLOCK; shift *= 2)
		inside ^= inside << shift;
	inside ^= skip->in_string;
	skip->in_string = inside >> 63 ? UINT64_MAX : 0;
	return inside;
}

/* One bracket. @return whether it is the last one, or a wrong one. */
static bool is_last_bracket(struct json_skip *skip, bool is_open, bool is_array)
{
	if (is_open) {
		skip->is_too_deep |= ++skip->depth > skip->max_depth;
		if (skip->depth <= MATCHED_DEPTH)
			skip->arrays = skip->arrays << 1 | is_array;
		return false;
	}
	if (skip->depth <= MATCHED_DEPTH) {
		if (skip->is_strict && (skip->arrays & 1) != is_array) {
			skip->fault = "brackets do not match";
			return true;
		}
		skip->arrays >>= 1;
	}
	return --skip->depth == 0;
}

/* Follows the brackets of a block one by one. @return the index after the last one of the value, or of a wrong one;
 * SCAN_BLOCK + 1: it continues. */
static size_t follow_brackets(struct json_skip *skip, const char *p, uint64_t open, uint64_t close)
{
	for (uint64_t both = open | close; both; both &= both - 1) {
		size_t i = (size_t)__builtin_ctzll(both);

		STEPS(1);
		if (is_last_bracket(skip, open >> i & 1, !(p[i] & 0x20))) /* '[' and ']' are '{' and '}' less 0x20 */
			return i + 1;
	}
	return SCAN_BLOCK + 1;
}

/* Skips one block of `n` bytes, padded to SCAN_BLOCK. @return as follow_brackets. */
static size_t skip_block(struct json_skip *skip, const char *p, size_t n)
{
	struct scan_masks masks;
	uint64_t inside, controls;
	size_t end = SCAN_BLOCK + 1, opened, closed;

	STEPS_BULK(SCAN_BLOCK);
	scan_block(p, &masks);
	if (masks.backslash | skip->is_escaped)
		masks.quote &= ~escaped_bytes(skip, masks.backslash, n);
	inside = string_bytes(skip, masks.quote);
	controls = masks.control & inside;
	masks.open &= ~inside;
	masks.close &= ~inside;
	masks.comma &= ~inside;
	opened = (size_t)count_bits(masks.open);
	closed = (size_t)count_bits(masks.close);
	/* Far from both bounds of the nesting only the sums matter. */
	if (!skip->is_strict && closed < skip->depth && skip->depth + opened <= skip->max_depth)
		skip->depth += opened - closed;
	else
		end = follow_brackets(skip, p, masks.open, masks.close);
	if (end < SCAN_BLOCK) {
		controls &= (UINT64_C(1) << end) - 1;
		masks.open &= (UINT64_C(1) << end) - 1;
		masks.comma &= (UINT64_C(1) << end) - 1;
	}
	skip->tokens += (size_t)count_bits(masks.open | masks.comma);
	if (controls) {
		skip->fault = "control character in a string";
		end = (size_t)__builtin_ctzll(controls) + 1;
	}
	return end;
}

size_t json_skip(struct json_skip *self, const char *bytes, size_t n)
{
	struct json_skip skip = *self;
	size_t pos = 0, taken = SCAN_BLOCK;

	while (pos < n) {
		char last[SCAN_BLOCK];
		const char *p = bytes + pos;
		size_t end;

		if (n - pos < SCAN_BLOCK) {
			taken = n - pos;
			memset(last, ' ', sizeof(last));
			memcpy(last, p, taken);
			p = last;
		}
		end = skip_block(&skip, p, taken);
		if (end <= SCAN_BLOCK) {
			pos += end - (skip.fault != NULL);
			break;
		}
		pos += taken;
	}
	*self = skip;
	return pos;
}

int json_text_skip_container(struct json_text *self, int depth)
{
	struct json_skip skip = {.max_depth = (size_t)(LIMIT_REVIEW_DEPTH - depth)};

	self->pos += json_skip(&skip, self->text + self->pos, self->n - self->pos);
	self->tokens += skip.tokens;
	if (skip.fault)
		return json_text_bad(self, self->pos, skip.fault);
	if (skip.is_too_deep)
		return too_deep(self);
	if (self->tokens > LIMIT_REVIEW_TOKENS)
		return too_many_tokens(self);
	return skip.depth ? ends_early(self) : 0;
}

int json_text_skip(struct json_text *self, int depth)
{
	struct json_string string;

	switch (json_text_peek(self)) {
	case '"':
		return json_text_string(self, &string);
	case '{':
	case '[':
		return json_text_skip_container(self, depth);
	default:
		return json_text_scalar(self);
	}
}
