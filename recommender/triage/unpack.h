/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* unpack: reads a file in blocks, unpacked where it begins as gzip or Zstandard does. One thread. Memory: 512 KiB, and
 * what the unpacking needs: 40 KiB for gzip, for Zstandard the window that the file asks for, at most 128 MiB (files of
 * `zstd --long` with larger windows count as damaged). */
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

struct unpack;

/** Opens `path`; "-" is standard input. @return 0; -errno (a folder: -EISDIR); -ENOMEM. */
int unpack_open(const char *path, struct unpack **ret, struct err *err) ATTR_NODISCARD;
/** The next bytes, borrowed until the next call; none at the end. @return 0; -errno of reading; -ENOMEM. */
int unpack_next(struct unpack *self, struct str *ret, struct err *err) ATTR_NODISCARD;
/** Whether compressed data ended early or is damaged; what could be unpacked before was given. */
bool unpack_is_damaged(const struct unpack *self);
void unpack_close(struct unpack *self);
