/* SPDX-License-Identifier: Apache-2.0 */
/* What the spec of a pod says about levers. */
#include "postmortem/pod_facts.h"

#include "postmortem/object.h"

#include <stdio.h>

#define TEXT_BYTES     512
#define ARGUMENTS_MAX  1000
#define ARGUMENT_BYTES 4096

static void take_env(struct facts *facts, struct json_object *container)
{
	struct json_object *env = object_at(container, "env");
	char text[TEXT_BYTES];

	for (size_t i = 0; i < object_count(env); i++) {
		struct json_object *item = json_object_array_get_idx(env, i);
		const char *name = object_text(item, "name"), *value = object_text(item, "value");

		if (*value) {
			snprintf(text, sizeof(text), "%.80s=%.250s", name, value);
			facts_add_numbers(facts, text);
		}
		if (!*value || !text_has(name, "_ALLOC_CONF|TF_GPU_ALLOCATOR|XLA_PYTHON_CLIENT_ALLOCATOR"))
			continue;
		snprintf(text, sizeof(text), "container %.63s: env %.80s=%.250s", object_text(container, "name"), name,
			 value);
		facts_add_read(facts, SIGNAL_SETTING, text);
	}
}

static const char *text_at(struct json_object *array, size_t i)
{
	struct json_object *item = i < object_count(array) ? json_object_array_get_idx(array, i) : NULL;

	return json_object_is_type(item, json_type_string) ? json_object_get_string(item) : "";
}

/* "--batch-size=32", "--batch-size" and "32", or the text of a shell. */
static void take_arguments(struct facts *facts, struct json_object *arguments)
{
	for (size_t i = 0; i < object_count(arguments) && i < ARGUMENTS_MAX; i++) {
		char text[ARGUMENT_BYTES];

		snprintf(text, sizeof(text), "%.*s %.40s", ARGUMENT_BYTES - 64, text_at(arguments, i),
			 text_at(arguments, i + 1));
		facts_add_numbers(facts, text);
	}
}

static struct json_object *find_volume(const struct ended_pod *pod, const char *name)
{
	struct json_object *volumes = object_at(pod->json, "spec.volumes");

	for (size_t i = 0; i < object_count(volumes); i++) {
		struct json_object *volume = json_object_array_get_idx(volumes, i);

		if (streq(object_text(volume, "name"), name))
			return volume;
	}
	return NULL;
}

static void take_mounts(struct facts *facts, const struct ended_pod *pod, struct json_object *container)
{
	struct json_object *mounts = object_at(container, "volumeMounts");
	char text[TEXT_BYTES];

	for (size_t i = 0; i < object_count(mounts); i++) {
		struct json_object *mount = json_object_array_get_idx(mounts, i);
		const char *name = object_text(mount, "name"), *size;

		if (!streq(object_text(mount, "mountPath"), "/dev/shm"))
			continue;
		size = object_text(find_volume(pod, name), "emptyDir.sizeLimit");
		snprintf(text, sizeof(text), "container %.63s: volume %.63s mounted at /dev/shm%s%.60s",
			 object_text(container, "name"), name, *size ? ", sizeLimit " : "", size);
		facts_add_read(facts, SIGNAL_SETTING, text);
	}
}

void pod_facts_of_spec(struct facts *facts, const struct ended_pod *pod)
{
	struct json_object *containers = object_at(pod->json, "spec.containers");

	for (size_t i = 0; i < object_count(containers) && i < LIMIT_POD_CONTAINERS; i++) {
		struct json_object *container = json_object_array_get_idx(containers, i);

		take_arguments(facts, object_at(container, "command"));
		take_arguments(facts, object_at(container, "args"));
		take_env(facts, container);
		take_mounts(facts, pod, container);
	}
}
