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

static struct unraised_kills started(void)
{
	struct unraised_kills kills = {.start_ms = 0};

	unraised_kills_begin(&kills, NOW_MS - 10 * TIME_MINUTE_MS);
	return kills;
}

static struct policy policy_of(enum resize_mode resize)
{
	struct policy policy;

	policy_default(&policy);
	policy.resize = resize;
	return policy;
}

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
	const struct policy policy = policy_of(RESIZE_OFF);
	struct unraised_kills kills = started();
	struct world world;
	struct store *store;
	struct notice notice;
	struct place place;
	struct pods *pods;

	(void)state;
	place_init(&place);
	store = make_store(&place, &(struct profiles){.named = NULL});
	pods = start_pods(&world, steps);
	assert_true(unraised_kills_next(&kills, pods, store, &policy, &notice));
	assert_string_equal(notice.owner, "Job/one");
	assert_string_equal(notice.reason, "MemoryNotRaised");
	assert_string_equal(notice.text, "main: OOM-killed at its limit of 64Mi, which cannot be raised: "
					 "LocalQueue team counted it; submit again with 128Mi");
	assert_false(unraised_kills_next(&kills, pods, store, &policy, &notice));
	unraised_kills_begin(&kills, kills.start_ms); /* the next cycle */
	assert_false(unraised_kills_next(&kills, pods, store, &policy, &notice));
	unraised_kills_begin(&kills, NOW_MS); /* another term, after the kills */
	assert_false(unraised_kills_next(&kills, pods, store, &policy, &notice));
	unraised_kills_begin(&kills, 0); /* before all of them */
	assert_true(unraised_kills_next(&kills, pods, store, &policy, &notice));
	assert_true(unraised_kills_next(&kills, pods, store, &policy, &notice));
	assert_false(unraised_kills_next(&kills, pods, store, &policy, &notice));
	unraised_kills_end(&kills);
	stop_pods(&world, pods);
	store_close(store);
	place_release(&place);
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
	const struct policy policy = policy_of(RESIZE_OFF);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct unraised_kills kills = started();
		struct world world;
		struct store *store;
		struct notice notice;
		struct place place;
		struct pods *pods;

		test_row(rows[i].name);
		place_init(&place);
		store = make_store(&place, &rows[i].profiles);
		pods = start_pods(&world, steps);
		assert_true(unraised_kills_next(&kills, pods, store, &policy, &notice));
		assert_non_null(strstr(notice.text, rows[i].end));
		unraised_kills_end(&kills);
		stop_pods(&world, pods);
		store_close(store);
		place_release(&place);
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
		const struct policy policy = policy_of(rows[i].resizes ? RESIZE_ON_OOM : RESIZE_OFF);
		struct unraised_kills kills = started();
		struct world world;
		struct store *store;
		struct notice notice;
		struct place place;
		struct pods *pods;

		place_init(&place);
		store = make_store(&place, &(struct profiles){.named = NULL});
		snprintf(list, sizeof(list), LIST("%s"), rows[i].pod);
		pods = start_pods(&world, steps);
		assert_int_equal(unraised_kills_next(&kills, pods, store, &policy, &notice), rows[i].owner != NULL);
		if (rows[i].owner) {
			assert_string_equal(notice.owner, rows[i].owner);
			assert_string_equal(notice.reason, "MemoryNotRaised");
			assert_string_equal(notice.text,
					    "main: OOM-killed at its limit of 64Mi, with which it restarts, as "
					    "recommender.resize is off; submit again with 128Mi");
		}
		assert_false(unraised_kills_next(&kills, pods, store, &policy, &notice));
		unraised_kills_end(&kills);
		stop_pods(&world, pods);
		store_close(store);
		place_release(&place);
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
	const struct policy policy = policy_of(RESIZE_OFF);
	struct unraised_kills kills = started();
	struct world world;
	struct store *store;
	struct notice notice;
	struct place place;
	struct pods *pods;

	(void)state;
	place_init(&place);
	store = make_store(&place, &(struct profiles){.named = NULL});
	pods = begin_pods(&world, steps);
	while (!pods_is_synced(pods))
		poll_once(&world);
	assert_true(unraised_kills_next(&kills, pods, store, &policy, &notice));
	assert_string_equal(notice.owner, "Pod/a");
	assert_false(unraised_kills_next(&kills, pods, store, &policy, &notice));
	unraised_kills_end(&kills);
	ask_for_release(world.api);
	wait_for_owners(&world, pods);
	unraised_kills_begin(&kills, kills.start_ms);
	assert_true(unraised_kills_next(&kills, pods, store, &policy, &notice));
	assert_string_equal(notice.owner, "Job/one");
	assert_false(unraised_kills_next(&kills, pods, store, &policy, &notice));
	unraised_kills_end(&kills);
	stop_pods(&world, pods);
	store_close(store);
	place_release(&place);
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
