/* SPDX-License-Identifier: Apache-2.0 */
/* From what triage finds about a pod that died to the profile of its workload. */
#include "quick_fixture.h"

#include <sys/stat.h>

/* Stands for the service, which reads pods and logs. */
struct teller {
	struct place *place;
	bool is_silent;
	const char *kind, *variable;
	int64_t time_ms;
	bool has_setting, is_again;
	int n_sought, n_asked, n_stored;
};

/* The run of the pod that was seen last. */
static int next(void *context, int64_t now_ms, struct evidence_batch *batch)
{
	struct teller *self = context;
	size_t n = self->place->sightings.n;

	self->n_sought++;
	return self->is_silent ? 1 : sighting_tell(self->place->sightings.items[n - 1], now_ms, batch);
}

static int tell(void *context, struct diagnosed *ret)
{
	struct teller *self = context;

	self->n_asked++;
	*ret = (struct diagnosed){.diagnosis = {.cause = "growth", .confidence = "high", .evidence = "a line"},
				  .has_setting = self->has_setting,
				  .is_again = self->is_again};
	snprintf(ret->diagnosis.kind, sizeof(ret->diagnosis.kind), "%s", self->kind);
	snprintf(ret->diagnosis.variable, sizeof(ret->diagnosis.variable), "%s", self->variable);
	ret->diagnosis.time_ms = self->time_ms;
	return 0;
}

static void count_stored(void *context)
{
	((struct teller *)context)->n_stored++;
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
	teller->place = place;
	place->engine.diagnoser = (struct diagnoser){
		.next = next, .read = tell, .stored = count_stored, .context = teller};
}

static int diagnose(struct place *place, size_t *ret_n_changed)
{
	struct engine_result result;
	int r = engine_diagnose(&place->engine, place->now_ms, &result, NULL);

	if (ret_n_changed)
		*ret_n_changed = result.n_profiles_changed;
	return r;
}

/* A quick cycle, and what comes after it. @return changed profiles. */
static size_t quick_and_diagnose(struct place *place)
{
	size_t n = quick(place), n_diagnosed;

	assert_true(diagnose(place, &n_diagnosed) >= 0);
	return n + n_diagnosed;
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
	assert_int_equal(quick_and_diagnose(&place), 2); /* the size first, then the diagnosis */
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.kind, "container-limit");
	assert_string_equal(diagnosis.run, "t-1");
	assert_string_equal(diagnosis.evidence, "a line");
	assert_int_equal(diagnosis.time_ms, minute(10));
	assert_int_equal(quick_and_diagnose(&place), 0); /* the same again changes nothing */

	teller.kind = "not-oom";
	teller.time_ms = minute(30);
	end_pod(&place, "t-2", 30, "Error", NULL);
	quick_and_diagnose(&place);
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.kind, "not-oom");
	assert_string_equal(diagnosis.run, "t-2");

	/* An older result that arrives late changes nothing. */
	teller.kind = "node-oom";
	teller.time_ms = minute(5);
	quick_and_diagnose(&place);
	assert_string_equal(diagnosis_of(&place).kind, "not-oom");

	teller.is_silent = true;
	end_pod(&place, "t-3", 60, "Completed", NULL);
	quick_and_diagnose(&place);
	assert_string_equal(diagnosis_of(&place).kind, "");
	assert_int_equal(diagnosis_of(&place).time_ms, 0);

	/* Nor does one that arrives after a later run has completed. */
	teller.is_silent = false;
	teller.kind = "container-limit";
	teller.time_ms = minute(45);
	end_pod(&place, "t-0", 45, "Error", NULL);
	quick_and_diagnose(&place);
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
	quick_and_diagnose(&place);
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.variable, ALLOCATOR_VARIABLE_CUDA);
	assert_string_equal(diagnosis.helped, "");

	teller.is_silent = true;
	end_pod(&place, "t-2", 40, "Completed", WITH_SETTING);
	quick_and_diagnose(&place);
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.helped, "yes");
	assert_string_equal(diagnosis.run, "t-2");
	assert_string_equal(diagnosis.variable, ALLOCATOR_VARIABLE_CUDA);

	teller.is_silent = false;
	teller.has_setting = true;
	teller.time_ms = minute(70);
	end_pod(&place, "t-3", 70, "Error", WITH_SETTING);
	quick_and_diagnose(&place);
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.helped, "no");
	assert_string_equal(diagnosis.run, "t-3");

	teller.is_silent = true;
	end_pod(&place, "t-4", 100, "Completed", NULL);
	quick_and_diagnose(&place);
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
	quick_and_diagnose(&place);
	assert_int_equal(teller.n_asked, 0);
	end_pod(&place, "t-2", 30, "Error", NULL);
	quick_and_diagnose(&place);
	assert_int_equal(teller.n_asked, 1);
	teardown(&place);
}

/* Reading pods takes time, for which neither sizes nor resizes wait. */
static void cycles_read_no_pods(void **state)
{
	struct teller teller = {.kind = "unknown", .variable = "", .time_ms = minute(10)};
	struct place place;

	(void)state;
	setup(&place);
	connect(&place, &teller);
	end_pod(&place, "t-1", 10, "Error", NULL);
	quick(&place);
	whole(&place, NULL, 0);
	assert_int_equal(teller.n_sought, 0);
	assert_int_equal(diagnose(&place, NULL), 0);
	assert_int_equal(teller.n_sought, 1);
	assert_int_equal(teller.n_stored, 1);
	assert_string_equal(diagnosis_of(&place).kind, "unknown");
	teller.is_silent = true;
	assert_int_equal(diagnose(&place, NULL), 1);
	teardown(&place);
}

static void what_is_not_in_the_store_is_not_marked_as_stored(void **state)
{
	struct teller teller = {.kind = "container-limit", .variable = "", .time_ms = minute(10)};
	struct place place;
	char path[128];

	(void)state;
	setup(&place);
	connect(&place, &teller);
	end_pod(&place, "t-1", 10, "OOMKilled", NULL);
	assert_int_equal(diagnose(&place, NULL), 1); /* no cycle has written the workload */
	assert_int_equal(teller.n_stored, 0);
	quick(&place);
	snprintf(path, sizeof(path), "%s.tmp", place.path); /* where the store writes a file first */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(diagnose(&place, NULL) < 0);
	assert_int_equal(teller.n_stored, 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(diagnose(&place, NULL), 0);
	assert_int_equal(teller.n_stored, 1);
	assert_string_equal(diagnosis_of(&place).kind, "container-limit");
	teardown(&place);
}

/* After a restart the same death is read again, perhaps when its log is gone. */
static void only_a_better_result_replaces_one_of_the_same_death(void **state)
{
	struct teller teller = {.kind = "not-oom", .variable = "", .time_ms = minute(10)};
	struct diagnosis diagnosis;
	struct place place;

	(void)state;
	setup(&place);
	connect(&place, &teller);
	end_pod(&place, "t-1", 10, "Error", NULL);
	quick_and_diagnose(&place);
	teller.kind = "fragmentation";
	teller.variable = ALLOCATOR_VARIABLE_CUDA;
	quick_and_diagnose(&place);
	assert_string_equal(diagnosis_of(&place).kind, "not-oom");
	teller.is_again = true;
	quick_and_diagnose(&place);
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.kind, "fragmentation");
	assert_string_equal(diagnosis.variable, ALLOCATOR_VARIABLE_CUDA);
	teller.kind = "node-oom";
	teller.time_ms = minute(9); /* of an earlier death */
	quick_and_diagnose(&place);
	assert_string_equal(diagnosis_of(&place).kind, "fragmentation");
	teardown(&place);
}

/* The status shows exit code 1 and no more; a later cycle reads the counter of kills. */
static void a_kill_that_only_prometheus_shows_is_added(void **state)
{
	enum { TODAY = 30 * 24 * 60 };
	static const struct fake_pod counted[] = {
		{"t-1", "t-1", "Job", "t-1", .start_min = TODAY, .end_min = TODAY + 10, .ends = END_FAILED,
		 .container_ends = END_ERROR | END_OOM_EVENTS, .limit_mib = 64, .usual_mib = 40, .peak_mib = 60,
		 .rss_mib = 60, .peak_after_min = 5},
	};
	struct teller teller = {.kind = "unknown", .variable = "", .time_ms = minute(10)};
	struct diagnosis diagnosis;
	struct place place;

	(void)state;
	setup(&place);
	connect(&place, &teller);
	end_pod(&place, "t-1", 10, "Error", NULL);
	quick_and_diagnose(&place);
	assert_string_equal(diagnosis_of(&place).kind, "unknown");
	whole(&place, counted, ARRAY_LEN(counted));
	diagnosis = diagnosis_of(&place);
	assert_string_equal(diagnosis.kind, "container-limit");
	assert_string_equal(diagnosis.cause, "child-killed");
	assert_string_equal(diagnosis.confidence, "low");
	assert_string_equal(diagnosis.evidence,
			    "container_oom_events_total rose; used at most 60Mi of the limit of 64Mi");
	assert_int_equal(diagnosis.time_ms, minute(10));
	assert_int_equal(whole(&place, counted, ARRAY_LEN(counted)), 0);
	teardown(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_result_is_kept_until_a_run_completes),
		cmocka_unit_test(the_setting_is_judged_by_runs_that_had_it),
		cmocka_unit_test(runs_that_complete_are_not_asked_about),
		cmocka_unit_test(cycles_read_no_pods),
		cmocka_unit_test(what_is_not_in_the_store_is_not_marked_as_stored),
		cmocka_unit_test(only_a_better_result_replaces_one_of_the_same_death),
		cmocka_unit_test(a_kill_that_only_prometheus_shows_is_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
