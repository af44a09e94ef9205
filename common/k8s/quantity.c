/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/quantity.h"

#include "base/attr.h"
#include "base/limits.h"
#include "base/steps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* How it works: the digits in front of the decimal point, moved by the power of ten, are a whole number of units; those
 * behind it are added to a fraction from the last to the first. Both fit 128 bits, and only digits that are worth less
 * than 10^-FRACTION_DIGITS of a unit are not exact: they round up together. */

typedef unsigned __int128 u128;

#define NANO_PER_UNIT  ((__int128)1000000000)
#define NANO_PER_MILLI ((__int128)1000000)
#define NANO_INT64_MAX ((__int128)INT64_MAX * NANO_PER_UNIT)
/* Decimal quantities have no cap in apimachinery; ours ends at 10^26 units, so that sums of a pod fit 128 bits. */
#define UNITS_MAX	(NANO_PER_UNIT * NANO_PER_UNIT * 100000000)
#define NANO_MAX	(UNITS_MAX * NANO_PER_UNIT)
#define EXPONENT_BOUND	100000 /* beyond any quantity: only its sign matters */
#define FRACTION_DIGITS 64

struct suffix {
	char text[3];
	int power_of_two, power_of_ten;
	enum quantity_format format;
};

static const struct suffix suffixes[] = {
	{"", 0, 0, QUANTITY_DECIMAL_SI},   {"n", 0, -9, QUANTITY_DECIMAL_SI}, {"u", 0, -6, QUANTITY_DECIMAL_SI},
	{"m", 0, -3, QUANTITY_DECIMAL_SI}, {"k", 0, 3, QUANTITY_DECIMAL_SI},  {"M", 0, 6, QUANTITY_DECIMAL_SI},
	{"G", 0, 9, QUANTITY_DECIMAL_SI},  {"T", 0, 12, QUANTITY_DECIMAL_SI}, {"P", 0, 15, QUANTITY_DECIMAL_SI},
	{"E", 0, 18, QUANTITY_DECIMAL_SI}, {"Ki", 10, 0, QUANTITY_BINARY_SI}, {"Mi", 20, 0, QUANTITY_BINARY_SI},
	{"Gi", 30, 0, QUANTITY_BINARY_SI}, {"Ti", 40, 0, QUANTITY_BINARY_SI}, {"Pi", 50, 0, QUANTITY_BINARY_SI},
	{"Ei", 60, 0, QUANTITY_BINARY_SI},
};

/* The parts of a quantity's text. */
struct parts {
	bool is_negative;
	const char *whole, *fraction; /* digits, without leading zeros of the whole part */
	size_t n_whole, n_fraction;
	bool has_digits;
	int64_t power_of_ten;
	int power_of_two;
	enum quantity_format format;
};

static unsigned digit_at(const struct parts *parts, int64_t i)
{
	size_t at = (size_t)i;

	return (unsigned)((at < parts->n_whole ? parts->whole[at] : parts->fraction[at - parts->n_whole]) - '0');
}

/* Rounded up, cut to NANO_MAX. */
static __int128 nano_of(const struct parts *parts)
{
	const u128 unit = (u128)NANO_PER_UNIT << parts->power_of_two, most = (u128)UNITS_MAX >> parts->power_of_two;
	const int64_t n_whole = (int64_t)parts->n_whole, n = n_whole + (int64_t)parts->n_fraction;
	const int64_t point = n_whole + parts->power_of_ten;
	u128 whole = 0, fraction = 0;
	bool has_rest = false;

	for (int64_t i = 0; i < point && (i < n || whole); i++) {
		whole = whole * 10 + (i < n ? digit_at(parts, i) : 0);
		if (whole > most)
			return NANO_MAX;
	}
	for (int64_t i = n - 1; i >= point && (i >= 0 || fraction); i--) {
		unsigned digit = i >= 0 ? digit_at(parts, i) : 0;

		if (i - point < FRACTION_DIGITS) {
			fraction += digit * unit;
			digit = (unsigned)(fraction % 10);
			fraction /= 10;
		}
		has_rest |= digit != 0;
	}
	return (__int128)MIN(whole * unit + fraction + has_rest, (u128)NANO_MAX);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t count_digits(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && is_digit(text[i]))
		i++;
	return i;
}

/* "e3", "E-3": apimachinery reads an int64 and keeps 32 bits of it. */
static bool exponent_read(const char *text, size_t n, int64_t *ret)
{
	size_t i = n > 0 && (text[0] == '-' || text[0] == '+');
	bool is_negative = i && text[0] == '-';
	int64_t value = 0;

	if (i == n)
		return false;
	for (; i < n; i++)
		if (!is_digit(text[i]) || __builtin_mul_overflow(value, (int64_t)10, &value) ||
		    __builtin_sub_overflow(value, (int64_t)(text[i] - '0'), &value))
			return false;
	if (!is_negative && value == INT64_MIN)
		return false;
	value = (int32_t)(uint32_t)(is_negative ? (uint64_t)value : 0 - (uint64_t)value);
	*ret = value > EXPONENT_BOUND ? EXPONENT_BOUND : value < -EXPONENT_BOUND ? -EXPONENT_BOUND : value;
	return true;
}

static bool suffix_read(const char *text, size_t n, struct parts *parts)
{
	const char padded[3] = {n > 0 ? text[0] : '\0', n > 1 ? text[1] : '\0', '\0'};

	for (size_t i = 0; n < 3 && i < ARRAY_LEN(suffixes); i++)
		if (suffixes[i].text[0] == padded[0] && suffixes[i].text[1] == padded[1]) {
			parts->power_of_two = suffixes[i].power_of_two;
			parts->power_of_ten = suffixes[i].power_of_ten;
			parts->format = suffixes[i].format;
			return true;
		}
	parts->format = QUANTITY_DECIMAL_EXPONENT;
	return n > 1 && (text[0] == 'e' || text[0] == 'E') && exponent_read(text + 1, n - 1, &parts->power_of_ten);
}

static bool parts_read(const char *text, size_t n, struct parts *parts)
{
	size_t i = 0, zeros;

	STEPS(n);
	if (n && (text[0] == '-' || text[0] == '+'))
		parts->is_negative = text[i++] == '-';
	for (zeros = 0; i < n && text[i] == '0'; zeros++)
		i++;
	parts->whole = text + i;
	parts->n_whole = count_digits(text + i, n - i);
	i += parts->n_whole;
	parts->fraction = text + i;
	if (i < n && text[i] == '.') {
		i++;
		parts->fraction = text + i;
		parts->n_fraction = count_digits(text + i, n - i);
		i += parts->n_fraction;
	}
	parts->has_digits = zeros || parts->n_whole || parts->n_fraction;
	return n && suffix_read(text + i, n - i, parts);
}

int quantity_parse(const char *text, size_t n, struct quantity *ret, struct err *err)
{
	struct parts parts = {.format = QUANTITY_DECIMAL_SI};
	__int128 nano;

	/* Text without any digit ("+", ".", "Gi") is 0 to apimachinery, except on its slow path for very large and very
	 * small suffixes. What the API server accepts must not fail here. */
	if (!parts_read(text, n, &parts) ||
	    (!parts.has_digits && (parts.power_of_ten < -9 || parts.power_of_two >= 50)))
		return err_set(err, QUANTITY_E_SYNTAX, "\"%.*s\" is not a quantity like 12Gi, 500M or 1500m",
			       (int)MIN(n, (size_t)64), text ? text : "");
	nano = nano_of(&parts);
	if (parts.format == QUANTITY_BINARY_SI && nano > NANO_INT64_MAX)
		nano = NANO_INT64_MAX;
	/* A binary amount below one unit would be rounded away: it turns decimal. */
	if (parts.format == QUANTITY_BINARY_SI && nano > 0 && nano < NANO_PER_UNIT)
		parts.format = QUANTITY_DECIMAL_SI;
	*ret = (struct quantity){.nano = parts.is_negative ? -nano : nano, .format = parts.format};
	return 0;
}

static int64_t scaled(__int128 nano, __int128 unit)
{
	__int128 value = nano / unit, rest = nano % unit;

	value += (rest > 0) - (rest < 0);
	if (value > INT64_MAX)
		return INT64_MAX;
	return value < -INT64_MAX ? -INT64_MAX : (int64_t)value;
}

int64_t quantity_value(const struct quantity *self)
{
	return scaled(self->nano, NANO_PER_UNIT);
}

int64_t quantity_milli_value(const struct quantity *self)
{
	return scaled(self->nano, NANO_PER_MILLI);
}

int quantity_cmp(const struct quantity *a, const struct quantity *b)
{
	return (a->nano > b->nano) - (a->nano < b->nano);
}

struct quantity quantity_from_bytes(int64_t bytes)
{
	return (struct quantity){.nano = (__int128)bytes * NANO_PER_UNIT, .format = QUANTITY_BINARY_SI};
}

/* Decimal digits of a non-negative number, at the end of `buf`. */
static const char *digits_of(__int128 value, char buf[QUANTITY_TEXT_BYTES])
{
	char *p = buf + QUANTITY_TEXT_BYTES - 1;
	uint64_t low;

	*p = '\0';
	for (; value > (__int128)UINT64_MAX; value /= 10)
		*--p = (char)('0' + (int)(value % 10));
	/* dividing 64 bits is many times cheaper */
	for (low = (uint64_t)value; low >= 10; low /= 10)
		*--p = (char)('0' + low % 10);
	*--p = (char)('0' + low);
	return p;
}

static const char *render_decimal(__int128 nano, bool is_exponent, char buf[QUANTITY_TEXT_BYTES])
{
	static const char letters[][2] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
	const char *sign = nano < 0 ? "-" : "";
	char digits[QUANTITY_TEXT_BYTES];
	__int128 value = nano < 0 ? -nano : nano;
	size_t step = 0;

	/* apimachinery has no suffix above E and prints none there; we stay at E and keep the digits. */
	if (value == 0)
		step = 3; /* no suffix, no exponent */
	while (value && value % 1000 == 0 && (is_exponent || step + 1 < ARRAY_LEN(letters))) {
		value /= 1000;
		step++;
	}
	if (!is_exponent)
		snprintf(buf, QUANTITY_TEXT_BYTES, "%s%s%s", sign, digits_of(value, digits), letters[step]);
	else if (step == 3)
		snprintf(buf, QUANTITY_TEXT_BYTES, "%s%s", sign, digits_of(value, digits));
	else
		snprintf(buf, QUANTITY_TEXT_BYTES, "%s%se%d", sign, digits_of(value, digits), (int)step * 3 - 9);
	return buf;
}

static const char binary_letters[][3] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

static uint64_t magnitude_of(int64_t value)
{
	return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* Sign, digits, suffix: part of nearly every message, so not through printf. 1000 bytes are "1000", not "1k". */
static const char *render_binary(bool is_negative, uint64_t value, char buf[QUANTITY_TEXT_BYTES])
{
	char digits[QUANTITY_TEXT_BYTES], *to = buf;
	const char *from;
	size_t n, step = 0;

	for (; value && value % 1024 == 0 && step + 1 < ARRAY_LEN(binary_letters); value /= 1024)
		step++;
	from = digits_of((__int128)value, digits);
	n = (size_t)(digits + sizeof(digits) - 1 - from);
	if (is_negative)
		*to++ = '-';
	memcpy(to, from, n);
	memcpy(to + n, binary_letters[step], sizeof(binary_letters[step]));
	return buf;
}

const char *quantity_render_bytes(int64_t bytes, char buf[QUANTITY_TEXT_BYTES])
{
	return render_binary(bytes < 0, magnitude_of(bytes), buf);
}

const char *quantity_render_human(int64_t bytes, char buf[QUANTITY_TEXT_BYTES])
{
	uint64_t value = magnitude_of(bytes);
	uint64_t unit = value < KIB ? 1 : value < MIB ? KIB : MIB;

	return render_binary(bytes < 0, (value + unit - 1) / unit * unit, buf);
}

const char *quantity_render(const struct quantity *self, char buf[QUANTITY_TEXT_BYTES])
{
	__int128 value = self->nano < 0 ? -self->nano : self->nano;

	if (self->format != QUANTITY_BINARY_SI || value < 1024 * NANO_PER_UNIT || value % NANO_PER_UNIT)
		return render_decimal(self->nano, self->format == QUANTITY_DECIMAL_EXPONENT, buf);
	return quantity_render_bytes(quantity_value(self), buf);
}
