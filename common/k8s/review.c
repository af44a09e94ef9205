/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/review.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/decode.h"

#include <errno.h>

/* A kind is an object {group, version, kind}. */
static int decode_kind(struct json_object *request, struct arena *arena, struct review *ret, struct err *err)
{
	struct json_object *kind;
	int r = json_get_object(request, "", "kind", &kind, err);

	if (r)
		return r == JSON_ABSENT ? 0 : r;
	r = decode_string(kind, "group", arena, &ret->group, err);
	if (!r)
		r = decode_string(kind, "version", arena, &ret->version, err);
	if (!r)
		r = decode_string(kind, "kind", arena, &ret->kind, err);
	return decode_at(r, err, "kind");
}

static int decode_object(struct json_object *request, const char *key, struct json_object **ret, struct err *err)
{
	int r = json_get_object(request, "", key, ret, err);

	return r == JSON_ABSENT ? 0 : r;
}

static int decode_user(struct json_object *request, struct arena *arena, struct review *ret, struct err *err)
{
	struct json_object *user = NULL;
	int r = decode_object(request, "userInfo", &user, err);

	if (r)
		return r;
	return decode_at(decode_string(user, "username", arena, &ret->user, err), err, "userInfo");
}

static int decode_request(struct json_object *request, struct arena *arena, struct review *ret, struct err *err)
{
	int r = decode_string(request, "uid", arena, &ret->uid, err);

	if (!r && !*ret->uid)
		r = decode_at(err_set(err, -EINVAL, "a review needs a uid"), err, "uid");
	if (!r)
		r = decode_kind(request, arena, ret, err);
	if (!r)
		r = decode_string(request, "subResource", arena, &ret->sub_resource, err);
	if (!r)
		r = decode_string(request, "operation", arena, &ret->operation, err);
	if (!r)
		r = decode_string(request, "namespace", arena, &ret->namespace_name, err);
	if (!r)
		r = decode_string(request, "name", arena, &ret->name, err);
	if (!r)
		r = decode_user(request, arena, ret, err);
	if (!r)
		r = json_get_bool(request, "", "dryRun", &ret->is_dry_run, err);
	if (r >= 0)
		r = decode_object(request, "object", &ret->object, err);
	if (!r)
		r = decode_object(request, "oldObject", &ret->old_object, err);
	return r;
}

int review_decode(struct json_object *tree, struct arena *arena, struct review *ret, struct err *err)
{
	struct review decoded = {
		.api_version = "",
		.uid = "",
		.kind = "",
		.group = "",
		.version = "",
		.sub_resource = "",
		.operation = "",
		.namespace_name = "",
		.name = "",
		.user = "",
	};
	struct json_object *request;
	int r = decode_string(tree, "apiVersion", arena, &decoded.api_version, err);

	if (r)
		return r;
	if (strcmp(decoded.api_version, "admission.k8s.io/v1") != 0 &&
	    strcmp(decoded.api_version, "admission.k8s.io/v1beta1") != 0)
		return decode_at(err_set(err, -EINVAL, "not an AdmissionReview of admission.k8s.io/v1"), err,
				 "apiVersion");
	r = json_get_object(tree, "", "request", &request, err);
	if (r == JSON_ABSENT)
		return decode_at(err_set(err, -EINVAL, "a review needs a request"), err, "request");
	if (!r)
		r = decode_at(decode_request(request, arena, &decoded, err), err, "request");
	if (!r)
		*ret = decoded;
	return r;
}

static void add_base64(struct strbuf *buf, const char *bytes, size_t n)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char block[256];
	size_t used = 0;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t group = (uint32_t)(unsigned char)bytes[i] << 16;

		if (i + 1 < n)
			group |= (uint32_t)(unsigned char)bytes[i + 1] << 8;
		if (i + 2 < n)
			group |= (unsigned char)bytes[i + 2];
		block[used++] = alphabet[group >> 18];
		block[used++] = alphabet[group >> 12 & 63];
		block[used++] = i + 1 < n ? alphabet[group >> 6 & 63] : '=';
		block[used++] = i + 2 < n ? alphabet[group & 63] : '=';
		if (used == sizeof(block) || i + 3 >= n) {
			strbuf_add(buf, block, used);
			used = 0;
		}
	}
}

static void add_status(struct strbuf *buf, const char *message)
{
	strbuf_adds(buf, ",\"status\":{\"code\":403,\"reason\":\"Forbidden\",\"message\":");
	strbuf_add_json_string(buf, message && *message ? message : "denied by memtamer");
	strbuf_addc(buf, '}');
}

static void add_warnings(struct strbuf *buf, const struct review_response *response)
{
	for (size_t i = 0; i < response->n_warnings; i++) {
		strbuf_adds(buf, i ? "," : ",\"warnings\":[");
		strbuf_add_json_string(buf, response->warnings[i]);
	}
	if (response->n_warnings)
		strbuf_addc(buf, ']');
}

static void add_audit_annotations(struct strbuf *buf, const struct review_response *response)
{
	for (size_t i = 0; i < response->n_audit_annotations; i++) {
		strbuf_adds(buf, i ? "," : ",\"auditAnnotations\":{");
		strbuf_add_json_string(buf, response->audit_annotations[i].key);
		strbuf_addc(buf, ':');
		strbuf_add_json_string(buf, response->audit_annotations[i].value);
	}
	if (response->n_audit_annotations)
		strbuf_addc(buf, '}');
}

int review_render(const struct review *review, const struct review_response *response, struct strbuf *buf)
{
	strbuf_adds(buf, "{\"apiVersion\":");
	strbuf_add_json_string(buf, review->api_version);
	strbuf_adds(buf, ",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":");
	strbuf_add_json_string(buf, review->uid);
	strbuf_adds(buf, response->is_allowed ? ",\"allowed\":true" : ",\"allowed\":false");
	if (!response->is_allowed)
		add_status(buf, response->message);
	/* Both or neither, and only on an allowed object: the API server refuses one without the other. */
	if (response->is_allowed && response->patch && *response->patch && strcmp(response->patch, "[]") != 0) {
		strbuf_adds(buf, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
		add_base64(buf, response->patch, strlen(response->patch));
		strbuf_addc(buf, '"');
	}
	add_warnings(buf, response);
	add_audit_annotations(buf, response);
	return strbuf_adds(buf, "}}\n");
}
