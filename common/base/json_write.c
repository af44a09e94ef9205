/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_write.h"

#include "base/timefmt.h"

/* A comma is needed unless the text so far is empty, or ends with a comma, a colon or an opening bracket. What a string
 * contains does not matter, since a complete string ends with a quote. */
static void add_comma(struct strbuf *self)
{
	size_t n = self->len;

	while (n && (self->text[n - 1] == ' ' || self->text[n - 1] == '\n'))
		n--;
	if (n && !strchr("{[:,", self->text[n - 1]))
		strbuf_addc(self, ',');
}

static void add_key(struct strbuf *self, const char *key)
{
	add_comma(self);
	if (key)
		strbuf_addf(self, "\"%s\":", key);
}

void json_write_open(struct strbuf *self, const char *key, char bracket)
{
	add_key(self, key);
	strbuf_addc(self, bracket);
}

void json_write_text(struct strbuf *self, const char *key, const char *text)
{
	add_key(self, key);
	strbuf_add_json_string(self, text);
}

void json_write_int(struct strbuf *self, const char *key, int64_t value)
{
	add_key(self, key);
	strbuf_addf(self, "%lld", (long long)value);
}

void json_write_int_or_null(struct strbuf *self, const char *key, int64_t value)
{
	if (value)
		json_write_int(self, key, value);
	else
		json_write_text(self, key, NULL);
}

void json_write_double(struct strbuf *self, const char *key, double value)
{
	add_key(self, key);
	strbuf_addf(self, "%.3f", value);
}

void json_write_bool(struct strbuf *self, const char *key, bool value)
{
	add_key(self, key);
	strbuf_adds(self, value ? "true" : "false");
}

void json_write_time(struct strbuf *self, const char *key, int64_t time_ms)
{
	char text[TIME_TEXT_BYTES];

	json_write_text(self, key, time_render(time_ms, text));
}

void json_write_line(struct strbuf *self, int indent)
{
	add_comma(self);
	strbuf_addf(self, "\n%*s", indent, "");
}
