/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/quota_pods.h"
#include "support/cost.h"
#include "support/test.h"

#include <stdlib.h>

enum { JOB, JOBSET, TRAINJOB };

static struct snapshot *flush(struct owners *owners, struct snapshot *base)
{
	struct snapshot_builder *builder = snapshot_builder_new(base);
	struct snapshot *snapshot;

	assert_non_null(builder);
	assert_int_equal(owners_flush(owners, builder), 0);
	assert_false(owners_are_dirty(owners));
	snapshot = snapshot_builder_finish(builder, 1);
	snapshot_unref(base);
	assert_non_null(snapshot);
	return snapshot;
}

static void put(struct owners *owners, uint64_t name, const char *uid, const char *parent, int64_t pods)
{
	const struct owner_object object = {
		.uid = uid, .parent_uid = parent, .pods = pods, .ranks = pods + 1, .created_ms = 77, .source = owners};

	assert_int_equal(owners_put(owners, name, &object), 0);
}

/* @return whether that was a change. */
static bool put_pod(struct owners *owners, struct quota_pods *pods, const char *name, const char *uid, int64_t bytes)
{
	struct quota_pod pod = {.name = name, .controller_uid = uid, .priority_class = ""};
	int r;

	pod.use.amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY] = bytes;
	r = quota_pods_put(pods, owners, &pod);
	assert_true(r >= 0);
	return r;
}

/* pods, held pods and held memory of a root; all 0 when it is not known. */
static void assert_root(const struct snapshot *snapshot, const char *uid, int64_t pods, int64_t held, int64_t bytes)
{
	const struct owner_facts *facts = snapshot_root_owner(snapshot, uid);

	test_row(uid);
	assert_int_equal(facts ? facts->pods : 0, pods);
	assert_int_equal(facts ? facts->held_pods : 0, held);
	assert_int_equal(facts ? facts->held[K8S_QUOTA_REQUESTS][K8S_MEMORY] : 0, bytes);
}

static void test_any_order_gives_the_same(void **state)
{
	struct owners owners = {.dirty = NULL};
	struct quota_pods pods = {.by_name = {.n = 0}};
	struct snapshot *snapshot;

	(void)state;
	put_pod(&owners, &pods, "a", "job", 10);
	snapshot = flush(&owners, NULL);
	assert_null(snapshot_root_owner(snapshot, "job"));
	put(&owners, JOB, "job", "set", 2);
	snapshot = flush(&owners, snapshot);
	assert_null(snapshot_root_owner(snapshot, "job")); /* its JobSet is not known */
	put(&owners, JOBSET, "set", NULL, 6);
	put_pod(&owners, &pods, "b", "job", 5);
	snapshot = flush(&owners, snapshot);
	assert_root(snapshot, "job", 6, 2, 15);
	assert_int_equal(snapshot_root_owner(snapshot, "job")->created_ms, 77);
	assert_int_equal(snapshot_root_owner(snapshot, "job")->ranks, 7);
	/* a changed pod replaces, one without a controller is nobody's */
	assert_true(put_pod(&owners, &pods, "b", "job", 7));
	assert_false(put_pod(&owners, &pods, "b", "job", 7));
	put_pod(&owners, &pods, "a", "", 0);
	snapshot = flush(&owners, snapshot);
	assert_root(snapshot, "set", 6, 1, 7);
	owners_remove(&owners, JOBSET);
	snapshot = flush(&owners, snapshot);
	assert_null(snapshot_root_owner(snapshot, "job"));
	/* it moves to another root, and what its pods hold goes with it */
	put(&owners, JOB, "job", NULL, 2);
	snapshot = flush(&owners, snapshot);
	assert_root(snapshot, "job", 2, 1, 7);
	quota_pods_remove(&pods, &owners, "never-was");
	quota_pods_remove(&pods, &owners, "a");
	quota_pods_release(&pods, &owners);
	owners_remove_source(&owners, &owners);
	snapshot = flush(&owners, snapshot);
	assert_null(snapshot_root_owner(snapshot, "job"));
	assert_int_equal(owners.by_uid.n, 0);
	assert_int_equal(owners.by_name.n, 0);
	assert_int_equal(pods.by_name.n, 0);
	snapshot_unref(snapshot);
	owners_release(&owners);
}

/* A Job that replaces one of the same uid, and its labels. */
static void test_marks_of_queues_follow_the_object(void **state)
{
	struct owner_object object = {.uid = "job", .pods = 1};
	struct owners owners = {.dirty = NULL};
	struct snapshot *snapshot = NULL;

	(void)state;
	for (int i = 0; i < 3; i++) {
		object.is_queued = i == 1;
		object.source = &owners;
		assert_int_equal(owners_put(&owners, JOB, &object), 0);
		snapshot = flush(&owners, snapshot);
		assert_int_equal(snapshot_root_owner(snapshot, "job")->is_queued, i == 1);
	}
	snapshot_unref(snapshot);
	owners_release(&owners);
}

static void test_children_make_the_size_of_who_has_no_template(void **state)
{
	struct owners owners = {.dirty = NULL};
	struct snapshot *snapshot;

	(void)state;
	put(&owners, TRAINJOB, "train", NULL, 0);
	put(&owners, JOBSET, "set", "train", 8);
	put(&owners, JOB, "job", "set", 4);
	snapshot = flush(&owners, NULL);
	assert_root(snapshot, "job", 8, 0, 0);
	put(&owners, JOBSET, "set", "train", 5);
	snapshot = flush(&owners, snapshot);
	assert_root(snapshot, "job", 5, 0, 0);
	owners_remove(&owners, JOBSET);
	snapshot = flush(&owners, snapshot);
	assert_root(snapshot, "train", 0, 0, 0);
	snapshot_unref(snapshot);
	owners_release(&owners);
}

static void put_declared(struct owners *owners, uint64_t name, const char *uid, const char *parent, int64_t pods,
			 int64_t bytes)
{
	struct owner_object object = {.uid = uid, .parent_uid = parent, .pods = pods, .source = owners};

	object.declared = (struct k8s_declared){.pods = pods, .variants = pods > 0};
	object.declared.amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY] = bytes;
	object.declared.lacking[K8S_QUOTA_LIMITS][K8S_CPU] = pods;
	object.declared.names = pods > 0 ? k8s_name_bits(uid) : 0;
	assert_int_equal(owners_put(owners, name, &object), 0);
}

static void assert_declared(const struct snapshot *snapshot, const char *uid, int64_t pods, int64_t variants,
			    int64_t bytes)
{
	const struct owner_facts *facts = snapshot_root_owner(snapshot, uid);

	test_row(uid);
	assert_non_null(facts);
	assert_int_equal(facts->pods, pods);
	assert_int_equal(facts->declared.pods, pods);
	assert_int_equal(facts->declared.variants, variants);
	assert_int_equal(facts->declared.amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY], bytes);
	assert_int_equal(facts->declared.lacking[K8S_QUOTA_LIMITS][K8S_CPU], pods);
}

/* As their number: the owner's own templates, else its children's. */
static void test_what_pods_are_declared_with_goes_to_the_root(void **state)
{
	struct owners owners = {.dirty = NULL};
	struct snapshot *snapshot;

	(void)state;
	put_declared(&owners, TRAINJOB, "train", NULL, 0, 0);
	put_declared(&owners, JOBSET, "set", "train", 8, 80);
	put_declared(&owners, JOB, "job", "set", 4, 10);
	snapshot = flush(&owners, NULL);
	assert_declared(snapshot, "job", 8, 1, 80);
	/* as many pods, other values */
	put_declared(&owners, JOBSET, "set", "train", 8, 90);
	snapshot = flush(&owners, snapshot);
	assert_declared(snapshot, "job", 8, 1, 90);
	put_declared(&owners, 9, "other", "train", 2, 5);
	snapshot = flush(&owners, snapshot);
	assert_declared(snapshot, "job", 10, 2, 95);
	owners_remove(&owners, JOBSET);
	snapshot = flush(&owners, snapshot);
	assert_declared(snapshot, "train", 2, 1, 5);
	assert_false(~snapshot_root_owner(snapshot, "train")->declared.names & k8s_name_bits("other"));
	/* it comes to have templates of its own */
	put_declared(&owners, TRAINJOB, "train", NULL, 3, 30);
	snapshot = flush(&owners, snapshot);
	assert_declared(snapshot, "other", 3, 1, 30);
	owners_remove(&owners, 9);
	put_declared(&owners, TRAINJOB, "train", NULL, 0, 0);
	snapshot = flush(&owners, snapshot);
	assert_declared(snapshot, "train", 0, 0, 0);
	assert_int_equal(snapshot_root_owner(snapshot, "train")->declared.names, 0);
	snapshot_unref(snapshot);
	owners_release(&owners);
}

static void test_rings_and_new_objects_of_one_name(void **state)
{
	struct owners owners = {.dirty = NULL};
	struct quota_pods pods = {.by_name = {.n = 0}};
	struct snapshot *snapshot;

	(void)state;
	put(&owners, 1, "a", "b", 1);
	put(&owners, 2, "b", "a", 1);
	put_pod(&owners, &pods, "p", "a", 1);
	put(&owners, 3, "self", "self", 1);
	snapshot = flush(&owners, NULL);
	assert_null(snapshot_root_owner(snapshot, "a"));
	assert_null(snapshot_root_owner(snapshot, "self"));
	put(&owners, 2, "b", NULL, 3);
	snapshot = flush(&owners, snapshot);
	assert_root(snapshot, "a", 3, 1, 1);
	/* deleted and made again: the name tells of another object */
	put(&owners, 2, "b2", NULL, 4);
	snapshot = flush(&owners, snapshot);
	assert_null(snapshot_root_owner(snapshot, "a"));
	assert_root(snapshot, "b2", 4, 0, 0);
	snapshot_unref(snapshot);
	quota_pods_release(&pods, &owners);
	owners_release(&owners);
}

/* Owner `i` of a chain, of which the last is the root. */
static void put_link(struct owners *owners, int i, int n)
{
	char uid[16], parent[16];

	snprintf(uid, sizeof(uid), "u%d", i);
	snprintf(parent, sizeof(parent), "u%d", i + 1);
	put(owners, (uint64_t)i + 100, uid, i + 1 < n ? parent : NULL, 1);
}

enum { FROM_THE_BOTTOM, FROM_THE_TOP, FROM_THE_MIDDLE, ORDERS };

static void put_chain(struct owners *owners, int order, int n)
{
	for (int i = 0; i < n; i++)
		put_link(owners, order == FROM_THE_BOTTOM ? i : order == FROM_THE_TOP ? n - 1 - i : (i + n / 2) % n, n);
}

static void test_chains_of_any_order_reach_their_root(void **state)
{
	(void)state;
	for (int order = 0; order < ORDERS; order++)
		for (int n = 1; n <= 8; n++) {
			struct owners owners = {.dirty = NULL};
			struct quota_pods pods = {.by_name = {.n = 0}};
			struct snapshot *snapshot;

			put_pod(&owners, &pods, "a", "u0", 5);
			put_chain(&owners, order, n);
			put_pod(&owners, &pods, "b", "u0", 7);
			snapshot = flush(&owners, NULL);
			assert_root(snapshot, "u0", 1, 2, 12);
			/* taken apart and put together once more */
			owners_remove(&owners, 100 + (uint64_t)n / 2);
			snapshot = flush(&owners, snapshot);
			assert_null(snapshot_root_owner(snapshot, "u0"));
			put_link(&owners, n / 2, n);
			snapshot = flush(&owners, snapshot);
			assert_root(snapshot, "u0", 1, 2, 12);
			snapshot_unref(snapshot);
			quota_pods_release(&pods, &owners);
			owners_release(&owners);
		}
}

/* What a pod changes above it does not grow with the chain, in whatever order its owners arrived. */
static void test_longer_chains_are_rings(void **state)
{
	(void)state;
	for (int order = 0; order < ORDERS; order++)
		for (int n = 9; n <= 300; n += 97) {
			struct owners owners = {.dirty = NULL};
			struct quota_pods pods = {.by_name = {.n = 0}};
			struct snapshot *snapshot;
			size_t n_held = 0;
			char uid[16];

			put_chain(&owners, order, n);
			snapshot = flush(&owners, NULL);
			cost_begin();
			put_pod(&owners, &pods, "a", "u0", 5);
			assert_true(cost_steps() < 200);
			snapshot = flush(&owners, snapshot);
			assert_null(snapshot_root_owner(snapshot, "u0"));
			for (int i = 0; i < n; i++) {
				const struct owner_facts *root;

				snprintf(uid, sizeof(uid), "u%d", i);
				root = snapshot_root_owner(snapshot, uid);
				n_held += root && root->held_pods;
			}
			assert_int_equal(n_held, 0); /* the root is too far away */
			snapshot_unref(snapshot);
			quota_pods_release(&pods, &owners);
			owners_release(&owners);
		}
}

/* The owners below are counted as they are, not as they were. */
static void test_a_chain_that_became_shorter_may_join(void **state)
{
	struct owners owners = {.dirty = NULL};
	struct snapshot *snapshot;

	(void)state;
	put_chain(&owners, FROM_THE_BOTTOM, 8);
	put(&owners, 1, "fork", "u5", 1);
	put(&owners, 107, "u7", "top", 1); /* one too many */
	put(&owners, 2, "top", NULL, 9);
	snapshot = flush(&owners, NULL);
	assert_null(snapshot_root_owner(snapshot, "u7"));
	put(&owners, 103, "u3", NULL, 1); /* u0 to u3 are a chain of their own now */
	put(&owners, 107, "u7", "top", 1);
	snapshot = flush(&owners, snapshot);
	assert_root(snapshot, "u7", 9, 0, 0);
	assert_root(snapshot, "fork", 9, 0, 0);
	assert_root(snapshot, "u0", 1, 0, 0);
	put(&owners, 103, "u3", "u4", 1); /* and back: too many once more */
	snapshot = flush(&owners, snapshot);
	assert_null(snapshot_root_owner(snapshot, "u3"));
	assert_root(snapshot, "u4", 9, 0, 0);
	snapshot_unref(snapshot);
	owners_release(&owners);
}

/* Sums after many random changes are those of the same objects put afresh. */
static void test_sums_stay_true(void **state)
{
	struct owners owners = {.dirty = NULL};
	struct quota_pods left = {.by_name = {.n = 0}};
	struct snapshot *snapshot = NULL;
	struct {
		int parent; /* -1: none */
		bool is_known;
	} own[12] = {{0}};
	struct {
		int owner;
		int64_t bytes;
	} pods[40] = {{0}};
	char uid[12][4], name[8];
	int64_t sums[12] = {0};

	(void)state;
	srand(7);
	for (int i = 0; i < 12; i++)
		snprintf(uid[i], sizeof(uid[i]), "u%d", i);
	for (int i = 0; i < 40; i++)
		pods[i].owner = -1;
	for (int round = 0; round < 5000; round++) {
		int i = rand() % 12, k = rand() % 40;

		if (rand() % 3 == 0) {
			/* parents have lower numbers, so there is no ring */
			own[i].parent = i && rand() % 4 ? rand() % i : -1;
			own[i].is_known = rand() % 5 != 0;
			if (own[i].is_known)
				put(&owners, (uint64_t)i + 100, uid[i], own[i].parent < 0 ? NULL : uid[own[i].parent],
				    1);
			else
				owners_remove(&owners, (uint64_t)i + 100);
		} else {
			pods[k].owner = rand() % 13 - 1;
			pods[k].bytes = rand() % 1000;
			snprintf(name, sizeof(name), "p%d", k);
			put_pod(&owners, &left, name, pods[k].owner < 0 ? "" : uid[pods[k].owner], pods[k].bytes);
		}
	}
	snapshot = flush(&owners, NULL);
	for (int k = 0; k < 40; k++) {
		int at = pods[k].owner;

		for (; at >= 0 && own[at].is_known && own[at].parent >= 0; at = own[at].parent)
			;
		if (at >= 0 && own[at].is_known)
			sums[at] += pods[k].bytes;
	}
	for (int i = 0; i < 12; i++) {
		const struct owner_facts *root = snapshot_root_owner(snapshot, uid[i]);

		if (root && streq(root->uid, uid[i]))
			assert_int_equal(root->held[K8S_QUOTA_REQUESTS][K8S_MEMORY], sums[i]);
	}
	snapshot_unref(snapshot);
	quota_pods_release(&left, &owners);
	owners_release(&owners);
}

static void test_the_use_of_a_quota_is_that_of_the_pods_in_its_scopes(void **state)
{
	static const char *const high[] = {"high"};
	static const struct quota_pod pods[] = {
		{"a", "job", {.amounts = {{0, 1, 0}, {0, 0, 0}}}, K8S_QOS_BURSTABLE, false, ""},
		{"b", "", {.amounts = {{0, 10, 0}, {0, 0, 0}}}, K8S_QOS_GUARANTEED, true, ""},
		{"c", "job", {.amounts = {{0, 100, 0}, {0, 0, 0}}}, K8S_QOS_BURSTABLE, false, "high"},
		{"d", "", {.amounts = {{0, 0, 0}, {0, 0, 0}}}, K8S_QOS_BEST_EFFORT, false, ""},
	};
	static const struct {
		const char *what;
		struct k8s_quota_scope scopes[2];
		size_t n;
		int64_t bytes, pods;
	} rows[] = {
		{"no scope", {{0}}, 0, 111, 4},
		{"best effort", {{.scope = K8S_SCOPE_BEST_EFFORT}}, 1, 0, 1},
		{"not best effort", {{.scope = K8S_SCOPE_NOT_BEST_EFFORT}}, 1, 111, 3},
		{"with a deadline", {{.scope = K8S_SCOPE_TERMINATING}}, 1, 10, 1},
		{"a class, no deadline",
		 {{K8S_SCOPE_PRIORITY_CLASS, K8S_SCOPE_IN, high, 1}, {.scope = K8S_SCOPE_NOT_TERMINATING}},
		 2,
		 100,
		 1},
		/* their pods cannot be decided about: only the status counts */
		{"affinity", {{.scope = K8S_SCOPE_CROSS_NAMESPACE_AFFINITY}}, 1, 0, 0},
		{"a later release's", {{.scope = K8S_SCOPE_UNKNOWN}}, 1, 0, 0},
	};
	struct owners owners = {.dirty = NULL};
	struct quota_pods all = {.by_name = {.n = 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pods); i++)
		assert_int_equal(quota_pods_put(&all, &owners, &pods[i]), 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct k8s_quota quota = {.scopes = rows[i].scopes, .n_scopes = rows[i].n};
		struct quota_use use = quota_pods_used(&all, &quota);

		test_row(rows[i].what);
		assert_int_equal(use.amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY], rows[i].bytes);
		assert_int_equal(use.pods, rows[i].pods);
	}
	quota_pods_release(&all, &owners);
	owners_release(&owners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order_gives_the_same),
		cmocka_unit_test(test_marks_of_queues_follow_the_object),
		cmocka_unit_test(test_children_make_the_size_of_who_has_no_template),
		cmocka_unit_test(test_what_pods_are_declared_with_goes_to_the_root),
		cmocka_unit_test(test_rings_and_new_objects_of_one_name),
		cmocka_unit_test(test_chains_of_any_order_reach_their_root),
		cmocka_unit_test(test_longer_chains_are_rings),
		cmocka_unit_test(test_a_chain_that_became_shorter_may_join),
		cmocka_unit_test(test_sums_stay_true),
		cmocka_unit_test(test_the_use_of_a_quota_is_that_of_the_pods_in_its_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
