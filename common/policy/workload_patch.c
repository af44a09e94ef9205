/* SPDX-License-Identifier: Apache-2.0 */
/* workload_patch: sizes written into the pod templates of an object.
 *
 * The object's own annotation keeps them, not the templates': a pod that carried it would count as decided about, and
 * the retry after an OOM kill would not be raised. */
#include "policy/workload.h"

#include "base/json.h"
#include "base/limits.h"
#include "policy/render_internal.h"

#include <errno.h>

bool workload_is_patched(const struct workload_template *self, const struct policy *policy)
{
	return policy->templates == TEMPLATES_PATCH && self->input.subject == SUBJECT_TEMPLATE &&
	       !self->from->owner_kind->is_recurring;
}

static int add_set(const struct workload_template *item, struct arena *arena, const char **comma, struct strbuf *buf)
{
	const char *at = kind_template_pointer(item->from, "", arena);

	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < item->decision.n_sizes; i++) {
		strbuf_adds(buf, *comma);
		strbuf_adds(buf, "{\"at\":");
		strbuf_add_json_string(buf, at);
		strbuf_addc(buf, ',');
		render_annotation_size(&item->decision.sizes[i], buf);
		strbuf_addc(buf, '}');
		*comma = ",";
	}
	return 0;
}

/* The words of an earlier round, as they are. */
static int add_said(struct json_object *set, const char **comma, struct strbuf *buf)
{
	for (size_t i = 0; set && i < json_object_array_length(set); i++) {
		const char *text = json_object_to_json_string_ext(
			json_object_array_get_idx(set, i), JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

		if (!text)
			return -ENOMEM;
		strbuf_adds(buf, *comma);
		strbuf_adds(buf, text);
		*comma = ",";
	}
	return 0;
}

static int annotation_text(const struct workload_template *const *items, size_t n, struct json_object *said,
			   struct arena *arena, struct strbuf *buf)
{
	enum mode mode = MODE_OFF;
	const char *comma = "";
	int r;

	for (size_t i = 0; i < n; i++)
		mode = MAX(mode, items[i]->decision.mode);
	strbuf_addf(buf, "{\"v\":1,\"mode\":\"%s\",\"set\":[", mode_names[mode]);
	r = add_said(said, &comma, buf);
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

/* What a container has of a field when the changes are made; 0: nothing. */
static int64_t bytes_after(const struct decision *changes, const struct k8s_container *container,
			   enum k8s_resource resource, enum size_field field)
{
	const struct k8s_amount *amount = field == SIZE_LIMIT ? &container->resources.limits[resource]
							      : &container->resources.requests[resource];

	for (size_t i = 0; i < changes->n_sizes; i++) {
		const struct size_change *size = &changes->sizes[i];

		if (size->container == container && size->resource == resource && size->field == field)
			return size->to_bytes;
	}
	return amount->text && !amount->is_invalid ? quantity_value(&amount->quantity) : 0;
}

/* A person may have edited one of the values, or the annotation: the API server must not refuse the rest for it. */
static bool is_acceptable(const struct decision *changes)
{
	for (size_t i = 0; i < changes->n_sizes; i++) {
		const struct size_change *size = &changes->sizes[i];
		int64_t limit = bytes_after(changes, size->container, size->resource, SIZE_LIMIT);

		if (limit && bytes_after(changes, size->container, size->resource, SIZE_REQUEST) > limit)
			return false;
	}
	return true;
}

/* ---- said in an earlier round of the same admission ---- */

/* The entries of `set` that hold in a template: it carries the values that they say were set. */
static int gather_held(const struct workload_template *item, struct json_object *set, struct arena *arena,
		       struct annotation_entry **ret, size_t *ret_n)
{
	const char *at = kind_template_pointer(item->from, "", arena), *where;
	size_t n = json_object_array_length(set);

	*ret = arena_array(arena, n + 1, sizeof(**ret));
	*ret_n = 0;
	if (!at || !*ret)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *entry = json_object_array_get_idx(set, i);
		struct annotation_entry *read = &(*ret)[*ret_n];

		if (json_object_is_type(entry, json_type_object) && !json_get_string(entry, "", "at", &where, NULL) &&
		    streq(where, at) && annotation_entry_read(&item->pod, entry, read) && read->amount->text &&
		    !read->amount->is_invalid && quantity_cmp(&read->amount->quantity, &read->to) == 0)
			++*ret_n;
	}
	return 0;
}

/* `*ret`: the `set` of an annotation of which every entry holds; NULL: none, or one that speaks of another object. */
static int said_before(const struct workload_template *const *items, size_t n, struct json_object *object,
		       struct arena *arena, struct json_object **ret)
{
	struct json_object *set;
	size_t n_held = 0;

	*ret = NULL;
	if (!object || json_get_array(object, "", "set", &set, NULL))
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct annotation_entry *held;
		size_t n_of_item;

		if (gather_held(items[i], set, arena, &held, &n_of_item))
			return -ENOMEM;
		n_held += n_of_item;
	}
	if (n_held == json_object_array_length(set))
		*ret = set;
	return 0;
}

static bool is_settled(const struct size_change *size, const struct annotation_entry *held, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (held[i].container == size->container && held[i].resource == size->resource &&
		    held[i].field == size->field)
			return true;
	return false;
}

static size_t sizes_of(const struct decision *self, const struct k8s_container *container)
{
	size_t n = 0;

	for (size_t i = 0; i < self->n_sizes; i++)
		n += self->sizes[i].container == container;
	return n;
}

/* What is said to be set, and is not, was said in the round that did. */
static void leave_findings(const struct decision *before, struct decision *ret)
{
	ret->n_findings = 0;
	for (size_t i = 0; i < before->n_findings; i++) {
		const struct finding *finding = &before->findings[i];

		if (finding->action != ACTION_PATCH || !finding->container ||
		    sizes_of(ret, finding->container) == sizes_of(before, finding->container))
			ret->findings[ret->n_findings++] = *finding;
	}
}

static int settle(const struct workload_template **item, struct json_object *set, struct arena *arena)
{
	const struct decision *before = &(*item)->decision;
	struct workload_template *copy;
	struct annotation_entry *held;
	struct decision *ret;
	size_t n;

	if (gather_held(*item, set, arena, &held, &n))
		return -ENOMEM;
	if (!n || !before->n_sizes)
		return 0;
	copy = arena_alloc(arena, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = **item;
	ret = &copy->decision;
	ret->sizes = arena_array(arena, before->n_sizes, sizeof(*ret->sizes));
	ret->findings = arena_array(arena, before->n_findings + 1, sizeof(*ret->findings));
	if (!ret->sizes || !ret->findings)
		return -ENOMEM;
	ret->n_sizes = 0;
	for (size_t i = 0; i < before->n_sizes; i++)
		if (!is_settled(&before->sizes[i], held, n))
			ret->sizes[ret->n_sizes++] = before->sizes[i];
	if (!is_acceptable(ret))
		ret->n_sizes = 0;
	leave_findings(before, ret);
	*item = copy;
	return 0;
}

int workload_settle(const struct workload_template **items, size_t n, const struct k8s_labels *annotations,
		    struct arena *arena)
{
	CLEANUP(json_putp)
	struct json_object *object = annotation_parse(k8s_label_get(annotations, ANNOTATION_TEMPLATES));
	struct json_object *said;
	int r = said_before(items, n, object, arena, &said);

	for (size_t i = 0; said && i < n && !r; i++)
		r = settle(&items[i], said, arena);
	return r;
}

int workload_patch(const struct workload_template *const *items, size_t n, const struct k8s_labels *annotations,
		   struct arena *arena, struct strbuf *buf)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	const char *now = k8s_label_get(annotations, ANNOTATION_TEMPLATES);
	CLEANUP(json_putp) struct json_object *object = annotation_parse(now);
	struct json_object *said;
	int r;

	strbuf_clear(buf);
	add_sizes(items, n, arena, buf);
	r = buf->status ? buf->status : said_before(items, n, object, arena, &said);
	/* one that came with copied YAML would speak of another object */
	if (r || (!buf->len && (said || !now)))
		return r;
	r = annotation_text(items, n, said, arena, &text);
	if (r)
		return r;
	render_metadata(annotations, "annotations", ANNOTATION_TEMPLATES, strbuf_text(&text), buf);
	return strbuf_addc(buf, ']');
}

/* ---- once more ---- */

static bool same_quantity(const char *text, const struct quantity *quantity)
{
	struct quantity other;

	return !quantity_parse(text, strlen(text), &other, NULL) && quantity_cmp(&other, quantity) == 0;
}

/* Is the value what the manifest said before? Then `ret` is what to set it to again. */
static bool reads_again(const struct workload_template *item, struct json_object *entry, struct size_change *ret)
{
	struct annotation_entry read;
	const char *from = NULL;

	if (!annotation_entry_read(&item->pod, entry, &read) || json_get_string(entry, "", "from", &from, NULL) < 0)
		return false;
	*ret = (struct size_change){.container = read.container,
				    .resource = read.resource,
				    .field = read.field,
				    .to_bytes = quantity_value(&read.to)};
	if (ret->to_bytes <= 0)
		return false;
	if (!from)
		return !read.amount->text;
	return read.amount->text && !read.amount->is_invalid && same_quantity(from, &read.amount->quantity);
}

static int gather_again(const struct workload_template *item, struct json_object *set, struct arena *arena,
			struct decision *ret)
{
	const char *at = kind_template_pointer(item->from, "", arena), *where;
	size_t n = json_object_array_length(set);

	*ret = (struct decision){.sizes = arena_array(arena, n + 1, sizeof(*ret->sizes))};
	if (!at || !ret->sizes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct json_object *entry = json_object_array_get_idx(set, i);

		if (json_object_is_type(entry, json_type_object) && !json_get_string(entry, "", "at", &where, NULL) &&
		    streq(where, at) && reads_again(item, entry, &ret->sizes[ret->n_sizes]))
			ret->n_sizes++;
	}
	if (!is_acceptable(ret))
		ret->n_sizes = 0;
	return 0;
}

int workload_patch_again(const struct workload_template *const *items, size_t n, const struct k8s_labels *annotations,
			 struct arena *arena, struct strbuf *buf)
{
	CLEANUP(json_putp)
	struct json_object *object = annotation_parse(k8s_label_get(annotations, ANNOTATION_TEMPLATES));
	struct json_object *set;
	struct decision decision;

	strbuf_clear(buf);
	if (!object || json_get_array(object, "", "set", &set, NULL))
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (gather_again(items[i], set, arena, &decision))
			return -ENOMEM;
		render_sizes(&(struct render_place){items[i]->from, arena}, &decision, buf);
	}
	return buf->len ? strbuf_addc(buf, ']') : buf->status;
}
