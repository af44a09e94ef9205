/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* history_text: an encoded MemoryHistory as text that tests can read. */
#include "support/test.h"

#include "base/base64.h"
#include "base/gzip.h"

#include <string.h>

/** Appends `text` with the JSON that spec.data contains in its place. */
static inline void history_text(const char *text, struct strbuf *ret)
{
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT((size_t)1 << 20);
	const char *at = strstr(text, "\"v1:"), *end = at ? strchr(at + 1, '"') : NULL;

	assert_non_null(end);
	assert_int_equal(base64_decode(at + 4, (size_t)(end - at) - 4, &packed), 0);
	strbuf_add(ret, text, (size_t)(at - text));
	assert_int_equal(gzip_unpack(strbuf_text(&packed), packed.len, ret), 0);
	assert_int_equal(strbuf_adds(ret, end + 1), 0);
}
