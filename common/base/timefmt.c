/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timefmt.h"

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

/* Exactly `digits` decimal digits at text[*at]; moves *at. -1 when they are not there. */
static int take_digits(const char *text, size_t n, size_t *at, int digits)
{
	int value = 0;

	for (int i = 0; i < digits; i++, (*at)++) {
		if (*at >= n || text[*at] < '0' || text[*at] > '9')
			return -1;
		value = value * 10 + (text[*at] - '0');
	}
	return value;
}

static bool take_char(const char *text, size_t n, size_t *at, char c)
{
	if (*at >= n || text[*at] != c)
		return false;
	(*at)++;
	return true;
}

/* ".123456" to milliseconds, cut. */
static int take_fraction(const char *text, size_t n, size_t *at)
{
	int ms = 0, scale = 100;

	while (*at < n && text[*at] >= '0' && text[*at] <= '9') {
		ms += (text[*at] - '0') * scale;
		scale /= 10;
		(*at)++;
	}
	return ms;
}

/* "Z" or "+02:00" as seconds east of UTC; false when neither. */
static bool take_offset(const char *text, size_t n, size_t *at, int *ret_s)
{
	int sign, hours, minutes;

	*ret_s = 0;
	if (take_char(text, n, at, 'Z') || take_char(text, n, at, 'z'))
		return true;
	if (*at >= n || (text[*at] != '+' && text[*at] != '-'))
		return false;
	sign = text[(*at)++] == '-' ? -1 : 1;
	hours = take_digits(text, n, at, 2);
	if (!take_char(text, n, at, ':'))
		return false;
	minutes = take_digits(text, n, at, 2);
	*ret_s = sign * (hours * 3600 + minutes * 60);
	return hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

int time_parse(const char *text, size_t n, int64_t *ret_ms)
{
	struct tm tm = {0};
	size_t at = 0;
	int ms = 0, offset_s;
	bool ok;

	tm.tm_year = take_digits(text, n, &at, 4) - 1900;
	ok = take_char(text, n, &at, '-');
	tm.tm_mon = take_digits(text, n, &at, 2) - 1;
	ok = ok && take_char(text, n, &at, '-');
	tm.tm_mday = take_digits(text, n, &at, 2);
	ok = ok && (take_char(text, n, &at, 'T') || take_char(text, n, &at, 't'));
	tm.tm_hour = take_digits(text, n, &at, 2);
	ok = ok && take_char(text, n, &at, ':');
	tm.tm_min = take_digits(text, n, &at, 2);
	ok = ok && take_char(text, n, &at, ':');
	tm.tm_sec = take_digits(text, n, &at, 2);
	ok = ok && tm.tm_year >= -1900 && tm.tm_mon >= 0 && tm.tm_mon < 12 && tm.tm_mday >= 1 && tm.tm_mday <= 31 &&
	     tm.tm_hour >= 0 && tm.tm_hour < 24 && tm.tm_min >= 0 && tm.tm_min < 60 && tm.tm_sec >= 0 &&
	     tm.tm_sec <= 60;
	if (ok && take_char(text, n, &at, '.'))
		ms = take_fraction(text, n, &at);
	if (!ok || !take_offset(text, n, &at, &offset_s) || at != n)
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
