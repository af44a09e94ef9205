/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* templates: an object that makes pods, with a decision about each of its pod templates: what /validate and /templates
 * have in common. Any server thread; all memory is the scratch arena's. */
#include "policy/workload.h"
#include "serve/admission_internal.h"

struct templates {
	const struct workload_template **items; /* without those that could not be read */
	size_t n, n_skipped, n_findings;
	const char *skip; /* why the first was not looked at */
	bool is_denied;
};

/** Read the object of a review (admission_webhook.read). */
int templates_read(struct admission *self, const char *body, size_t n, struct err *err);
/** Why an object is nothing for either of them; NULL when it may be (as admission_webhook.foreign). */
const char *templates_foreign(const struct admission *self, bool has_no_object);
/** Decide about every template, and count the findings. A template that cannot be read (the API server will say so)
 *  does not silence the others. `is_patched`: as decide_input.is_template_patched.
 *  @return 0; -EINVAL (none could be read); -ENOMEM. */
int templates_decide(struct admission *self, bool is_patched, struct templates *ret, struct err *err) ATTR_NODISCARD;
/** The answer where no template was looked at. @return 0 or -ENOMEM. */
int templates_skip(struct admission *self, const struct templates *all) ATTR_NODISCARD;
