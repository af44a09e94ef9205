/* SPDX-License-Identifier: Apache-2.0 */
#include "review/review_internal.h"

#include "base/limits.h"
#include "base/str.h"

#include <errno.h>

#define BOLD   "\033[1m"
#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define GREEN  "\033[32m"
#define PLAIN  "\033[0m"

#define WORDS_BYTES (64 * MIB)
enum { REASONS = 16 };

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
	review_add_label(buf, f->kind, f->name, f->role, f->container);
	strbuf_addf(buf, "%s\n", f->message);
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

static size_t count_status(const struct review *self, enum review_status status)
{
	size_t n = 0;

	for (size_t i = 0; i < self->subjects.n; i++)
		n += self->subjects.items[i].status == status;
	return n;
}

static size_t count_examined(const struct review *self, bool is_pod)
{
	size_t n = 0;

	for (size_t i = 0; i < self->subjects.n; i++)
		n += self->subjects.items[i].status <= REVIEW_PARTIAL && self->subjects.items[i].is_pod == is_pod;
	return n;
}

static void add_findings_count(const struct review *self, struct strbuf *buf)
{
	strbuf_adds(buf, self->findings.n ? ": " : ": no findings");
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
}

/* " (serving 1, interactive 2)" */
static void add_reasons(const struct review *self, enum review_status status, struct strbuf *buf)
{
	const char *reasons[REASONS];
	size_t counts[REASONS] = {0}, n = 0;

	for (size_t i = 0; i < self->subjects.n; i++) {
		const char *why = self->subjects.items[i].why;
		size_t k = 0;

		if (self->subjects.items[i].status != status)
			continue;
		while (k < n && !streq(reasons[k], why))
			k++;
		if (k == REASONS)
			continue;
		reasons[k] = why;
		counts[k]++;
		n = MAX(n, k + 1);
	}
	for (size_t k = 0; k < n; k++)
		strbuf_addf(buf, "%s%s %zu", k ? ", " : " (", review_reason_words(reasons[k]), counts[k]);
	strbuf_adds(buf, n ? ")" : "");
}

static void add_not_examined(const struct review *self, struct strbuf *buf)
{
	size_t n_said = 0;

	for (int status = REVIEW_PARTIAL; status < REVIEW_EMPTY; status++) {
		const struct review_status_row *row = &review_statuses[status];
		size_t n = count_status(self, (enum review_status)status);

		if (!n)
			continue;
		strbuf_adds(buf, n_said++ ? ", " : "Not examined: ");
		add_count(buf, n, row->one, row->many);
		if (status == REVIEW_NOT_TRAINING || status == REVIEW_EXEMPT)
			add_reasons(self, (enum review_status)status, buf);
	}
	strbuf_adds(buf, n_said ? "\n" : "");
	if (count_status(self, REVIEW_TEMPLATED))
		strbuf_adds(buf, "Templates have to be rendered first: "
				 "helm template CHART | memtamer-webhook review -\n");
	for (size_t i = 0; i < self->subjects.n; i++)
		if (self->subjects.items[i].status == REVIEW_EMPTY)
			strbuf_addf(buf, "%s: %s\n", self->subjects.items[i].file, review_statuses[REVIEW_EMPTY].words);
}

static void add_summary(const struct review *self, struct strbuf *buf)
{
	add_count(buf, self->n_files, "file", "files");
	strbuf_adds(buf, ", ");
	add_count(buf, count_examined(self, true), "pod", "pods");
	strbuf_adds(buf, " and ");
	add_count(buf, count_examined(self, false), "pod template", "pod templates");
	strbuf_adds(buf, " examined");
	add_findings_count(self, buf);
	add_not_examined(self, buf);
	if (self->history_note)
		strbuf_addf(buf, "No history: %s. Sizes come from the manifests alone.\n", self->history_note);
}

/* Lists the subjects without findings, with their status. */
static int add_subjects(const struct review *self, struct strbuf *buf)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(WORDS_BYTES);
	size_t before = buf->len;

	for (size_t i = 0; i < self->subjects.n; i++) {
		const struct review_subject *subject = &self->subjects.items[i];
		const char *words = review_words(&arena, subject);

		if (!words)
			return -ENOMEM;
		if (subject->n_findings)
			continue;
		strbuf_adds(buf, subject->file);
		if (subject->line)
			strbuf_addf(buf, ":%zu:%zu", subject->line, subject->column);
		strbuf_adds(buf, ": ");
		review_add_label(buf, subject->kind, subject->name, subject->role, "");
		strbuf_addf(buf, "%s\n", words);
	}
	if (buf->len > before)
		strbuf_addc(buf, '\n');
	return buf->status;
}

int render_text(const struct review *self, bool has_colour, bool is_verbose, struct strbuf *buf)
{
	for (size_t i = 0; i < self->findings.n; i++) {
		const struct review_finding *f = &self->findings.items[i];

		if (i && f->object != f[-1].object)
			strbuf_addc(buf, '\n');
		add_finding(f, has_colour, buf);
	}
	if (self->findings.n)
		strbuf_addc(buf, '\n');
	if (is_verbose && add_subjects(self, buf))
		return -ENOMEM;
	add_summary(self, buf);
	return buf->status;
}
