/* SPDX-License-Identifier: Apache-2.0 */
#include "support/review_world.h"

#include "base/limits.h"

#include <errno.h>
#include <stdio.h>

#define GI     ((int64_t)GIB)
#define NOW_MS ((int64_t)1793607300000)

const char *const review_route_paths[ROUTE_COUNT_] = {"/mutate", "/validate", "/templates"};

/* ---- profiles ---- */

static const char *const workloads[] = {"Job/train",	    "PyTorchJob/train", "Workflow/train",
					"AppWrapper/train", "RayJob/train",	"Pod/train"};
static const char *const containers[] = {"trainer", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "main"};

static struct recommendation recommend(size_t seed)
{
	int64_t peak = (4 + (int64_t)(seed % 5) * 9) * GI;

	return (struct recommendation){.request_bytes = peak / 2,
				       .limit_bytes = peak + peak / 8,
				       .median_bytes = peak / 2,
				       .p95_bytes = peak,
				       .peak_bytes = peak,
				       .ephemeral_request_bytes = seed % 2 ? 2 * GI : 0,
				       .ephemeral_limit_bytes = seed % 2 ? 3 * GI : 0,
				       .ephemeral_peak_bytes = seed % 2 ? 2 * GI : 0,
				       .proven_bytes = seed % 3 == 0 ? peak + GI : 0,
				       .oom_kills = seed % 3 == 0,
				       .runs = 14,
				       .whole_runs = 12,
				       .buffer_permille = 125,
				       .min_ranks = 2,
				       .confidence = CONFIDENCE_HIGH,
				       .flags = seed % 7 == 6 ? REC_UNSTABLE | REC_LEAK : 0};
}

static int put_profile(struct snapshot_builder *builder, const char *workload, const char *container, size_t seed)
{
	struct recommendation variants[2] = {recommend(seed + 1), recommend(seed + 2)};
	struct profile_spec spec = profile_spec_none;
	struct profile draft = {.namespace_name = "ml",
				.workload = workload,
				.role = "",
				.container = container,
				.revision = 7,
				.updated_ms = NOW_MS - 1000,
				.spec = &spec,
				.parent = recommend(seed),
				.variants = variants,
				.n_variants = seed % 2 ? 2 : 0};
	struct profile *profile;
	char name[64];

	snprintf(name, sizeof(name), "train-%010zx", seed);
	draft.name = name;
	for (size_t i = 0; i < ARRAY_LEN(variants); i++)
		snprintf(variants[i].variant, sizeof(variants[i].variant), "%010zx", seed + i);
	if (seed % 5 == 4)
		spec.pin_limit_bytes = 24 * GI;
	profile = profile_dup(&draft);
	return profile ? snapshot_builder_put(builder, profile) : -ENOMEM;
}

static int put_profiles(struct snapshot_builder *builder)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(workloads) * ARRAY_LEN(containers) && !r; i++)
		r = put_profile(builder, workloads[i / ARRAY_LEN(containers)], containers[i % ARRAY_LEN(containers)],
				i);
	return r;
}

/* ---- nodes, owners ---- */

static int put_shapes(struct snapshot_builder *builder)
{
	int r = 0;

	for (int i = 0; i < 16 && !r; i++) {
		struct node_shape shape = {.resource = "nvidia.com/gpu",
					   .accelerators = 1 << i % 4,
					   .memory_bytes = (64 << i % 5) * GI,
					   .ephemeral_bytes = 500 * GI,
					   .is_declared = true};

		snprintf(shape.name, sizeof(shape.name), "shape-%d", i);
		r = snapshot_builder_put_shape(builder, &shape);
	}
	return r;
}

/* The controller "1" of pods: two templates that are not alike, of which some pods exist. */
static int put_owner(struct snapshot_builder *builder)
{
	const struct owner_facts facts = {
		.uid = "1",
		.created_ms = NOW_MS - 5000,
		.pods = 8,
		.ranks = 8,
		.declared = {.pods = 8,
			     .variants = 2,
			     .amounts = {{1000, 8 * GI, GI}, {1000, 16 * GI, GI}},
			     .names = 1,
			     .lacking = {{4, 4, 4}, {8, 8, 8}}},
		.held_pods = 2,
		.held = {{1000, 4 * GI, 0}, {1000, 8 * GI, 0}},
	};

	return snapshot_builder_put_owner(builder, &facts);
}

/* ---- rules of the namespace ---- */

static int put_ranges(struct snapshot_builder *builder)
{
	int r = 0;

	for (int i = 0; i < 4 && !r; i++) {
		struct k8s_limit_item items[2] = {{.is_pod = false}, {.is_pod = true}};
		struct k8s_limit_range range = {.namespace_name = "ml", .items = items, .n_items = 2};
		char name[32];

		snprintf(name, sizeof(name), "range-%d", i);
		range.name = name;
		for (int b = 0; b < K8S_BOUND_COUNT_; b++)
			for (int k = 0; k < K8S_RESOURCE_COUNT_; k++)
				items[0].bounds[b][k] = items[1].bounds[b][k] = K8S_NO_BOUND;
		items[0].bounds[K8S_BOUND_MIN][K8S_MEMORY] = 3 * GI + i;
		items[0].bounds[K8S_BOUND_MAX][K8S_MEMORY] = 40 * GI - i;
		items[0].bounds[K8S_BOUND_RATIO][K8S_MEMORY] = 1700 - i;
		items[0].bounds[K8S_BOUND_DEFAULT_REQUEST][K8S_EPHEMERAL_STORAGE] = i == 3 ? GI : K8S_NO_BOUND;
		items[1].bounds[K8S_BOUND_MAX][K8S_MEMORY] = 900 * GI - i;
		items[1].bounds[K8S_BOUND_RATIO][K8S_MEMORY] = 1500;
		r = snapshot_builder_put_limit_range(builder, &range);
	}
	return r;
}

static int put_quotas(struct snapshot_builder *builder)
{
	static const char *const classes[] = {"high", "low"};
	static const struct k8s_quota_scope scopes[] = {
		{.scope = K8S_SCOPE_NOT_BEST_EFFORT},
		{.scope = K8S_SCOPE_PRIORITY_CLASS, .operator_ = K8S_SCOPE_NOT_IN, .values = classes, .n_values = 2},
	};
	int r = 0;

	for (int i = 0; i < LIMIT_NAMESPACE_QUOTAS && !r; i++) {
		struct k8s_quota quota = {
			.namespace_name = "ml",
			.scopes = scopes,
			.n_scopes = (size_t)i % 3,
			.pods = {.hard = i % 8 == 7 ? 4000 : K8S_NO_BOUND},
		};
		char name[32];

		snprintf(name, sizeof(name), "quota-%d", i);
		quota.name = name;
		for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
			for (int k = 0; k < K8S_RESOURCE_COUNT_; k++)
				quota.amounts[f][k].hard = K8S_NO_BOUND;
		quota.amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY].hard = (2000 - 20 * i) * GI;
		if (i % 4 == 1)
			quota.amounts[K8S_QUOTA_LIMITS][K8S_MEMORY].hard = (3000 - 20 * i) * GI;
		if (i % 4 == 2)
			quota.amounts[K8S_QUOTA_REQUESTS][K8S_EPHEMERAL_STORAGE].hard = (500 - i) * GI;
		r = snapshot_builder_put_quota(builder, &quota);
	}
	return r;
}

struct snapshot *review_world_snapshot(bool has_rules)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	int r = builder ? put_profiles(builder) : -ENOMEM;

	r = r ? r : put_shapes(builder);
	r = r ? r : put_owner(builder);
	if (has_rules) {
		r = r ? r : put_ranges(builder);
		r = r ? r : put_quotas(builder);
	}
	if (!r)
		return snapshot_builder_finish(builder, 1);
	snapshot_builder_free(builder);
	return NULL;
}

/* ---- the world ---- */

int review_world_init(struct review_world *self, unsigned int which)
{
	static const enum mode modes[REVIEW_WORLDS] = {MODE_ENFORCE, MODE_ENFORCE, MODE_RAISE,	 MODE_FILL,
						       MODE_RAISE,   MODE_ENFORCE, MODE_OBSERVE, MODE_FILL};
	bool has_rules = which % 2;

	*self = (struct review_world){.answer = STRBUF_INIT(LIMIT_RESPONSE_BYTES)};
	admission_scratch_init(&self->scratch);
	policy_default(&self->config.policy);
	self->config.policy.mode = modes[which % REVIEW_WORLDS];
	self->config.policy.templates = which & 2 ? TEMPLATES_WARN : TEMPLATES_PATCH;
	self->config.policy.sizing.no_history = which & 4 ? NO_HISTORY_SHARE : NO_HISTORY_REQUEST;
	if (which % 4 == 2)
		self->config.policy.actions[CHECK_MEMORY_LIMIT_MISSING] = ACTION_DENY;
	self->snapshot = review_world_snapshot(has_rules);
	self->metrics = metrics_new();
	self->state = (struct state){self->snapshot, &self->config};
	return self->snapshot && self->metrics ? 0 : -ENOMEM;
}

void review_world_release(struct review_world *self)
{
	admission_scratch_release(&self->scratch);
	metrics_free(self->metrics);
	self->snapshot = snapshot_unref(self->snapshot);
	strbuf_release(&self->answer);
}

int review_world_ask(struct review_world *self, enum review_route route, const char *body, size_t n, struct err *err)
{
	static const struct admission_webhook *const webhooks[ROUTE_COUNT_] = {&admission_mutate, &admission_validate,
									       &admission_templates};
	const struct admission_world world = {
		.metrics = self->metrics, .log = &self->log, .state = &self->state, .now_ms = NOW_MS};

	strbuf_clear(&self->answer);
	return admission_review(webhooks[route], &self->scratch, &world, body, n, &self->answer, err);
}
