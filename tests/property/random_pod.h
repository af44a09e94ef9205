/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* random_pod: pods as the API server would hand them over (request <= limit, defaulted), profiles and policies, each
 * from one seed. The same seed makes the same ones on every machine. */
#include "base/strbuf.h"
#include "model/snapshot.h"
#include "policy/policy.h"

struct random_state {
	uint64_t state;
};

/** 0 .. n-1. */
uint64_t random_below(struct random_state *self, uint64_t n);
/** True in `percent` of 100 cases. */
bool random_chance(struct random_state *self, unsigned percent);

/** A pod as JSON text: Jobs' pods and bare ones, most of them training pods. */
void random_pod(struct random_state *self, struct strbuf *ret);

/** What the rest of the decision comes from. Release with random_world_release. */
struct random_world {
	struct snapshot *snapshot;
	struct policy policy;
	bool has_profile;	      /* of the pods' main container */
	struct recommendation parent; /* its recommendation */
	struct profile_spec spec;     /* what a person has written */
	int64_t largest_node_bytes;   /* 0: shapes are not known to be complete */
};

/** 0 or -ENOMEM. */
int random_world(struct random_state *self, struct random_world *ret);
void random_world_release(struct random_world *self);
