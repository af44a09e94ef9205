/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* review_world: passes the bytes of reviews through the webhook's own code without HTTP, in worlds that make it work
 * hard: profiles with variants, pins and caps for the names below, node shapes, LimitRanges, quotas that refuse most
 * sizes, and owners. For tests of cost and of properties that hold for any body. Namespace "ml"; workloads "train",
 * containers "trainer" and "c0" to "c9". */
#include "serve/admission.h"

enum review_route { ROUTE_MUTATE, ROUTE_VALIDATE, ROUTE_TEMPLATES, ROUTE_COUNT_ };
/** "/mutate", "/validate", "/templates". */
extern const char *const review_route_paths[ROUTE_COUNT_];

struct review_world {
	struct snapshot *snapshot;
	struct config config;
	struct state state;
	struct metrics *metrics;
	struct admission_scratch scratch;
	struct client_log log;
	struct strbuf answer;
};

/** Worlds 0 to REVIEW_WORLDS - 1 differ in the mode, in the size for a workload without history, in whether templates
 *  are patched, and in whether the namespace has rules. */
#define REVIEW_WORLDS 8
/** @return 0; -ENOMEM. */
int review_world_init(struct review_world *self, unsigned int which) ATTR_NODISCARD;
void review_world_release(struct review_world *self);
/** Passes one review to a route; its answer is in self->answer. @return what the route's function returns. */
int review_world_ask(struct review_world *self, enum review_route route, const char *body, size_t n, struct err *err);
/** Makes the world's snapshot only; the caller owns the reference. NULL: out of memory. */
struct snapshot *review_world_snapshot(bool has_rules) ATTR_NODISCARD;
