/* SPDX-License-Identifier: Apache-2.0 */
/* Which gangs hang, what they hold, and what is said about them. It is 08:00; a rank that was killed until 07:48 is
 * dead. */
#include "watched_pods_fixture.h"

#include "base/timefmt.h"
#include "service/hung_gangs.h"

#include <signal.h>

#define TIME(time)  "2026-11-02T" time "Z"
#define GPUS_8	    ",\"nvidia.com/gpu\":\"8\""
#define STATE(text) "{\"name\":\"main\",\"state\":{" text "}}"
#define ENDED(reason, code, at)                                                                                        \
	STATE("\"terminated\":{\"reason\":\"" reason "\",\"exitCode\":" code ",\"finishedAt\":\"" TIME(at) "\"}")

#define RUNS "\"phase\":\"Running\",\"containerStatuses\":[" STATE("\"running\":{}") "]"
#define RUNS_SINCE(at)                                                                                                 \
	"\"phase\":\"Running\",\"containerStatuses\":[" STATE("\"running\":{\"startedAt\":\"" TIME(at) "\"}") "]"
#define KILLED(at)	 "\"phase\":\"Failed\",\"containerStatuses\":[" ENDED("OOMKilled", "137", at) "]"
#define FAILED(at)	 "\"phase\":\"Failed\",\"containerStatuses\":[" ENDED("Error", "1", at) "]"
#define DONE		 "\"phase\":\"Succeeded\",\"containerStatuses\":[" ENDED("Completed", "0", "07:41:00") "]"
#define WAITS		 "\"phase\":\"Pending\""
#define EVICTED(message) "\"reason\":\"Evicted\",\"message\":\"" message "\"," FAILED("07:40:00")
/* The container of the accelerators is dead, and the pod is not over, as a helper runs. */
#define BESIDE_HELPER                                                                                                  \
	"\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"log\",\"state\":{\"running\":{}}}," ENDED(           \
		"OOMKilled", "137", "07:40:00") "]"
#define CAME_BACK                                                                                                      \
	"\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"main\",\"restartCount\":1,\"state\":{\"running\":"   \
	"{}},\"lastState\":{\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":"                 \
	"\"" TIME("07:40:00") "\"}}}]"

#define OWNED(version, kind, name)                                                                                     \
	",\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"name\":\"" name                 \
	"\",\"uid\":\"uid-of-" name "\",\"controller\":true}]"
#define JOB	 OWNED("batch/v1", "Job", "train")
#define PYTORCH	 OWNED("kubeflow.org/v1", "PyTorchJob", "train")
#define WORKFLOW OWNED("argoproj.io/v1alpha1", "Workflow", "train")

#define POD_OF(name, created, meta, gpus, status)                                                                      \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ml\",\"uid\":\"uid-" name                                \
	"\",\"resourceVersion\":\"1\",\"creationTimestamp\":\"" TIME(                                                  \
		created) "\",\"labels\":{\"memtamer.io/training\":\"true\"}" meta                                      \
			 "},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":["                                    \
			 "{\"name\":\"log\",\"image\":\"i\"},{\"name\":\"main\",\"image\":\"i\",\"resources\":"        \
			 "{\"limits\":{\"memory\":\"64Mi\"" gpus "}}}]},\"status\":{" status "}}"
#define POD(name, meta, status) POD_OF(name, "07:00:00", meta, GPUS_8, status)
#define PER_INDEX		",\"annotations\":{\"batch.kubernetes.io/job-index-failure-count\":\"0\"}" JOB
#define DELETED			",\"deletionTimestamp\":\"" TIME("07:59:30") "\",\"deletionGracePeriodSeconds\":30" JOB
#define SUSPEND			"kubectl patch job/train -n ml --type=merge -p '{\"spec\":{\"suspend\":true}}'"

static const struct row {
	const char *label;
	const char *pods;
	const char *dead; /* the pod that is named; NULL: no gang hangs */
	int64_t n_dead, n_pods;
	const char *command; /* NULL: SUSPEND */
	const char *answer;  /* to the question who owns the owner; NULL: nobody */
} rows[] = {
	{"two wait for one",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS) "," POD("train-2-x7k2p", JOB,
												   RUNS),
	 "train-0-x7k2p", 1, 2, NULL, NULL},
	{"the first of two dead ones is named",
	 POD("train-0-x7k2p", JOB, KILLED("07:41:00")) "," POD("train-1-x7k2p", JOB,
							       KILLED("07:40:00")) "," POD("train-2-x7k2p", JOB, RUNS),
	 "train-1-x7k2p", 2, 1, NULL, NULL},
	{"twelve minutes ago", POD("train-0-x7k2p", JOB, KILLED("07:48:00")) "," POD("train-1-x7k2p", JOB, RUNS),
	 "train-0-x7k2p", 1, 1, NULL, NULL},
	{"a second less", POD("train-0-x7k2p", JOB, KILLED("07:48:01")) "," POD("train-1-x7k2p", JOB, RUNS), NULL, 0, 0,
	 NULL, NULL},
	{"an error is no end for memory",
	 POD("train-0-x7k2p", JOB, FAILED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS), NULL, 0, 0, NULL, NULL},
	{"an eviction for memory",
	 POD("train-0-x7k2p", JOB, EVICTED("The node was low on resource: memory.")) "," POD("train-1-x7k2p", JOB,
											     RUNS),
	 "train-0-x7k2p", 1, 1, NULL, NULL},
	{"an eviction for disk",
	 POD("train-0-x7k2p", JOB,
	     EVICTED("Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ")) "," POD("train-"
													       "1-"
													       "x7k2p",
													       JOB,
													       RUNS),
	 "train-0-x7k2p", 1, 1, NULL, NULL},
	{"an eviction for process ids",
	 POD("train-0-x7k2p", JOB, EVICTED("The node was low on resource: pids.")) "," POD("train-1-x7k2p", JOB, RUNS),
	 NULL, 0, 0, NULL, NULL},
	{"an evicted rank has a new pod",
	 POD("train-0-x7k2p", JOB, EVICTED("The node was low on resource: memory.")) "," POD_OF(
		 "train-0-b4c5d", "07:40:10", JOB, GPUS_8, WAITS) "," POD("train-1-x7k2p", JOB, RUNS),
	 NULL, 0, 0, NULL, NULL},
	{"the container came back", POD("train-0-x7k2p", JOB, CAME_BACK) "," POD("train-1-x7k2p", JOB, RUNS), NULL, 0,
	 0, NULL, NULL},
	{"only a helper of the dead rank runs",
	 POD("train-0-x7k2p", JOB, BESIDE_HELPER) "," POD("train-1-x7k2p", JOB, RUNS), "train-0-x7k2p", 1, 1, NULL,
	 NULL},
	{"a retry of the rank",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD_OF("train-0-b4c5d", "07:40:10", JOB, GPUS_8,
								  WAITS) "," POD("train-1-x7k2p", JOB, RUNS),
	 NULL, 0, 0, NULL, NULL},
	{"a retry that was killed too",
	 POD("train-0-x7k2p", JOB, KILLED("07:20:00")) "," POD_OF(
		 "train-0-b4c5d", "07:20:10", JOB, GPUS_8, KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS),
	 "train-0-b4c5d", 1, 1, NULL, NULL},
	{"another rank was created after the death",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD_OF("train-1-b4c5d", "07:40:10", JOB, GPUS_8, RUNS), NULL,
	 0, 0, NULL, NULL},
	{"the others were restarted after the death",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS_SINCE("07:40:10")), NULL, 0,
	 0, NULL, NULL},
	{"one of the others was restarted after the death",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS_SINCE("07:40:10")) "," POD(
		 "train-2-x7k2p", JOB, RUNS_SINCE("07:00:10")),
	 NULL, 0, 0, NULL, NULL},
	{"the others were restarted before the death",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS_SINCE("07:39:50")),
	 "train-0-x7k2p", 1, 1, NULL, NULL},
	{"the gang went on without a rank, then another one died",
	 POD("train-0-x7k2p", JOB, KILLED("07:20:00")) "," POD("train-1-x7k2p", JOB, KILLED("07:40:00")) "," POD(
		 "train-2-x7k2p", JOB, RUNS_SINCE("07:20:30")),
	 "train-1-x7k2p", 1, 1, NULL, NULL},
	{"a rank without accelerators was restarted after the death",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD_OF(
		 "train-1-x7k2p", "07:00:00", JOB, "", RUNS_SINCE("07:40:10")) "," POD("train-2-x7k2p", JOB, RUNS),
	 "train-0-x7k2p", 1, 1, NULL, NULL},
	{"ranks are not known, and all are old",
	 POD("train-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-b4c5d", JOB, RUNS), "train-x7k2p", 1, 1, NULL,
	 NULL},
	{"ranks are not known, and one is new",
	 POD("train-x7k2p", JOB, KILLED("07:40:00")) "," POD_OF("train-b4c5d", "07:40:10", JOB, GPUS_8, RUNS), NULL, 0,
	 0, NULL, NULL},
	{"pods that share a queue of work",
	 POD("train-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-b4c5d", JOB, DONE) "," POD("train-c6d7f", JOB,
											       RUNS),
	 NULL, 0, 0, NULL, NULL},
	{"the sibling has ended", POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, DONE),
	 NULL, 0, 0, NULL, NULL},
	{"the sibling is being deleted",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-1-x7k2p", DELETED, RUNS), NULL, 0, 0, NULL, NULL},
	{"the sibling waits for a node",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, WAITS), NULL, 0, 0, NULL, NULL},
	{"the sibling has no accelerator",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD_OF("train-1-x7k2p", "07:00:00", JOB, "", RUNS), NULL, 0,
	 0, NULL, NULL},
	{"only the dead rank has no accelerator",
	 POD_OF("train-0-x7k2p", "07:00:00", JOB, "", KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS),
	 "train-0-x7k2p", 1, 1, NULL, NULL},
	{"pods that do not need each other",
	 POD("train-0-x7k2p", PER_INDEX, KILLED("07:40:00")) "," POD("train-1-x7k2p", PER_INDEX, RUNS), NULL, 0, 0,
	 NULL, NULL},
	{"a pod of another Job",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("else-1-x7k2p", OWNED("batch/v1", "Job", "else"), RUNS),
	 NULL, 0, 0, NULL, NULL},
	{"bare pods", POD("train-0", "", KILLED("07:40:00")) "," POD("train-1", "", RUNS), NULL, 0, 0, NULL, NULL},
	{"steps of a workflow", POD("train-a-1", WORKFLOW, KILLED("07:40:00")) "," POD("train-b-2", WORKFLOW, RUNS),
	 NULL, 0, 0, NULL, NULL},
	{"a kind of its own command",
	 POD("train-master-0", PYTORCH, KILLED("07:40:00")) "," POD("train-worker-0", PYTORCH, RUNS), "train-master-0",
	 1, 1, "kubectl delete pytorchjob.kubeflow.org/train -n ml", NULL},
	{"the Job of a CronJob, which is not suspended",
	 POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS), "train-0-x7k2p", 1, 1, NULL,
	 "{\"metadata\":{\"uid\":\"uid-of-train\"" OWNED("batch/v1", "CronJob", "nightly") "}}"},
};

static void look_at(const char *pods_text, const char *answer, const struct pods_found_end *end, struct hung_gangs *ret)
{
	const struct fake_step steps[] = {
		{PODS, .body = pods_text},
		{PODS, .body = "", .end = FAKE_HOLD},
		{"GET /apis/", .body = answer ? answer : "{}", .times = 64},
		{.fits = NULL},
	};
	struct world world;
	struct pods *pods = start_pods(&world, steps);

	if (end)
		pods_note_end(pods, end);
	assert_true(hung_gangs_turn(ret, pods, 5000, NOW_MS + TIME_DAY_MS));
	assert_false(hung_gangs_turn(ret, pods, 5000 + HUNG_TURN_MS - 1, NOW_MS + TIME_DAY_MS + HUNG_TURN_MS - 1));
	assert_true(hung_gangs_turn(ret, pods, 5000 + HUNG_TURN_MS, NOW_MS)); /* the clock was set back */
	stop_pods(&world, pods);
}

static void look(const char *pods_text, const char *answer, struct hung_gangs *ret)
{
	look_at(pods_text, answer, NULL, ret);
}

static void check_row(const struct row *row)
{
	const char *command = row->command ? row->command : SUSPEND;
	struct hung_gangs gangs = {.searched_ms = 0};
	const struct hung_gang *gang = &gangs.list.items[0];
	char list[8192];

	snprintf(list, sizeof(list), LIST("%s"), row->pods);
	look(list, row->answer, &gangs);
	if (gangs.list.n != (row->dead != NULL) || gangs.list.n_items != (row->dead != NULL))
		fail_msg("%s: %lld gangs", row->label, (long long)gangs.list.n);
	if (!row->dead)
		return;
	if (!streq(gang->pod, row->dead) || gang->n_dead != row->n_dead || gang->n_pods != row->n_pods ||
	    !streq(gang->command, command))
		fail_msg("%s: %s, %lld dead, %lld run: %s", row->label, gang->pod, (long long)gang->n_dead,
			 (long long)gang->n_pods, gang->command);
	assert_int_equal(gang->accelerators_milli, 8000 * row->n_pods);
	assert_int_equal(gangs.list.accelerators_milli, gang->accelerators_milli);
	assert_string_equal(gang->namespace_name, "ml");
	assert_string_equal(gang->owner, row->command ? "PyTorchJob/train" : "Job/train");
}

static void which_gangs_hang(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
}

#define DIED_MS (NOW_MS - 20 * TIME_MINUTE_MS)
#define RESTARTED(at)                                                                                                  \
	"\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\",\"restartCount\":1,\"state\":{\"terminated\":" \
	"{\"reason\":\"Error\",\"exitCode\":1,\"finishedAt\":\"" TIME(                                                 \
		at) "\"}},\"lastState\":{\"terminated\":{"                                                             \
		    "\"reason\":\"Error\",\"exitCode\":1,\"finishedAt\":\"" TIME("07:40:00") "\"}}}]"

/* A helper fails as well once the container of the accelerators is dead. */
#define HELPER_FAILED                                                                                                  \
	"\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"log\",\"state\":{\"terminated\":{\"reason\":"         \
	"\"Error\","                                                                                                   \
	"\"exitCode\":1,\"finishedAt\":\"" TIME("07:41:00") "\"}}}," ENDED("Error", "1", "07:40:00") "]"

/* An error of which the log told that it was for memory. */
static void errors_that_were_for_memory(void **state)
{
	static const struct {
		const char *label;
		struct pods_found_end end;
		const char *dead, *others; /* status of the dead pod; pods behind it */
		const char *said;	   /* of the death; NULL: no gang hangs */
	} cases[] = {
		{"a full GPU",
		 {"uid-train-0-x7k2p", "true-oom", DIED_MS},
		 FAILED("07:40:00"),
		 "",
		 "ran out of memory (true-oom)"},
		{"/dev/shm",
		 {"uid-train-0-x7k2p", "shm-too-small", DIED_MS},
		 FAILED("07:40:00"),
		 "",
		 "ran out of memory (shm-too-small)"},
		{"a helper failed later",
		 {"uid-train-0-x7k2p", "true-oom", DIED_MS},
		 HELPER_FAILED,
		 "",
		 "ran out of memory (true-oom)"},
		{"another reason", {"uid-train-0-x7k2p", "", DIED_MS}, FAILED("07:40:00"), "", NULL},
		{"of another pod", {"uid-train-7-x7k2p", "true-oom", DIED_MS}, FAILED("07:40:00"), "", NULL},
		{"a later error after a restart",
		 {"uid-train-0-x7k2p", "true-oom", DIED_MS},
		 RESTARTED("07:45:00"),
		 "",
		 NULL},
		{"less than twelve minutes ago",
		 {"uid-train-0-x7k2p", "true-oom", NOW_MS},
		 FAILED("07:50:00"),
		 "",
		 NULL},
		{"the container came back", {"uid-train-0-x7k2p", "true-oom", DIED_MS}, CAME_BACK, "", NULL},
		{"a retry of the rank",
		 {"uid-train-0-x7k2p", "true-oom", DIED_MS},
		 FAILED("07:40:00"),
		 "," POD_OF("train-0-b4c5d", "07:40:10", JOB, GPUS_8, WAITS),
		 NULL},
		{"the gang went on without it",
		 {"uid-train-0-x7k2p", "true-oom", DIED_MS},
		 FAILED("07:40:00"),
		 "," POD("train-2-x7k2p", JOB, RUNS_SINCE("07:40:10")),
		 NULL},
		{"the kill says more",
		 {"uid-train-0-x7k2p", "container-limit", DIED_MS},
		 KILLED("07:40:00"),
		 "",
		 "was OOM-killed"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct hung_gangs gangs = {.searched_ms = 0};
		char list[8192], death[HUNG_DEATH_BYTES];

		test_row(cases[i].label);
		snprintf(list, sizeof(list),
			 LIST(POD("train-0-x7k2p", JOB, "%s") "," POD("train-1-x7k2p", JOB, RUNS) "%s"), cases[i].dead,
			 cases[i].others);
		look_at(list, NULL, &cases[i].end, &gangs);
		assert_int_equal(gangs.list.n_items, cases[i].said != NULL);
		if (cases[i].said)
			assert_string_equal(hung_death(&gangs.list.items[0], death), cases[i].said);
	}
}

static void what_was_found_may_change(void **state)
{
	static const struct fake_step steps[] = {
		{PODS, .body = LIST(POD("train-0-x7k2p", JOB, FAILED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS))},
		{PODS, .body = "", .end = FAKE_HOLD},
		{"GET /apis/", .body = "{}", .times = 64},
		{.fits = NULL},
	};
	struct pods_found_end end = {"uid-train-0-x7k2p", "", DIED_MS}, found[LIMIT_DIAGNOSE_RUNS];
	struct hung_gangs gangs = {.searched_ms = 0};
	struct world world;
	struct pods *pods = start_pods(&world, steps);

	(void)state;
	for (int i = 0; i < 2; i++) {
		pods_note_end(pods, &end);
		assert_int_equal(pods_found_ends(pods, found), i);
		gangs.searched_ms = 0;
		assert_true(hung_gangs_turn(&gangs, pods, 1, NOW_MS));
		assert_int_equal(gangs.list.n, i);
		snprintf(end.kind, sizeof(end.kind), "true-oom");
	}
	for (int i = 0; i < LIMIT_DIAGNOSE_RUNS; i++) {
		snprintf(end.uid, sizeof(end.uid), "u%d", i);
		pods_note_end(pods, &end);
	}
	assert_int_equal(pods_found_ends(pods, found), LIMIT_DIAGNOSE_RUNS);
	gangs.searched_ms = 0;
	assert_true(hung_gangs_turn(&gangs, pods, 1, NOW_MS));
	assert_int_equal(gangs.list.n, 0);
	stop_pods(&world, pods);
}

static void a_gang_is_told_once(void **state)
{
	static const char list[] = LIST(
		POD("train-0-x7k2p", JOB, KILLED("07:40:00")) "," POD("train-1-x7k2p", JOB, RUNS));
	struct hung_gangs gangs = {.searched_ms = 0};
	struct notice notice;

	(void)state;
	look(list, NULL, &gangs);
	assert_true(hung_gangs_next(&gangs, &notice));
	assert_string_equal(notice.owner, "Job/train");
	assert_string_equal(notice.reason, "GangHung");
	assert_true(notice.is_warning);
	assert_string_equal(notice.text, "pod train-0-x7k2p was OOM-killed at 2026-11-02T07:40:00Z and does not come "
					 "back; 1 pod still runs and holds 8 accelerators; if they do not go on "
					 "without it, free them: " SUSPEND);
	assert_false(hung_gangs_next(&gangs, &notice));
	gangs.searched_ms = 0;
	look(list, NULL, &gangs);
	assert_false(hung_gangs_next(&gangs, &notice));
}

#define MANY (HUNG_LISTED + 4)

static void add_pod(struct strbuf *list, int job, int rank)
{
	strbuf_addf(list,
		    "{\"metadata\":{\"name\":\"j%d-%d-x7k2p\",\"namespace\":\"ml\",\"uid\":\"u%d-%d\","
		    "\"resourceVersion\":\"1\",\"creationTimestamp\":\"" TIME(
			    "07:00:00") "\","
					"\"labels\":{\"memtamer.io/"
					"training\":\"true\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
					"\"kind\":\"Job\",\"name\":\"j%d\",\"uid\":\"j%d\",\"controller\":true}]},"
					"\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{"
					"\"nvidia.com/gpu\":\"1\"}}}]},\"status\":{",
		    job, rank, job, rank, job, job);
}

/* The gang `i` was killed i + 1 seconds before 07:40. */
static void those_that_hang_for_longest_are_listed(void **state)
{
	CLEANUP(strbuf_release) struct strbuf list = STRBUF_INIT(MIB);
	struct hung_gangs gangs = {.searched_ms = 0};

	(void)state;
	strbuf_adds(&list, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[");
	for (int i = 0; i < MANY; i++) {
		strbuf_adds(&list, i ? "," : "");
		add_pod(&list, i, 0);
		strbuf_addf(
			&list,
			"\"phase\":\"Failed\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"terminated\":"
			"{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":\"2026-11-02T07:39:%02dZ\"}}}]}},",
			59 - i);
		add_pod(&list, i, 1);
		strbuf_adds(&list, RUNS "}}");
	}
	strbuf_adds(&list, "]}");
	look(strbuf_text(&list), NULL, &gangs);
	assert_int_equal(gangs.list.n, MANY);
	assert_int_equal(gangs.list.accelerators_milli, 1000 * MANY);
	assert_int_equal(gangs.list.n_items, HUNG_LISTED);
	for (int i = 0; i < HUNG_LISTED; i++) {
		char owner[16];

		snprintf(owner, sizeof(owner), "Job/j%d", MANY - 1 - i);
		assert_string_equal(gangs.list.items[i].owner, owner);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_gangs_hang),
		cmocka_unit_test(errors_that_were_for_memory),
		cmocka_unit_test(what_was_found_may_change),
		cmocka_unit_test(a_gang_is_told_once),
		cmocka_unit_test(those_that_hang_for_longest_are_listed),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
