/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while a pod is decided about: -ENOMEM, nothing leaked, and never half a patch. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "policy/decide.h"
#include "policy/render.h"

#include <errno.h>
#include <string.h>

#define GI ((int64_t)1 << 30)

static const char pod_text[] =
	"{\"metadata\":{\"generateName\":\"bert-\",\"labels\":{\"job-name\":\"bert\"},\"ownerReferences\":[{"
	"\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"bert\",\"uid\":\"1\",\"controller\":true}]},"
	"\"spec\":{\"priorityClassName\":\"system-node-critical\",\"containers\":[{\"name\":\"pytorch\",\"image\":"
	"\"i\","
	"\"resources\":{\"requests\":{\"memory\":\"1Gi\",\"nvidia.com/gpu\":\"4\"},"
	"\"limits\":{\"nvidia.com/gpu\":\"4\"}}},{\"name\":\"logger\"}],"
	"\"volumes\":[{\"name\":\"a\",\"emptyDir\":{\"medium\":\"Memory\"}},{\"name\":\"b\",\"emptyDir\":{}}]}}";

static const char *const aliases[] = {"Job/bert"};

struct world {
	struct snapshot *snapshot;
	struct policy policy;
	struct json_object *pod;
};

static int decide_pod(void *context, struct strbuf *ret)
{
	struct world *world = context;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(4000000);
	struct decide_input input = {.namespace_name = "ml",
				     .replicas = 1,
				     .snapshot = world->snapshot,
				     .policy = &world->policy,
				     .now_ms = 1793607300000};
	struct decision decision;
	struct k8s_pod pod;
	struct err err = ERR_INIT;
	const char *const *warnings;
	size_t n;
	int r = k8s_pod_decode(world->pod, &arena, &pod, &err);

	input.pod = &pod;
	/* Without its controller the pod is the user's own and gets the warnings. */
	pod.n_owners = r ? 0 : pod.n_owners;
	if (!r)
		r = decide(&input, &arena, &decision, &err);
	if (!r)
		r = render_patch(&input, &decision, &arena, ret);
	if (!r)
		r = render_warnings(&input, &decision, &arena, &warnings, &n);
	for (size_t i = 0; !r && i < n; i++)
		r = strbuf_adds(ret, warnings[i]);
	return r;
}

static int decide_template(void *context, struct strbuf *ret)
{
	struct world *world = context;
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(4000000);
	struct decide_input input = {.subject = SUBJECT_TEMPLATE,
				     .namespace_name = "ml",
				     .root_kind = "Job",
				     .root_group = "batch",
				     .root_name = "bert",
				     .replicas = 2,
				     .snapshot = world->snapshot,
				     .policy = &world->policy,
				     .now_ms = 1793607300000};
	struct decision decision;
	struct k8s_pod pod;
	struct err err = ERR_INIT;
	const char *const *warnings;
	size_t n;
	int r = k8s_pod_decode(world->pod, &arena, &pod, &err);

	input.pod = &pod;
	if (!r) {
		pod.n_owners = 0;
		k8s_pod_default(&pod);
		r = decide(&input, &arena, &decision, &err);
	}
	if (!r)
		r = render_warnings(&input, &decision, &arena, &warnings, &n);
	for (size_t i = 0; !r && i < n; i++)
		r = strbuf_adds(ret, warnings[i]);
	return r;
}

static struct snapshot *make_snapshot(void)
{
	const struct profile draft = {.namespace_name = "ml",
				      .name = "bert-0123456789",
				      .workload = "Job/bert",
				      .role = "",
				      .container = "pytorch",
				      .aliases = aliases,
				      .n_aliases = 1,
				      .spec = &profile_spec_none,
				      .parent = {.request_bytes = 8 * GI,
						 .limit_bytes = 12 * GI,
						 .median_bytes = 8 * GI,
						 .peak_bytes = 10 * GI,
						 .proven_bytes = 9 * GI,
						 .oom_kills = 1,
						 .runs = 14,
						 .whole_runs = 14}};
	const struct node_shape shape = {.name = "a",
					 .resource = "nvidia.com/gpu",
					 .accelerators = 8,
					 .memory_bytes = 64 * GI,
					 .ephemeral_bytes = 64 * GI,
					 .is_declared = true};
	struct snapshot_builder *builder = snapshot_builder_new(NULL);

	assert_non_null(builder);
	assert_int_equal(snapshot_builder_put(builder, profile_dup(&draft)), 0);
	assert_int_equal(snapshot_builder_put_shape(builder, &shape), 0);
	return snapshot_builder_finish(builder, 1);
}

static void decisions_survive(void **state)
{
	struct world world = {.snapshot = make_snapshot()};
	struct err err = ERR_INIT;

	(void)state;
	policy_default(&world.policy);
	world.policy.mode = MODE_ENFORCE;
	assert_int_equal(json_parse(pod_text, sizeof(pod_text) - 1, 32, &world.pod, &err), 0);
	assert_true(alloc_fail_each("decide, render of a pod", decide_pod, &world) > 0);
	assert_true(alloc_fail_each("decide, render of a template", decide_template, &world) > 0);
	json_object_put(world.pod);
	snapshot_unref(world.snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(decisions_survive)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
