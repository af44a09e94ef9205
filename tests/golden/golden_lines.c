/* SPDX-License-Identifier: Apache-2.0 */
#include "golden_lines.h"

#include "base/io.h"
#include "base/limits.h"
#include "policy/render/render_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int golden_lines_add(struct golden_lines *self, const struct decide_input *input, const struct decision *decision,
		     struct arena *arena)
{
	bool has_role = input->subject == SUBJECT_TEMPLATE && input->role && *input->role;
	struct render_roles roles;

	if (render_roles(&input->role, has_role, arena, &roles))
		return -1;
	for (size_t i = 0; i < decision->n_findings; i++) {
		const char *text = render_line(&roles, &decision->findings[i], arena);
		struct golden_line line = {decision->findings[i].check, text ? strdup(text) : NULL};

		if (!line.text || vec_push(&self->lines, line))
			return -1;
	}
	return 0;
}

static int by_check(const void *a, const void *b)
{
	const struct golden_line *left = a, *right = b;

	return left->check != right->check ? (int)left->check - (int)right->check : strcmp(left->text, right->text);
}

static bool is_bad(const char *text)
{
	return strlen(text) > LIMIT_WARNING_CHARS || str_ends(str_c(text), STR("..."));
}

static void render(const struct golden_lines *self, struct strbuf *buf)
{
	for (size_t i = 0; i < self->lines.n; i++) {
		const struct golden_line *line = &self->lines.items[i];

		if (!i || line->check != line[-1].check)
			strbuf_addf(buf, "%s%s (%s)\n", i ? "\n" : "", check_table[line->check].name,
				    check_severity_names[check_table[line->check].severity]);
		if (!i || line->check != line[-1].check || strcmp(line->text, line[-1].text) != 0)
			strbuf_addf(buf, "  %s\n", line->text);
	}
}

int golden_lines_check(struct golden_lines *self, const char *path, bool is_update)
{
	CLEANUP(strbuf_release) struct strbuf now = STRBUF_INIT(LIMIT_MANIFEST_BYTES);
	CLEANUP(strbuf_release) struct strbuf kept = STRBUF_INIT(LIMIT_MANIFEST_BYTES);
	int failed = 0;

	if (self->lines.n)
		qsort(self->lines.items, self->lines.n, sizeof(*self->lines.items), by_check);
	for (size_t i = 0; i < self->lines.n; i++)
		if (is_bad(self->lines.items[i].text)) {
			fprintf(stderr, "too long or cut: %s\n", self->lines.items[i].text);
			failed = -1;
		}
	render(self, &now);
	if (is_update)
		return io_write_file_atomic(path, strbuf_text(&now), now.len, 0644, NULL) ? -1 : failed;
	if (io_read_file(path, &kept, NULL) || strcmp(strbuf_text(&kept), strbuf_text(&now)) != 0) {
		fprintf(stderr, "%s differs from the warnings of the cases\n", path);
		failed = -1;
	}
	return failed;
}

void golden_lines_release(struct golden_lines *self)
{
	for (size_t i = 0; i < self->lines.n; i++)
		free(self->lines.items[i].text);
	vec_release(&self->lines);
}
