/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timefmt.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t clock_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t time_now_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

int64_t time_monotonic_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

const char *time_render(int64_t time_ms, char buf[TIME_TEXT_BYTES])
{
	int64_t seconds = time_ms / 1000, ms = time_ms % 1000;
	time_t t;
	struct tm tm;
	size_t n;

	if (ms < 0) {
		ms += 1000;
		seconds--;
	}
	t = (time_t)seconds;
	if (!gmtime_r(&t, &tm) || tm.tm_year > 8099 || tm.tm_year < -1900) {
		snprintf(buf, TIME_TEXT_BYTES, "invalid");
		return buf;
	}
	n = strftime(buf, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	if (ms)
		snprintf(buf + n, TIME_TEXT_BYTES - n, ".%03dZ", (int)ms);
	else
		snprintf(buf + n, TIME_TEXT_BYTES - n, "Z");
	return buf;
}

/* Whether the text begins like `form`, in which 0 stands for a digit. Letters may be small. */
static bool has_form(const char *text, size_t n, const char *form)
{
	for (; *form; form++, text++, n--)
		if (!n || !(*form == '0' ? isdigit((unsigned char)*text) : toupper((unsigned char)*text) == *form))
			return false;
	return true;
}

/* The number with these digits, which has_form has seen. */
static int number_of(const char *text, int digits)
{
	int value = 0;

	while (digits-- > 0)
		value = value * 10 + (*text++ - '0');
	return value;
}

/* Parses the fraction of a second, in milliseconds; further digits are ignored. @return the rest. */
static const char *take_fraction(const char *text, const char *end, int *ret_ms)
{
	*ret_ms = 0;
	if (text == end || *text != '.')
		return text;
	for (int scale = 100; ++text < end && *text >= '0' && *text <= '9'; scale /= 10)
		*ret_ms += (*text - '0') * scale;
	return text;
}

/* Parses "Z" or "+02:00", and nothing behind it, as seconds east of UTC. @return false: neither. */
static bool parse_offset(const char *text, size_t n, int *ret_s)
{
	int hours, minutes;

	*ret_s = 0;
	if (n == 1)
		return has_form(text, n, "Z");
	if (n != strlen("+00:00") || (*text != '+' && *text != '-') || !has_form(text + 1, n - 1, "00:00"))
		return false;
	hours = number_of(text + 1, 2);
	minutes = number_of(text + 4, 2);
	*ret_s = (*text == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	return hours < 24 && minutes < 60;
}

int time_parse(const char *text, size_t n, int64_t *ret_ms)
{
	static const char form[] = "0000-00-00T00:00:00";
	const char *end = text + n, *rest;
	struct tm tm = {0};
	int ms, offset_s;

	if (!has_form(text, n, form))
		return -EINVAL;
	tm.tm_year = number_of(text, 4) - 1900;
	tm.tm_mon = number_of(text + 5, 2) - 1;
	tm.tm_mday = number_of(text + 8, 2);
	tm.tm_hour = number_of(text + 11, 2);
	tm.tm_min = number_of(text + 14, 2);
	tm.tm_sec = number_of(text + 17, 2);
	rest = take_fraction(text + strlen(form), end, &ms);
	if (tm.tm_mon < 0 || tm.tm_mon >= 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour >= 24 ||
	    tm.tm_min >= 60 || tm.tm_sec > 60 || !parse_offset(rest, (size_t)(end - rest), &offset_s))
		return -EINVAL;
	*ret_ms = ((int64_t)timegm(&tm) - offset_s) * 1000 + ms;
	return 0;
}

static const struct duration_unit {
	const char *name;
	int64_t ms;
} duration_units[] = {
	{"w", 7 * TIME_DAY_MS}, {"d", TIME_DAY_MS},    {"h", TIME_HOUR_MS},
	{"m", TIME_MINUTE_MS},	{"s", TIME_SECOND_MS}, {"ms", 1},
};

int duration_parse(const char *text, size_t n, int64_t *ret_ms)
{
	size_t at = 0, unit = 0;
	int64_t total = 0;

	if (n == 1 && text[0] == '0') {
		*ret_ms = 0;
		return 0;
	}
	while (at < n) {
		size_t start = at, len;
		int64_t value = 0;

		for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
			if (__builtin_mul_overflow(value, 10, &value) ||
			    __builtin_add_overflow(value, text[at] - '0', &value))
				return -ERANGE;
		if (at == start)
			return -EINVAL;
		for (len = 0; at + len < n && text[at + len] >= 'a' && text[at + len] <= 'z'; len++)
			;
		while (unit < ARRAY_LEN(duration_units) && (strlen(duration_units[unit].name) != len ||
							    memcmp(duration_units[unit].name, text + at, len) != 0))
			unit++;
		if (unit == ARRAY_LEN(duration_units))
			return -EINVAL;
		if (__builtin_mul_overflow(value, duration_units[unit].ms, &value) ||
		    __builtin_add_overflow(total, value, &total))
			return -ERANGE;
		at += len;
		unit++;
	}
	if (n == 0)
		return -EINVAL;
	*ret_ms = total;
	return 0;
}

const char *duration_render(int64_t duration_ms, char buf[TIME_TEXT_BYTES])
{
	size_t at = 0;

	if (duration_ms == 0)
		snprintf(buf, TIME_TEXT_BYTES, "0s");
	for (size_t i = 1; i < ARRAY_LEN(duration_units) && at + 1 < TIME_TEXT_BYTES; i++) {
		int64_t count = duration_ms / duration_units[i].ms;

		if (count == 0)
			continue;
		at += (size_t)snprintf(buf + at, TIME_TEXT_BYTES - at, "%lld%s", (long long)count,
				       duration_units[i].name);
		duration_ms -= count * duration_units[i].ms;
	}
	return buf;
}
