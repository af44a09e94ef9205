/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/base64.h"

#include <errno.h>
#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

int base64_decode(const char *text, size_t n, struct strbuf *ret)
{
	uint32_t group = 0;
	unsigned int have = 0, padding = 0;

	for (size_t i = 0; i < n; i++) {
		int value = value_of(text[i]);

		if (text[i] == '\n' || text[i] == '\r')
			continue;
		if (text[i] == '=' && have + padding >= 2 && padding < 2)
			value = 0, padding++;
		else if (value < 0 || padding)
			return -EINVAL;
		else
			have++;
		group = group << 6 | (uint32_t)value;
		if (have + padding < 4)
			continue;
		/* bits that stand for nothing must be zero */
		if (padding && group & (padding == 2 ? 0xffff : 0xff))
			return -EINVAL;
		for (unsigned int k = 0; k < 3 - padding; k++)
			strbuf_addc(ret, (char)(group >> (16 - 8 * k) & 0xff));
		if (padding) {
			for (i++; i < n; i++)
				if (text[i] != '\n' && text[i] != '\r')
					return -EINVAL;
			return ret->status;
		}
		group = 0;
		have = 0;
	}
	return have + padding ? -EINVAL : ret->status;
}

int base64_encode(const char *bytes, size_t n, struct strbuf *ret)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t group = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
				 (left > 2 ? (uint32_t)p[i + 2] : 0);

		strbuf_addc(ret, alphabet[group >> 18]);
		strbuf_addc(ret, alphabet[group >> 12 & 63]);
		strbuf_addc(ret, left > 1 ? alphabet[group >> 6 & 63] : '=');
		strbuf_addc(ret, left > 2 ? alphabet[group & 63] : '=');
	}
	return ret->status;
}
