/* SPDX-License-Identifier: Apache-2.0 */
/* Node shapes, namespaces and owners of a snapshot. */
#include "snapshot_fixture.h"

#include "model/snapshot.h"
#include "support/cost.h"

#include <stdio.h>

static void namespaces_and_shapes(void **state)
{
	struct snapshot_builder *builder = start(NULL);
	struct node_shape shape = {.name = "h100", .resource = "nvidia.com/gpu", .accelerators = 8};
	struct snapshot *snapshot, *next;
	size_t n;

	(void)state;
	assert_int_equal(snapshot_builder_put_shape(builder, &shape), 0);
	assert_int_equal(snapshot_builder_put_namespace(builder, &(struct namespace_facts){.name = "a", .mode = "off"}),
			 0);
	snapshot = finish(builder);
	assert_false(snapshot_shapes_complete(snapshot, "nvidia.com/gpu"));
	builder = start(snapshot);
	shape.is_declared = true;
	assert_int_equal(snapshot_builder_put_shape(builder, &shape), 0);
	assert_int_equal(snapshot_builder_put_namespace(builder, &(struct namespace_facts){.name = "a"}), 0);
	assert_int_equal(
		snapshot_builder_put_namespace(builder, &(struct namespace_facts){.name = "b", .is_ignored = true}), 0);
	next = finish(builder);
	assert_int_equal(snapshot_node_shapes(next, &n)->accelerators, 8);
	assert_int_equal(n, 1);
	assert_true(snapshot_shapes_complete(next, "nvidia.com/gpu"));
	assert_false(snapshot_shapes_complete(next, "amd.com/gpu"));
	assert_null(snapshot_namespace(next, "a")); /* it says nothing any more */
	assert_true(snapshot_namespace(next, "b")->is_ignored);
	assert_null(snapshot_namespace(next, "c"));
	assert_string_equal(snapshot_namespace(snapshot, "a")->mode, "off");
	assert_null(snapshot_namespace(snapshot, "b"));
	snapshot_unref(snapshot);
	snapshot_unref(next);
}

static void limits_and_quotas_come_and_go_by_name(void **state)
{
	const struct k8s_limit_item item = {.is_pod = true};
	struct k8s_limit_range b = {.namespace_name = "ml", .name = "b", .items = &item, .n_items = 1};
	struct k8s_limit_range a = {.namespace_name = "ml", .name = "a"};
	struct k8s_quota quota = {.namespace_name = "ml", .name = "q", .pods = {.hard = 3}};
	struct snapshot_builder *builder = start(NULL);
	struct snapshot *first, *second, *third;
	const struct namespace_facts *facts;

	(void)state;
	assert_int_equal(snapshot_builder_put_limit_range(builder, &b), 0);
	assert_int_equal(
		snapshot_builder_put_namespace(builder, &(struct namespace_facts){.name = "ml", .mode = "fill"}), 0);
	assert_int_equal(snapshot_builder_put_limit_range(builder, &a), 0);
	assert_int_equal(snapshot_builder_put_quota(builder, &quota), 0);
	first = finish(builder);
	facts = snapshot_namespace(first, "ml");
	assert_string_equal(facts->mode, "fill");
	assert_int_equal(facts->n_limit_ranges, 2);
	assert_string_equal(facts->limit_ranges[0]->name, "a");
	assert_true(facts->limit_ranges[1]->items[0].is_pod);
	assert_int_equal(facts->quotas[0]->pods.hard, 3);

	builder = start(first);
	quota.pods.hard = 4;
	assert_int_equal(snapshot_builder_put_quota(builder, &quota), 0);
	assert_int_equal(snapshot_builder_remove_limit_range(builder, "ml", "a"), 0);
	assert_int_equal(snapshot_builder_remove_limit_range(builder, "ml", "never-was"), 0);
	assert_int_equal(snapshot_builder_clear_quotas(builder, "other"), 0);
	second = finish(builder);
	facts = snapshot_namespace(second, "ml");
	assert_string_equal(facts->mode, "fill");
	assert_int_equal(facts->n_limit_ranges, 1);
	assert_int_equal(facts->n_quotas, 1);
	assert_int_equal(facts->quotas[0]->pods.hard, 4);
	assert_null(snapshot_namespace(second, "other"));
	assert_int_equal(snapshot_namespace(first, "ml")->quotas[0]->pods.hard, 3);

	builder = start(second);
	assert_int_equal(snapshot_builder_clear_quotas(builder, "ml"), 0);
	assert_int_equal(snapshot_namespace(second, "ml")->n_quotas, 1);
	assert_int_equal(snapshot_builder_remove_namespace(builder, "ml"), 0);
	third = finish(builder);
	assert_null(snapshot_namespace(third, "ml"));
	snapshot_unref(second);
	snapshot_unref(first);
	snapshot_unref(third);
}

/* A namespace of a file, or of the first list of a watch, may have thousands, in any order. */
static uint64_t steps_to_put(size_t n, bool is_reverse)
{
	struct snapshot_builder *builder = start(NULL);
	struct snapshot *snapshot;
	uint64_t steps;

	cost_begin();
	for (size_t k = 0; k < n; k++) {
		char name[32];
		struct k8s_quota quota = {.namespace_name = "ml", .name = name};
		struct k8s_limit_range range = {.namespace_name = "ml", .name = name};

		snprintf(name, sizeof(name), "q%05zu", is_reverse ? n - 1 - k : k);
		assert_int_equal(snapshot_builder_put_quota(builder, &quota), 0);
		assert_int_equal(snapshot_builder_put_limit_range(builder, &range), 0);
	}
	snapshot = finish(builder);
	steps = cost_steps();
	assert_int_equal(snapshot_namespace(snapshot, "ml")->n_quotas, n);
	for (size_t k = 0; k < n; k++) {
		char name[32];

		snprintf(name, sizeof(name), "q%05zu", k);
		assert_string_equal(snapshot_namespace(snapshot, "ml")->quotas[k]->name, name);
		assert_string_equal(snapshot_namespace(snapshot, "ml")->limit_ranges[k]->name, name);
	}
	snapshot_unref(snapshot);
	return steps;
}

static void many_objects_of_a_namespace_take_linear_time(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		uint64_t few = steps_to_put(10000, order), many = steps_to_put(20000, order);

		if (!few)
			skip(); /* this build does not count */
		assert_true(few > 20000);
		assert_true(many <= few * 5 / 2);
	}
}

/* Many Jobs are deleted at once, as with their namespace. */
static void many_removals_take_linear_time(void **state)
{
	uint64_t steps[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct snapshot_builder *builder = start(NULL);
		struct snapshot *before, *after;
		size_t n = i ? 40000 : 20000;
		char uid[16];

		for (size_t k = 0; k < n; k++) {
			snprintf(uid, sizeof(uid), "u%zu", k);
			assert_int_equal(snapshot_builder_put_owner(builder, &(struct owner_facts){.uid = uid}), 0);
		}
		before = finish(builder);
		builder = start(before);
		cost_begin();
		for (size_t k = 1; k < n; k++) {
			snprintf(uid, sizeof(uid), "u%zu", k);
			assert_int_equal(snapshot_builder_remove_owner(builder, uid), 0);
		}
		after = finish(builder);
		steps[i] = cost_steps();
		assert_non_null(snapshot_root_owner(after, "u0"));
		assert_null(snapshot_root_owner(after, uid));
		assert_non_null(snapshot_root_owner(before, uid));
		snapshot_unref(before);
		snapshot_unref(after);
	}
	if (!steps[0])
		skip();
	assert_true(steps[0] > 20000);
	assert_true(steps[1] <= steps[0] * 5 / 2);
}

static void root_owners_are_found_over_their_children(void **state)
{
	char uid[] = "root";
	struct snapshot_builder *builder = start(NULL);
	struct snapshot *snapshot, *next;

	(void)state;
	assert_int_equal(snapshot_builder_put_owner(builder, &(struct owner_facts){.uid = uid, .pods = 8}), 0);
	uid[0] = 'X';
	assert_int_equal(snapshot_builder_put_owner(
				 builder, &(struct owner_facts){.uid = "job", .parent_uid = "root", .pods = 2}),
			 0);
	assert_int_equal(
		snapshot_builder_put_owner(builder, &(struct owner_facts){.uid = "lost", .parent_uid = "gone"}), 0);
	assert_int_equal(snapshot_builder_put_owner(builder, &(struct owner_facts){.uid = "x", .parent_uid = "y"}), 0);
	assert_int_equal(snapshot_builder_put_owner(builder, &(struct owner_facts){.uid = "y", .parent_uid = "x"}), 0);
	snapshot = finish(builder);
	assert_int_equal(snapshot_root_owner(snapshot, "job")->pods, 8);
	assert_int_equal(snapshot_root_owner(snapshot, "root")->pods, 8);
	assert_null(snapshot_root_owner(snapshot, "lost"));
	assert_null(snapshot_root_owner(snapshot, "x")); /* a ring has no root */
	assert_null(snapshot_root_owner(snapshot, ""));
	builder = start(snapshot);
	assert_int_equal(snapshot_builder_put_owner(builder, &(struct owner_facts){.uid = "root", .pods = 9}), 0);
	assert_int_equal(snapshot_builder_remove_owner(builder, "job"), 0);
	assert_int_equal(snapshot_builder_remove_owner(builder, "never-was"), 0);
	next = finish(builder);
	assert_null(snapshot_root_owner(next, "job"));
	assert_int_equal(snapshot_root_owner(next, "root")->pods, 9);
	assert_int_equal(snapshot_root_owner(snapshot, "job")->pods, 8);
	snapshot_unref(snapshot);
	snapshot_unref(next);
}

/* Whatever goes last: an entry that says nothing equals none, and clusters make namespaces without end. */
static void namespaces_go_with_what_they_held(void **state)
{
	const struct k8s_limit_range range = {.namespace_name = "ml", .name = "r"};
	const struct k8s_quota quota = {.namespace_name = "ml", .name = "q"};
	struct snapshot_builder *builder = start(NULL);
	struct snapshot *first, *second, *third;

	(void)state;
	assert_int_equal(snapshot_builder_put_namespace(builder, &(struct namespace_facts){.name = "plain"}), 0);
	assert_int_equal(
		snapshot_builder_put_namespace(builder, &(struct namespace_facts){.name = "ml", .mode = "fill"}), 0);
	assert_int_equal(snapshot_builder_put_limit_range(builder, &range), 0);
	assert_int_equal(snapshot_builder_put_quota(builder, &quota), 0);
	first = finish(builder);
	assert_null(snapshot_namespace(first, "plain"));
	builder = start(first);
	assert_int_equal(snapshot_builder_put_namespace(builder, &(struct namespace_facts){.name = "ml"}), 0);
	assert_int_equal(snapshot_builder_remove_limit_range(builder, "ml", "r"), 0);
	second = finish(builder);
	assert_int_equal(snapshot_namespace(second, "ml")->n_quotas, 1);
	builder = start(second);
	assert_int_equal(snapshot_builder_clear_quotas(builder, "ml"), 0);
	third = finish(builder);
	assert_null(snapshot_namespace(third, "ml"));
	assert_string_equal(snapshot_namespace(first, "ml")->mode, "fill");
	snapshot_unref(first);
	snapshot_unref(second);
	snapshot_unref(third);
}

static void shapes_go(void **state)
{
	struct snapshot_builder *builder = start(NULL);
	struct node_shape shape = {.name = "a"}, other = {.name = "b"};
	struct snapshot *snapshot, *next;
	size_t n;

	(void)state;
	assert_int_equal(snapshot_builder_put_shape(builder, &shape), 0);
	assert_int_equal(snapshot_builder_put_shape(builder, &other), 0);
	snapshot = finish(builder);
	builder = start(snapshot);
	assert_int_equal(snapshot_builder_clear_shapes(builder), 0);
	assert_int_equal(snapshot_builder_put_shape(builder, &other), 0);
	next = finish(builder);
	assert_string_equal(snapshot_node_shapes(next, &n)->name, "b");
	assert_int_equal(n, 1);
	snapshot_node_shapes(snapshot, &n);
	assert_int_equal(n, 2);
	snapshot_unref(snapshot);
	snapshot_unref(next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(namespaces_and_shapes),
		cmocka_unit_test(limits_and_quotas_come_and_go_by_name),
		cmocka_unit_test(many_objects_of_a_namespace_take_linear_time),
		cmocka_unit_test(many_removals_take_linear_time),
		cmocka_unit_test(namespaces_go_with_what_they_held),
		cmocka_unit_test(root_owners_are_found_over_their_children),
		cmocka_unit_test(shapes_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
