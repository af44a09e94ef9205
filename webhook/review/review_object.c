/* SPDX-License-Identifier: Apache-2.0 */
/* review_object: finds the pod templates of an object (of a List: of each item) and decides about each. Positions come
 * from the YAML tree, decisions from the same tree as JSON; JSON Pointers connect both. */
#include "review/review_internal.h"

#include "base/limits.h"
#include "base/str.h"
#include "k8s/kinds.h"
#include "policy/workload.h"
#include "review/runtimes.h"

#include <errno.h>

#define TEMPLATE_BYTES (64 * MIB) /* all templates of one object, decoded and decided */

/* --- Findings --- */

static bool is_of_finding(const struct size_change *size, const struct finding *finding)
{
	bool is_disk = finding->check == CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING ||
		       finding->check == CHECK_EPHEMERAL_STORAGE_OVER_GPU_SHARE;

	if (finding->container && finding->container != size->container)
		return false;
	if (finding->check == CHECK_MEMORY_LIMIT_MISSING && size->field != SIZE_LIMIT)
		return false;
	if ((finding->check == CHECK_MEMORY_REQUEST_MISSING || finding->check == CHECK_BESTEFFORT_QOS) &&
	    size->field != SIZE_REQUEST)
		return false;
	return (size->resource == K8S_EPHEMERAL_STORAGE) == is_disk;
}

/* Copies the sizes that follow from a finding, since their texts must live as long as the review. */
static int copy_sizes(struct review *review, const struct decision *decision, const struct finding *finding,
		      struct review_finding *ret)
{
	struct size_change *sizes = arena_array(&review->arena, decision->n_sizes + 1, sizeof(*sizes));
	size_t n = 0;

	if (!sizes)
		return -ENOMEM;
	for (size_t i = 0; i < decision->n_sizes; i++) {
		if (finding->action != ACTION_PATCH || !is_of_finding(&decision->sizes[i], finding))
			continue;
		sizes[n] = decision->sizes[i];
		sizes[n].container = NULL;
		sizes[n].reason = review_clean(&review->arena, sizes[n].reason ? sizes[n].reason : "");
		if (!sizes[n++].reason)
			return -ENOMEM;
	}
	ret->sizes = sizes;
	ret->n_sizes = n;
	return 0;
}

/* The place in the file of a pointer within a template's pod. */
static const struct yaml_node *node_of(const struct review_document *d, const struct kind_template *template_,
				       const char *pod_pointer)
{
	const char *pointer = kind_template_pointer(template_, pod_pointer, d->arena);

	return pointer ? yaml_tree_at(d->root, pointer) : NULL;
}

static int add_finding(struct review_document *d, const struct workload_template *item, const struct finding *finding)
{
	struct review *review = d->review;
	const struct yaml_node *node = node_of(d, item->from, finding->pointer ? finding->pointer : "");
	struct review_finding ret = {
		.file = d->file,
		.kind = review_clean(&review->arena, item->from->owner_kind->name),
		.name = review_clean(&review->arena, item->from->owner_facts.name),
		.namespace_name = review_clean(&review->arena, item->input.namespace_name),
		.role = review_clean(&review->arena, item->from->role),
		.container = review_clean(&review->arena, finding->container ? finding->container->name : ""),
		.check = finding->check,
		.action = finding->action,
		.message = review_clean(&review->arena, finding->text),
		.object = review->n_objects,
	};

	if (!node || review->arena.has_failed)
		return -ENOMEM;
	ret.line = node->line;
	ret.column = node->column;
	return copy_sizes(review, &item->decision, finding, &ret) || vec_push(&review->findings, ret) ? -ENOMEM : 0;
}

/* --- One template --- */

/* All other reasons do not depend on what the pod is. */
static enum review_status status_of(const struct decision *decision)
{
	static const char *const reasons[] = {"serving", "interactive", "no-sign", "label"};

	if (!decision->skip)
		return decision->is_partial ? REVIEW_PARTIAL : REVIEW_EXAMINED;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (streq(decision->skip, reasons[i]))
			return REVIEW_NOT_TRAINING;
	return REVIEW_EXEMPT;
}

static int note_template(const struct review_document *d, const struct workload_template *item)
{
	const struct yaml_node *node = node_of(d, item->from, "");
	struct review_subject subject = {
		.status = status_of(&item->decision),
		.file = d->file,
		.kind = item->from->owner_kind->name,
		.name = item->from->owner_facts.name,
		.namespace_name = item->input.namespace_name,
		.role = item->from->role,
		.why = item->decision.skip,
		.is_pod = item->input.subject == SUBJECT_POD,
		.n_findings = item->decision.n_findings,
	};

	if (!node)
		return -ENOMEM;
	subject.line = node->line;
	subject.column = node->column;
	return review_note(d->review, &subject);
}

/* Reports an error within a pod, at the place of its field path ("spec.containers[0].name"). */
static int report_pod_error(struct review_document *d, const struct kind_template *template_, const struct err *pod_err)
{
	char pointer[REVIEW_POINTER_BYTES];
	const struct yaml_node *node = node_of(d, template_, review_pointer(pod_err, pointer));
	struct err err = ERR_INIT;

	if (!node)
		return -ENOMEM;
	err_set_at(&err, -EINVAL, d->file, node->line, node->column, "%s: %s", pod_err->where, pod_err->msg);
	return review_report(d->review, d->manifest, &err);
}

/* Sets a text in the object at a pointer; absent and null parents become objects. */
static int set_text(struct json_object *object, char *pointer, const char *text)
{
	for (char *slash = strchr(pointer + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct json_object *parent = NULL;
		int r = 0;

		*slash = '\0';
		if (json_pointer_get(object, pointer, &parent) || !parent)
			r = json_pointer_set(&object, pointer, json_object_new_object()); /* has no other errors here */
		*slash = '/';
		if (r)
			return -ENOMEM;
	}
	return json_pointer_set(&object, pointer, json_object_new_string(text)) ? -ENOMEM : 0;
}

/* Sets the sizes of a decision in the object, as the webhook's patch does in a pod. */
static int apply(struct review_document *d, const struct workload_template *item)
{
	int r = 0;

	for (size_t i = 0; i < item->decision.n_sizes && !r; i++) {
		const struct size_change *size = &item->decision.sizes[i];
		char *pointer = arena_printf(d->arena, "/spec/%s/%zu/resources/%s/%s",
					     k8s_container_array(size->container), size->container->index,
					     size->field == SIZE_LIMIT ? "limits" : "requests",
					     k8s_resource_names[size->resource]);
		char text[QUANTITY_TEXT_BYTES];

		if (!pointer)
			return -ENOMEM;
		if (!kind_template_holds(item->from, pointer))
			continue;
		pointer = arena_strdup(d->arena, kind_template_pointer(item->from, pointer, d->arena));
		r = pointer ? set_text(d->object, pointer, quantity_render_bytes(size->to_bytes, text)) : -ENOMEM;
		d->is_changed = true;
	}
	return r;
}

/* Templates that cannot be read are reported and left out. */
static int read_templates(struct review_document *d, const struct kind_template *templates, size_t n,
			  struct workload_template **items, size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		struct workload_template *item = arena_alloc(d->arena, sizeof(*item));
		struct err err = ERR_INIT;
		int r = item ? workload_template_read(&templates[i], d->review->default_namespace, d->arena, item, &err)
			     : -ENOMEM;

		if (!r)
			items[(*ret_n)++] = item;
		else
			r = r == -ENOMEM ? r : report_pod_error(d, &templates[i], &err);
		if (r)
			return r;
	}
	return 0;
}

static int review_template(struct review_document *d, struct workload_template *item)
{
	int r;

	item->input.snapshot = d->review->snapshot;
	item->input.policy = &d->review->policy;
	item->input.now_ms = d->review->now_ms;
	item->input.is_offline = true;
	item->input.is_template_patched = workload_is_patched(item, item->input.policy);
	r = decide(&item->input, d->arena, &item->decision, d->err);
	if (!r)
		r = note_template(d, item);
	for (size_t i = 0; !r && i < item->decision.n_findings; i++)
		r = add_finding(d, item, &item->decision.findings[i]);
	return r || !d->review->wants_yaml ? r : apply(d, item);
}

static int review_templates(struct review_document *d, const struct kind_template *templates, size_t n)
{
	struct workload_template **items = arena_array(d->arena, n + 1, sizeof(struct workload_template *));
	size_t n_read = 0;
	int r = items ? read_templates(d, templates, n, items, &n_read) : -ENOMEM;

	if (!r)
		r = workload_declare(items, n_read, d->arena);
	for (size_t i = 0; !r && i < n_read; i++)
		r = review_template(d, items[i]);
	return r;
}

/* --- One object --- */

/* Reports an object that cannot be reviewed; the review continues with the next. */
static int report_at_root(struct review_document *d, const struct err *cause)
{
	struct err err = ERR_INIT;

	err_set_at(&err, cause->code, d->file, d->root->line, d->root->column, "%s", cause->msg);
	return review_report(d->review, d->manifest, &err);
}

static int review_templates_of(struct review_document *d)
{
	struct kind_template *templates = NULL;
	const char *runtime_name;
	const struct doc *runtime = runtimes_find(d->review, d->object, &runtime_name);
	size_t n = 0;
	int r = kind_templates(d->object, runtime, d->arena, &templates, &n, d->err);

	if (r)
		return r;
	if (!n && *runtime_name && !runtime)
		return review_note_object(d, REVIEW_NO_RUNTIME, runtime_name);
	if (!n)
		return review_note_object(d, REVIEW_NO_TEMPLATE, "");
	return review_templates(d, templates, n);
}

static int review_one(struct review_document *d)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(TEMPLATE_BYTES);
	int r;

	d->arena = &arena;
	d->review->n_objects++;
	r = doc_reading_ended(&arena, review_templates_of(d), d->err);
	d->arena = NULL;
	return r == -EINVAL ? report_at_root(d, d->err) : r;
}

/* Reviews the items of a List one by one, as a List may have more templates than one object. */
static int review_list(struct review_document *list, const struct yaml_node *nodes)
{
	struct json_object *items = json_member(list->object, "items");
	int r = 0;

	for (size_t i = 0; !r && i < nodes->n; i++) {
		struct review_document d = *list;

		d.root = &nodes->items[i];
		d.object = json_object_array_get_idx(items, i);
		d.is_changed = false;
		r = json_object_is_type(d.object, json_type_object) ? review_one(&d)
								    : review_note_object(&d, REVIEW_NO_OBJECT, "");
		list->is_changed |= d.is_changed;
	}
	return r;
}

int review_object(struct review_document *d)
{
	const struct yaml_node *items = yaml_tree_get(d->root, "items");

	if (streq(yaml_tree_text(d->root, "kind"), "List") && items && items->type == YAML_TREE_SEQUENCE)
		return review_list(d, items);
	return review_one(d);
}
