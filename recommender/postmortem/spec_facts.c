/* SPDX-License-Identifier: Apache-2.0 */
/* What the spec of a pod says about levers, and about data beside its memory limit. */
#include "postmortem/pod_facts.h"

#include "k8s/keys.h"
#include "k8s/quantity.h"
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
	return object_find(object_at(pod->json, "spec.volumes"), "name", name);
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

/* ---- data beside the memory limit ---- */

/* The memory limit of a container, or of the pod where it has none; FIGURE_NONE: none. */
static int64_t limit_of(const struct ended_pod *pod, const char *container)
{
	for (size_t i = 0; i < pod->containers.n; i++)
		if (streq(pod->containers.items[i].name, container) &&
		    pod->containers.items[i].limit_bytes != FIGURE_NONE)
			return pod->containers.items[i].limit_bytes;
	return pod->limit_bytes;
}

/* What is said of the container with this number. */
static void reading_of(struct reading *reading, size_t number, const char *container, int64_t limit)
{
	reading_init(reading);
	reading->value = (int64_t)number;
	reading_copy(reading->name, sizeof(reading->name), container, "");
	figures_set(&reading->figures, FIGURE_LIMIT, limit);
}

/* The mount of a container whose files are memory, the one that may hold the most; without a sizeLimit 0; NULL: none.
 */
static struct json_object *find_memory_mount(const struct ended_pod *pod, struct json_object *container,
					     int64_t *ret_size)
{
	struct json_object *mounts = object_at(container, "volumeMounts"), *found = NULL;

	*ret_size = 0;
	for (size_t i = 0; i < object_count(mounts); i++) {
		struct json_object *mount = json_object_array_get_idx(mounts, i);
		struct json_object *volume = find_volume(pod, object_text(mount, "name"));
		int64_t size = MAX(object_bytes(volume, "emptyDir.sizeLimit"), 0);

		if (!streq(object_text(volume, "emptyDir.medium"), "Memory") || (found && size <= *ret_size))
			continue;
		found = mount;
		*ret_size = size;
	}
	return found;
}

static void take_memory_volume(struct facts *facts, const struct ended_pod *pod, struct json_object *container,
			       size_t number)
{
	const char *name = object_text(container, "name"), *path;
	int64_t limit = limit_of(pod, name), size;
	struct json_object *mount = find_memory_mount(pod, container, &size);
	struct reading reading;
	char text[TEXT_BYTES];

	if (!mount || limit == FIGURE_NONE || (size && size < limit))
		return;
	path = object_text(mount, "mountPath");
	reading_of(&reading, number, name, limit);
	reading_copy(reading.words, sizeof(reading.words), path, "");
	if (size)
		figures_set(&reading.figures, FIGURE_VOLUME, size);
	snprintf(text, sizeof(text),
		 "container %.63s: volume %.63s at %.200s is memory (medium Memory, %s%s); memory limit %s", name,
		 object_text(mount, "name"), path, size ? "sizeLimit " : "no sizeLimit", size ? HUMAN(size) : "",
		 HUMAN(limit));
	facts_add(facts, SIGNAL_MEMORY_VOLUME, &reading, text);
}

/* The container that trains: that with accelerators, else the one that kubectl would choose. */
static bool is_trainer(const struct ended_pod *pod, struct json_object *container, size_t number)
{
	const char *chosen = object_label(object_at(pod->json, "metadata.annotations"), KEY_DEFAULT_CONTAINER);

	if (*pod->accelerator)
		return *object_label(object_at(container, "resources.limits"), pod->accelerator) != '\0';
	return *chosen ? streq(chosen, object_text(container, "name")) : number == 0;
}

/* As the check dataset-exceeds-memory reads it. */
static void take_dataset(struct facts *facts, const struct ended_pod *pod, struct json_object *json, size_t number)
{
	const char *container = object_text(json, "name");
	const char *said = object_label(object_at(pod->json, "metadata.annotations"), KEY_DATASET);
	int64_t limit = limit_of(pod, container);
	struct quantity quantity;
	struct reading reading;
	char text[TEXT_BYTES];

	if (!*said || !is_trainer(pod, json, number) || quantity_parse(said, strlen(said), &quantity, NULL) ||
	    limit == FIGURE_NONE || quantity_value(&quantity) <= limit)
		return;
	reading_of(&reading, number, container, limit);
	figures_set(&reading.figures, FIGURE_DATASET, quantity_value(&quantity));
	snprintf(text, sizeof(text), "container %.63s: annotation " KEY_DATASET " %.60s; memory limit %s", container,
		 said, HUMAN(limit));
	facts_add(facts, SIGNAL_DATASET, &reading, text);
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
		take_memory_volume(facts, pod, container, i);
		take_dataset(facts, pod, container, i);
	}
}
