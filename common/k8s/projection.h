/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* projection: copy from an AdmissionReview only what memtamer reads, before json-c sees it.
 * json-c needs 80 us and 264 times the input for hostile bodies; one pass over the bytes with an allow-list of paths
 * leaves 2 KB of an 11 KB review. The list is one table in projection.c.
 * The pass checks the whole body: strings, nesting <= LIMIT_REVIEW_DEPTH, token count, nothing behind the value.
 * On listed paths it refuses duplicate keys and NUL (\u0000) in keys or values; keys are compared unescaped. Array
 * indexes are kept. A listed path whose parent has another type is copied as it stands, so that decoding names it. */
#include "base/err.h"
#include "base/strbuf.h"

/** Project an AdmissionReview. `ret` is cleared first; its cap bounds the result.
 *  @return 0; -EINVAL with the byte offset (err); -E2BIG over depth, tokens or cap; -ENOMEM. */
int projection_review(const char *text, size_t n, struct strbuf *ret, struct err *err) ATTR_NODISCARD;
