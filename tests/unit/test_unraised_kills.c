/* SPDX-License-Identifier: Apache-2.0 */
/* Which OOM kills are told with the size to submit again with. */
#include "store_file_fixture.h"
#include "watched_pods_fixture.h"

#include "base/timefmt.h"
#include "model/identity.h"
#include "service/unraised_kills.h"

#include <signal.h>

#define OF_JOB(name)                                                                                                   \
	",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"" name "\",\"uid\":\"" name    \
	"\",\"controller\":true}]"
#define QUEUED	     ",\"kueue.x-k8s.io/queue-name\":\"team\""
#define SIZE(memory) "{\"cpu\":\"1\",\"memory\":\"" memory "\"}"
#define POD(name, labels, owner, requests, limits, ended)                                                              \
	POD_OF(name, labels, owner, "\"restartPolicy\":\"Never\",", "", requests, limits, ended)
#define POD_OF(name, labels, owner, spec, container, requests, limits, ended)                                          \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"uid-" name                                \
	"\",\"resourceVersion\":\"1\",\"creationTimestamp\":\"2026-11-02T07:00:00Z\","                                 \
	"\"labels\":{\"memtamer.io/training\":\"true\"" labels "}" owner "},\"spec\":{" spec                           \
	"\"containers\":[{\"name\":\"main\",\"image\":\"i\"" container ",\"resources\":{\"requests\":" requests        \
	",\"limits\":" limits "}}]},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\","       \
	"\"state\":{\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":\"" ended "\"}}}]}}"
#define KILLED(name, labels, owner) POD(name, labels, owner, SIZE("64Mi"), SIZE("64Mi"), "2026-11-02T07:59:00Z")
#define JOB(name)                                                                                                      \
	{                                                                                                              \
		"GET /apis/batch/v1/namespaces/ml/jobs/" name " ",                                                     \
			.body = "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"" name "\"}}"     \
	}

/* A store in a file with these profiles of the trainer of Job one; limit_bytes 0: none was learned. `named`: a profile
 * that a person wrote, which names the Job and no role. */
struct profiles {
	const char *learned_name; /* NULL: as its key gives it */
	int64_t limit_bytes, pin_bytes;
	const char *named;
};

static struct store *make_store(const struct place *place, const struct profiles *of)
{
	const struct profile_ref ref = {.kind = "Job", .name = "one", .key = "Job/one"};
	const struct profile_spec spec = {
		.ref = ref, .pin_limit_bytes = of->pin_bytes, .quantile_permille = -1, .buffer_permille = -1};
	struct store *store = open_store(place, true);
	struct profile *profiles[2];
	struct store_change change = {.profiles = (const struct profile *const *)profiles};
	char id[IDENTITY_ID_BYTES];
	struct profile draft = {.namespace_name = "ml",
				.name = of->learned_name ? of->learned_name : id,
				.workload = "Job/one",
				.role = "",
				.container = "main",
				.spec = of->pin_bytes && !of->named ? &spec : &profile_spec_none,
				.parent = {.runs = 3, .request_bytes = 64 << 20, .limit_bytes = of->limit_bytes}};

	identity_id("ml", "Job/one", "", "main", id);
	if (of->limit_bytes)
		profiles[change.n_profiles++] = profile_dup(&draft);
	draft = (struct profile){
		.namespace_name = "ml", .name = of->named, .workload = "", .role = "", .container = "", .spec = &spec};
	if (of->named)
		profiles[change.n_profiles++] = profile_dup(&draft);
	assert_int_equal(store_commit(store, &change, NULL), 0);
	for (size_t i = 0; i < change.n_profiles; i++)
		profile_free(profiles[i]);
	return store;
}

/* Kills of the last ten minutes. Each test starts the pods itself. */
struct fixture {
	struct unraised_kills kills;
	struct policy policy;
	struct place place;
	struct store *store;
	struct world world;
	struct pods *pods;
	struct notice notice; /* the last one */
};

static void begin(struct fixture *self, const struct profiles *profiles, enum resize_mode resize)
{
	*self = (struct fixture){.kills = {.start_ms = 0}};
	unraised_kills_begin(&self->kills, NOW_MS - 10 * TIME_MINUTE_MS);
	policy_default(&self->policy);
	self->policy.resize = resize;
	place_init(&self->place);
	self->store = make_store(&self->place, profiles);
}

static bool next(struct fixture *self)
{
	return unraised_kills_next(&self->kills, self->pods, self->store, &self->policy, &self->notice);
}

static void end(struct fixture *self)
{
	unraised_kills_end(&self->kills);
	stop_pods(&self->world, self->pods);
	store_close(self->store);
	place_release(&self->place);
}

static const struct profiles no_profiles;

static void a_queued_guaranteed_kill_is_told_once(void **state)
{
	static const struct fake_step steps[] = {
		{PODS,
		 .body = LIST(
			 KILLED("one-a", QUEUED, OF_JOB("one")) "," KILLED("one-b", QUEUED, OF_JOB("one")) "," KILLED(
				 "unqueued", "",
				 OF_JOB("two")) "," KILLED("bare", QUEUED,
							   "") "," POD("burstable", QUEUED, OF_JOB("three"),
								       SIZE("32Mi"), SIZE("64Mi"),
								       "2026-11-02T07:59:00Z") "," POD("past", QUEUED,
												       OF_JOB("four"),
												       SIZE("64Mi"),
												       SIZE("64Mi"),
												       "2026-11-02T07:"
												       "10:00Z"))},
		{PODS, .body = "", .end = FAKE_HOLD},
		JOB("one"),
		JOB("two"),
		JOB("three"),
		JOB("four"),
		{.fits = NULL},
	};
	struct fixture f;

	(void)state;
	begin(&f, &no_profiles, RESIZE_OFF);
	f.pods = start_pods(&f.world, steps);
	assert_true(next(&f));
	assert_string_equal(f.notice.owner, "Job/one");
	assert_string_equal(f.notice.reason, "MemoryNotRaised");
	assert_string_equal(f.notice.text, "main: OOM-killed at its limit of 64Mi, which cannot be raised: "
					   "LocalQueue team counted it; submit again with 128Mi");
	assert_false(next(&f));
	unraised_kills_begin(&f.kills, f.kills.start_ms); /* the next cycle */
	assert_false(next(&f));
	unraised_kills_begin(&f.kills, NOW_MS); /* another term, after the kills */
	assert_false(next(&f));
	unraised_kills_begin(&f.kills, 0); /* before all of them */
	assert_true(next(&f));
	assert_true(next(&f));
	assert_false(next(&f));
	end(&f);
}

/* Twice the limit may be far below what the workload needs. */
static void the_larger_size_is_told(void **state)
{
	static const struct {
		const char *name;
		struct profiles profiles;
		const char *end;
	} rows[] = {
		{"no profile", {NULL, 0, 0, NULL}, "; submit again with 128Mi"},
		{"little", {NULL, (int64_t)100 << 20, 0, NULL}, "; submit again with 128Mi"},
		{"more", {NULL, 12 * GIB, 0, NULL}, "; submit again with 12Gi"},
		{"pinned", {NULL, 12 * GIB, 14 * GIB, NULL}, "; submit again with 14Gi"},
		{"a person's object", {"trainer", 12 * GIB, 14 * GIB, NULL}, "; submit again with 14Gi"},
		{"a person's object beside ours", {NULL, 12 * GIB, 14 * GIB, "trainer"}, "; submit again with 14Gi"},
		{"a person's object before a run", {NULL, 0, 14 * GIB, "trainer"}, "; submit again with 14Gi"},
	};
	static const struct fake_step steps[] = {
		{PODS, .body = LIST(KILLED("one-a", QUEUED, OF_JOB("one")))},
		{PODS, .body = "", .end = FAKE_HOLD},
		JOB("one"),
		{.fits = NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture f;

		test_row(rows[i].name);
		begin(&f, &rows[i].profiles, RESIZE_OFF);
		f.pods = start_pods(&f.world, steps);
		assert_true(next(&f));
		assert_non_null(strstr(f.notice.text, rows[i].end));
		end(&f);
	}
}

#define BURST(name, owner, spec, container)                                                                            \
	POD_OF(name, "", owner, spec, container, SIZE("32Mi"), SIZE("64Mi"), "2026-11-02T07:59:00Z")
#define RULE                                                                                                           \
	",\"restartPolicy\":\"Never\",\"restartPolicyRules\":[{\"action\":\"Restart\",\"exitCodes\":{\"operator\":"    \
	"\"In\",\"values\":[137]}}]"

/* While resizes are on, they report it themselves. */
static void a_restart_is_told_while_resizes_are_off(void **state)
{
	static const struct {
		const char *pod, *owner; /* owner NULL: not told */
		bool resizes;
	} rows[] = {
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"OnFailure\",", ""), "Job/one", false},
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"OnFailure\",", ""), NULL, true},
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"Never\",", ""), NULL, false},
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"Never\",", RULE), "Job/one", false},
		{BURST("a", OF_JOB("one"), "\"restartPolicy\":\"Never\",", RULE), NULL, true},
		{BURST("a", "", "\"restartPolicy\":\"Never\",", RULE), "Pod/a", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char list[2048];
		const struct fake_step steps[] = {
			{PODS, .body = list},
			{PODS, .body = "", .end = FAKE_HOLD},
			JOB("one"),
			{.fits = NULL},
		};
		struct fixture f;

		begin(&f, &no_profiles, rows[i].resizes ? RESIZE_ON_OOM : RESIZE_OFF);
		snprintf(list, sizeof(list), LIST("%s"), rows[i].pod);
		f.pods = start_pods(&f.world, steps);
		assert_int_equal(next(&f), rows[i].owner != NULL);
		if (rows[i].owner) {
			assert_string_equal(f.notice.owner, rows[i].owner);
			assert_string_equal(f.notice.reason, "MemoryNotRaised");
			assert_string_equal(f.notice.text,
					    "main: OOM-killed at its limit of 64Mi, with which it restarts, as "
					    "recommender.resize is off; submit again with 128Mi");
		}
		assert_false(next(&f));
		end(&f);
	}
}

/* The API server may answer late what owns a pod, also after a pass about later changes. */
static void a_kill_is_told_when_its_root_is_known(void **state)
{
	static const struct fake_step steps[] = {
		{PODS, .body = LIST(KILLED("one-a", QUEUED,
					   OF_JOB("one")) "," BURST("a", "", "\"restartPolicy\":\"OnFailure\",", ""))},
		{PODS, .body = "", .end = FAKE_HOLD},
		{"GET /apis/batch/v1/namespaces/ml/jobs/one ",
		 .body = "{\"metadata\":{\"name\":\"one\",\"namespace\":\"ml\",\"uid\":\"one\"}}",
		 .after = "GET /release"},
		{"GET /release ", .body = "{}"},
		{.fits = NULL},
	};
	struct fixture f;

	(void)state;
	begin(&f, &no_profiles, RESIZE_OFF);
	f.pods = begin_pods(&f.world, steps);
	while (!pods_is_synced(f.pods))
		poll_once(&f.world);
	assert_true(next(&f));
	assert_string_equal(f.notice.owner, "Pod/a");
	assert_false(next(&f));
	unraised_kills_end(&f.kills);
	ask_for_release(f.world.api);
	wait_for_owners(&f.world, f.pods);
	unraised_kills_begin(&f.kills, f.kills.start_ms);
	assert_true(next(&f));
	assert_string_equal(f.notice.owner, "Job/one");
	assert_false(next(&f));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queued_guaranteed_kill_is_told_once),
		cmocka_unit_test(the_larger_size_is_told),
		cmocka_unit_test(a_restart_is_told_while_resizes_are_off),
		cmocka_unit_test(a_kill_is_told_when_its_root_is_known),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
