/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* strbuf: a growing text buffer with a mandatory cap and a sticky error.
 * Invariants: `text` is NUL-terminated and has `len` bytes, or is NULL while empty; `len <= max`. When an append fails,
 * the memory is freed and `status` stays -ENOMEM, -E2BIG (the cap) or -EINVAL (a format that vsnprintf refuses), so a
 * chain of appends needs one check at its end. Appends take amortised time linear in what they add. Threads: a buffer
 * belongs to one thread. */
#include "base/attr.h"
#include "base/str.h"

struct strbuf {
	char *text;
	size_t len;
	size_t capacity; /* bytes allocated */
	size_t max;	 /* longest text allowed, in bytes */
	int status;	 /* 0; -ENOMEM; -E2BIG; -EINVAL; sticky */
};

/** A buffer of at most `limit` bytes of text: `CLEANUP(strbuf_release) struct strbuf b = STRBUF_INIT(64 * KIB);` */
#define STRBUF_INIT(limit)                                                                                             \
	{                                                                                                              \
		.text = NULL, .len = 0, .capacity = 0, .max = (limit), .status = 0                                     \
	}

void strbuf_release(struct strbuf *self);
/** As strbuf_release, but overwrites the memory first; for secrets. */
void strbuf_wipe(struct strbuf *self);
/** Empties the buffer and resets `status`; keeps the memory. */
void strbuf_clear(struct strbuf *self);
/** These append and return the sticky status, which may be ignored until the end. */
int strbuf_add(struct strbuf *self, const char *bytes, size_t n);
int strbuf_adds(struct strbuf *self, const char *text);
int strbuf_addc(struct strbuf *self, char c);
int strbuf_addf(struct strbuf *self, const char *fmt, ...) ATTR_PRINTF(2, 3);
/** Appends a quoted JSON string. Escapes `"`, `\` and control characters (below U+0020 and U+007F to U+009F, so that
 * the string is YAML, too); other bytes stay as they are. NULL becomes `null`. */
int strbuf_add_json_string(struct strbuf *self, const char *text);
/** The same without the quotes. */
int strbuf_add_json_text(struct strbuf *self, const char *text);
/** The text, never NULL: "" when empty or failed. Borrowed until the next append. */
const char *strbuf_text(const struct strbuf *self);
/** Moves the text out; the caller frees it with free. NULL: the buffer failed, or out of memory. */
char *strbuf_detach(struct strbuf *self);
