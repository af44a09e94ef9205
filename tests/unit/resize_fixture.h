/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* resize_fixture: a running pod, its namespace, profiles and node as texts and numbers, and the plan made of them. */
#include "support/test.h"

#include "base/json.h"
#include "base/limits.h"
#include "resize/resize_plan.h"

#include <stdio.h>
#include <string.h>

#define MI ((int64_t)MIB)

#define GPU "\"nvidia.com/gpu\":\"1\""
#define OWNER                                                                                                          \
	"\"ownerReferences\":[{\"apiVersion\":\"batch/"                                                                \
	"v1\",\"kind\":\"Job\",\"name\":\"train\",\"uid\":\"j1\",\"controller\":true}]"

struct world {
	const char *meta;	   /* more metadata of the pod; NULL: the owner */
	const char *spec;	   /* more of its spec */
	const char *container;	   /* more of the container */
	const char *requests;	   /* NULL: memory 32Mi */
	const char *limits;	   /* NULL: memory 64Mi */
	const char *status;	   /* NULL: Running */
	const char *labels;	   /* of the namespace */
	const char *range, *quota; /* spec; spec and status */
	const char *vpa;	   /* spec of a VerticalPodAutoscaler */
	int64_t profile_limit_bytes, proven_bytes, ceiling_bytes, pin_bytes;
	int64_t cluster_ceiling_bytes; /* sizing.ceiling */
	uint8_t flags;
	const char *cap;		 /* modeCap of memtamer-namespace */
	const char *own_cap, *other_cap; /* ... of the workload's profile, of that of the container "side" */
	int64_t node_bytes, other_requests, other_needs;
	enum resize_kind kind;
	int64_t want_bytes;    /* before a kill */
	enum resize_mode mode; /* RESIZE_OFF: onOOM or beforeOOM, as the kind needs */
};

struct outcome {
	enum resize_result verdict;
	int64_t to_bytes, request_bytes; /* 0: not set */
	const char *why, *remedy;	 /* remedy NULL: not compared */
};

static inline struct json_object *parse(const char *text)
{
	struct json_object *object;

	assert_int_equal(json_parse(text, strlen(text), 32, &object, NULL), 0);
	return object;
}

static inline struct json_object *make_pod(const struct world *world)
{
	char text[8192];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"team-a\",\"name\":\"train-x\","
		 "\"uid\":\"u1\",\"resourceVersion\":\"7\",%s},\"spec\":{\"nodeName\":\"n1\",\"restartPolicy\":"
		 "\"OnFailure\"%s,"
		 "\"containers\":[{\"name\":\"main\",\"image\":\"i\"%s,\"resources\":{\"requests\":{%s," GPU
		 "},\"limits\":{%s," GPU "}}}]},\"status\":{%s}}",
		 world->meta ? world->meta : OWNER, world->spec ? world->spec : "",
		 world->container ? world->container : "", world->requests ? world->requests : "\"memory\":\"32Mi\"",
		 world->limits ? world->limits : "\"memory\":\"64Mi\"",
		 world->status ? world->status : "\"phase\":\"Running\"");
	return parse(text);
}

static inline struct json_object *make_list(const char *text)
{
	struct json_object *list;

	if (!text)
		return NULL;
	list = json_object_new_array();
	assert_int_equal(json_append(list, parse(text)), 0);
	return list;
}

static inline struct profile *capped(const struct profile *draft, const char *cap)
{
	struct profile_spec spec = profile_spec_none;
	struct profile copy = *draft;

	snprintf(spec.mode_cap, sizeof(spec.mode_cap), "%s", cap);
	copy.spec = &spec;
	return profile_dup(&copy);
}

/* That of the other container knows of a kill, too. */
static inline size_t make_profiles(const struct world *world, struct profile *ret[3])
{
	struct profile_spec spec = profile_spec_none;
	struct profile draft = {.namespace_name = "team-a",
				.name = "train-0123456789",
				.workload = "Job/train",
				.role = "",
				.container = "main",
				.spec = &spec,
				.parent = {.confidence = CONFIDENCE_MEDIUM, .runs = 3, .whole_runs = 3}};
	size_t n = 0;

	spec.ceiling_bytes = world->ceiling_bytes;
	spec.pin_limit_bytes = world->pin_bytes;
	snprintf(spec.mode_cap, sizeof(spec.mode_cap), "%s", world->own_cap ? world->own_cap : "");
	draft.parent.limit_bytes = world->profile_limit_bytes;
	draft.parent.request_bytes = world->profile_limit_bytes / 2;
	draft.parent.median_bytes = world->profile_limit_bytes / 2;
	draft.parent.peak_bytes = world->profile_limit_bytes * 9 / 10;
	draft.parent.proven_bytes = world->proven_bytes;
	draft.parent.flags = world->flags;
	if (world->profile_limit_bytes)
		ret[n++] = profile_dup(&draft);
	if (world->cap)
		ret[n++] = capped(&(struct profile){.namespace_name = "team-a", .name = "memtamer-namespace"},
				  world->cap);
	draft.name = "train-side";
	draft.container = "side";
	draft.parent.limit_bytes = 96 * MI;
	draft.parent.proven_bytes = 64 * MI;
	if (world->other_cap)
		ret[n++] = capped(&draft, world->other_cap);
	return n;
}

static inline void plan(const struct world *world, struct resize_plan *ret)
{
	struct arena arena = ARENA_INIT(64 * MIB);
	struct resize_ask ask = {.kind = world->kind,
				 .namespace_name = "team-a",
				 .pod = "train-x",
				 .uid = "u1",
				 .container = "main",
				 .killed_bytes = world->kind == RESIZE_KIND_OOM ? 64 * MI : 0,
				 .want_bytes = world->want_bytes};
	const struct resize_neighbour other = {world->other_requests, world->other_needs};
	struct profile *profiles[3];
	struct policy policy;
	struct resize_input input = {.ask = &ask,
				     .pod = make_pod(world),
				     .limit_ranges = make_list(world->range),
				     .quotas = make_list(world->quota),
				     .vpas = make_list(world->vpa),
				     .profiles = (const struct profile *const *)profiles,
				     .n_profiles = make_profiles(world, profiles),
				     .node_bytes = world->node_bytes,
				     .neighbours = &other,
				     .n_neighbours = 1,
				     .policy = &policy};
	char namespace[512];

	snprintf(namespace, sizeof(namespace), "{\"metadata\":{\"name\":\"team-a\",\"labels\":{%s}}}",
		 world->labels ? world->labels : "");
	input.namespace_object = parse(namespace);
	policy_default(&policy);
	policy.mode = MODE_RAISE;
	policy.sizing.ceiling_bytes = world->cluster_ceiling_bytes;
	policy.sizing.floor_limit_bytes = policy.sizing.floor_request_bytes = MI; /* sizes are small here */
	policy.resize = world->mode ? world->mode : world->kind == RESIZE_KIND_OOM ? RESIZE_ON_OOM : RESIZE_BEFORE_OOM;
	assert_int_equal(resize_plan(&input, &arena, ret, NULL), 0);
	for (size_t i = 0; i < input.n_profiles; i++)
		profile_free(profiles[i]);
	json_object_put(input.pod);
	json_object_put(input.limit_ranges);
	json_object_put(input.quotas);
	json_object_put(input.vpas);
	json_object_put(input.namespace_object);
	arena_release(&arena);
}

static inline void check(const char *name, const struct world *world, const struct outcome *expected)
{
	struct resize_plan plan_;
	int64_t request;

	plan(world, &plan_);
	request = plan_.has_request ? plan_.request_to_bytes : 0;
	if (plan_.verdict != expected->verdict || !strstr(plan_.why, expected->why ? expected->why : "") ||
	    (expected->verdict == RESIZE_APPLIED &&
	     (plan_.to_bytes != expected->to_bytes || request != expected->request_bytes)))
		fail_msg("%s: %d, limit %lld Mi, request %lld Mi, \"%s\"", name, plan_.verdict,
			 (long long)(plan_.to_bytes / MI), (long long)(request / MI), plan_.why);
	assert_true(plan_.verdict != RESIZE_APPLIED || plan_.to_bytes > plan_.from_bytes);
	if (expected->remedy && !streq(plan_.remedy ? plan_.remedy : "(none)", expected->remedy))
		fail_msg("%s: \"%s\"", name, plan_.remedy ? plan_.remedy : "(none)");
}
