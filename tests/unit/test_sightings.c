/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of what the API server tells of a pod: made-up ones for each rule, recorded ones for what a real kubelet
 * and scheduler write (tests/support/data/pods/). */
#include "support/test.h"

#include "base/io.h"
#include "base/timefmt.h"
#include "pods/sighting.h"

#include <errno.h>
#include <string.h>

#define MEBI	((int64_t)1024 * 1024)
#define NOW_MS	((int64_t)1793606400000) /* 2026-11-02T08:00:00Z */
#define AT(hms) "\"2026-11-02T" hms "Z\""

#define META(more)                                                                                                     \
	"\"metadata\":{\"name\":\"a\",\"namespace\":\"ml\",\"uid\":\"u\",\"creationTimestamp\":" AT("07:00:00") more "}"
#define LABELS	     ",\"labels\":{\"memtamer.io/training\":\"true\"}"
#define SPEC(limits) SPEC_OF(limits, "")
#define SPEC_OF(limits, more)                                                                                          \
	"\"spec\":{\"restartPolicy\":\"Never\"" more ",\"containers\":[{\"name\":\"main\",\"image\":\"i\","            \
	"\"resources\":{\"limits\":{" limits "}}}]}"
#define MEMORY(quantity) "\"memory\":\"" quantity "\""
#define STATUS(phase, more, container)                                                                                 \
	"\"status\":{\"phase\":\"" phase "\",\"startTime\":" AT("07:01:00") more                                       \
		",\"containerStatuses\":[{\"name\":\"main\"" container "}]}"
#define ENDED(reason, code, hms)                                                                                       \
	"{\"terminated\":{\"reason\":\"" reason "\",\"exitCode\":" code ",\"finishedAt\":" AT(hms) "}}"
#define STATE(state)	   ",\"restartCount\":0,\"state\":" state
#define RESTARTED(n, last) ",\"restartCount\":" n ",\"state\":{\"running\":{}},\"lastState\":" last
#define LIVE(quantity)	   ",\"resources\":{\"limits\":{" MEMORY(quantity) "}}"

#define RESIZED(hms)                                                                                                   \
	",\"managedFields\":[{\"manager\":\"memtamer-resize-oom-64Mi\",\"operation\":\"Update\",\"subresource\":"      \
	"\"resize\","                                                                                                  \
	"\"time\":" AT(hms) ",\"fieldsV1\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":{\"f:"     \
			    "resources\":"                                                                             \
			    "{\"f:limits\":{\"f:memory\":{}}}}}}}}]"

static struct sighting *read_text(const char *text, const struct sighting *before, int64_t now_ms)
{
	const struct sighting_look look = {.before = before, .now_ms = now_ms};
	struct arena arena = ARENA_INIT(MEBI);
	struct sighting *ret = NULL;
	struct err err = ERR_INIT;

	if (sighting_read(text, strlen(text), &look, &arena, &ret, &err))
		fail_msg("%s: %s", err.where, err.msg);
	arena_release(&arena);
	return ret;
}

#define POD(labels, limits, status) "{" META(labels) "," SPEC(limits) "," status "}"
#define TRAINS(limits, status)	    POD(LABELS, limits, status)

static void ends_are_told_apart(void **state)
{
	static const struct {
		const char *name, *text;
		unsigned int ends, container_ends;
		int64_t killed_mib; /* 0: none; -1: without a limit */
		const char *end;    /* NULL: not ended */
	} rows[] = {
		{"running", TRAINS(MEMORY("64Mi"), STATUS("Running", "", STATE("{\"running\":{}}"))), 0, 0, 0, NULL},
		{"completed", TRAINS("", STATUS("Succeeded", "", STATE(ENDED("Completed", "0", "07:30:00")))),
		 END_SUCCEEDED, END_COMPLETED, 0, "2026-11-02T07:30:00Z"},
		{"failed", TRAINS("", STATUS("Failed", "", STATE(ENDED("Error", "1", "07:30:00")))), END_FAILED,
		 END_ERROR, 0, "2026-11-02T07:30:00Z"},
		{"killed", TRAINS(MEMORY("64Mi"), STATUS("Failed", "", STATE(ENDED("OOMKilled", "137", "07:30:00")))),
		 END_FAILED, END_OOM_KILLED, 64, "2026-11-02T07:30:00Z"},
		{"killed without a limit",
		 TRAINS("", STATUS("Failed", "", STATE(ENDED("OOMKilled", "137", "07:30:00")))), END_FAILED,
		 END_OOM_KILLED, -1, "2026-11-02T07:30:00Z"},
		{"killed, restarted",
		 TRAINS(MEMORY("64Mi"), STATUS("Running", "", RESTARTED("1", ENDED("OOMKilled", "137", "07:30:00")))),
		 0, END_OOM_RESTARTED, 64, NULL},
		{"killed at the limit that was in force",
		 TRAINS(MEMORY("96Mi"),
			STATUS("Failed", "", STATE(ENDED("OOMKilled", "137", "07:30:00")) LIVE("64Mi"))),
		 END_FAILED, END_OOM_KILLED, 64, "2026-11-02T07:30:00Z"},
		{"failed, restarted",
		 TRAINS("", STATUS("Running", "", RESTARTED("2", ENDED("Error", "1", "07:30:00")))), 0,
		 END_ERROR_RESTARTED, 0, NULL},
		{"restarted with all containers of its pod",
		 TRAINS("", STATUS("Running", "", RESTARTED("1", ENDED("RestartingAllContainers", "137", "07:30:00")))),
		 0, 0, 0, NULL},
		{"evicted for memory",
		 TRAINS("",
			STATUS("Failed",
			       ",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: memory. Threshold "
			       "quantity: 100Mi, available: 97032Ki. \"",
			       STATE(ENDED("Error", "137", "07:30:00")))),
		 END_FAILED | END_EVICTED | END_EVICTED_MEMORY, END_ERROR, 0, "2026-11-02T07:30:00Z"},
		{"evicted for disk",
		 TRAINS("", STATUS("Failed",
				   ",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: "
				   "ephemeral-storage. \"",
				   STATE(ENDED("Error", "137", "07:30:00")))),
		 END_FAILED | END_EVICTED | END_EVICTED_EPHEMERAL, END_ERROR, 0, "2026-11-02T07:30:00Z"},
		{"evicted for its own disk",
		 TRAINS("",
			STATUS("Failed",
			       ",\"reason\":\"Evicted\",\"message\":\"Pod ephemeral local storage usage exceeds the "
			       "total limit of containers 20Mi. \"",
			       STATE(ENDED("Error", "137", "07:30:00")))),
		 END_FAILED | END_EVICTED | END_EVICTED_EPHEMERAL | END_DISK_LIMIT, END_ERROR, 0,
		 "2026-11-02T07:30:00Z"},
		{"evicted for a container's disk",
		 TRAINS("", STATUS("Failed",
				   ",\"reason\":\"Evicted\",\"message\":\"Container main exceeded its local ephemeral "
				   "storage limit \\\"20Mi\\\". \"",
				   "")),
		 END_FAILED | END_EVICTED | END_EVICTED_EPHEMERAL | END_DISK_LIMIT, 0, 0, "2026-11-02T07:01:00Z"},
		{"evicted since processes ran out",
		 TRAINS("",
			STATUS("Failed", ",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: pids. \"",
			       STATE(ENDED("Error", "137", "07:30:00")))),
		 END_FAILED | END_PREEMPTED, END_ERROR, 0, "2026-11-02T07:30:00Z"},
		{"evicted, nobody says why", TRAINS("", STATUS("Failed", ",\"reason\":\"Evicted\"", "")),
		 END_FAILED | END_EVICTED, 0, 0, "2026-11-02T07:01:00Z"},
		{"a volume on disk too full",
		 TRAINS("",
			STATUS("Failed",
			       ",\"reason\":\"Evicted\",\"message\":\"Usage of EmptyDir volume \\\"work\\\" exceeds "
			       "the limit \\\"1Mi\\\". \"",
			       "")),
		 END_FAILED | END_EVICTED | END_EVICTED_EPHEMERAL, 0, 0, "2026-11-02T07:01:00Z"},
		{"a volume in memory too full",
		 "{" META(LABELS) "," SPEC_OF("",
					      ",\"volumes\":[{\"name\":\"work\",\"emptyDir\":{\"medium\":"
					      "\"Memory\"}}]") "," STATUS("Failed",
									  ",\"reason\":\"Evicted\",\"message\":\"Usage "
									  "of EmptyDir volume \\\"work\\\" exceeds the "
									  "limit "
									  "\\\"1Mi\\\". \"",
									  "") "}",
		 END_FAILED, 0, 0, "2026-11-02T07:01:00Z"},
		{"on a node that was lost: its conditions tell when",
		 TRAINS("",
			STATUS("Failed",
			       ",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\","
			       "\"lastTransitionTime\":" AT("07:00:30") "},{\"type\":\"Ready\",\"status\":\"False\","
									"\"lastTransitionTime\":" AT("07:45:00") "}]",
			       STATE("{\"terminated\":{\"reason\":\"ContainerStatusUnknown\",\"exitCode\":137,"
				     "\"finishedAt\":null}}"))),
		 END_FAILED, END_ERROR, 0, "2026-11-02T07:45:00Z"},
		{"killed before we raised its limit",
		 POD(LABELS RESIZED("07:30:05"), MEMORY("128Mi"),
		     STATUS("Running", "", RESTARTED("1", ENDED("OOMKilled", "137", "07:30:00")) LIVE("128Mi"))),
		 0, END_OOM_RESTARTED, 64, NULL},
		{"killed before, and not started again yet",
		 POD(LABELS RESIZED("07:30:05"), MEMORY("128Mi"),
		     STATUS("Running", "", STATE(ENDED("OOMKilled", "137", "07:30:00")) LIVE("128Mi"))),
		 0, END_OOM_KILLED, 64, NULL},
		{"killed at the limit that we had raised",
		 POD(LABELS RESIZED("07:20:00"), MEMORY("128Mi"),
		     STATUS("Running", "", RESTARTED("1", ENDED("OOMKilled", "137", "07:30:00")) LIVE("128Mi"))),
		 0, END_OOM_RESTARTED, 128, NULL},
		{"preempted",
		 TRAINS("", STATUS("Failed",
				   ",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
				   "\"PreemptionByScheduler\"}]",
				   STATE(ENDED("Error", "143", "07:30:00")))),
		 END_FAILED | END_PREEMPTED, END_ERROR, 0, "2026-11-02T07:30:00Z"},
		{"was to be preempted, completed before",
		 TRAINS("", STATUS("Succeeded", ",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\"}]",
				   STATE(ENDED("Completed", "0", "07:30:00")))),
		 END_SUCCEEDED, END_COMPLETED, 0, "2026-11-02T07:30:00Z"},
		{"made way for a critical pod", TRAINS("", STATUS("Failed", ",\"reason\":\"Preempting\"", "")),
		 END_FAILED | END_PREEMPTED, 0, 0, "2026-11-02T07:01:00Z"},
		/* it must be gone at 07:30:30, so it was asked to go at 07:30 */
		{"deleted, and ended by it",
		 POD(LABELS ",\"deletionTimestamp\":" AT("07:30:30") ",\"deletionGracePeriodSeconds\":30", "",
		     STATUS("Failed", "", STATE(ENDED("Error", "143", "07:30:01")))),
		 END_FAILED | END_DELETED, END_ERROR, 0, "2026-11-02T07:30:01Z"},
		{"deleted after it had ended",
		 POD(LABELS ",\"deletionTimestamp\":" AT("07:30:30") ",\"deletionGracePeriodSeconds\":30", "",
		     STATUS("Failed", "", STATE(ENDED("Error", "1", "07:29:59")))),
		 END_FAILED, END_ERROR, 0, "2026-11-02T07:29:59Z"},
		{"being deleted",
		 POD(LABELS ",\"deletionTimestamp\":" AT("07:30:30") ",\"deletionGracePeriodSeconds\":30", "",
		     STATUS("Running", "", STATE("{\"running\":{}}"))),
		 END_DELETED, 0, 0, NULL},
		{"waits for memory",
		 TRAINS("", "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
			    "\"False\",\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes are available: 1 "
			    "Insufficient memory.\"}]}"),
		 END_UNSCHEDULABLE_MEMORY, 0, 0, NULL},
		{"waits for disk",
		 TRAINS("", "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
			    "\"False\",\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes are available: 1 "
			    "Insufficient ephemeral-storage.\"}]}"),
		 END_UNSCHEDULABLE_EPHEMERAL, 0, 0, NULL},
		{"waits for something else",
		 TRAINS("", "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
			    "\"False\",\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes are available: 1 "
			    "Insufficient nvidia.com/gpu.\"}]}"),
		 0, 0, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(sighting_freep) struct sighting *sighting = NULL;
		char end[TIME_TEXT_BYTES];

		test_row(rows[i].name);
		sighting = read_text(rows[i].text, NULL, NOW_MS);
		assert_non_null(sighting);
		assert_int_equal(sighting->ends, rows[i].ends);
		assert_int_equal(sighting->containers.n, 1);
		assert_int_equal(sighting->containers.items[0].ends, rows[i].container_ends);
		assert_int_equal(sighting->containers.items[0].n_killed_limits, rows[i].killed_mib != 0);
		if (rows[i].killed_mib)
			assert_int_equal(sighting->containers.items[0].killed_limits[0],
					 rows[i].killed_mib < 0 ? -1 : rows[i].killed_mib * MEBI);
		assert_int_equal(sighting->end_ms != 0, rows[i].end != NULL);
		if (rows[i].end)
			assert_string_equal(time_render(sighting->end_ms, end), rows[i].end);
	}
}

/* As a real kubelet and scheduler wrote them. */
static void recorded_ends_are_told_apart(void **state)
{
	static const struct {
		const char *file;
		unsigned int ends, container_ends;
		int restarts;
		int64_t killed_mib;
		enum outcome outcome;
	} rows[] = {
		{"running", 0, 0, 0, 0, OUTCOME_RUNNING},
		{"completed", END_SUCCEEDED, END_COMPLETED, 0, 0, OUTCOME_COMPLETED},
		{"failed", END_FAILED, END_ERROR, 0, 0, OUTCOME_FAILED},
		{"oom-never", 0, END_OOM_KILLED, 0, 64, OUTCOME_RUNNING}, /* the phase comes later */
		{"oom-onfailure", 0, END_OOM_KILLED | END_OOM_RESTARTED, 1, 64, OUTCOME_RUNNING},
		{"deleted", END_FAILED | END_DELETED, END_ERROR, 0, 0, OUTCOME_DELETED},
		{"preempted", END_FAILED | END_PREEMPTED, END_ERROR, 0, 0, OUTCOME_PREEMPTED},
		{"unschedulable", END_UNSCHEDULABLE_MEMORY, 0, 0, 0, OUTCOME_RUNNING},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(sighting_freep) struct sighting *sighting = NULL;
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT((size_t)MEBI);
		const struct sighting_container *container;
		char path[256];

		test_row(rows[i].file);
		snprintf(path, sizeof(path), "%s/support/data/pods/%s.json", TEST_SOURCE_DIR, rows[i].file);
		assert_int_equal(io_read_file(path, &text, NULL), 0);
		sighting = read_text(strbuf_text(&text), NULL, NOW_MS);
		assert_non_null(sighting);
		container = &sighting->containers.items[0];
		/* Whoever is preempted is deleted, too. */
		assert_int_equal(sighting->ends & ~(rows[i].ends & END_PREEMPTED ? (unsigned int)END_DELETED : 0U),
				 rows[i].ends);
		assert_int_equal(container->ends, rows[i].container_ends);
		assert_int_equal(container->restarts, rows[i].restarts);
		assert_int_equal(container->n_killed_limits, rows[i].killed_mib > 0);
		assert_int_equal(container->killed_limits[0], rows[i].killed_mib * MEBI);
		assert_int_equal(sighting_outcome(sighting), rows[i].outcome);
		if (rows[i].outcome != OUTCOME_RUNNING)
			assert_true(sighting->end_ms > sighting->start_ms &&
				    sighting->start_ms >= sighting->created_ms);
	}
}

/* A status tells of two ends at most: what was seen before stays, each kill at the limit of its time, once. */
static void kills_add_up_over_time(void **state)
{
	static const struct {
		const char *text;
		int n_killed;
		int64_t last_mib;
	} steps[] = {
		{TRAINS(MEMORY("64Mi"), STATUS("Running", "", STATE("{\"running\":{}}") LIVE("64Mi"))), 0, 0},
		/* killed, started again, and the spec has been raised since */
		{TRAINS(MEMORY("96Mi"),
			STATUS("Running", "", RESTARTED("1", ENDED("OOMKilled", "137", "07:30:00")) LIVE("96Mi"))),
		 1, 64},
		{TRAINS(MEMORY("96Mi"),
			STATUS("Running", "", RESTARTED("1", ENDED("OOMKilled", "137", "07:30:00")) LIVE("96Mi"))),
		 1, 64},
		{TRAINS(MEMORY("96Mi"),
			STATUS("Running", "", RESTARTED("2", ENDED("OOMKilled", "137", "07:35:00")) LIVE("96Mi"))),
		 2, 96},
		/* again at the same limit, which counts once */
		{TRAINS(MEMORY("96Mi"),
			STATUS("Running", "", RESTARTED("3", ENDED("OOMKilled", "137", "07:36:00")) LIVE("96Mi"))),
		 2, 96},
		{TRAINS(MEMORY("96Mi"), STATUS("Succeeded", "", STATE(ENDED("Completed", "0", "07:50:00")))), 2, 96},
	};
	CLEANUP(sighting_freep) struct sighting *before = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct sighting *now = read_text(steps[i].text, before, NOW_MS);
		const struct sighting_container *container = &now->containers.items[0];

		assert_int_equal(container->n_killed_limits, steps[i].n_killed);
		if (steps[i].n_killed)
			assert_int_equal(container->killed_limits[steps[i].n_killed - 1], steps[i].last_mib * MEBI);
		assert_int_equal(sighting_is_news(before, now), i != 2);
		sighting_free(before);
		before = now;
	}
	assert_int_equal(before->containers.items[0].ends, END_COMPLETED | END_OOM_RESTARTED);
	assert_int_equal(before->containers.items[0].restarts, 3);
}

/* RestartAllContainers: the kubelet removes the container, and with it the reason of its end. */
static void a_kill_that_restarts_the_pod_is_remembered(void **state)
{
	static const char *const texts[] = {
		TRAINS(MEMORY("64Mi"), STATUS("Running", "", STATE("{\"running\":{}}") LIVE("64Mi"))),
		TRAINS(MEMORY("64Mi"), STATUS("Running", "", STATE(ENDED("OOMKilled", "137", "07:30:00")))),
		TRAINS(MEMORY("64Mi"),
		       STATUS("Running", "",
			      ",\"restartCount\":1,\"state\":{\"waiting\":{\"reason\":\"RestartingAllContainers\"}},"
			      "\"lastState\":{\"terminated\":{\"reason\":\"RestartingAllContainers\",\"exitCode\":137,"
			      "\"finishedAt\":null}}")),
		TRAINS(MEMORY("64Mi"), STATUS("Running", "",
					      RESTARTED("1", "{\"terminated\":{\"reason\":\"RestartingAllContainers\","
							     "\"exitCode\":137,\"finishedAt\":null}}") LIVE("64Mi"))),
	};
	CLEANUP(sighting_freep) struct sighting *before = NULL;
	const struct sighting_container *container;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct sighting *now = read_text(texts[i], before, NOW_MS);

		sighting_free(before);
		before = now;
	}
	container = &before->containers.items[0];
	assert_int_equal(container->ends, END_OOM_RESTARTED);
	assert_int_equal(container->n_killed_limits, 1);
	assert_int_equal(container->killed_limits[0], 64 * MEBI);
	assert_true(sighting_restarts(container));
}

static void only_training_pods_are_kept(void **state)
{
#define GPU "\"nvidia.com/gpu\":\"1\""
#define OWNER(kind, version)                                                                                           \
	",\"ownerReferences\":[{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"name\":\"o\",\"uid\":\"ou\","   \
	"\"controller\":true}]"
	static const struct {
		const char *name, *text;
		bool is_kept;
	} rows[] = {
		{"a web server", POD("", MEMORY("64Mi"), STATUS("Running", "", "")), false},
		{"asks for an accelerator", POD("", GPU, STATUS("Running", "", "")), true},
		{"serves on one", POD(OWNER("ReplicaSet", "apps/v1"), GPU, STATUS("Running", "", "")), false},
		{"of a framework", POD(OWNER("PyTorchJob", "kubeflow.org/v1"), "", STATUS("Running", "", "")), true},
		{"is labelled", TRAINS("", STATUS("Running", "", "")), true},
		{"is labelled not to",
		 POD(",\"labels\":{\"memtamer.io/training\":\"false\"}", GPU, STATUS("Running", "", "")), false},
		{"is to be ignored",
		 POD(",\"labels\":{\"memtamer.io/ignore\":\"true\"}", GPU, STATUS("Running", "", "")), false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(sighting_freep) struct sighting *sighting = NULL;

		test_row(rows[i].name);
		sighting = read_text(rows[i].text, NULL, NOW_MS);
		assert_int_equal(sighting != NULL, rows[i].is_kept);
	}
}

static void what_counted_a_pod_is_known_by_its_marks(void **state)
{
#define MARKED(labels)                                                                                                 \
	POD(",\"labels\":{\"memtamer.io/training\":\"true\"," labels "}", MEMORY("64Mi"), STATUS("Running", "", ""))
#define LOCAL	"\"kueue.x-k8s.io/queue-name\":\"team\""
#define CLUSTER "\"kueue.x-k8s.io/cluster-queue-name\":\"research\""
	static const struct {
		const char *name, *text, *queue;
	} rows[] = {
		{"nothing", TRAINS(MEMORY("64Mi"), STATUS("Running", "", "")), ""},
		{"a Job's, by its ClusterQueue", MARKED("\"kueue.x-k8s.io/podset\":\"main\"," CLUSTER "," LOCAL),
		 "ClusterQueue research"},
		{"a Job's, by its LocalQueue", MARKED(LOCAL), "LocalQueue team"},
		{"by its pod set alone", MARKED("\"kueue.x-k8s.io/podset\":\"main\""), "its queue"},
		{"of another system", MARKED("\"volcano.sh/job-name\":\"train\""), "its queue"},
		{"a plain pod", MARKED(LOCAL ",\"kueue.x-k8s.io/managed\":\"true\""), ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(sighting_freep) struct sighting *sighting = NULL;

		test_row(rows[i].name);
		sighting = read_text(rows[i].text, NULL, NOW_MS);
		assert_string_equal(sighting ? sighting->queue : NULL, rows[i].queue);
	}
}

/* A pod that takes the name of another one has nothing of it. */
static void a_name_taken_again_is_another_pod(void **state)
{
	CLEANUP(sighting_freep)
	struct sighting *before = read_text(
		TRAINS(MEMORY("64Mi"), STATUS("Failed", "", STATE(ENDED("OOMKilled", "137", "07:30:00")))), NULL,
		NOW_MS);
	CLEANUP(sighting_freep) struct sighting *now = NULL;

	(void)state;
	free(before->uid);
	before->uid = strdup("another");
	now = read_text(TRAINS(MEMORY("64Mi"), STATUS("Running", "", STATE("{\"running\":{}}"))), before, NOW_MS);
	assert_int_equal(now->containers.items[0].ends, 0);
	assert_int_equal(now->containers.items[0].n_killed_limits, 0);
}

/* Its run was left out until then: what was told of the pod before reached nobody. */
static void a_pod_whose_owners_are_known_now_is_news(void **state)
{
#define OWNED_RUNS(more, container)                                                                                    \
	POD(LABELS OWNER("Job", "batch/v1") more, "", STATUS("Running", "", STATE(container)))
	static const struct {
		const char *name, *text;
		bool is_urgent;
	} rows[] = {
		{"it runs", OWNED_RUNS("", "{\"running\":{}}"), false},
		{"it was killed", OWNED_RUNS("", ENDED("OOMKilled", "137", "07:30:00")), true},
		{"it was decided about",
		 OWNED_RUNS(",\"annotations\":{\"memtamer.io/decision\":\"{\\\"v\\\":1,\\\"set\\\":[]}\"}",
			    "{\"running\":{}}"),
		 true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(sighting_freep) struct sighting *before = read_text(rows[i].text, NULL, NOW_MS);
		CLEANUP(sighting_freep) struct sighting *now = read_text(rows[i].text, before, NOW_MS + 10);

		test_row(rows[i].name);
		assert_false(before->is_root_known);
		assert_false(sighting_is_news(before, now));
		assert_false(sighting_is_urgent(before, now));
		now->is_root_known = true; /* and is the owner itself */
		assert_true(sighting_is_news(before, now));
		assert_int_equal(sighting_is_urgent(before, now), rows[i].is_urgent);
	}
}

static void a_deleted_pod_on_a_lost_node_is_over_after_a_while(void **state)
{
	static const char text[] = POD(LABELS
				       ",\"deletionTimestamp\":" AT("07:30:30") ",\"deletionGracePeriodSeconds\":30",
				       "", STATUS("Running", "", STATE("{\"running\":{}}")));
	CLEANUP(sighting_freep) struct sighting *sighting = read_text(text, NULL, NOW_MS);
	const struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};

	(void)state;
	for (int is_late = 0; is_late < 2; is_late++) {
		int64_t now_ms = sighting->deleted_ms + (is_late ? SIGHTING_LOST_MS + 1 : SIGHTING_LOST_MS);
		struct evidence_batch batch;

		evidence_batch_init(&batch, &window);
		assert_int_equal(sighting_tell(sighting, now_ms, &batch), 0);
		assert_int_equal(batch.pods.items[0]->is_alive, !is_late);
		assert_int_equal(batch.pods.items[0]->completion_ms, is_late ? sighting->deleted_ms : 0);
		evidence_batch_release(&batch);
	}
}

static void what_is_no_pod_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"null",
		"[]",
		"{}",
		"{\"spec\":7}",
		"{\"metadata\":[],\"spec\":{\"containers\":[{\"name\":\"a\"}]}}",
		"{\"spec\":{\"containers\":[{\"name\":7}]}}",
		"{" META(LABELS) "," SPEC("") ",\"status\":{\"phase\":\"Running\"", /* cut off */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const struct sighting_look look = {.now_ms = NOW_MS};
		struct arena arena = ARENA_INIT(MEBI);
		struct sighting *ret = NULL;
		struct err err = ERR_INIT;

		test_row(texts[i]);
		assert_true(sighting_read(texts[i], strlen(texts[i]), &look, &arena, &ret, &err) < 0);
		assert_null(ret);
		arena_release(&arena);
	}
}

/* A status is the server's own: what cannot be read in it is as if it were not there. */
static void an_odd_status_says_nothing(void **state)
{
	static const char *const statuses[] = {
		"\"status\":7",
		"\"status\":{\"phase\":7,\"reason\":[],\"startTime\":\"soon\",\"conditions\":{},\"containerStatuses\":"
		"7}",
		"\"status\":{\"conditions\":[7,{\"type\":7}],\"containerStatuses\":[7,{\"name\":7},{\"name\":\"other\"}"
		"]}",
		"\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"restartCount\":-5,\"state\":7,\"lastState\":[]"
		","
		"\"resources\":{\"limits\":{\"memory\":\"lots\"}}}]}",
		"\"status\":{\"containerStatuses\":[{\"name\":\"main\",\"restartCount\":99999999999999999999999,"
		"\"state\":{\"terminated\":7}}]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		CLEANUP(sighting_freep) struct sighting *sighting = NULL;
		char text[2048];

		test_row(statuses[i]);
		snprintf(text, sizeof(text), "{" META(LABELS) "," SPEC("") ",%s}", statuses[i]);
		sighting = read_text(text, NULL, NOW_MS);
		assert_non_null(sighting);
		assert_int_equal(sighting->ends, 0);
		assert_int_equal(sighting->containers.items[0].ends, 0);
		assert_true(sighting->containers.items[0].restarts >= 0);
	}
}

/* Of a real scheduler, Cluster Autoscaler and Karpenter, each in the words of its source. */
static void lacking_resources_are_found_in_messages(void **state)
{
#define REQUIRES                                                                                                       \
	"requirements=karpenter.sh/nodepool In [gpu], node.kubernetes.io/instance-type In [g5.xlarge g5.2xlarge]"
#define ASKS	  "resources={\"cpu\":\"705m\",\"memory\":\"873760Ki\",\"nvidia.com/gpu\":\"1\",\"pods\":\"8\"}"
#define ASKS_DISK "resources={\"cpu\":\"705m\",\"ephemeral-storage\":\"1Gi\",\"pods\":\"8\"}"
#define OLD(where)                                                                                                     \
	"Failed to schedule pod, incompatible with nodepool \"default\", daemonset overhead={\"cpu\":\"310m\","        \
	"\"pods\":\"7\"}, no instance type satisfied resources {\"cpu\":\"3310m\",\"memory\":\"3344Mi\","              \
	"\"pods\":\"8\"} and requirements karpenter.sh/capacity-type In [on-demand]" where
	static const struct {
		const char *message;
		unsigned int lacks;
	} rows[] = {
		{"0/5 nodes are available: 2 Insufficient ephemeral-storage, 3 Insufficient memory. preemption: 0/5 "
		 "nodes are "
		 "available: 5 No preemption victims found for incoming pod.",
		 END_UNSCHEDULABLE},
		{"0/1 nodes are available: 1 Insufficient memory.", END_UNSCHEDULABLE_MEMORY},
		{"0/1 nodes are available: 1 Insufficient memory, 1 Insufficient nvidia.com/gpu.",
		 END_UNSCHEDULABLE_MEMORY},
		{"0/1 nodes are available: 1 Insufficient memory.example.com/fast.", 0},
		{"0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient ephemeral-storage-class.", 0},
		{"0/2 nodes are available: 1 node(s) had untolerated taint {memory: low}, 1 Insufficient cpu.", 0},
		{"pod didn't trigger scale-up: 1 Insufficient ephemeral-storage", END_UNSCHEDULABLE_EPHEMERAL},
		{"pod didn't trigger scale-up: 2 node(s) had untolerated taint(s), 3 Insufficient memory",
		 END_UNSCHEDULABLE_MEMORY},
		{"pod didn't trigger scale-up: 2 max node group size reached", 0},
		{"pod didn't trigger scale-up: ", 0},
		{"Failed to schedule pod, no instance type has enough resources, " REQUIRES ", " ASKS,
		 END_UNSCHEDULABLE_MEMORY},
		{"Failed to schedule pod, no instance type has enough resources, " REQUIRES ", " ASKS_DISK,
		 END_UNSCHEDULABLE_EPHEMERAL},
		{"Failed to schedule pod, did not tolerate taint (taint=a=b:NoSchedule); no instance type met the "
		 "scheduling "
		 "requirements or had enough resources, " REQUIRES ", " ASKS,
		 END_UNSCHEDULABLE_MEMORY},
		{"Failed to schedule pod, no instance type which met the scheduling requirements and the required "
		 "offering had "
		 "the required resources, " REQUIRES ", " ASKS,
		 END_UNSCHEDULABLE_MEMORY},
		{"Failed to schedule pod, no instance type met all requirements, " REQUIRES ", " ASKS, 0},
		{"Failed to schedule pod, no instance type has the required offering, " REQUIRES ", " ASKS, 0},
		{"Failed to schedule pod, no instance type which met the scheduling requirements and had enough "
		 "resources, had a "
		 "required offering, " REQUIRES ", " ASKS,
		 0},
		{OLD(""), END_UNSCHEDULABLE_MEMORY},
		{OLD(" (no instance type has enough resources)"), END_UNSCHEDULABLE_MEMORY},
		{OLD(" (no instance type met all requirements)"), 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].message);
		assert_int_equal(sighting_lacks(rows[i].message), rows[i].lacks);
	}
}

#define WAITS(at, message)                                                                                             \
	POD(LABELS, "",                                                                                                \
	    "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"" at     \
	    ",\"message\":\"" message "\"}]}")
#define TURNED(hms)   ",\"lastTransitionTime\":" AT(hms)
#define LACKS_MEMORY  "0/2 nodes are available: 2 Insufficient memory."
#define LACKS_DEVICES "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
#define SCHEDULED(hms)                                                                                                 \
	POD(LABELS, "",                                                                                                \
	    "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"" TURNED( \
		    hms) "}]}")

struct seen_waiting {
	const char *text; /* NULL: the end */
	int64_t minutes;  /* after NOW_MS */
};

/* @return how long it has waited for memory by `minutes` after NOW_MS. */
static int64_t memory_wait_of(const struct seen_waiting *seen, int64_t minutes)
{
	const struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};
	CLEANUP(sighting_freep) struct sighting *before = NULL;
	struct evidence_batch batch;
	int64_t wait_ms;

	for (; seen->text; seen++) {
		struct sighting *now = read_text(seen->text, before, NOW_MS + seen->minutes * TIME_MINUTE_MS);

		sighting_free(before);
		before = now;
	}
	evidence_batch_init(&batch, &window);
	assert_int_equal(sighting_tell(before, NOW_MS + minutes * TIME_MINUTE_MS, &batch), 0);
	wait_ms = batch.pods.items[0]->room_wait_ms;
	evidence_batch_release(&batch);
	return wait_ms;
}

/* NOW_MS is 08:00. Gates, accelerators and what was before the first word of memory do not count. */
static void only_waiting_for_memory_counts(void **state)
{
	static const struct {
		const char *name;
		struct seen_waiting seen[5];
		int64_t minutes, wait_minutes;
	} rows[] = {
		{"from the first", {{WAITS(TURNED("07:55:00"), LACKS_MEMORY), 0}}, 10, 15},
		{"and goes on",
		 {{WAITS(TURNED("08:00:00"), LACKS_MEMORY), 0}, {WAITS(TURNED("08:00:00"), LACKS_MEMORY), 7}},
		 10,
		 10},
		{"behind a gate", {{WAITS("", "waiting for gates"), 0}, {WAITS("", LACKS_MEMORY), 60}}, 65, 5},
		{"first told behind a gate", {{WAITS("", LACKS_MEMORY), 60}}, 65, 5},
		{"for devices first",
		 {{WAITS(TURNED("07:00:00"), LACKS_DEVICES), 0}, {WAITS(TURNED("07:00:00"), LACKS_MEMORY), 60}},
		 65,
		 5},
		{"for devices later",
		 {{WAITS(TURNED("08:00:00"), LACKS_MEMORY), 0}, {WAITS(TURNED("08:00:00"), LACKS_DEVICES), 3}},
		 60,
		 3},
		{"in two goes",
		 {{WAITS(TURNED("08:00:00"), LACKS_MEMORY), 0},
		  {WAITS(TURNED("08:00:00"), LACKS_DEVICES), 3},
		  {WAITS(TURNED("08:00:00"), LACKS_MEMORY), 30}},
		 34,
		 7},
		{"until it was scheduled",
		 {{WAITS(TURNED("08:00:00"), LACKS_MEMORY), 0}, {SCHEDULED("08:04:00"), 5}},
		 60,
		 4},
		{"new, and seen before",
		 {{POD(LABELS, "", "\"status\":{\"phase\":\"Pending\"}"), 0},
		  {WAITS(TURNED("08:01:00"), LACKS_MEMORY), 3}},
		 5,
		 4},
		{"never", {{WAITS(TURNED("07:00:00"), LACKS_DEVICES), 0}}, 60, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].name);
		assert_int_equal(memory_wait_of(rows[i].seen, rows[i].minutes), rows[i].wait_minutes * TIME_MINUTE_MS);
	}
}

/* A pod is told again with conditions that do not say it. */
static void what_events_said_holds_until_there_is_a_node(void **state)
{
	static const struct {
		const char *text;
		int64_t since_minutes, waited_minutes;
		unsigned int lacks;
	} rows[] = {
		{WAITS(TURNED("07:00:00"), LACKS_DEVICES), -30, 0, END_UNSCHEDULABLE_EPHEMERAL},
		{SCHEDULED("08:10:00"), 0, 40, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(sighting_freep)
		struct sighting *before = read_text(WAITS(TURNED("07:00:00"), LACKS_DEVICES), NULL, NOW_MS);
		CLEANUP(sighting_freep) struct sighting *now = NULL;

		before->autoscaler_lacks = END_UNSCHEDULABLE_EPHEMERAL;
		before->ends |= END_UNSCHEDULABLE_EPHEMERAL;
		before->room_since_ms = NOW_MS - 30 * TIME_MINUTE_MS;
		before->events_asked_ms = NOW_MS;
		now = read_text(rows[i].text, before, NOW_MS + 15 * TIME_MINUTE_MS);
		assert_int_equal(now->room_since_ms,
				 rows[i].since_minutes ? NOW_MS + rows[i].since_minutes * TIME_MINUTE_MS : 0);
		assert_int_equal(now->room_waited_ms, rows[i].waited_minutes * TIME_MINUTE_MS);
		assert_int_equal(now->autoscaler_lacks, rows[i].lacks);
		assert_int_equal(now->ends, END_UNSCHEDULABLE_EPHEMERAL);
		assert_int_equal(now->events_asked_ms, NOW_MS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_are_told_apart),
		cmocka_unit_test(recorded_ends_are_told_apart),
		cmocka_unit_test(kills_add_up_over_time),
		cmocka_unit_test(a_kill_that_restarts_the_pod_is_remembered),
		cmocka_unit_test(only_training_pods_are_kept),
		cmocka_unit_test(what_counted_a_pod_is_known_by_its_marks),
		cmocka_unit_test(a_name_taken_again_is_another_pod),
		cmocka_unit_test(a_pod_whose_owners_are_known_now_is_news),
		cmocka_unit_test(a_deleted_pod_on_a_lost_node_is_over_after_a_while),
		cmocka_unit_test(what_is_no_pod_is_refused),
		cmocka_unit_test(an_odd_status_says_nothing),
		cmocka_unit_test(lacking_resources_are_found_in_messages),
		cmocka_unit_test(what_events_said_holds_until_there_is_a_node),
		cmocka_unit_test(only_waiting_for_memory_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
