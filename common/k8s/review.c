/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/review.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/decode.h"
#include "k8s/json_same.h"

#include <errno.h>

/* A kind is an object {group, version, kind}. */
static int decode_kind(const struct doc *request, struct review *ret, struct err *err)
{
	const struct doc *kind = NULL;
	int r = decode_object(request, "kind", &kind, err);

	if (r)
		return r;
	r = decode_string(kind, "group", &ret->group, err);
	if (!r)
		r = decode_string(kind, "version", &ret->version, err);
	if (!r)
		r = decode_string(kind, "kind", &ret->kind, err);
	return decode_at(r, err, "kind");
}

static int decode_user(const struct doc *request, struct review *ret, struct err *err)
{
	const struct doc *user = NULL;
	int r = decode_object(request, "userInfo", &user, err);

	return r ? r : decode_at(decode_string(user, "username", &ret->user, err), err, "userInfo");
}

static int decode_request(const struct doc *request, struct review *ret, struct err *err)
{
	int r = decode_string(request, "uid", &ret->uid, err);

	if (!r && !*ret->uid)
		r = decode_at(err_set(err, -EINVAL, "a review needs a uid"), err, "uid");
	if (!r)
		r = decode_kind(request, ret, err);
	if (!r)
		r = decode_string(request, "subResource", &ret->sub_resource, err);
	if (!r)
		r = decode_string(request, "operation", &ret->operation, err);
	if (!r)
		r = decode_string(request, "namespace", &ret->namespace_name, err);
	if (!r)
		r = decode_string(request, "name", &ret->name, err);
	if (!r)
		r = decode_user(request, ret, err);
	if (!r)
		r = decode_bool(request, "dryRun", &ret->is_dry_run, err);
	return r;
}

static int decode_envelope(const struct doc *doc, struct review *ret, struct err *err)
{
	const struct doc *request = NULL;
	const char *kind = "";
	int r;

	*ret = (struct review){
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
	if (doc->type != DOC_OBJECT)
		return decode_type_error(doc, "object", err);
	r = decode_string(doc, "apiVersion", &ret->api_version, err);
	if (r)
		return r;
	if (strcmp(ret->api_version, "admission.k8s.io/v1") != 0 &&
	    strcmp(ret->api_version, "admission.k8s.io/v1beta1") != 0)
		return decode_at(err_set(err, -EINVAL, "not an AdmissionReview of admission.k8s.io/v1"), err,
				 "apiVersion");
	r = decode_string(doc, "kind", &kind, err);
	if (!r && *kind && strcmp(kind, "AdmissionReview") != 0)
		r = decode_at(err_set(err, -EINVAL, "not an AdmissionReview"), err, "kind");
	if (!r)
		r = decode_object(doc, "request", &request, err);
	if (!r && !request)
		r = decode_at(err_set(err, -EINVAL, "a review needs a request"), err, "request");
	return r ? r : decode_at(decode_request(request, ret, err), err, "request");
}

/* Read the whole review; the uid may be there even if not all of it can be read. */
static int read_review(const char *text, size_t n, const struct allow *allow, struct arena *arena, struct review *ret,
		       struct doc *ret_doc, struct err *err)
{
	struct err ignored;
	int r = doc_read(text, n, allow, arena, ret_doc, err);

	if (r) {
		(void)decode_envelope(ret_doc, ret, &ignored);
		return r;
	}
	return decode_envelope(ret_doc, ret, err);
}

int review_read_pod(const char *text, size_t n, struct arena *arena, struct review *ret, struct k8s_pod *ret_pod,
		    struct err *err)
{
	struct doc doc;
	const struct doc *object;
	int r = read_review(text, n, &allow_review, arena, ret, &doc, err);

	if (r)
		return r;
	object = doc_member(doc_member(&doc, "request"), "object");
	if (!object || *ret->group || strcmp(ret->kind, "Pod") != 0)
		return REVIEW_NO_POD;
	return decode_at(decode_pod(object, arena, ret_pod, err), err, "request.object");
}

static bool is_spec_changed(const struct doc *object, const struct doc *old_object)
{
	const struct doc *spec = doc_member(object, "spec"), *old_spec = doc_member(old_object, "spec");

	if (!old_object || !spec || !old_spec || !spec->text || !old_spec->text)
		return !old_object || spec != old_spec;
	return !json_same((struct str){spec->text, spec->n_text}, (struct str){old_spec->text, old_spec->n_text});
}

int review_read_workload(const char *text, size_t n, struct arena *arena, struct review *ret,
			 const struct doc **ret_object, bool *ret_is_changed, struct err *err)
{
	struct doc doc;
	const struct doc *request, *object;
	int r = read_review(text, n, &allow_workload_review, arena, ret, &doc, err);

	if (r)
		return r;
	request = doc_member(&doc, "request");
	object = doc_member(request, "object");
	if (!object)
		return REVIEW_NO_OBJECT;
	if (object->type != DOC_OBJECT)
		return decode_at(decode_type_error(object, "object", err), err, "request.object");
	*ret_object = object;
	*ret_is_changed = is_spec_changed(object, doc_member(request, "oldObject"));
	return 0;
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
