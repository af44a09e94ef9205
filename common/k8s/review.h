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
