/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* io: reads whole files up to a cap, and writes them atomically. Any thread. */
#include "base/err.h"
#include "base/strbuf.h"

/** Reads all of `path` ("-" is standard input) into `buf`, which must be empty; its `max` is the cap.
 *  @return 0; -E2BIG the file is longer than the cap; -ENOMEM; -errno. */
int io_read_file(const char *path, struct strbuf *buf, struct err *err) ATTR_NODISCARD;
/** Writes `n` bytes to `path` atomically: temporary file beside it, fsync, rename, fsync of the folder. `mode` is as
 *  for open(2). On a failure the temporary file is removed and the old file is unchanged, unless only the fsync of the
 *  folder failed: then the new file is in place, but may be lost in a power failure. */
int io_write_file_atomic(const char *path, const char *bytes, size_t n, unsigned int mode,
			 struct err *err) ATTR_NODISCARD;
/** Calls write(2) until everything is written. @return 0; -errno. */
int io_write_all(int fd, const char *bytes, size_t n) ATTR_NODISCARD;
/** Calls fsync on the folder that contains `path`; a rename is durable only then. @return 0; -errno. */
int io_sync_folder_of(const char *path) ATTR_NODISCARD;
