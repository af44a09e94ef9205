/* SPDX-License-Identifier: Apache-2.0 */
/* The small writes of the kube store beside commits: a person's word in one profile, as a patch that touches nothing
 * else, and what a cycle did, in a ConfigMap. */
#include "store/store_kube.h"

#include <errno.h>
#include <stdio.h>

#define TRIES	    5
#define STATUS_NAME "memtamer-status"
#define STATUS_KEY  "status.json"

/* Send a body that is text. @return 0; a kube_condition; -errno. */
static int send(struct kube_store *self, struct kube_request *request, struct strbuf *text, struct json_object **ret,
		struct err *err)
{
	CLEANUP(json_putp) struct json_object *body = store_kube_body(strbuf_detach(text));

	if (!body)
		return err_set(err, -ENOMEM, "out of memory");
	request->body = body;
	return kube_client_call(self->client, request, ret, err);
}

/* ---- spec.modeCap ---- */

struct capping {
	struct kube_store *store;
	const struct store_cap *want;
};

/* "": null, which takes the member away. */
static void add_word(struct strbuf *buf, const char *key, const char *word)
{
	strbuf_addf(buf, "\"%s\":", key);
	strbuf_add_json_string(buf, *word ? word : NULL);
}

/* Only what is said here changes; at this resourceVersion, or not at all. */
static int patch_cap(const struct capping *self, const char *version, const struct store_cap_words *words,
		     struct json_object **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB);
	struct kube_request request = {.verb = KUBE_MERGE_PATCH,
				       .resource = store_kube_resources[ITEM_PROFILE],
				       .namespace = self->want->namespace_name,
				       .name = self->want->name};

	strbuf_addf(&text, "{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{", version);
	add_word(&text, "modeCap", words->cap);
	strbuf_addc(&text, ',');
	add_word(&text, "modeCapBeforeUndo", words->before_undo);
	strbuf_adds(&text, "}}");
	return send(self->store, &request, &text, ret, err);
}

static int create_capped(const struct capping *self, struct json_object **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB);
	struct kube_request request = {.verb = KUBE_CREATE,
				       .resource = store_kube_resources[ITEM_PROFILE],
				       .namespace = self->want->namespace_name};

	strbuf_addf(&text,
		    "{\"apiVersion\":\"" PROFILE_API_VERSION "\",\"kind\":\"MemoryProfile\",\"metadata\":{"
		    "\"namespace\":\"%s\",\"name\":\"%s\"},\"spec\":{\"modeCap\":\"%s\"}}",
		    self->want->namespace_name, self->want->name, self->want->mode);
	return send(self->store, &request, &text, ret, err);
}

/* As the API server has it, and what follows. @return 0; 1 it is so already; a kube_condition as -errno. */
static int cap_once(const struct capping *self, struct json_object **ret, const char **ret_doing, struct err *err)
{
	CLEANUP(json_putp) struct json_object *found = NULL;
	const struct kube_request get = {.verb = KUBE_GET,
					 .resource = store_kube_resources[ITEM_PROFILE],
					 .namespace = self->want->namespace_name,
					 .name = self->want->name};
	struct kube_object object = {.json = NULL};
	struct store_cap_words words = {"", ""};
	struct json_object *spec;
	int r;

	*ret_doing = "get";
	r = kube_client_call(self->store->client, &get, &found, err);
	if (r == KUBE_NOT_FOUND && self->want->act == CAP_LOWER) {
		*ret_doing = "create";
		return create_capped(self, ret, err);
	}
	if (!r)
		r = kube_object_read(found, &object, err);
	if (r)
		return r;
	spec = json_member(found, "spec");
	r = json_get_string(spec, "spec", "modeCap", &words.cap, err);
	if (r >= 0)
		r = json_get_string(spec, "spec", "modeCapBeforeUndo", &words.before_undo, err);
	if (r < 0)
		return r;
	if (!store_cap_change(self->want, &words))
		return -EALREADY;
	*ret_doing = "patch";
	return patch_cap(self, object.resource_version, &words, ret, err);
}

/* What the server says, in words that help. */
static int explain(const struct capping *self, int code, const char *doing, struct err *err)
{
	if (code == KUBE_FORBIDDEN)
		err_wrap(err,
			 "not allowed to %s memoryprofiles.memtamer.io in namespace %s (the roles edit and admin of "
			 "the namespace may)",
			 doing, self->want->namespace_name);
	else if (code == KUBE_CONFLICT || code == KUBE_ALREADY_EXISTS)
		err_wrap(err, "it was changed by others %d times in a row", TRIES);
	store_kube_name(ITEM_PROFILE, self->want->namespace_name, self->want->name, err);
	return store_kube_errno(code);
}

int store_kube_change_mode_cap(struct store *base, const struct store_cap *want, struct err *err)
{
	const struct capping self = {store_kube_of(base), want};
	CLEANUP(json_putp) struct json_object *answer = NULL;
	struct kube_object object = {.json = NULL};
	struct err why = ERR_INIT;
	const char *doing = "get";
	int r = KUBE_CONFLICT;

	for (int i = 0; i < TRIES && (r == KUBE_CONFLICT || r == KUBE_ALREADY_EXISTS); i++)
		r = cap_once(&self, &answer, &doing, &why);
	if (r == -EALREADY)
		return 1;
	if (r) {
		r = explain(&self, r, doing, &why);
		if (err)
			*err = why;
		return r;
	}
	/* a writer goes on with the object as it is now */
	r = kube_object_read(answer, &object, err);
	return r ? r : seen_put(&self.store->seen[ITEM_PROFILE], &object, false, err);
}

/* ---- the last cycle ---- */

const char *store_kube_status_place(const struct store *base, char *buf, size_t size)
{
	snprintf(buf, size, "ConfigMap %s/" STATUS_NAME, ((const struct kube_store *)base)->own_namespace);
	return buf;
}

static struct kube_request status_request(const struct kube_store *self, enum kube_verb verb)
{
	return (struct kube_request){.verb = verb,
				     .resource = {"", "v1", "configmaps"},
				     .namespace = self->own_namespace,
				     .name = verb == KUBE_CREATE ? NULL : STATUS_NAME};
}

int store_kube_status_load(struct store *base, struct strbuf *ret_text, struct err *err)
{
	struct kube_store *self = store_kube_of(base);
	const struct kube_request request = status_request(self, KUBE_GET);
	CLEANUP(json_putp) struct json_object *found = NULL;
	const char *text = NULL;
	int r = kube_client_call(self->client, &request, &found, err);

	if (r == KUBE_NOT_FOUND)
		return 1;
	if (r)
		return store_kube_errno(r);
	r = json_get_string(json_member(found, "data"), "data", STATUS_KEY, &text, err);
	if (r)
		return r < 0 ? r : 1;
	return strbuf_adds(ret_text, text) ? err_set(err, ret_text->status, "too long") : 0;
}

static void add_status(struct strbuf *buf, const char *text, size_t n)
{
	CLEANUP(freep) char *copy = strndup(text, n);

	strbuf_adds(buf, "\"data\":{\"" STATUS_KEY "\":");
	strbuf_add_json_string(buf, copy ? copy : "");
	strbuf_adds(buf, "}}");
	if (!copy)
		buf->status = -ENOMEM;
}

/* It stands for nothing: whoever wrote last counts, and no version is asked for. */
int store_kube_status_save(struct store *base, const char *text, size_t n, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);
	struct kube_store *self = store_kube_of(base);
	struct kube_request request = status_request(self, KUBE_MERGE_PATCH);
	int r;

	strbuf_addc(&body, '{');
	add_status(&body, text, n);
	r = send(self, &request, &body, NULL, err);
	if (r == KUBE_NOT_FOUND) {
		request = status_request(self, KUBE_CREATE);
		strbuf_clear(&body);
		strbuf_addf(&body,
			    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"%s\",\"name\":"
			    "\"" STATUS_NAME "\",\"labels\":{\"app.kubernetes.io/managed-by\":\"memtamer\"}},",
			    self->own_namespace);
		add_status(&body, text, n);
		r = send(self, &request, &body, NULL, err);
	}
	return r ? store_kube_errno(r) : 0;
}
