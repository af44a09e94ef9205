/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* review: reads and writes admission.k8s.io/v1 AdmissionReviews. Source of the rules: apiserver
 * pkg/admission/plugin/webhook/request/admissionreview.go (the uid is returned unchanged; patch and patchType both or
 * neither). */
#include "base/strbuf.h"
#include "k8s/pod.h"

struct review {
	const char *api_version;	    /* returned unchanged */
	const char *uid;		    /* returned unchanged; never "" after decoding */
	const char *kind, *group, *version; /* request.kind, after conversion */
	const char *sub_resource, *operation;
	const char *namespace_name, *name;
	const char *user; /* userInfo.username */
	bool is_dry_run;
};

/** Reads a review and the pod in it in one pass over the text, without json-c, which needs 80 us for an 11 KB review
 * and 264 times the input for hostile bodies. Only fields in allow.c are kept, as for every other way to decode a pod.
 * Texts are in the arena. Whatever it returns, `ret->uid` is "" or can be answered.
 *
 * The whole body is checked: strings, nesting <= LIMIT_REVIEW_DEPTH, token count, nothing after the value. Values that
 * are dropped are not checked further. On listed paths it rejects duplicate keys, NUL (\u0000) in keys and values,
 * invalid UTF-8 and malformed values (NaN, 'x', 01); keys are compared unescaped. Array indexes are kept. A listed
 * value of an unexpected type keeps its type and loses its content, so that decoding reports it. Null members and
 * environment variables that are not used are dropped (the latter leave a null).
 *
 * Cost: linear in the text, in time and in the arena (struct doc in doc.h).
 * @return 0 with the pod; REVIEW_NO_POD: a valid review of another kind or without object (DELETE); -EINVAL with the
 * field or byte offset; -E2BIG; -ENOMEM. */
enum { REVIEW_NO_POD = 1 };
int review_read_pod(const char *text, size_t n, struct arena *arena, struct review *ret, struct k8s_pod *ret_pod,
		    struct err *err) ATTR_NODISCARD;

/** Does the same for /validate: the object is read with allow_workload, for kind_templates_of_doc(). Of an old object
 * only its spec is compared: `*ret_is_changed` is true if it differs, and for new objects. Cost: as above; specs that
 * differ in their bytes are read once more each.
 * @return as review_read_pod; REVIEW_NO_OBJECT: without object (DELETE). */
enum { REVIEW_NO_OBJECT = 1 };
struct doc;
int review_read_workload(const char *text, size_t n, struct arena *arena, struct review *ret,
			 const struct doc **ret_object, bool *ret_is_changed, struct err *err) ATTR_NODISCARD;

struct review_response {
	bool is_allowed;
	const char *message;	     /* of a denial; NULL otherwise */
	const char *patch;	     /* text of a JSON array; NULL or "[]": none */
	const char *const *warnings; /* each at most LIMIT_WARNING_CHARS */
	size_t n_warnings;
	const struct k8s_label *audit_annotations; /* keys without slash */
	size_t n_audit_annotations;
};

/** Writes the response as JSON. @return the sticky status of `buf`: 0, -E2BIG or -ENOMEM. */
int review_render(const struct review *review, const struct review_response *response, struct strbuf *buf);
