/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* admission: turns the bytes of an AdmissionReview into the bytes of its answer, and counts the outcome. No HTTP, no
 * I/O except log lines.
 *
 * Rules: a review that cannot be read is refused (the HTTP layer answers 400). An error after the uid was read gives
 * `allowed: true` without a patch, and is counted. Pods that a controller creates get no warnings, because the
 * controller would log them; they get annotations and audit annotations.
 * Cost: time linear in the body, whatever it contains (tests/property/property_cost.c measures it), and bounded memory.
 * A body that exceeds a cap of base/limits.h or the scratch arena is answered like an object that cannot be read.
 * Threads: any, with one scratch for each. */
#include "base/arena.h"
#include "base/strbuf.h"
#include "serve/client_log.h"
#include "serve/current_state.h"
#include "serve/metrics.h"

/** Buffers of one server thread: at most 16 MiB and a patch while a review is decided, at most 128 KiB between two
 *  reviews. */
struct admission_scratch {
	struct arena arena;
	struct strbuf patch;
};

void admission_scratch_init(struct admission_scratch *self);
/** Must be called when a review has been answered. Keeps small buffers and frees large ones. */
void admission_scratch_clear(struct admission_scratch *self);
void admission_scratch_release(struct admission_scratch *self);

/** What one request uses; all pointers are borrowed. */
struct admission_world {
	struct metrics *metrics;
	struct client_log *log;
	const struct state *state; /* NULL: not ready, requests return -EAGAIN */
	int64_t now_ms;
};

/** One of the webhooks. */
struct admission_webhook;
/** /mutate: decides about a pod. */
extern const struct admission_webhook admission_mutate;
/** /validate: checks the pod templates of an object that creates pods. Findings become warnings, never a patch.
 *  `allowed: false` only for a check that is configured to deny. Updates that do not change the spec, and objects that
 *  a controller created, get neither. */
extern const struct admission_webhook admission_validate;
/** /templates: sets sizes in the pod templates of an object that a user submits, before a queue counts them, if the
 *  configuration asks for it. Never denies. */
extern const struct admission_webhook admission_templates;

/** Processes a review.
 *  @param ret_answer  empty; receives the AdmissionReview to send with status 200.
 *  @return 0; -EINVAL the review cannot be read (`err` says why and where; status 400); -EAGAIN there is no snapshot
 *  yet, -ENOMEM, -E2BIG the answer is too long (status 503). */
int admission_review(const struct admission_webhook *webhook, struct admission_scratch *scratch,
		     const struct admission_world *world, const char *body, size_t n, struct strbuf *ret_answer,
		     struct err *err) ATTR_NODISCARD;
