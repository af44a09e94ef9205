/* SPDX-License-Identifier: Apache-2.0 */
/* SARIF 2.1.0 (OASIS): one run, a rule for every check, a result for every finding, a notification for every input that
 * could not be read. Columns are characters. */
#include "review/review_internal.h"

#include "base/str.h"

#include <ctype.h>

static const char *level_of(enum check_action action)
{
	return action == ACTION_DENY ? "error" : action == ACTION_OFF ? "none" : "warning";
}

/* A path as a URI reference; relative ones stay relative to where the program ran. */
static void add_uri(struct strbuf *buf, const char *path)
{
	strbuf_addc(buf, '"');
	if (*path == '/')
		strbuf_adds(buf, "file://");
	while (strstarts(path, "./"))
		path += 2;
	for (; *path; path++) {
		if (isalnum((unsigned char)*path) || strchr("/-._~", *path))
			strbuf_addc(buf, *path);
		else
			strbuf_addf(buf, "%%%02X", (unsigned char)*path);
	}
	strbuf_addc(buf, '"');
}

static void add_text(struct strbuf *buf, const char *key, const char *text)
{
	strbuf_addf(buf, "\"%s\": {\"text\": ", key);
	strbuf_add_json_string(buf, text);
	strbuf_addc(buf, '}');
}

static void add_rules(struct strbuf *buf)
{
	for (int i = 0; i < CHECK_COUNT_; i++) {
		const struct check *check = &check_table[i];

		strbuf_addf(buf, "%s\n          {\"id\": \"%s\", ", i ? "," : "", check->name);
		add_text(buf, "shortDescription", check->title);
		strbuf_adds(buf, ", ");
		add_text(buf, "fullDescription", check->text);
		strbuf_addf(buf, ", \"defaultConfiguration\": {\"level\": \"%s\"}}", level_of(check->default_action));
	}
}

static void add_logical_location(struct strbuf *buf, const struct review_finding *f)
{
	CLEANUP(strbuf_release) struct strbuf name = STRBUF_INIT(4096);

	strbuf_addf(&name, "%s/%s/%s", f->namespace_name, f->kind, f->name);
	if (*f->role)
		strbuf_addf(&name, "/%s", f->role);
	if (*f->container)
		strbuf_addf(&name, "/%s", f->container);
	strbuf_adds(buf, "\"logicalLocations\": [{\"fullyQualifiedName\": ");
	strbuf_add_json_string(buf, strbuf_text(&name));
	strbuf_adds(buf, "}]");
}

static void add_result(struct strbuf *buf, const struct review_finding *f)
{
	CLEANUP(strbuf_release) struct strbuf message = STRBUF_INIT(8192);

	strbuf_addf(&message, "%s/%s", f->kind, f->name);
	if (*f->role)
		strbuf_addf(&message, " %s", f->role);
	if (*f->container)
		strbuf_addf(&message, " container \"%s\"", f->container);
	strbuf_addf(&message, ": %s", f->message);
	strbuf_addf(buf, "{\"ruleId\": \"%s\", \"ruleIndex\": %d, \"level\": \"%s\", ", check_table[f->check].name,
		    (int)f->check, level_of(f->action));
	add_text(buf, "message", strbuf_text(&message));
	strbuf_adds(buf, ",\n       \"locations\": [{\"physicalLocation\": {\"artifactLocation\": {\"uri\": ");
	add_uri(buf, f->file);
	strbuf_addf(buf, "}, \"region\": {\"startLine\": %zu, \"startColumn\": %zu}}, ", f->line, f->column);
	add_logical_location(buf, f);
	strbuf_addf(buf, "}],\n       \"properties\": {\"action\": \"%s\"}}", check_action_names[f->action]);
}

static void add_notification(struct strbuf *buf, const struct review_error *error)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

	strbuf_addf(&text, "%s%s%s", error->file, *error->file ? ": " : "", error->message);
	strbuf_adds(buf, "{\"level\": \"error\", ");
	add_text(buf, "message", strbuf_text(&text));
	strbuf_addc(buf, '}');
}

int render_sarif(const struct review *self, struct strbuf *buf)
{
	strbuf_addf(buf,
		    "{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n  \"version\": \"2.1.0\",\n"
		    "  \"runs\": [{\n    \"tool\": {\"driver\": {\"name\": \"memtamer\", \"semanticVersion\": \"%s\",\n"
		    "      \"rules\": [",
		    MEMTAMER_VERSION);
	add_rules(buf);
	strbuf_addf(buf,
		    "\n      ]}},\n    \"columnKind\": \"unicodeCodePoints\",\n"
		    "    \"invocations\": [{\"executionSuccessful\": %s, \"toolExecutionNotifications\": [",
		    self->errors.n ? "false" : "true");
	for (size_t i = 0; i < self->errors.n; i++) {
		strbuf_adds(buf, i ? ",\n      " : "\n      ");
		add_notification(buf, &self->errors.items[i]);
	}
	strbuf_adds(buf, "]}],\n    \"results\": [");
	for (size_t i = 0; i < self->findings.n; i++) {
		strbuf_adds(buf, i ? ",\n      " : "\n      ");
		add_result(buf, &self->findings.items[i]);
	}
	strbuf_adds(buf, "]\n  }]\n}\n");
	return buf->status;
}
