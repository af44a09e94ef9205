/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decide_fixture: a pod from JSON text, one profile and one node shape, and what decide() makes of them. */
#include "support/test.h"

#include "base/json.h"
#include "base/limits.h"
#include "policy/decide.h"
#include "policy/render.h"

#include <stdlib.h>
#include <string.h>

#define GI ((int64_t)GIB)
#define MI ((int64_t)MIB)

struct decide_fixture {
	struct arena arena;
	struct policy policy;
	struct snapshot *snapshot;
	struct json_object *object;
	struct k8s_pod pod;
	struct decide_input input;
	struct decision decision;
};

static inline struct profile *fixture_profile(const struct recommendation *rec)
{
	static const char *const aliases[] = {"Job/train", "Pod/train"};
	const struct profile draft = {.namespace_name = "team-a",
				      .name = "train-0123456789",
				      .workload = "Job/train",
				      .role = "",
				      .container = "main",
				      .aliases = aliases,
				      .n_aliases = 2,
				      .revision = 3,
				      .spec = &profile_spec_none,
				      .parent = *rec};

	return profile_dup(&draft);
}

static inline struct snapshot *fixture_snapshot(const struct recommendation *rec, int64_t node_memory_bytes,
						bool is_complete)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct node_shape shape = {.name = "n",
				   .resource = "nvidia.com/gpu",
				   .accelerators = 8,
				   .memory_bytes = node_memory_bytes,
				   .ephemeral_bytes = 500 * GI,
				   .is_declared = is_complete};

	assert_non_null(builder);
	if (rec)
		assert_int_equal(snapshot_builder_put(builder, fixture_profile(rec)), 0);
	if (node_memory_bytes)
		assert_int_equal(snapshot_builder_put_shape(builder, &shape), 0);
	return snapshot_builder_finish(builder, 0);
}

static inline void fixture_decode(struct decide_fixture *self)
{
	struct err err = ERR_INIT;

	assert_int_equal(k8s_pod_decode(self->object, &self->arena, &self->pod, &err), 0);
	self->input = (struct decide_input){.pod = &self->pod,
					    .namespace_name = "team-a",
					    .replicas = 1,
					    .snapshot = self->snapshot,
					    .policy = &self->policy};
}

static inline void fixture_init(struct decide_fixture *self, const char *pod_text, struct snapshot *take_snapshot)
{
	*self = (struct decide_fixture){.arena = ARENA_INIT(64 * MIB), .snapshot = take_snapshot};
	policy_default(&self->policy);
	self->policy.mode = MODE_RAISE;
	assert_int_equal(json_parse(pod_text, strlen(pod_text), 32, &self->object, NULL), 0);
	fixture_decode(self);
}

static inline void fixture_decide(struct decide_fixture *self)
{
	assert_int_equal(decide(&self->input, &self->arena, &self->decision, NULL), 0);
}

/* The first container's memory limit after the decision; 0: none. */
static inline int64_t fixture_final_limit(const struct decide_fixture *f)
{
	const struct k8s_amount *limit = &f->pod.containers[0].resources.limits[K8S_MEMORY];

	for (size_t i = 0; i < f->decision.n_sizes; i++)
		if (f->decision.sizes[i].container == &f->pod.containers[0] &&
		    f->decision.sizes[i].resource == K8S_MEMORY && f->decision.sizes[i].field == SIZE_LIMIT)
			return f->decision.sizes[i].to_bytes;
	return limit->text ? limit->value : 0;
}

static inline void fixture_release(struct decide_fixture *self)
{
	json_object_put(self->object);
	snapshot_unref(self->snapshot);
	arena_release(&self->arena);
}
