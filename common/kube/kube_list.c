/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_list.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "http_client/http_client.h"
#include "kube/kube_split.h"

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
	struct arena arena;   /* the selection's texts */
	struct arena scratch; /* of an item that is wanted as text */
	struct kube_call *call;
	struct kube_split split;
	struct strbuf continue_token;
	bool is_unpaged; /* the continue token was too old: all at once */
	struct err item_err;
	int item_code;
};

void kube_selection_query(const struct kube_selection *selection, struct strbuf *query)
{
	if (selection->label_selector)
		http_form_add(query, "labelSelector", selection->label_selector);
	if (selection->field_selector)
		http_form_add(query, "fieldSelector", selection->field_selector);
}

static void tell_bad(struct kube_list *self, const struct err *why)
{
	if (self->request.bad)
		self->request.bad(self->request.context, why);
}

static int take_item(void *context, const char *text, size_t n)
{
	struct kube_list *self = context;
	CLEANUP(json_putp) struct json_object *json = NULL;
	struct kube_object object;
	struct err err = ERR_INIT;
	int r;

	if (!text) {
		r = err_set(&err, -E2BIG, "an object of %s is longer than %zu bytes or has too many parts",
			    self->request.selection.resource.plural, LIMIT_KUBE_OBJECT_BYTES);
	} else if (self->request.wants_text) {
		arena_reset(&self->scratch);
		r = kube_object_scan(text, n, &self->scratch, &object, &err);
	} else {
		r = json_parse(text, n, OBJECT_DEPTH, &json, &err);
		if (!r)
			r = kube_object_read(json, &object, &err);
	}
	if (r == -ENOMEM)
		return r;
	if (r) {
		tell_bad(self, &err);
		return 0;
	}
	self->item_code = self->request.item(self->request.context, &object, &self->item_err);
	return self->item_code;
}

static int take_piece(void *context, const char *bytes, size_t n)
{
	struct kube_list *self = context;

	return kube_split_feed(&self->split, bytes, n);
}

static int start_page(struct kube_list *self, struct err *err);

static void end(struct kube_list *self, const struct kube_result *result, const char *resource_version)
{
	self->request.done(self->request.context, result, resource_version);
}

static void fail(struct kube_list *self, int code, const struct err *why)
{
	struct kube_result result = {.code = code, .err = *why};

	end(self, &result, NULL);
}

/* The page is here: where does it go on? @return 0 with texts of `envelope`; -EINVAL. */
static int read_envelope(struct kube_list *self, struct json_object **ret_envelope, const char **ret_continue,
			 const char **ret_version, struct err *err)
{
	struct json_object *metadata = NULL, *items = NULL;
	int r;

	if (!kube_split_is_whole(&self->split))
		return err_set(err, -EINVAL, "the list ends early");
	r = json_parse(strbuf_text(&self->split.envelope), self->split.envelope.len, OBJECT_DEPTH, ret_envelope, err);
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
	struct kube_result told = *result;
	struct err err = ERR_INIT;
	int r;

	self->call = NULL;
	if (result->code == KUBE_EXPIRED && self->continue_token.len && !self->is_unpaged) {
		/* pages of an old state are no longer to be had; the state of now is, all at once */
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
	if (self->item_code) {
		told.code = self->item_code;
		told.err = self->item_err;
	}
	end(self, &told, NULL);
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
		.piece = take_piece,
		.done = page_done,
		.context = self,
	};
	char limit[16];

	snprintf(limit, sizeof(limit), "%d", self->request.page_items);
	kube_selection_query(selection, &query);
	if (self->request.is_cached)
		http_form_add(&query, "resourceVersion", "0");
	else if (!self->is_unpaged)
		http_form_add(&query, "limit", limit);
	if (self->continue_token.len)
		http_form_add(&query, "continue", strbuf_text(&self->continue_token));
	if (query.status)
		return err_set(err, query.status, "the query of a list is too long");
	request.query = strbuf_text(&query);
	kube_split_reset(&self->split);
	return kube_client_submit(self->client, &request, &self->call, err);
}

static int copy_selection(struct kube_list *self)
{
	struct kube_selection *s = &self->request.selection;
	const char **texts[] = {&s->resource.group, &s->resource.version, &s->resource.plural,
				&s->namespace,	    &s->label_selector,	  &s->field_selector};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (*texts[i] && !(*texts[i] = arena_strdup(&self->arena, *texts[i])))
			return -ENOMEM;
	return 0;
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
		self->request.page_timeout_ms = request->is_cached ? WHOLE_TIMEOUT_MS : PAGE_TIMEOUT_MS;
	kube_split_init(&self->split, take_item, self);
	r = copy_selection(self);
	if (r)
		err_set(err, r, "out of memory");
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
	kube_split_release(&self->split);
	strbuf_release(&self->continue_token);
	arena_release(&self->arena);
	arena_release(&self->scratch);
	free(self);
}

struct all {
	const struct kube_list_request *request;
	bool is_done;
	int code;
	struct err err;
};

static int all_item(void *context, const struct kube_object *object, struct err *err)
{
	struct all *all = context;

	return all->request->item(all->request->context, object, err);
}

static void all_bad(void *context, const struct err *why)
{
	struct all *all = context;

	if (all->request->bad)
		all->request->bad(all->request->context, why);
}

static void all_restarted(void *context)
{
	struct all *all = context;

	if (all->request->restarted)
		all->request->restarted(all->request->context);
}

static void all_done(void *context, const struct kube_result *result, const char *resource_version)
{
	struct all *all = context;

	(void)resource_version;
	all->is_done = true;
	all->code = result->code;
	all->err = result->err;
}

int kube_list_all(struct kube_client *client, const struct kube_list_request *request, struct err *err)
{
	struct all all = {.request = request};
	struct kube_list_request own = *request;
	struct kube_list *list;
	int r;

	own.item = all_item;
	own.bad = all_bad;
	own.restarted = all_restarted;
	own.done = all_done;
	own.context = &all;
	r = kube_list_start(client, &own, &list, err);
	if (r)
		return r;
	while (!all.is_done && !r)
		r = kube_client_poll(client, NULL, 0, TIME_SECOND_MS, err);
	kube_list_free(list);
	if (all.is_done && err)
		*err = all.err;
	return all.is_done ? all.code : r;
}
