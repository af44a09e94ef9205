/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a VerticalPodAutoscaler: its target, and in which containers it sets memory. */
#include "support/test.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "k8s/vpa.h"

#include <errno.h>
#include <stdlib.h>

#define VPA(spec)                                                                                                      \
	"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"v\",\"creationTimestamp\":\"2026-11-02T08:15:00Z\"},\"spec\":" \
	"{\"targetRef\":{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"train\"}" spec "}}"
#define POLICIES(items) VPA(",\"resourcePolicy\":{\"containerPolicies\":[" items "]}")
#define CPU_ONLY	"\"controlledResources\":[\"cpu\"]"

/* Read from text as the webhook does; a manifest must give the same. */
static int read_both(const char *text, struct arena *arena, struct k8s_vpa *ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct k8s_vpa other;
	int r = k8s_vpa_read(text, strlen(text), arena, ret, err);

	assert_int_equal(json_parse(text, strlen(text), 16, &object, NULL), 0);
	assert_int_equal(k8s_vpa_decode(object, "", arena, &other, NULL), r);
	assert_true(r || k8s_vpa_equal(ret, &other));
	return r;
}

static void memory_of_which_containers(void **state)
{
	static const struct {
		const char *text;
		bool sets_a, sets_b;
	} rows[] = {
		{VPA(""), true, true},
		{VPA(",\"resourcePolicy\":null"), true, true},
		{POLICIES(""), true, true},
		{POLICIES("{\"containerName\":\"*\",\"mode\":\"Off\"}"), false, false},
		{POLICIES("{\"containerName\":\"*\"," CPU_ONLY "}"), false, false},
		{POLICIES("{\"containerName\":\"*\",\"controlledResources\":[]}"), false, false},
		{POLICIES("{\"containerName\":\"*\",\"controlledResources\":null}"), true, true},
		{POLICIES("{\"containerName\":\"*\",\"controlledResources\":[\"cpu\",\"memory\"]}"), true, true},
		{POLICIES("{\"containerName\":\"a\",\"mode\":\"Off\"}"), false, true},
		{POLICIES("{\"containerName\":\"a\",\"mode\":\"Auto\"}"), true, true},
		{POLICIES("{\"containerName\":\"b\"," CPU_ONLY "}"), true, false},
		/* the container's own policy is stronger than "*", wherever it stands */
		{POLICIES("{\"containerName\":\"a\"},{\"containerName\":\"*\",\"mode\":\"Off\"}"), true, false},
		{POLICIES("{\"containerName\":\"*\",\"mode\":\"Off\"},{\"containerName\":\"a\"}"), true, false},
		/* the first of a container, the last of all */
		{POLICIES("{\"containerName\":\"a\"},{\"containerName\":\"a\",\"mode\":\"Off\"}"), true, true},
		{POLICIES("{\"containerName\":\"a\",\"mode\":\"Off\"},{\"containerName\":\"a\"}"), false, true},
		{POLICIES("{\"containerName\":\"*\"},{\"containerName\":\"*\",\"mode\":\"Off\"}"), false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
		struct k8s_vpa vpa;

		test_row(rows[i].text);
		assert_int_equal(read_both(rows[i].text, &arena, &vpa, NULL), 0);
		assert_int_equal(k8s_vpa_sets_memory(&vpa, "a"), rows[i].sets_a);
		assert_int_equal(k8s_vpa_sets_memory(&vpa, "b"), rows[i].sets_b);
		assert_true(vpa.target == k8s_vpa_target("ml", "Job", "train"));
		assert_int_equal(vpa.created_ms, 1793607300000);
	}
}

static void update_modes(void **state)
{
	static const struct {
		const char *text;
		bool is_off;
	} rows[] = {
		{VPA(""), false},
		{VPA(",\"updatePolicy\":{}"), false},
		{VPA(",\"updatePolicy\":{\"updateMode\":null}"), false},
		{VPA(",\"updatePolicy\":{\"updateMode\":\"\"}"), false},
		{VPA(",\"updatePolicy\":{\"updateMode\":\"Auto\"}"), false},
		{VPA(",\"updatePolicy\":{\"updateMode\":\"Initial\"}"), false},
		{VPA(",\"updatePolicy\":{\"updateMode\":\"Recreate\"}"), false},
		{VPA(",\"updatePolicy\":{\"updateMode\":\"InPlaceOrRecreate\"}"), false},
		{VPA(",\"updatePolicy\":{\"updateMode\":\"Off\"}"), true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
		struct k8s_vpa vpa;

		test_row(rows[i].text);
		assert_int_equal(read_both(rows[i].text, &arena, &vpa, NULL), 0);
		assert_int_equal(vpa.is_off, rows[i].is_off);
	}
}

/* The API server refuses them. */
static void wrong_types_count_as_absent(void **state)
{
	static const struct {
		const char *text;
		bool has_target;
	} rows[] = {
		{"[]", false},
		{"{\"spec\":{\"targetRef\":[]}}", false},
		{"{\"spec\":{\"targetRef\":{\"kind\":1,\"name\":[]}}}", false},
		{VPA(",\"updatePolicy\":{\"updateMode\":{}}"), true},
		{VPA(",\"updatePolicy\":\"Off\""), true},
		{VPA(",\"resourcePolicy\":[]"), true},
		{POLICIES("{},3"), true},
		{POLICIES("{\"containerName\":[],\"mode\":\"Off\"}"), true},
		{POLICIES("{\"containerName\":\"*\",\"controlledResources\":\"cpu\",\"mode\":7}"), true},
		{POLICIES("{\"containerName\":\"a-name-that-is-longer-than-the-63-characters-that-containers-may-"
			  "have\",\"mode\":\"Off\"}"),
		 true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
		struct k8s_vpa vpa;

		test_row(rows[i].text);
		assert_int_equal(read_both(rows[i].text, &arena, &vpa, NULL), 0);
		assert_int_equal(vpa.target == k8s_vpa_target("ml", "Job", "train"), rows[i].has_target);
		assert_false(vpa.is_off);
		assert_true(k8s_vpa_sets_memory(&vpa, "a"));
	}
}

static void policies_have_a_cap(void **state)
{
	for (int more = 0; more < 2; more++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
		struct k8s_vpa vpa;

		strbuf_addf(&text, "{\"spec\":{\"resourcePolicy\":{\"containerPolicies\":[");
		for (int i = 0; i < LIMIT_VPA_POLICIES + more; i++)
			strbuf_addf(&text, "%s{\"containerName\":\"c%d\",\"mode\":\"Off\"}", i ? "," : "", i);
		strbuf_addf(&text, "]}}}");
		assert_int_equal(read_both(strbuf_text(&text), &arena, &vpa, NULL), more ? -EINVAL : 0);
		assert_true(more || !k8s_vpa_sets_memory(&vpa, "c63"));
	}
	(void)state;
}

static void a_copy_is_the_same_and_stands_alone(void **state)
{
	static const char *const others[] = {"a", "b"}, *const changed[] = {"a", "c"};
	const struct k8s_vpa vpa = {.namespace_name = "ml",
				    .name = "v",
				    .target = 5,
				    .created_ms = 7,
				    .sets_memory = true,
				    .others = others,
				    .n_others = 2};
	struct k8s_vpa *copy = k8s_vpa_dup(&vpa), rows[] = {vpa, vpa, vpa, vpa, vpa, vpa};

	(void)state;
	assert_non_null(copy);
	assert_true(k8s_vpa_equal(copy, &vpa));
	assert_string_equal(copy->namespace_name, "ml");
	assert_string_equal(copy->name, "v");
	assert_ptr_not_equal(copy->others[1], others[1]);
	rows[0].target = 6;
	rows[1].created_ms = 8;
	rows[2].is_off = true;
	rows[3].sets_memory = false;
	rows[4].n_others = 1;
	rows[5].others = changed;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_false(k8s_vpa_equal(copy, &rows[i]));
	free(copy);
}

static void makers_are_known_by_the_names_they_give(void **state)
{
	static const struct {
		const char *kind, *name, *maker_kind, *maker; /* NULL: none */
	} rows[] = {
		{"Job", "nightly-28400000", "CronJob", "nightly"},
		{"Job", "a-b-28400000", "CronJob", "a-b"},
		{"Job", "nightly-x7k2p", NULL, NULL},
		{"Job", "nightly", NULL, NULL},
		{"Job", "nightly-", NULL, NULL},
		{"ReplicaSet", "train-5d9c7b8f6", "Deployment", "train"},
		{"ReplicaSet", "train", NULL, NULL},
		{"JobSet", "train-1", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t target = k8s_vpa_target_of_maker("ml", rows[i].kind, rows[i].name);

		test_row(rows[i].name);
		assert_true(rows[i].maker ? target == k8s_vpa_target("ml", rows[i].maker_kind, rows[i].maker)
					  : target == 0);
	}
	assert_true(k8s_vpa_target("ml", "Job", "a") != k8s_vpa_target("m", "lJob", "a"));
	assert_true(k8s_vpa_target("ml", "Job", "a") != k8s_vpa_target("ml", "CronJob", "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_which_containers),
		cmocka_unit_test(update_modes),
		cmocka_unit_test(wrong_types_count_as_absent),
		cmocka_unit_test(policies_have_a_cap),
		cmocka_unit_test(a_copy_is_the_same_and_stands_alone),
		cmocka_unit_test(makers_are_known_by_the_names_they_give),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
