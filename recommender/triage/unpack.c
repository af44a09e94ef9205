/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/unpack.h"

#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define BLOCK_BYTES (256 * KIB)
#define FIRST_BYTES 512 /* by which the form of a file is known, here and in lines.c */

enum form { FORM_PLAIN, FORM_GZIP, FORM_ZSTD };

struct unpack {
	const char *path;
	int fd;
	enum form form;
	bool is_started, is_done, is_damaged;
	bool is_between; /* compressed data: at the end of a member of gzip, or a frame of Zstandard */
	size_t n, at;	 /* bytes of `in`, and those of them that are used */
	z_stream gzip;
	ZSTD_DStream *zstd;
	unsigned char in[BLOCK_BYTES];
	char out[BLOCK_BYTES];
};

static int fail_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory left");
}

static int open_file(const char *path, struct err *err)
{
	bool is_input = streq(path, "-");
	int fd = is_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!fstat(fd, &status) && S_ISDIR(status.st_mode)) {
		close(fd);
		return err_set(err, -EISDIR, "%s: is a folder, not a log", path);
	}
	return fd;
}

int unpack_open(const char *path, struct unpack **ret, struct err *err)
{
	int fd = open_file(path, err);
	struct unpack *self;

	if (fd < 0)
		return fd;
	self = malloc(sizeof(*self));
	if (!self) {
		close(fd);
		return fail_memory(err);
	}
	self->path = path;
	self->fd = fd;
	self->form = FORM_PLAIN;
	self->is_started = self->is_done = self->is_damaged = false;
	self->is_between = true;
	self->n = self->at = 0;
	self->gzip = (z_stream){0};
	self->zstd = NULL;
	*ret = self;
	return 0;
}

void unpack_close(struct unpack *self)
{
	if (!self)
		return;
	if (self->form == FORM_GZIP)
		inflateEnd(&self->gzip);
	ZSTD_freeDStream(self->zstd);
	close(self->fd);
	free(self);
}

bool unpack_is_damaged(const struct unpack *self)
{
	return self->is_damaged;
}

/* Reads behind the bytes of `in` that are there. @return the bytes; 0 at the end; -errno. */
static ssize_t fill(struct unpack *self, struct err *err)
{
	ssize_t n;

	do
		n = read(self->fd, self->in + self->n, sizeof(self->in) - self->n);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set(err, -errno, "%s: %s", self->path, strerror(errno));
	self->n += (size_t)n;
	return n;
}

static bool is_magic(const struct unpack *self, const char *magic, size_t n)
{
	return self->n - self->at >= n && memcmp(self->in + self->at, magic, n) == 0;
}

/* The form, by the first bytes, which may come one by one through a pipe. */
static int start(struct unpack *self, struct err *err)
{
	ssize_t n = 1;

	while (n > 0 && self->n < FIRST_BYTES) {
		n = fill(self, err);
		if (n < 0)
			return (int)n;
	}
	self->is_started = true;
	if (is_magic(self, "\x1f\x8b", 2)) {
		if (inflateInit2(&self->gzip, MAX_WBITS + 16) != Z_OK)
			return fail_memory(err);
		self->form = FORM_GZIP;
	} else if (is_magic(self, "\x28\xb5\x2f\xfd", 4)) {
		self->zstd = ZSTD_createDStream();
		if (!self->zstd)
			return fail_memory(err);
		self->form = FORM_ZSTD;
	}
	return 0;
}

/* Unpacks what is in `in`. @return the bytes of `out`. */
static size_t inflate_some(struct unpack *self)
{
	z_stream *gzip = &self->gzip;
	int r;

	if (self->is_between && self->n - self->at < 2)
		return 0;
	if (self->is_between && !is_magic(self, "\x1f\x8b", 2)) {
		self->is_done = true;
		return 0;
	}
	self->is_between = false;
	gzip->next_in = self->in + self->at;
	gzip->avail_in = (uInt)(self->n - self->at);
	gzip->next_out = (unsigned char *)self->out;
	gzip->avail_out = sizeof(self->out);
	r = inflate(gzip, Z_NO_FLUSH);
	self->at = self->n - gzip->avail_in;
	self->is_between = r == Z_STREAM_END;
	if (r == Z_STREAM_END)
		inflateReset(gzip);
	else if (r != Z_OK && r != Z_BUF_ERROR)
		self->is_damaged = self->is_done = true;
	return sizeof(self->out) - gzip->avail_out;
}

static size_t unzstd_some(struct unpack *self)
{
	ZSTD_inBuffer in = {self->in, self->n, self->at};
	ZSTD_outBuffer out = {self->out, sizeof(self->out), 0};
	size_t r;

	if (self->is_between && self->n == self->at)
		return 0;
	r = ZSTD_decompressStream(self->zstd, &out, &in);
	self->at = in.pos;
	if (ZSTD_isError(r))
		self->is_damaged = self->is_done = true;
	else
		self->is_between = r == 0;
	return out.pos;
}

/* Reads more once `in` is used up and nothing waits in the unpacker. */
static int read_more(struct unpack *self, struct err *err)
{
	ssize_t n;

	memmove(self->in, self->in + self->at, self->n - self->at);
	self->n -= self->at;
	self->at = 0;
	n = fill(self, err);
	if (n < 0)
		return (int)n;
	if (!n) {
		self->is_done = true;
		self->is_damaged = !self->is_between;
	}
	return 0;
}

static int next_unpacked(struct unpack *self, struct str *ret, struct err *err)
{
	int r = 0;

	while (!r && !ret->n && !self->is_done) {
		ret->p = self->out;
		ret->n = self->form == FORM_GZIP ? inflate_some(self) : unzstd_some(self);
		if (!ret->n && !self->is_done)
			r = read_more(self, err);
	}
	return r;
}

static int next_plain(struct unpack *self, struct str *ret, struct err *err)
{
	ssize_t n;

	if (self->at == self->n) {
		self->at = self->n = 0;
		n = fill(self, err);
		if (n < 0)
			return (int)n;
	}
	*ret = (struct str){(const char *)self->in + self->at, self->n - self->at};
	self->at = self->n;
	return 0;
}

int unpack_next(struct unpack *self, struct str *ret, struct err *err)
{
	int r = self->is_started ? 0 : start(self, err);

	*ret = (struct str){NULL, 0};
	if (r)
		return r;
	return self->form == FORM_PLAIN ? next_plain(self, ret, err) : next_unpacked(self, ret, err);
}
