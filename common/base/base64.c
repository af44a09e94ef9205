/* SPDX-License-Identifier: Apache-2.0 */

#include "base/base64.h"
#include "base/steps.h"

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
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_break(char c)
{
	return c == '\n' || c == '\r';
}

int base64_decode(const char *text, size_t n, struct strbuf *ret)
{
	uint32_t bits = 0; /* those that no byte has taken yet are the last `n_bits` */
	unsigned int n_bits = 0;
	size_t digits = 0, padding = 0;

	for (; n && (text[n - 1] == '=' || is_break(text[n - 1])); n--)
		padding += text[n - 1] == '=';
	for (size_t i = 0; i < n; i++) {
		int value = value_of(text[i]);

		if (is_break(text[i]))
			continue;
		if (value < 0)
			return -EINVAL;
		digits++;
		bits = bits << 6 | (uint32_t)value;
		n_bits += 6;
		if (n_bits >= 8) {
			n_bits -= 8;
			strbuf_addc(ret, (char)(bits >> n_bits & 0xff));
		}
	}
	if (padding > 2 || (digits + padding) % 4 || bits & ((1u << n_bits) - 1)) /* unused bits must be zero */
		return -EINVAL;
	return ret->status;
}

int base64_encode(const char *bytes, size_t n, struct strbuf *ret)
{
	const unsigned char *p = (const unsigned char *)bytes;
	char block[256];
	size_t used = 0;

	STEPS(n);
	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t group = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
				 (left > 2 ? (uint32_t)p[i + 2] : 0);

		block[used++] = alphabet[group >> 18];
		block[used++] = alphabet[group >> 12 & 63];
		block[used++] = left > 1 ? alphabet[group >> 6 & 63] : '=';
		block[used++] = left > 2 ? alphabet[group & 63] : '=';
		if (used == sizeof(block) || left <= 3) {
			strbuf_add(ret, block, used);
			used = 0;
		}
	}
	return ret->status;
}
