/* SPDX-License-Identifier: Apache-2.0 */
/* The table as JSON, by rows of fields: what is zero or empty is not written. */
#include "runs/pod_table.h"

#include "base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum field_type { TYPE_INT64, TYPE_INT, TYPE_FLAGS, TYPE_BOOL, TYPE_TEXT };

struct field {
	const char *key;
	enum field_type type;
	size_t offset;
};

#define FIELD(struct_, member, type)                                                                                   \
	{                                                                                                              \
#member, type, offsetof(struct struct_, member)                                                        \
	}

static const struct field pod_fields[] = {
	FIELD(pod, owner_kind, TYPE_TEXT),    FIELD(pod, owner_name, TYPE_TEXT),
	FIELD(pod, root_kind, TYPE_TEXT),     FIELD(pod, root_name, TYPE_TEXT),
	FIELD(pod, start_ms, TYPE_INT64),     FIELD(pod, completion_ms, TYPE_INT64),
	FIELD(pod, seen_from_ms, TYPE_INT64), FIELD(pod, peak_ephemeral_bytes, TYPE_INT64),
	FIELD(pod, pending_ms, TYPE_INT64),   FIELD(pod, memory_wait_ms, TYPE_INT64),
	FIELD(pod, decision, TYPE_TEXT),      FIELD(pod, ends, TYPE_FLAGS),
	FIELD(pod, is_partial, TYPE_BOOL),    FIELD(pod, is_watched, TYPE_BOOL),
	FIELD(pod, activity_sum, TYPE_INT64), FIELD(pod, activity_samples, TYPE_INT64),
};

static const struct field container_fields[] = {
	FIELD(pod_container, image, TYPE_TEXT),
	FIELD(pod_container, limit_bytes, TYPE_INT64),
	FIELD(pod_container, request_bytes, TYPE_INT64),
	FIELD(pod_container, ephemeral_limit_bytes, TYPE_INT64),
	FIELD(pod_container, ephemeral_request_bytes, TYPE_INT64),
	FIELD(pod_container, accelerators_milli, TYPE_INT64),
	FIELD(pod_container, ends, TYPE_FLAGS),
	FIELD(pod_container, restarts, TYPE_INT),
	FIELD(pod_container, killed_limits[0], TYPE_INT64),
	FIELD(pod_container, killed_limits[1], TYPE_INT64),
	FIELD(pod_container, killed_limits[2], TYPE_INT64),
	FIELD(pod_container, killed_limits[3], TYPE_INT64),
	FIELD(pod_container, n_killed_limits, TYPE_INT),
	FIELD(pod_container, peak_bytes, TYPE_INT64),
	FIELD(pod_container, peak_rss_bytes, TYPE_INT64),
	FIELD(pod_container, peak_active_file_bytes, TYPE_INT64),
	FIELD(pod_container, median_bytes, TYPE_INT64),
	FIELD(pod_container, p95_bytes, TYPE_INT64),
	FIELD(pod_container, n_parts, TYPE_INT),
	FIELD(pod_container, samples, TYPE_INT64),
	FIELD(pod_container, covered_ms, TYPE_INT64),
	FIELD(pod_container, step_ms, TYPE_INT64),
	FIELD(pod_container, first_ms, TYPE_INT64),
	FIELD(pod_container, last_ms, TYPE_INT64),
	FIELD(pod_container, is_first_coarse, TYPE_BOOL),
	FIELD(pod_container, is_last_coarse, TYPE_BOOL),
	FIELD(pod_container, is_doubtful, TYPE_BOOL),
};

static int64_t number_of(const struct field *field, const void *self)
{
	const char *place = (const char *)self + field->offset;

	switch (field->type) {
	case TYPE_INT64:
		return *(const int64_t *)(const void *)place;
	case TYPE_INT:
		return *(const int *)(const void *)place;
	case TYPE_FLAGS:
		return *(const unsigned int *)(const void *)place;
	default:
		return *(const bool *)(const void *)place;
	}
}

static void encode_fields(const struct field *fields, size_t n, const void *self, struct strbuf *buf)
{
	for (size_t i = 0; i < n; i++) {
		if (fields[i].type == TYPE_TEXT) {
			const char *text = *(char *const *)(const void *)((const char *)self + fields[i].offset);

			if (!text || !*text)
				continue;
			strbuf_addf(buf, ",\"%s\":", fields[i].key);
			strbuf_add_json_string(buf, text);
		} else if (number_of(&fields[i], self)) {
			strbuf_addf(buf, ",\"%s\":%" PRId64, fields[i].key, number_of(&fields[i], self));
		}
	}
}

static int decode_field(const struct field *field, struct json_object *object, void *self, struct err *err)
{
	char *place = (char *)self + field->offset;
	const char *text = "";
	int64_t number = 0;
	int r;

	if (field->type == TYPE_TEXT) {
		r = json_get_string(object, "pods", field->key, &text, err);
		return r < 0 ? r : pod_text_set((char **)(void *)place, text);
	}
	r = json_get_int64(object, "pods", field->key, &number, err);
	if (r < 0)
		return r;
	/* -1: killed without a limit */
	if (number < (field->type == TYPE_INT64 ? -1 : 0) || (field->type != TYPE_INT64 && number > INT32_MAX))
		return err_set(err, -EINVAL, "pods.%s: out of range", field->key);
	if (field->type == TYPE_INT64)
		*(int64_t *)(void *)place = number;
	else if (field->type == TYPE_INT)
		*(int *)(void *)place = (int)number;
	else if (field->type == TYPE_FLAGS)
		*(unsigned int *)(void *)place = (unsigned int)number;
	else
		*(bool *)(void *)place = number != 0;
	return 0;
}

static int decode_fields(const struct field *fields, size_t n, struct json_object *object, void *self, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = decode_field(&fields[i], object, self, err);
	return r;
}

static void encode_pod(const struct pod *pod, struct strbuf *buf)
{
	const char *comma = "";

	strbuf_adds(buf, "{\"namespace\":");
	strbuf_add_json_string(buf, pod->namespace_name);
	strbuf_adds(buf, ",\"name\":");
	strbuf_add_json_string(buf, pod->name);
	strbuf_adds(buf, ",\"uid\":");
	strbuf_add_json_string(buf, pod->uid);
	encode_fields(pod_fields, ARRAY_LEN(pod_fields), pod, buf);
	strbuf_adds(buf, ",\"labels\":{");
	for (size_t i = 0; i < pod->labels.n; i++) {
		strbuf_adds(buf, i ? "," : "");
		strbuf_add_json_string(buf, pod->labels.items[i].key);
		strbuf_addc(buf, ':');
		strbuf_add_json_string(buf, pod->labels.items[i].value);
	}
	strbuf_adds(buf, "},\"containers\":[");
	for (size_t i = 0; i < pod->containers.n; i++, comma = ",") {
		const struct pod_container *container = &pod->containers.items[i];

		strbuf_addf(buf, "%s{\"name\":", comma);
		strbuf_add_json_string(buf, container->name);
		encode_fields(container_fields, ARRAY_LEN(container_fields), container, buf);
		strbuf_adds(buf, ",\"usage\":\"");
		sketch_encode(&container->usage, buf);
		strbuf_adds(buf, "\"}");
	}
	strbuf_adds(buf, "]}");
}

int pod_table_encode(const struct pod_table *self, struct strbuf *buf)
{
	strbuf_addf(buf, "{\"stepMs\":%" PRId64 ",\"pods\":[", self->step_ms);
	for (size_t i = 0; i < self->pods.n; i++) {
		strbuf_adds(buf, i ? ",\n" : "\n");
		encode_pod(self->pods.items[i], buf);
	}
	strbuf_adds(buf, "]}");
	return buf->status;
}

static int decode_container(struct json_object *object, struct pod *pod, struct err *err)
{
	struct pod_container container = {.name = NULL};
	const char *name = "", *usage = "";
	int r = json_get_string(object, "containers", "name", &name, err);

	r = r < 0 ? r : json_get_string(object, "containers", "usage", &usage, err);
	r = r < 0 ? r : pod_text_set(&container.name, name);
	if (!r)
		r = decode_fields(container_fields, ARRAY_LEN(container_fields), object, &container, err);
	if (!r && container.n_killed_limits > RUN_KILLED_LIMITS)
		r = -EINVAL;
	if (!r && *usage)
		r = sketch_decode(usage, &container.usage);
	if (!r)
		r = vec_push(&pod->containers, container);
	if (!r)
		return 0;
	free(container.name);
	free(container.image);
	sketch_release(&container.usage);
	return err_set(err, r, "containers.%s: cannot be read", name);
}

static int decode_labels(struct json_object *object, struct pod *pod, struct err *err)
{
	struct json_object *labels = NULL;
	int r = json_get_object(object, "pods", "labels", &labels, err);

	if (r)
		return r < 0 ? r : 0;
	json_object_object_foreach(labels, key, value)
	{
		if (!json_object_is_type(value, json_type_string))
			return err_set(err, -EINVAL, "pods.labels.%s: no text", key);
		if (pod_label_add(pod, key, json_object_get_string(value)))
			return err_set(err, -ENOMEM, "no memory left");
	}
	return 0;
}

static int decode_pod(struct json_object *object, struct pod_table *table, struct err *err)
{
	const char *namespace_name = "", *name = "", *uid = "";
	struct json_object *containers = NULL;
	struct pod *pod;
	int r = json_get_string(object, "pods", "namespace", &namespace_name, err);

	r = r < 0 ? r : json_get_string(object, "pods", "name", &name, err);
	r = r < 0 ? r : json_get_string(object, "pods", "uid", &uid, err);
	if (r < 0)
		return r;
	pod = pod_new(namespace_name, name, uid);
	if (!pod)
		return err_set(err, -ENOMEM, "no memory left");
	r = decode_fields(pod_fields, ARRAY_LEN(pod_fields), object, pod, err);
	r = r ? r : decode_labels(object, pod, err);
	if (!r)
		r = json_get_array(object, "pods", "containers", &containers, err);
	for (size_t i = 0; !r && i < json_object_array_length(containers); i++)
		r = decode_container(json_object_array_get_idx(containers, i), pod, err);
	if (r) {
		pod_free(pod);
		return r < 0 ? r : err_set(err, -EINVAL, "pods.containers: missing");
	}
	r = pod_table_add(table, pod);
	return r ? err_set(err, r, "no memory left") : 0;
}

int pod_table_decode(struct json_object *object, struct pod_table *ret, struct err *err)
{
	struct json_object *pods = NULL;
	int r = json_get_int64(object, "table", "stepMs", &ret->step_ms, err);

	r = r < 0 ? r : json_get_array(object, "table", "pods", &pods, err);
	if (r)
		return r < 0 ? r : err_set(err, -EINVAL, "pods: missing");
	for (size_t i = 0; !r && i < json_object_array_length(pods); i++)
		r = decode_pod(json_object_array_get_idx(pods, i), ret, err);
	return r;
}
