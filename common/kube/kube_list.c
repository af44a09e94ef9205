/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_list.h"

#include "base/arena.h"
#include "base/json_split.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "http_client/http_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_ITEMS	 500
#define PAGE_TIMEOUT_MS	 (60 * TIME_SECOND_MS)
#define WHOLE_TIMEOUT_MS (5 * TIME_MINUTE_MS)
#define PAGE_STALL_MS	 (30 * TIME_SECOND_MS)
#define OBJECT_DEPTH	 128

struct kube_list {
	struct kube_client *client;
	struct kube_list_request request;
	struct arena arena;   /* owns the strings of `request` */
	struct arena scratch; /* for an item that is passed on as text */
	struct kube_call *call;
	struct json_split split;
	struct strbuf continue_token;
	bool is_unpaged;      /* the continue token expired: the list is read without pages */
	struct err split_err; /* why the list was not read to its end */
	int split_code;
	bool is_done;
	struct kube_result result; /* how the list has ended */
};

void kube_selection_query(const struct kube_selection *selection, struct strbuf *query)
{
	if (selection->label_selector)
		http_form_add(query, "labelSelector", selection->label_selector);
	if (selection->field_selector)
		http_form_add(query, "fieldSelector", selection->field_selector);
}

int kube_selection_copy(struct kube_selection *self, struct arena *arena)
{
	const char **texts[] = {&self->resource.group, &self->resource.version, &self->resource.plural,
				&self->namespace,      &self->label_selector,	&self->field_selector};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (*texts[i] && !(*texts[i] = arena_strdup(arena, *texts[i])))
			return -ENOMEM;
	return 0;
}

static void report_bad(struct kube_list *self, const struct err *why)
{
	if (self->request.bad)
		self->request.bad(self->request.context, why);
}

static int take_item(void *context, const struct json_item *item, struct err *err)
{
	struct kube_list *self = context;
	CLEANUP(json_putp) struct json_object *json = NULL;
	struct kube_object object;
	struct err why = ERR_INIT;
	int r;

	if (!item->text) {
		r = err_set(&why, -E2BIG, "an object of %s is longer than %zu bytes, too deep or has too many parts",
			    self->request.selection.resource.plural, LIMIT_KUBE_OBJECT_BYTES);
	} else if (self->request.wants_text) {
		arena_reset(&self->scratch);
		r = kube_object_scan(item->text, item->n, &self->scratch, &object, &why);
	} else {
		r = json_parse(item->text, item->n, OBJECT_DEPTH, &json, &why);
		if (!r)
			r = kube_object_read(json, &object, &why);
	}
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	if (r) {
		report_bad(self, &why);
		return 0;
	}
	return self->request.item(self->request.context, &object, err);
}

static const struct json_split_rule list_rule = {
	.path = {"items"},
	.max_item_bytes = LIMIT_KUBE_OBJECT_BYTES,
	.max_item_depth = LIMIT_KUBE_OBJECT_DEPTH,
	.max_item_tokens = LIMIT_KUBE_OBJECT_TOKENS,
	.max_envelope_bytes = LIMIT_KUBE_ENVELOPE_BYTES,
	.take_item = take_item,
};

static int take_piece(void *context, const char *bytes, size_t n)
{
	struct kube_list *self = context;

	self->split_code = json_split_feed(&self->split, bytes, n, &self->split_err);
	return self->split_code;
}

static int start_page(struct kube_list *self, struct err *err);

static void end(struct kube_list *self, const struct kube_result *result, const char *resource_version)
{
	self->is_done = true;
	self->result = *result;
	if (self->request.done)
		self->request.done(self->request.context, result, resource_version);
}

static void fail(struct kube_list *self, int code, const struct err *why)
{
	struct kube_result result = {.code = code, .err = *why};

	end(self, &result, NULL);
}

/* Reads the envelope of a complete page. @return 0, with strings that belong to `envelope`; -EINVAL. */
static int read_envelope(struct kube_list *self, struct json_object **ret_envelope, const char **ret_continue,
			 const char **ret_version, struct err *err)
{
	struct json_object *metadata = NULL, *items = NULL;
	int r = json_split_finish(&self->split, err);

	if (!r)
		r = json_parse(self->split.envelope.text, self->split.envelope.len, OBJECT_DEPTH, ret_envelope, err);
	if (!r)
		r = json_get_array(*ret_envelope, "", "items", &items, err);
	if (r >= 0)
		r = json_get_object(*ret_envelope, "", "metadata", &metadata, err);
	if (r >= 0)
		r = json_get_string(metadata, "metadata", "continue", ret_continue, err);
	if (r >= 0)
		r = json_get_string(metadata, "metadata", "resourceVersion", ret_version, err);
	if (r >= 0 && (!*ret_version || !**ret_version))
		r = err_set(err, -EINVAL, "this is no list: it has no resourceVersion");
	return r < 0 ? r : 0;
}

static void page_is_here(struct kube_list *self, const struct kube_result *result)
{
	CLEANUP(json_putp) struct json_object *envelope = NULL;
	const char *more = NULL, *version = NULL;
	struct err err = ERR_INIT;
	int r = read_envelope(self, &envelope, &more, &version, &err);

	strbuf_clear(&self->continue_token);
	if (!r && more && *more) {
		r = strbuf_adds(&self->continue_token, more);
		if (!r)
			r = start_page(self, &err);
	} else if (!r) {
		end(self, result, version);
		return;
	}
	if (r)
		fail(self, r, &err);
}

static void page_done(void *context, const struct kube_result *result)
{
	struct kube_list *self = context;
	struct kube_result shown = *result;
	struct err err = ERR_INIT;
	int r;

	self->call = NULL;
	if (result->code == KUBE_EXPIRED && self->continue_token.len && !self->is_unpaged) {
		/* further pages of the old version are not available, so the list restarts without pages */
		self->is_unpaged = true;
		strbuf_clear(&self->continue_token);
		if (self->request.restarted)
			self->request.restarted(self->request.context);
		r = start_page(self, &err);
		if (r)
			fail(self, r, &err);
		return;
	}
	if (!result->code) {
		page_is_here(self, result);
		return;
	}
	if (self->split_code) {
		shown.code = self->split_code;
		shown.err = self->split_err;
	}
	end(self, &shown, NULL);
}

static int start_page(struct kube_list *self, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf query = STRBUF_INIT(24 * KIB);
	const struct kube_selection *selection = &self->request.selection;
	struct kube_request request = {
		.verb = KUBE_LIST,
		.resource = selection->resource,
		.namespace = selection->namespace,
		.timeout_ms = self->request.page_timeout_ms,
		.stall_timeout_ms = PAGE_STALL_MS,
		.is_shared = self->request.is_shared,
		.piece = take_piece,
		.done = page_done,
		.context = self,
	};
	const char *version = self->request.not_older_than;
	char limit[16];

	snprintf(limit, sizeof(limit), "%d", self->request.page_items);
	kube_selection_query(selection, &query);
	if (version)
		http_form_add(&query, "resourceVersion", version);
	if (version && !streq(version, "0"))
		http_form_add(&query, "resourceVersionMatch", "NotOlderThan");
	if (!version && !self->is_unpaged)
		http_form_add(&query, "limit", limit);
	if (self->continue_token.len)
		http_form_add(&query, "continue", strbuf_text(&self->continue_token));
	if (query.status)
		return err_set(err, query.status, "the query of a list is too long");
	request.query = strbuf_text(&query);
	json_split_reset(&self->split);
	return kube_client_submit(self->client, &request, &self->call, err);
}

int kube_list_start(struct kube_client *client, const struct kube_list_request *request, struct kube_list **ret,
		    struct err *err)
{
	struct kube_list *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->client = client;
	self->request = *request;
	self->arena = (struct arena)ARENA_INIT(64 * KIB);
	self->scratch = (struct arena)ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	self->continue_token = (struct strbuf)STRBUF_INIT(16 * KIB);
	if (!self->request.page_items)
		self->request.page_items = PAGE_ITEMS;
	if (!self->request.page_timeout_ms)
		self->request.page_timeout_ms = request->not_older_than ? WHOLE_TIMEOUT_MS : PAGE_TIMEOUT_MS;
	json_split_init(&self->split, &list_rule, self);
	self->request.not_older_than = arena_strdup(&self->arena, request->not_older_than);
	if (kube_selection_copy(&self->request.selection, &self->arena) || self->arena.has_failed)
		r = err_set(err, -ENOMEM, "out of memory");
	else
		r = start_page(self, err);
	if (r) {
		kube_list_free(self);
		return r;
	}
	*ret = self;
	return 0;
}

void kube_list_free(struct kube_list *self)
{
	if (!self)
		return;
	kube_client_cancel(self->client, self->call);
	json_split_release(&self->split);
	strbuf_release(&self->continue_token);
	arena_release(&self->arena);
	arena_release(&self->scratch);
	free(self);
}

int kube_list_all(struct kube_client *client, const struct kube_list_request *request, struct err *err)
{
	struct kube_list_request own = *request;
	struct kube_list *list;
	int r;

	own.done = NULL;
	r = kube_list_start(client, &own, &list, err);
	if (r)
		return r;
	while (!list->is_done && !r)
		r = kube_client_poll(client, NULL, 0, TIME_SECOND_MS, err);
	if (list->is_done) {
		r = list->result.code;
		if (err)
			*err = list->result.err;
	}
	kube_list_free(list);
	return r;
}
