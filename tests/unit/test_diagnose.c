/* SPDX-License-Identifier: Apache-2.0 */
/* From what triage finds about a pod that died to the profile of its workload. */
#include "quick_fixture.h"

/* Stands for the service, which reads pods and logs. */
struct teller {
	bool is_silent;
	const char *kind, *variable;
	int64_t time_ms;
	bool has_setting;
	int n_asked;
};

static bool begin(void *context, int64_t now_ms)
{
	(void)now_ms;
	return !((struct teller *)context)->is_silent;
}

static int tell(void *context, const struct found_run *found, struct diagnosed *ret)
{
	struct teller *self = context;

	assert_string_equal(found->identity.run_key + strlen("Job/"), found->run.name);
	self->n_asked++;
	*ret = (struct diagnosed){.diagnosis = {.cause = "growth", .confidence = "high", .evidence = "a line"},
				  .has_setting = self->has_setting};
	snprintf(ret->diagnosis.kind, sizeof(ret->diagnosis.kind), "%s", self->kind);
	snprintf(ret->diagnosis.variable, sizeof(ret->diagnosis.variable), "%s", self->variable);
	ret->diagnosis.time_ms = self->time_ms;
	return 0;
}

static int take_diagnosis(void *context, struct profile *take_profile, struct err *err)
{
	struct diagnosis *ret = context;

	(void)err;
	*ret = take_profile->diagnosis ? *take_profile->diagnosis : (struct diagnosis){.kind = ""};
	profile_free(take_profile);
	return 0;
}

static struct diagnosis diagnosis_of(const struct place *place)
{
	struct diagnosis ret = {.kind = "no profile"};
	const struct store_visitor visitor = {.context = &ret, .profile = take_diagnosis};

	assert_int_equal(store_visit(place->store, &visitor, NULL), 0);
	return ret;
}

static void connect(struct place *place, struct teller *teller)
{
	place->engine.diagnoser = (struct diagnoser){.begin = begin, .read = tell, .context = teller};
}

/* A pod of a Job that ended at this minute, 10 minutes after its start. */
static void end_pod(struct place *place, const char *job, int end_min, const char *state, const char *annotations)
{
	const struct told_pod pod = {job,
				     job,
				     job,
				     end_min - 10,
				     streq(state, "Completed") ? "Succeeded" : "Failed",
				     state,
				     end_min,
				     "64Mi",
				     .annotations = annotations,
				     .labels = ",\"memtamer.io/workload\":\"train\""};

	place->now_ms = NOW_MS + (end_min + 1) * TIME_MINUTE_MS;
	see(place, &pod);
}

static int64_t minute(int min)
{
	return NOW_MS + min * TIME_MINUTE_MS;
}

static void the_result_is_kept_until_a_run_completes(void **state)
{
	struct teller teller = {.kind = "container-limit", .variable = "", .time_ms = minute(10)};
	struct diagnosis diagnosis;
	struct place place;

	(void)state;
	setup(&place);
	connect(&place, &teller);
	end_pod(&place, "t-1", 10, "OOMKilled", NULL);
	assert_int_equal(quick(&place), 2); /* the size first, then the diagnosis */
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.kind, "container-limit");
	assert_string_equal(diagnosis.run, "t-1");
	assert_string_equal(diagnosis.evidence, "a line");
	assert_int_equal(diagnosis.time_ms, minute(10));
	assert_int_equal(quick(&place), 0); /* the same again changes nothing */

	teller.kind = "not-oom";
	teller.time_ms = minute(30);
	end_pod(&place, "t-2", 30, "Error", NULL);
	quick(&place);
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.kind, "not-oom");
	assert_string_equal(diagnosis.run, "t-2");

	/* An older result that arrives late changes nothing. */
	teller.kind = "node-oom";
	teller.time_ms = minute(5);
	quick(&place);
	assert_string_equal(diagnosis_of(&place).kind, "not-oom");

	teller.is_silent = true;
	end_pod(&place, "t-3", 60, "Completed", NULL);
	quick(&place);
	assert_string_equal(diagnosis_of(&place).kind, "");
	assert_int_equal(diagnosis_of(&place).time_ms, 0);

	/* Nor does one that arrives after a later run has completed. */
	teller.is_silent = false;
	teller.kind = "container-limit";
	teller.time_ms = minute(45);
	end_pod(&place, "t-0", 45, "Error", NULL);
	quick(&place);
	assert_string_equal(diagnosis_of(&place).kind, "");
	teardown(&place);
}

#define WITH_SETTING                                                                                                   \
	"\"memtamer.io/decision\":\"{\\\"v\\\":1,\\\"mode\\\":\\\"fill\\\",\\\"set\\\":[],"                            \
	"\\\"env\\\":\\\"PYTORCH_CUDA_ALLOC_CONF\\\"}\""

static void the_setting_is_judged_by_runs_that_had_it(void **state)
{
	struct teller teller = {.kind = "fragmentation", .variable = ALLOCATOR_VARIABLE_CUDA, .time_ms = minute(10)};
	struct diagnosis diagnosis;
	struct place place;

	(void)state;
	setup(&place);
	connect(&place, &teller);
	end_pod(&place, "t-1", 10, "Error", NULL);
	quick(&place);
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.variable, ALLOCATOR_VARIABLE_CUDA);
	assert_string_equal(diagnosis.helped, "");

	teller.is_silent = true;
	end_pod(&place, "t-2", 40, "Completed", WITH_SETTING);
	quick(&place);
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.helped, "yes");
	assert_string_equal(diagnosis.run, "t-2");
	assert_string_equal(diagnosis.variable, ALLOCATOR_VARIABLE_CUDA);

	teller.is_silent = false;
	teller.has_setting = true;
	teller.time_ms = minute(70);
	end_pod(&place, "t-3", 70, "Error", WITH_SETTING);
	quick(&place);
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.helped, "no");
	assert_string_equal(diagnosis.run, "t-3");

	teller.is_silent = true;
	end_pod(&place, "t-4", 100, "Completed", NULL);
	quick(&place);
	assert_string_equal(diagnosis_of(&place).variable, "");
	teardown(&place);
}

static void runs_that_complete_are_not_asked_about(void **state)
{
	struct teller teller = {.kind = "unknown", .variable = "", .time_ms = minute(10)};
	struct place place;

	(void)state;
	setup(&place);
	connect(&place, &teller);
	end_pod(&place, "t-1", 10, "Completed", NULL);
	quick(&place);
	assert_int_equal(teller.n_asked, 0);
	end_pod(&place, "t-2", 30, "Error", NULL);
	quick(&place);
	assert_int_equal(teller.n_asked, 1);
	teardown(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_result_is_kept_until_a_run_completes),
		cmocka_unit_test(the_setting_is_judged_by_runs_that_had_it),
		cmocka_unit_test(runs_that_complete_are_not_asked_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
