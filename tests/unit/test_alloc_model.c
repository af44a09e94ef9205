/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while profiles, histories and snapshots are made: -ENOMEM, nothing leaked, nothing half done. */
#include "support/alloc_fail.h"
#include "support/object_json.h"
#include "support/test.h"

#include "model/history.h"
#include "model/profile.h"
#include "model/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GI ((int64_t)1 << 30)

static const char *const aliases[] = {"Job/bert", "pod-stem:bert"};
static const char *const reasons[] = {"peak 85Gi of 14 runs + 12 %"};
static const struct recommendation variant = {
	.request_bytes = 9 * GI, .limit_bytes = 12 * GI, .runs = 3, .variant = "abcdef0123"};

static struct profile draft(const char *name)
{
	static const struct profile_spec pinned = {
		.pin_limit_bytes = 64 * GI, .quantile_permille = -1, .buffer_permille = -1};
	struct profile profile = {.namespace_name = "ml",
				  .name = name,
				  .workload = "Job/bert",
				  .role = "worker",
				  .container = "pytorch",
				  .aliases = aliases,
				  .n_aliases = 2,
				  .reasons = reasons,
				  .n_reasons = 1,
				  .revision = 7,
				  .spec = &pinned,
				  .parent = {.request_bytes = 8 * GI, .limit_bytes = 12 * GI, .runs = 14},
				  .variants = &variant,
				  .n_variants = 1};

	return profile;
}

static int copy_profile(void *context, struct strbuf *ret)
{
	CLEANUP(profile_freep) struct profile *profile = profile_dup(context);

	return profile ? profile_encode(profile, ret) : -ENOMEM;
}

static int decode_profile(void *context, struct strbuf *ret)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct err err = ERR_INIT;
	int r = profile_decode(context, &profile, &err);

	return r ? r : profile_encode(profile, ret);
}

static int add_runs(struct history *history, int n)
{
	int r = 0;

	for (int i = 0; i < n && !r; i++) {
		struct run run = {.attempts = 1,
				  .ranks = 1,
				  .start_ms = 1793607300000 + i * 3600000,
				  .duration_ms = 60000,
				  .limit_bytes = 64 * GI,
				  .mode = -1,
				  .peak_bytes = (10 + i) * GI,
				  .median_bytes = 8 * GI,
				  .outcome = OUTCOME_COMPLETED,
				  .is_whole = true,
				  .source = "query"};

		snprintf(run.uid, sizeof(run.uid), "run-%d", i);
		r = history_add_run(history, &run);
	}
	return r;
}

static int build_history(void *context, struct strbuf *ret)
{
	CLEANUP(history_freep) struct history *history = history_new("ml", "bert-0123456789");
	int r;

	(void)context;
	if (!history)
		return -ENOMEM;
	r = add_runs(history, 9);
	if (!r)
		r = history_add_alias(history, "Job/bert");
	return r ? r : history_encode(history, ret);
}

static int decode_history(void *context, struct strbuf *ret)
{
	CLEANUP(history_freep) struct history *history = NULL;
	struct err err = ERR_INIT;
	int r = history_decode(context, &history, &err);

	return r ? r : history_encode(history, ret);
}

static int put_profile(struct snapshot_builder *builder, const char *name)
{
	struct profile profile = draft(name);
	struct profile *copy = profile_dup(&profile);

	return copy ? snapshot_builder_put(builder, copy) : -ENOMEM;
}

/* On top of `context`, a snapshot or NULL. */
static int build_snapshot(void *context, struct strbuf *ret)
{
	const struct node_shape shape = {.name = "a", .resource = "nvidia.com/gpu", .accelerators = 8};
	const struct namespace_facts facts = {.name = "ml", .mode = "observe"};
	const struct k8s_limit_range range = {.namespace_name = "ml", .name = "mem"};
	const struct k8s_quota quota = {.namespace_name = "ml", .name = "compute"};
	const struct owner_facts owner = {.uid = "1", .parent_uid = "2"};
	const struct queue_facts queue = {.name = "research"};
	const struct k8s_vpa vpa = {.namespace_name = "ml", .name = "v"}, *vpas = &vpa;
	struct snapshot_builder *builder = snapshot_builder_new(context);
	struct snapshot *snapshot;
	int r;

	if (!builder)
		return -ENOMEM;
	r = put_profile(builder, "one");
	if (!r)
		r = put_profile(builder, "two");
	if (!r)
		r = snapshot_builder_remove(builder, "ml", "two");
	if (!r)
		r = snapshot_builder_put_shape(builder, &shape);
	if (!r)
		r = snapshot_builder_put_namespace(builder, &facts);
	if (!r)
		r = snapshot_builder_put_limit_range(builder, &range);
	if (!r)
		r = snapshot_builder_put_quota(builder, &quota);
	if (!r)
		r = snapshot_builder_put_owner(builder, &owner);
	if (!r)
		r = snapshot_builder_clear_quotas(builder, "none");
	if (!r)
		r = snapshot_builder_put_local_queue(builder, "ml", "team", "research");
	if (!r)
		r = snapshot_builder_put_queue(builder, &queue);
	if (!r)
		r = snapshot_builder_remove_local_queue(builder, "ml", "team");
	if (!r)
		r = snapshot_builder_remove_queue(builder, "research");
	if (!r)
		r = snapshot_builder_set_vpas(builder, &vpas, 1);
	if (r) {
		snapshot_builder_free(builder);
		return r;
	}
	snapshot = snapshot_builder_finish(builder, 42);
	if (!snapshot)
		return -ENOMEM;
	r = strbuf_addf(ret, "%zu %s %s", snapshot_profile_count(snapshot),
			snapshot_profile(snapshot, "ml", "Job/bert", "worker", "pytorch")->name,
			snapshot_namespace(snapshot, "ml")->mode);
	snapshot_unref(snapshot);
	return r;
}

static struct json_object *encoded(int (*encode)(void *, struct strbuf *), void *context)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(1000000);
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(encode(context, &text), 0);
	assert_int_equal(json_parse(text.text, text.len, 32, &object, &err), 0);
	return object;
}

static void profiles_survive(void **state)
{
	struct profile profile = draft("bert-0123456789");
	CLEANUP(json_putp) struct json_object *object = encoded(copy_profile, &profile);

	(void)state;
	assert_true(alloc_fail_each("profile_dup, profile_encode", copy_profile, &profile) > 1);
	assert_true(alloc_fail_each("profile_decode", decode_profile, object) > 1);
}

static void histories_survive(void **state)
{
	CLEANUP(json_putp) struct json_object *object = encoded(build_history, NULL);

	(void)state;
	assert_true(alloc_fail_each("history_add_run, history_encode", build_history, NULL) > 3);
	assert_true(alloc_fail_each("history_decode", decode_history, object) > 3);
}

static void snapshots_survive(void **state)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct snapshot *base;

	(void)state;
	assert_non_null(builder);
	assert_int_equal(put_profile(builder, "zero"), 0);
	base = snapshot_builder_finish(builder, 41);
	assert_non_null(base);
	assert_true(alloc_fail_each("snapshot", build_snapshot, NULL) > 5);
	assert_true(alloc_fail_each("snapshot upon another", build_snapshot, base) > 5);
	assert_int_equal(snapshot_profile_count(base), 1);
	snapshot_unref(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles_survive),
		cmocka_unit_test(histories_survive),
		cmocka_unit_test(snapshots_survive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
