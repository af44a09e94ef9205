/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/render.h"

#include "base/limits.h"
#include "k8s/allocator.h"
#include "k8s/keys.h"
#include "policy/decide/decide_internal.h"
#include "policy/render/render_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LEAST = 12 };

/* Begins an operation; the caller adds the value and the closing brace. */
static void op_open(struct strbuf *buf, bool is_replace)
{
	strbuf_adds(buf, buf->len ? "," : "[");
	strbuf_adds(buf, is_replace ? "{\"op\":\"replace\",\"path\":\"" : "{\"op\":\"add\",\"path\":\"");
}

/* The pointer of a container's resources, escaped for a JSON string. */
static void add_container_path(const struct render_place *place, const struct k8s_container *container,
			       struct strbuf *buf)
{
	const char *pointer;

	if (!place) {
		strbuf_addf(buf, "/spec/%s/%zu/resources", k8s_container_array(container), container->index);
		return;
	}
	pointer = arena_printf(place->arena, "/spec/%s/%zu/resources", k8s_container_array(container),
			       container->index);
	pointer = pointer ? kind_template_pointer(place->template_, pointer, place->arena) : NULL;
	if (!pointer)
		buf->status = -ENOMEM;
	else
		strbuf_add_json_text(buf, pointer);
}

static void add_parent(const struct render_place *place, const struct k8s_container *container, const char *child,
		       struct strbuf *buf)
{
	op_open(buf, false);
	add_container_path(place, container, buf);
	strbuf_adds(buf, child);
	strbuf_adds(buf, "\",\"value\":{}}");
}

/* Adds the maps that do not exist yet, once for each container. */
static void add_parents(const struct render_place *place, const struct decision *decision, size_t index,
			struct strbuf *buf)
{
	const struct size_change *size = &decision->sizes[index];
	const struct k8s_container *container = size->container;
	bool is_first = true, is_first_of_field = true;

	for (size_t i = index; i-- > 0 && decision->sizes[i].container == container;) {
		STEPS(1);
		is_first = false;
		is_first_of_field &= decision->sizes[i].field != size->field;
	}
	if (is_first && !container->resources.is_present)
		add_parent(place, container, "", buf);
	if (is_first_of_field && size->field == SIZE_REQUEST && !container->resources.has_requests)
		add_parent(place, container, "/requests", buf);
	if (is_first_of_field && size->field == SIZE_LIMIT && !container->resources.has_limits)
		add_parent(place, container, "/limits", buf);
}

void render_sizes(const struct render_place *place, const struct decision *decision, struct strbuf *buf)
{
	char text[QUANTITY_TEXT_BYTES];

	for (size_t i = 0; i < decision->n_sizes; i++) {
		const struct size_change *size = &decision->sizes[i];
		const struct k8s_resources *resources = &size->container->resources;

		add_parents(place, decision, i, buf);
		/* A value that comes only from defaulting does not exist, so it cannot be replaced. */
		op_open(buf,
			(size->field == SIZE_LIMIT ? resources->limits : resources->requests)[size->resource].text);
		add_container_path(place, size->container, buf);
		strbuf_adds(buf, size->field == SIZE_LIMIT ? "/limits/" : "/requests/");
		strbuf_adds(buf, k8s_resource_names[size->resource]);
		strbuf_adds(buf, "\",\"value\":\"");
		strbuf_adds(buf, quantity_render_bytes(size->to_bytes, text));
		strbuf_adds(buf, "\"}");
	}
}

static void add_envs(const struct decision *decision, struct strbuf *buf)
{
	for (size_t i = 0; i < decision->n_envs; i++) {
		const struct k8s_container *container = decision->envs[i];
		const char *open = container->has_env ? "/-\",\"value\":" : "\",\"value\":[";

		op_open(buf, false);
		strbuf_addf(buf, "/spec/%s/%zu/env%s", k8s_container_array(container), container->index, open);
		strbuf_addf(buf, "{\"name\":\"%s\",\"value\":\"" ALLOCATOR_SETTING "\"}%s}", decision->variable,
			    container->has_env ? "" : "]");
	}
}

/* Adds a key of a metadata map, with the map if it is absent. */
void render_metadata(const struct k8s_labels *labels, const char *map, const char *key, const char *value,
		     struct strbuf *buf)
{
	if (!labels->is_present) {
		op_open(buf, false);
		strbuf_adds(buf, "/metadata/");
		strbuf_adds(buf, map);
		strbuf_adds(buf, "\",\"value\":{}}");
	}
	op_open(buf, k8s_label_get(labels, key) != NULL);
	strbuf_adds(buf, "/metadata/");
	strbuf_adds(buf, map);
	strbuf_addc(buf, '/');
	for (size_t n; *key; key += n + (key[n] != '\0')) {
		n = strcspn(key, "/~");
		strbuf_add(buf, key, n);
		strbuf_adds(buf, key[n] == '/' ? "~1" : key[n] == '~' ? "~0" : "");
	}
	strbuf_adds(buf, "\",\"value\":");
	strbuf_add_json_string(buf, value);
	strbuf_adds(buf, "}");
}

static bool wants_annotation(const struct decision *decision)
{
	if (decision->n_sizes || decision->n_envs)
		return true;
	return (decision->n_findings || decision->mode == MODE_OBSERVE) && !decision->is_annotated;
}

static int add_marks(const struct decide_input *input, const struct decision *decision, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_ANNOTATION_BYTES);
	const struct k8s_pod *pod = input->pod;

	if (decision->workload_id[0] && !streq(k8s_label_get(&pod->labels, KEY_WORKLOAD_ID), decision->workload_id))
		render_metadata(&pod->labels, "labels", KEY_WORKLOAD_ID, decision->workload_id, buf);
	if (!wants_annotation(decision))
		return 0;
	render_annotation(decision, pod, &text);
	if (text.status)
		return text.status;
	render_metadata(&pod->annotations, "annotations", KEY_DECISION, strbuf_text(&text), buf);
	return 0;
}

int render_patch(const struct decide_input *input, const struct decision *decision, struct arena *arena,
		 struct strbuf *buf)
{
	int r = 0;

	(void)arena;
	strbuf_clear(buf);
	if (decision->skip || decision->mode < MODE_OBSERVE)
		return 0;
	render_sizes(NULL, decision, buf);
	add_envs(decision, buf);
	/* Annotations and labels are for pods that are being created: in a manifest they would be copied to every pod
	 * made from it. */
	if (input->subject == SUBJECT_POD)
		r = add_marks(input, decision, buf);
	if (r)
		return r;
	if (buf->len)
		strbuf_adds(buf, "]");
	return buf->status;
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

/* Truncates names, the longest first; their beginnings stay. */
static void cut_names(char *line)
{
	static const char mark[] = "...";
	size_t length, n;
	char *name;

	while ((length = strlen(line)) > LIMIT_WARNING_CHARS && (name = longest_name(line, &n)) && n > NAME_LEAST) {
		size_t over = MIN(length - LIMIT_WARNING_CHARS, n - NAME_LEAST), keep = n - over - (sizeof(mark) - 1);

		memcpy(name + keep, mark, sizeof(mark) - 1);
		memmove(name + n - over, name + n, strlen(name + n) + 1);
	}
}

/* Truncates at the end of a word; the mark counts for the maximum length. */
static void cut_end(char *line)
{
	size_t end = LIMIT_WARNING_CHARS - 3;

	if (strlen(line) <= LIMIT_WARNING_CHARS)
		return;
	while (end > LIMIT_WARNING_CHARS / 2 && line[end] != ' ')
		end--;
	if (end == LIMIT_WARNING_CHARS / 2)
		end = LIMIT_WARNING_CHARS - 3;
	while (strchr(" ,;:(", line[end - 1]))
		end--;
	memcpy(line + end, "...", 4);
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
	char *line = line_of(roles->names, finding, arena);

	if (line && strlen(line) > LIMIT_WARNING_CHARS)
		line = line_of(roles->brief, finding, arena);
	if (line)
		cut_end(line);
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

static bool is_said(char *const *items, size_t n, const char *line)
{
	for (size_t i = 0; i < n; i++)
		if (streq(items[i], line))
			return true;
	return false;
}

int render_warnings(const struct decide_input *input, const struct decision *decision, struct arena *arena,
		    const char *const **ret_items, size_t *ret_n)
{
	bool has_role = input->subject == SUBJECT_TEMPLATE && input->role && input->role[0];
	struct render_roles roles = {"", ""};
	char **items;
	size_t n = 0;

	*ret_items = NULL;
	*ret_n = 0;
	/* The controller would write them to its log, where nobody reads them. */
	if (decision->skip || (input->subject == SUBJECT_POD && k8s_pod_controller(input->pod)))
		return 0;
	items = arena_array(arena, LIMIT_WARNINGS, sizeof(*items));
	if (!items || (has_role && render_roles(&input->role, 1, arena, &roles)))
		return -ENOMEM;
	for (size_t i = 0; i < decision->n_findings && n < LIMIT_WARNINGS; i++) {
		char *line = render_line(&roles, &decision->findings[i], arena);

		if (!line)
			return -ENOMEM;
		if (!is_said(items, n, line))
			items[n++] = line;
	}
	*ret_items = (const char *const *)items;
	*ret_n = n;
	return 0;
}
