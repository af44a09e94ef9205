/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* projection: keep of an AdmissionReview only what memtamer reads, before json-c sees it.
 * json-c needs 80 us for an 11 KB review and 264 times the input for hostile bodies; one pass over the bytes with an
 * allow-list of paths leaves 3 KB. The list is allow.c, and it holds for every way to decode a pod. The admission path
 * does not even build that text: review_read_pod() (k8s/review.h) goes straight to a pod.
 *
 * The pass checks the whole body: strings, nesting <= LIMIT_REVIEW_DEPTH, token count, nothing behind the value. What
 * is dropped is checked no further (nothing reads it). On listed paths it refuses duplicate keys, NUL (\u0000) in keys
 * and values, invalid UTF-8 and what only looks like JSON (NaN, 'x', 01); keys are compared unescaped. Array indexes
 * are kept. A listed value of another type than expected keeps its type and loses its content, so that decoding names
 * it; null members, and environment variables that nobody reads, lose everything (the latter leave a null). */
#include "base/err.h"
#include "base/strbuf.h"

/** Project an AdmissionReview. `ret` is cleared first; its cap bounds the result.
 *  @return 0; -EINVAL with the byte offset (err); -E2BIG over depth, tokens or cap; -ENOMEM. */
int projection_review(const char *text, size_t n, struct strbuf *ret, struct err *err) ATTR_NODISCARD;
