/* SPDX-License-Identifier: Apache-2.0 */
#include "review/review_internal.h"

#include "base/json_write.h"
#include "base/limits.h"
#include "base/str.h"

#include <errno.h>

#define WORDS_BYTES (64 * MIB)

static void write_size(const struct size_change *size, struct strbuf *buf)
{
	char text[QUANTITY_TEXT_BYTES];

	json_write_open(buf, NULL, '{');
	json_write_text(buf, "resource", k8s_resource_names[size->resource]);
	json_write_text(buf, "field", size->field == SIZE_LIMIT ? "limit" : "request");
	json_write_text(buf, "from", size->has_from ? quantity_render_bytes(size->from_bytes, text) : NULL);
	json_write_text(buf, "to", quantity_render_bytes(size->to_bytes, text));
	json_write_text(buf, "rule", size->rule);
	json_write_text(buf, "reason", size->reason);
	strbuf_addc(buf, '}');
}

/* Begins an item of a list, on a line of its own. */
static void open_item(const char *file, struct strbuf *buf)
{
	json_write_line(buf, 2);
	json_write_open(buf, NULL, '{');
	json_write_text(buf, "file", file);
}

static void write_finding(const struct review_finding *f, struct strbuf *buf)
{
	open_item(f->file, buf);
	json_write_int(buf, "line", (int64_t)f->line);
	json_write_int(buf, "column", (int64_t)f->column);
	json_write_text(buf, "kind", f->kind);
	json_write_text(buf, "name", f->name);
	json_write_text(buf, "namespace", f->namespace_name);
	json_write_text(buf, "role", f->role);
	json_write_text(buf, "container", f->container);
	json_write_text(buf, "check", check_table[f->check].name);
	json_write_text(buf, "severity", check_severity_names[check_table[f->check].severity]);
	json_write_text(buf, "action", check_action_names[f->action]);
	json_write_text(buf, "message", f->message);
	json_write_open(buf, "sizes", '[');
	for (size_t i = 0; i < f->n_sizes; i++)
		write_size(&f->sizes[i], buf);
	strbuf_adds(buf, "]}");
}

static void write_subject(const struct review_subject *subject, const char *words, struct strbuf *buf)
{
	open_item(subject->file, buf);
	json_write_int(buf, "line", (int64_t)subject->line);
	json_write_int(buf, "column", (int64_t)subject->column);
	json_write_text(buf, "kind", subject->kind);
	json_write_text(buf, "name", subject->name);
	json_write_text(buf, "namespace", subject->namespace_name);
	json_write_text(buf, "role", subject->role);
	json_write_text(buf, "status", review_statuses[subject->status].id);
	json_write_text(buf, "reason", subject->why);
	json_write_text(buf, "message", words);
	json_write_int(buf, "findings", (int64_t)subject->n_findings);
	strbuf_addc(buf, '}');
}

static int write_subjects(const struct review *self, struct strbuf *buf)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(WORDS_BYTES);

	for (size_t i = 0; i < self->subjects.n; i++) {
		const char *words = review_words(&arena, &self->subjects.items[i]);

		if (!words)
			return -ENOMEM;
		write_subject(&self->subjects.items[i], words, buf);
	}
	return 0;
}

int render_json(const struct review *self, struct strbuf *buf)
{
	json_write_open(buf, NULL, '{');
	json_write_int(buf, "files", (int64_t)self->n_files);
	json_write_line(buf, 1);
	json_write_open(buf, "findings", '[');
	for (size_t i = 0; i < self->findings.n; i++)
		write_finding(&self->findings.items[i], buf);
	strbuf_addc(buf, ']');
	json_write_line(buf, 1);
	json_write_open(buf, "objects", '[');
	if (write_subjects(self, buf))
		return -ENOMEM;
	strbuf_addc(buf, ']');
	json_write_line(buf, 1);
	json_write_open(buf, "errors", '[');
	for (size_t i = 0; i < self->errors.n; i++) {
		open_item(self->errors.items[i].file, buf);
		json_write_text(buf, "message", self->errors.items[i].message);
		strbuf_addc(buf, '}');
	}
	return strbuf_adds(buf, "]}\n");
}
