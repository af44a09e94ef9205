/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster_case: an API server made of one file of tests/triage/pods, as a source of a postmortem. A case has lists of
 * `pods`, `events`, `nodes`, `jobs`, `persistentvolumeclaims` and `memoryprofiles`, `logs` by "POD/CONTAINER"
 * ("POD/CONTAINER/previous"), and `forbidden`: parts of paths that nobody may read. The black-box tests serve the same
 * files over HTTP. */
#include "kube/kube_client.h"
#include "postmortem/object.h"
#include "postmortem/postmortem.h"

#include <stdio.h>
#include <stdlib.h>

/* The path without its escapes. */
static inline void cluster_case_decode(const char *path, char *buf, size_t size)
{
	size_t n = 0;

	for (; *path && n + 1 < size; path++) {
		char digits[3] = {0};

		if (*path == '%' && path[1] && path[2]) {
			memcpy(digits, path + 1, 2);
			buf[n++] = (char)strtoul(digits, NULL, 16);
			path += 2;
		} else {
			buf[n++] = *path;
		}
	}
	buf[n] = '\0';
}

/* What stands behind `mark`, up to one of `ends`. */
static inline bool cluster_case_part(const char *text, const char *mark, const char *ends, char *buf, size_t size)
{
	const char *at = strstr(text, mark);
	size_t n;

	if (!at)
		return false;
	at += strlen(mark);
	n = MIN(strcspn(at, ends), size - 1);
	memcpy(buf, at, n);
	buf[n] = '\0';
	return n > 0;
}

static inline bool cluster_case_is_forbidden(struct json_object *self, const char *path)
{
	struct json_object *list = object_at(self, "forbidden");

	for (size_t i = 0; i < object_count(list); i++) {
		const char *part = json_object_get_string(json_object_array_get_idx(list, i));

		if (part && *part && strstr(path, part))
			return true;
	}
	return false;
}

static inline int cluster_case_write(struct json_object *object, struct strbuf *body)
{
	return strbuf_adds(body, json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
}

static inline int cluster_case_find(struct json_object *list, const char *name, struct strbuf *body)
{
	for (size_t i = 0; i < object_count(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (streq(object_text(item, "metadata.name"), name))
			return cluster_case_write(item, body);
	}
	return KUBE_NOT_FOUND;
}

/* Items of which a member has this value. */
static inline int cluster_case_list(struct json_object *list,
				    bool (*is_chosen)(struct json_object *, const char *, const char *),
				    const char *key, const char *value, struct strbuf *body)
{
	bool has_any = false;

	strbuf_adds(body, "{\"metadata\":{},\"items\":[");
	for (size_t i = 0; i < object_count(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (!is_chosen(item, key, value))
			continue;
		strbuf_adds(body, has_any ? "," : "");
		has_any = true;
		cluster_case_write(item, body);
	}
	return strbuf_adds(body, "]}");
}

static inline bool cluster_case_has_label(struct json_object *pod, const char *key, const char *value)
{
	return streq(object_label(object_at(pod, "metadata.labels"), key), value);
}

static inline bool cluster_case_is_any(struct json_object *object, const char *key, const char *value)
{
	(void)object, (void)key, (void)value;
	return true;
}

static inline bool cluster_case_is_about(struct json_object *event, const char *kind, const char *name)
{
	return streq(object_text(event, "involvedObject.kind"), kind) &&
	       streq(object_text(event, "involvedObject.name"), name);
}

static inline int cluster_case_log(struct json_object *self, const char *path, struct strbuf *body)
{
	char pod[300], container[300], key[700];
	const char *text;

	if (!cluster_case_part(path, "/pods/", "/", pod, sizeof(pod)) ||
	    !cluster_case_part(path, "container=", "&", container, sizeof(container)))
		return KUBE_INVALID;
	snprintf(key, sizeof(key), "%s/%s%s", pod, container, strstr(path, "previous=true") ? "/previous" : "");
	text = object_label(object_at(self, "logs"), key);
	return *text ? strbuf_adds(body, text) : KUBE_NOT_FOUND;
}

static inline int cluster_case_fetch(void *context, const char *raw_path, size_t max_bytes, bool keeps_end,
				     struct strbuf *body, struct err *err)
{
	struct json_object *self = context;
	char path[4096], key[300], value[300];

	(void)max_bytes, (void)keeps_end;
	err_set(err, KUBE_NOT_FOUND, "not found");
	cluster_case_decode(raw_path, path, sizeof(path));
	if (cluster_case_is_forbidden(self, path))
		return err_set(err, KUBE_FORBIDDEN, "forbidden");
	if (strstr(path, "/memoryprofiles?"))
		return cluster_case_list(object_at(self, "memoryprofiles"), cluster_case_is_any, NULL, NULL, body);
	if (strstr(path, "/log?"))
		return cluster_case_log(self, path, body);
	if (cluster_case_part(path, "labelSelector=", "=", key, sizeof(key)) &&
	    cluster_case_part(strstr(path, "labelSelector=") + 14, "=", "&", value, sizeof(value)))
		return cluster_case_list(object_at(self, "pods"), cluster_case_has_label, key, value, body);
	if (cluster_case_part(path, "involvedObject.kind=", ",", key, sizeof(key)) &&
	    cluster_case_part(path, "involvedObject.name=", "&", value, sizeof(value)))
		return cluster_case_list(object_at(self, "events"), cluster_case_is_about, key, value, body);
	if (cluster_case_part(path, "/nodes/", "?", value, sizeof(value)))
		return cluster_case_find(object_at(self, "nodes"), value, body);
	if (cluster_case_part(path, "/jobs/", "?", value, sizeof(value)))
		return cluster_case_find(object_at(self, "jobs"), value, body);
	if (cluster_case_part(path, "/persistentvolumeclaims/", "?", value, sizeof(value)))
		return cluster_case_find(object_at(self, "persistentvolumeclaims"), value, body);
	if (cluster_case_part(path, "/pods/", "?", value, sizeof(value)))
		return cluster_case_find(object_at(self, "pods"), value, body);
	return KUBE_INVALID;
}
