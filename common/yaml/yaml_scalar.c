/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the rules is go-yaml's: its words first, then integers in Go's notation (ParseInt with base 0, `_` taken
 * out), then decimal floats. So 08 is the float 8 and 0777 is octal. Numbers are scanned by hand: strtod knows hex
 * floats, "infinity" and the locale's point. */
#include "yaml/yaml_internal.h"

#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_CHARS 512 /* longer plain scalars are no numbers that anybody means */

static const struct {
	const char *texts; /* separated by | */
	enum yaml_scalar_type type;
	bool value;
} words[] = {
	{"~|null|Null|NULL", YAML_SCALAR_NULL, false},
	{"true|True|TRUE|y|Y|yes|Yes|YES|on|On|ON", YAML_SCALAR_BOOL, true},
	{"false|False|FALSE|n|N|no|No|NO|off|Off|OFF", YAML_SCALAR_BOOL, false},
	{".nan|.NaN|.NAN|.inf|.Inf|.INF|+.inf|+.Inf|+.INF|-.inf|-.Inf|-.INF", YAML_SCALAR_NOT_FINITE, false},
};

static bool is_one_of(const char *texts, const char *text, size_t n)
{
	for (size_t length; *texts; texts += length + (texts[length] == '|')) {
		length = strcspn(texts, "|");
		if (length == n && memcmp(texts, text, n) == 0)
			return true;
	}
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
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
	static const char digits[] = "0123456789abcdefABCDEF";
	bool is_negative = *text == '-';
	uint64_t value;
	int base;

	if (*text == '-' || *text == '+')
		text++;
	base = take_base(&text);
	for (const char *p = text; *p; p++) {
		const char *digit = strchr(digits, *p);

		if (!digit || digit - digits >= (base == 16 ? (long)strlen(digits) : base))
			return false;
	}
	errno = 0;
	value = strtoull(text, NULL, base);
	if (!*text || errno)
		return false;
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

	if (!n)
		return (struct yaml_scalar){.type = YAML_SCALAR_NULL};
	for (size_t i = 0; n <= 5 && i < ARRAY_LEN(words); i++)
		if (is_one_of(words[i].texts, text, n))
			return (struct yaml_scalar){.type = words[i].type, .bool_value = words[i].value};
	if (n > NUMBER_CHARS || !(is_digit(text[0]) || strchr("+-.", text[0])))
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
