/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the rules is go-yaml's: its words first, then integers in Go's notation (ParseInt with base 0, `_` taken
 * out), then decimal floats. So 08 is the float 8 and 0777 is octal. Numbers are scanned by hand: strtod knows hex
 * floats, "infinity" and the locale's point. */
#include "yaml/yaml_internal.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_CHARS 512 /* longer plain scalars are no numbers that anybody means */

static const struct {
	const char *text;
	enum yaml_scalar_type type;
	bool value;
} words[] = {
	{"", YAML_SCALAR_NULL, false},
	{"~", YAML_SCALAR_NULL, false},
	{"null", YAML_SCALAR_NULL, false},
	{"Null", YAML_SCALAR_NULL, false},
	{"NULL", YAML_SCALAR_NULL, false},
	{"true", YAML_SCALAR_BOOL, true},
	{"True", YAML_SCALAR_BOOL, true},
	{"TRUE", YAML_SCALAR_BOOL, true},
	{"false", YAML_SCALAR_BOOL, false},
	{"False", YAML_SCALAR_BOOL, false},
	{"FALSE", YAML_SCALAR_BOOL, false},
	{"y", YAML_SCALAR_BOOL, true},
	{"Y", YAML_SCALAR_BOOL, true},
	{"yes", YAML_SCALAR_BOOL, true},
	{"Yes", YAML_SCALAR_BOOL, true},
	{"YES", YAML_SCALAR_BOOL, true},
	{"on", YAML_SCALAR_BOOL, true},
	{"On", YAML_SCALAR_BOOL, true},
	{"ON", YAML_SCALAR_BOOL, true},
	{"n", YAML_SCALAR_BOOL, false},
	{"N", YAML_SCALAR_BOOL, false},
	{"no", YAML_SCALAR_BOOL, false},
	{"No", YAML_SCALAR_BOOL, false},
	{"NO", YAML_SCALAR_BOOL, false},
	{"off", YAML_SCALAR_BOOL, false},
	{"Off", YAML_SCALAR_BOOL, false},
	{"OFF", YAML_SCALAR_BOOL, false},
	{".nan", YAML_SCALAR_NOT_FINITE, false},
	{".NaN", YAML_SCALAR_NOT_FINITE, false},
	{".NAN", YAML_SCALAR_NOT_FINITE, false},
	{".inf", YAML_SCALAR_NOT_FINITE, false},
	{".Inf", YAML_SCALAR_NOT_FINITE, false},
	{".INF", YAML_SCALAR_NOT_FINITE, false},
	{"+.inf", YAML_SCALAR_NOT_FINITE, false},
	{"+.Inf", YAML_SCALAR_NOT_FINITE, false},
	{"+.INF", YAML_SCALAR_NOT_FINITE, false},
	{"-.inf", YAML_SCALAR_NOT_FINITE, false},
	{"-.Inf", YAML_SCALAR_NOT_FINITE, false},
	{"-.INF", YAML_SCALAR_NOT_FINITE, false},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int digit_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* The base that the prefix says; *text is moved behind it. A lone 0 stays decimal. */
static int take_base(const char **text)
{
	const char *p = *text;

	if (p[0] != '0' || !p[1])
		return 10;
	*text += 2;
	switch (p[1] | 0x20) {
	case 'x':
		return 16;
	case 'o':
		return 8;
	case 'b':
		return 2;
	default:
		*text -= 1;
		return 8;
	}
}

static bool resolve_int(const char *text, struct yaml_scalar *ret)
{
	bool is_negative = *text == '-';
	uint64_t value = 0;
	int base;

	if (*text == '-' || *text == '+')
		text++;
	base = take_base(&text);
	if (!*text)
		return false;
	for (; *text; text++) {
		int digit = digit_value(*text);

		if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	if (is_negative && value > (uint64_t)INT64_MAX + 1)
		return false;
	if (is_negative)
		*ret = (struct yaml_scalar){.type = YAML_SCALAR_INT, .int_value = (int64_t)(0 - value)};
	else if (value <= INT64_MAX)
		*ret = (struct yaml_scalar){.type = YAML_SCALAR_INT, .int_value = (int64_t)value};
	else
		*ret = (struct yaml_scalar){.type = YAML_SCALAR_UINT, .uint_value = value};
	return true;
}

static const char *skip_digits(const char *p)
{
	while (is_digit(*p))
		p++;
	return p;
}

/* [-+]? ( .digits | digits [. digits?] ) ( [eE] [-+]? digits )? */
static bool is_decimal_float(const char *p)
{
	const char *digits;

	p += *p == '-' || *p == '+';
	digits = p;
	p = skip_digits(p);
	if (p == digits && (*p != '.' || !is_digit(p[1])))
		return false;
	if (*p == '.')
		p = skip_digits(p + 1);
	if (*p == 'e' || *p == 'E') {
		p += 1 + (p[1] == '-' || p[1] == '+');
		if (!is_digit(*p))
			return false;
		p = skip_digits(p);
	}
	return !*p;
}

static bool resolve_float(const char *text, struct yaml_scalar *ret)
{
	double value;

	if (!is_decimal_float(text))
		return false;
	value = strtod(text, NULL);
	if (!isfinite(value))
		return false; /* go-yaml: out of range is a string */
	*ret = (struct yaml_scalar){.type = YAML_SCALAR_FLOAT, .float_value = value};
	return true;
}

struct yaml_scalar yaml_scalar_resolve(const char *text, size_t n)
{
	struct yaml_scalar string = {.type = YAML_SCALAR_STRING}, ret;
	char number[NUMBER_CHARS + 1];
	size_t n_number = 0;

	for (size_t i = 0; n <= 5 && i < ARRAY_LEN(words); i++)
		if (strlen(words[i].text) == n && memcmp(words[i].text, text, n) == 0)
			return (struct yaml_scalar){.type = words[i].type, .bool_value = words[i].value};
	if (!n || n > NUMBER_CHARS || !(is_digit(text[0]) || strchr("+-.", text[0])))
		return string;
	for (size_t i = 0; i < n; i++)
		if (text[i] != '_' || text[0] == '.')
			number[n_number++] = text[i];
	number[n_number] = '\0';
	if (text[0] != '.' && resolve_int(number, &ret))
		return ret;
	return resolve_float(number, &ret) ? ret : string;
}

const char *yaml_scalar_render_float(double value, char buf[40])
{
	char *exponent;

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, 40, "%.*g", digits, value);
		if (strtod(buf, NULL) == value) /* exact on purpose: the shortest text that means the same bits */
			break;
	}
	exponent = strchr(buf, 'e');
	if (exponent && exponent[2] == '0')
		memmove(exponent + 2, exponent + 3, strlen(exponent + 3) + 1);
	return buf;
}

size_t yaml_utf8_decode(const unsigned char *p, size_t n, uint32_t *ret)
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
