/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* base64: RFC 4648 with padding, as Kubernetes writes bytes in JSON. Pure functions, any thread. */
#include "base/strbuf.h"

/** Append the bytes that `text` stands for; line breaks inside are passed over, everything else is strict.
 *  @return 0; -EINVAL (nothing useful in `ret`); the sticky status of `ret`. */
int base64_decode(const char *text, size_t n, struct strbuf *ret) ATTR_NODISCARD;
/** Append `n` bytes as text. Sticky status of `ret`. */
int base64_encode(const char *bytes, size_t n, struct strbuf *ret);
