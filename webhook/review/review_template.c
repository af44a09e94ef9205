/* SPDX-License-Identifier: Apache-2.0 */
/* review_template: documents that Helm or another engine must render first. Outside of strings YAML cannot read an
 * action such as `{{ .Values.name }}`, or reads its braces as mappings. Inside of strings, as in Argo's workflows and
 * in alerts, it is text like any other. A document that cannot be read ends the reading of its file, so it is replaced
 * by blanks, and the others are read. */
#include "review/review_internal.h"

#include "base/limits.h"
#include "base/str.h"

#include <errno.h>

/* Whether the text after `{{` occurs only in Go templates; Argo's expressions begin with a name. */
static bool is_go_action(const char *p, const char *end)
{
	static const char *const words[] = {"if ",     "else",	 "end",	 "range ",  "with ",   "include ", "template ",
					    "define ", "block ", "tpl ", "toYaml ", "printf ", "required "};

	while (p < end && (*p == '-' || *p == ' '))
		p++;
	if (p < end && (*p == '.' || *p == '$' || *p == '/'))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if ((size_t)(end - p) >= strlen(words[i]) && memcmp(p, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

static const char *words_of(const char *text, size_t n)
{
	const char *end = text + n;

	for (const char *p = text; (p = memmem(p, (size_t)(end - p), "{{", 2)); p += 2)
		if (is_go_action(p + 2, end))
			return "looks like a Helm template; render it first: helm template CHART | memtamer-webhook "
			       "review -";
	return "looks like a template; render it first";
}

int review_note_template(struct review *self, const struct manifest *manifest, const struct review_subject *place,
			 const char *text, size_t n)
{
	struct review_subject subject = *place;
	struct err err = ERR_INIT;

	subject.status = REVIEW_TEMPLATED;
	subject.why = words_of(text, n);
	if (manifest->is_from_walk && !self->is_strict)
		return review_note(self, &subject);
	err_set_at(&err, -EINVAL, subject.file, subject.line, subject.column, "%s", subject.why);
	return review_report(self, manifest, &err);
}

const struct yaml_node *review_find_braces(const char *text, const struct yaml_node *node)
{
	const struct yaml_node *found = NULL;

	STEPS(1);
	if (node->end > node->begin + 1 && memcmp(text + node->begin, "{{", 2) == 0)
		return node;
	for (size_t i = 0; i < node->n && !found; i++) {
		found = node->keys ? review_find_braces(text, &node->keys[i]) : NULL;
		if (!found)
			found = review_find_braces(text, &node->items[i]);
	}
	return found;
}

/* --- Documents that cannot be read --- */

/* A place in the text, moved from its begin to its end. */
struct cursor {
	const char *p;
	size_t line, column;
};

static void move_to(struct cursor *self, const char *p)
{
	STEPS(p - self->p);
	for (; self->p < p; self->p++) {
		if (*self->p == '\n') {
			self->line++;
			self->column = 1;
		} else if ((*self->p & 0xC0) != 0x80) {
			self->column++;
		}
	}
}

/* The begin of the next document: a line that begins with `---`. */
static char *next_document(char *p, char *end)
{
	while ((p = memmem(p, (size_t)(end - p), "\n---", 4))) {
		p++;
		if (p + 3 == end || (p[3] && strchr(" \t\r\n", p[3])))
			return p;
	}
	return end;
}

/* The first action of a document, in braces or between `{%` and `%}`. NULL: none. */
static char *find_action(char *p, char *end)
{
	char *braces = memmem(p, (size_t)(end - p), "{{", 2), *percent = memmem(p, (size_t)(end - p), "{%", 2);

	return !braces || (percent && percent < braces) ? percent : braces;
}

/* What is over a cap counts as readable: it is an error of the file. @return 0; -EINVAL; -ENOMEM. */
static int read_alone(const char *p, const char *end)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(REVIEW_TREE_BYTES);
	struct yaml_documents documents = {0};
	int r = yaml_tree_parse_lenient(p, (size_t)(end - p), "", &arena, &documents, NULL);

	return r == -EINVAL || r == -ENOMEM ? r : 0;
}

/* Lines and the `---`, or the mark of a file, stay. */
static void blank(char *p, const char *end)
{
	struct str text = {p, (size_t)(end - p)};

	STEPS(text.n);
	if (str_starts(text, STR("---")) || str_starts(text, YAML_BYTE_ORDER_MARK))
		p += 3;
	for (; p < end; p++)
		if (*p != '\n' && *p != '\r')
			*p = ' ';
}

/* @return the number of templates; -ENOMEM. */
static int blank_templates(struct review *self, const struct manifest *manifest, const char *file, struct strbuf *text)
{
	struct cursor cursor = {.p = text->text, .line = 1, .column = 1};
	char *end = text->text + text->len, *next;
	int n_tried = 0, n = 0, r = 0;

	STEPS_BULK(text->len);
	for (char *p = text->text; p < end && n_tried < LIMIT_MANIFEST_DOCUMENTS; p = next) {
		char *action;

		next = next_document(p, end);
		action = find_action(p, next);
		if (!action)
			continue;
		n_tried++;
		r = read_alone(p, next);
		if (r != -EINVAL && r)
			return r;
		if (!r)
			continue;
		move_to(&cursor, action);
		if (manifest &&
		    review_note_template(
			    self, manifest,
			    &(struct review_subject){.file = file, .line = cursor.line, .column = cursor.column}, p,
			    (size_t)(next - p)))
			return -ENOMEM;
		blank(p, next);
		n++;
	}
	return n;
}

int review_parse(struct review *self, const struct manifest *manifest, const char *file, struct strbuf *text,
		 struct arena *arena, struct yaml_documents *ret, struct err *err)
{
	int r = yaml_tree_parse_lenient(strbuf_text(text), text->len, file, arena, ret, err), n;

	if (r != -EINVAL)
		return r;
	n = blank_templates(self, manifest, file, text);
	if (n <= 0)
		return n ? n : r;
	r = yaml_tree_parse_lenient(strbuf_text(text), text->len, file, arena, ret, err);
	return r ? r : REVIEW_HAS_TEMPLATES;
}
