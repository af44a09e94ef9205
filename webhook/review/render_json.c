/* SPDX-License-Identifier: Apache-2.0 */
#include "review/review_internal.h"

#include "base/str.h"

static void add_member(struct strbuf *buf, const char *key, const char *value)
{
	strbuf_addf(buf, ", \"%s\": ", key);
	strbuf_add_json_string(buf, value);
}

static void add_bytes(struct strbuf *buf, const char *key, bool is_there, int64_t bytes)
{
	char text[QUANTITY_TEXT_BYTES];

	add_member(buf, key, is_there ? quantity_render_bytes(bytes, text) : NULL);
}

static void add_size(const struct size_change *size, struct strbuf *buf)
{
	strbuf_addf(buf, "{\"resource\": \"%s\"", k8s_resource_names[size->resource]);
	add_member(buf, "field", size->field == SIZE_LIMIT ? "limit" : "request");
	add_bytes(buf, "from", size->has_from, size->from_bytes);
	add_bytes(buf, "to", true, size->to_bytes);
	add_member(buf, "rule", size->rule);
	add_member(buf, "reason", size->reason);
	strbuf_addc(buf, '}');
}

static void add_finding(const struct review_finding *f, struct strbuf *buf)
{
	strbuf_adds(buf, "  {\"file\": ");
	strbuf_add_json_string(buf, f->file);
	strbuf_addf(buf, ", \"line\": %zu, \"column\": %zu", f->line, f->column);
	add_member(buf, "kind", f->kind);
	add_member(buf, "name", f->name);
	add_member(buf, "namespace", f->namespace_name);
	add_member(buf, "role", f->role);
	add_member(buf, "container", f->container);
	add_member(buf, "check", check_table[f->check].name);
	add_member(buf, "action", check_action_names[f->action]);
	add_member(buf, "message", f->message);
	strbuf_adds(buf, ", \"sizes\": [");
	for (size_t i = 0; i < f->n_sizes; i++) {
		strbuf_adds(buf, i ? ", " : "");
		add_size(&f->sizes[i], buf);
	}
	strbuf_adds(buf, "]}");
}

int render_json(const struct review *self, struct strbuf *buf)
{
	strbuf_adds(buf, "[");
	for (size_t i = 0; i < self->findings.n; i++) {
		strbuf_adds(buf, i ? ",\n" : "\n");
		add_finding(&self->findings.items[i], buf);
	}
	strbuf_adds(buf, self->findings.n ? "\n]\n" : "]\n");
	return buf->status;
}
