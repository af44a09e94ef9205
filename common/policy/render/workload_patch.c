/* SPDX-License-Identifier: Apache-2.0 */
/* workload_patch: writes sizes into the pod templates of an object. The annotation is set on the object, not on its
 * templates: a pod with it would count as decided about, and the retry after an OOM kill would not be raised. */
#include "policy/workload.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/strmap.h"
#include "k8s/keys.h"
#include "policy/annotation.h"
#include "policy/render/render_internal.h"

#include <errno.h>
#include <stdio.h>

bool workload_is_patched(const struct workload_template *self, const struct policy *policy)
{
	return policy->templates == TEMPLATES_PATCH && self->input.subject == SUBJECT_TEMPLATE &&
	       !self->from->owner_kind->is_recurring;
}

/* ---- reading the annotation ---- */

struct said {
	struct annotation_set set;
	/* For each entry the template that `at` names (NULL: none), its change, and the next entry of that template: an
	 * index plus 1, 0: none. */
	const struct workload_template **items;
	struct size_change *sizes;
	size_t *next;
	size_t *first; /* for each template its first entry, in the same form */
	/* there are entries, and every template has the values that they say were set: the annotation is this object's
	 * own */
	bool is_held;
};

static int index_templates(const struct workload_template *const *items, size_t n, struct arena *arena,
			   struct strmap *ret)
{
	int r = 0;

	STEPS(n);
	for (size_t i = n; i-- > 0 && !r;) {
		const char *pointer = kind_template_pointer(items[i]->from, "", arena);

		r = pointer ? strmap_put(ret, pointer, (void *)(uintptr_t)(i + 1)) : -ENOMEM;
	}
	return r;
}

/* Finds the container of an entry. `indexes`: the containers of each template, filled when the first of its entries
 * comes. */
static int find_entry(const struct workload_template *const *items, const struct strmap *templates,
		      struct strmap *indexes, size_t i, struct said *said)
{
	struct annotation_entry *entry = &said->set.entries[i];
	size_t found = (size_t)(uintptr_t)strmap_get(templates, entry->at);
	int r = 0;

	if (found--) {
		if (!indexes[found].n)
			r = annotation_index(&items[found]->pod, &indexes[found]);
		if (r)
			return r;
		annotation_entry_find(entry, &indexes[found]);
		said->items[i] = items[found];
		said->next[i] = said->first[found];
		said->first[found] = i + 1;
	}
	said->sizes[i] = annotation_entry_size(entry);
	said->is_held &= entry->holds;
	return 0;
}

/* In linear time, from the last entry to the first. */
static int find_entries(const struct workload_template *const *items, size_t n, struct arena *arena, struct said *said)
{
	CLEANUP(strmap_release) struct strmap templates = STRMAP_INIT;
	struct strmap *indexes = arena_array(arena, n + 1, sizeof(*indexes));
	int r = indexes ? index_templates(items, n, arena, &templates) : -ENOMEM;

	STEPS(said->set.n);
	for (size_t i = said->set.n; i-- > 0 && !r;)
		r = find_entry(items, &templates, indexes, i, said);
	for (size_t i = 0; indexes && i < n; i++)
		strmap_release(&indexes[i]);
	return r;
}

/* @return 0, also if there is none (no entries); -ENOMEM. */
static int read_said(const struct workload_template *const *items, size_t n, const struct k8s_labels *annotations,
		     struct arena *arena, struct said *ret)
{
	int r;

	*ret = (struct said){.first = arena_array(arena, n + 1, sizeof(*ret->first))};
	if (!ret->first)
		return -ENOMEM;
	r = annotation_parse(k8s_label_get(annotations, KEY_TEMPLATE_DECISION), arena, &ret->set);
	if (r)
		return r == ANNOTATION_NONE ? 0 : r;
	ret->items = arena_array(arena, ret->set.n + 1, sizeof(*ret->items));
	ret->sizes = arena_array(arena, ret->set.n + 1, sizeof(*ret->sizes));
	ret->next = arena_array(arena, ret->set.n + 1, sizeof(*ret->next));
	if (!ret->items || !ret->sizes || !ret->next)
		return -ENOMEM;
	ret->is_held = ret->set.is_whole && ret->set.n;
	return find_entries(items, n, arena, ret);
}

/* ---- writing the annotation ---- */

static int add_entry(const struct workload_template *item, const struct size_change *size, struct arena *arena,
		     const char **comma, struct strbuf *buf)
{
	const char *at = kind_template_pointer(item->from, "", arena);

	if (!at)
		return -ENOMEM;
	strbuf_adds(buf, *comma);
	strbuf_adds(buf, "{\"at\":");
	strbuf_add_json_string(buf, at);
	strbuf_addc(buf, ',');
	render_annotation_size(size, buf);
	strbuf_addc(buf, '}');
	*comma = ",";
	return 0;
}

static int add_set(const struct workload_template *item, struct arena *arena, const char **comma, struct strbuf *buf)
{
	int r = 0;

	for (size_t i = 0; i < item->decision.n_sizes && !r; i++)
		r = add_entry(item, &item->decision.sizes[i], arena, comma, buf);
	return r;
}

/* Adds the entries of an earlier round. */
static int add_said(const struct said *said, struct arena *arena, const char **comma, struct strbuf *buf)
{
	int r = 0;

	for (size_t i = 0; i < said->set.n && !r; i++)
		r = add_entry(said->items[i], &said->sizes[i], arena, comma, buf);
	return r;
}

static int annotation_text(const struct workload_template *const *items, size_t n, const struct said *said,
			   struct arena *arena, struct strbuf *buf)
{
	enum mode mode = MODE_OFF;
	const char *comma = "";
	int r;

	for (size_t i = 0; i < n; i++)
		mode = MAX(mode, items[i]->decision.mode);
	strbuf_addf(buf, "{\"v\":%d,\"mode\":\"%s\",\"set\":[", ANNOTATION_VERSION, mode_names[mode]);
	r = said->is_held ? add_said(said, arena, &comma, buf) : 0;
	for (size_t i = 0; i < n && !r; i++)
		r = add_set(items[i], arena, &comma, buf);
	strbuf_adds(buf, "]}");
	return r ? r : buf->status;
}

static void add_sizes(const struct workload_template *const *items, size_t n, struct arena *arena, struct strbuf *buf)
{
	for (size_t i = 0; i < n; i++)
		render_sizes(&(struct render_place){items[i]->from, arena}, &items[i]->decision, buf);
}

/* ---- the changes of one template, by container, resource and field ---- */

struct size_table {
	const struct size_change *at[LIMIT_POD_CONTAINERS][K8S_RESOURCE_COUNT_][2];
};

static const struct size_change **place_of(struct size_table *self, const struct workload_template *item,
					   const struct size_change *size)
{
	return &self->at[size->container - item->pod.containers][size->resource][size->field];
}

/* The value of a field after the changes; 0: none. */
static int64_t bytes_after(const struct size_table *self, const struct workload_template *item,
			   const struct size_change *size, enum size_field field)
{
	const struct k8s_resources *resources = &size->container->resources;
	const struct k8s_amount *amount = field == SIZE_LIMIT ? &resources->limits[size->resource]
							      : &resources->requests[size->resource];
	const struct size_change *change = self->at[size->container - item->pod.containers][size->resource][field];

	if (change)
		return change->to_bytes;
	return amount->text && !amount->is_invalid ? quantity_value(&amount->quantity) : 0;
}

/* Whether the API server would accept the values. A person may have edited a value or the annotation, and that must not
 * make the API server reject the object. */
static bool is_acceptable(const struct workload_template *item, const struct decision *changes)
{
	struct size_table table = {0};

	for (size_t i = 0; i < changes->n_sizes; i++)
		*place_of(&table, item, &changes->sizes[i]) = &changes->sizes[i];
	for (size_t i = 0; i < changes->n_sizes; i++) {
		const struct size_change *size = &changes->sizes[i];
		int64_t limit = bytes_after(&table, item, size, SIZE_LIMIT);

		if (limit && bytes_after(&table, item, size, SIZE_REQUEST) > limit)
			return false;
	}
	return true;
}

/* ---- values set at the object's creation, in this round of its admission or an earlier one ---- */

/* Keeps the sizes of a decision that are not settled, and records the containers that lost one. */
static void leave_sizes(const struct workload_template *item, struct size_table *settled, struct decision *ret,
			bool lost[LIMIT_POD_CONTAINERS])
{
	const struct decision *before = &item->decision;

	ret->n_sizes = 0;
	for (size_t i = 0; i < before->n_sizes; i++) {
		const struct size_change *size = &before->sizes[i];

		if (*place_of(settled, item, size))
			lost[size->container - item->pod.containers] = true;
		else
			ret->sizes[ret->n_sizes++] = *size;
	}
	if (is_acceptable(item, ret))
		return;
	for (size_t i = 0; i < ret->n_sizes; i++)
		lost[ret->sizes[i].container - item->pod.containers] = true;
	ret->n_sizes = 0;
}

static bool is_about(const struct finding *finding, const struct size_change *size)
{
	char pointer[96];

	/* It compares the request with the limit. */
	if (finding->check == CHECK_MEMORY_UNIT_SUSPICIOUS)
		return size->resource == K8S_MEMORY;
	snprintf(pointer, sizeof(pointer), "/spec/%s/%zu/resources/%s/%s", k8s_container_array(size->container),
		 size->container->index, size->field == SIZE_LIMIT ? "limits" : "requests",
		 k8s_resource_names[size->resource]);
	return streq(finding->pointer, pointer);
}

/* Whether a finding is about a settled value, or announces one: then it is about what memtamer itself has set. */
static bool is_finding_settled(const struct workload_template *item, const struct size_table *settled,
			       const bool lost[LIMIT_POD_CONTAINERS], const struct finding *finding)
{
	size_t index;

	if (!finding->container || !decide_is_about_size(finding->check))
		return false;
	index = (size_t)(finding->container - item->pod.containers);
	if (finding->action == ACTION_PATCH && lost[index])
		return true;
	for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
		for (int f = 0; f < 2; f++)
			if (settled->at[index][r][f] && is_about(finding, settled->at[index][r][f]))
				return true;
	return false;
}

static void leave_findings(const struct workload_template *item, const struct size_table *settled,
			   const bool lost[LIMIT_POD_CONTAINERS], struct decision *ret)
{
	const struct decision *before = &item->decision;

	ret->n_findings = 0;
	ret->is_denied = false;
	for (size_t i = 0; i < before->n_findings; i++) {
		if (is_finding_settled(item, settled, lost, &before->findings[i]))
			continue;
		ret->findings[ret->n_findings++] = before->findings[i];
		ret->is_denied |= before->findings[i].action == ACTION_DENY;
	}
}

static int settle(const struct workload_template **item, size_t index, const struct said *said, struct arena *arena)
{
	const struct decision *before = &(*item)->decision;
	struct workload_template *copy = arena_alloc(arena, sizeof(*copy));
	bool lost[LIMIT_POD_CONTAINERS] = {false};
	struct size_table settled = {0};
	struct decision *ret;

	if (!copy)
		return -ENOMEM;
	*copy = **item;
	ret = &copy->decision;
	ret->sizes = arena_array(arena, before->n_sizes + 1, sizeof(*ret->sizes));
	ret->findings = arena_array(arena, before->n_findings + 1, sizeof(*ret->findings));
	if (!ret->sizes || !ret->findings)
		return -ENOMEM;
	for (size_t i = said->first[index]; i-- > 0; i = said->next[i])
		*place_of(&settled, *item, &said->sizes[i]) = &said->sizes[i];
	leave_sizes(*item, &settled, ret, lost);
	leave_findings(*item, &settled, lost, ret);
	*item = copy;
	return 0;
}

int workload_settle(const struct workload_template **items, size_t n, const struct k8s_labels *annotations,
		    struct arena *arena)
{
	struct said said;
	int r = read_said(items, n, annotations, arena, &said);

	for (size_t i = 0; said.is_held && i < n && !r; i++)
		if (items[i]->decision.n_findings || items[i]->decision.n_sizes)
			r = settle(&items[i], i, &said, arena);
	return r;
}

int workload_patch(const struct workload_template *const *items, size_t n, const struct k8s_labels *annotations,
		   struct arena *arena, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_ANNOTATION_BYTES);
	const char *before = k8s_label_get(annotations, KEY_TEMPLATE_DECISION);
	struct said said;
	int r;

	strbuf_clear(buf);
	add_sizes(items, n, arena, buf);
	r = buf->status ? buf->status : read_said(items, n, annotations, arena, &said);
	/* An annotation that was copied with YAML is about another object. */
	if (r || (!buf->len && (said.is_held || !before)))
		return r;
	r = annotation_text(items, n, &said, arena, &text);
	if (r || (!buf->len && streq(before, strbuf_text(&text))))
		return r;
	if (!render_has_room(annotations, KEY_TEMPLATE_DECISION, &text)) {
		strbuf_clear(buf);
		return RENDER_NO_ROOM;
	}
	render_metadata(annotations, "annotations", KEY_TEMPLATE_DECISION, strbuf_text(&text), buf);
	return strbuf_addc(buf, ']');
}

/* ---- updates ---- */

/* Whether the value is what the manifest had before: then ours is set again. An annotation that a person has written
 * may name one value for both. Amounts are compared in whole bytes, as annotations have them: "1.1Gi" is no whole
 * number of bytes. */
static bool is_as_before(const struct annotation_entry *entry)
{
	int64_t from = quantity_value(&entry->from);

	if (!entry->amount || entry->to.nano <= 0)
		return false;
	if (!entry->has_from)
		return !entry->amount->text;
	return entry->amount->text && !entry->amount->is_invalid && quantity_value(&entry->amount->quantity) == from &&
	       quantity_value(&entry->to) != from;
}

/* Sorts by container, whatever the order of the entries; of two entries for one field the first counts. */
static int gather_again(const struct workload_template *item, size_t index, const struct said *said,
			struct arena *arena, struct decision *ret)
{
	struct size_table table = {0};
	size_t n = 0;

	for (size_t i = said->first[index]; i-- > 0; i = said->next[i]) {
		const struct size_change **place;

		if (!is_as_before(&said->set.entries[i]))
			continue;
		place = place_of(&table, item, &said->sizes[i]);
		n += !*place;
		*place = *place ? *place : &said->sizes[i];
	}
	*ret = (struct decision){.sizes = arena_array(arena, n + 1, sizeof(*ret->sizes))};
	if (!ret->sizes)
		return -ENOMEM;
	for (size_t c = 0; c < item->pod.n_containers && n; c++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			for (int f = 0; f < 2; f++)
				if (table.at[c][r][f])
					ret->sizes[ret->n_sizes++] = *table.at[c][r][f];
	if (!is_acceptable(item, ret))
		ret->n_sizes = 0;
	return 0;
}

int workload_patch_again(const struct workload_template *const *items, size_t n, const struct k8s_labels *annotations,
			 struct arena *arena, struct strbuf *buf)
{
	struct said said;
	struct decision decision;
	int r = read_said(items, n, annotations, arena, &said);

	strbuf_clear(buf);
	for (size_t i = 0; i < n && !r; i++) {
		r = gather_again(items[i], i, &said, arena, &decision);
		if (!r)
			render_sizes(&(struct render_place){items[i]->from, arena}, &decision, buf);
	}
	if (r)
		return r;
	return buf->len ? strbuf_addc(buf, ']') : buf->status;
}
