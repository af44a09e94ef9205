/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/lines.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "triage/unpack.h"

#include <errno.h>
#include <stdlib.h>

enum encoding { ENCODING_UNKNOWN, ENCODING_BYTES, ENCODING_UTF16LE, ENCODING_UTF16BE, ENCODING_PACKED };

struct reader {
	raw_line_fn fn;
	void *context;
	enum encoding encoding;
	unsigned char half[4]; /* bytes of UTF-16 that wait for the rest of their character */
	size_t n_half;
	char *pending; /* the start of a line whose end was not read yet */
	size_t n_pending;
	struct lines_result result;
	uint64_t number;
};

static void emit(struct reader *self, const char *text, size_t n)
{
	struct raw_line line = {.text = {text, n}, .number = self->number};

	self->fn(self->context, &line);
}

/* Adds bytes without a line end to what is pending; full pieces are passed on. */
static void pend(struct reader *self, const char *text, size_t n)
{
	while (n) {
		size_t part = MIN(n, LIMIT_TRIAGE_LINE_BYTES - self->n_pending);

		memcpy(self->pending + self->n_pending, text, part);
		self->n_pending += part;
		text += part;
		n -= part;
		if (self->n_pending == LIMIT_TRIAGE_LINE_BYTES) {
			emit(self, self->pending, self->n_pending);
			self->n_pending = 0;
		}
	}
}

static void end_line(struct reader *self, const char *text, size_t n)
{
	if (self->n_pending || n > LIMIT_TRIAGE_LINE_BYTES) {
		pend(self, text, n);
		if (self->n_pending)
			emit(self, self->pending, self->n_pending);
		self->n_pending = 0;
	} else if (n) {
		emit(self, text, n);
	}
}

/* Splits at carriage returns. `n` has no newline. */
static void take_returns(struct reader *self, const char *text, size_t n, bool is_ended)
{
	const char *end = text + n, *at;

	while ((at = memchr(text, '\r', (size_t)(end - text)))) {
		end_line(self, text, (size_t)(at - text));
		text = at + 1;
	}
	if (is_ended)
		end_line(self, text, (size_t)(end - text));
	else
		pend(self, text, (size_t)(end - text));
}

static void take_bytes(struct reader *self, const char *text, size_t n)
{
	const char *end = text + n, *at;
	/* Most logs have none, so that their lines are not searched for them one by one. */
	bool has_returns = memchr(text, '\r', n) != NULL;

	while ((at = memchr(text, '\n', (size_t)(end - text)))) {
		if (has_returns)
			take_returns(self, text, (size_t)(at - text), true);
		else
			end_line(self, text, (size_t)(at - text));
		self->number++;
		text = at + 1;
	}
	take_returns(self, text, (size_t)(end - text), false);
}

/* The code point at `p`, of 2 or 4 bytes; 0 bytes: the rest of it is missing. */
static size_t utf16_decode(const struct reader *self, const unsigned char *p, size_t n, uint32_t *ret)
{
	int low = self->encoding == ENCODING_UTF16LE ? 0 : 1;
	uint32_t unit, next;

	if (n < 2)
		return 0;
	*ret = unit = (uint32_t)(p[low] | p[1 - low] << 8);
	if (unit < 0xd800 || unit > 0xdbff) {
		if (unit >= 0xdc00 && unit <= 0xdfff)
			*ret = '?';
		return 2;
	}
	if (n < 4)
		return 0;
	next = (uint32_t)(p[2 + low] | p[3 - low] << 8);
	*ret = '?';
	if (next < 0xdc00 || next > 0xdfff)
		return 2;
	*ret = 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00);
	return 4;
}

static void take_utf16(struct reader *self, const unsigned char *p, size_t n)
{
	char out[4 * KIB];
	size_t n_out = 0;

	while (n) {
		uint32_t code;
		size_t part = MIN(n, sizeof(self->half) - self->n_half), used;

		/* Characters pass through `half`, so that one may be cut by the end of a block. */
		memcpy(self->half + self->n_half, p, part);
		used = utf16_decode(self, self->half, self->n_half + part, &code);
		if (!used) {
			self->n_half += part;
			break;
		}
		p += used - self->n_half;
		n -= used - self->n_half;
		self->n_half = 0;
		n_out += utf8_encode(code, out + n_out);
		if (n_out > sizeof(out) - 4) {
			take_bytes(self, out, n_out);
			n_out = 0;
		}
	}
	take_bytes(self, out, n_out);
}

/* ---- the form, by the first block ---- */

/* Compressed files that are not unpacked, by bytes near their beginning. */
static const struct {
	const char *name;
	size_t at, n;
	char magic[8];
} packers[] = {
	{"xz", 1, 5, "7zXZ"},	 {"bzip2", 4, 6, "1AY&SY"}, /* behind "BZh9" */
	{"zip", 0, 4, "PK\3\4"}, {"lz4", 0, 4, "\x04\x22\x4d\x18"}, {"7z", 0, 6, "7z\xbc\xaf\x27\x1c"},
};

static const char *find_packer(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(packers); i++)
		if (n >= packers[i].at + packers[i].n && memcmp(p + packers[i].at, packers[i].magic, packers[i].n) == 0)
			return packers[i].name;
	return NULL;
}

#define LOOKED_AT_BYTES 512

/* UTF-16 without a mark: every other byte of Latin text is 0. */
static enum encoding find_utf16(const unsigned char *p, size_t n)
{
	size_t zeros[2] = {0, 0}, pairs = MIN(n, (size_t)LOOKED_AT_BYTES) / 2;

	for (size_t i = 0; i < 2 * pairs; i++)
		zeros[i % 2] += p[i] == 0;
	if (pairs < 4)
		return ENCODING_BYTES;
	if (!zeros[0] && zeros[1] >= pairs - pairs / 8)
		return ENCODING_UTF16LE;
	return !zeros[1] && zeros[0] >= pairs - pairs / 8 ? ENCODING_UTF16BE : ENCODING_BYTES;
}

/* Control characters other than blanks, line ends, backspaces and colours. */
static bool is_binary(const unsigned char *p, size_t n)
{
	size_t n_control = 0;

	n = MIN(n, (size_t)LOOKED_AT_BYTES);
	for (size_t i = 0; i < n; i++)
		n_control += (p[i] < ' ' && !(p[i] && strchr("\t\n\r\b\f\x1b", p[i]))) || p[i] == 0x7f;
	return n >= 32 && n_control > n / 20;
}

/* Chooses the encoding. @return the bytes of a byte order mark. */
static size_t see_form(struct reader *self, const unsigned char *p, size_t n)
{
	self->result.packer = find_packer(p, n);
	self->encoding = self->result.packer ? ENCODING_PACKED : ENCODING_BYTES;
	if (self->result.packer)
		return 0;
	if (n >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf)
		return 3;
	if (n >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff))) {
		self->encoding = p[0] == 0xff ? ENCODING_UTF16LE : ENCODING_UTF16BE;
		return 2;
	}
	self->encoding = find_utf16(p, n);
	self->result.is_binary = self->encoding == ENCODING_BYTES && is_binary(p, n);
	return 0;
}

static void take_block(struct reader *self, const char *block, size_t n)
{
	size_t mark = 0;

	self->result.n_bytes += n;
	if (self->encoding == ENCODING_UNKNOWN)
		mark = see_form(self, (const unsigned char *)block, n);
	if (self->encoding == ENCODING_PACKED)
		return;
	if (self->encoding == ENCODING_BYTES)
		take_bytes(self, block + mark, n - mark);
	else
		take_utf16(self, (const unsigned char *)block + mark, n - mark);
}

static int reader_init(struct reader *self, raw_line_fn fn, void *context)
{
	*self = (struct reader){.fn = fn, .context = context, .number = 1};
	self->pending = malloc(LIMIT_TRIAGE_LINE_BYTES);
	return self->pending ? 0 : -ENOMEM;
}

static void reader_end(struct reader *self, struct lines_result *ret)
{
	if (self->n_pending) {
		emit(self, self->pending, self->n_pending);
		self->number++;
	}
	self->fn(self->context, &(struct raw_line){.number = self->number, .is_last = true});
	self->result.n_lines = self->number - 1;
	*ret = self->result;
	free(self->pending);
}

int lines_read_bytes(const char *bytes, size_t n, raw_line_fn fn, void *context, struct lines_result *ret)
{
	struct reader reader;

	if (reader_init(&reader, fn, context))
		return -ENOMEM;
	take_block(&reader, bytes, n);
	reader_end(&reader, ret);
	return 0;
}

static int read_blocks(struct reader *reader, struct unpack *file, struct err *err)
{
	struct str block;
	int r;

	do {
		r = unpack_next(file, &block, err);
		if (!r && block.n)
			take_block(reader, block.p, block.n);
	} while (!r && block.n);
	reader->result.is_damaged = unpack_is_damaged(file);
	return r;
}

int lines_read(const char *path, raw_line_fn fn, void *context, struct lines_result *ret, struct err *err)
{
	struct reader reader;
	struct unpack *file;
	int r = unpack_open(path, &file, err);

	if (r)
		return r;
	r = reader_init(&reader, fn, context);
	if (r) {
		unpack_close(file);
		return err_set(err, r, "no memory left");
	}
	r = read_blocks(&reader, file, err);
	if (r)
		free(reader.pending);
	else
		reader_end(&reader, ret);
	unpack_close(file);
	return r;
}
