/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and sizes in texts. */
#include "triage/line.h"

#include <ctype.h>

/* Figures are read from many lines: no calls of the C library for single bytes. */
static bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static size_t count_blanks(const char *at)
{
	size_t n = 0;

	while (at[n] == ' ')
		n++;
	return n;
}

size_t text_number(const char *at, int64_t *ret)
{
	int64_t value = 0;
	size_t n = 0;

	for (; is_digit(at[n]); n++)
		if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
		    __builtin_add_overflow(value, (int64_t)(at[n] - '0'), &value))
			return 0;
	if (n)
		*ret = value;
	return n;
}

/* The power of 1024 of a unit. @return the bytes of the unit; 0: no unit. */
static size_t read_unit(const char *at, int *ret_power)
{
	static const char letters[] = "kmgtpe";
	static const char *const names[] = {"kilobyte", "megabyte", "gigabyte", "terabyte"};
	size_t n = 0;
	const char *letter = memchr(letters, *at | 0x20, sizeof(letters) - 1);

	*ret_power = letter && *at ? (int)(letter - letters) + 1 : 0;
	if (*ret_power && (size_t)*ret_power <= ARRAY_LEN(names)) {
		const char *name = names[*ret_power - 1];

		/* Most units are short: their third letter tells. */
		if (at[1] && (at[2] | 0x20) == name[2] && strncasecmp(at, name, strlen(name)) == 0)
			return strlen(name) + (at[strlen(name)] == 's');
	}
	/* A bare "e" is an exponent. */
	if (*ret_power == 6 && tolower((unsigned char)at[1]) != 'b' && at[1] != 'i')
		return 0;
	if (*ret_power)
		n++;
	if (*ret_power && at[n] == 'i')
		n++;
	if (at[n] == 'B' || at[n] == 'b')
		n++;
	if (!*ret_power && n && strncmp(at, "bytes", 5) == 0)
		n = 5;
	else if (!*ret_power && n && strncmp(at, "byte", 4) == 0)
		n = 4;
	/* "3.00 GiBis free" and "5 GiBs" are units, "12 bad" and "7 more" are not. */
	if (n && isalpha((unsigned char)at[n]) && !((at[n - 1] | 32) == 'b' && (at[n] == 'i' || at[n] == 's')))
		return 0;
	return n;
}

/* Whether groups of three digits go on at a comma, as in "1,073,741,824 bytes". */
static bool is_group(const char *at)
{
	return *at == ',' && strspn(at + 1, "0123456789") == 3;
}

/* value * 1024^power / scale, rounded; at most INT64_MAX. */
static int64_t scaled(__int128 value, int power, int64_t scale)
{
	if (value < (int64_t)1 << 31 && power <= 3)
		return (((int64_t)value << (10 * power)) + scale / 2) / scale;
	/* 24 digits and 2^60 need 140 bits: a larger number is cut before it overflows. */
	value = MIN(value, (__int128)1 << (power == 6 ? 66 : 76));
	value = (value * ((__int128)1 << (10 * power)) + scale / 2) / scale;
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

size_t text_size(const char *at, bool is_plain_allowed, int64_t *ret)
{
	int64_t scale = 1;
	__int128 value = 0;
	size_t n = 0, digits = 0, group = 1, unit;
	int power;

	for (; is_digit(at[n]) && digits < 24; n++, digits++, group++) {
		value = value * 10 + (at[n] - '0');
		if (group <= 3 && is_group(at + n + 1)) {
			group = 0;
			n++;
		}
	}
	if (!digits || digits == 24)
		return 0;
	if (at[n] == '.' && is_digit(at[n + 1]))
		for (n++; is_digit(at[n]); n++)
			if (scale < 1000000) {
				value = value * 10 + (at[n] - '0');
				scale *= 10;
			}
	/* numpy prints "926. GiB". */
	n += at[n] == '.' && at[n + 1] == ' ' && read_unit(at + n + 2, &power) > 0;
	unit = read_unit(at + n + count_blanks(at + n), &power);
	if (!unit && !(is_plain_allowed && scale == 1 && !isalnum((unsigned char)at[n])))
		return 0;
	if (unit)
		n += count_blanks(at + n) + unit;
	*ret = scaled(value, power, scale);
	return n;
}

bool text_size_before(const char *start, const char *at, int64_t *ret)
{
	const char *p = at;

	while (p > start && p[-1] == ' ')
		p--;
	while (p > start && isalpha((unsigned char)p[-1]) && at - p < 16)
		p--;
	while (p > start && p[-1] == ' ')
		p--;
	while (p > start && (isdigit((unsigned char)p[-1]) || p[-1] == '.') && at - p < 48)
		p--;
	return text_size(p, false, ret) > 0;
}

bool text_labelled(const char *lower, const char *label, int64_t *ret)
{
	const char *at = strstr(lower, label);

	if (!at)
		return false;
	at += strlen(label);
	return text_number(at + strspn(at, " =:'\""), ret) > 0;
}
