/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* admission: an AdmissionReview in bytes -> its answer in bytes, with everything counted. No HTTP, no I/O but log
 * lines; the HTTP layer hands in the body and sends what comes out. Rules: an unreadable review is refused (the HTTP
 * layer answers 400); an error behind a readable uid answers `allowed: true` without a patch and is counted. Pods made
 * by a controller get no warnings: the controller would log them; they get annotations and audit annotations instead.
 */
#include "base/arena.h"
#include "base/strbuf.h"
#include "serve/holder.h"
#include "serve/metrics.h"
#include "serve/untold.h"

/** Buffers of one server thread, reused from request to request. */
struct admission_scratch {
	struct arena arena;
	struct strbuf patch;
};

void admission_scratch_init(struct admission_scratch *self);
/** Forget the last review; large pieces are freed. */
void admission_scratch_clear(struct admission_scratch *self);
void admission_scratch_release(struct admission_scratch *self);

/** What one request decides with. */
struct admission_world {
	struct metrics *metrics;
	const struct state *state; /* NULL: not ready, nothing is answered */
	int64_t now_ms;
	bool may_wait, has_waited; /* for the news of a pod's owner */
	struct untold *untold;	   /* owners waited for in vain; NULL where nobody waits */
};

/** Nothing was answered or counted: the news of the pod's owner is on its way, so ask again a moment later. Only where
 *  it may wait. */
enum { ADMISSION_WAITS = 1 };

/** /mutate: decide about a pod.
 *  @param ret_answer  cleared by the caller; the AdmissionReview to send with status 200.
 *  @return 0; ADMISSION_WAITS; -EINVAL when the review is unreadable (err says why and where: status 400); -EAGAIN
 *  before the first snapshot; -ENOMEM (503). */
int admission_review(struct admission_scratch *scratch, const struct admission_world *world, const char *body, size_t n,
		     struct strbuf *ret_answer, struct err *err) ATTR_NODISCARD;
/** /validate: the same for objects that make pods: findings of their templates as warnings, never a patch;
 *  `allowed: false` only where a check is configured to deny. Updates that leave the spec as it is, and objects made by
 *  a controller, pass in silence. */
int admission_validate(struct admission_scratch *scratch, const struct admission_world *world, const char *body,
		       size_t n, struct strbuf *ret_answer, struct err *err) ATTR_NODISCARD;
/** /templates: the same objects again, while they may still be changed: where the configuration says so, what somebody
 *  submits gets its sizes written into its pod templates, before a queue counts them. Never denies. */
int admission_templates(struct admission_scratch *scratch, const struct admission_world *world, const char *body,
			size_t n, struct strbuf *ret_answer, struct err *err) ATTR_NODISCARD;
