/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/json_text.h"

#include "base/limits.h"

#include <errno.h>

int json_text_bad(struct json_text *self, size_t at, const char *what)
{
	return err_set(self->err, -EINVAL, "%s at byte %zu", what, at);
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
	return err_set(self->err, -EINVAL, "expected '%c' at byte %zu", c, self->pos);
}

int json_text_enter(struct json_text *self, int depth)
{
	if (depth >= LIMIT_REVIEW_DEPTH)
		return too_deep(self);
	if (self->tokens >= LIMIT_REVIEW_TOKENS)
		return too_many_tokens(self);
	self->pos++;
	self->tokens++;
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

/* The number of the four digits at `p`; -1 when they are not. */
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

/* Pass the escape at the cursor. */
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

/* Length of the UTF-8 sequence at `p`, 0 when it is none (too long a form, surrogate, beyond U+10FFFF). */
static size_t utf8_length(const unsigned char *p, size_t n)
{
	static const unsigned char lead_masks[] = {0, 0, 0x1f, 0x0f, 0x07};
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
	uint32_t value;

	if (*p < 0xc2 || *p > 0xf4 || n < length)
		return 0;
	value = *p & lead_masks[length];
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (p[i] & 0x3f);
	}
	if (value < lowest[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	return length;
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
		size_t length;
		int r;

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
		length = utf8_length((const unsigned char *)self->text + self->pos, self->n - self->pos);
		if (!length)
			return json_text_bad(self, self->pos, "invalid UTF-8");
		self->pos += length;
	}
	ret->inside = (struct str){self->text + ret->from + 1, self->pos - ret->from - 1};
	self->pos++;
	return 0;
}

static size_t put_utf8(char *to, uint32_t value)
{
	if (value < 0x80) {
		to[0] = (char)value;
		return 1;
	}
	if (value < 0x800) {
		to[0] = (char)(0xc0 | value >> 6);
		to[1] = (char)(0x80 | (value & 0x3f));
		return 2;
	}
	if (value < 0x10000) {
		to[0] = (char)(0xe0 | value >> 12);
		to[1] = (char)(0x80 | (value >> 6 & 0x3f));
		to[2] = (char)(0x80 | (value & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | value >> 18);
	to[1] = (char)(0x80 | (value >> 12 & 0x3f));
	to[2] = (char)(0x80 | (value >> 6 & 0x3f));
	to[3] = (char)(0x80 | (value & 0x3f));
	return 4;
}

/* The character of the \u escape at `p` (6 bytes, or 12 for a pair); `*ret_taken` is how many bytes it took. */
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

	while (i < inside.n) {
		const char *p = inside.p + i;

		taken = 1;
		if (*p != '\\') {
			ret[n++] = *p;
		} else if (p[1] == 'u') {
			n += put_utf8(ret + n, unicode_of(p, inside.n - i, &taken));
		} else {
			ret[n++] = to[strchr(from, p[1]) - from];
			taken = 2;
		}
		i += taken;
	}
	return n;
}

/* --- Other values --- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t count_digits(const char *p, const char *end)
{
	const char *start = p;

	while (p < end && is_digit(*p))
		p++;
	return (size_t)(p - start);
}

/* Length of the number at `p` by JSON's grammar; 0 when it is none. */
static size_t number_length(const char *p, const char *end)
{
	const char *start = p;
	size_t n;

	p += *p == '-';
	n = count_digits(p, end);
	if (n == 0 || (n > 1 && *p == '0'))
		return 0;
	p += n;
	if (p < end && *p == '.') {
		n = count_digits(p + 1, end);
		if (n == 0)
			return 0;
		p += 1 + n;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < end && (*p == '+' || *p == '-');
		n = count_digits(p, end);
		if (n == 0)
			return 0;
		p += n;
	}
	return (size_t)(p - start);
}

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
	n = number_length(rest.p, rest.p + rest.n);
	if (!n)
		return json_text_bad(self, self->pos, "expected a value");
	self->pos += n;
	return 0;
}

/* --- Skipping --- */

/* Without a machine instruction for it, which not every x86-64 has, the compiler calls a table. */
static inline int count_bits(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (int)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* State of a skip between blocks. */
struct skip {
	uint64_t in_string;   /* all ones or zero */
	uint64_t is_escaped;  /* 1: the first byte of the next block is escaped */
	int depth, max_depth; /* of the brackets open since the start */
};

/* Which bytes are escaped: each one behind a backslash that is not escaped itself. */
static uint64_t escaped_bytes(struct skip *skip, uint64_t backslashes)
{
	uint64_t escaped = skip->is_escaped;

	backslashes &= ~escaped;
	skip->is_escaped = 0;
	while (backslashes) {
		int i = __builtin_ctzll(backslashes);

		if (i == SCAN_BLOCK - 1) {
			skip->is_escaped = 1;
			break;
		}
		escaped |= UINT64_C(2) << i;
		backslashes &= ~(UINT64_C(3) << i);
	}
	return escaped;
}

/* Bit i: an odd number of quotes up to and including byte i, so it is inside a string or its opening quote. */
static uint64_t string_bytes(struct skip *skip, uint64_t quotes)
{
	uint64_t inside = quotes;

	for (int shift = 1; shift < SCAN_BLOCK; shift *= 2)
		inside ^= inside << shift;
	inside ^= skip->in_string;
	skip->in_string = inside >> 63 ? UINT64_MAX : 0;
	return inside;
}

/* Follow the brackets of a block one by one. @return the index behind the one that ends the value; SCAN_BLOCK + 1 when
 * it goes on; -E2BIG. */
static int follow_brackets(struct skip *skip, uint64_t open, uint64_t close)
{
	for (uint64_t both = open | close; both; both &= both - 1) {
		int i = __builtin_ctzll(both);

		skip->depth += open >> i & 1 ? 1 : -1;
		if (skip->depth > skip->max_depth)
			return -E2BIG;
		if (skip->depth == 0)
			return i + 1;
	}
	return SCAN_BLOCK + 1;
}

/* One block. @return as follow_brackets, and -EINVAL for a control character (`ret_at` is its index). */
static int skip_block(struct skip *skip, const char *p, size_t *tokens, int *ret_at)
{
	struct scan_masks masks;
	uint64_t inside, controls;
	int end = SCAN_BLOCK + 1, opened, closed;

	scan_block(p, &masks);
	if (masks.backslash | skip->is_escaped)
		masks.quote &= ~escaped_bytes(skip, masks.backslash);
	inside = string_bytes(skip, masks.quote);
	controls = masks.control & inside;
	masks.open &= ~inside;
	masks.close &= ~inside;
	masks.comma &= ~inside;
	opened = count_bits(masks.open);
	closed = count_bits(masks.close);
	/* Far from both ends of the nesting only the sums matter. */
	if (closed < skip->depth && skip->depth + opened <= skip->max_depth)
		skip->depth += opened - closed;
	else
		end = follow_brackets(skip, masks.open, masks.close);
	if (end < 0)
		return end;
	if (end < SCAN_BLOCK) {
		controls &= (UINT64_C(1) << end) - 1;
		masks.open &= (UINT64_C(1) << end) - 1;
		masks.comma &= (UINT64_C(1) << end) - 1;
	}
	*tokens += (size_t)count_bits(masks.open | masks.comma);
	if (!controls)
		return end;
	*ret_at = __builtin_ctzll(controls);
	return -EINVAL;
}

int json_text_skip_container(struct json_text *self, int depth)
{
	struct skip skip = {.max_depth = LIMIT_REVIEW_DEPTH - depth};

	while (self->pos < self->n) {
		char last[SCAN_BLOCK];
		const char *p = self->text + self->pos;
		size_t left = self->n - self->pos;
		int end, at = 0;

		if (left < SCAN_BLOCK) {
			memset(last, ' ', sizeof(last));
			memcpy(last, p, left);
			p = last;
		}
		end = skip_block(&skip, p, &self->tokens, &at);
		if (end == -E2BIG)
			return too_deep(self);
		if (end == -EINVAL)
			return json_text_bad(self, self->pos + (size_t)at, "control character in a string");
		if (self->tokens > LIMIT_REVIEW_TOKENS)
			return too_many_tokens(self);
		if (end <= SCAN_BLOCK) {
			self->pos += (size_t)end;
			return 0;
		}
		self->pos += MIN(left, SCAN_BLOCK);
	}
	return ends_early(self);
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
