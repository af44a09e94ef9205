/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* plain: makes text safe for a terminal that others chose (annotations, messages of servers, objects that anybody may
 * write): each control character, including newlines, becomes a '?'. Names of Kubernetes objects do not need it. JSON
 * output contains the original text, escaped. Pure. */
#include <stdio.h>

#define PLAIN_BYTES 256 /* for names and keys; longer texts are truncated */

/** Changes the text in place; it does not grow. Control characters are those below U+0020 and U+007F to U+009F. */
void plain_clean(char *text);
/** Copies the cleaned text into `buf`. @return buf. */
const char *plain_text(const char *text, char buf[PLAIN_BYTES]);
/** The same in a buffer that lives as long as the enclosing block. */
#define PLAIN(text) plain_text((text), (char[PLAIN_BYTES]){0})
/** Prints a text of any length. */
void plain_print(const char *text, FILE *out);
