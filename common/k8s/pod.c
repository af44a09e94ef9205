/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/pod.h"

#include "base/limits.h"
#include "k8s/decode.h"

#include <errno.h>

/* ---- containers ---- */

struct env {
	const char *name, *value;
};
static const struct decode_table env_table = DECODE_TABLE(DECODE(struct env, name, "name", DECODE_NAME),
							  DECODE(struct env, value, "value", DECODE_STRING));

/* Items that the allow-list drops are null. If the variable is set more than once, the last one counts. */
static int decode_env(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	struct k8s_container *container = ret;
	const struct doc *array = NULL;
	size_t i = 0;
	int r = decode_array(object, key, &array, err);

	for (const struct doc *item = array ? array->first : NULL; !r && item; item = item->next, i++) {
		struct env env = {.name = "", .value = ""};

		STEPS(1);
		if (item->type == DOC_NULL)
			continue;
		r = item->type == DOC_OBJECT ? decode_fields(&env_table, item, arena, &env, err)
					     : decode_type_error(item, "object", err);
		decode_at(r, err, "%s[%zu]", key, i);
		if (strstarts(env.name, "RAY_"))
			container->ray_tags = env.value;
		else if (*env.name)
			container->has_allocator = true;
	}
	container->has_env = array != NULL;
	return r;
}

#define EXIT_KILLED "137" /* 128 + SIGKILL */

/* One of restartPolicyRules. */
struct restart_rule {
	const char *action, *operator_;
	bool lists_killed; /* exitCodes.values contains EXIT_KILLED */
};

static int decode_codes(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	const struct doc *array = NULL;
	int r = decode_array(object, key, &array, err);
	size_t i = 0;

	(void)arena;
	for (const struct doc *item = array ? array->first : NULL; !r && item; item = item->next, i++) {
		STEPS(1);
		if (item->type != DOC_NUMBER)
			return decode_at(decode_type_error(item, "number", err), err, "%s[%zu]", key, i);
		*(bool *)ret |= streq(item->text, EXIT_KILLED);
	}
	return r;
}

static const struct decode_table codes_table = DECODE_TABLE(
	DECODE(struct restart_rule, operator_, "operator", DECODE_NAME),
	DECODE_WITH(struct restart_rule, lists_killed, "values", decode_codes));
static const struct decode_table rule_table = DECODE_TABLE(DECODE(struct restart_rule, action, "action", DECODE_NAME),
							   DECODE_INSIDE("exitCodes", codes_table));

static bool matches_killed(const struct restart_rule *rule)
{
	return rule->lists_killed ? streq(rule->operator_, "In") : streq(rule->operator_, "NotIn");
}

/* Only the first rule that matches counts. If its action is not known, the restart policies decide, as in the
 * kubelet. */
static int decode_rules(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	bool *restarts = ret, is_matched = false;
	const struct doc *item;
	size_t n, i = 0;
	int r = decode_items(object, key, &item, &n, err);

	for (; !r && item; item = item->next, i++) {
		struct restart_rule rule = {.action = "", .operator_ = ""};

		r = decode_at(decode_fields(&rule_table, item, arena, &rule, err), err, "%s[%zu]", key, i);
		if (r || is_matched || !matches_killed(&rule))
			continue;
		is_matched = true;
		*restarts = streq(rule.action, "Restart") || streq(rule.action, "RestartAllContainers");
	}
	return r;
}

static const struct decode_table mount_table = DECODE_TABLE(DECODE(struct k8s_mount, volume, "name", DECODE_NAME),
							    DECODE(struct k8s_mount, path, "mountPath", DECODE_STRING));

static const struct decode_table container_table = DECODE_TABLE(
	DECODE(struct k8s_container, name, "name", DECODE_NAME),
	DECODE(struct k8s_container, image, "image", DECODE_STRING),
	DECODE_ARRAY(struct k8s_container, command, "command", DECODE_TEXTS),
	DECODE_ARRAY(struct k8s_container, args, "args", DECODE_TEXTS),
	{"env", DECODE_BY, .decode = decode_env}, /* several members */
	DECODE(struct k8s_container, has_env_from, "envFrom", DECODE_IS_PRESENT),
	DECODE_ARRAY(struct k8s_container, mounts, "volumeMounts", DECODE_LIST, .table = &mount_table),
	DECODE(struct k8s_container, has_stdin, "stdin", DECODE_BOOL),
	DECODE(struct k8s_container, has_tty, "tty", DECODE_BOOL),
	DECODE_WITH(struct k8s_container, resources, "resources", decode_resources),
	DECODE(struct k8s_container, restart_policy, "restartPolicy", DECODE_NAME),
	DECODE_WITH(struct k8s_container, has_restart_rule, "restartPolicyRules", decode_rules));

static int decode_container_list(const struct doc *first, const char *key, enum k8s_container_type type,
				 struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	size_t index = 0;
	int r = 0;

	for (const struct doc *item = first; item && !r; item = item->next, index++) {
		struct k8s_container *container = &ret->containers[ret->n_containers++];

		container->type = type;
		container->index = index;
		container->ray_tags = "";
		r = decode_at(decode_fields(&container_table, item, arena, container, err), err, "%s[%zu]", key, index);
		if (!r && type == K8S_CONTAINER_INIT && streq(container->restart_policy, "Always"))
			container->type = K8S_CONTAINER_SIDECAR;
	}
	return r;
}

static int decode_containers(const struct doc *spec, const char *key, struct arena *arena, void *ret, struct err *err)
{
	struct k8s_pod *pod = ret;
	const struct doc *mains, *inits;
	size_t n_init;
	int r = decode_items(spec, key, &mains, &pod->n_main, err);

	if (!r)
		r = decode_items(spec, "initContainers", &inits, &n_init, err);
	if (r)
		return r;
	if (pod->n_main == 0)
		return decode_at(err_set(err, -EINVAL, "a pod has at least one container"), err, "%s", key);
	if (pod->n_main + n_init > LIMIT_POD_CONTAINERS)
		return err_set(err, -E2BIG, "more than %d containers", LIMIT_POD_CONTAINERS);
	pod->containers = arena_array(arena, pod->n_main + n_init, sizeof(*pod->containers));
	if (!pod->containers)
		return decode_oom(err);
	r = decode_container_list(mains, key, K8S_CONTAINER_MAIN, arena, pod, err);
	return r ? r : decode_container_list(inits, "initContainers", K8S_CONTAINER_INIT, arena, pod, err);
}

/* ---- volumes ---- */

static int decode_medium(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	const char *medium;
	int r = decode_name(object, key, &medium, err);

	(void)arena;
	*(bool *)ret = streq(medium, "Memory");
	return r;
}

static int decode_size(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	(void)arena;
	return decode_at(decode_amount(doc_member(object, key), false, ret, err), err, "%s", key);
}

static const struct decode_table emptydir_table = DECODE_TABLE(
	DECODE_WITH(struct k8s_volume, is_memory, "medium", decode_medium),
	DECODE_WITH(struct k8s_volume, size_limit, "sizeLimit", decode_size));
static const struct decode_table volume_table = DECODE_TABLE(
	DECODE(struct k8s_volume, name, "name", DECODE_NAME),
	DECODE(struct k8s_volume, is_emptydir, "emptyDir", DECODE_IS_PRESENT),
	DECODE_INSIDE("emptyDir", emptydir_table));

/* ---- affinity ---- */

/* An expression `key operator [values]`. */
struct expression {
	const char *key, *operator_, **values;
	size_t n_values;
};
struct term {
	struct expression *expressions;
	size_t n_expressions;
};
static const struct decode_table expression_table = DECODE_TABLE(
	DECODE(struct expression, key, "key", DECODE_NAME),
	DECODE(struct expression, operator_, "operator", DECODE_NAME),
	DECODE_ARRAY(struct expression, values, "values", DECODE_TEXTS));
static const struct decode_table term_table = DECODE_TABLE(
	DECODE_ARRAY(struct term, expressions, "matchExpressions", DECODE_LIST, .table = &expression_table));

/* The pairs of a single required term: of `key In [value]`, as other expressions select no single value. Several terms
 * are alternatives, so none of them is required by itself. */
static int decode_terms(const struct doc *object, const char *key, struct arena *arena, void *ret, struct err *err)
{
	struct k8s_labels *pairs = ret;
	struct term term = {.n_expressions = 0};
	const struct doc *terms;
	size_t n;
	int r = decode_items(object, key, &terms, &n, err);

	if (r || n != 1)
		return r;
	r = decode_at(decode_fields(&term_table, terms, arena, &term, err), err, "%s[0]", key);
	if (r || !term.n_expressions)
		return r;
	pairs->is_present = true;
	pairs->items = arena_array(arena, term.n_expressions, sizeof(*pairs->items));
	if (!pairs->items)
		return decode_oom(err);
	for (size_t i = 0; i < term.n_expressions; i++) {
		const struct expression *one = &term.expressions[i];

		if (*one->key && one->n_values == 1 && streq(one->operator_, "In"))
			pairs->items[pairs->n++] = (struct k8s_label){one->key, one->values[0]};
	}
	return 0;
}

static const struct decode_table required_table = DECODE_TABLE(
	DECODE_WITH(struct k8s_pod, required_affinity, "nodeSelectorTerms", decode_terms));
static const struct decode_table node_affinity_table = DECODE_TABLE(
	DECODE_INSIDE("requiredDuringSchedulingIgnoredDuringExecution", required_table));
static const struct decode_table affinity_table = DECODE_TABLE(DECODE_INSIDE("nodeAffinity", node_affinity_table));

/* ---- pods ---- */

static const struct decode_table owner_table = DECODE_TABLE(
	DECODE(struct k8s_owner, api_version, "apiVersion", DECODE_NAME),
	DECODE(struct k8s_owner, kind, "kind", DECODE_NAME), DECODE(struct k8s_owner, name, "name", DECODE_NAME),
	DECODE(struct k8s_owner, uid, "uid", DECODE_NAME),
	DECODE(struct k8s_owner, is_controller, "controller", DECODE_BOOL));

static const struct decode_table metadata_table = DECODE_TABLE(
	DECODE(struct k8s_pod, namespace_name, "namespace", DECODE_NAME),
	DECODE(struct k8s_pod, name, "name", DECODE_NAME),
	DECODE(struct k8s_pod, generate_name, "generateName", DECODE_NAME),
	DECODE(struct k8s_pod, uid, "uid", DECODE_NAME), DECODE(struct k8s_pod, labels, "labels", DECODE_LABELS),
	DECODE(struct k8s_pod, annotations, "annotations", DECODE_ANNOTATIONS),
	DECODE_ARRAY(struct k8s_pod, owners, "ownerReferences", DECODE_LIST, .table = &owner_table,
		     .max = LIMIT_OWNER_REFERENCES));

static const struct decode_table spec_table = DECODE_TABLE(
	DECODE(struct k8s_pod, has_deadline, "activeDeadlineSeconds", DECODE_IS_PRESENT),
	DECODE(struct k8s_pod, has_workload_ref, "workloadRef", DECODE_IS_PRESENT),
	DECODE(struct k8s_pod, has_pod_resources, "resources", DECODE_IS_PRESENT),
	DECODE(struct k8s_pod, priority_class, "priorityClassName", DECODE_NAME),
	DECODE(struct k8s_pod, scheduler_name, "schedulerName", DECODE_NAME),
	DECODE(struct k8s_pod, restart_policy, "restartPolicy", DECODE_NAME),
	DECODE(struct k8s_pod, is_host_ipc, "hostIPC", DECODE_BOOL),
	DECODE_WITH(struct k8s_pod, namespace_name, "containers", decode_containers),
	DECODE_ARRAY(struct k8s_pod, volumes, "volumes", DECODE_LIST, .table = &volume_table),
	DECODE_WITH(struct k8s_pod, resources, "resources", decode_resources),
	DECODE_WITH(struct k8s_pod, overhead, "overhead", decode_amounts),
	DECODE(struct k8s_pod, n_resource_claims, "resourceClaims", DECODE_COUNT),
	DECODE(struct k8s_pod, n_scheduling_gates, "schedulingGates", DECODE_COUNT),
	DECODE_INSIDE("affinity", affinity_table),
	DECODE(struct k8s_pod, node_selector, "nodeSelector", DECODE_LABELS));
static const struct decode_table pod_table = DECODE_TABLE(DECODE_INSIDE("metadata", metadata_table),
							  DECODE_INSIDE("spec", spec_table));

int k8s_pod_of_doc(const struct doc *pod, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	struct k8s_pod decoded = {.n_containers = 0};
	int r = pod->type == DOC_OBJECT ? decode_fields(&pod_table, pod, arena, &decoded, err)
					: decode_type_error(pod, "object", err);

	if (!r)
		*ret = decoded;
	return r;
}

int k8s_pod_decode(struct json_object *pod, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	struct doc doc;
	int r = doc_of_json(pod, &allow_pod, arena, &doc, err);

	return r ? r : k8s_pod_of_doc(&doc, arena, ret, err);
}

const char *k8s_label_get(const struct k8s_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->n; i++) {
		STEPS(1);
		if (labels->items[i].key[0] == key[0] && strcmp(labels->items[i].key, key) == 0)
			return labels->items[i].value;
	}
	return NULL;
}

const struct k8s_owner *k8s_pod_controller(const struct k8s_pod *pod)
{
	STEPS(pod->n_owners);
	for (size_t i = 0; i < pod->n_owners; i++)
		if (pod->owners[i].is_controller)
			return &pod->owners[i];
	return NULL;
}

bool k8s_container_restarts(const struct k8s_pod *pod, const struct k8s_container *container)
{
	const char *own = container->restart_policy;

	/* the kubelet reads rules only beside a restart policy of the container */
	if (*own && container->has_restart_rule)
		return true;
	return !streq(*own ? own : pod->restart_policy, "Never");
}

const char *k8s_container_array(const struct k8s_container *container)
{
	return container->type == K8S_CONTAINER_MAIN ? "containers" : "initContainers";
}

const char *k8s_pointer_escape(struct arena *arena, const char *key)
{
	size_t n = strlen(key), extra = 0;
	char *copy, *to;

	STEPS(n);
	for (size_t i = 0; i < n; i++)
		extra += key[i] == '~' || key[i] == '/';
	if (!extra)
		return key;
	copy = to = arena_alloc(arena, n + extra + 1);
	for (size_t i = 0; copy && i < n; i++) {
		if (key[i] != '~' && key[i] != '/') {
			*to++ = key[i];
			continue;
		}
		*to++ = '~';
		*to++ = key[i] == '~' ? '0' : '1';
	}
	return copy;
}
