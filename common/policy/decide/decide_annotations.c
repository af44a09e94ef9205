/* SPDX-License-Identifier: Apache-2.0 */
/* decide_annotations: what a pod's annotations say about its values: which were set by memtamer, and which by the
 * LimitRanger admission plugin. Each annotation is read once for each pod. */
#include "policy/decide/decide_internal.h"

#include "base/limits.h"
#include "base/str.h"
#include "k8s/keys.h"
#include "policy/render.h"

#include <errno.h>

static bool holds_all(const struct annotation_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (!set->entries[i].holds)
			return false;
	return set->is_whole;
}

int decide_read_annotation(struct pod_facts *self)
{
	const struct k8s_pod *pod = self->input->pod;
	int r;

	if (self->input->subject != SUBJECT_POD)
		return 0;
	r = annotation_parse(k8s_label_get(&pod->annotations, KEY_DECISION), self->arena, &self->said);
	if (r)
		return r == ANNOTATION_NONE ? 0 : r;
	self->has_said = true;
	for (size_t i = 0; i < self->said.n; i++)
		annotation_entry_find(&self->said.entries[i], pod);
	self->is_said_own = annotation_is_of(&self->said, pod);
	self->is_said_held = self->is_said_own && holds_all(&self->said);
	return 0;
}

bool decide_has_set_request(const struct pod_facts *self, const struct sized *item, enum k8s_resource resource)
{
	for (size_t i = 0; self->has_said && i < self->said.n; i++) {
		const struct annotation_entry *entry = &self->said.entries[i];

		STEPS(1);
		if (entry->holds && entry->container == item->container && entry->resource == resource &&
		    entry->field == SIZE_REQUEST)
			return true;
	}
	return false;
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

	/* LimitRanger's annotation contains each container at most twice. */
	if (!text || !strstarts(text, prefix) || strnlen(text, LIMIT_ANNOTATION_BYTES + 1) > LIMIT_ANNOTATION_BYTES)
		return;
	for (text += sizeof(prefix) - 1; *text;) {
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
