/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* admission_internal: the way of a review that both webhooks share. What differs is a row: how the object is read, what
 * is none of our business, what is decided, and where it is counted. */
#include "k8s/review.h"
#include "policy/decide.h"
#include "serve/admission.h"

/* One review on its way. */
struct admission {
	const struct admission_webhook *webhook;
	struct admission_scratch *scratch;
	const struct admission_world *world;
	struct review review;
	/* What `read` found: a pod, or an object that makes pods. */
	struct k8s_pod pod;
	const struct doc *object;
	bool is_spec_changed;
	/* The answer. */
	struct review_response response;
	enum metric_result result;
	enum mode mode;
	bool waits; /* there is to be no answer yet */
};

struct admission_webhook {
	enum metric_id requests, skipped, errors, findings, duration;
	/** @return 0; >0 when there is no such object in the review; -errno (the uid is "" or can be answered). */
	int (*read)(struct admission *self, const char *body, size_t n, struct err *err);
	/** Static text: why this is nothing for us; NULL when it is. */
	const char *(*foreign)(const struct admission *self, bool has_no_object);
	/** Fill response, result and mode. An error becomes "allowed". -EINVAL: the object's fault, else ours. */
	int (*decide)(struct admission *self, struct err *err);
};

/** What admission_review() and its siblings do. */
int admission_handle(const struct admission_webhook *webhook, struct admission_scratch *scratch,
		     const struct admission_world *world, const char *body, size_t n, struct strbuf *ret_answer,
		     struct err *err) ATTR_NODISCARD;

void admission_skip(struct admission *self, const char *reason);
void admission_count_findings(const struct admission *self, const struct decision *decision);
/** The one audit annotation of an answer. @return 0 or -ENOMEM. */
int admission_audit(struct admission *self, const char *key, const char *value) ATTR_NODISCARD;
