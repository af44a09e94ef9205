/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/pod.h"

#include "base/limits.h"
#include "k8s/decode.h"

#include <errno.h>

static int decode_texts(struct json_object *object, const char *key, struct arena *arena, const char ***ret,
			size_t *ret_n, struct err *err)
{
	struct json_object *array;
	int r = json_get_array(object, "", key, &array, err);
	size_t n;

	if (r)
		return r == JSON_ABSENT ? 0 : r;
	n = json_object_array_length(array);
	*ret = arena_array(arena, n, sizeof(**ret));
	if (!*ret)
		return decode_oom(err);
	for (size_t i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);

		if (!json_object_is_type(item, json_type_string))
			return decode_at(err_set(err, -EINVAL, "expected string, found %s",
						 json_type_to_name(json_object_get_type(item))),
					 err, "%s[%zu]", key, i);
		(*ret)[i] = arena_strdup(arena, json_object_get_string(item));
		if (!(*ret)[i])
			return decode_oom(err);
	}
	*ret_n = n;
	return 0;
}

/* Projection leaves null in place of variables that nobody reads. */
static int decode_env(struct json_object *object, struct arena *arena, struct k8s_container *ret, struct err *err)
{
	struct json_object *array;
	int r = json_get_array(object, "", "env", &array, err);
	size_t n;

	if (r)
		return r == JSON_ABSENT ? 0 : r;
	n = json_object_array_length(array);
	ret->has_env = true;
	ret->env = arena_array(arena, n, sizeof(*ret->env));
	if (!ret->env)
		return decode_oom(err);
	for (size_t i = 0; !r && i < n; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);
		struct k8s_env *env = &ret->env[ret->n_env];

		if (!item)
			continue;
		env->name = "";
		r = decode_string(item, "name", arena, &env->name, err);
		if (!r)
			r = decode_string(item, "value", arena, &env->value, err);
		if (env->value && !*env->value)
			env->value = NULL;
		ret->n_env++;
		decode_at(r, err, "env[%zu]", i);
	}
	return r;
}

static int decode_mounts(struct json_object *object, struct arena *arena, struct k8s_container *ret, struct err *err)
{
	struct json_object *array;
	int r = decode_array(object, "volumeMounts", &array, &ret->n_mounts, err);

	if (r || !ret->n_mounts)
		return r;
	ret->mounts = arena_array(arena, ret->n_mounts, sizeof(*ret->mounts));
	if (!ret->mounts)
		return decode_oom(err);
	for (size_t i = 0; !r && i < ret->n_mounts; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);

		ret->mounts[i] = (struct k8s_mount){"", ""};
		r = decode_string(item, "name", arena, &ret->mounts[i].volume, err);
		if (!r)
			r = decode_string(item, "mountPath", arena, &ret->mounts[i].path, err);
		decode_at(r, err, "volumeMounts[%zu]", i);
	}
	return r;
}

static int decode_bool(struct json_object *object, const char *key, bool *ret, struct err *err)
{
	int r = json_get_bool(object, "", key, ret, err);

	return r == JSON_ABSENT ? 0 : r;
}

static int decode_container(struct json_object *object, struct arena *arena, struct k8s_container *ret, struct err *err)
{
	const char *restart_policy = "";
	int r;

	ret->name = ret->image = "";
	r = decode_string(object, "name", arena, &ret->name, err);
	if (!r)
		r = decode_string(object, "image", arena, &ret->image, err);
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
		r = decode_string(object, "restartPolicy", arena, &restart_policy, err);
		if (strcmp(restart_policy, "Always") == 0)
			ret->type = K8S_CONTAINER_SIDECAR;
	}
	return r;
}

static int decode_containers(struct json_object *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	static const char *const keys[] = {"containers", "initContainers"};
	struct json_object *arrays[2];
	size_t n[2];

	for (int k = 0; k < 2; k++) {
		int r = decode_array(spec, keys[k], &arrays[k], &n[k], err);

		if (r)
			return r;
		if (n[k] > LIMIT_POD_CONTAINERS)
			return decode_at(err_set(err, -E2BIG, "more than %d containers", LIMIT_POD_CONTAINERS), err,
					 "%s", keys[k]);
	}
	if (n[0] == 0)
		return decode_at(err_set(err, -EINVAL, "a pod has at least one container"), err, "containers");
	if (n[0] + n[1] > LIMIT_POD_CONTAINERS)
		return err_set(err, -E2BIG, "more than %d containers", LIMIT_POD_CONTAINERS);
	ret->containers = arena_array(arena, n[0] + n[1], sizeof(*ret->containers));
	if (!ret->containers)
		return decode_oom(err);
	ret->n_main = n[0];
	for (size_t i = 0; i < n[0] + n[1]; i++) {
		int k = i >= n[0];
		size_t index = k ? i - n[0] : i;
		struct k8s_container *container = &ret->containers[i];
		int r;

		container->type = k ? K8S_CONTAINER_INIT : K8S_CONTAINER_MAIN;
		container->index = index;
		r = decode_container(json_object_array_get_idx(arrays[k], index), arena, container, err);
		if (r)
			return decode_at(r, err, "%s[%zu]", keys[k], index);
		ret->n_containers++;
	}
	return 0;
}

static int decode_emptydir(struct json_object *volume, struct arena *arena, struct k8s_volume *ret, struct err *err)
{
	struct json_object *emptydir;
	const char *medium = "";
	int r = json_get_object(volume, "", "emptyDir", &emptydir, err);

	if (r)
		return r == JSON_ABSENT ? 0 : r;
	ret->is_emptydir = true;
	r = decode_string(emptydir, "medium", arena, &medium, err);
	ret->is_memory = strcmp(medium, "Memory") == 0;
	if (!r)
		r = decode_at(decode_amount(json_member(emptydir, "sizeLimit"), false, arena, &ret->size_limit, err),
			      err, "sizeLimit");
	return decode_at(r, err, "emptyDir");
}

static int decode_volumes(struct json_object *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	struct json_object *array;
	int r = decode_array(spec, "volumes", &array, &ret->n_volumes, err);

	if (r || !ret->n_volumes)
		return r;
	ret->volumes = arena_array(arena, ret->n_volumes, sizeof(*ret->volumes));
	if (!ret->volumes)
		return decode_oom(err);
	for (size_t i = 0; !r && i < ret->n_volumes; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);
		struct k8s_volume *volume = &ret->volumes[i];

		volume->name = "";
		volume->is_persistent = json_member(item, "persistentVolumeClaim") || json_member(item, "ephemeral");
		r = decode_string(item, "name", arena, &volume->name, err);
		if (!r)
			r = decode_emptydir(item, arena, volume, err);
		decode_at(r, err, "volumes[%zu]", i);
	}
	return r;
}

static int decode_owners(struct json_object *metadata, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	struct json_object *array;
	int r = decode_array(metadata, "ownerReferences", &array, &ret->n_owners, err);

	if (r || !ret->n_owners)
		return r;
	ret->owners = arena_array(arena, ret->n_owners, sizeof(*ret->owners));
	if (!ret->owners)
		return decode_oom(err);
	for (size_t i = 0; !r && i < ret->n_owners; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);
		struct k8s_owner *owner = &ret->owners[i];

		*owner = (struct k8s_owner){.api_version = "", .kind = "", .name = "", .uid = ""};
		r = decode_string(item, "apiVersion", arena, &owner->api_version, err);
		if (!r)
			r = decode_string(item, "kind", arena, &owner->kind, err);
		if (!r)
			r = decode_string(item, "name", arena, &owner->name, err);
		if (!r)
			r = decode_string(item, "uid", arena, &owner->uid, err);
		if (!r)
			r = decode_bool(item, "controller", &owner->is_controller, err);
		decode_at(r, err, "ownerReferences[%zu]", i);
	}
	return r;
}

/* Pairs of the one required term: terms are alternatives, so several of them pin nothing by themselves. */
static int decode_term(struct json_object *term, struct arena *arena, struct k8s_labels *ret, struct err *err)
{
	struct json_object *array;
	size_t n;
	int r = decode_array(term, "matchExpressions", &array, &n, err);

	if (r || !n)
		return r;
	ret->items = arena_array(arena, n, sizeof(*ret->items));
	if (!ret->items)
		return decode_oom(err);
	ret->is_present = true;
	for (size_t i = 0; !r && i < n; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);
		const char *operator= "", *key = NULL, **values = NULL;
		size_t n_values = 0;

		r = decode_string(item, "operator", arena, &operator, err);
		if (!r)
			r = decode_string(item, "key", arena, &key, err);
		if (!r && strcmp(operator, "In") == 0)
			r = decode_texts(item, "values", arena, &values, &n_values, err);
		if (!r && key && n_values == 1)
			ret->items[ret->n++] = (struct k8s_label){key, values[0]};
		decode_at(r, err, "matchExpressions[%zu]", i);
	}
	return r;
}

static int decode_affinity(struct json_object *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	static const char *const path[] = {"affinity", "nodeAffinity",
					   "requiredDuringSchedulingIgnoredDuringExecution"};
	struct json_object *object = spec, *terms;
	size_t n;
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_LEN(path); i++)
		r = json_get_object(object, "", path[i], &object, err);
	if (r)
		return r == JSON_ABSENT ? 0 : decode_at(r, err, "affinity");
	r = decode_array(object, "nodeSelectorTerms", &terms, &n, err);
	if (!r && n == 1)
		r = decode_at(decode_term(json_object_array_get_idx(terms, 0), arena, &ret->required_affinity, err),
			      err, "nodeSelectorTerms[0]");
	return decode_at(r, err, "affinity.nodeAffinity.%s", path[2]);
}

static int decode_metadata(struct json_object *metadata, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	const struct {
		const char *key, **field;
	} texts[] = {
		{"namespace", &ret->namespace_name},
		{"name", &ret->name},
		{"generateName", &ret->generate_name},
		{"uid", &ret->uid},
	};
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_LEN(texts); i++) {
		*texts[i].field = "";
		r = decode_string(metadata, texts[i].key, arena, texts[i].field, err);
	}
	if (!r)
		r = decode_labels(metadata, "labels", arena, &ret->labels, err);
	if (!r)
		r = decode_labels(metadata, "annotations", arena, &ret->annotations, err);
	if (!r)
		r = decode_owners(metadata, arena, ret, err);
	return r;
}

static int decode_spec_rest(struct json_object *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	struct json_object *overhead, *ignored;
	int r = decode_resources(spec, arena, &ret->resources, err);

	ret->has_pod_resources = ret->resources.is_present;
	if (!r)
		r = json_get_object(spec, "", "overhead", &overhead, err);
	if (!r)
		r = decode_at(decode_amounts(overhead, arena, ret->overhead, err), err, "overhead");
	if (r < 0)
		return r;
	r = decode_array(spec, "resourceClaims", &ignored, &ret->n_resource_claims, err);
	if (!r)
		r = decode_array(spec, "schedulingGates", &ignored, &ret->n_scheduling_gates, err);
	if (!r)
		r = decode_affinity(spec, arena, ret, err);
	if (!r)
		r = decode_labels(spec, "nodeSelector", arena, &ret->node_selector, err);
	return r;
}

static int decode_spec(struct json_object *spec, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	int r;

	ret->priority_class = ret->scheduler_name = ret->restart_policy = "";
	r = decode_string(spec, "priorityClassName", arena, &ret->priority_class, err);
	if (!r)
		r = decode_string(spec, "schedulerName", arena, &ret->scheduler_name, err);
	if (!r)
		r = decode_string(spec, "restartPolicy", arena, &ret->restart_policy, err);
	if (!r)
		r = decode_containers(spec, arena, ret, err);
	if (!r)
		r = decode_volumes(spec, arena, ret, err);
	if (!r)
		r = decode_spec_rest(spec, arena, ret, err);
	return r;
}

int k8s_pod_decode(struct json_object *pod, struct arena *arena, struct k8s_pod *ret, struct err *err)
{
	struct json_object *metadata = NULL, *spec = NULL;
	struct k8s_pod decoded = {.n_containers = 0};
	int r;

	r = json_get_object(pod, "", "metadata", &metadata, err);
	if (r < 0)
		return r;
	r = json_get_object(pod, "", "spec", &spec, err);
	if (r < 0)
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

const char *k8s_label_get(const struct k8s_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->n; i++)
		if (strcmp(labels->items[i].key, key) == 0)
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
