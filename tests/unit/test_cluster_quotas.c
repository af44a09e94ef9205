/* SPDX-License-Identifier: Apache-2.0 */
/* ResourceQuotas of a namespace, however many there are. */
#include "support/test.h"

#include "base/limits.h"
#include "cluster/cluster_internal.h"
#include "support/cost.h"

#include <stdio.h>

/* No more pods are watched, so that no watch is started. */
#define CLUSTER                                                                                                        \
	{                                                                                                              \
		.quotas = {.n_watched = LIMIT_QUOTA_NAMESPACES, .is_too_many = true }                                  \
	}

static void put(struct cluster *cluster, size_t number, bool counts_memory)
{
	char name[16];
	struct k8s_quota quota = {.namespace_name = "ml", .name = name, .pods = {.hard = 3}};
	struct err err = ERR_INIT;

	snprintf(name, sizeof(name), "q%05zu", number);
	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			quota.amounts[f][r].hard = counts_memory && r == K8S_MEMORY ? 5 : K8S_NO_BOUND;
	assert_int_equal(quotas_put(cluster, &quota, &err), 0);
}

static void take_out(struct cluster *cluster, size_t number)
{
	char name[16];

	snprintf(name, sizeof(name), "q%05zu", number);
	quotas_remove(cluster, "ml", name);
}

static struct snapshot *flush(struct cluster *cluster, struct snapshot *base)
{
	struct snapshot_builder *builder = snapshot_builder_new(base);
	struct snapshot *snapshot;

	assert_non_null(builder);
	assert_int_equal(quotas_flush(cluster, builder), 0);
	assert_false(cluster->quotas.is_dirty);
	snapshot = snapshot_builder_finish(builder, 1);
	snapshot_unref(base);
	assert_non_null(snapshot);
	return snapshot;
}

static size_t count(const struct snapshot *snapshot)
{
	const struct namespace_facts *facts = snapshot_namespace(snapshot, "ml");

	return facts ? facts->n_quotas : 0;
}

static void they_come_and_go(void **state)
{
	struct cluster cluster = CLUSTER;
	struct snapshot *snapshot;
	const struct namespace_facts *facts;

	(void)state;
	for (size_t i = 3; i > 0; i--)
		put(&cluster, i, i == 2);
	snapshot = flush(&cluster, NULL);
	facts = snapshot_namespace(snapshot, "ml");
	assert_int_equal(facts->n_quotas, 3);
	assert_string_equal(facts->quotas[0]->name, "q00001");
	assert_int_equal(facts->quotas[1]->amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY].hard, 5);
	take_out(&cluster, 9);
	assert_false(cluster.quotas.is_dirty);
	take_out(&cluster, 2);
	put(&cluster, 1, true);
	snapshot = flush(&cluster, snapshot);
	facts = snapshot_namespace(snapshot, "ml");
	assert_int_equal(facts->n_quotas, 2);
	assert_int_equal(facts->quotas[0]->amounts[K8S_QUOTA_REQUESTS][K8S_MEMORY].hard, 5);
	assert_string_equal(facts->quotas[1]->name, "q00003");
	take_out(&cluster, 1);
	take_out(&cluster, 3);
	snapshot = flush(&cluster, snapshot);
	assert_null(snapshot_namespace(snapshot, "ml"));
	assert_int_equal(cluster.quotas.namespaces.n, 0);
	/* gone and there again before the snapshot hears of it */
	put(&cluster, 1, false);
	take_out(&cluster, 1);
	put(&cluster, 4, false);
	snapshot = flush(&cluster, snapshot);
	assert_int_equal(count(snapshot), 1);
	assert_string_equal(snapshot_namespace(snapshot, "ml")->quotas[0]->name, "q00004");
	snapshot_unref(snapshot);
	quotas_release(&cluster);
}

/* Pods are watched, or wanted, as long as one quota counts what memtamer sets. */
static void pods_are_wanted_by_some(void **state)
{
	struct cluster cluster = CLUSTER;

	(void)state;
	cluster.quotas.is_too_many = false;
	put(&cluster, 1, false);
	assert_false(cluster.quotas.is_too_many);
	put(&cluster, 2, true);
	assert_true(cluster.quotas.is_too_many); /* it asked for a watch */
	put(&cluster, 2, true);
	put(&cluster, 2, false);
	cluster.quotas.is_too_many = false;
	put(&cluster, 1, false);
	assert_false(cluster.quotas.is_too_many);
	put(&cluster, 3, true);
	take_out(&cluster, 3);
	cluster.quotas.is_too_many = false;
	put(&cluster, 1, false);
	assert_false(cluster.quotas.is_too_many);
	quotas_release(&cluster);
}

struct steps {
	uint64_t fill, change, empty;
};

static struct steps steps_of(size_t n)
{
	struct cluster cluster = CLUSTER;
	struct snapshot *snapshot;
	struct steps steps;

	cost_begin();
	for (size_t i = n; i > 0; i--)
		put(&cluster, i, i == 1);
	snapshot = flush(&cluster, NULL);
	steps.fill = cost_steps();
	assert_true(count(snapshot) > LIMIT_NAMESPACE_QUOTAS);

	cost_begin();
	put(&cluster, n / 2, false);
	snapshot = flush(&cluster, snapshot);
	steps.change = cost_steps();
	assert_true(count(snapshot) > LIMIT_NAMESPACE_QUOTAS);

	cost_begin();
	for (size_t i = n; i > LIMIT_NAMESPACE_QUOTAS; i--)
		take_out(&cluster, i);
	steps.empty = cost_steps();
	snapshot = flush(&cluster, snapshot);
	assert_int_equal(count(snapshot), LIMIT_NAMESPACE_QUOTAS);
	assert_string_equal(snapshot_namespace(snapshot, "ml")->quotas[0]->name, "q00001");
	snapshot_unref(snapshot);
	quotas_release(&cluster);
	return steps;
}

static void thousands_take_linear_time(void **state)
{
	struct steps few = steps_of(10000), many = steps_of(20000);

	(void)state;
	if (!few.fill)
		skip(); /* this build does not count */
	assert_true(many.fill <= few.fill * 5 / 2);
	assert_true(many.empty <= few.empty * 5 / 2);
	/* the snapshot has no more of them than it needs */
	assert_true(many.change <= few.change * 3 / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_come_and_go),
		cmocka_unit_test(pods_are_wanted_by_some),
		cmocka_unit_test(thousands_take_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
