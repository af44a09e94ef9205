/* SPDX-License-Identifier: Apache-2.0 */
/* Which VerticalPodAutoscaler a snapshot finds for the controller of a pod. */
#include "snapshot_fixture.h"

#include "model/snapshot.h"

static const struct {
	const char *namespace_name, *name, *kind, *target;
	int64_t created_ms;
	bool is_off;
} vpas[] = {
	{"ml", "younger", "Job", "train", 9, false},  {"ml", "oldest", "Job", "train", 5, false},
	{"ml", "off", "Job", "train", 1, true},	      {"ml", "b", "PyTorchJob", "bert", 0, false},
	{"ml", "a", "PyTorchJob", "bert", 0, false},  {"ml", "cron", "CronJob", "nightly", 0, false},
	{"ml", "set", "JobSet", "set", 0, false},     {"ml", "deployment", "Deployment", "notebook", 0, false},
	{"other", "other", "Job", "train", 0, false}, {"ml", "none", "", "", 0, false},
};

/* Job "of-cron" of CronJob nightly; Job "of-set" of JobSet set of TrainJob top; Job "nightly-1" is nobody's. */
static const struct {
	const char *uid, *parent_uid, *parent_kind, *parent;
} owners[] = {
	{"of-cron", NULL, "CronJob", "nightly"},
	{"of-set", "set", "JobSet", "set"},
	{"below-set", "unnamed", "JobSet", "unnamed"},
	{"unnamed", "set", "JobSet", "set"},
	{"set", NULL, "TrainJob", "top"},
	{"of-nobody", NULL, NULL, NULL},
	{"ring", "ring", "JobSet", "ring"},
};

static struct snapshot *make(size_t n_vpas)
{
	struct k8s_vpa items[ARRAY_LEN(vpas)];
	const struct k8s_vpa *list[ARRAY_LEN(vpas)];
	struct snapshot_builder *builder = start(NULL);

	for (size_t i = 0; i < n_vpas; i++) {
		items[i] = (struct k8s_vpa){
			.namespace_name = vpas[i].namespace_name,
			.name = vpas[i].name,
			.target = k8s_vpa_target(vpas[i].namespace_name, vpas[i].kind, vpas[i].target),
			.created_ms = vpas[i].created_ms,
			.is_off = vpas[i].is_off,
		};
		list[i] = &items[i];
	}
	assert_int_equal(snapshot_builder_set_vpas(builder, list, n_vpas), 0);
	for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
		const struct owner_facts facts = {
			.uid = owners[i].uid,
			.parent_uid = owners[i].parent_uid,
			.parent_target = owners[i].parent
						 ? k8s_vpa_target("ml", owners[i].parent_kind, owners[i].parent)
						 : 0,
		};

		assert_int_equal(snapshot_builder_put_owner(builder, &facts), 0);
	}
	return finish(builder);
}

static void the_controller_and_what_is_above_it(void **state)
{
	static const struct {
		const char *namespace_name, *kind, *name, *uid, *found; /* NULL: none */
	} rows[] = {
		{"ml", "Job", "train", "u", "oldest"},
		{"ml", "Job", "train", "", "oldest"}, /* a template's */
		{"other", "Job", "train", "u", "other"},
		{"third", "Job", "train", "u", NULL},
		{"ml", "CronJob", "train", "u", NULL},
		{"ml", "PyTorchJob", "bert", "u", "a"},
		/* made by what is not watched: as the Job says, or by its name until the Job is known */
		{"ml", "Job", "by-hand", "of-cron", "cron"},
		{"ml", "Job", "nightly-28400000", "not-known", "cron"},
		{"ml", "Job", "nightly-28400000", "of-nobody", NULL},
		{"ml", "Job", "nightly-28400000", "", NULL},
		{"ml", "ReplicaSet", "notebook-5d9c7b8f6", "u", "deployment"},
		/* the topmost counts */
		{"ml", "Job", "train", "of-set", "set"},
		{"ml", "Job", "any", "of-set", "set"},
		{"ml", "Job", "any", "below-set", "set"},
		{"ml", "Job", "any", "ring", NULL},
	};
	struct snapshot *snapshot = make(ARRAY_LEN(vpas));

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct k8s_owner controller = {
			.api_version = "", .kind = rows[i].kind, .name = rows[i].name, .uid = rows[i].uid};
		const struct k8s_vpa *found = snapshot_vpa(snapshot, rows[i].namespace_name, &controller);

		test_row(rows[i].found ? rows[i].found : rows[i].name);
		assert_int_equal(found != NULL, rows[i].found != NULL);
		if (found)
			assert_string_equal(found->name, rows[i].found);
	}
	snapshot_unref(snapshot);
}

static void a_list_is_shared_until_another_replaces_it(void **state)
{
	const struct k8s_owner controller = {.kind = "Job", .name = "train", .uid = "u"};
	struct snapshot *first = make(1), *second, *third;
	struct snapshot_builder *builder = start(first);

	(void)state;
	second = finish(builder);
	assert_ptr_equal(snapshot_vpa(second, "ml", &controller), snapshot_vpa(first, "ml", &controller));
	builder = start(second);
	assert_int_equal(snapshot_builder_set_vpas(builder, NULL, 0), 0);
	third = finish(builder);
	assert_null(snapshot_vpa(third, "ml", &controller));
	snapshot_unref(first);
	assert_string_equal(snapshot_vpa(second, "ml", &controller)->name, "younger");
	snapshot_unref(second);
	snapshot_unref(third);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_controller_and_what_is_above_it),
		cmocka_unit_test(a_list_is_shared_until_another_replaces_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
