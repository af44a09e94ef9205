/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP form of requests: method, content type and path. */
#include "base/str.h"
#include "kube/kube_internal.h"

#include <errno.h>
#include <string.h>

const struct kube_method *kube_method(enum kube_verb verb)
{
	static const struct kube_method methods[] = {
		[KUBE_GET] = {NULL, NULL, true},
		[KUBE_LIST] = {NULL, NULL, false},
		[KUBE_WATCH] = {NULL, NULL, false},
		[KUBE_CREATE] = {"POST", "application/json", false},
		[KUBE_UPDATE] = {"PUT", "application/json", true},
		[KUBE_MERGE_PATCH] = {"PATCH", "application/merge-patch+json", true},
		[KUBE_JSON_PATCH] = {"PATCH", "application/json-patch+json", true},
		[KUBE_DELETE] = {"DELETE", "application/json", true},
	};

	return &methods[verb];
}

/* Checks a name by the API server's rule for path segments: no slash, no percent sign, not only dots. Other characters
 * are encoded. */
static int add_segment(struct strbuf *buf, const char *what, const char *text, struct err *err)
{
	if (!text || !*text || strchr(text, '/') || strchr(text, '%') || streq(text, ".") || streq(text, ".."))
		return err_set(err, -EINVAL, "bad %s in a request: \"%s\"", what, text ? text : "");
	strbuf_addc(buf, '/');
	http_add_encoded(buf, text, ":");
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
	bool is_named = kube_method(request->verb)->has_object;
	int r;

	if (request->raw_path) {
		if (request->raw_path[0] != '/')
			return err_set(err, -EINVAL, "a path begins with a slash: \"%s\"", request->raw_path);
		r = strbuf_adds(ret, request->raw_path);
	} else {
		/* without a name a delete would remove the whole collection */
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
