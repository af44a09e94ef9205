/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_objects.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_OBJECTS 4096
#define MAX_COUNTED 65536

struct object {
	char *key; /* "plural/namespace/name" */
	struct json_object *json;
};

struct fake_objects {
	struct fake_api *api;
	struct object objects[MAX_OBJECTS]; /* by key */
	size_t n, page;
	long version;
	fake_hook_fn *hook;
	void *hook_context;
	char *counted[MAX_COUNTED];
	size_t n_counted;
};

/* What a request is about. */
struct call {
	char method[8], path[512], plural[64], namespace_name[128], name[300], subresource[16], query[2048];
	bool is_ours;
	struct json_object *body; /* NULL: none */
};

static char *text_of(struct json_object *json)
{
	return strdup(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

static ATTR_PRINTF(4, 5) char *status(struct fake_step *ret, int code, const char *reason, const char *fmt, ...)
{
	char message[512], *text = NULL;
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	ret->status = code;
	if (asprintf(&text,
		     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"%s\",\"message\":\"%s\","
		     "\"reason\":\"%s\",\"code\":%d}",
		     code < 300 ? "Success" : "Failure", message, reason, code) < 0)
		abort();
	return text;
}

static size_t find(const struct fake_objects *self, const char *key)
{
	size_t i = 0;

	while (i < self->n && strcmp(self->objects[i].key, key) < 0)
		i++;
	return i;
}

static bool is_at(const struct fake_objects *self, size_t i, const char *key)
{
	return i < self->n && streq(self->objects[i].key, key);
}

static const char *meta(struct json_object *json, const char *key)
{
	struct json_object *value = json_member(json_member(json, "metadata"), key);

	return value ? json_object_get_string(value) : "";
}

static void set_meta(struct json_object *json, const char *key, const char *value)
{
	json_object_object_add(json_member(json, "metadata"), key, json_object_new_string(value));
}

static void touch(struct fake_objects *self, struct json_object *json)
{
	char version[24];

	snprintf(version, sizeof(version), "%ld", ++self->version);
	set_meta(json, "resourceVersion", version);
}

static void insert(struct fake_objects *self, const char *key, struct json_object *take)
{
	size_t i = find(self, key);
	char uid[40];

	if (is_at(self, i, key)) {
		set_meta(take, "uid", meta(self->objects[i].json, "uid"));
		json_object_put(self->objects[i].json);
	} else {
		if (self->n == MAX_OBJECTS)
			abort();
		memmove(&self->objects[i + 1], &self->objects[i], (self->n - i) * sizeof(*self->objects));
		self->n++;
		self->objects[i].key = strdup(key);
		snprintf(uid, sizeof(uid), "uid-%ld", self->version);
		set_meta(take, "uid", uid);
	}
	touch(self, take);
	self->objects[i].json = take;
}

static void remove_at(struct fake_objects *self, size_t i)
{
	free(self->objects[i].key);
	json_object_put(self->objects[i].json);
	memmove(&self->objects[i], &self->objects[i + 1], (self->n - i - 1) * sizeof(*self->objects));
	self->n--;
}

static void key_of(char ret[600], const char *plural, const char *namespace_name, const char *name)
{
	snprintf(ret, 600, "%s/%s/%s", plural, namespace_name, name);
}

/* "/apis/memtamer.io/v1alpha1/namespaces/ml/memoryprofiles/x/status?q" */
static void parse(const char *request, struct call *call)
{
	const char *body = strstr(request, "\r\n\r\n"), *names[6] = {"", "", "", "", "", ""};
	char target[3072], *at, *state = NULL;
	size_t n = 0, first;

	sscanf(request, "%7s %3071s", call->method, target);
	if (body && body[4])
		call->body = json_tokener_parse(body + 4);
	at = strchr(target, '?');
	if (at) {
		*at = '\0';
		snprintf(call->query, sizeof(call->query), "%s", at + 1);
	}
	snprintf(call->path, sizeof(call->path), "%s", target);
	call->is_ours = strstarts(target, "/apis/");
	at = target; /* "/apis/GROUP/VERSION/", "/api/VERSION/" */
	for (int slashes = call->is_ours ? 4 : 3; *at && slashes; at++)
		slashes -= *at == '/';
	for (at = strtok_r(at, "/", &state); at && n < ARRAY_LEN(names); at = strtok_r(NULL, "/", &state))
		names[n++] = at;
	first = streq(names[0], "namespaces") && n > 2 ? 2 : 0;
	snprintf(call->namespace_name, sizeof(call->namespace_name), "%s", first ? names[1] : "");
	snprintf(call->plural, sizeof(call->plural), "%s", names[first]);
	snprintf(call->name, sizeof(call->name), "%s", first + 1 < n ? names[first + 1] : "");
	snprintf(call->subresource, sizeof(call->subresource), "%s", first + 2 < n ? names[first + 2] : "");
}

static char *list(struct fake_objects *self, const struct call *call, struct fake_step *ret)
{
	const char *limit = strstr(call->query, "limit="), *more = strstr(call->query, "continue=");
	size_t max = self->page ? self->page : limit ? strtoul(limit + 6, NULL, 10) : 0, n = 0;
	size_t start = more ? strtoul(more + 9, NULL, 10) : 0, i;
	struct strbuf text = STRBUF_INIT(256 * MIB);
	char prefix[600];

	(void)ret;
	key_of(prefix, call->plural, call->namespace_name, "");
	if (!*call->namespace_name)
		prefix[strlen(call->plural) + 1] = '\0';
	strbuf_adds(&text, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[");
	for (i = MAX(start, find(self, prefix)); i < self->n && strstarts(self->objects[i].key, prefix); i++) {
		char *item;

		if (max && limit && n == max)
			break;
		item = text_of(self->objects[i].json);
		strbuf_addf(&text, "%s%s", n++ ? "," : "", item);
		free(item);
	}
	strbuf_addf(&text, "],\"metadata\":{\"resourceVersion\":\"%ld\"", self->version + 1);
	if (i < self->n && strstarts(self->objects[i].key, prefix))
		strbuf_addf(&text, ",\"continue\":\"%zu\"", i);
	strbuf_adds(&text, "}}");
	return strbuf_detach(&text);
}

static char *create(struct fake_objects *self, const struct call *call, struct fake_step *ret)
{
	char key[600];

	key_of(key, call->plural, call->namespace_name, meta(call->body, "name"));
	if (is_at(self, find(self, key), key))
		return status(ret, 409, "AlreadyExists", "%s \\\"%s\\\" already exists", call->plural,
			      meta(call->body, "name"));
	if (streq(call->plural, "memoryprofiles"))
		json_object_object_del(call->body, "status");
	insert(self, key, json_object_get(call->body));
	ret->status = 201;
	return text_of(call->body);
}

static void take_part(struct json_object *to, struct json_object *from, const char *member)
{
	json_object_object_del(to, member);
	if (json_member(from, member))
		json_object_object_add(to, member, json_object_get(json_member(from, member)));
}

static char *update(struct fake_objects *self, const struct call *call, const char *key, struct fake_step *ret)
{
	struct json_object *old = self->objects[find(self, key)].json, *now = NULL;
	bool is_status = streq(call->subresource, "status");

	if (!streq(meta(call->body, "resourceVersion"), meta(old, "resourceVersion")))
		return status(ret, 409, "Conflict",
			      "Operation cannot be fulfilled on %s \\\"%s\\\": the object has been modified",
			      call->plural, call->name);
	json_object_deep_copy(is_status ? old : call->body, &now, NULL);
	if (is_status)
		take_part(now, call->body, "status");
	else if (streq(call->plural, "memoryprofiles"))
		take_part(now, old, "status");
	/* what says the same is not written */
	set_meta(now, "uid", meta(old, "uid"));
	set_meta(now, "resourceVersion", meta(old, "resourceVersion"));
	if (json_object_equal(now, old))
		json_object_put(now);
	else
		insert(self, key, now);
	return text_of(self->objects[find(self, key)].json);
}

/* RFC 7396. */
static void merge(struct json_object *to, struct json_object *from)
{
	json_object_object_foreach(from, key, value)
	{
		struct json_object *there = json_member(to, key);

		if (!value) {
			json_object_object_del(to, key);
		} else if (json_object_is_type(value, json_type_object)) {
			if (!there) {
				there = json_object_new_object();
				json_object_object_add(to, key, there);
			}
			merge(there, value);
		} else {
			json_object_object_add(to, key, json_object_get(value));
		}
	}
}

static char *patch(struct fake_objects *self, const struct call *call, const char *key, struct fake_step *ret)
{
	struct json_object *old = self->objects[find(self, key)].json, *now = NULL;

	if (*meta(call->body, "resourceVersion") &&
	    !streq(meta(call->body, "resourceVersion"), meta(old, "resourceVersion")))
		return status(ret, 409, "Conflict",
			      "Operation cannot be fulfilled on %s \\\"%s\\\": the object has been modified",
			      call->plural, call->name);
	json_object_deep_copy(old, &now, NULL);
	merge(now, call->body);
	insert(self, key, now);
	return text_of(self->objects[find(self, key)].json);
}

static char *delete (struct fake_objects *self, const struct call *call, const char *key, struct fake_step *ret)
{
	struct json_object *old = self->objects[find(self, key)].json,
			   *wanted = json_member(call->body, "preconditions"),
			   *version = json_member(wanted, "resourceVersion"), *uid = json_member(wanted, "uid");

	if ((version && !streq(json_object_get_string(version), meta(old, "resourceVersion"))) ||
	    (uid && !streq(json_object_get_string(uid), meta(old, "uid"))))
		return status(ret, 409, "Conflict",
			      "Operation cannot be fulfilled on %s \\\"%s\\\": Precondition failed", call->plural,
			      call->name);
	remove_at(self, find(self, key));
	return status(ret, 200, "", "deleted");
}

static char *answer_call(struct fake_objects *self, const struct call *call, struct fake_step *ret)
{
	char key[600];

	key_of(key, call->plural, call->namespace_name, call->name);
	if (streq(call->method, "POST"))
		return create(self, call, ret);
	if (!*call->name)
		return list(self, call, ret);
	if (!is_at(self, find(self, key), key) || (*call->subresource && !streq(call->plural, "memoryprofiles")))
		return status(ret, 404, "NotFound", "%s \\\"%s\\\" not found", call->plural, call->name);
	if (streq(call->method, "PUT"))
		return update(self, call, key, ret);
	if (streq(call->method, "PATCH"))
		return patch(self, call, key, ret);
	if (streq(call->method, "DELETE"))
		return delete (self, call, key, ret);
	return text_of(self->objects[find(self, key)].json);
}

static char *answer(void *context, const char *request, struct fake_step *ret)
{
	struct fake_objects *self = context;
	const char *reason = "", *message = "";
	struct call call = {.body = NULL};
	char *body = NULL;
	int code = 0;

	parse(request, &call);
	if (self->n_counted < MAX_COUNTED &&
	    asprintf(&self->counted[self->n_counted], "%s %s", call.method, call.path) > 0)
		self->n_counted++;
	if (self->hook)
		code = self->hook(self->hook_context, self, call.method, call.path, &reason, &message);
	body = code ? status(ret, code, reason, "%s", message) : answer_call(self, &call, ret);
	json_object_put(call.body);
	return body;
}

struct fake_objects *fake_objects_start(void)
{
	struct fake_objects *self = calloc(1, sizeof(*self));

	self->version = 100;
	self->api = fake_api_start_with(answer, self);
	return self;
}

void fake_objects_free(struct fake_objects *self)
{
	fake_api_free(self->api); /* first: until then requests are answered, and counted */
	while (self->n_counted)
		free(self->counted[--self->n_counted]);
	while (self->n)
		remove_at(self, self->n - 1);
	free(self);
}

const char *fake_objects_url(const struct fake_objects *self)
{
	return fake_api_url(self->api);
}

void fake_objects_hook(struct fake_objects *self, fake_hook_fn *hook, void *context)
{
	fake_api_lock(self->api);
	self->hook = hook;
	self->hook_context = context;
	fake_api_unlock(self->api);
}

void fake_objects_put(struct fake_objects *self, const char *plural, const char *text)
{
	struct json_object *json = json_tokener_parse(text);
	char key[600];

	if (!json)
		abort();
	key_of(key, plural, meta(json, "namespace"), meta(json, "name"));
	fake_api_lock(self->api);
	insert(self, key, json);
	fake_api_unlock(self->api);
}

struct json_object *fake_objects_get(struct fake_objects *self, const char *plural, const char *namespace_name,
				     const char *name)
{
	struct json_object *found;
	char key[600];
	size_t i;

	key_of(key, plural, namespace_name, name);
	fake_api_lock(self->api);
	i = find(self, key);
	found = is_at(self, i, key) ? self->objects[i].json : NULL;
	fake_api_unlock(self->api);
	return found;
}

void fake_objects_delete(struct fake_objects *self, const char *plural, const char *namespace_name, const char *name)
{
	char key[600];
	size_t i;

	key_of(key, plural, namespace_name, name);
	fake_api_lock(self->api);
	i = find(self, key);
	if (is_at(self, i, key))
		remove_at(self, i);
	fake_api_unlock(self->api);
}

size_t fake_objects_count(struct fake_objects *self, const char *head)
{
	size_t n = 0;

	fake_api_lock(self->api);
	for (size_t i = 0; i < self->n_counted; i++)
		n += strstarts(self->counted[i], head);
	fake_api_unlock(self->api);
	return n;
}

void fake_objects_count_anew(struct fake_objects *self)
{
	fake_api_lock(self->api);
	while (self->n_counted)
		free(self->counted[--self->n_counted]);
	fake_api_unlock(self->api);
}

void fake_objects_page(struct fake_objects *self, size_t n)
{
	self->page = n;
}
