/* SPDX-License-Identifier: Apache-2.0 */
/* A warning is short, and its end, which has the reason, is never cut. */
#include "base/limits.h"
#include "policy/render/render_internal.h"
#include "support/test.h"

#define NAME_36	  "team-a-research-compute-memory-quota"
#define NAME_40	  "team-a-resear...research-compute-limits9"
#define LONG_NAME "a-container-with-a-very-long-name-of-sixty-three-characters-0001"
#define NAME_75	  "the-limit-range-of-research-and-development-of-the-vision-team-in-frankfurt"
#define NAME_63	  "a-device-with-a-very-long-name-of-sixty-three-characters-000001"
#define ZEROS_70  "0000000000000000000000000000000000000000000000000000000000000000000000"
#define LIMIT	  "memory limit 98303Mi, peak 98765Mi; "
#define BARE	  "annotation 'memtamer.io/mode: enforce' sets 98303Mi "
#define REQUEST	  "memory request 98303Mi, median 98765Mi; "

static const struct {
	const char *container, *role, *text, *end;
} rows[] = {
	{"trainer", "", LIMIT "set to 80Gi (LimitRange " NAME_36 ": max 80Gi)", ": max 80Gi)"},
	{"trainer", "", LIMIT "set to 78080Mi (LimitRange mem: ratio 1.25), re-apply fails",
	 "(LimitRange mem: ratio 1.25), re-apply fails"},
	{"trainer", "", LIMIT "set to 98303Mi (quota " NAME_40 ": 98303Mi left), re-apply fails",
	 ": 98303Mi left), re-apply fails"},
	{LONG_NAME, "", LIMIT "mode enforce would set 98303Mi (LimitRange " NAME_40 ": max 98303Mi)", ": max 98303Mi)"},
	{"pytorch", "master", REQUEST "set to 44Gi (quota compute: 20Gi more for 5 pods)",
	 "(quota compute: 20Gi more for 5 pods)"},
	{LONG_NAME, "a-long-role-of-a-job", REQUEST "set to 44000Mi (quota " NAME_40 ": 98303Mi more for 1024 pods)",
	 ": 98303Mi more for 1024 pods)"},
	{LONG_NAME, "a-long-role-of-a-job",
	 "no ephemeral-storage request; not set (ClusterQueue " NAME_40 " has no ephemeral-storage)",
	 " has no ephemeral-storage)"},
	{LONG_NAME, "a-long-role-of-a-job",
	 "no ephemeral-storage request; not set (quota " NAME_40 ": all containers need ephemeral-storage requests)",
	 ": all containers need ephemeral-storage requests)"},
	{"trainer", "", LIMIT BARE "(LimitRange " NAME_75 ": max 98303Mi)", ": max 98303Mi)"},
	{LONG_NAME, "", REQUEST BARE "(25 % below last run's 98303Mi)", " (25 % below last run's 98303Mi)"},
	{LONG_NAME, "", LIMIT "98303Mi suggested (a queue counts it, LimitRange " NAME_75 ": max 98303Mi)",
	 ": max 98303Mi)"},
	{"trainer", "", "no memory limit; set to 98303Mi (90 % of the share of 2 of 8 " NAME_63 ")", "000001)"},
	{"trainer", "", "memory limit " ZEROS_70 "64Gi is below peak 98765Mi; set to 98303Mi (peak + 12 %)",
	 "(peak + 12 %)"},
	{"trainer", "", "memory is left to VerticalPodAutoscaler " NAME_75 "-0001", "frankfurt-0001"},
	{NULL, "",
	 "critical pod (label memtamer.io/critical) is Burstable, not Guaranteed; quota " NAME_40
	 ": all containers need ephemeral-storage requests",
	 ": all containers need ephemeral-storage requests"},
};

static void test_reasons_stay(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
		const struct k8s_container container = {.name = rows[i].container};
		const struct finding finding = {.container = rows[i].container ? &container : NULL,
						.text = rows[i].text};
		struct render_roles roles;
		const char *line;

		test_row(rows[i].text);
		assert_int_equal(render_roles(&rows[i].role, *rows[i].role != '\0', &arena, &roles), 0);
		line = render_line(&roles, &finding, &arena);
		assert_non_null(line);
		assert_in_range(strlen(line), 1, LIMIT_WARNING_CHARS);
		assert_true(strlen(line) > strlen(rows[i].end));
		assert_string_equal(line + strlen(line) - strlen(rows[i].end), rows[i].end);
	}
}

static void test_what_is_cut_first(void **state)
{
	static const struct {
		const char *text, *line;
	} cuts[] = {
		/* 120 characters */
		{"memory limit 64Gi, peak 87654Mi; set to 80Gi (LimitRange team-a-compute-limits: max 80Gi), re-apply",
		 "memtamer: \"trainer\": memory limit 64Gi, peak 87654Mi; set to 80Gi (LimitRange "
		 "team-a-compute-limits: max "
		 "80Gi), re-apply"},
		{"memory limit 64Gi, peak 87654Mi; set to 80Gi (LimitRange team-a-compute-limits-of-gpus: max 80Gi), "
		 "re-apply",
		 "memtamer: \"trainer\": memory limit 64Gi, peak 87654Mi; set to 80Gi (LimitRange "
		 "team-a-co...s-of-gpus: max "
		 "80Gi), re-apply"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(64 * KIB);
		const struct k8s_container container = {.name = "trainer"};
		const struct finding finding = {.container = &container, .text = cuts[i].text};
		const struct render_roles roles = {"", ""};

		assert_string_equal(render_line(&roles, &finding, &arena), cuts[i].line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reasons_stay),
		cmocka_unit_test(test_what_is_cut_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
