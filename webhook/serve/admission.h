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

/** Buffers of one server thread, reused from request to request. */
struct admission_scratch {
	struct arena arena;
	struct strbuf patch;
};

void admission_scratch_init(struct admission_scratch *self);
/** Forget the last review; large pieces are freed. */
void admission_scratch_clear(struct admission_scratch *self);
void admission_scratch_release(struct admission_scratch *self);

/** /mutate: decide about a pod. `state` may be NULL (not ready): then it is allowed and counted as an error.
 *  @param ret_answer  cleared by the caller; the AdmissionReview to send with status 200.
 *  @return 0; -EINVAL when the review is unreadable (err says why and where: status 400); -ENOMEM (503). */
int admission_review(struct admission_scratch *scratch, struct metrics *metrics, const struct state *state,
		     const char *body, size_t n, int64_t now_ms, struct strbuf *ret_answer,
		     struct err *err) ATTR_NODISCARD;
/** /validate: the same for objects that make pods: findings of their templates as warnings, never a patch;
 *  `allowed: false` only where a check is configured to deny. Updates that leave the spec as it is, and objects made by
 *  a controller, pass in silence. */
int admission_validate(struct admission_scratch *scratch, struct metrics *metrics, const struct state *state,
		       const char *body, size_t n, int64_t now_ms, struct strbuf *ret_answer,
		       struct err *err) ATTR_NODISCARD;
