/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as HTTP: method, content type and path. */
#include "base/str.h"
#include "kube/kube_internal.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *method, *content_type;
} verbs[] = {
	[KUBE_GET] = {NULL, NULL},
	[KUBE_LIST] = {NULL, NULL},
	[KUBE_WATCH] = {NULL, NULL},
	[KUBE_CREATE] = {"POST", "application/json"},
	[KUBE_UPDATE] = {"PUT", "application/json"},
	[KUBE_MERGE_PATCH] = {"PATCH", "application/merge-patch+json"},
	[KUBE_JSON_PATCH] = {"PATCH", "application/json-patch+json"},
	[KUBE_DELETE] = {"DELETE", "application/json"},
};

const char *verb_method(enum kube_verb verb)
{
	return verbs[verb].method;
}

const char *verb_content_type(enum kube_verb verb)
{
	return verbs[verb].content_type;
}

/* By the API server's own rule for names in paths: no slash, no percent sign, not dots alone. The rest is encoded. */
static int add_segment(struct strbuf *buf, const char *what, const char *text, struct err *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:";

	if (!text || !*text || strchr(text, '/') || strchr(text, '%') || streq(text, ".") || streq(text, ".."))
		return err_set(err, -EINVAL, "bad %s in a request: \"%s\"", what, text ? text : "");
	strbuf_addc(buf, '/');
	for (; *text; text++)
		if (strchr(plain, *text))
			strbuf_addc(buf, *text);
		else
			strbuf_addf(buf, "%%%02X", (unsigned int)(unsigned char)*text);
	return 0;
}

static int add_resource(const struct kube_request *request, struct strbuf *ret, struct err *err)
{
	const struct kube_resource *resource = &request->resource;
	bool is_core = !resource->group || !*resource->group;
	const struct {
		const char *what, *text;
		bool is_there;
	} segments[] = {
		{"group", resource->group, !is_core},
		{"version", resource->version, true},
		{"namespaces", "namespaces", request->namespace != NULL},
		{"namespace", request->namespace, request->namespace != NULL},
		{"resource", resource->plural, true},
		{"name", request->name, request->name != NULL},
		{"subresource", request->subresource, request->subresource != NULL},
	};
	int r = 0;

	strbuf_adds(ret, is_core ? "/api" : "/apis");
	for (size_t i = 0; i < ARRAY_LEN(segments) && !r; i++)
		if (segments[i].is_there)
			r = add_segment(ret, segments[i].what, segments[i].text, err);
	return r;
}

int request_path(const struct kube_request *request, struct strbuf *ret, struct err *err)
{
	bool is_named = request->verb == KUBE_GET || request->verb == KUBE_UPDATE ||
			request->verb == KUBE_MERGE_PATCH || request->verb == KUBE_JSON_PATCH ||
			request->verb == KUBE_DELETE;
	int r;

	if (request->raw_path) {
		if (request->raw_path[0] != '/')
			return err_set(err, -EINVAL, "a path begins with a slash: \"%s\"", request->raw_path);
		r = strbuf_adds(ret, request->raw_path);
	} else {
		/* without its name a delete would hit the whole collection */
		if (is_named != (request->name != NULL))
			return err_set(err, -EINVAL, "this verb %s a name", is_named ? "needs" : "takes no");
		r = add_resource(request, ret, err);
		if (!r && request->query && *request->query)
			strbuf_addf(ret, "?%s", request->query);
	}
	if (!r && ret->status)
		r = err_set(err, ret->status, "the path of a request is too long");
	return r;
}
