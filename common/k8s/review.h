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
	struct json_object *object, *old_object; /* borrowed from the tree; NULL when absent */
};

/** Decode a parsed review. Text is copied into the arena, objects are borrowed from `tree`.
 *  @return 0; -EINVAL with the field (a review without a readable uid is this too); -ENOMEM. */
int review_decode(struct json_object *tree, struct arena *arena, struct review *ret, struct err *err) ATTR_NODISCARD;

/** The admission path: read the text of a review and the pod in it in one pass, without json-c (`object` and
 *  `old_object` stay NULL). The body is checked and bounded as k8s/projection.h says; text lives in the arena.
 *  Whenever it returns, `ret->uid` is "" or can be answered.
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
