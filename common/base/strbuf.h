/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* strbuf: a growing text buffer with a mandatory cap and a sticky error.
 * Invariants: `text` is NUL-terminated and `len` long, or NULL while empty; `len <= max`. After a failed append the
 * buffer is released and `status` stays -ENOMEM or -E2BIG: a chain of appends needs one check at its end. */
#include "base/attr.h"
#include "base/str.h"

struct strbuf {
	char *text;
	size_t len;
	size_t capacity; /* bytes allocated */
	size_t max;	 /* longest text allowed, in bytes */
	int status;	 /* 0, -ENOMEM or -E2BIG, sticky */
};

/** A buffer of at most `limit` bytes of text: `CLEANUP(strbuf_release) struct strbuf b = STRBUF_INIT(64 * KIB);` */
#define STRBUF_INIT(limit)                                                                                             \
	{                                                                                                              \
		.text = NULL, .len = 0, .capacity = 0, .max = (limit), .status = 0                                     \
	}

void strbuf_release(struct strbuf *self);
/** Empty it, keep the memory, forget the error. */
void strbuf_clear(struct strbuf *self);
/** Appends return the sticky status, which may be ignored until the end. */
int strbuf_add(struct strbuf *self, const char *bytes, size_t n);
int strbuf_adds(struct strbuf *self, const char *text);
int strbuf_addc(struct strbuf *self, char c);
int strbuf_addf(struct strbuf *self, const char *fmt, ...) ATTR_PRINTF(2, 3);
/** Append a quoted JSON string: escapes `"`, `\`, control characters; other bytes as they are. NULL becomes `null`. */
int strbuf_add_json_string(struct strbuf *self, const char *text);
/** The same without the quotes. */
int strbuf_add_json_text(struct strbuf *self, const char *text);
/** The text (never NULL: "" when empty or failed). Borrowed until the next append. */
const char *strbuf_text(const struct strbuf *self);
/** Give the text away (heap, caller frees with free); NULL when the buffer failed or memory is out. */
char *strbuf_detach(struct strbuf *self);
