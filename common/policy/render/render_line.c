/* SPDX-License-Identifier: Apache-2.0 */
/* render_line: a finding as one line. If it is too long, it loses first what the reader can do without; the reason,
 * which stands at its end, stays. */
#include "base/limits.h"
#include "policy/decide/decide_internal.h"
#include "policy/render/render_internal.h"

#include <string.h>

/* Names are cut to so many characters, if they must be. */
enum { NAME_LEAST = 12, RULE_LEAST = 8 };

#define MARK	   "..."
#define MARK_CHARS (sizeof(MARK) - 1)
#define CONTAINER  "container "

static bool is_long(const char *line)
{
	return strlen(line) > LIMIT_WARNING_CHARS;
}

const char *render_prefix(const char *roles, const struct finding *finding, struct arena *arena)
{
	const char *name = finding->container ? text_clean(arena, finding->container->name, RENDER_NAME_CHARS) : "";

	if (!name)
		return NULL;
	if (!finding->container)
		return arena_printf(arena, RENDER_NAME "%s%s", roles, *roles ? ": " : "");
	return arena_printf(arena, RENDER_NAME "container \"%s\"%s%s: ", name, *roles ? " of " : "", roles);
}

/* The longest text between double quotes, which is a name. */
static char *longest_name(char *line, size_t *ret_n)
{
	char *longest = NULL, *open, *close;

	*ret_n = 0;
	for (char *p = line; (open = strchr(p, '"')) && (close = strchr(open + 1, '"')); p = close + 1)
		if ((size_t)(close - open - 1) > *ret_n) {
			longest = open + 1;
			*ret_n = (size_t)(close - longest);
		}
	return longest;
}

/* Cuts names of containers, the longest first; their beginnings stay. */
static void cut_names(char *line)
{
	size_t n;
	char *name;

	while (is_long(line) && (name = longest_name(line, &n)) && n > NAME_LEAST)
		text_cut(line, LIMIT_WARNING_CHARS, name, n, NAME_LEAST, false);
}

/* A quoted name is a container also without the word. */
static void cut_container(char *line)
{
	char *word = line + strlen(RENDER_NAME);

	if (is_long(line) && strstarts(word, CONTAINER))
		memmove(word, word + strlen(CONTAINER), strlen(word + strlen(CONTAINER)) + 1);
}

/* The name of a rule of the namespace loses its middle: names of one namespace often have the same beginning. */
static void cut_rule(char *line)
{
	static const char *const rules[] = {"LimitRange ", "ClusterQueue ", "quota "};
	char *reason = strstr(line, "; ");

	for (size_t i = 0; reason && i < ARRAY_LEN(rules); i++) {
		char *name = strstr(reason, rules[i]);
		size_t n;

		if (!name)
			continue;
		name += strlen(rules[i]);
		n = strcspn(name, ": )");
		if (is_long(line) && n > RULE_LEAST)
			text_cut(line, LIMIT_WARNING_CHARS, name, n, RULE_LEAST, true);
		return;
	}
}

/* Other names and values. */
static void cut_word(char *line)
{
	text_cut_names(line, LIMIT_WARNING_CHARS);
}

/* What is wrong loses its details, then its end, before what is done about it and why. */
static void cut_head(char *line)
{
	char *end = strstr(line, "; "), *head = line + strlen(RENDER_NAME), *colon = strstr(head, ": "), *comma;
	size_t over;

	if (!end || !is_long(line))
		return;
	if (colon && colon < end)
		head = colon + 2;
	comma = end > head ? memchr(head, ',', (size_t)(end - head)) : NULL;
	if (comma) {
		memmove(comma, end, strlen(end) + 1);
		end = comma;
	}
	if (!is_long(line))
		return;
	over = strlen(line) - LIMIT_WARNING_CHARS + MARK_CHARS;
	if (end <= head + over)
		return;
	memmove(end - over + MARK_CHARS, end, strlen(end) + 1);
	memcpy(end - over, MARK, MARK_CHARS);
}

/* Truncates at the end of a word; the mark counts for the maximum length. */
static void cut_end(char *line)
{
	size_t end = LIMIT_WARNING_CHARS - 3;

	if (!is_long(line))
		return;
	while (end > LIMIT_WARNING_CHARS / 2 && line[end] != ' ')
		end--;
	if (end == LIMIT_WARNING_CHARS / 2)
		end = LIMIT_WARNING_CHARS - 3;
	while (strchr(" ,;:(", line[end - 1]))
		end--;
	memcpy(line + end, MARK, sizeof(MARK));
}

static char *line_of(const char *roles, const struct finding *finding, struct arena *arena)
{
	const char *prefix = render_prefix(roles, finding, arena);
	char *line = prefix ? arena_printf(arena, "%s%s", prefix, finding->text) : NULL;

	if (line)
		cut_names(line);
	return line;
}

char *render_line(const struct render_roles *roles, const struct finding *finding, struct arena *arena)
{
	static void (*const cuts[])(char *line) = {cut_container, cut_rule, cut_word, cut_head, cut_end};
	char *line = line_of(roles->names, finding, arena);

	if (line && is_long(line))
		line = line_of(roles->brief, finding, arena);
	for (size_t i = 0; line && i < ARRAY_LEN(cuts); i++)
		cuts[i](line);
	return line;
}

int render_roles(const char *const *roles, size_t n, struct arena *arena, struct render_roles *ret)
{
	const char *names = "", *first = n ? text_clean(arena, roles[0], RENDER_BRIEF_CHARS) : "";

	for (size_t i = 0; i < MIN(n, RENDER_ROLES); i++)
		names = arena_printf(arena, "%s%s%s", names, i ? ", " : "",
				     text_clean(arena, roles[i], RENDER_NAME_CHARS));
	if (n > RENDER_ROLES)
		names = arena_printf(arena, "%s +%zu", names, n - RENDER_ROLES);
	ret->names = names;
	ret->brief = n > 1 ? arena_printf(arena, "%zu roles", n) : first;
	return arena->has_failed ? -ENOMEM : 0;
}
