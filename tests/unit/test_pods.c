/* SPDX-License-Identifier: Apache-2.0 */
/* The table of watched pods, against an API server that plays steps: what is kept, what is told when, who owns an
 * owner, and what is forgotten. */
#include "support/test.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "fake_api.h"
#include "kube/kube_server.h"
#include "pods/pods.h"
#include "runs/fold.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define PODS		 "GET /api/v1/pods?fieldSelector=metadata.namespace%21%3Dkube-system"
#define LIST(items)	 "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" items "]}"
#define EVENT(type, pod) "{\"type\":\"" type "\",\"object\":" pod "}\n"
#define OWNED(kind, version, name, uid)                                                                                \
	",\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"name\":\"" name                 \
	"\",\"uid\":\"" uid "\",\"controller\":true}]"
#define POD_IN(namespace, name, uid, rv, more, status)                                                                 \
	"{\"metadata\":{\"name\":\"" name                                                                              \
	"\",\"namespace\":\"" namespace "\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv                             \
					"\",\"creationTimestamp\":\"2026-11-02T07:00:00Z\",\"labels\":{\"memtamer.io/" \
					"training\":\"true\"}" more "},"                                               \
					"\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"i\",\"resources\":{" \
					"\"limits\":{\"memory\":\"64Mi\"}}}]},"                                        \
					"\"status\":{\"startTime\":\"2026-11-02T07:01:00Z\"," status "}}"
#define POD(name, uid, rv, more, status) POD_IN("ml", name, uid, rv, more, status)
#define RUNS				 "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{}}}]"
#define KILLED                                                                                                         \
	"\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":{\"reason\":"        \
	"\"OOMKilled\","                                                                                               \
	"\"exitCode\":137,\"finishedAt\":\"2026-11-02T07:30:00Z\"}}}]"
#define NOW_MS ((int64_t)1793606400000) /* 2026-11-02T08:00:00Z */

static int64_t now_ms(void)
{
	return NOW_MS;
}

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
	struct pods *pods;
	int n_changed, n_failed;
	char why[256];
	bool ignores_still; /* namespace "still" is ignored */
};

static void on_changed(void *context)
{
	((struct world *)context)->n_changed++;
}

static void on_failed(void *context, const struct err *why)
{
	struct world *world = context;

	world->n_failed++;
	snprintf(world->why, sizeof(world->why), "%s", why->msg);
}

static bool is_ignored(void *context, const char *namespace_name)
{
	return ((struct world *)context)->ignores_still && streq(namespace_name, "still");
}

static void setup(struct world *world, const struct fake_step *steps)
{
	static const char *const excluded[] = {"quiet", NULL};
	struct pods_config config = {.own_namespace = "memtamer",
				     .excluded_namespaces = excluded,
				     .is_ignored = is_ignored,
				     .changed = on_changed,
				     .failed = on_failed,
				     .context = world};

	*world = (struct world){.api = fake_api_start(steps)};
	world->server.url = fake_api_url(world->api);
	assert_int_equal(
		kube_client_new(&world->server, &(struct kube_client_config){.now_ms = now_ms}, &world->client, NULL),
		0);
	assert_int_equal(pods_new(&config, &world->pods, NULL), 0);
	assert_int_equal(pods_watch(world->pods, world->client, NULL), 0);
}

static void teardown(struct world *world)
{
	assert_int_equal(fake_api_unexpected(world->api), 0);
	pods_unwatch(world->pods);
	pods_free(world->pods);
	kube_client_free(world->client);
	fake_api_free(world->api);
}

static void poll_once(struct world *world)
{
	assert_int_equal(kube_client_poll(world->client, NULL, 0, 100, NULL), 0);
	assert_int_equal(fake_api_unexpected(world->api), 0); /* else it would be waited for in vain */
}

static size_t count_of(struct world *world, size_t *ret_gone)
{
	struct pods_figures figures;

	pods_figures(world->pods, &figures);
	if (ret_gone)
		*ret_gone = figures.gone;
	return figures.watched;
}

/* @return how many pods are told; <0: none yet. */
static int tell(struct world *world, int64_t since_seq, int64_t *ret_seq, struct evidence_batch *batch)
{
	const struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};
	int r;

	evidence_batch_init(batch, &window);
	r = pods_batch(world->pods, NOW_MS, since_seq, batch, ret_seq);
	return r ? -r : (int)batch->pods.n;
}

static int count_told(struct world *world, int64_t since_seq, int64_t *ret_seq)
{
	struct evidence_batch batch;
	int n = tell(world, since_seq, ret_seq, &batch);

	evidence_batch_release(&batch);
	return n;
}

/* The same for a window that begins then. */
static int count_in(struct world *world, int64_t since_seq, int64_t start_ms)
{
	const struct evidence_window window = {
		.start_ms = start_ms, .end_ms = start_ms + TIME_HOUR_MS, .is_open = true};
	struct evidence_batch batch;
	int n;

	evidence_batch_init(&batch, &window);
	assert_int_equal(pods_batch(world->pods, NOW_MS, since_seq, &batch, NULL), 0);
	n = (int)batch.pods.n;
	evidence_batch_release(&batch);
	return n;
}

static void what_is_left_out_is_not_kept(void **state)
{
	static const struct fake_step steps[] = {
		{PODS "&watch=", .body = "", .end = FAKE_HOLD},
		{PODS,
		 .body = LIST(POD("a", "u1", "1", "", RUNS) "," POD_IN("memtamer", "b", "u2", "2", "", RUNS) "," POD_IN(
			 "quiet", "c", "u3", "3", "",
			 RUNS) ","
			       "{\"metadata\":{\"name\":\"web\",\"namespace\":\"ml\",\"uid\":\"u4\","
			       "\"resourceVersion\":\"4\"},"
			       "\"spec\":{\"containers\":[{\"name\":\"c\"}]}},"
			       "{\"metadata\":{\"name\":\"odd\",\"namespace\":"
			       "\"ml\",\"uid\":\"u5\",\"resourceVersion\":\"5\"},\"spec\":7}")},
		{.fits = NULL},
	};
	struct world world;

	(void)state;
	setup(&world, steps);
	assert_int_equal(count_told(&world, 0, NULL), -1);
	while (!pods_is_synced(world.pods))
		poll_once(&world);
	assert_int_equal(count_of(&world, NULL), 1);
	assert_int_equal(world.n_failed, 1);  /* the odd one */
	assert_int_equal(world.n_changed, 1); /* all at once, when they are listed */
	assert_int_equal(count_told(&world, 0, NULL), 1);
	teardown(&world);
}

static void set_ignored(struct world *world, bool is_ignored_now)
{
	world->ignores_still = is_ignored_now;
	pods_set_ignored(world->pods, "still", is_ignored_now);
}

static bool count_visit(void *context, const struct sighting *sighting)
{
	(void)sighting;
	++*(int *)context;
	return true;
}

static int count_visits(struct world *world)
{
	int n = 0;

	pods_visit(world->pods, count_visit, &n);
	return n;
}

/* Pods of an ignored namespace are not told, visited or counted, and their owners are not read, until the label is
 * removed. */
static void an_ignored_namespace_is_left_alone(void **state)
{
	static const char owner[] = "GET /apis/batch/v1/namespaces/still/jobs/j ";
	static const struct fake_step steps[] = {
		{PODS "&watch=",
		 .body = EVENT("DELETED", POD_IN("still", "c", "u3", "11", "", RUNS)) EVENT(
			 "MODIFIED", POD_IN("still", "b", "u2", "12", OWNED("Job", "batch/v1", "j", "j1"), KILLED))
			 EVENT("ADDED", POD("d", "u4", "13", "", RUNS)),
		 .end = FAKE_HOLD},
		{PODS, .body = LIST(POD("a", "u1", "1", "",
					RUNS) "," POD_IN("still", "b", "u2", "2", OWNED("Job", "batch/v1", "j", "j1"),
							 RUNS) "," POD_IN("still", "c", "u3", "3", "", RUNS))},
		{owner, .body = "{\"metadata\":{\"uid\":\"j1\"}}"},
		{.fits = NULL},
	};
	struct pods_figures figures;
	struct evidence_batch batch;
	struct world world;
	int64_t seq = 0;
	size_t gone;

	(void)state;
	setup(&world, steps);
	world.ignores_still = true;
	while (count_of(&world, NULL) < 2)
		poll_once(&world);
	assert_int_equal(count_visits(&world), 2);
	assert_int_equal(count_told(&world, 0, &seq), 2); /* a and d */
	assert_int_equal(world.n_changed, 1);		  /* the list */
	pods_figures(world.pods, &figures);
	assert_int_equal(figures.ends[OUTCOME_OOM_KILLED] + figures.gone, 0);
	assert_int_equal(fake_api_count(world.api, owner), 0);
	/* The label is removed: the pod is told as it is now. */
	set_ignored(&world, false);
	assert_int_equal(world.n_changed, 2);
	while (count_told(&world, 0, NULL) < 3)
		poll_once(&world);
	assert_int_equal(tell(&world, seq, &seq, &batch), 1);
	assert_int_equal(evidence_pod_get(&batch, "still", "b", "u2")->containers.items[0].killed_limits[0], 64 * MIB);
	evidence_batch_release(&batch);
	/* It is set again: what is known of the pod is not told any more. */
	set_ignored(&world, true);
	assert_int_equal(count_of(&world, &gone), 2);
	assert_int_equal(gone, 0);
	assert_int_equal(count_told(&world, 0, NULL), 2);
	assert_int_equal(world.n_failed, 0);
	teardown(&world);
}

/* One JobSet's two Jobs are one run: if one of its pods has news, both are told, and nobody else. */
static void runs_are_told_whole_and_once(void **state)
{
	static const struct fake_step steps[] = {
		{PODS "&watch=",
		 .body = EVENT("MODIFIED",
			       POD("a", "u1", "11", OWNED("PyTorchJob", "unknown.io/v1", "p", "p1"), KILLED)),
		 .end = FAKE_HOLD},
		{PODS, .body = LIST(POD("a", "u1", "1", OWNED("PyTorchJob", "unknown.io/v1", "p", "p1"), RUNS) "," POD(
			       "b", "u2", "2", OWNED("PyTorchJob", "unknown.io/v1", "p", "p1"),
			       RUNS) "," POD("c", "u3", "3", OWNED("PyTorchJob", "unknown.io/v1", "q", "q1"), RUNS))},
		{.fits = NULL},
	};
	struct pods_figures figures;
	struct evidence_batch batch;
	struct world world;
	int64_t seq = 0;

	(void)state;
	setup(&world, steps);
	while (!pods_is_synced(world.pods))
		poll_once(&world);
	assert_int_equal(count_told(&world, 0, &seq), 3);
	while (!pods_has_changes(world.pods, seq))
		poll_once(&world);
	assert_int_equal(world.n_changed, 2);
	pods_figures(world.pods, &figures);
	assert_int_equal(figures.ends[OUTCOME_OOM_KILLED], 1);
	assert_int_equal(figures.ends[OUTCOME_FAILED], 0);
	assert_int_equal(tell(&world, seq, &seq, &batch), 2);
	assert_int_equal(evidence_pod_get(&batch, "ml", "a", "u1")->containers.items[0].killed_limits[0], 64 * MIB);
	assert_non_null(evidence_pod_get(&batch, "ml", "b", "u2"));
	evidence_batch_release(&batch);
	assert_false(pods_has_changes(world.pods, seq));
	assert_int_equal(count_told(&world, seq, NULL), 0);
	/* For a window: what still runs, whole, and what ended in it or could have a further try. */
	assert_int_equal(count_in(&world, seq, NOW_MS), 3);
	assert_int_equal(count_in(&world, seq, NOW_MS + TIME_DAY_MS), 3);
	teardown(&world);
}

static void owners_are_followed_to_the_top(void **state)
{
#define JOB_PATH(name)	  "GET /apis/batch/v1/namespaces/ml/jobs/" name " "
#define OBJECT(uid, more) "{\"metadata\":{\"uid\":\"" uid "\"" more "}}"
	static const struct fake_step steps[] = {
		{PODS "&watch=", .body = "", .end = FAKE_HOLD},
		{PODS,
		 .body = LIST(POD("a", "u1", "1", OWNED("Job", "batch/v1", "nightly-1", "j1"), RUNS) "," POD(
			 "b", "u2", "2", OWNED("Job", "batch/v1", "nightly-1", "j1"),
			 RUNS) "," POD("c", "u3", "3", OWNED("Job", "batch/v1", "gone", "j2"),
				       RUNS) "," POD("d", "u4", "4", OWNED("Job", "batch/v1", "taken", "j3"),
						     RUNS) "," POD("e", "u5", "5",
								   OWNED("Job", "batch/v1", "secret", "j4"), RUNS))},
		{JOB_PATH("nightly-1"), .body = OBJECT("j1", OWNED("CronJob", "batch/v1", "nightly", "c1"))},
		{JOB_PATH("gone"), .status = 404, .body = "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}"},
		{JOB_PATH("taken"), .body = OBJECT("other", OWNED("CronJob", "batch/v1", "wrong", "c2"))},
		{JOB_PATH("secret"), .status = 403,
		 .body = "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"not you\"}"},
		{.fits = NULL},
	};
	static const struct {
		const char *name, *uid, *root_kind, *root_name;
	} rows[] = {
		{"a", "u1", "CronJob", "nightly"},
		{"b", "u2", "CronJob", "nightly"},
		{"c", "u3", "", ""},
		{"d", "u4", "", ""},
		{"e", "u5", "", ""},
	};
	struct evidence_batch batch;
	struct world world;

	(void)state;
	setup(&world, steps);
	do {
		poll_once(&world);
	} while (count_told(&world, 0, NULL) < 5);
	assert_int_equal(tell(&world, 0, NULL, &batch), 5);
	assert_false(batch.is_partial);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct pod *pod = evidence_pod_get(&batch, "ml", rows[i].name, rows[i].uid);

		test_row(rows[i].name);
		assert_string_equal(pod->owner_kind, "Job");
		assert_string_equal(pod->root_kind, rows[i].root_kind);
		assert_string_equal(pod->root_name, rows[i].root_name);
	}
	evidence_batch_release(&batch);
	assert_int_equal(fake_api_count(world.api, "GET /apis/batch/v1/namespaces/ml/jobs/nightly-1 "), 1);
	assert_int_equal(world.n_failed, 1);
	assert_non_null(strstr(world.why, "not you"));
	teardown(&world);
}

/* As long as an answer is under way a run is not told: it could look like another one. */
static void a_run_of_unknown_owners_waits(void **state)
{
	static const struct fake_step steps[] = {
		{PODS "&watch=", .body = "", .end = FAKE_HOLD},
		{PODS, .body = LIST(POD("a", "u1", "1", OWNED("Job", "batch/v1", "slow", "j1"),
					KILLED) "," POD("b", "u2", "2", OWNED("Job", "v1", "known", "j2"), RUNS))},
		{JOB_PATH("slow"), .body = OBJECT("j1", ""), .end = FAKE_HOLD},
		{.fits = NULL},
	};
	struct evidence_batch batch;
	struct world world;

	(void)state;
	setup(&world, steps);
	while (!pods_is_synced(world.pods) || !fake_api_count(world.api, JOB_PATH("slow")))
		poll_once(&world);
	assert_int_equal(tell(&world, 0, NULL, &batch), 1);
	assert_true(batch.is_partial);
	assert_string_equal(batch.pods.items[0]->name, "b");
	evidence_batch_release(&batch);
	teardown(&world);
}

/* Gone pods stay until their run is over for long, and written. */
static void what_is_gone_is_told_and_then_forgotten(void **state)
{
	static const struct fake_step steps[] = {
		{PODS "&watch=",
		 .body = EVENT("DELETED", POD("a", "u1", "11", "", RUNS)) EVENT("ADDED", POD("b", "u3", "12", "", RUNS))
			 EVENT("DELETED", POD("c", "u4", "13", "", KILLED)),
		 .end = FAKE_HOLD},
		{PODS, .body = LIST(POD("a", "u1", "1", "", RUNS) "," POD("b", "u2", "2", "",
									  RUNS) "," POD("c", "u4", "3", "", RUNS))},
		{.fits = NULL},
	};
	struct evidence_batch batch;
	struct world world;
	int64_t seq = 0;
	size_t gone = 0;

	(void)state;
	setup(&world, steps);
	while (!pods_is_synced(world.pods))
		poll_once(&world);
	while (gone < 3) {
		poll_once(&world);
		(void)count_of(&world, &gone);
	}
	assert_int_equal(count_of(&world, NULL), 1); /* another b, which has the name of one that went unseen */
	assert_int_equal(tell(&world, 0, &seq, &batch), 4);
	assert_true(evidence_pod_get(&batch, "ml", "a", "u1")->ends & END_DELETED);
	assert_true(evidence_pod_get(&batch, "ml", "b", "u2")->ends & END_DELETED);
	assert_true(evidence_pod_get(&batch, "ml", "b", "u3")->is_alive);
	assert_int_equal(evidence_pod_get(&batch, "ml", "c", "u4")->ends, END_FAILED); /* its last words */
	evidence_batch_release(&batch);
	assert_int_equal(count_in(&world, seq, NOW_MS - TIME_HOUR_MS), 4);
	assert_int_equal(count_in(&world, seq, NOW_MS + TIME_DAY_MS), 2); /* both of the name b, one of which runs */
	pods_written(world.pods, seq, NOW_MS + FOLD_RETRY_MS);
	(void)count_of(&world, &gone);
	assert_int_equal(gone, 2); /* the one that ended half an hour before */
	pods_written(world.pods, 0, NOW_MS + 2 * FOLD_RETRY_MS);
	(void)count_of(&world, &gone);
	assert_int_equal(gone, 2); /* not written yet */
	pods_written(world.pods, seq, NOW_MS + 2 * FOLD_RETRY_MS);
	(void)count_of(&world, &gone);
	assert_int_equal(gone, 1); /* one of a run that goes on */
	teardown(&world);
}

static int ignore_sigpipe(void **state)
{
	(void)state;
	return signal(SIGPIPE, SIG_IGN) == SIG_ERR;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_out_is_not_kept),
		cmocka_unit_test(an_ignored_namespace_is_left_alone),
		cmocka_unit_test(runs_are_told_whole_and_once),
		cmocka_unit_test(owners_are_followed_to_the_top),
		cmocka_unit_test(a_run_of_unknown_owners_waits),
		cmocka_unit_test(what_is_gone_is_told_and_then_forgotten),
	};

	return cmocka_run_group_tests(tests, ignore_sigpipe, NULL);
}
