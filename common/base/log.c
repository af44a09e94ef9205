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

/* Set once before threads start, read by all. */
static enum log_level log_threshold = LOG_INFO;
static enum log_format log_style = LOG_LOGFMT;

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

/* logfmt: bare when it is one plain word, else quoted as JSON. */
static bool log_is_plain(const char *value)
{
	if (!*value)
		return false;
	for (; *value; value++)
		if (*value <= ' ' || *value == '"' || *value == '=' || *value == '\\' || *value == 0x7f)
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

void log_event_(enum log_level level, const char *message, ...)
{
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(LIMIT_LOG_LINE_BYTES);
	char when[TIME_TEXT_BYTES];
	const char *key;
	va_list args;

	if (log_style == LOG_JSON)
		strbuf_addc(&line, '{');
	log_add_field(&line, "ts", time_render(time_now_ms(), when));
	log_add_field(&line, "level", log_level_names[level]);
	log_add_field(&line, "msg", message);
	va_start(args, message);
	while ((key = va_arg(args, const char *)))
		log_add_field(&line, key, va_arg(args, const char *));
	va_end(args);
	strbuf_adds(&line, log_style == LOG_JSON ? "}\n" : "\n");
	if (!line.status && io_write_all(STDERR_FILENO, line.text, line.len))
		return; /* nobody reads our log: there is nowhere left to say so */
}

void log_err(enum log_level level, const char *message, const struct err *err)
{
	if (err->where[0])
		log_event(level, message, "where", err->where, "error", err->msg, NULL);
	else
		log_event(level, message, "error", err->msg, NULL);
}
