/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* templates: decides about each pod template of an object that creates pods, for /validate and /templates. Any server
 * thread; all memory is in the scratch arena. Cost: as policy/workload.h, for each call. */
#include "policy/workload.h"
#include "serve/admission_internal.h"

struct templates {
	struct workload_template **read;	/* without templates that could not be read */
	const struct workload_template **items; /* the same with what was decided */
	size_t n, n_skipped, n_findings, n_sizes;
	struct k8s_labels annotations; /* annotations of the object */
	const char *skip;	       /* the reason of the first template that was skipped; NULL: none was */
	bool is_denied;
	bool has_unread; /* a template could not be read, which counts as an error */
};

/** Reads the object of a review (admission_webhook.read). */
int templates_read(struct admission *self, const char *body, size_t n, struct err *err);
/** Why both webhooks skip an object (admission_webhook.foreign). */
const char *templates_foreign(const struct admission *self, bool has_no_object);
/** Reads every template. One that cannot be read does not prevent decisions about the others; the API server will
 *  report it. @return 0; -EINVAL no template could be read; -ENOMEM. */
int templates_open(struct admission *self, struct templates *ret, struct err *err) ATTR_NODISCARD;
/** Decides about every template, removes changes that memtamer itself made earlier (workload_settle), and sums up. A
 *  second call replaces the decisions of the first. `is_patched`: as decide_input.is_template_patched. @return 0;
 *  -ENOMEM. */
int templates_decide(struct admission *self, bool is_patched, struct templates *all, struct err *err) ATTR_NODISCARD;
/** Sets the mode of the decision that is answered with, and counts its errors. */
void templates_count(struct admission *self, const struct templates *all);
void templates_count_findings(const struct admission *self, const struct templates *all);
/** Makes the answer for an object whose templates were all skipped. @return 0; -ENOMEM. */
int templates_skip(struct admission *self, const struct templates *all) ATTR_NODISCARD;
