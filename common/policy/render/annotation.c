/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/annotation.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "k8s/allocator.h"
#include "k8s/doc.h"
#include "policy/decide.h"

#include <errno.h>
#include <string.h>

_Static_assert(sizeof(((struct annotation_value *)NULL)->cap) > DECISION_CAP_CHARS, "what we write must fit");

/* Room for an annotation's text, a node for each value and an entry for each item of `set`. */
#define ARENA_BYTES (8 * MIB)

static const struct allow leaf = {.fields = NULL};
static const struct allow_field entry_fields[] = {
	ALLOW_FIELD("c", leaf),	 ALLOW_FIELD("r", leaf),    ALLOW_FIELD("f", leaf),   ALLOW_FIELD("from", leaf),
	ALLOW_FIELD("to", leaf), ALLOW_FIELD("rule", leaf), ALLOW_FIELD("cap", leaf), ALLOW_FIELD("at", leaf),
};
static const struct allow entry = {ALLOW_FIELDS(entry_fields)};
static const struct allow_field annotation_fields[] = {
	ALLOW_FIELD("v", leaf),	   ALLOW_FIELD("of", leaf),   ALLOW_FIELD("mode", leaf), ALLOW_FIELD("rev", leaf),
	ALLOW_FIELD("runs", leaf), ALLOW_FIELD("set", entry), ALLOW_FIELD("env", leaf),
};
static const struct allow annotation = {ALLOW_FIELDS(annotation_fields)};

/* The member if it has this type; NULL otherwise. */
static const struct doc *typed(const struct doc *object, const char *key, enum doc_type type)
{
	const struct doc *value = doc_member(object, key);

	return value && value->type == type ? value : NULL;
}

static const char *text_of(const struct doc *object, const char *key, const char *otherwise)
{
	const struct doc *value = typed(object, key, DOC_STRING);

	return value ? value->text : otherwise;
}

/* We never write negative values. */
static bool quantity_of(const struct doc *value, struct quantity *ret)
{
	return value && quantity_parse(value->text, value->n_text, ret, NULL) == 0 && ret->nano >= 0;
}

static int64_t number_of(const struct doc *object, const char *key)
{
	struct quantity number;

	return quantity_of(typed(object, key, DOC_NUMBER), &number) ? quantity_value(&number) : 0;
}

static int index_of(const char *text, const char *first, const char *second)
{
	return streq(text, first) ? 0 : streq(text, second) ? 1 : -1;
}

/* @return false: not a valid entry. */
static bool read_entry(const struct doc *item, struct annotation_entry *ret)
{
	int resource = index_of(text_of(item, "r", ""), k8s_resource_names[K8S_MEMORY],
				k8s_resource_names[K8S_EPHEMERAL_STORAGE]);
	int field = index_of(text_of(item, "f", ""), "request", "limit");

	*ret = (struct annotation_entry){
		.container_name = text_of(item, "c", NULL),
		.resource = resource == 0 ? K8S_MEMORY : K8S_EPHEMERAL_STORAGE,
		.field = field == 0 ? SIZE_REQUEST : SIZE_LIMIT,
		.rule = text_of(item, "rule", ""),
		.cap = text_of(item, "cap", ""),
		.at = text_of(item, "at", ""),
	};
	ret->has_from = quantity_of(typed(item, "from", DOC_STRING), &ret->from);
	return ret->container_name && resource >= 0 && field >= 0 &&
	       quantity_of(typed(item, "to", DOC_STRING), &ret->to);
}

static int read_set(const struct doc *set, struct arena *arena, struct annotation_set *ret)
{
	ret->entries = arena_array(arena, set->n_items + 1, sizeof(*ret->entries));
	if (!ret->entries)
		return -ENOMEM;
	for (const struct doc *item = set->first; item; item = item->next)
		ret->n += read_entry(item, &ret->entries[ret->n]);
	ret->is_whole = ret->n == set->n_items;
	return 0;
}

static const char *known_variable(const char *name)
{
	static const char *const names[] = {ALLOCATOR_VARIABLE, ALLOCATOR_VARIABLE_CUDA, ALLOCATOR_VARIABLE_HIP};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (streq(name, names[i]))
			return names[i];
	return NULL;
}

int annotation_parse(const char *text, struct arena *arena, struct annotation_set *ret)
{
	size_t n = text ? strnlen(text, LIMIT_ANNOTATION_BYTES + 1) : 0;
	const struct doc *set;
	struct doc doc;
	int r, mode;

	if (!n || n > LIMIT_ANNOTATION_BYTES)
		return ANNOTATION_NONE;
	r = doc_read(text, n, &annotation, arena, &doc, NULL);
	set = typed(&doc, "set", DOC_ARRAY);
	if (r || number_of(&doc, "v") != ANNOTATION_VERSION || !set || set->n_items > LIMIT_ANNOTATION_ENTRIES)
		return r == -ENOMEM ? r : ANNOTATION_NONE;
	mode = mode_parse(text_of(&doc, "mode", ""));
	*ret = (struct annotation_set){
		.head = {.mode = mode < 0 ? MODE_OFF : (enum mode)mode,
			 .revision = number_of(&doc, "rev"),
			 .whole_runs = (int)MIN(number_of(&doc, "runs"), INT32_MAX),
			 .variable = known_variable(text_of(&doc, "env", ""))},
		.has_mode = mode >= 0,
		.owner = text_of(&doc, "of", NULL),
	};
	return read_set(set, arena, ret);
}

int annotation_index(const struct k8s_pod *pod, struct strmap *ret)
{
	int r = 0;

	STEPS(pod->n_containers);
	for (size_t i = pod->n_containers; i-- > 0 && !r;) /* the first of a name replaces others */
		r = strmap_put(ret, pod->containers[i].name, &pod->containers[i]);
	return r;
}

void annotation_entry_find(struct annotation_entry *self, const struct strmap *containers)
{
	const struct k8s_resources *resources;

	self->container = strmap_get(containers, self->container_name);
	if (!self->container)
		return;
	resources = &self->container->resources;
	self->amount = self->field == SIZE_LIMIT ? &resources->limits[self->resource]
						 : &resources->requests[self->resource];
	self->holds = self->amount->text && !self->amount->is_invalid &&
		      quantity_cmp(&self->amount->quantity, &self->to) == 0;
}

struct size_change annotation_entry_size(const struct annotation_entry *self)
{
	return (struct size_change){
		.container = self->container,
		.resource = self->resource,
		.field = (enum size_field)self->field,
		.has_from = self->has_from,
		.from_bytes = quantity_value(&self->from),
		.to_bytes = quantity_value(&self->to),
		.rule = self->rule,
		.cap = *self->cap ? self->cap : NULL,
	};
}

bool annotation_is_of(const struct annotation_set *self, const struct k8s_pod *pod)
{
	const struct k8s_owner *controller = k8s_pod_controller(pod);

	/* Older versions, which may run beside us during an upgrade, do not write the owner. */
	return !self->owner || streq(self->owner, controller ? controller->uid : "");
}

/* ---- for the recommender ---- */

/* Our texts are short and printable ASCII. Any other text is not ours and is dropped: a part of it could end within a
 * character, which a store could not read again, and texts are printed to terminals. */
static void take_words(const char *text, char *ret, size_t size)
{
	size_t n = strnlen(text, size);

	if (n == size)
		return;
	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			return;
	memcpy(ret, text, n + 1);
}

static void take_entry(const struct annotation_entry *from, struct annotation_container *ret)
{
	int resource = from->resource == K8S_MEMORY ? ANNOTATION_MEMORY : ANNOTATION_EPHEMERAL;
	struct annotation_value *value = &ret->values[from->field][resource];

	*value = (struct annotation_value){
		.is_set = true,
		.has_from = from->has_from,
		.from_bytes = quantity_value(&from->from),
		.to_bytes = quantity_value(&from->to),
	};
	if (time_parse(from->at, strlen(from->at), &value->at_ms))
		value->at_ms = 0;
	take_words(from->rule, value->rule, sizeof(value->rule));
	take_words(from->cap, value->cap, sizeof(value->cap));
}

bool annotation_read(const char *text, const char *container, struct annotation *ret,
		     struct annotation_container *ret_container)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(ARENA_BYTES);
	struct annotation_set set;

	if (annotation_parse(text, &arena, &set) || !set.has_mode)
		return false;
	*ret = set.head;
	ret->has_owner = set.owner && *set.owner;
	if (!ret_container)
		return true;
	*ret_container = (struct annotation_container){0};
	for (size_t i = 0; i < set.n; i++)
		if (streq(set.entries[i].container_name, container))
			take_entry(&set.entries[i], ret_container);
	return true;
}

bool annotation_is_own(const char *text, const struct k8s_pod *pod)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(ARENA_BYTES);
	struct annotation_set set;

	return annotation_parse(text, &arena, &set) == 0 && annotation_is_of(&set, pod);
}
