/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const log_level_names[LOG_LEVEL_COUNT_] = {"debug", "info", "warn", "error"};

/* Set before threads start, then read by all. */
static enum log_level log_threshold = LOG_INFO;
static enum log_format log_style = LOG_LOGFMT;
static struct log_sink log_sink;

void log_configure(enum log_level level, enum log_format format)
{
	log_threshold = level;
	log_style = format;
}

bool log_is_on(enum log_level level)
{
	return level >= log_threshold;
}

int log_level_parse(const char *name)
{
	for (int i = 0; i < LOG_LEVEL_COUNT_; i++)
		if (streq(name, log_level_names[i]))
			return i;
	return -1;
}

struct log_number log_number_i64(int64_t value)
{
	struct log_number number;

	snprintf(number.text, sizeof(number.text), "%lld", (long long)value);
	return number;
}

/* Whether logfmt can write the value without quotes. */
static bool log_is_plain(const char *value)
{
	if (!*value)
		return false;
	for (; *value; value++)
		if ((unsigned char)*value <= ' ' || (unsigned char)*value >= 0x7f || strchr("\"=\\", *value))
			return false;
	return true;
}

static void log_add_field(struct strbuf *line, const char *key, const char *value)
{
	bool is_json = *key == LOG_JSON_FIELD[0];

	key += is_json;
	if (log_style == LOG_JSON) {
		strbuf_adds(line, line->len > 1 ? "," : "");
		strbuf_add_json_string(line, key);
		strbuf_addc(line, ':');
		if (is_json && value && *value)
			strbuf_adds(line, value);
		else
			strbuf_add_json_string(line, value ? value : "");
		return;
	}
	strbuf_addf(line, "%s%s=", line->len ? " " : "", key);
	if (value && log_is_plain(value))
		strbuf_adds(line, value);
	else
		strbuf_add_json_string(line, value ? value : "");
}

static void log_begin(struct strbuf *line, enum log_level level, const char *message)
{
	char when[TIME_TEXT_BYTES];

	strbuf_clear(line);
	if (log_style == LOG_JSON)
		strbuf_addc(line, '{');
	log_add_field(line, "ts", time_render(time_now_ms(), when));
	log_add_field(line, "level", log_level_names[level]);
	log_add_field(line, "msg", message);
}

static void log_end(struct strbuf *line)
{
	strbuf_adds(line, log_style == LOG_JSON ? "}\n" : "\n");
}

static void log_write(enum log_level level, const char *message, uint64_t suppressed, va_list args)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(LIMIT_LOG_LINE_BYTES);
	const char *key;

	log_begin(&line, level, message);
	while ((key = va_arg(args, const char *)))
		log_add_field(&line, key, va_arg(args, const char *));
	if (suppressed)
		log_add_field(&line, LOG_JSON_FIELD "suppressed", log_i64(suppressed));
	log_end(&line);
	if (line.status) {
		log_begin(&line, level, message);
		log_add_field(&line, "fields", "left out: the line is too long");
		log_end(&line);
	}
	if (log_sink.write)
		log_sink.write(log_sink.context, strbuf_text(&line), line.len);
	else if (io_write_all(STDERR_FILENO, strbuf_text(&line), line.len))
		return; /* nobody reads the log, so the failure cannot be reported */
}

void log_event_(enum log_level level, const char *message, ...)
{
	va_list args;

	va_start(args, message);
	log_write(level, message, 0, args);
	va_end(args);
}

/* Each line moves `full_ms` forward by one interval, to at most `burst` intervals from now. */
bool log_gate_opens_(struct log_gate *gate, const struct log_kind *kind)
{
	int64_t now_ms = time_monotonic_ms(), full_ms = atomic_load(&gate->full_ms), next_ms;

	if (!log_is_on(kind->level))
		return false;
	do {
		next_ms = MAX(full_ms, now_ms) + kind->interval_ms;
		if (next_ms > now_ms + kind->burst * kind->interval_ms) {
			atomic_fetch_add(&gate->suppressed, 1);
			return false;
		}
	} while (!atomic_compare_exchange_weak(&gate->full_ms, &full_ms, next_ms));
	return true;
}

void log_limited_(struct log_gate *gate, const struct log_kind *kind, ...)
{
	va_list args;

	va_start(args, kind);
	log_write(kind->level, kind->message, atomic_exchange(&gate->suppressed, 0), args);
	va_end(args);
}

void log_err(enum log_level level, const char *message, const struct err *err)
{
	if (err->where[0])
		log_event(level, message, "where", err->where, "error", err->msg, NULL);
	else
		log_event(level, message, "error", err->msg, NULL);
}

void log_set_sink(const struct log_sink *sink)
{
	log_sink = sink ? *sink : (struct log_sink){.context = NULL};
}

void log_flush(int64_t wait_ms)
{
	if (log_sink.flush)
		log_sink.flush(log_sink.context, wait_ms);
}
