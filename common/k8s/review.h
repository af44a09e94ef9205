/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* review: admission.k8s.io/v1 AdmissionReview, in and out. Source of the rules: apiserver
 * pkg/admission/plugin/webhook/request/admissionreview.go (uid echoed exactly, patch and patchType both or neither). */
#include "base/strbuf.h"
#include "k8s/pod.h"

struct review {
	const char *api_version;	    /* echoed */
	const char *uid;		    /* echoed; never "" after decoding */
	const char *kind, *group, *version; /* of request.kind (converted to) */
	const char *sub_resource, *operation;
	const char *namespace_name, *name;
	const char *user; /* userInfo.username */
	bool is_dry_run;
};

/** Read the text of a review and the pod in it in one pass, without json-c: that needs 80 us for an 11 KB review and
 * 264 times the input for hostile bodies. Only what memtamer reads is kept; the list is allow.c, and it holds for every
 * way to decode a pod. Text lives in the arena. Whenever it returns, `ret->uid` is "" or can be answered.
 *
 *  The pass checks the whole body: strings, nesting <= LIMIT_REVIEW_DEPTH, token count, nothing behind the value. What
 *  is dropped is checked no further (nothing reads it). On listed paths it refuses duplicate keys, NUL (\u0000) in keys
 *  and values, invalid UTF-8 and what only looks like JSON (NaN, 'x', 01); keys are compared unescaped. Array indexes
 *  are kept. A listed value of another type than expected keeps its type and loses its content, so that decoding names
 *  it; null members, and environment variables that nobody reads, lose everything (the latter leave a null).
 *  @return 0 with the pod; REVIEW_NO_POD: the review is fine, but of another kind or without object (DELETE);
 *  -EINVAL with the field or byte offset; -E2BIG; -ENOMEM. */
enum { REVIEW_NO_POD = 1 };
int review_read_pod(const char *text, size_t n, struct arena *arena, struct review *ret, struct k8s_pod *ret_pod,
		    struct err *err) ATTR_NODISCARD;

/** The same for /validate: the object is read along allow_workload, for kind_templates_of_doc(). Of an old object only
 *  whether its spec says the same: `*ret_is_changed` is true for new objects. Memory is bounded by the arena.
 *  @return as above; REVIEW_NO_OBJECT: without object (DELETE). */
enum { REVIEW_NO_OBJECT = 1 };
struct doc;
int review_read_workload(const char *text, size_t n, struct arena *arena, struct review *ret,
			 const struct doc **ret_object, bool *ret_is_changed, struct err *err) ATTR_NODISCARD;

struct review_response {
	bool is_allowed;
	const char *message;	     /* of a denial; NULL else */
	const char *patch;	     /* JSON array text, NULL or "[]": none */
	const char *const *warnings; /* each at most LIMIT_WARNING_CHARS */
	size_t n_warnings;
	const struct k8s_label *audit_annotations; /* keys without slash */
	size_t n_audit_annotations;
};

/** Render the answer as JSON into `buf` (its status is sticky; 0, -E2BIG or -ENOMEM is returned). */
int review_render(const struct review *review, const struct review_response *response, struct strbuf *buf);
