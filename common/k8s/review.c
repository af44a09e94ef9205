/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/review.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/decode.h"
#include "k8s/json_same.h"

#include <errno.h>

static const struct decode_table kind_table = DECODE_TABLE(DECODE(struct review, group, "group", DECODE_NAME),
							   DECODE(struct review, version, "version", DECODE_NAME),
							   DECODE(struct review, kind, "kind", DECODE_NAME));
static const struct decode_table user_table = DECODE_TABLE(DECODE(struct review, user, "username", DECODE_STRING));

static const struct decode_table request_table = DECODE_TABLE(
	DECODE(struct review, uid, "uid", DECODE_NAME), DECODE_INSIDE("kind", kind_table),
	DECODE(struct review, sub_resource, "subResource", DECODE_NAME),
	DECODE(struct review, operation, "operation", DECODE_NAME),
	DECODE(struct review, namespace_name, "namespace", DECODE_NAME),
	DECODE(struct review, name, "name", DECODE_NAME), DECODE_INSIDE("userInfo", user_table),
	DECODE(struct review, is_dry_run, "dryRun", DECODE_BOOL));

static int decode_envelope(const struct doc *doc, struct arena *arena, struct review *ret, struct err *err)
{
	const struct doc *request = NULL;
	const char *kind = "";
	int r;

	*ret = (struct review){.api_version = ""};
	(void)decode_fields(&request_table, NULL, arena, ret, NULL); /* all texts are "" */
	if (doc->type != DOC_OBJECT)
		return decode_type_error(doc, "object", err);
	r = decode_name(doc, "apiVersion", &ret->api_version, err);
	if (r)
		return r;
	if (!streq(ret->api_version, "admission.k8s.io/v1") && !streq(ret->api_version, "admission.k8s.io/v1beta1"))
		return decode_at(err_set(err, -EINVAL, "not an AdmissionReview of admission.k8s.io/v1"), err,
				 "apiVersion");
	r = decode_name(doc, "kind", &kind, err);
	if (!r && *kind && !streq(kind, "AdmissionReview"))
		r = decode_at(err_set(err, -EINVAL, "not an AdmissionReview"), err, "kind");
	if (!r)
		r = decode_object(doc, "request", &request, err);
	if (!r && !request)
		r = decode_at(err_set(err, -EINVAL, "a review needs a request"), err, "request");
	if (!r)
		r = decode_at(decode_fields(&request_table, request, arena, ret, err), err, "request");
	return r || *ret->uid ? r : decode_at(err_set(err, -EINVAL, "a review needs a uid"), err, "request.uid");
}

/* Reads the whole review. The uid may be set even if the review cannot be read completely. */
static int read_review(const char *text, size_t n, const struct allow *allow, struct arena *arena, struct review *ret,
		       struct doc *ret_doc, struct err *err)
{
	struct err ignored;
	int r = doc_read(text, n, allow, arena, ret_doc, err);

	if (r) {
		(void)decode_envelope(ret_doc, arena, ret, &ignored);
		return r;
	}
	return decode_envelope(ret_doc, arena, ret, err);
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
	return decode_at(k8s_pod_of_doc(object, arena, ret_pod, err), err, "request.object");
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
	/* Both or neither, and only if the object is allowed: the API server rejects one without the other. */
	if (response->is_allowed && response->patch && *response->patch && strcmp(response->patch, "[]") != 0) {
		strbuf_adds(buf, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
		base64_encode(response->patch, strlen(response->patch), buf);
		strbuf_addc(buf, '"');
	}
	add_warnings(buf, response);
	add_audit_annotations(buf, response);
	return strbuf_adds(buf, "}}\n");
}
