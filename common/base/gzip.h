/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* gzip: texts as gzip (RFC 1952) and back, in memory. The checksum of gzip finds every damaged byte. Pure functions,
 * any thread. Cost: linear in the longer text, and 270 KiB of memory for the time of a call. */
#include "base/strbuf.h"

enum gzip_level {
	GZIP_USUAL,
	GZIP_SMALLEST, /* takes more time */
};

/** Appends `n` bytes, compressed. @return the sticky status of `ret`. */
int gzip_pack(const char *bytes, size_t n, enum gzip_level level, struct strbuf *ret);
/** Appends what the gzip of `n` bytes contains; nothing may follow it. The capacity of `ret` bounds the work.
 *  @return 0; -EINVAL (damaged, or not gzip; `ret` is useless); the sticky status of `ret`: -E2BIG if the text does not
 *  fit, -ENOMEM. */
int gzip_unpack(const char *bytes, size_t n, struct strbuf *ret) ATTR_NODISCARD;
