/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/stamp.h"

#include "base/timefmt.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* "2026-11-20 10:00:31" */
#define STAMP_BYTES 19

static bool is_stamp(const char *at)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";

	for (size_t i = 0; i < STAMP_BYTES; i++) {
		bool is_same = form[i] == 'd'	? isdigit((unsigned char)at[i])
			       : form[i] == '-' ? at[i] == '-' || at[i] == '/'
			       : form[i] == 'T' ? at[i] == 'T' || at[i] == ' '
						: at[i] == form[i];

		if (!is_same)
			return false;
	}
	return true;
}

/* Decimals behind the seconds. @return their bytes, with the point or comma. */
static size_t read_fraction(const char *at, const char *end, int *ret_ms)
{
	int scale = 100;
	size_t n = 1;

	*ret_ms = 0;
	if (end - at < 2 || (*at != '.' && *at != ',') || !isdigit((unsigned char)at[1]))
		return 0;
	for (; at + n < end && isdigit((unsigned char)at[n]); n++, scale /= 10)
		*ret_ms += (at[n] - '0') * scale;
	return n;
}

/* "Z", "+01:00" or "+0100" in the form of RFC 3339. @return false: there is none. */
static bool read_zone(const char *at, const char *end, char buf[8])
{
	size_t n = 3;

	snprintf(buf, 8, "Z");
	if (at < end && *at == 'Z')
		return true;
	if (end - at < 5 || (*at != '+' && *at != '-') || !isdigit((unsigned char)at[1]) ||
	    !isdigit((unsigned char)at[2]))
		return false;
	n += at[n] == ':';
	if (end - at < (ptrdiff_t)n + 2 || !isdigit((unsigned char)at[n]) || !isdigit((unsigned char)at[n + 1]))
		return false;
	snprintf(buf, 8, "%.3s:%.2s", at, at + n);
	return true;
}

static enum stamp read_stamp(const char *at, const char *end, int64_t *ret_ms)
{
	char text[64], zone[8];
	int ms;
	const char *rest = at + STAMP_BYTES;
	bool is_zoned;

	rest += read_fraction(rest, end, &ms);
	is_zoned = read_zone(rest, end, zone);
	snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.8s.%03d%s", at, at + 5, at + 8, at + 11, ms, zone);
	if (time_parse(text, strlen(text), ret_ms))
		return STAMP_NONE;
	return is_zoned ? STAMP_ZONED : STAMP_LOCAL;
}

enum stamp stamp_read(const char *text, size_t n, int64_t *ret_ms)
{
	for (size_t i = 0; i + STAMP_BYTES <= n; i++)
		if (isdigit((unsigned char)text[i]) && is_stamp(text + i))
			return read_stamp(text + i, text + n, ret_ms);
	return STAMP_NONE;
}
