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

bool render_has_room(const struct k8s_labels *annotations, const char *key, const struct strbuf *value)
{
	const char *before = k8s_label_get(annotations, key);
	size_t n = annotations->n_bytes + value->len + (before ? 0 : strlen(key));

	return n <= LIMIT_ANNOTATIONS_BYTES + (before ? strlen(before) : 0);
}

static bool wants_annotation(const struct decision *decision)
{
	if (decision->n_sizes || decision->n_envs)
		return true;
	return (decision->n_findings || decision->mode == MODE_OBSERVE) && !decision->is_annotated;
}

/* @return 0; RENDER_NO_ROOM; -errno. */
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
	if (!render_has_room(&pod->annotations, KEY_DECISION, &text))
		return RENDER_NO_ROOM;
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
	if (r == RENDER_NO_ROOM)
		strbuf_clear(buf);
	if (r)
		return r;
	if (buf->len)
		strbuf_adds(buf, "]");
	return buf->status;
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
