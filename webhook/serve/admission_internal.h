/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* admission_internal: the steps that all webhooks of admission.h share. A row (struct admission_webhook) contains what
 * differs: how the object is read, which objects are skipped, what is decided, and where it is counted. Cost of each
 * step: linear in the review (admission.h). */
#include "k8s/review.h"
#include "policy/decide.h"
#include "serve/admission.h"

/* A review while it is processed. Valid until admission_scratch_clear. */
struct admission {
	const struct admission_webhook *webhook;
	struct admission_scratch *scratch;
	const struct admission_world *world;
	struct review review;
	/* Set by `read`: a pod, or an object that creates pods. */
	struct k8s_pod pod;
	const struct doc *object;
	bool is_spec_changed;
	/* Set by `decide`: the answer. */
	struct review_response response;
	enum metric_result result;
	enum mode mode;
};

struct admission_webhook {
	enum metric_id requests, skipped, errors, findings;
	/** Reads the review. @return 0; >0 the review contains no such object; -errno (the uid is "" or can be
	 *  answered). */
	int (*read)(struct admission *self, const char *body, size_t n, struct err *err);
	/** Why this webhook skips the object, a static string; NULL: it does not. */
	const char *(*foreign)(const struct admission *self, bool has_no_object);
	/** Fills in response, result and mode. An error is answered with `allowed: true`. @return 0; -EINVAL the object
	 *  is invalid; another -errno is memtamer's own failure. */
	int (*decide)(struct admission *self, struct err *err);
};

void admission_skip(struct admission *self, const char *reason);
/** Does the same, and adds an audit annotation. @return 0; -ENOMEM. */
int admission_skip_audited(struct admission *self, const char *reason) ATTR_NODISCARD;
/** The reason of a skip for RENDER_NO_ROOM. */
#define ADMISSION_NO_ROOM "annotations-full"
void admission_count_findings(const struct admission *self, const struct decision *decision);
/** Sets the audit annotation of the answer; an answer has at most one. @return 0; -ENOMEM. */
int admission_audit(struct admission *self, const char *key, const char *value) ATTR_NODISCARD;
