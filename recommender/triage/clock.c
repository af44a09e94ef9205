/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/clock.h"

#include "base/timefmt.h"
#include "triage/line.h"

#include <ctype.h>
#include <stdio.h>

#define HEAD_BYTES 96 /* prefixes of ranks and of collectors stand before the time */

/* ---- "2026-11-02T03:00:00.123+01:00", "2026-11-02 03:00:00,123" ---- */

static bool is_like(const char *text, const char *form)
{
	for (; *form; text++, form++)
		if (*form == '0'   ? !isdigit((unsigned char)*text)
		    : *form == ' ' ? *text != ' ' && *text != 'T'
				   : *text != *form)
			return false;
	return true;
}

/* The zone behind the seconds, as RFC 3339 wants it; "": none. */
static void copy_zone(const char *at, char buf[8])
{
	buf[0] = '\0';
	if (*at == '.' || *at == ',')
		at += 1 + strspn(at + 1, "0123456789");
	if (*at == 'Z')
		snprintf(buf, 8, "Z");
	else if ((*at == '+' || *at == '-') && is_like(at + 1, "00:00"))
		snprintf(buf, 8, "%.6s", at);
	else if ((*at == '+' || *at == '-') && is_like(at + 1, "0000"))
		snprintf(buf, 8, "%.3s:%.2s", at, at + 3);
}

static bool parse(const char *date, const char *time, const char *zone, int64_t *ret_ms)
{
	char text[TIME_TEXT_BYTES];
	int n = snprintf(text, sizeof(text), "%.10sT%.8s%s", date, time, *zone ? zone : "Z");

	return time_parse(text, (size_t)n, ret_ms) == 0;
}

static bool read_iso(const char *text, struct clock *ret)
{
	char zone[8];

	if (!is_like(text, "0000-00-00 00:00:00"))
		return false;
	copy_zone(text + 19, zone);
	ret->kind = *zone ? CLOCK_ZONED : CLOCK_LOCAL;
	return parse(text, text + 11, zone, &ret->ms);
}

/* ---- "Nov  2 03:00:00", with the year behind it in dmesg -T ---- */

static int month_of(const char *text)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12; i++)
		if (strncmp(text, names + 3 * i, 3) == 0)
			return i + 1;
	return 0;
}

static bool read_month(const char *text, struct clock *ret)
{
	int month = month_of(text);
	int64_t day, year = 1972; /* a leap year */
	const char *at = text + 3;
	char date[16];
	size_t n;

	if (!month || *at != ' ')
		return false;
	at += strspn(at, " ");
	n = text_number(at, &day);
	if (!n || n > 2 || at[n] != ' ' || !is_like(at + n + 1, "00:00:00"))
		return false;
	at += n + 1;
	ret->kind = CLOCK_YEAR;
	if (at[8] == ' ' && text_number(at + 9, &year) == 4)
		ret->kind = CLOCK_LOCAL;
	else
		year = 1972;
	snprintf(date, sizeof(date), "%04d-%02d-%02d", (int)year, month, (int)day);
	return parse(date, at, "", &ret->ms);
}

/* ---- "[ 7063.248138]" ---- */

static bool read_boot(const char *text, struct clock *ret)
{
	int64_t seconds, rest;
	size_t n;

	if (*text != '[')
		return false;
	text += 1 + strspn(text + 1, " ");
	n = text_number(text, &seconds);
	if (!n || n > 10 || text[n] != '.' || !text_number(text + n + 1, &rest))
		return false;
	text += n + 1;
	if (text[strspn(text, "0123456789")] != ']')
		return false;
	ret->kind = CLOCK_BOOT;
	ret->ms = seconds * 1000;
	return true;
}

struct clock clock_read(const char *text)
{
	struct clock clock = {CLOCK_NONE, 0}, boot = clock;

	for (size_t i = 0; text[i] && i < HEAD_BYTES; i++) {
		if (i && isalnum((unsigned char)text[i - 1]))
			continue;
		if (read_iso(text + i, &clock) || read_month(text + i, &clock))
			return clock;
		if (boot.kind == CLOCK_NONE)
			read_boot(text + i, &boot);
	}
	return boot.kind == CLOCK_NONE ? (struct clock){CLOCK_NONE, 0} : boot;
}

/* ---- comparing ---- */

static bool is_beside(int64_t ms, int64_t start_ms, int64_t end_ms, int64_t slack_ms)
{
	return ms < start_ms - slack_ms || (end_ms < INT64_MAX - slack_ms && ms > end_ms + slack_ms);
}

/* A time without its year is outside if it is in each year. */
static bool is_outside_in_any_year(int64_t ms, int64_t start_ms, int64_t end_ms, int64_t slack_ms)
{
	for (int year = 1970; year < 2100; year++) {
		char text[TIME_TEXT_BYTES], date[TIME_TEXT_BYTES];
		int64_t at_ms;

		time_render(ms, text);
		snprintf(date, sizeof(date), "%04d%.15s", year, text + 4);
		if (parse(date, text + 11, "", &at_ms) && !is_beside(at_ms, start_ms, end_ms, slack_ms))
			return false;
	}
	return true;
}

bool clock_is_outside(struct clock clock, int64_t start_ms, int64_t end_ms, bool has_zone, int64_t slack_ms)
{
	int64_t slack = clock.kind == CLOCK_ZONED && has_zone ? slack_ms : MAX(slack_ms, CLOCK_LOCAL_SLACK_MS);

	if (clock.kind == CLOCK_YEAR)
		return is_outside_in_any_year(clock.ms, start_ms, end_ms, slack);
	return (clock.kind == CLOCK_LOCAL || clock.kind == CLOCK_ZONED) && is_beside(clock.ms, start_ms, end_ms, slack);
}
