/* SPDX-License-Identifier: Apache-2.0 */
/* Reading objects of the cluster. Lists come page by page and each object is given away at once: memory does not depend
 * on how many there are, but for what a writer has to remember of each. */
#include "store/store_kube.h"

#include "kube/kube_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const struct kube_resource store_kube_resources[ITEM_KIND_COUNT_] = {
	[ITEM_SHAPE] = {"memtamer.io", "v1alpha1", "nodeshapes"},
	[ITEM_PROFILE] = {"memtamer.io", "v1alpha1", "memoryprofiles"},
	[ITEM_HISTORY] = {"memtamer.io", "v1alpha1", "memoryhistories"},
};
/* A page of histories of 32 KiB each is what the server holds in memory for us. */
static const int page_items[ITEM_KIND_COUNT_] = {[ITEM_SHAPE] = 500, [ITEM_PROFILE] = 500, [ITEM_HISTORY] = 100};

struct kube_store *store_kube_of(struct store *base)
{
	return (struct kube_store *)base; /* the head stands first */
}

static void kube_close(struct store *base)
{
	struct kube_store *self = store_kube_of(base);

	for (int i = 0; i < ITEM_KIND_COUNT_; i++)
		seen_release(&self->seen[i]);
	free(self->own_namespace);
	store_names_release(&self->told_gone);
	store_release(base);
	free(self);
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

/* ---- one object ---- */

/* Reading is one thing, what the visitor says to it another: `is_read` tells whose the return value is. */
struct giving {
	const struct kube_object *object;
	const struct store_visitor *visitor;
	struct arena *scratch;
	bool is_read;
};

static int give_shape(struct giving *self, struct err *err)
{
	struct node_shape shape;
	int r = node_shape_read(self->object->text, self->object->n_text, self->scratch, &shape, err);

	self->is_read = !r;
	return r ? r : self->visitor->shape(self->visitor->context, &shape, err);
}

static int give_profile(struct giving *self, struct err *err)
{
	struct profile_draft draft;
	struct profile *profile;
	int r = profile_read(self->object->text, self->object->n_text, self->scratch, &draft, err);

	if (r)
		return r;
	profile = profile_dup(&draft.profile);
	if (!profile)
		return err_set(err, -ENOMEM, "out of memory");
	self->is_read = true;
	return self->visitor->profile(self->visitor->context, profile, err);
}

static int give_history(struct giving *self, struct err *err)
{
	struct history *history = NULL;
	int r = history_read(self->object->text, self->object->n_text, self->scratch, &history, err);

	self->is_read = !r;
	return r ? r : self->visitor->history(self->visitor->context, history, err);
}

int store_kube_give(struct kube_store *self, enum store_item_kind kind, const struct kube_object *object,
		    const struct store_visitor *visitor, struct arena *scratch, struct err *err)
{
	static int (*const gives[ITEM_KIND_COUNT_])(struct giving *, struct err *) = {give_shape, give_profile,
										      give_history};
	struct giving giving = {object, visitor, scratch, false};
	struct err why = ERR_INIT;
	int r;

	arena_reset(scratch);
	r = gives[kind](&giving, &why);
	if (r && (giving.is_read || r == -ENOMEM)) {
		if (err)
			*err = why;
		return r;
	}
	if (self->base.is_writer && seen_put(&self->seen[kind], object, r != 0, NULL) == -ENOMEM)
		return err_set(err, -ENOMEM, "out of memory");
	if (!r)
		return 0;
	store_kube_name(kind, object->namespace, object->name, &why);
	store_tell_bad(&self->base, &why);
	return 0;
}

/* ---- lists ---- */

struct listing {
	struct kube_store *store;
	enum store_item_kind kind;
	const struct store_visitor *visitor;
	struct arena scratch; /* of the object at hand */
	bool is_done;
	int code;
	struct err err;
};

static int list_item(void *context, const struct kube_object *object, struct err *err)
{
	struct listing *self = context;

	return store_kube_give(self->store, self->kind, object, self->visitor, &self->scratch, err);
}

static void list_bad(void *context, const struct err *why)
{
	const struct listing *self = context;
	struct err told = *why;

	err_wrap(&told, "a %s", store_item_kinds[self->kind]);
	store_tell_bad(&self->store->base, &told);
}

static void list_done(void *context, const struct kube_result *result, const char *resource_version)
{
	struct listing *self = context;

	(void)resource_version;
	self->is_done = true;
	self->code = result->code;
	self->err = result->err;
}

/* What the server says to a list in words that help. */
static int explain_list(const struct listing *self, struct err *err)
{
	const char *plural = store_kube_resources[self->kind].plural;

	if (err)
		*err = self->err;
	if (self->code == KUBE_NOT_FOUND)
		return err_set_at(err, -ENOENT, self->err.where, 0, 0,
				  "the API server does not know %s.memtamer.io: install memtamer's custom resource "
				  "definitions (they are in its chart and in manifests/)",
				  plural);
	if (self->code == KUBE_FORBIDDEN)
		err_wrap(err, "not allowed to list %s.memtamer.io", plural);
	return store_kube_errno(self->code);
}

static int wait_for_list(struct listing *self, struct err *err)
{
	int r = 0;

	while (!self->is_done && !r) {
		if (store_is_cancelled(&self->store->base))
			return err_set(err, -ECANCELED, "stopped while reading the cluster");
		r = kube_client_poll(self->store->client, NULL, 0, STORE_KUBE_POLL_MS, err);
	}
	return self->is_done ? explain_list(self, err) : r;
}

static int list(struct kube_store *self, enum store_item_kind kind, const struct store_visitor *visitor,
		struct err *err)
{
	struct listing listing = {
		.store = self, .kind = kind, .visitor = visitor, .scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES)};
	const struct kube_list_request request = {
		.selection = {.resource = store_kube_resources[kind],
			      .namespace = kind == ITEM_SHAPE ? NULL : self->base.namespace_name},
		.page_items = page_items[kind],
		.wants_text = true,
		.item = list_item,
		.bad = list_bad,
		.done = list_done,
		.context = &listing,
	};
	struct kube_list *started;
	int r = kube_list_start(self->client, &request, &started, err);

	if (r)
		return r;
	if (!self->base.namespace_name)
		seen_release(&self->seen[kind]); /* what is not in the list is not there */
	r = wait_for_list(&listing, err);
	kube_list_free(started);
	arena_release(&listing.scratch);
	return r;
}

static int kube_visit(struct store *base, const struct store_visitor *visitor, struct err *err)
{
	struct kube_store *self = store_kube_of(base);
	int r = visitor->shape ? list(self, ITEM_SHAPE, visitor, err) : 0;

	if (!r && visitor->profile)
		r = list(self, ITEM_PROFILE, visitor, err);
	if (!r && visitor->history)
		r = list(self, ITEM_HISTORY, visitor, err);
	return r;
}

static int read_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct profile plain = *take_profile;
	int r;

	plain.n_reasons = 0; /* nobody there reads them */
	r = snapshot_builder_put_copy(context, &plain);
	profile_free(take_profile);
	return r ? err_set(err, r, "out of memory") : 0;
}

static int read_shape(void *context, const struct node_shape *shape, struct err *err)
{
	int r = snapshot_builder_put_shape(context, shape);

	return r ? err_set(err, r, "out of memory") : 0;
}

static int kube_read_profiles(struct store *base, struct snapshot_builder *builder, struct err *err)
{
	const struct store_visitor visitor = {.context = builder, .profile = read_profile, .shape = read_shape};

	return kube_visit(base, &visitor, err);
}

static const struct store_ops kube_ops = {
	.close = kube_close,
	.read_profiles = kube_read_profiles,
	.visit = kube_visit,
	.visit_named = store_kube_visit_named,
	.commit = store_kube_commit,
	.remove = store_kube_remove,
	.state_load = store_kube_state_load,
	.state_save = store_kube_state_save,
	.change_mode_cap = store_kube_change_mode_cap,
	.status_load = store_kube_status_load,
	.status_save = store_kube_status_save,
	.status_place = store_kube_status_place,
};

int store_open_kube(struct kube_client *client, const char *own_namespace, bool is_writer, struct store **ret,
		    struct err *err)
{
	struct kube_store *self = calloc(1, sizeof(*self));
	CLEANUP(store_closep) struct store *base = (struct store *)self;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	*self = (struct kube_store){.base = {.ops = &kube_ops, .is_writer = is_writer}, .client = client};
	base->place = strdup("the cluster");
	self->own_namespace = strdup(own_namespace);
	if (!base->place || !self->own_namespace ||
	    asprintf(&base->state_place, "ConfigMap %s/memtamer-collector", own_namespace) < 0) {
		base->state_place = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = TAKE_PTR(base);
	return 0;
}
