/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/pod.h"

#include "base/limits.h"
#include "k8s/decode.h"

#include <errno.h>

static int decode_texts(const struct doc *object, const char *key, struct arena *arena, const char ***ret,
			size_t *ret_n, struct err *err)
{
	const struct doc *array = NULL;
	int r = decode_array(object, key, &array, err);

	if (r || !array)
		return r;
	*ret = arena_array(arena, array->n_items, sizeof(**ret));
	if (!*ret)
		return decode_oom(err);
	for (const struct doc *item = array->first; item; item = item->next) {
		if (item->type != DOC_STRING)
			return decode_at(decode_type_error(item, "string", err), err, "%s[%zu]", key, *ret_n);
		(*ret)[(*ret_n)++] = item->text;
	}
	return 0;
}

/* Items that the allow-list does not keep are null. */
static int decode_env(const struct doc *object, struct arena *arena, struct k8s_container *ret, struct err *err)
{
	const struct doc *array = NULL;
	int r = decode_array(object, "env", &array, err);
	size_t i = 0;

	if (r || !array)
		return r;
	ret->has_env = true;
	ret->env = arena_array(arena, array->n_items, sizeof(*ret->env));
	if (!ret->env)
		return decode_oom(err);
	for (const struct doc *item = array->first; !r && item; item = item->next, i++) {
		struct k8s_env *env = &ret->env[ret->n_env];

		if (item->type == DOC_NULL)
			continue;
		if (item->type != DOC_OBJECT)
			return decode_at(decode_type_error(item, "object", err), err, "env[%zu]", i);
		env->name = "";
		r = decode_string(item, "name", &env->name, err);
		if (!r)
			r = decode_string(item, "value", &env->value, err);
		if (env->value && !*env->value)
			env->value = NULL;
		ret->n_env++;
		decode_at(r, err, "env[%zu]", i);
	}
	return r;
}

static int decode_mounts(const struct doc *object, struct arena *arena, struct k8s_container *ret, struct err *err)
{
	const struct doc *item;
	size_t n;
	int r = decode_items(object, "volumeMounts", &item, &n, err);

	if (r || !n)
		return r;
	ret->mounts = arena_array(arena, n, sizeof(*ret->mounts));
	if (!ret->mounts)
		return decode_oom(err);
	for (; !r && item; item = item->next) {
		struct k8s_mount *mount = &ret->mounts[ret->n_mounts];

		*mount = (struct k8s_mount){"", ""};
		r = decode_string(item, "name", &mount->volume, err);
		if (!r)
			r = decode_string(item, "mountPath", &mount->path, err);
		decode_at(r, err, "volumeMounts[%zu]", ret->n_mounts++);
	}
	return r;
}

static int decode_container(const struct doc *object, struct arena *arena, struct k8s_container *ret, struct err *err)
{
	const char *restart_policy = "";
	int r;

	ret->name = ret->image = "";
	r = decode_string(object, "name", &ret->name, err);
	if (!r)
		r = decode_string(object, "image", &ret->image, err);
	if (!r)
		r = decode_texts(object, "command", arena, &ret->command, &ret->n_command, err);
	if (!r)
		r = decode_texts(object, "args", arena, &ret->args, &ret->n_args, err);
	if (!r)
		r = decode_env(object, arena, ret, err);
	if (!r)
		r = decode_mounts(object, arena, ret, err);
	if (!r)
		r = decode_bool(object, "stdin", &ret->has_stdin, err);
	if (!r)
		r = decode_bool(object, "tty", &ret->has_tty, err);
	if (!r)
		r = decode_resources(object, arena, &ret->resources, err);
	if (!r && ret->type == K8S_CONTAINER_INIT) {
		r = decode_string(object, "restartPolicy", &restart_policy, err);
		if (strcmp(restart_policy, "Always") == 0)
			ret->type = K8S_CONTAINER_SIDECAR;
	}
	return r;
}

static int decode_container_list(const struct doc *first, const char *key, enum k8s_container_type type,
				 struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	size_t index = 0;

	for (const struct doc *item = first; item; item = item->next, index++) {
		struct k8s_container *container = &ret->containers[ret->n_containers++];
		int r;

		container->type = type;
		container->index = index;
		r = decode_container(item, arena, container, err);
		if (r)
			return decode_at(r, err, "%s[%zu]", key, index);
	}
	return 0;
}

static int decode_containers(const struct doc *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	const struct doc *mains, *inits;
	size_t n_main, n_init;
	int r = decode_items(spec, "containers", &mains, &n_main, err);

	if (!r)
		r = decode_items(spec, "initContainers", &inits, &n_init, err);
	if (r)
		return r;
	if (n_main == 0)
		return decode_at(err_set(err, -EINVAL, "a pod has at least one container"), err, "containers");
	if (n_main + n_init > LIMIT_POD_CONTAINERS)
		return err_set(err, -E2BIG, "more than %d containers", LIMIT_POD_CONTAINERS);
	ret->containers = arena_array(arena, n_main + n_init, sizeof(*ret->containers));
	if (!ret->containers)
		return decode_oom(err);
	ret->n_main = n_main;
	r = decode_container_list(mains, "containers", K8S_CONTAINER_MAIN, arena, ret, err);
	if (!r)
		r = decode_container_list(inits, "initContainers", K8S_CONTAINER_INIT, arena, ret, err);
	return r;
}

static int decode_emptydir(const struct doc *volume, struct k8s_volume *ret, struct err *err)
{
	const struct doc *emptydir = NULL;
	const char *medium = "";
	int r = decode_object(volume, "emptyDir", &emptydir, err);

	if (r || !emptydir)
		return r;
	ret->is_emptydir = true;
	r = decode_string(emptydir, "medium", &medium, err);
	ret->is_memory = strcmp(medium, "Memory") == 0;
	if (!r)
		r = decode_at(decode_amount(doc_member(emptydir, "sizeLimit"), false, &ret->size_limit, err), err,
			      "sizeLimit");
	return decode_at(r, err, "emptyDir");
}

static int decode_volumes(const struct doc *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	const struct doc *item;
	size_t n;
	int r = decode_items(spec, "volumes", &item, &n, err);

	if (r || !n)
		return r;
	ret->volumes = arena_array(arena, n, sizeof(*ret->volumes));
	if (!ret->volumes)
		return decode_oom(err);
	for (; !r && item; item = item->next) {
		struct k8s_volume *volume = &ret->volumes[ret->n_volumes];

		volume->name = "";
		volume->is_persistent = doc_member(item, "persistentVolumeClaim") || doc_member(item, "ephemeral");
		r = decode_string(item, "name", &volume->name, err);
		if (!r)
			r = decode_emptydir(item, volume, err);
		decode_at(r, err, "volumes[%zu]", ret->n_volumes++);
	}
	return r;
}

static int decode_owner(const struct doc *item, struct k8s_owner *ret, struct err *err)
{
	int r;

	*ret = (struct k8s_owner){.api_version = "", .kind = "", .name = "", .uid = ""};
	r = decode_string(item, "apiVersion", &ret->api_version, err);
	if (!r)
		r = decode_string(item, "kind", &ret->kind, err);
	if (!r)
		r = decode_string(item, "name", &ret->name, err);
	if (!r)
		r = decode_string(item, "uid", &ret->uid, err);
	if (!r)
		r = decode_bool(item, "controller", &ret->is_controller, err);
	return r;
}

static int decode_owners(const struct doc *metadata, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	const struct doc *item;
	size_t n;
	int r = decode_items(metadata, "ownerReferences", &item, &n, err);

	if (r || !n)
		return r;
	ret->owners = arena_array(arena, n, sizeof(*ret->owners));
	if (!ret->owners)
		return decode_oom(err);
	for (; !r && item; item = item->next) {
		r = decode_owner(item, &ret->owners[ret->n_owners], err);
		decode_at(r, err, "ownerReferences[%zu]", ret->n_owners++);
	}
	return r;
}

/* The pair of an expression `key In [value]`; others pin nothing. */
static int decode_expression(const struct doc *item, struct arena *arena, struct k8s_labels *ret, struct err *err)
{
	const char *operator_ = "", *key = NULL, **values = NULL;
	size_t n_values = 0;
	int r = decode_string(item, "operator", &operator_, err);

	if (!r)
		r = decode_string(item, "key", &key, err);
	if (!r && strcmp(operator_, "In") == 0)
		r = decode_texts(item, "values", arena, &values, &n_values, err);
	if (!r && key && n_values == 1)
		ret->items[ret->n++] = (struct k8s_label){key, values[0]};
	return r;
}

/* Pairs of the one required term: terms are alternatives, so several of them pin nothing by themselves. */
static int decode_term(const struct doc *term, struct arena *arena, struct k8s_labels *ret, struct err *err)
{
	const struct doc *item;
	size_t n, i = 0;
	int r = decode_items(term, "matchExpressions", &item, &n, err);

	if (r || !n)
		return r;
	ret->items = arena_array(arena, n, sizeof(*ret->items));
	if (!ret->items)
		return decode_oom(err);
	ret->is_present = true;
	for (; !r && item; item = item->next)
		r = decode_at(decode_expression(item, arena, ret, err), err, "matchExpressions[%zu]", i++);
	return r;
}

static int decode_affinity(const struct doc *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	const struct doc *affinity = NULL, *node = NULL, *required = NULL, *terms;
	size_t n;
	int r = decode_object(spec, "affinity", &affinity, err);

	if (r || !affinity)
		return r;
	r = decode_object(affinity, "nodeAffinity", &node, err);
	if (!r)
		r = decode_object(node, "requiredDuringSchedulingIgnoredDuringExecution", &required, err);
	if (r || !required)
		return decode_at(r, err, "affinity");
	r = decode_items(required, "nodeSelectorTerms", &terms, &n, err);
	if (!r && n == 1)
		r = decode_at(decode_term(terms, arena, &ret->required_affinity, err), err, "nodeSelectorTerms[0]");
	return decode_at(r, err, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
}

static int decode_metadata(const struct doc *metadata, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	int r;

	ret->namespace_name = ret->name = ret->generate_name = ret->uid = "";
	r = decode_string(metadata, "namespace", &ret->namespace_name, err);
	if (!r)
		r = decode_string(metadata, "name", &ret->name, err);
	if (!r)
		r = decode_string(metadata, "generateName", &ret->generate_name, err);
	if (!r)
		r = decode_string(metadata, "uid", &ret->uid, err);
	if (!r)
		r = decode_labels(metadata, "labels", arena, &ret->labels, err);
	if (!r)
		r = decode_labels(metadata, "annotations", arena, &ret->annotations, err);
	if (!r)
		r = decode_owners(metadata, arena, ret, err);
	return r;
}

static int decode_spec_rest(const struct doc *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	const struct doc *overhead = NULL, *ignored;
	int r = decode_resources(spec, arena, &ret->resources, err);

	ret->has_pod_resources = ret->resources.is_present;
	if (!r)
		r = decode_object(spec, "overhead", &overhead, err);
	if (!r)
		r = decode_at(decode_amounts(overhead, ret->overhead, err), err, "overhead");
	if (!r)
		r = decode_items(spec, "resourceClaims", &ignored, &ret->n_resource_claims, err);
	if (!r)
		r = decode_items(spec, "schedulingGates", &ignored, &ret->n_scheduling_gates, err);
	if (!r)
		r = decode_affinity(spec, arena, ret, err);
	if (!r)
		r = decode_labels(spec, "nodeSelector", arena, &ret->node_selector, err);
	return r;
}

static int decode_spec(const struct doc *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	int r;

	ret->priority_class = ret->scheduler_name = ret->restart_policy = "";
	ret->has_deadline = doc_member(spec, "activeDeadlineSeconds") != NULL;
	ret->is_host_ipc = false;
	r = decode_string(spec, "priorityClassName", &ret->priority_class, err);
	if (!r)
		r = decode_string(spec, "schedulerName", &ret->scheduler_name, err);
	if (!r)
		r = decode_string(spec, "restartPolicy", &ret->restart_policy, err);
	if (!r)
		r = decode_bool(spec, "hostIPC", &ret->is_host_ipc, err);
	if (!r)
		r = decode_containers(spec, arena, ret, err);
	if (!r)
		r = decode_volumes(spec, arena, ret, err);
	if (!r)
		r = decode_spec_rest(spec, arena, ret, err);
	return r;
}

int decode_pod(const struct doc *pod, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	const struct doc *metadata = NULL, *spec = NULL;
	struct k8s_pod decoded = {.n_containers = 0};
	int r;

	if (pod->type != DOC_OBJECT)
		return decode_type_error(pod, "object", err);
	r = decode_object(pod, "metadata", &metadata, err);
	if (!r)
		r = decode_object(pod, "spec", &spec, err);
	if (r)
		return r;
	r = decode_metadata(metadata, arena, &decoded, err);
	if (r)
		return decode_at(r, err, "metadata");
	r = decode_spec(spec, arena, &decoded, err);
	if (r)
		return decode_at(r, err, "spec");
	*ret = decoded;
	return 0;
}

int k8s_pod_decode(struct json_object *pod, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	struct doc doc;
	int r = doc_of_json(pod, &allow_pod, arena, &doc, err);

	return r ? r : decode_pod(&doc, arena, ret, err);
}

int k8s_pod_of_doc(const struct doc *pod, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	return decode_pod(pod, arena, ret, err);
}

const char *k8s_label_get(const struct k8s_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->n; i++)
		if (labels->items[i].key[0] == key[0] && strcmp(labels->items[i].key, key) == 0)
			return labels->items[i].value;
	return NULL;
}

const struct k8s_owner *k8s_pod_controller(const struct k8s_pod *pod)
{
	for (size_t i = 0; i < pod->n_owners; i++)
		if (pod->owners[i].is_controller)
			return &pod->owners[i];
	return NULL;
}

const char *k8s_container_array(const struct k8s_container *container)
{
	return container->type == K8S_CONTAINER_MAIN ? "containers" : "initContainers";
}

const char *k8s_pointer_escape(struct arena *arena, const char *key)
{
	size_t n = strlen(key), extra = 0;
	char *copy, *to;

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
