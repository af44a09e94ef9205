/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_kube.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Members of metadata that others write, and that a replacement of the object would take away. */
static const char *const kept_members[] = {"labels", "annotations", "ownerReferences", "finalizers"};

#define METADATA_BYTES (512 * KIB) /* annotations are at most 256 KiB */

#define SEEN_OF(node_) HASHTABLE_OBJECT(node_, struct seen_object, node)

static void seen_free(struct seen_object *seen)
{
	free(seen->metadata);
	free(seen);
}

void seen_release(struct hashtable *self)
{
	for (struct hashtable_node *node = hashtable_next(self, NULL), *next; node; node = next) {
		next = hashtable_next(self, node);
		seen_free(SEEN_OF(node));
	}
	hashtable_release(self);
}

static uint64_t hash_of(const char *namespace_name, const char *name)
{
	const char *const texts[] = {namespace_name, name};

	return hashtable_hash(texts, ARRAY_LEN(texts));
}

struct seen_object *seen_get(const struct hashtable *self, const char *namespace_name, const char *name)
{
	struct hashtable_node *node = hashtable_find(self, hash_of(namespace_name, name));

	return node ? SEEN_OF(node) : NULL;
}

static bool may_have(const struct kube_object *object, const char *member)
{
	char quoted[32];
	int n = snprintf(quoted, sizeof(quoted), "\"%s\"", member);

	return memmem(object->text, object->n_text, quoted, (size_t)n) != NULL;
}

/* The object as json, if it may have one of these members. NULL: it has none, or *ret_r says why not. */
static struct json_object *json_of(const struct kube_object *object, int *ret_r)
{
	struct json_object *json = NULL;
	bool has_any = false;

	if (object->json)
		return json_object_get(object->json);
	for (size_t i = 0; i < ARRAY_LEN(kept_members) && object->text; i++)
		has_any |= may_have(object, kept_members[i]);
	/* its depth was checked when it was read */
	if (has_any && json_parse(object->text, object->n_text, 128, &json, NULL) == -ENOMEM)
		*ret_r = -ENOMEM;
	return json;
}

/* `"labels":{...},` and so on. NULL with *ret_r 0 when there is none, which is so for nearly all. */
static char *keep_metadata(const struct kube_object *object, int *ret_r)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(METADATA_BYTES);
	CLEANUP(json_putp) struct json_object *json = NULL;
	struct json_object *metadata;
	char *text;

	*ret_r = 0;
	json = json_of(object, ret_r);
	metadata = json_member(json, "metadata");
	for (size_t i = 0; i < ARRAY_LEN(kept_members); i++) {
		struct json_object *member = json_member(metadata, kept_members[i]);

		if (member)
			strbuf_addf(&buf, "\"%s\":%s,", kept_members[i],
				    json_object_to_json_string_ext(member, JSON_C_TO_STRING_PLAIN |
										   JSON_C_TO_STRING_NOSLASHESCAPE));
	}
	if (*ret_r || (!buf.len && !buf.status))
		return NULL;
	text = strbuf_detach(&buf);
	*ret_r = text ? 0 : -ENOMEM;
	return text;
}

static struct seen_object *seen_add(struct hashtable *self, const struct kube_object *object)
{
	struct seen_object *seen = calloc(1, sizeof(*seen));

	if (!seen || !hashtable_add(self, &seen->node, hash_of(object->namespace, object->name)))
		return seen;
	free(seen);
	return NULL;
}

int seen_put(struct hashtable *self, const struct kube_object *object, bool is_bad, struct err *err)
{
	struct seen_object *seen = seen_get(self, object->namespace, object->name);
	size_t n = strlen(object->resource_version);
	char *metadata;
	int r;

	if (!n || n >= sizeof(seen->version))
		return err_set(err, -EINVAL, "metadata.resourceVersion: \"%.60s\" is none", object->resource_version);
	metadata = keep_metadata(object, &r);
	if (!r && !seen)
		seen = seen_add(self, object);
	if (r || !seen) {
		free(metadata);
		return err_set(err, r ? r : -ENOMEM, "out of memory");
	}
	free(seen->metadata);
	seen->metadata = metadata;
	seen->is_bad = is_bad;
	memcpy(seen->version, object->resource_version, n + 1);
	return 0;
}

void seen_forget(struct hashtable *self, const char *namespace_name, const char *name)
{
	struct seen_object *seen = seen_get(self, namespace_name, name);

	if (!seen)
		return;
	hashtable_remove(self, &seen->node);
	seen_free(seen);
}
