/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* json_write: appends JSON to a strbuf. Each function writes the comma that is needed before what it adds, so that the
 * caller only names members and items in their order. `key` is written as it is, without escapes; NULL: an item of an
 * array, or the outermost value. Failures are in the buffer's sticky status. One thread; cost: linear in the text. */
#include "base/strbuf.h"

#include <stdint.h>

/** Begins an object or an array; `bracket` is '{' or '['. The caller ends it with strbuf_addc or strbuf_adds. */
void json_write_open(struct strbuf *self, const char *key, char bracket);
/** A string, with escapes. NULL becomes null. */
void json_write_text(struct strbuf *self, const char *key, const char *text);
void json_write_int(struct strbuf *self, const char *key, int64_t value);
/** null if the value is 0. */
void json_write_int_or_null(struct strbuf *self, const char *key, int64_t value);
/** A number with three decimals. */
void json_write_double(struct strbuf *self, const char *key, double value);
void json_write_bool(struct strbuf *self, const char *key, bool value);
/** A string as in time_render. */
void json_write_time(struct strbuf *self, const char *key, int64_t time_ms);
/** Starts a new line with `indent` blanks for the next member or item. */
void json_write_line(struct strbuf *self, int indent);
