/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a verification as text, Markdown and JSON. */
#include "base/json_write.h"
#include "base/plain.h"
#include "triage/verify.h"

#include <stdio.h>

/* "run.log:12", "pod/train-0 spec"; "": no line. */
static void render_source(const struct verification *self, const struct verify_check *check, char *buf, size_t size)
{
	const struct source *source;

	buf[0] = '\0';
	if (check->source == SIZE_MAX)
		return;
	source = &self->triage->facts.sources.items[check->source];
	if (check->number && source->input != INPUT_STATUS)
		snprintf(buf, size, "%s:%llu", PLAIN(source->name), (unsigned long long)check->number);
	else
		snprintf(buf, size, "%s", PLAIN(source->name));
}

static void add_check(const struct verification *self, int i, bool is_markdown, struct strbuf *buf)
{
	const struct verify_check *check = &self->checks[i];
	char source[PLAIN_BYTES + 32], text[sizeof(check->text)];

	render_source(self, check, source, sizeof(source));
	snprintf(text, sizeof(text), "%s", check->text);
	plain_clean(text);
	/* A bar would end the cell. */
	for (char *at = text; is_markdown && (at = strchr(at, '|'));)
		*at = '/';
	if (is_markdown)
		strbuf_addf(buf, "| %s | %s | %s | %s |\n", verify_rows[i].name, verify_answer_names[check->answer],
			    text, source);
	else
		strbuf_addf(buf, "  %-18s  %-7s  %s%s%s%s\n", verify_rows[i].name, verify_answer_names[check->answer],
			    text, *source ? " (" : "", source, *source ? ")" : "");
}

static void add_lines(const struct strbuf *lines, bool is_markdown, const char *head, struct strbuf *buf)
{
	const char *at = strbuf_text(lines);

	if (lines->len)
		strbuf_addf(buf, is_markdown ? "\n## %s\n\n" : "%s\n", head);
	for (struct str line; triage_next_note(&at, &line);)
		strbuf_addf(buf, "%s%.*s\n", is_markdown ? "- " : "  - ", (int)line.n, line.p);
}

static int render(const struct verification *self, bool is_markdown, struct strbuf *buf)
{
	const struct verdict *verdict = &self->triage->verdict;
	char why[sizeof(self->why)];

	snprintf(why, sizeof(why), "%s", self->why);
	plain_clean(why);
	strbuf_addf(buf, is_markdown ? "# %s\n\n%s\n" : "%s: %s\n", verify_outcome_names[self->outcome], why);
	strbuf_addf(buf, "%sCrash: %s%s%s (%s). New run: %s (confidence: %s).\n", is_markdown ? "\n" : "  ",
		    triage_kinds[self->crash->kind].name, *self->crash->cause ? ", " : "", PLAIN(self->crash->cause),
		    PLAIN(self->crash->source), triage_kinds[verdict->kind].name,
		    triage_confidence_names[verdict->confidence]);
	strbuf_adds(buf, is_markdown ? "\n| check | answer | figure | source |\n|---|---|---|---|\n" : "Checks\n");
	for (int i = 0; i < VERIFY_COUNT_; i++)
		add_check(self, i, is_markdown, buf);
	add_lines(&self->next, is_markdown, "Next", buf);
	add_lines(&self->triage->unseen, is_markdown, "Not seen", buf);
	return buf->status;
}

int verify_text(const struct verification *self, struct strbuf *buf)
{
	return render(self, false, buf);
}

int verify_markdown(const struct verification *self, struct strbuf *buf)
{
	return render(self, true, buf);
}

/* ---- JSON ---- */

static void add_crash(const struct crash *crash, struct strbuf *buf)
{
	json_write_open(buf, "crash", '{');
	json_write_text(buf, "source", crash->source);
	json_write_text(buf, "kind", triage_kinds[crash->kind].name);
	json_write_text(buf, "cause", *crash->cause ? crash->cause : NULL);
	strbuf_addc(buf, '}');
}

static void add_run(const struct verdict *verdict, struct strbuf *buf)
{
	json_write_open(buf, "run", '{');
	json_write_text(buf, "kind", triage_kinds[verdict->kind].name);
	json_write_text(buf, "cause", verdict->cause);
	json_write_text(buf, "confidence", triage_confidence_names[verdict->confidence]);
	json_write_text(buf, "rule", verdict->rule->name);
	json_write_text(buf, "why", verdict->why);
	strbuf_addc(buf, '}');
}

static void add_json_check(const struct verification *self, int i, struct strbuf *buf)
{
	const struct verify_check *check = &self->checks[i];

	json_write_line(buf, 4);
	json_write_open(buf, NULL, '{');
	json_write_text(buf, "name", verify_rows[i].name);
	json_write_text(buf, "answer", verify_answer_names[check->answer]);
	json_write_text(buf, "figure", check->text);
	json_write_text(buf, "source",
			check->source != SIZE_MAX ? self->triage->facts.sources.items[check->source].name : NULL);
	json_write_int_or_null(buf, "line", (int64_t)check->number);
	strbuf_addc(buf, '}');
}

static void add_texts(const char *key, const struct strbuf *lines, struct strbuf *buf)
{
	const char *at = strbuf_text(lines);
	char text[KIB];

	json_write_open(buf, key, '[');
	for (struct str line; triage_next_note(&at, &line);) {
		str_to_line(line, text, sizeof(text));
		json_write_text(buf, NULL, text);
	}
	strbuf_addc(buf, ']');
}

int verify_json(const struct verification *self, struct strbuf *buf)
{
	json_write_open(buf, NULL, '{');
	json_write_text(buf, "apiVersion", TRIAGE_API_VERSION);
	json_write_text(buf, "verdict", verify_outcome_names[self->outcome]);
	json_write_text(buf, "why", self->why);
	json_write_line(buf, 2);
	add_crash(self->crash, buf);
	json_write_line(buf, 2);
	add_run(&self->triage->verdict, buf);
	json_write_line(buf, 2);
	json_write_open(buf, "checks", '[');
	for (int i = 0; i < VERIFY_COUNT_; i++)
		add_json_check(self, i, buf);
	strbuf_addc(buf, ']');
	json_write_line(buf, 2);
	add_texts("next", &self->next, buf);
	add_texts("unseen", &self->triage->unseen, buf);
	return strbuf_adds(buf, "}\n");
}
