/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of kind `kube` share: names, errors and bodies of its objects. */
#include "store/store_kube.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const struct kube_resource store_kube_resources[ITEM_KIND_COUNT_] = {
	[ITEM_SHAPE] = {"memtamer.io", "v1alpha1", "nodeshapes"},
	[ITEM_PROFILE] = {"memtamer.io", "v1alpha1", "memoryprofiles"},
	[ITEM_HISTORY] = {"memtamer.io", "v1alpha1", "memoryhistories"},
};

struct kube_store *store_kube_of(struct store *base)
{
	return (struct kube_store *)base; /* the head stands first */
}

int store_kube_errno(int code)
{
	static const int of_condition[KUBE_CONDITION_COUNT_] = {
		[KUBE_OK] = 0,
		[KUBE_NOT_FOUND] = -ENOENT,
		[KUBE_ALREADY_EXISTS] = -EAGAIN,
		[KUBE_CONFLICT] = -EAGAIN,
		[KUBE_EXPIRED] = -EIO,
		[KUBE_UNAUTHORIZED] = -EPERM,
		[KUBE_FORBIDDEN] = -EACCES,
		[KUBE_INVALID] = -EINVAL,
		[KUBE_TOO_LARGE] = -EMSGSIZE,
		[KUBE_TOO_MANY] = -EBUSY,
		[KUBE_TIMEOUT] = -ETIMEDOUT,
		[KUBE_UNAVAILABLE] = -EIO,
		[KUBE_REFUSED] = -EIO,
	};

	return code > 0 && code < KUBE_CONDITION_COUNT_ ? of_condition[code] : code;
}

void store_kube_name(enum store_item_kind kind, const char *namespace_name, const char *name, struct err *err)
{
	char field[sizeof(err->where)];

	snprintf(field, sizeof(field), "%s", err->where);
	if (field[0])
		err_wrap(err, "%s", field);
	snprintf(err->where, sizeof(err->where), "%s %s%s%s", store_item_kinds[kind], namespace_name,
		 *namespace_name ? "/" : "", name);
}

struct json_object *store_kube_body(char *take_text)
{
	struct json_object *body = take_text ? json_object_new_object() : NULL;

	if (!body) {
		free(take_text);
		return NULL;
	}
	json_object_set_serializer(body, json_object_userdata_to_json_string, take_text, json_object_free_userdata);
	return body;
}

int store_kube_give(struct kube_store *self, enum store_item_kind kind, const struct kube_object *object,
		    const struct store_visitor *visitor, struct arena *scratch, struct err *err)
{
	const struct str text = {object->text, object->n_text};
	struct err why = ERR_INIT;
	bool is_read;
	int r = store_give(&self->base, kind, text, visitor, scratch, &is_read, &why);

	if (r && (is_read || r == -ENOMEM)) {
		if (err)
			*err = why;
		return r;
	}
	if (self->base.is_writer && seen_put(&self->seen[kind], object, r != 0, NULL) == -ENOMEM)
		return err_set(err, -ENOMEM, "out of memory");
	if (!r)
		return 0;
	store_kube_name(kind, object->namespace, object->name, &why);
	store_report_bad(&self->base, &why);
	return 0;
}
