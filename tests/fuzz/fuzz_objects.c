/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that the webhook watches: a LimitRange, a ResourceQuota, a VerticalPodAutoscaler, a Node, an owner of pods,
 * from any JSON. What can be read becomes a rule of a namespace, and however many rules it says, a decision under it
 * costs no more. */
#include "base/limits.h"
#include "cluster/owner_object.h"
#include "fuzz/fuzz_cost.h"
#include "k8s/node.h"
#include "kube/kube_object.h"
#include "policy/decide.h"
#include "support/review_world.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char pod_text[] =
	"{\"metadata\":{\"name\":\"train\",\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"j\",\"controller\":true}]}"
	",\"spec\":{\"containers\":[{\"name\":\"c1\",\"resources\":{\"requests\":{"
	"\"memory\":\"1Gi\"},\"limits\":{\"nvidia.com/gpu\":\"1\"}}},{\"name\":\"c2\"},{\"name\":\"c3\"}]}}";

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void decide_under(struct snapshot_builder *builder)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(4 * MIB);
	struct snapshot *snapshot = snapshot_builder_finish(builder, 1);
	struct json_object *json = NULL;
	struct policy policy;
	struct decision decision;
	struct k8s_pod pod;
	struct decide_input input = {.pod = &pod,
				     .namespace_name = "ml",
				     .replicas = 1,
				     .snapshot = snapshot,
				     .policy = &policy,
				     .now_ms = 1793607300000};

	policy_default(&policy);
	policy.mode = MODE_ENFORCE;
	policy.sizing.no_history = NO_HISTORY_SHARE;
	require(snapshot && json_parse(pod_text, strlen(pod_text), 16, &json, NULL) == 0);
	require(k8s_pod_decode(json, &arena, &pod, NULL) == 0);
	cost_begin();
	require(decide(&input, &arena, &decision, NULL) == 0);
	fuzz_cost_end(strlen(pod_text));
	json_object_put(json);
	snapshot_unref(snapshot);
}

static void put_vpa(struct snapshot_builder *builder, const char *text, size_t n, struct json_object *json,
		    struct arena *arena)
{
	struct k8s_vpa vpa, other;
	const struct k8s_vpa *list = &vpa;
	struct err err = ERR_INIT;
	int r = k8s_vpa_read(text, n, arena, &vpa, &err);

	/* a manifest may have numbers and repeated keys that a text of the API server never has */
	if (k8s_vpa_decode(json, "ml", arena, &other, &err) == 0)
		require(other.n_others <= LIMIT_VPA_POLICIES);
	if (r) {
		require(r == -EINVAL || r == -ENOMEM);
		return;
	}
	require(vpa.n_others <= LIMIT_VPA_POLICIES);
	require(snapshot_builder_set_vpas(builder, &list, 1) == 0);
}

static void check_rules(struct json_object *json, const char *text, size_t n)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct snapshot *base = review_world_snapshot(false);
	struct snapshot_builder *builder = base ? snapshot_builder_new(base) : NULL;
	struct k8s_limit_range range;
	struct k8s_quota quota;
	struct err err = ERR_INIT;

	require(builder != NULL);
	snapshot_unref(base);
	if (k8s_limit_range_decode(json, &arena, &range, &err) == 0) {
		range.namespace_name = "ml";
		require(snapshot_builder_put_limit_range(builder, &range) == 0);
	}
	if (k8s_quota_decode(json, &arena, &quota, &err) == 0) {
		quota.namespace_name = "ml";
		require(snapshot_builder_put_quota(builder, &quota) == 0);
	}
	put_vpa(builder, text, n, json, &arena);
	decide_under(builder);
}

static void check_owner(struct json_object *json, const char *text, size_t n)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct json_object *name = json_member(json, "kind"), *version = json_member(json, "apiVersion");
	struct kube_object object;
	struct owner_object owner;
	struct err err = ERR_INIT;
	const struct kind *kind;
	bool is_over;
	int r;

	if (!json_object_is_type(name, json_type_string) || !json_object_is_type(version, json_type_string) ||
	    kube_object_read(json, &object, &err))
		return;
	kind = kind_find_api_version(json_object_get_string(version), json_object_get_string(name));
	if (!kind || !owner_object_is_watched(kind))
		return;
	object.text = text;
	object.n_text = n;
	memset(&owner, 0, sizeof(owner));
	r = owner_object_read(&object, kind, &arena, &owner, &is_over, &err);
	require(r == 0 || r == -EINVAL || r == -ENOMEM);
	require(r || is_over || owner.pods >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_object *json = NULL;
	struct k8s_node node;
	struct err err = ERR_INIT;

	if (json_parse((const char *)data, size, LIMIT_REVIEW_DEPTH, &json, &err))
		return 0;
	check_rules(json, (const char *)data, size);
	check_owner(json, (const char *)data, size);
	if (k8s_node_read(json, &node, &err) == 0)
		require(node.n_offers <= K8S_NODE_OFFERS && node.memory_bytes >= 0);
	json_object_put(json);
	return 0;
}
