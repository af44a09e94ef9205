/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int io_read_file(const char *path, struct strbuf *buf, struct err *err)
{
	CLEANUP(closep) int fd = -1;
	bool is_stdin = streq(path, "-");
	char block[64 * 1024];
	ssize_t n;

	fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_set_at(err, -errno, path, 0, 0, "cannot open: %s", strerror(errno));
	for (;;) {
		n = read(fd, block, sizeof(block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_at(err, -errno, path, 0, 0, "cannot read: %s", strerror(errno));
		if (n == 0)
			break;
		if (strbuf_add(buf, block, (size_t)n) == -E2BIG)
			return err_set_at(err, -E2BIG, path, 0, 0, "longer than %zu bytes", buf->max);
		if (buf->status)
			return err_set_at(err, buf->status, path, 0, 0, "out of memory");
	}
	return 0;
}

int io_write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t written = write(fd, bytes, n);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		bytes += written;
		n -= (size_t)written;
	}
	return 0;
}

int io_sync_folder_of(const char *path)
{
	CLEANUP(closep) int fd = -1;
	char copy[PATH_MAX];

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return -ENAMETOOLONG;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fsync(fd) ? -errno : 0;
}

static int io_fill(int fd, const char *bytes, size_t n, unsigned int mode)
{
	int r = io_write_all(fd, bytes, n);

	if (!r && fchmod(fd, (mode_t)mode))
		r = -errno;
	if (!r && fsync(fd))
		r = -errno;
	return r;
}

int io_write_file_atomic(const char *path, const char *bytes, size_t n, unsigned int mode, struct err *err)
{
	char temporary[PATH_MAX];
	int fd, r;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= sizeof(temporary))
		return err_set_at(err, -ENAMETOOLONG, path, 0, 0, "path too long");
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return err_set_at(err, -errno, path, 0, 0, "cannot create: %s", strerror(errno));
	r = io_fill(fd, bytes, n, mode);
	if (close(fd) && !r)
		r = -errno;
	if (!r && rename(temporary, path))
		r = -errno;
	if (r) {
		unlink(temporary);
		return err_set_at(err, r, path, 0, 0, "cannot write: %s", strerror(-r));
	}
	r = io_sync_folder_of(path);
	return r ? err_set_at(err, r, path, 0, 0, "cannot sync its folder: %s", strerror(-r)) : 0;
}
