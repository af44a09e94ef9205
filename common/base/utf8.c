/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

size_t utf8_decode(const unsigned char *p, size_t n, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = p[0] < 0x80 ? 1 : p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : p[0] >= 0xC0 ? 2 : 0;
	uint32_t code = length == 1 ? p[0] : p[0] & (0xFFu >> (length + 1));

	if (!length || length > n || p[0] >= 0xF8)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3F);
	}
	*ret = code;
	if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
		return 0;
	return length;
}

size_t utf8_encode(uint32_t code, char ret[4])
{
	static const unsigned char heads[] = {0, 0, 0xC0, 0xE0, 0xF0};
	size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = length; i-- > 1; code >>= 6)
		ret[i] = (char)(0x80 | (code & 0x3F));
	ret[0] = (char)(heads[length] | code);
	return length;
}

void utf8_clean(char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0, used; i < n; i += used) {
		uint32_t code;

		used = utf8_decode((const unsigned char *)text + i, n - i, &code);
		if (used)
			continue;
		text[i] = '?';
		used = 1;
	}
}
