/* SPDX-License-Identifier: Apache-2.0 */
#include "worst_bodies.h"

#include "base/err.h"
#include "base/io.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the file ---- */

static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " ");
	size_t n = strcspn(word, " ");

	*at = word + n + (word[n] != '\0');
	word[n] = '\0';
	return word;
}

/* "[name] route group/kind operation", the last two optional. */
static void read_head(char *line, struct worst_body *ret)
{
	char *end = strchr(line, ']'), *kind;

	*ret = (struct worst_body){
		.name = line + 1, .group = "", .operation = "CREATE", .object = "", .old_object = ""};
	if (!end)
		return;
	*end++ = '\0';
	ret->route = next_word(&end);
	ret->kind = "Pod";
	kind = next_word(&end);
	if (!*kind)
		return;
	ret->kind = strchr(kind, '/') + 1;
	ret->group = kind;
	*strchr(kind, '/') = '\0';
	if (*end)
		ret->operation = next_word(&end);
}

/* An object is one line; a second one is the old object. */
static int read_line(struct worst_bodies *self, char *line)
{
	struct worst_body *body = self->n ? &self->items[self->n - 1] : NULL;

	if (!*line || *line == '#')
		return 0;
	if (*line == '[') {
		if (self->n == WORST_BODIES_MAX || !strchr(line, ']'))
			return 1;
		read_head(line, &self->items[self->n++]);
		return 0;
	}
	if (!body || *body->old_object)
		return 1;
	*(*body->object ? &body->old_object : &body->object) = line;
	body->is_growing |= strstr(line, "<n") != NULL;
	return 0;
}

int worst_bodies_read(struct worst_bodies *self, const char *path)
{
	struct err err = ERR_INIT;
	char *line, *end;

	*self = (struct worst_bodies){.text = STRBUF_INIT(MIB)};
	if (io_read_file(path, &self->text, &err)) {
		fprintf(stderr, "%s: %s\n", path, err.msg);
		return 1;
	}
	for (line = self->text.text; line && *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (read_line(self, line)) {
			fprintf(stderr, "%s: cannot read: %.80s\n", path, line);
			return 1;
		}
	}
	return 0;
}

void worst_bodies_release(struct worst_bodies *self)
{
	strbuf_release(&self->text);
}

/* ---- one review ---- */

/* The `>` that ends what `<` begins. */
static const char *end_of(const char *p)
{
	for (int depth = 1; *p; p++) {
		depth += (*p == '<') - (*p == '>');
		if (!depth)
			return p;
	}
	return p;
}

static void expand(const char *text, const char *end, size_t n, size_t index, struct strbuf *ret);

/* "<n,TEXT>" or "<128,TEXT>": repeated with commas between; "<n TEXT>": without. */
static const char *expand_repeated(const char *text, size_t n, struct strbuf *ret)
{
	size_t count = *text == 'n' ? n : strtoul(text, NULL, 10);
	const char *inside = text + strcspn(text, ", "), *end = end_of(inside + 1);

	for (size_t i = 0; i < count && !ret->status; i++) {
		if (i && *inside == ',')
			strbuf_addc(ret, ',');
		expand(inside + 1, end, n, i, ret);
	}
	return end + 1;
}

static void expand(const char *text, const char *end, size_t n, size_t index, struct strbuf *ret)
{
	while (text < end && !ret->status) {
		size_t plain = strcspn(text, "<#");

		plain = MIN(plain, (size_t)(end - text));
		strbuf_add(ret, text, plain);
		text += plain;
		if (text == end)
			return;
		if (*text == '<') {
			text = expand_repeated(text + 1, n, ret);
		} else {
			strbuf_addf(ret, "%zu", index);
			text++;
		}
	}
}

int worst_body_expand(const struct worst_body *self, size_t n, struct strbuf *ret)
{
	const char *texts[] = {self->object, self->old_object};
	static const char *const keys[] = {",\"object\":", ",\"oldObject\":"};

	strbuf_clear(ret);
	strbuf_addf(ret,
		    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u\","
		    "\"kind\":{\"group\":\"%s\",\"version\":\"v1\",\"kind\":\"%s\"},\"namespace\":\"ml\","
		    "\"operation\":\"%s\"",
		    self->group, self->kind, self->operation);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (!*texts[i])
			continue;
		strbuf_adds(ret, keys[i]);
		expand(texts[i], texts[i] + strlen(texts[i]), n, 0, ret);
	}
	return strbuf_adds(ret, "}}");
}

size_t worst_body_fill(const struct worst_body *self, size_t max_bytes, struct strbuf *ret)
{
	size_t n = self->is_growing ? 1024 : 1;

	/* Items get longer with their index, so the first guess is too large and the next ones come near from above. */
	ret->max = SIZE_MAX / 2;
	(void)worst_body_expand(self, n, ret);
	if (self->is_growing)
		n = n * max_bytes / ret->len + 1;
	while (!worst_body_expand(self, n, ret) && ret->len > max_bytes && n > 1)
		n = (size_t)((double)n * (double)max_bytes / (double)ret->len);
	ret->max = LIMIT_REVIEW_BYTES;
	return n;
}
