/* SPDX-License-Identifier: Apache-2.0 */
/* decide_annotations: what a pod's annotations say about its values: which were set by memtamer, and which by the
 * LimitRanger admission plugin. Each annotation is read once for each pod. */
#include "policy/decide/decide_internal.h"

#include "base/limits.h"
#include "base/str.h"
#include "k8s/keys.h"
#include "policy/render.h"

#include <errno.h>

/* The main container is first; the others are in the order of the pod. */
static struct field *field_of(const struct pod_facts *self, const struct annotation_entry *entry)
{
	size_t index = (size_t)(entry->container - self->input->pod->containers);
	size_t item = index == self->main_index ? 0 : index + (index < self->main_index);

	return &self->items[item].fields[entry->resource == K8S_MEMORY ? SIZED_MEMORY : SIZED_EPHEMERAL][entry->field];
}

/* An annotation that names the pod's controller was written for this pod: a different value was set by another webhook
 * since. Any other annotation may have come with a copied manifest, and only values that the pod has are believed. */
static void read_entry(struct pod_facts *self, const struct strmap *containers, struct annotation_entry *entry)
{
	bool is_for_this_pod = self->is_said_own && self->said.owner && *self->said.owner;

	annotation_entry_find(entry, containers);
	if (!entry->holds && !(is_for_this_pod && streq(entry->rule, SIZE_RULE_REPLACED)))
		self->is_said_held = false;
	if (entry->container && self->is_said_own && (entry->holds || is_for_this_pod))
		field_of(self, entry)->said = entry;
}

int decide_read_annotation(struct pod_facts *self)
{
	CLEANUP(strmap_release) struct strmap containers = STRMAP_INIT;
	const struct k8s_pod *pod = self->input->pod;
	int r;

	if (self->input->subject != SUBJECT_POD)
		return 0;
	r = annotation_parse(k8s_label_get(&pod->annotations, KEY_DECISION), self->arena, &self->said);
	if (r)
		return r == ANNOTATION_NONE ? 0 : r;
	r = annotation_index(pod, &containers);
	if (r)
		return r;
	self->has_said = true;
	self->is_said_own = annotation_is_of(&self->said, pod);
	self->is_said_held = self->is_said_own && self->said.is_whole;
	for (size_t i = 0; i < self->said.n; i++)
		read_entry(self, &containers, &self->said.entries[i]);
	return 0;
}

/* ---- LimitRanger ---- */

/* Whether `resource` is one of the words before " request" or " limit" in "cpu, memory request". */
static bool is_listed(struct str words, const char *resource)
{
	struct str wanted = str_c(resource);

	for (size_t at = 0; at < words.n;) {
		size_t end = at;

		while (end < words.n && words.p[end] != ' ' && words.p[end] != ',')
			end++;
		if (end < words.n && str_eq((struct str){words.p + at, end - at}, wanted))
			return true;
		at = end + 1;
	}
	return false;
}

static void mark_defaults(struct pod_facts *self, struct str words, int f, struct str container)
{
	bool listed[SIZED_COUNT_];

	for (int r = 0; r < SIZED_COUNT_; r++)
		listed[r] = is_listed(words, k8s_resource_names[sized_resource_of((enum sized_resource)r)]);
	STEPS(self->n_items);
	for (size_t i = 0; i < self->n_items; i++) {
		struct sized *item = &self->items[i];

		if (!container.n || !str_eq(str_c(item->container->name), container))
			continue;
		for (int r = 0; r < SIZED_COUNT_; r++)
			item->fields[r][f].is_default |= item->fields[r][f].has && listed[r];
	}
}

/* One entry: "cpu, memory request for container a". */
static void read_default(struct pod_facts *self, struct str entry)
{
	static const struct str fields[2] = {[SIZE_REQUEST] = {"request", 7}, [SIZE_LIMIT] = {"limit", 5}};
	const char *joint = memmem(entry.p, entry.n, " for ", 5), *end = entry.p + entry.n, *name;
	struct str words;

	STEPS_BULK(entry.n);
	if (!joint)
		return;
	words = (struct str){entry.p, (size_t)(joint - entry.p)};
	name = (const char *)memrchr(joint, ' ', (size_t)(end - joint)) + 1;
	for (int f = 0; f < 2; f++)
		if (str_ends(words, fields[f]))
			mark_defaults(self, words, f, (struct str){name, (size_t)(end - name)});
}

void decide_read_defaults(struct pod_facts *self)
{
	static const char prefix[] = "LimitRanger plugin set: ";
	const char *text = k8s_label_get(&self->pod.annotations, KEY_LIMIT_RANGER);
	size_t left = 2 * self->input->pod->n_containers; /* LimitRanger writes requests and limits of a container */

	if (!text || !strstarts(text, prefix) || strnlen(text, LIMIT_ANNOTATION_BYTES + 1) > LIMIT_ANNOTATION_BYTES)
		return;
	for (text += sizeof(prefix) - 1; *text && left > 0; left--) {
		size_t n = strcspn(text, ";");

		read_default(self, (struct str){text, n});
		text += n;
		text += strspn(text, "; ");
	}
}

enum k8s_resource sized_resource_of(enum sized_resource resource)
{
	return resource == SIZED_MEMORY ? K8S_MEMORY : K8S_EPHEMERAL_STORAGE;
}
