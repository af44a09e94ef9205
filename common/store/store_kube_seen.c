/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_kube.h"

#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Members of metadata that others write, and that a replacement of the object would take away. */
static const char *const kept_members[] = {"labels", "annotations", "ownerReferences", "finalizers"};

#define METADATA_BYTES (512 * KIB) /* annotations are at most 256 KiB */

void seen_release(struct seen_table *self)
{
	for (size_t i = 0; i < self->capacity; i++)
		free(self->slots[i].metadata);
	free(self->slots);
	*self = (struct seen_table){.n = 0};
}

static uint64_t hash_of(const char *namespace_name, const char *name)
{
	char key[STORE_KEY_BYTES];
	uint64_t hash;

	store_key(key, namespace_name, name);
	hash = hash_seeded(key, strlen(key));
	return hash ? hash : 1;
}

static struct seen_object *find(const struct seen_table *self, uint64_t hash)
{
	size_t i = hash & (self->capacity - 1);

	while (self->slots[i].hash && self->slots[i].hash != hash)
		i = (i + 1) & (self->capacity - 1);
	return &self->slots[i];
}

static int grow(struct seen_table *self)
{
	struct seen_table bigger = {.n = self->n, .capacity = self->capacity ? self->capacity * 2 : 16};

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < self->capacity; i++)
		if (self->slots[i].hash)
			*find(&bigger, self->slots[i].hash) = self->slots[i];
	free(self->slots);
	*self = bigger;
	return 0;
}

const struct seen_object *seen_get(const struct seen_table *self, const char *namespace_name, const char *name)
{
	const struct seen_object *found = self->capacity ? find(self, hash_of(namespace_name, name)) : NULL;

	return found && found->hash && *found->version ? found : NULL;
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

int seen_put(struct seen_table *self, const struct kube_object *object, bool is_bad, struct err *err)
{
	size_t n = strlen(object->resource_version);
	struct seen_object seen = {.hash = hash_of(object->namespace, object->name), .is_bad = is_bad}, *slot;
	int r;

	if (!n || n >= sizeof(seen.version))
		return err_set(err, -EINVAL, "metadata.resourceVersion: \"%.60s\" is none", object->resource_version);
	if ((self->n + 1) * 4 > self->capacity * 3 && grow(self))
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(seen.version, object->resource_version, n);
	seen.metadata = keep_metadata(object, &r);
	if (r)
		return err_set(err, r, "out of memory");
	slot = find(self, seen.hash);
	self->n += !slot->hash;
	free(slot->metadata);
	*slot = seen;
	return 0;
}

void seen_forget(struct seen_table *self, const char *namespace_name, const char *name)
{
	struct seen_object *slot = self->capacity ? find(self, hash_of(namespace_name, name)) : NULL;

	if (!slot || !slot->hash)
		return;
	free(slot->metadata);
	*slot = (struct seen_object){.hash = slot->hash};
}
