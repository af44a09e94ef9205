/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* plain: text that others chose (annotations, messages of servers, objects that anybody may write), fit for a terminal:
 * each control character, newlines among them, is a '?'. The names of Kubernetes objects need it not; JSON has text as
 * it is, escaped. Pure. */
#include <stdio.h>

#define PLAIN_BYTES 256 /* of names and keys; longer ones are cut */

/** In place; it does not grow. Control: below U+0020, and U+007F to U+009F. */
void plain_clean(char *text);
/** Into `buf`. @return it. */
const char *plain_text(const char *text, char buf[PLAIN_BYTES]);
/** Of any length. */
void plain_print(const char *text, FILE *out);
