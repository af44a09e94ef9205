/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fuzz_text: what the fuzz targets of YAML ask about a text. */
#include <stdbool.h>
#include <string.h>

/* Whether the text has a line break of YAML that JSON does not know: NEL, LS or PS. */
static inline bool has_unicode_break(const char *text, size_t n)
{
	return memmem(text, n, "\xc2\x85", 2) || memmem(text, n, "\xe2\x80\xa8", 3) ||
	       memmem(text, n, "\xe2\x80\xa9", 3);
}
