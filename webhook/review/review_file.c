/* SPDX-License-Identifier: Apache-2.0 */
/* A file becomes documents, a document an object (a List: several), an object pod templates, a template a decision.
 * Positions come from the YAML tree, decisions from the same tree as JSON; JSON Pointers join the two. */
#include "review/review_internal.h"

#include "base/io.h"
#include "base/limits.h"
#include "base/str.h"
#include "k8s/kinds.h"
#include "policy/render.h"
#include "policy/workload.h"
#include "review/patch_apply.h"
#include "yaml/yaml_tree.h"

#include <errno.h>

#define TREE_BYTES     (1 * GIB)  /* trees of LIMIT_YAML_NODES nodes and their text */
#define TEMPLATE_BYTES (64 * MIB) /* all templates of one object, decoded and decided */

/* The document at hand. */
struct document {
	struct review *review;
	const struct manifest *manifest;
	const char *file; /* cleaned name */
	const struct yaml_node *root;
	struct json_object *object;
	bool is_changed;
	struct arena *arena; /* of the object at hand; set by review_object */
	struct err *err;
};

/* Copy of a text without control characters; NULL when memory is out. */
static char *review_clean(struct arena *arena, const char *text)
{
	char *copy = arena_strdup(arena, text);

	for (unsigned char *p = (unsigned char *)copy; p && *p; p++) {
		bool is_c1 = p[0] == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0; /* U+0080..U+009F in UTF-8 */

		if (*p < 0x20 || *p == 0x7F)
			*p = '?';
		else if (is_c1)
			p[0] = p[1] = '?';
	}
	return copy;
}

void review_report(struct review *self, const struct err *err)
{
	char text[sizeof(err->where) + sizeof(err->msg) + 8];
	struct review_error error = {
		.file = review_clean(&self->arena, err->where),
		.message = review_clean(&self->arena, err->msg),
	};
	const char *clean = review_clean(&self->arena, err_text(err, text, sizeof(text)));

	fprintf(stderr, "%s\n", clean ? clean : "out of memory");
	if (!error.file || !error.message || vec_push(&self->errors, error))
		fprintf(stderr, "out of memory\n");
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* --- Findings --- */

static bool is_of_finding(const struct size_change *size, const struct finding *finding)
{
	bool is_disk = finding->check == CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING ||
		       finding->check == CHECK_EPHEMERAL_STORAGE_OVER_GPU_SHARE;

	if (finding->container && finding->container != size->container)
		return false;
	if (finding->check == CHECK_MEMORY_LIMIT_MISSING && size->field != SIZE_LIMIT)
		return false;
	if (finding->check == CHECK_MEMORY_REQUEST_MISSING && size->field != SIZE_REQUEST)
		return false;
	return (size->resource == K8S_EPHEMERAL_STORAGE) == is_disk;
}

/* The sizes that a finding led to, copied: their text lives as long as the review. */
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

static int add_finding(struct document *d, const struct kind_template *template_, const struct decide_input *input,
		       const struct decision *decision, const struct finding *finding)
{
	struct review *review = d->review;
	const char *pointer = kind_template_pointer(template_, finding->pointer ? finding->pointer : "", d->arena);
	const struct yaml_node *node = pointer ? yaml_tree_at(d->root, pointer) : d->root;
	struct review_finding item = {
		.file = d->file,
		.line = node->line,
		.column = node->column,
		.kind = review_clean(&review->arena, template_->owner_kind->name),
		.name = review_clean(&review->arena, input->root_name),
		.namespace_name = review_clean(&review->arena, input->namespace_name),
		.role = review_clean(&review->arena, template_->role ? template_->role : ""),
		.container = review_clean(&review->arena, finding->container ? finding->container->name : ""),
		.check = finding->check,
		.action = finding->action,
		.message = review_clean(&review->arena, finding->text),
		.object = review->n_objects,
	};

	if (!pointer || !item.kind || !item.name || !item.namespace_name || !item.role || !item.container ||
	    !item.message)
		return -ENOMEM;
	if (copy_sizes(review, decision, finding, &item) || vec_push(&review->findings, item))
		return -ENOMEM;
	return 0;
}

/* --- One template --- */

/* An error inside a pod, at the place that its field path ("spec.containers[0].name") leads to. */
static int report_pod_error(struct document *d, const struct kind_template *template_, const struct err *pod_err)
{
	char path[sizeof(pod_err->where) + 2];
	const char *pointer;
	const struct yaml_node *node;
	size_t n = 0;
	struct err err = ERR_INIT;

	path[n++] = '/';
	for (const char *p = pod_err->where; *p; p++)
		if (*p != ']')
			path[n++] = *p == '.' || *p == '[' ? '/' : *p;
	path[n] = '\0';
	pointer = kind_template_pointer(template_, path, d->arena);
	node = pointer ? yaml_tree_at(d->root, pointer) : d->root;
	err_set_at(&err, -EINVAL, d->file, node->line, node->column, "%s: %s", pod_err->where, pod_err->msg);
	review_report(d->review, &err);
	return 0;
}

static int apply(struct document *d, const struct kind_template *template_, const struct decide_input *input,
		 const struct decision *decision)
{
	CLEANUP(strbuf_release) struct strbuf patch = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	int r = render_patch(input, decision, d->arena, &patch);

	if (r || !patch.len)
		return r ? err_set(d->err, r, "the patch is too large") : 0;
	d->is_changed = true;
	return patch_apply(d->object, template_, strbuf_text(&patch), patch.len, d->arena, d->err);
}

/* One that cannot be read is said, and left out. */
static int read_templates(struct document *d, const struct kind_template *templates, size_t n,
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

static int review_template(struct document *d, struct workload_template *item)
{
	const struct kind_template *template_ = item->from;
	int r;

	*(item->input.subject == SUBJECT_POD ? &d->review->n_pods : &d->review->n_templates) += 1;
	item->input.snapshot = d->review->snapshot;
	item->input.policy = &d->review->policy;
	item->input.now_ms = d->review->now_ms;
	item->input.is_template_patched = workload_is_patched(item, item->input.policy);
	r = decide(&item->input, d->arena, &item->decision, d->err);
	for (size_t i = 0; !r && i < item->decision.n_findings; i++)
		r = add_finding(d, template_, &item->input, &item->decision, &item->decision.findings[i]);
	return r || !d->review->wants_yaml ? r : apply(d, template_, &item->input, &item->decision);
}

static int review_templates(struct document *d, const struct kind_template *templates, size_t n)
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

/* An object that cannot be reviewed as a whole: said, not the end. */
static int report_at_root(struct document *d, const struct err *cause)
{
	struct err err = ERR_INIT;

	err_set_at(&err, cause->code, d->file, d->root->line, d->root->column, "%s", cause->msg);
	review_report(d->review, &err);
	return 0;
}

static int review_object(struct document *outer)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(TEMPLATE_BYTES);
	struct document d = *outer;
	struct kind_template *templates = NULL;
	size_t n = 0;
	int r;

	d.arena = &arena;
	r = kind_templates(d.object, &arena, &templates, &n, d.err);
	if (r)
		return r == -E2BIG || r == -EINVAL ? report_at_root(&d, d.err) : r;
	d.review->n_objects++;
	d.review->n_skipped += n == 0;
	r = review_templates(&d, templates, n);
	outer->is_changed = d.is_changed;
	return r;
}

static bool is_list(const struct json_object *object)
{
	struct json_object *known = (struct json_object *)(uintptr_t)object;

	return streq(text_of(known, "kind"), "List") &&
	       json_object_is_type(json_member(known, "items"), json_type_array);
}

/* The items of a List one by one: a List may hold more templates than one object may. */
static int review_list(const struct document *list, bool *ret_is_changed)
{
	struct json_object *items = json_member(list->object, "items");
	const struct yaml_node *nodes = yaml_tree_get(list->root, "items");
	int r = 0;

	for (size_t i = 0; !r && nodes && i < nodes->n; i++) {
		struct document d = *list;

		d.root = &nodes->items[i];
		d.object = json_object_array_get_idx(items, i);
		d.is_changed = false;
		if (!json_object_is_type(d.object, json_type_object)) {
			list->review->n_skipped++;
			continue;
		}
		r = review_object(&d);
		*ret_is_changed |= d.is_changed;
	}
	return r;
}

static bool is_known_kind(const struct yaml_node *root)
{
	const struct yaml_node *api_version = yaml_tree_get(root, "apiVersion"), *kind = yaml_tree_get(root, "kind");

	return api_version && kind && api_version->type == YAML_TREE_SCALAR && kind->type == YAML_TREE_SCALAR &&
	       kind_find_api_version(api_version->text, kind->text);
}

static int review_known(struct document *d)
{
	int r = yaml_tree_to_json(d->root, &d->object, d->err);

	if (r == -EINVAL) {
		char message[sizeof(d->err->msg)];

		snprintf(message, sizeof(message), "%s", d->err->msg);
		/* Its place is line:col; put the file before it. */
		err_set(d->err, r, "%s", message);
		return report_at_root(d, d->err);
	}
	if (r)
		return r;
	return is_list(d->object) ? review_list(d, &d->is_changed) : review_object(d);
}

/* --- -o yaml --- */

/* Is there a line that starts a document? */
static bool starts_document(const char *text, size_t n)
{
	for (const char *p = text, *end = text + n; p && p < end;
	     p = memchr(p, '\n', (size_t)(end - p)), p += p != NULL)
		if ((size_t)(end - p) >= 3 && memcmp(p, "---", 3) == 0)
			return true;
	return false;
}

static void write_part(const char *text, size_t n)
{
	fwrite(text, 1, n, stdout);
	if (n && text[n - 1] != '\n')
		fputc('\n', stdout);
}

/* A document as it was, or what stands before it as it was and the changed object. */
static int write_document(struct document *d, const char *text, const struct yaml_extent *extent)
{
	CLEANUP(strbuf_release) struct strbuf yaml = STRBUF_INIT(2 * LIMIT_MANIFEST_BYTES);

	if (d->is_changed && yaml_tree_emit(d->object, &yaml))
		return err_set(d->err, yaml.status, "the patched manifest is too large");
	if (d->review->has_output && !starts_document(text + extent->begin, extent->body - extent->begin))
		fputs("---\n", stdout);
	d->review->has_output = true;
	if (d->is_changed) {
		write_part(text + extent->begin, extent->body - extent->begin);
		write_part(strbuf_text(&yaml), yaml.len);
		write_part(text + extent->tail, extent->end - extent->tail);
	} else {
		write_part(text + extent->begin, extent->end - extent->begin);
	}
	return 0;
}

/* --- One file --- */

static int review_document(struct review *self, const struct manifest *manifest, const char *file, const char *text,
			   const struct yaml_documents *documents, size_t i, struct err *err)
{
	struct document d = {
		.review = self,
		.manifest = manifest,
		.file = file,
		.root = &documents->items[i],
		.err = err,
	};
	int r = 0;

	if (d.root->type != YAML_TREE_MAPPING && !manifest->is_from_walk) {
		err_set(err, -EINVAL, "no Kubernetes object");
		r = report_at_root(&d, err);
	} else if (is_known_kind(d.root)) {
		r = review_known(&d);
	} else {
		self->n_skipped++;
	}
	if (!r && self->wants_yaml)
		r = write_document(&d, text, &documents->extents[i]);
	json_object_put(d.object);
	return r;
}

int review_read(struct review *self, const char *path, struct strbuf *ret, struct err *err)
{
	int r = 0;

	if (!streq(path, "-"))
		return io_read_file(path, ret, err);
	if (!self->has_input)
		r = io_read_file(path, &self->input, err);
	if (r)
		return r;
	self->has_input = true;
	r = strbuf_add(ret, strbuf_text(&self->input), self->input.len);
	return r ? err_set(err, r, "cannot keep standard input") : 0;
}

const char *review_file_name(struct review *self, const struct manifest *manifest)
{
	return review_clean(&self->arena, streq(manifest->path, "-") ? "stdin" : manifest->path);
}

int review_file(struct review *self, const struct manifest *manifest)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(TREE_BYTES);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_MANIFEST_BYTES);
	struct yaml_documents documents = {0};
	struct err err = ERR_INIT;
	const char *file = review_file_name(self, manifest);
	int r = review_read(self, manifest->path, &text, &err);

	if (!file)
		return -ENOMEM;
	self->n_files++;
	if (!r)
		r = yaml_tree_parse(strbuf_text(&text), text.len, file, &arena, &documents, &err);
	for (size_t i = 0; !r && i < documents.n; i++)
		r = review_document(self, manifest, file, strbuf_text(&text), &documents, i, &err);
	if (r)
		review_report(self, &err);
	return r == -ENOMEM ? r : 0;
}
