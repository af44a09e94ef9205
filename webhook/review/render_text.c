/* SPDX-License-Identifier: Apache-2.0 */
#include "review/review_internal.h"

#include "base/str.h"

#define BOLD   "\033[1m"
#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define GREEN  "\033[32m"
#define PLAIN  "\033[0m"

static const char *colour_of(enum check_action action)
{
	return action == ACTION_DENY ? RED : action == ACTION_PATCH ? GREEN : YELLOW;
}

/* file:line:col: action [check] Kind/name role container "c": message */
static void add_finding(const struct review_finding *f, bool has_colour, struct strbuf *buf)
{
	strbuf_addf(buf, "%s%s:%zu:%zu:%s ", has_colour ? BOLD : "", f->file, f->line, f->column,
		    has_colour ? PLAIN : "");
	strbuf_addf(buf, "%s%s%s [%s] ", has_colour ? colour_of(f->action) : "", check_action_names[f->action],
		    has_colour ? PLAIN : "", check_table[f->check].name);
	strbuf_addf(buf, "%s/%s", f->kind, f->name);
	if (*f->role)
		strbuf_addf(buf, " %s", f->role);
	if (*f->container)
		strbuf_addf(buf, " container \"%s\"", f->container);
	strbuf_addf(buf, ": %s\n", f->message);
}

static void add_count(struct strbuf *buf, size_t n, const char *one, const char *many)
{
	strbuf_addf(buf, "%zu %s", n, n == 1 ? one : many);
}

static size_t count(const struct review *self, enum check_action action)
{
	size_t n = 0;

	for (size_t i = 0; i < self->findings.n; i++)
		n += self->findings.items[i].action == action;
	return n;
}

static void add_summary(const struct review *self, struct strbuf *buf)
{
	bool is_clean = !self->findings.n;

	add_count(buf, self->n_files, "file", "files");
	strbuf_adds(buf, ", ");
	add_count(buf, self->n_pods, "pod", "pods");
	strbuf_adds(buf, ", ");
	add_count(buf, self->n_templates, "pod template", "pod templates");
	if (self->n_skipped) {
		strbuf_adds(buf, ", ");
		add_count(buf, self->n_skipped, "other object", "other objects");
	}
	strbuf_adds(buf, is_clean ? ": no findings" : ": ");
	for (int action = ACTION_DENY, n_said = 0; action > ACTION_OFF; action--) {
		size_t n = count(self, (enum check_action)action);

		if (n)
			strbuf_addf(buf, "%s%zu %s", n_said++ ? ", " : "", n, check_action_names[action]);
	}
	if (self->errors.n) {
		strbuf_adds(buf, "; ");
		add_count(buf, self->errors.n, "input error", "input errors");
	}
	strbuf_addc(buf, '\n');
	if (self->history_note)
		strbuf_addf(buf, "No history: %s. Sizes come from the manifests alone.\n", self->history_note);
}

int render_text(const struct review *self, bool has_colour, struct strbuf *buf)
{
	for (size_t i = 0; i < self->findings.n; i++) {
		const struct review_finding *f = &self->findings.items[i];

		if (i && f->object != f[-1].object)
			strbuf_addc(buf, '\n');
		add_finding(f, has_colour, buf);
	}
	if (self->findings.n)
		strbuf_addc(buf, '\n');
	add_summary(self, buf);
	return buf->status;
}
