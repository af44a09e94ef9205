/* SPDX-License-Identifier: Apache-2.0 */
/* render_sarif: SARIF 2.1.0 (OASIS): one run, a rule for every check, a result for every finding, a notification for
 * every input that could not be read and everything that was not examined. Columns are characters. */
#include "review/review_internal.h"

#include "base/limits.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>

static const char *level_of(enum check_id check, enum check_action action)
{
	return check_severity_names[action == ACTION_DENY ? SEVERITY_ERROR : check_table[check].severity];
}

/* A path as a URI reference; relative paths stay relative to the working directory. */
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
		strbuf_addf(buf, ", \"defaultConfiguration\": {\"level\": \"%s\"}}",
			    level_of((enum check_id)i, check->default_action));
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

	review_add_label(&message, f->kind, f->name, f->role, f->container);
	strbuf_adds(&message, f->message);
	strbuf_addf(buf, "{\"ruleId\": \"%s\", \"ruleIndex\": %d, \"level\": \"%s\", ", check_table[f->check].name,
		    (int)f->check, level_of(f->check, f->action));
	add_text(buf, "message", strbuf_text(&message));
	strbuf_adds(buf, ",\n       \"locations\": [{\"physicalLocation\": {\"artifactLocation\": {\"uri\": ");
	add_uri(buf, f->file);
	strbuf_addf(buf, "}, \"region\": {\"startLine\": %zu, \"startColumn\": %zu}}, ", f->line, f->column);
	add_logical_location(buf, f);
	strbuf_addf(buf, "}],\n       \"properties\": {\"action\": \"%s\"}}", check_action_names[f->action]);
}

static void add_notification(struct strbuf *buf, const char *level, const char *text)
{
	strbuf_addf(buf, "{\"level\": \"%s\", ", level);
	add_text(buf, "message", text);
}

static void add_error(struct strbuf *buf, const struct review_error *error)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4096);

	strbuf_addf(&text, "%s%s%s", error->file, *error->file ? ": " : "", error->message);
	add_notification(buf, "error", strbuf_text(&text));
	strbuf_addc(buf, '}');
}

/* Whether a user would expect it to be examined. */
static bool is_expected(enum review_status status)
{
	return status == REVIEW_NO_RUNTIME || status == REVIEW_TEMPLATED || status == REVIEW_UNREADABLE ||
	       status == REVIEW_EMPTY;
}

static int add_subject(struct strbuf *buf, const struct review_subject *subject)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(8192);
	const char *words = review_words(&arena, subject);

	if (!words)
		return -ENOMEM;
	review_add_label(&text, subject->kind, subject->name, subject->role, "");
	strbuf_adds(&text, words);
	add_notification(buf, is_expected(subject->status) ? "warning" : "note", strbuf_text(&text));
	strbuf_adds(buf, ", \"locations\": [{\"physicalLocation\": {\"artifactLocation\": {\"uri\": ");
	add_uri(buf, subject->file);
	strbuf_addc(buf, '}');
	if (subject->line)
		strbuf_addf(buf, ", \"region\": {\"startLine\": %zu, \"startColumn\": %zu}", subject->line,
			    subject->column);
	strbuf_adds(buf, "}}]}");
	return buf->status;
}

static int add_notifications(const struct review *self, struct strbuf *buf)
{
	const char *between = "\n      ";
	int r = 0;

	for (size_t i = 0; i < self->errors.n; i++) {
		strbuf_adds(buf, between);
		add_error(buf, &self->errors.items[i]);
		between = ",\n      ";
	}
	for (size_t i = 0; i < self->subjects.n && !r; i++) {
		if (self->subjects.items[i].status == REVIEW_EXAMINED)
			continue;
		strbuf_adds(buf, between);
		r = add_subject(buf, &self->subjects.items[i]);
		between = ",\n      ";
	}
	return r;
}

/* The number of subjects of each status. */
static void add_counts(const struct review *self, struct strbuf *buf)
{
	size_t counts[REVIEW_STATUS_COUNT_] = {0};

	for (size_t i = 0; i < self->subjects.n; i++)
		counts[self->subjects.items[i].status]++;
	strbuf_adds(buf, "\"properties\": {\"objects\": {");
	for (int status = 0; status < REVIEW_STATUS_COUNT_; status++)
		strbuf_addf(buf, "%s\"%s\": %zu", status ? ", " : "", review_statuses[status].id, counts[status]);
	strbuf_adds(buf, "}}");
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
	if (add_notifications(self, buf))
		return -ENOMEM;
	strbuf_adds(buf, "]}],\n    ");
	add_counts(self, buf);
	strbuf_adds(buf, ",\n    \"results\": [");
	for (size_t i = 0; i < self->findings.n; i++) {
		strbuf_adds(buf, i ? ",\n      " : "\n      ");
		add_result(buf, &self->findings.items[i]);
	}
	strbuf_adds(buf, "]\n  }]\n}\n");
	return buf->status;
}
