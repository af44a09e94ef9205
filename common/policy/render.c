/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/render.h"

#include "base/limits.h"
#include "policy/decide_internal.h"
#include "policy/render_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An operation without its value; the caller adds it and the closing brace. */
static void op_open(struct strbuf *buf, bool is_replace)
{
	strbuf_adds(buf, buf->len ? "," : "[");
	strbuf_adds(buf, is_replace ? "{\"op\":\"replace\",\"path\":\"" : "{\"op\":\"add\",\"path\":\"");
}

/* The pointer of a container's resources, as it stands in a JSON string. */
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

/* The maps that do not exist yet, once a container. */
static void add_parents(const struct render_place *place, const struct decision *decision, size_t index,
			struct strbuf *buf)
{
	const struct size_change *size = &decision->sizes[index];
	const struct k8s_container *container = size->container;
	bool is_first = true, is_first_of_field = true;

	for (size_t i = 0; i < index; i++) {
		if (decision->sizes[i].container != container)
			continue;
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
		/* A value that only the defaulting made is not there to be replaced. */
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

/* Key of a metadata map, with its parent when that is absent. */
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

static bool wants_annotation(const struct k8s_pod *pod, const struct decision *decision)
{
	if (decision->n_sizes)
		return true;
	if (!decision->n_findings && decision->mode != MODE_OBSERVE)
		return false;
	return !decision_is_settled(pod) && !annotation_says_nothing_set(pod, decision->mode);
}

static int add_marks(const struct decide_input *input, const struct decision *decision, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	const struct k8s_pod *pod = input->pod;

	if (decision->workload_id[0] &&
	    !streq(k8s_label_get(&pod->labels, IDENTITY_LABEL_WORKLOAD_ID), decision->workload_id))
		render_metadata(&pod->labels, "labels", IDENTITY_LABEL_WORKLOAD_ID, decision->workload_id, buf);
	if (!wants_annotation(pod, decision))
		return 0;
	render_annotation(decision, pod, &text);
	if (text.status)
		return text.status;
	render_metadata(&pod->annotations, "annotations", ANNOTATION_DECISION, strbuf_text(&text), buf);
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
	/* A template's marks would be drift in its manifest; its pods get them. */
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

/* Cut at the end of a word; the mark of the cut belongs to the 120. */
static char *fit_line(struct arena *arena, const char *prefix, const char *text)
{
	char *line = arena_printf(arena, "%s%s", prefix, text);
	size_t end = LIMIT_WARNING_CHARS - 3, least = strlen(prefix);

	if (!line || strlen(line) <= LIMIT_WARNING_CHARS)
		return line;
	while (end > least && line[end] != ' ')
		end--;
	if (end <= least)
		end = LIMIT_WARNING_CHARS - 3;
	while (end > least && strchr(" ,;:(", line[end - 1]))
		end--;
	memcpy(line + end, "...", 4);
	return line;
}

char *render_line(const char *roles, const struct finding *finding, struct arena *arena)
{
	const char *prefix = render_prefix(roles, finding, arena);

	return prefix ? fit_line(arena, prefix, finding->text) : NULL;
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
	const char *role = "";
	char **items;
	size_t n = 0;

	*ret_items = NULL;
	*ret_n = 0;
	/* The controller would write them to its log; nobody reads them there. */
	if (decision->skip || (input->subject == SUBJECT_POD && k8s_pod_controller(input->pod)))
		return 0;
	items = arena_array(arena, LIMIT_WARNINGS, sizeof(*items));
	if (has_role)
		role = text_clean(arena, input->role, RENDER_ROLE_CHARS);
	if (!items || !role)
		return -ENOMEM;
	for (size_t i = 0; i < decision->n_findings && n < LIMIT_WARNINGS; i++) {
		char *line = render_line(role, &decision->findings[i], arena);

		if (!line)
			return -ENOMEM;
		if (!is_said(items, n, line))
			items[n++] = line;
	}
	*ret_items = (const char *const *)items;
	*ret_n = n;
	return 0;
}
