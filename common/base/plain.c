/* SPDX-License-Identifier: Apache-2.0 */
#include "base/plain.h"

/* Number of bytes of the control character at the start of `text`; 0: it is none. */
static size_t control_bytes(const char *text)
{
	unsigned char first = (unsigned char)text[0], second;

	if (!first)
		return 0;
	if (first < 0x20 || first == 0x7f)
		return 1;
	second = (unsigned char)text[1];
	return first == 0xc2 && second >= 0x80 && second < 0xa0 ? 2 : 0;
}

void plain_clean(char *text)
{
	char *to = text;

	while (*text) {
		size_t n = control_bytes(text);

		*to++ = n ? '?' : *text;
		text += n ? n : 1;
	}
	*to = '\0';
}

const char *plain_text(const char *text, char buf[PLAIN_BYTES])
{
	snprintf(buf, PLAIN_BYTES, "%s", text);
	plain_clean(buf);
	return buf;
}

void plain_print(const char *text, FILE *out)
{
	while (*text) {
		size_t n = control_bytes(text);

		fputc(n ? '?' : *text, out);
		text += n ? n : 1;
	}
}
