/* SPDX-License-Identifier: Apache-2.0 */
#include "base/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#define GZIP_BITS   (MAX_WBITS + 16) /* the largest window, and the head of gzip */
#define BLOCK_BYTES 4096

typedef int step_fn(z_stream *stream, int flush);

/* Runs deflate() or inflate() to the end of the input, or until `ret` is full. @return zlib's last result. */
static int run(step_fn *step, int flush, z_stream *stream, struct strbuf *ret)
{
	char block[BLOCK_BYTES];
	int r;

	do {
		stream->next_out = (Bytef *)block;
		stream->avail_out = sizeof(block);
		r = step(stream, flush);
		strbuf_add(ret, block, sizeof(block) - stream->avail_out);
	} while (r == Z_OK && !ret->status);
	return r;
}

static int no_memory(struct strbuf *ret)
{
	strbuf_release(ret);
	return ret->status = -ENOMEM;
}

int gzip_pack(const char *bytes, size_t n, enum gzip_level level, struct strbuf *ret)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)n};

	if (deflateInit2(&stream, level == GZIP_SMALLEST ? Z_BEST_COMPRESSION : Z_DEFAULT_COMPRESSION, Z_DEFLATED,
			 GZIP_BITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
		return no_memory(ret);
	run(deflate, Z_FINISH, &stream, ret);
	deflateEnd(&stream);
	return ret->status;
}

int gzip_unpack(const char *bytes, size_t n, struct strbuf *ret)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)n};
	int r;

	if (inflateInit2(&stream, GZIP_BITS) != Z_OK)
		return no_memory(ret);
	r = run(inflate, Z_NO_FLUSH, &stream, ret);
	inflateEnd(&stream);
	if (r == Z_MEM_ERROR)
		return no_memory(ret);
	if (ret->status)
		return ret->status;
	return r == Z_STREAM_END && !stream.avail_in ? 0 : -EINVAL;
}
