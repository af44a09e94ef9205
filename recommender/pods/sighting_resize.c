/* SPDX-License-Identifier: Apache-2.0 */
/* sighting_resize: adds the values that our resizes set to the decision of a pod, in the form of its annotation. A
 * resize cannot write annotations, and we have no right to patch pods. Resizes are recorded in metadata.managedFields,
 * under our field manager, whose name contains the limit that the container had before the first resize. Thus audit,
 * harm and own sizes only need to read the annotation. */
#include "base/json.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "k8s/quantity.h"
#include "pods/sighting_internal.h"
#include "resize/resize_pod.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { POD_DEPTH = 32 };

static bool is_entry(struct json_object *entry, const char *container, const char *field)
{
	const char *c, *r, *f;

	return json_get_string(entry, "", "c", &c, NULL) == 0 && json_get_string(entry, "", "r", &r, NULL) == 0 &&
	       json_get_string(entry, "", "f", &f, NULL) == 0 && streq(c, container) && streq(r, "memory") &&
	       streq(f, field);
}

/* The entry of the annotation for this value; NULL: none. */
static struct json_object *find_entry(struct json_object *set, const char *container, const char *field)
{
	for (size_t i = 0; i < json_object_array_length(set); i++) {
		struct json_object *entry = json_object_array_get_idx(set, i);

		if (json_object_is_type(entry, json_type_object) && is_entry(entry, container, field))
			return entry;
	}
	return NULL;
}

static int set_text(struct json_object *entry, const char *key, const char *value)
{
	return json_add(entry, key, json_object_new_string(value));
}

static int new_entry(struct json_object *set, const char *container, const char *field, int64_t own_bytes,
		     struct json_object **ret)
{
	char text[QUANTITY_TEXT_BYTES];
	struct json_object *entry = json_object_new_object();
	int r = entry ? set_text(entry, "c", container) : -ENOMEM;

	r = r ? r : set_text(entry, "r", "memory");
	r = r ? r : set_text(entry, "f", field);
	r = r ? r : set_text(entry, "from", quantity_render_bytes(own_bytes, text));
	if (r) {
		json_object_put(entry);
		return r;
	}
	*ret = entry;
	return json_append(set, entry);
}

/* Sets the value in the annotation's entry, or in a new one. An existing entry keeps its `from`, which is the value of
 * the manifest. */
static int note_value(struct json_object *set, const char *container, const char *field,
		      const struct resize_container *resized, int64_t to_bytes)
{
	char text[QUANTITY_TEXT_BYTES], rule[32];
	struct json_object *entry = find_entry(set, container, field);
	int r = entry ? 0 : new_entry(set, container, field, resized->own_bytes, &entry);

	snprintf(rule, sizeof(rule), "resize-%s", resize_kind_names[resized->own_kind]);
	r = r ? r : set_text(entry, "to", quantity_render_bytes(to_bytes, text));
	r = r ? r : set_text(entry, "at", resized->own_time);
	return r ? r : set_text(entry, "rule", rule);
}

static int note_container(struct json_object *set, struct json_object *pod, struct sighting_container *container)
{
	const char *name = container->name;
	struct resize_container resized;
	int r;

	if (!resize_container_read(pod, name, &resized) || !resized.own_bytes ||
	    resized.own_bytes == resized.limit_bytes)
		return 0;
	container->resized_from_bytes = resized.own_bytes;
	if (time_parse(resized.own_time, strlen(resized.own_time), &container->resized_ms))
		container->resized_ms = 0;
	r = note_value(set, name, "limit", &resized, resized.limit_bytes);
	if (!r && resized.request_bytes == resized.limit_bytes) /* the resize raised both */
		r = note_value(set, name, "request", &resized, resized.request_bytes);
	return r;
}

/* Parses the pod's annotation, or an empty one if it has none. 0; 1: an annotation without a list `set`, which is left
 * as it is; -ENOMEM. */
static int begin(const char *decision, struct json_object **ret, struct json_object **ret_set)
{
	static const char empty[] = "{\"v\":1,\"mode\":\"raise\",\"set\":[]}";
	int r = 0;

	if (!*decision || json_parse(decision, strlen(decision), POD_DEPTH, ret, NULL) != 0)
		r = json_parse(empty, sizeof(empty) - 1, POD_DEPTH, ret, NULL);
	if (!r && json_get_array(*ret, "", "set", ret_set, NULL) != 0)
		r = 1; /* not of our form: nothing can be added */
	return r;
}

int sighting_note_resizes(struct sighting *self, const char *text, size_t n)
{
	CLEANUP(json_putp) struct json_object *pod = NULL;
	CLEANUP(json_putp) struct json_object *decision = NULL;
	struct json_object *set = NULL;
	int r;

	if (!memmem(text, n, "\"" RESIZE_MANAGER, sizeof("\"" RESIZE_MANAGER) - 1))
		return 0; /* most pods were never resized */
	if (json_parse(text, n, POD_DEPTH, &pod, NULL))
		return 0;
	r = begin(self->decision, &decision, &set);
	if (r)
		return MIN(r, 0);
	for (size_t i = 0; i < self->containers.n && !r; i++)
		r = note_container(set, pod, &self->containers.items[i]);
	if (r || !json_object_array_length(set))
		return r;
	return sighting_text_set(
		&self->decision,
		json_object_to_json_string_ext(decision, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}
