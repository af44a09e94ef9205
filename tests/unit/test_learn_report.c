/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of profiles: what they say, since when, and of which generation. */
#include "learn_fixture.h"

#include "base/str.h"
#include "engine/caps.h"

/* ---- one profile ---- */

struct row {
	const char *name;
	struct profile_spec spec;
	const char *workload;
	struct recommendation parent;
	bool is_of_namespace, is_capped_by_harm;
	const char *want; /* "Ready=False/NoRunsYet(message) ..." */
};

#define SPEC(...) .spec = {.quantile_permille = -1, .buffer_permille = -1, __VA_ARGS__}
#define KNOWN(confidence_, runs_, whole_)                                                                              \
	.workload = "Job/a",                                                                                           \
	.parent = {.confidence = (confidence_), .limit_bytes = MI, .runs = (runs_), .whole_runs = (whole_)}
#define REF .ref = {"Job", "a", "", "", "Job/a", NULL, 0}

static const struct row rows[] = {
	{"learned", SPEC(), KNOWN(CONFIDENCE_MEDIUM, 4, 3), .want = "Ready=True/Learned()"},
	{"too few", SPEC(), KNOWN(CONFIDENCE_LOW, 2, 1), .want = "Ready=False/NotEnoughRuns(1 of 3 complete runs)"},
	{"none yet", SPEC(REF), .want = "Ready=False/NoRunsYet()"},
	{"about nothing", SPEC(.pin_limit_bytes = 5 * MI),
	 .want = "Ready=False/NoWorkload(spec.workloadRef would say which workload) Pinned=True/Person(limit 5Mi)"},
	{"pinned", SPEC(.pin_request_bytes = 2 * MI, .pin_limit_bytes = 5 * MI), KNOWN(CONFIDENCE_HIGH, 9, 9),
	 .want = "Ready=True/Learned() Pinned=True/Person(request 2Mi, limit 5Mi)"},
	{"request pinned", SPEC(.pin_request_bytes = 2 * MI), KNOWN(CONFIDENCE_HIGH, 9, 9),
	 .want = "Ready=True/Learned() Pinned=True/Person(request 2Mi)"},
	{"capped", SPEC(.mode_cap = "fill"), KNOWN(CONFIDENCE_HIGH, 9, 9),
	 .want = "Ready=True/Learned() Capped=True/Person(the mode is at most fill)"},
	{"invalid", SPEC(.invalid = "spec.pinLimit: less than 1Mi: \"400m\"", .mode_cap = "observe"),
	 KNOWN(CONFIDENCE_HIGH, 9, 9),
	 .want = "Ready=False/InvalidSpec(spec.pinLimit: less than 1Mi: \"400m\") "
		 "Capped=True/InvalidSpec(the mode is at most observe)"},
	{"a namespace, by a person", SPEC(.mode_cap = "off"), .is_of_namespace = true,
	 .want = "Capped=True/Person(the mode is at most off in this namespace)"},
	{"a namespace, for harm", SPEC(.mode_cap = "observe"), .is_of_namespace = true, .is_capped_by_harm = true,
	 .want = "Capped=True/Harm(the mode is at most observe in this namespace)"},
	{"a namespace, for harm, and a person changed it", SPEC(.mode_cap = "off"), .is_of_namespace = true,
	 .is_capped_by_harm = true, .want = "Capped=True/Person(the mode is at most off in this namespace)"},
	{"a namespace, not capped", SPEC(), .is_of_namespace = true, .want = ""},
};

static void render(const struct profile_report *report, char *ret, size_t size)
{
	*ret = '\0';
	for (size_t i = 0; report && i < PROFILE_CONDITIONS; i++) {
		const struct profile_condition *condition = &report->conditions[i];
		size_t n = strlen(ret);

		if (condition->type)
			snprintf(ret + n, size - n, "%s%s=%s/%s(%s)", n ? " " : "", condition->type, condition->status,
				 condition->reason, condition->message);
	}
}

static void each_condition_has_its_reason(void **state)
{
	struct config *config = config_new_default();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct namespace_caps caps = {.items = VEC_INIT};
		const struct namespace_cap cap = {.namespace_name = "ml", .is_set = true};
		const struct learn learn = {.config = config, .now_ms = NOW_MS, .caps = &caps};
		const struct profile profile = {.namespace_name = "ml",
						.name = row->is_of_namespace ? PROFILE_OF_NAMESPACE : "a",
						.workload = row->workload ? row->workload : "",
						.role = "",
						.container = "main",
						.spec = &row->spec,
						.parent = row->parent};
		struct learn_report report;
		char text[512];

		test_row(row->name);
		assert_int_equal(row->is_capped_by_harm ? vec_push(&caps.items, cap) : 0, 0);
		learn_report(&learn, &profile, &profile, &report);
		render(&report.report, text, sizeof(text));
		assert_string_equal(text, row->want);
		for (size_t k = 0; k < PROFILE_CONDITIONS; k++)
			assert_true(strlen(report.messages[k]) <= LIMIT_CONDITION_BYTES);
		caps_release(&caps);
	}
	config_free(config);
}

static void the_time_of_a_condition_is_that_of_its_status(void **state)
{
	struct config *config = config_new_default();
	struct learn learn = {.config = config, .now_ms = NOW_MS + 123};
	struct profile_report known = {.generation = 7, .observed = 6};
	struct profile_spec spec = profile_spec_none;
	struct profile profile = {.namespace_name = "ml",
				  .name = "a",
				  .workload = "Job/a",
				  .role = "",
				  .container = "main",
				  .spec = &spec,
				  .report = &known,
				  .parent = {.runs = 1}};
	struct learn_report first, second;

	(void)state;
	learn_report(&learn, &profile, &profile, &first);
	assert_int_equal(first.report.observed, 7);
	assert_int_equal(first.report.conditions[PROFILE_READY].since_ms, NOW_MS);
	assert_int_equal(first.report.conditions[PROFILE_READY].observed, 7);
	/* another reason, a day later */
	known = first.report;
	profile.parent.runs = 0;
	learn.now_ms += TIME_DAY_MS;
	learn_report(&learn, &profile, &profile, &second);
	assert_string_equal(second.report.conditions[PROFILE_READY].reason, PROFILE_NO_RUNS_YET);
	assert_int_equal(second.report.conditions[PROFILE_READY].since_ms, NOW_MS);
	/* another status */
	known = second.report;
	profile.parent = (struct recommendation){.confidence = CONFIDENCE_HIGH, .limit_bytes = MI, .runs = 9};
	learn_report(&learn, &profile, &profile, &first);
	assert_int_equal(first.report.conditions[PROFILE_READY].since_ms, NOW_MS + TIME_DAY_MS);
	/* what is made new is of the first generation, where there is an API server */
	learn_report(&learn, &profile, NULL, &first);
	assert_int_equal(first.report.observed, 0);
	config->store.kind = STORE_KUBE;
	learn_report(&learn, &profile, NULL, &first);
	assert_int_equal(first.report.observed, 1);
	config_free(config);
}

/* ---- a store ---- */

static void write_profile(struct place *place, const char *name, const char *key, const char *role, int64_t created_ms,
			  int64_t pin_bytes)
{
	struct profile_spec spec = profile_spec_none;
	struct profile draft = {
		.namespace_name = "ml", .name = name, .workload = "", .role = "", .container = "", .spec = &spec};
	const struct profile *drafts[] = {&draft};
	const struct store_change change = {.profiles = drafts, .n_profiles = 1};
	const char *slash = strchr(key, '/');

	spec.pin_limit_bytes = pin_bytes;
	spec.ref = (struct profile_ref){
		slash ? "Job" : "workload", slash ? slash + 1 : strchr(key, ':') + 1, role, "", key, NULL, created_ms};
	assert_int_equal(store_commit(place->store, &change, NULL), 0);
}

static int add_conditions(void *context, struct profile *take_profile, struct err *err)
{
	char *text = context;
	size_t n = strlen(text);
	char conditions[300];

	(void)err;
	render(take_profile->report, conditions, sizeof(conditions));
	snprintf(text + n, 1024 - n, "%s: %s\n", take_profile->name, conditions);
	profile_free(take_profile);
	return 0;
}

static void check(struct place *place, const char *want)
{
	char text[1024] = "";
	const struct store_visitor visitor = {.context = text, .profile = add_conditions};

	assert_int_equal(store_visit(place->store, &visitor, NULL), 0);
	assert_string_equal(text, want);
}

static void cycle(struct place *place, const struct found_run *runs, size_t n)
{
	struct learn learn;

	learn_from(place, runs, n, &learn);
	learn_release(&learn);
}

static void of_two_that_name_a_workload_the_loser_says_so(void **state)
{
	struct place place;

	(void)state;
	setup(&place);
	write_profile(&place, "b", "Job/train", "", 0, 9 * MI);
	cycle(&place, NULL, 0);
	check(&place, "b: Ready=False/NoRunsYet() Pinned=True/Person(limit 9Mi)\n");
	/* in a file ages are not known */
	write_profile(&place, "a", "Job/train", "", 0, 8 * MI);
	cycle(&place, NULL, 0);
	check(&place, "a: Ready=False/NoRunsYet() Pinned=True/Person(limit 8Mi)\n"
		      "b: Ready=False/Conflict(decided by profile a)\n");
	teardown(&place);
}

static void a_workload_may_be_named_by_two_of_its_keys(void **state)
{
	struct found_run run;
	struct place place;

	(void)state;
	setup(&place);
	write_profile(&place, "by-label", "workload:nlp", "", 0, 9 * MI);
	write_profile(&place, "by-job", "Job/train", "", 0, 8 * MI);
	make_run(&run, "ml", "train", 1, 0);
	run.identity.keys[1] = run.identity.keys[0];
	snprintf(run.identity.keys[0].text, sizeof(run.identity.keys[0].text), "workload:nlp");
	run.identity.n_keys = 2;
	cycle(&place, &run, 1);
	cycle(&place, NULL, 0);
	check(&place, "by-job: Ready=False/Conflict(decided by profile by-label)\n"
		      "by-label: Ready=False/NotEnoughRuns(1 of 3 complete runs) Pinned=True/Person(limit 9Mi)\n");
	teardown(&place);
}

static void what_decides_about_several_roles_says_where_they_are_learned(void **state)
{
	char id[IDENTITY_ID_BYTES], want[256];
	struct found_run runs[3];
	struct place place;

	(void)state;
	setup(&place);
	write_profile(&place, "all", "Job/train", "", 0, 9 * MI);
	for (int i = 0; i < 3; i++) {
		make_run(&runs[i], "ml", "train", i, 0);
		snprintf(runs[i].identity.role, sizeof(runs[i].identity.role), "worker");
	}
	cycle(&place, runs, 3);
	cycle(&place, NULL, 0);
	identity_id("ml", "Job/train", "worker", "main", id);
	snprintf(want, sizeof(want),
		 "all: Ready=True/Learned(learned in %s) Pinned=True/Person(limit 9Mi)\n%s: Ready=True/Learned()\n", id,
		 id);
	check(&place, want);
	teardown(&place);
}

static void what_rests_is_not_written(void **state)
{
	struct found_run run;
	struct learn learn;
	struct place place;

	(void)state;
	setup(&place);
	write_profile(&place, "b", "Job/train", "", 0, 9 * MI);
	make_run(&run, "ml", "train", 1, 0);
	cycle(&place, &run, 1);
	learn_from(&place, &run, 1, &learn);
	assert_int_equal(learn.n_profiles_changed, 0);
	learn_release(&learn);
	teardown(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_condition_has_its_reason),
		cmocka_unit_test(the_time_of_a_condition_is_that_of_its_status),
		cmocka_unit_test(of_two_that_name_a_workload_the_loser_says_so),
		cmocka_unit_test(a_workload_may_be_named_by_two_of_its_keys),
		cmocka_unit_test(what_decides_about_several_roles_says_where_they_are_learned),
		cmocka_unit_test(what_rests_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
