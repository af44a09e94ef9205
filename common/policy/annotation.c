/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/annotation.h"

#include "base/json.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "k8s/quantity.h"
#include "policy/decide.h"
#include "policy/render_internal.h"

#include <string.h>

_Static_assert(sizeof(((struct annotation_value *)NULL)->cap) > DECISION_CAP_CHARS, "what we write must fit");

static bool text_of(struct json_object *object, const char *key, const char **ret)
{
	return json_get_string(object, "", key, ret, NULL) == 0;
}

/* A value is a whole number of bytes, or nothing that we wrote. */
static bool bytes_of(struct json_object *object, const char *key, int64_t *ret)
{
	struct quantity quantity;
	const char *text;

	if (!text_of(object, key, &text) || quantity_parse(text, strlen(text), &quantity, NULL) != 0)
		return false;
	*ret = quantity_value(&quantity);
	return *ret >= 0;
}

/* Where an entry belongs; NULL: not in this container, or of no resource that we set. */
static struct annotation_value *place_of(struct json_object *entry, const char *container,
					 struct annotation_container *ret)
{
	const char *name, *resource, *field;
	int r, f;

	if (!json_object_is_type(entry, json_type_object) || !text_of(entry, "c", &name) || !streq(name, container) ||
	    !text_of(entry, "r", &resource) || !text_of(entry, "f", &field))
		return NULL;
	f = streq(field, "limit") ? SIZE_LIMIT : streq(field, "request") ? SIZE_REQUEST : -1;
	r = streq(resource, k8s_resource_names[K8S_MEMORY])		 ? ANNOTATION_MEMORY
	    : streq(resource, k8s_resource_names[K8S_EPHEMERAL_STORAGE]) ? ANNOTATION_EPHEMERAL
									 : -1;
	return f < 0 || r < 0 ? NULL : &ret->values[f][r];
}

/* Words of ours are short and printable ASCII. Others were not written by us, and nothing is taken of them: a part
 * could end inside a character, which no store can be read again with, and what is kept is printed to terminals. */
static void take_words(struct json_object *entry, const char *key, char *ret, size_t size)
{
	const char *text = "";
	size_t n;

	if (!text_of(entry, key, &text))
		return;
	n = strlen(text);
	if (n >= size)
		return;
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			return;
	memcpy(ret, text, n + 1);
}

static void read_entry(struct json_object *entry, const char *container, struct annotation_container *ret)
{
	struct annotation_value *value = place_of(entry, container, ret), read = {.is_set = true};
	const char *at = "";

	if (!value || !bytes_of(entry, "to", &read.to_bytes))
		return;
	read.has_from = bytes_of(entry, "from", &read.from_bytes);
	if (text_of(entry, "at", &at) && time_parse(at, strlen(at), &read.at_ms))
		read.at_ms = 0;
	take_words(entry, "rule", read.rule, sizeof(read.rule));
	take_words(entry, "cap", read.cap, sizeof(read.cap));
	*value = read;
}

static int64_t number_of(struct json_object *object, const char *key)
{
	int64_t number = 0;

	return json_get_int64(object, "", key, &number, NULL) == 0 && number > 0 ? number : 0;
}

bool annotation_read(const char *text, const char *container, struct annotation *ret,
		     struct annotation_container *ret_container)
{
	CLEANUP(json_putp) struct json_object *object = annotation_parse(text);
	struct json_object *set = NULL;
	const char *mode = "";

	if (!object || !text_of(object, "mode", &mode) || mode_parse(mode) < 0 ||
	    json_get_array(object, "", "set", &set, NULL) != 0)
		return false;
	*ret = (struct annotation){.mode = (enum mode)mode_parse(mode),
				   .revision = number_of(object, "rev"),
				   .whole_runs = (int)MIN(number_of(object, "runs"), INT32_MAX)};
	if (!ret_container)
		return true;
	*ret_container = (struct annotation_container){0};
	for (size_t i = 0; i < json_object_array_length(set); i++)
		read_entry(json_object_array_get_idx(set, i), container, ret_container);
	return true;
}

bool annotation_is_own(const char *text, const struct k8s_pod *pod)
{
	CLEANUP(json_putp) struct json_object *object = annotation_parse(text);

	return object && annotation_is_of(object, pod);
}
