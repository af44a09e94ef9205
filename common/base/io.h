/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* io: whole files, read with a cap and written so that a reader or a crash never sees half of one. */
#include "base/err.h"
#include "base/strbuf.h"

/** Read all of `path` ("-" is standard input) into `buf`, which must be empty; its `max` is the cap.
 *  @return 0; -E2BIG when longer than the cap; -errno. */
int io_read_file(const char *path, struct strbuf *buf, struct err *err) ATTR_NODISCARD;
/** Write `n` bytes to `path` atomically: temporary file beside it, fsync, rename, fsync of the folder.
 *  On any failure the old file is whole and the temporary one is gone. `mode` as for open(2). */
int io_write_file_atomic(const char *path, const char *bytes, size_t n, unsigned int mode,
			 struct err *err) ATTR_NODISCARD;
/** write(2) until all is written. 0 or -errno. */
int io_write_all(int fd, const char *bytes, size_t n) ATTR_NODISCARD;
/** fsync the folder that holds `path`: a rename is durable only then. 0 or -errno. */
int io_sync_folder_of(const char *path) ATTR_NODISCARD;
