/* SPDX-License-Identifier: Apache-2.0 */
#include "golden_case.h"
#include "golden_lines.h"

#include "base/io.h"
#include "base/timefmt.h"
#include "k8s/kinds.h"
#include "policy/render.h"
#include "policy/workload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 1024, NOW_MS = 1793607300 }; /* seconds: 2026-11-02T08:15:00Z */

static int complain(const struct golden_case *self, const char *what, const struct err *err)
{
	char text[512];

	fprintf(stderr, "%s: %s: %s\n", self->folder, what, err ? err_text(err, text, sizeof(text)) : "failed");
	return -1;
}

/* 0 with NULL when there is no such file. */
static int load_json(const struct golden_case *self, const char *name, struct json_object **ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_MANIFEST_BYTES);
	char path[PATH_BYTES];
	struct err err = ERR_INIT;
	int r;

	*ret = NULL;
	snprintf(path, sizeof(path), "%s/%s", self->folder, name);
	r = io_read_file(path, &text, &err);
	if (r == -ENOENT)
		return 0;
	if (!r)
		r = json_parse(strbuf_text(&text), text.len, LIMIT_REVIEW_DEPTH, ret, &err);
	return r ? complain(self, name, &err) : 0;
}

static int load_config(struct golden_case *self)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CONFIG_BYTES);
	char path[PATH_BYTES];
	struct err err = ERR_INIT;
	int r;

	snprintf(path, sizeof(path), "%s/config.yaml", self->folder);
	r = io_read_file(path, &text, &err);
	if (r == -ENOENT) {
		self->config = config_new_default();
		return self->config ? 0 : -1;
	}
	if (!r)
		r = config_parse(strbuf_text(&text), text.len, path, self->folder, &self->config, &err);
	return r ? complain(self, "config.yaml", &err) : 0;
}

static int put_object(struct snapshot_builder *builder, struct json_object *item, struct err *err)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	const char *kind = json_object_get_string(json_member(item, "kind"));
	const char *text = json_object_to_json_string(item);
	struct profile *profile;
	struct node_shape shape;
	int r;

	if (streq(kind, "NodeShape")) {
		r = node_shape_read(text, strlen(text), &scratch, &shape, err);
		return r ? r : snapshot_builder_put_shape(builder, &shape);
	}
	r = profile_decode(item, &profile, err);
	return r ? r : snapshot_builder_put(builder, profile);
}

/* The facts of case.json, which only a cluster has. */
static int put_limits(struct golden_case *self, struct json_object *facts, struct snapshot_builder *builder,
		      struct err *err)
{
	struct json_object *ranges = json_member(facts, "limitRanges"), *quotas = json_member(facts, "resourceQuotas");
	struct k8s_limit_range range;
	struct k8s_quota quota;
	int r = 0;

	for (size_t i = 0; !r && ranges && i < json_object_array_length(ranges); i++) {
		r = k8s_limit_range_decode(json_object_array_get_idx(ranges, i), &self->arena, &range, err);
		if (!r)
			r = snapshot_builder_put_limit_range(builder, &range);
	}
	for (size_t i = 0; !r && quotas && i < json_object_array_length(quotas); i++) {
		r = k8s_quota_decode(json_object_array_get_idx(quotas, i), &self->arena, &quota, err);
		if (!r)
			r = snapshot_builder_put_quota(builder, &quota);
	}
	return r;
}

static int put_namespace(struct golden_case *self, struct snapshot_builder *builder, struct err *err)
{
	struct json_object *facts = json_member(self->facts, "namespace");
	struct json_object *metadata = json_member(self->object, "metadata");
	int r;

	if (!facts)
		return 0;
	r = snapshot_builder_put_namespace(builder,
					   &(struct namespace_facts){
						   .name = json_object_get_string(json_member(metadata, "namespace")),
						   .mode = json_object_get_string(json_member(facts, "mode")),
						   .is_ignored = json_object_get_boolean(json_member(facts, "ignored")),
					   });
	return r ? r : put_limits(self, facts, builder, err);
}

static void read_amounts(struct json_object *amounts, int64_t ret[K8S_QUOTA_FIELDS_][K8S_RESOURCE_COUNT_])
{
	static const char *const maps[K8S_QUOTA_FIELDS_] = {"requests", "limits"};

	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++) {
			struct json_object *value = json_member(json_member(amounts, maps[f]), k8s_resource_names[r]);
			const char *text = value ? json_object_get_string(value) : "0";
			struct quantity quantity = {.nano = 0};

			if (!quantity_parse(text, strlen(text), &quantity, NULL))
				ret[f][r] = r == K8S_CPU ? quantity_milli_value(&quantity) : quantity_value(&quantity);
		}
}

static void read_declared(struct json_object *declared, struct owner_facts *ret)
{
	static const char *const maps[K8S_QUOTA_FIELDS_] = {"requests", "limits"};
	struct json_object *lacking = json_member(declared, "lacking"), *names = json_member(declared, "containers");

	ret->declared.pods = ret->pods;
	ret->declared.variants = json_object_get_int64(json_member(declared, "variants"));
	read_amounts(declared, ret->declared.amounts);
	for (size_t i = 0; names && i < json_object_array_length(names); i++)
		ret->declared.names |= k8s_name_bits(json_object_get_string(json_object_array_get_idx(names, i)));
	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			ret->declared.lacking[f][r] = json_object_get_int64(
				json_member(json_member(lacking, maps[f]), k8s_resource_names[r]));
}

static int64_t read_time(struct json_object *owner, const char *key)
{
	const char *text = json_object_get_string(json_member(owner, key));
	int64_t time_ms = 0;

	return text && !time_parse(text, strlen(text), &time_ms) ? time_ms : 0;
}

static int put_owners(struct golden_case *self, struct snapshot_builder *builder)
{
	struct json_object *owners = json_member(self->facts, "owners");
	int r = 0;

	for (size_t i = 0; !r && owners && i < json_object_array_length(owners); i++) {
		struct json_object *owner = json_object_array_get_idx(owners, i);
		struct owner_facts facts = {
			.uid = json_object_get_string(json_member(owner, "uid")),
			.parent_uid = json_object_get_string(json_member(owner, "parent")),
			.created_ms = read_time(owner, "created"),
			.pods = json_object_get_int64(json_member(owner, "pods")),
			.ranks = json_object_get_int64(json_member(owner, "ranks")),
			.held_pods = json_object_get_int64(json_member(owner, "heldPods")),
			.is_queued = json_object_get_boolean(json_member(owner, "queued")),
		};

		read_amounts(json_member(owner, "held"), facts.held);
		read_declared(json_member(owner, "declared"), &facts);
		r = snapshot_builder_put_owner(builder, &facts);
	}
	return r;
}

static int put_classes(const struct golden_case *self, struct snapshot_builder *builder)
{
	struct json_object *names = json_member(self->facts, "criticalPriorityClasses");
	int r = 0;

	for (size_t i = 0; !r && names && i < json_object_array_length(names); i++)
		r = snapshot_builder_put_critical_class(builder,
							json_object_get_string(json_object_array_get_idx(names, i)));
	return r;
}

static int put_queue(struct json_object *facts, struct snapshot_builder *builder)
{
	struct json_object *most = json_member(facts, "most");
	struct queue_facts queue = {.name = ""};
	const char *namespace_name = "", *name = "";
	int r = json_get_string(facts, "", "clusterQueue", &queue.name, NULL) ||
		json_get_string(facts, "", "namespace", &namespace_name, NULL) ||
		json_get_string(facts, "", "name", &name, NULL);

	for (int i = 0; i < K8S_RESOURCE_COUNT_; i++) {
		const char *text = json_object_get_string(json_member(most, k8s_resource_names[i]));
		struct quantity quantity;

		queue.is_covered[i] = text != NULL;
		if (!text)
			continue;
		r = r || quantity_parse(text, strlen(text), &quantity, NULL);
		queue.most[i] = quantity_value(&quantity);
	}
	return r ? -1
		 : snapshot_builder_put_queue(builder, &queue) ||
			       snapshot_builder_put_local_queue(builder, namespace_name, name, queue.name);
}

static int put_queues(const struct golden_case *self, struct snapshot_builder *builder)
{
	struct json_object *queues = json_member(self->facts, "queues");
	int r = 0;

	for (size_t i = 0; !r && queues && i < json_object_array_length(queues); i++)
		r = put_queue(json_object_array_get_idx(queues, i), builder);
	return r;
}

static int put_vpas(struct golden_case *self, struct snapshot_builder *builder, struct err *err)
{
	struct json_object *vpas = json_member(self->facts, "verticalPodAutoscalers");
	size_t n = vpas ? json_object_array_length(vpas) : 0;
	struct k8s_vpa *items = arena_array(&self->arena, n + 1, sizeof(*items));
	const struct k8s_vpa **list = arena_array(&self->arena, n + 1, sizeof(struct k8s_vpa *));
	int r = items && list ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < n; i++) {
		r = k8s_vpa_decode(json_object_array_get_idx(vpas, i), "", &self->arena, &items[i], err);
		list[i] = &items[i];
	}
	return r ? r : snapshot_builder_set_vpas(builder, list, n);
}

static int load_snapshot(struct golden_case *self)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct json_object *list = NULL, *items;
	struct err err = ERR_INIT;
	int r = builder ? load_json(self, "profiles.json", &list) : -1;

	items = json_member(list, "items");
	for (size_t i = 0; !r && items && i < json_object_array_length(items); i++)
		r = put_object(builder, json_object_array_get_idx(items, i), &err);
	for (size_t i = 0; !r && i < self->config->n_node_shapes; i++)
		r = snapshot_builder_put_shape(builder, &self->config->node_shapes[i]);
	if (!r)
		r = put_namespace(self, builder, &err);
	if (!r)
		r = put_owners(self, builder);
	if (!r)
		r = put_classes(self, builder);
	if (!r)
		r = put_queues(self, builder);
	if (!r)
		r = put_vpas(self, builder, &err);
	if (r)
		snapshot_builder_free(builder);
	else
		self->snapshot = snapshot_builder_finish(builder, (int64_t)NOW_MS * 1000);
	json_object_put(list);
	return self->snapshot ? 0 : complain(self, "profiles.json or case.json", &err);
}

int golden_load(const char *folder, struct golden_case *ret)
{
	*ret = (struct golden_case){.folder = folder, .arena = ARENA_INIT(64 * MIB)};
	if (load_json(ret, "object.json", &ret->object) || load_json(ret, "case.json", &ret->facts) ||
	    load_json(ret, "expected.json", &ret->expected) || load_json(ret, "runtime.json", &ret->runtime) ||
	    load_config(ret))
		return -1;
	if (!ret->object)
		return complain(ret, "object.json", NULL);
	return load_snapshot(ret);
}

void golden_release(struct golden_case *self)
{
	json_object_put(self->object);
	json_object_put(self->facts);
	json_object_put(self->expected);
	json_object_put(self->runtime);
	config_free(self->config);
	snapshot_unref(self->snapshot);
	arena_release(&self->arena);
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, text ? json_object_new_string(text) : NULL);
}

static struct json_object *findings_of(const struct decision *decision)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < decision->n_findings; i++) {
		const struct finding *finding = &decision->findings[i];
		struct json_object *item = json_object_new_object();

		add_text(item, "check", check_table[finding->check].name);
		add_text(item, "action", check_action_names[finding->action]);
		add_text(item, "container", finding->container ? finding->container->name : NULL);
		add_text(item, "pointer", finding->pointer);
		add_text(item, "text", finding->text);
		json_object_array_add(array, item);
	}
	return array;
}

static struct json_object *sizes_of(const struct decision *decision)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < decision->n_sizes; i++) {
		const struct size_change *size = &decision->sizes[i];
		struct json_object *item = json_object_new_object();
		char text[QUANTITY_TEXT_BYTES];

		add_text(item, "container", size->container->name);
		add_text(item, "resource", k8s_resource_names[size->resource]);
		add_text(item, "field", size->field == SIZE_LIMIT ? "limit" : "request");
		add_text(item, "from", size->has_from ? quantity_render_bytes(size->from_bytes, text) : NULL);
		add_text(item, "to", quantity_render_bytes(size->to_bytes, text));
		add_text(item, "rule", size->rule);
		add_text(item, "reason", size->reason);
		json_object_array_add(array, item);
	}
	return array;
}

static int add_rendered(struct golden_case *self, const struct decide_input *input, const struct decision *decision,
			struct json_object *answer)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	struct json_object *warnings = json_object_new_array(), *patch = NULL;
	const char *const *items;
	size_t n;

	json_object_object_add(answer, "warnings", warnings);
	if (render_warnings(input, decision, &self->arena, &items, &n))
		return -1;
	for (size_t i = 0; i < n; i++)
		json_object_array_add(warnings, json_object_new_string(items[i]));
	if (render_patch(input, decision, &self->arena, &buf))
		return -1;
	if (buf.len && json_parse(strbuf_text(&buf), buf.len, 16, &patch, NULL))
		return -1;
	return json_object_object_add(answer, "patch", patch ? patch : json_object_new_array());
}

static struct json_object *answer_of(struct golden_case *self, const struct decide_input *input)
{
	struct json_object *answer = json_object_new_object();
	struct decision decision;
	struct err err = ERR_INIT;

	if (decide(input, &self->arena, &decision, &err)) {
		complain(self, "decide", &err);
		json_object_put(answer);
		return NULL;
	}
	if (self->lines && golden_lines_add(self->lines, input, &decision, &self->arena)) {
		json_object_put(answer);
		return NULL;
	}
	add_text(answer, "mode", mode_names[decision.mode]);
	add_text(answer, "mode_why", decision.mode_why);
	add_text(answer, "skip", decision.skip);
	json_object_object_add(answer, "findings", findings_of(&decision));
	json_object_object_add(answer, "sizes", sizes_of(&decision));
	if (decision.is_denied)
		json_object_object_add(answer, "denied", json_object_new_boolean(true));
	if (add_rendered(self, input, &decision, answer)) {
		json_object_put(answer);
		return NULL;
	}
	return answer;
}

static struct json_object *decide_and_answer(struct golden_case *self, struct decide_input *input)
{
	input->snapshot = self->snapshot;
	input->policy = &self->config->policy;
	input->now_ms = (int64_t)NOW_MS * 1000;
	return answer_of(self, input);
}

static struct json_object *pod_answer(struct golden_case *self, struct json_object *object)
{
	struct k8s_pod *pod = arena_alloc(&self->arena, sizeof(*pod));
	struct decide_input input = {.subject = SUBJECT_POD, .replicas = 1, .pod = pod};
	struct err err = ERR_INIT;

	if (!pod || k8s_pod_decode(object, &self->arena, pod, &err)) {
		complain(self, "object.json", &err);
		return NULL;
	}
	input.namespace_name = pod->namespace_name;
	return decide_and_answer(self, &input);
}

/* All templates of the object, ready for decide(). NULL: one cannot be read. */
static struct workload_template **read_templates(struct golden_case *self, const struct kind_template *templates,
						 size_t n)
{
	struct workload_template **items = arena_array(&self->arena, n + 1, sizeof(struct workload_template *));
	struct err err = ERR_INIT;

	for (size_t i = 0; items && i < n; i++) {
		items[i] = arena_alloc(&self->arena, sizeof(**items));
		if (!items[i] || workload_template_read(&templates[i], "", &self->arena, items[i], &err)) {
			complain(self, "object.json", &err);
			return NULL;
		}
		items[i]->input.is_template_patched = self->config->policy.templates == TEMPLATES_PATCH;
	}
	return items && !workload_declare(items, n, &self->arena) ? items : NULL;
}

static struct json_object *template_answers(struct golden_case *self, struct json_object *object)
{
	struct json_object *answers = json_object_new_array(), *answer = json_object_new_object();
	struct kind_template *templates = NULL;
	struct workload_template **items;
	struct doc runtime;
	struct err err = ERR_INIT;
	size_t n = 0;

	json_object_object_add(answer, "templates", answers);
	if (doc_of_json(self->runtime, &allow_workload, &self->arena, &runtime, &err) ||
	    kind_templates(object, self->runtime ? &runtime : NULL, &self->arena, &templates, &n, &err))
		complain(self, "object.json", &err);
	items = read_templates(self, templates, n);
	for (size_t i = 0; i < n; i++) {
		struct json_object *one = items ? decide_and_answer(self, &items[i]->input) : NULL;

		if (!one) {
			json_object_put(answer);
			return NULL;
		}
		add_text(one, "pointer", templates[i].pointer);
		json_object_array_add(answers, one);
	}
	return answer;
}

struct json_object *golden_answer(struct golden_case *self, struct json_object *object)
{
	bool is_pod = streq(json_object_get_string(json_member(object, "kind")), "Pod");

	return is_pod ? pod_answer(self, object) : template_answers(self, object);
}
