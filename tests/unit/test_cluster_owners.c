/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster_owners.h"
#include "k8s/kinds.h"
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

/* The first one, where every kind is watched. */
static struct snapshot *flush_told(struct owners *owners)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);

	assert_non_null(builder);
	snapshot_builder_set_owner_kinds(builder, UINT64_MAX);
	return flush(owners, snapshot_builder_finish(builder, 1));
}

static void put(struct owners *owners, uint64_t name, const char *uid, const char *parent, int64_t pods)
{
	const struct owner_object object = {.uid = uid,
					    .parent_uid = parent,
					    .parent_kind = parent ? kind_bit(kind_find("jobset.x-k8s.io", "JobSet"))
								  : 0,
					    .pods = pods,
					    .source = owners};

	assert_int_equal(owners_put(owners, name, &object), 0);
}

static void put_pod(struct owners *owners, const char *name, const char *uid, int64_t bytes)
{
	struct owner_pod pod = {.namespace = "ml", .name = name, .controller_uid = uid};

	pod.held[K8S_QUOTA_REQUESTS][K8S_MEMORY] = bytes;
	assert_int_equal(owners_put_pod(owners, &pod), 0);
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
	const struct k8s_owner job = {.api_version = "batch/v1", .kind = "Job", .uid = "job"};
	struct owners owners = {.dirty = NULL};
	struct snapshot *snapshot;

	(void)state;
	put_pod(&owners, "a", "job", 10);
	snapshot = flush_told(&owners);
	assert_true(snapshot_awaits_owner(snapshot, &job));
	assert_null(snapshot_root_owner(snapshot, "job"));
	put(&owners, JOB, "job", "set", 2);
	snapshot = flush(&owners, snapshot);
	assert_null(snapshot_root_owner(snapshot, "job")); /* its JobSet is not known */
	assert_true(snapshot_awaits_owner(snapshot, &job));
	put(&owners, JOBSET, "set", NULL, 6);
	put_pod(&owners, "b", "job", 5);
	snapshot = flush(&owners, snapshot);
	assert_false(snapshot_awaits_owner(snapshot, &job));
	assert_root(snapshot, "job", 6, 2, 15);
	/* a changed pod replaces, one at its end is nobody's */
	put_pod(&owners, "b", "job", 7);
	put_pod(&owners, "a", "", 0);
	snapshot = flush(&owners, snapshot);
	assert_root(snapshot, "set", 6, 1, 7);
	owners_remove(&owners, JOBSET);
	snapshot = flush(&owners, snapshot);
	assert_null(snapshot_root_owner(snapshot, "job"));
	/* it moves to another root, and what its pods hold goes with it */
	put(&owners, JOB, "job", NULL, 2);
	snapshot = flush(&owners, snapshot);
	assert_root(snapshot, "job", 2, 1, 7);
	owners_remove_pods(&owners, "other");
	owners_remove_pods(&owners, "ml");
	owners_remove_source(&owners, &owners);
	snapshot = flush(&owners, snapshot);
	assert_null(snapshot_root_owner(snapshot, "job"));
	assert_int_equal(owners.by_uid.n, 0);
	assert_int_equal(owners.by_name.n, 0);
	assert_int_equal(owners.pods.n, 0);
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
	struct snapshot *snapshot;

	(void)state;
	put(&owners, 1, "a", "b", 1);
	put(&owners, 2, "b", "a", 1);
	put_pod(&owners, "p", "a", 1);
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
	owners_release(&owners);
}

/* Sums after many random changes are those of the same objects put afresh. */
static void test_sums_stay_true(void **state)
{
	struct owners owners = {.dirty = NULL};
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
			put_pod(&owners, name, pods[k].owner < 0 ? "" : uid[pods[k].owner], pods[k].bytes);
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
	owners_release(&owners);
}

/* ---- beginnings: what quotas had left ---- */

static void put_quota(struct owners *owners, const char *name, uint64_t version, int64_t used, int64_t now_ms)
{
	struct k8s_quota quota = {.namespace_name = "ml", .name = name, .pods = {K8S_NO_BOUND, 0}};

	quota.amounts[K8S_QUOTA_LIMITS][K8S_MEMORY] = (struct k8s_quota_amount){100, used};
	assert_int_equal(owners_put_quota(owners, &quota, version, now_ms), 0);
}

static int begin(struct owners *owners, const char *uid, uint64_t version, bool is_suspended)
{
	const struct owner_object object = {.uid = uid,
					    .namespace = "ml",
					    .pods = 2,
					    .ranks = 3,
					    .created_ms = 77,
					    .version = version,
					    .is_suspended = is_suspended};

	return owners_put(owners, version % 10, &object);
}

/* What the quota had used when the owner began; -1: the present counts. */
static int64_t used_before(struct owners *owners, struct snapshot **snapshot, const char *uid, const char *quota)
{
	const struct owner_facts *facts;

	*snapshot = flush(owners, *snapshot);
	facts = snapshot_root_owner(*snapshot, uid);
	for (size_t i = 0; facts && i < facts->n_bases; i++)
		if (streq(facts->bases[i].name, quota))
			return facts->bases[i].amounts[K8S_QUOTA_LIMITS][K8S_MEMORY].used;
	return -1;
}

static void test_the_beginning_is_one_state(void **state)
{
	/* the same news in other orders: whatever came first, the state is the newest one not above the owner's */
	static const int orders[][4] = {{0, 1, 2, 3}, {3, 0, 1, 2}, {0, 3, 1, 2}, {0, 1, 3, 2}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct owners owners = {.dirty = NULL};
		struct snapshot *snapshot = NULL;

		put_quota(&owners, "q", 10, 0, 0);
		for (size_t k = 0; k < 4; k++)
			if (orders[i][k] == 3)
				assert_int_equal(begin(&owners, "job", 131, false), OWNERS_BEGIN);
			else
				put_quota(&owners, "q", (uint64_t[]){120, 130, 140}[orders[i][k]], 10 + orders[i][k],
					  0);
		assert_int_equal(used_before(&owners, &snapshot, "job", "q"), 11);
		assert_int_equal(snapshot_root_owner(snapshot, "job")->created_ms, 77);
		assert_int_equal(snapshot_root_owner(snapshot, "job")->ranks, 3);
		snapshot_unref(snapshot);
		owners_release(&owners);
	}
}

static void test_the_present_counts_when_all_pods_were_seen(void **state)
{
	struct owners owners = {.dirty = NULL};
	struct snapshot *snapshot = NULL;

	(void)state;
	put_quota(&owners, "q", 10, 5, 0);
	put_pod(&owners, "early", "job", 1); /* before the news of its owner */
	assert_int_equal(begin(&owners, "job", 21, false), OWNERS_BEGIN);
	assert_int_equal(begin(&owners, "job", 31, false), 0); /* a change of it is no other beginning */
	put_pod(&owners, "early", "job", 2);		       /* nor a pod's change another pod */
	assert_int_equal(used_before(&owners, &snapshot, "job", "q"), 5);
	put_pod(&owners, "early", "", 0); /* it is over and was seen all the same */
	assert_int_equal(used_before(&owners, &snapshot, "job", "q"), 5);
	put_pod(&owners, "late", "job", 1);
	assert_int_equal(used_before(&owners, &snapshot, "job", "q"), -1);
	/* what was suspended begins again, with what is left by then */
	assert_int_equal(begin(&owners, "job", 41, true), 0);
	put_quota(&owners, "q", 42, 60, 0);
	assert_int_equal(used_before(&owners, &snapshot, "job", "q"), -1);
	assert_true(snapshot_root_owner(snapshot, "job")->is_suspended);
	assert_int_equal(begin(&owners, "job", 51, false), OWNERS_BEGIN);
	assert_int_equal(used_before(&owners, &snapshot, "job", "q"), 60);
	assert_false(snapshot_root_owner(snapshot, "job")->is_suspended);
	owners_remove(&owners, 1);
	assert_null(owners.bursts.first);
	snapshot_unref(snapshot);
	owners_release(&owners);
}

static void test_no_beginning_is_known(void **state)
{
	struct owners owners = {.dirty = NULL};
	struct snapshot *snapshot = NULL;

	(void)state;
	/* no quota; one that is younger; told by a list; forgotten states; a child; a quota that goes; too long ago */
	assert_int_equal(begin(&owners, "a", 11, false), OWNERS_BEGIN); /* its pods wait for it all the same */
	put_quota(&owners, "q", 20, 5, 0);
	assert_int_equal(used_before(&owners, &snapshot, "a", "q"), -1);
	(void)begin(&owners, "b", 12, false);
	assert_int_equal(used_before(&owners, &snapshot, "b", "q"), -1);
	assert_int_equal(begin(&owners, "c", 0, false), 0);
	assert_int_equal(used_before(&owners, &snapshot, "c", "q"), -1);
	for (uint64_t version = 30; version < 50; version++)
		put_quota(&owners, "q", version, 5, 0);
	(void)begin(&owners, "d", 33, false);
	assert_int_equal(used_before(&owners, &snapshot, "d", "q"), -1);
	(void)begin(&owners, "e", 54, false);
	assert_int_equal(used_before(&owners, &snapshot, "e", "q"), 5);
	put_quota(&owners, "q", 60, 6, 4 * 60000);
	assert_int_equal(used_before(&owners, &snapshot, "e", "q"), 5);
	put_quota(&owners, "q", 61, 6, 5 * 60000);
	assert_int_equal(used_before(&owners, &snapshot, "e", "q"), -1);
	(void)begin(&owners, "f", 75, false);
	put_quota(&owners, "r", 70, 7, 0);
	assert_int_equal(used_before(&owners, &snapshot, "f", "r"), 7);
	/* one that is made again under that name is another quota */
	owners_remove_quota(&owners, "ml", "r");
	assert_int_equal(used_before(&owners, &snapshot, "f", "r"), -1);
	assert_int_equal(used_before(&owners, &snapshot, "f", "q"), 6);
	owners_remove_quota(&owners, "ml", "q");
	assert_int_equal(owners.bursts.spaces.n, 0);
	snapshot_unref(snapshot);
	owners_release(&owners);
}

static void test_versions(void **state)
{
	static const struct {
		const char *text;
		uint64_t version;
	} rows[] = {{"1", 1},  {"123456789012345", 123456789012345}, {"", 0}, {"-1", 0}, {" 1", 0},
		    {"1x", 0}, {"99999999999999999999999", 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].text);
		assert_true(bursts_version(rows[i].text) == rows[i].version);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order_gives_the_same),
		cmocka_unit_test(test_children_make_the_size_of_who_has_no_template),
		cmocka_unit_test(test_what_pods_are_declared_with_goes_to_the_root),
		cmocka_unit_test(test_rings_and_new_objects_of_one_name),
		cmocka_unit_test(test_sums_stay_true),
		cmocka_unit_test(test_the_beginning_is_one_state),
		cmocka_unit_test(test_the_present_counts_when_all_pods_were_seen),
		cmocka_unit_test(test_no_beginning_is_known),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
