/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* base64: RFC 4648 with padding, as Kubernetes writes bytes in JSON. Pure functions, any thread. Cost:
 * linear in `n`. */
#include "base/strbuf.h"

/** Appends the decoded bytes. Line breaks are skipped; any other deviation is an error.
 *  @return 0; -EINVAL (the content of `ret` is undefined); the sticky status of `ret`. */
int base64_decode(const char *text, size_t n, struct strbuf *ret) ATTR_NODISCARD;
/** Appends `n` bytes as base64. @return the sticky status of `ret`. */
int base64_encode(const char *bytes, size_t n, struct strbuf *ret);
