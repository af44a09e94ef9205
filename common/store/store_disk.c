/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a store on disk: opened to be read, and replaced as a whole. */
#include "base/io.h"
#include "store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The only writer holds the lock, so the temporary file may have a fixed name: what a killed writer left behind is
 * overwritten by the next one and does not pile up. */
static FILE *open_temporary(const char *temporary)
{
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !out)
		close(fd);
	return out;
}

static int fill_and_sync(FILE *out, int (*fill)(const void *context, FILE *out), const void *context)
{
	int r;

	errno = 0;
	r = fill(context, out);
	if (!r && (fflush(out) || ferror(out)))
		r = errno ? -errno : -EIO;
	if (!r && fsync(fileno(out)))
		r = -errno;
	if (fclose(out) && !r)
		r = -errno;
	return r;
}

int store_write_atomic(const char *path, int (*fill)(const void *context, FILE *out), const void *context,
		       struct err *err)
{
	char temporary[PATH_MAX];
	FILE *out;
	int r;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= sizeof(temporary))
		return err_set_at(err, -ENAMETOOLONG, path, 0, 0, "path too long");
	out = open_temporary(temporary);
	if (!out)
		return err_set_at(err, -errno, temporary, 0, 0, "cannot create: %s", strerror(errno));
	r = fill_and_sync(out, fill, context);
	if (!r && rename(temporary, path))
		r = -errno;
	if (r)
		unlink(temporary);
	else
		r = io_sync_folder_of(path);
	return r ? err_set_at(err, r, path, 0, 0, "cannot write: %s", strerror(-r)) : 0;
}

struct text {
	const char *head, *text;
	size_t n;
};

static int fill_text(const void *context, FILE *out)
{
	const struct text *self = context;

	fputs(self->head, out);
	fwrite(self->text, 1, self->n, out);
	return 0; /* the caller checks ferror */
}

int store_write_text(const char *path, const char *head, const char *text, size_t n, struct err *err)
{
	const struct text context = {head, text, n};

	return store_write_atomic(path, fill_text, &context, err);
}

int store_open_data(struct file_store *self, int *ret_fd, struct err *err)
{
	int fd = open(self->base.place, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	self->seen = (struct stat){.st_ino = 0};
	*ret_fd = -1;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set_at(err, -errno, self->base.place, 0, 0, "cannot open: %s", strerror(errno));
	if (fstat(fd, &self->seen)) {
		int r = -errno;

		close(fd);
		return err_set_at(err, r, self->base.place, 0, 0, "cannot stat: %s", strerror(-r));
	}
	if (!S_ISREG(self->seen.st_mode)) {
		close(fd);
		return err_set_at(err, -EINVAL, self->base.place, 0, 0, "not a regular file");
	}
	*ret_fd = fd;
	return 0;
}
