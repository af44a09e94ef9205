/* SPDX-License-Identifier: Apache-2.0 */
/* Reading objects of the cluster. Lists come page by page and each object is given away at once. What is remembered of
 * each object are 8 bytes while its list is read, and what a writer needs. */
#include "store/store_kube.h"

#include "base/hash.h"
#include "base/vec.h"
#include "kube/kube_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A page of histories of 32 KiB each is what the server holds in memory for us. */
static const int page_items[ITEM_KIND_COUNT_] = {[ITEM_SHAPE] = 500, [ITEM_PROFILE] = 500, [ITEM_HISTORY] = 100};

static void kube_close(struct store *base)
{
	struct kube_store *self = store_kube_of(base);

	for (int i = 0; i < ITEM_KIND_COUNT_; i++)
		seen_release(&self->seen[i]);
	free(self->own_namespace);
	store_names_release(&self->reported_gone);
	store_release(base);
	free(self);
}

/* ---- one object ---- */

struct listing {
	struct kube_store *store;
	enum store_item_kind kind;
	const struct store_visitor *visitor;
	struct arena scratch; /* of the object at hand */
	/* Hashes of the names of objects that were given away. Sorted once the list has restarted. */
	VEC(uint64_t) given;
	bool has_restarted;
	bool is_done;
	int code;
	struct err err;
};

/* A list restarts at most once, as it has no pages then. */
static void list_restarted(void *context)
{
	struct listing *self = context;

	self->has_restarted = self->given.n > 0;
	if (self->has_restarted)
		qsort(self->given.items, self->given.n, sizeof(*self->given.items), hash_compare);
}

/* Visitors count and collect, so an object that comes a second time, in a list that has restarted, is not given away
 * again. */
static int list_item(void *context, const struct kube_object *object, struct err *err)
{
	struct listing *self = context;
	uint64_t name = hashtable_hash((const char *const[]){object->namespace, object->name}, 2);

	if (!self->has_restarted && vec_push(&self->given, name))
		return err_set(err, -ENOMEM, "out of memory");
	if (self->has_restarted &&
	    bsearch(&name, self->given.items, self->given.n, sizeof(*self->given.items), hash_compare))
		return 0;
	return store_kube_give(self->store, self->kind, object, self->visitor, &self->scratch, err);
}

static void list_bad(void *context, const struct err *why)
{
	const struct listing *self = context;
	struct err report = *why;

	err_wrap(&report, "a %s", store_item_kinds[self->kind]);
	store_report_bad(&self->store->base, &report);
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
				  "the API server does not serve %s.memtamer.io: install memtamer's custom resource "
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
		.restarted = list_restarted,
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
	vec_release(&listing.given);
	return r;
}

static int kube_visit(struct store *base, const struct store_visitor *visitor, struct err *err)
{
	struct kube_store *self = store_kube_of(base);
	int r = 0;

	for (enum store_item_kind kind = 0; kind < ITEM_KIND_COUNT_ && !r; kind++)
		if (store_wants(visitor, kind))
			r = list(self, kind, visitor, err);
	return r;
}

static const struct store_ops kube_ops = {
	.close = kube_close,
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
	*self = (struct kube_store){.base = {.ops = &kube_ops, .is_writer = is_writer},
				    .client = client,
				    .reported_gone = STORE_NAMES_INIT};
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
