/* SPDX-License-Identifier: Apache-2.0 */
/* What a running pod gets, and why it gets nothing. */
#include "resize_fixture.h"

#define VPA(kind, name, more)                                                                                          \
	"{\"metadata\":{\"namespace\":\"team-a\",\"name\":\"v\"},\"spec\":{\"targetRef\":{\"kind\":\"" kind            \
	"\",\"name\":\"" name "\"}" more "}}"
#define OF_CRON                                                                                                        \
	"\"ownerReferences\":[{\"apiVersion\":\"batch/"                                                                \
	"v1\",\"kind\":\"Job\",\"name\":\"train-28400000\",\"uid\":\"j1\","                                            \
	"\"controller\":true}]"
#define SET(to)                                                                                                        \
	{                                                                                                              \
		RESIZE_APPLIED, (to)*MI, 0, "", NULL                                                                   \
	}
#define BOTH(to)                                                                                                       \
	{                                                                                                              \
		RESIZE_APPLIED, (to)*MI, (to)*MI, "", NULL                                                             \
	}
#define HELD(why)                                                                                                      \
	{                                                                                                              \
		RESIZE_HELD_BACK, 0, 0, why, NULL                                                                      \
	}
#define PROFILE(limit) .profile_limit_bytes = (limit)*MI, .proven_bytes = 64 * MI
#define CPU	       "\"cpu\":\"1\","
#define GUARANTEED     .requests = CPU "\"memory\":\"64Mi\"", .limits = CPU "\"memory\":\"64Mi\""
#define BEFORE(want)   .kind = RESIZE_KIND_BEFORE, .want_bytes = (want)*MI
#define QUOTA(key, hard, used)                                                                                         \
	"{\"metadata\":{\"name\":\"q\",\"namespace\":\"team-a\"},\"spec\":{\"hard\":{\"" key "\":\"" hard              \
	"\"}},\"status\":{\"hard\":{\"" key "\":\"" hard "\"},\"used\":{\"" key "\":\"" used "\"}}}"
#define RANGE(more)                                                                                                    \
	"{\"metadata\":{\"name\":\"r\",\"namespace\":\"team-a\"},\"spec\":{\"limits\":[{\"type\":\"Container\"," more  \
	"}]}}"
#define SIDE                                                                                                           \
	",\"initContainers\":[{\"name\":\"side\",\"image\":\"s\",\"restartPolicy\":\"Always\",\"resources\":"          \
	"{\"limits\":{\"memory\":\"60Mi\"},\"requests\":{\"memory\":\"10Mi\"}}}]"
#define ANNOTATED(key, value) "\"annotations\":{\"" key "\":\"" value "\"}," OWNER

#define LABELLED(labels) .meta = "\"labels\":{" labels "}," OWNER
#define MANAGED		 "\"kueue.x-k8s.io/managed\":\"true\""

static void a_single_pod_of_kueue_is_never_resized(void **state)
{
	static const struct {
		const char *name;
		struct world world;
		struct outcome outcome;
	} rows[] = {
		{"after a kill", {PROFILE(128), LABELLED(MANAGED)}, HELD("Kueue deletes")},
		{"without a profile", {LABELLED(MANAGED)}, HELD("Kueue deletes")},
		{"before a kill", {PROFILE(128), LABELLED(MANAGED), BEFORE(96)}, HELD("Kueue deletes")},
		{"one of a group",
		 {PROFILE(128), LABELLED(MANAGED ",\"kueue.x-k8s.io/pod-group-name\":\"g\"")},
		 SET(128)},
		{"one of a Job", {PROFILE(128), LABELLED("\"kueue.x-k8s.io/podset\":\"main\"")}, SET(128)},
		{"Guaranteed, of a Job: a queue counted its request",
		 {PROFILE(128), GUARANTEED, LABELLED("\"kueue.x-k8s.io/podset\":\"main\"")},
		 HELD("queue")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].name, &rows[i].world, &rows[i].outcome);
}

static void after_a_kill_it_gets_what_a_new_pod_would(void **state)
{
	static const struct {
		const char *name;
		struct world world;
		struct outcome outcome;
	} rows[] = {
		{"the profile's limit", {PROFILE(128)}, SET(128)},
		{"no profile: twice the killed limit", {0}, SET(128)},
		{"one that does not know of the kill", {.profile_limit_bytes = 60 * MI}, SET(128)},
		{"one that does, and recommends no more",
		 {.profile_limit_bytes = 64 * MI, .proven_bytes = 64 * MI},
		 HELD("recommends no more than")},
		{"a leak", {.profile_limit_bytes = 60 * MI, .flags = REC_LEAK}, SET(128)},
		{"its ceiling", {.profile_limit_bytes = 60 * MI, .ceiling_bytes = 100 * MI}, SET(100)},
		{"the cluster's ceiling", {.cluster_ceiling_bytes = 90 * MI}, SET(90)},
		{"its ceiling above the cluster's",
		 {.profile_limit_bytes = 60 * MI, .ceiling_bytes = 120 * MI, .cluster_ceiling_bytes = 90 * MI},
		 SET(120)},
		{"its ceiling below the cluster's",
		 {.profile_limit_bytes = 60 * MI, .ceiling_bytes = 80 * MI, .cluster_ceiling_bytes = 90 * MI},
		 SET(80)},
		{"a pin above both",
		 {PROFILE(100), .pin_bytes = 100 * MI, .ceiling_bytes = 80 * MI, .cluster_ceiling_bytes = 90 * MI},
		 SET(100)},
		{"at its ceiling", {.profile_limit_bytes = 60 * MI, .ceiling_bytes = 64 * MI}, HELD("ceiling")},
		{"a pin", {PROFILE(128), .pin_bytes = 64 * MI}, HELD("pins")},
		{"a larger pin", {PROFILE(80), .pin_bytes = 80 * MI}, SET(80)},
		{"Guaranteed stays Guaranteed", {PROFILE(128), GUARANTEED}, BOTH(128)},
		{"Guaranteed, and room on the node for less",
		 {PROFILE(128), GUARANTEED, .node_bytes = 1000 * MI, .other_requests = 900 * MI},
		 BOTH(100)},
		{"Guaranteed, and no room",
		 {PROFILE(128), GUARANTEED, .node_bytes = 1000 * MI, .other_requests = 936 * MI},
		 HELD("no room")},
		{"Guaranteed, and its request found no room once",
		 {PROFILE(128), GUARANTEED, .flags = REC_HARM | REC_NO_RAISE},
		 HELD("stayed pending")},
		{"Burstable, and its request found no room once",
		 {PROFILE(128), .flags = REC_HARM | REC_NO_RAISE},
		 SET(128)},
		{"Guaranteed, and pinned",
		 {PROFILE(128), GUARANTEED, .flags = REC_HARM | REC_NO_RAISE, .pin_bytes = 128 * MI},
		 BOTH(128)},
		{"Burstable needs no room for its request",
		 {PROFILE(128), .node_bytes = 1000 * MI, .other_requests = 968 * MI},
		 SET(128)},
		{"never more than the node", {PROFILE(4096), .node_bytes = 1000 * MI}, SET(1000)},
		{"a quota of limits: what is left and what it holds",
		 {PROFILE(128), .quota = QUOTA("limits.memory", "200Mi", "164Mi")},
		 SET(100)},
		{"a full quota", {PROFILE(128), .quota = QUOTA("limits.memory", "164Mi", "164Mi")}, HELD("quota q")},
		{"a quota of requests does not bind the limit",
		 {PROFILE(128), .quota = QUOTA("requests.memory", "32Mi", "32Mi")},
		 SET(128)},
		{"Guaranteed, and a quota of requests",
		 {PROFILE(128), GUARANTEED, .quota = QUOTA("requests.memory", "100Mi", "64Mi")},
		 BOTH(100)},
		{"a LimitRange's maximum", {PROFILE(128), .range = RANGE("\"max\":{\"memory\":\"96Mi\"}")}, SET(96)},
		{"a LimitRange's maximum that it has",
		 {PROFILE(128), .range = RANGE("\"max\":{\"memory\":\"64Mi\"}")},
		 HELD("")},
		{"mode fill by the namespace",
		 {PROFILE(128), .labels = "\"memtamer.io/mode\":\"fill\""},
		 HELD("mode fill")},
		{"mode off by the namespace",
		 {PROFILE(128), .labels = "\"memtamer.io/mode\":\"off\""},
		 HELD("mode-off")},
		{"an ignored namespace", {PROFILE(128), .labels = "\"memtamer.io/ignore\":\"true\""}, HELD("ignored")},
		{"modeCap", {PROFILE(128), .cap = "observe"}, HELD("mode observe (modeCap")},
		{"modeCap of its own profile",
		 {PROFILE(128), .own_cap = "observe"},
		 HELD("mode observe (modeCap of the workload's profile)")},
		{"that of a profile that knows nothing of the kill",
		 {.profile_limit_bytes = 60 * MI, .own_cap = "fill"},
		 HELD("mode fill (modeCap of the workload's profile)")},
		{"modeCap raise", {PROFILE(128), .own_cap = "raise"}, SET(128)},
		{"modeCap of another container's profile",
		 {PROFILE(128), .spec = SIDE, .other_cap = "observe"},
		 HELD("mode observe (modeCap of the workload's profile)")},
		{"the same, and no profile of its own",
		 {.spec = SIDE, .other_cap = "observe"},
		 HELD("mode observe (modeCap of the workload's profile)")},
		{"one of a container that the pod does not have", {PROFILE(128), .other_cap = "observe"}, SET(128)},
		{"what another container would get takes no room",
		 {PROFILE(128), .spec = SIDE, .other_cap = "raise", .quota = QUOTA("limits.memory", "200Mi", "124Mi")},
		 SET(128)},
		{"a limit that a LimitRange has set, in mode fill",
		 {PROFILE(128), .own_cap = "fill",
		  .meta = ANNOTATED("kubernetes.io/limit-ranger",
				    "LimitRanger plugin set: memory limit for container main")},
		 HELD("mode fill")},
		{"a pod that says observe",
		 {PROFILE(128), .meta = ANNOTATED("memtamer.io/mode", "observe")},
		 HELD("mode observe")},
		{"a pod that says off",
		 {PROFILE(128), .meta = ANNOTATED("memtamer.io/resize", "off")},
		 HELD("does not allow")},
		{"a pod that we decided about",
		 {PROFILE(128),
		  .meta = ANNOTATED(
			  "memtamer.io/decision",
			  "{\\\"v\\\":1,\\\"mode\\\":\\\"raise\\\",\\\"set\\\":[{\\\"c\\\":\\\"main\\\",\\\"r\\\":"
			  "\\\"memory\\\","
			  "\\\"f\\\":\\\"limit\\\",\\\"to\\\":\\\"64Mi\\\",\\\"rule\\\":\\\"peak+buffer\\\"}]}")},
		 SET(128)},
		{"a bare pod", {PROFILE(128), .meta = "\"labels\":{}"}, HELD("bare pod")},
		{"a bare pod that asks for it",
		 {PROFILE(128), .meta = "\"annotations\":{\"memtamer.io/mode\":\"raise\"}"},
		 SET(128)},
		{"Ray", {PROFILE(128), .meta = "\"labels\":{\"ray.io/cluster\":\"c\"}," OWNER}, HELD("")},
		{"a VPA", {PROFILE(128), .meta = ANNOTATED("vpaUpdates", "x")}, HELD("VerticalPodAutoscaler")},
		{"a VPA of its Job", {PROFILE(128), .vpa = VPA("Job", "train", "")}, HELD("a VPA sizes it")},
		{"a VPA of another Job", {PROFILE(128), .vpa = VPA("Job", "other", "")}, SET(128)},
		{"a VPA of cpu",
		 {PROFILE(128), .vpa = VPA("Job", "train",
					   ",\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\","
					   "\"controlledResources\":[\"cpu\"]}]}")},
		 SET(128)},
		{"a VPA of the CronJob that made its Job",
		 {PROFILE(128), .meta = OF_CRON, .vpa = VPA("CronJob", "train", "")},
		 HELD("a VPA sizes it")},
		{"a VPA that cannot be read", {PROFILE(128), .vpa = "{\"spec\":[]}"}, SET(128)},
		{"a queue counts requests only",
		 {PROFILE(128), .meta = "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}," OWNER},
		 SET(128)},
		{"a queue, and Guaranteed",
		 {PROFILE(128), GUARANTEED, .meta = "\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}," OWNER},
		 HELD("queue")},
		{"pod-level memory",
		 {PROFILE(128), .spec = ",\"resources\":{\"limits\":{\"memory\":\"1Gi\"}}"},
		 HELD("")},
		{"a restart for memory",
		 {PROFILE(128),
		  .container =
			  ",\"resizePolicy\":[{\"resourceName\":\"memory\",\"restartPolicy\":\"RestartContainer\"}]"},
		 HELD("resizePolicy")},
		{"a restart for cpu only",
		 {PROFILE(128),
		  .container = ",\"resizePolicy\":[{\"resourceName\":\"cpu\",\"restartPolicy\":\"RestartContainer\"},"
			       "{\"resourceName\":\"memory\",\"restartPolicy\":\"NotRequired\"}]"},
		 SET(128)},
		{"a static pod", {PROFILE(128), .meta = ANNOTATED("kubernetes.io/config.mirror", "x")}, HELD("static")},
		{"raised meanwhile", {PROFILE(128), .limits = "\"memory\":\"96Mi\""}, HELD("was raised since")},
		{"no limit", {PROFILE(128), .limits = "\"cpu\":\"1\""}, HELD("no memory limit")},
		{"another resize waits",
		 {PROFILE(128),
		  .status = "\"phase\":\"Running\",\"conditions\":[{\"type\":\"PodResizePending\",\"status\":\"True\","
			    "\"reason\":\"Deferred\",\"message\":\"no room now\"}]"},
		 HELD("no room now")},
		{"ended", {PROFILE(128), .status = "\"phase\":\"Failed\""}, {RESIZE_GONE, 0, 0, "ended", NULL}},
		{"not a training pod",
		 {PROFILE(128), .meta = OWNER ",\"labels\":{\"memtamer.io/ignore\":\"true\"}"},
		 HELD("left alone")},
		{"never lowered", {.profile_limit_bytes = 40 * MI, .proven_bytes = 64 * MI}, HELD("")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].name, &rows[i].world, &rows[i].outcome);
}

#define REMEDY(why, remedy)                                                                                            \
	{                                                                                                              \
		RESIZE_HELD_BACK, 0, 0, why, remedy                                                                    \
	}

static void what_holds_it_back_says_what_to_do(void **state)
{
	static const struct {
		const char *name;
		struct world world;
		struct outcome outcome;
	} rows[] = {
		{"mode", {PROFILE(128), .own_cap = "fill"}, REMEDY("mode fill", "change that")},
		{"quota",
		 {PROFILE(128), .quota = QUOTA("limits.memory", "164Mi", "164Mi")},
		 REMEDY("quota q", "change that")},
		{"ceiling", {.cluster_ceiling_bytes = 64 * MI}, REMEDY("ceiling", "raise that ceiling")},
		{"pin", {PROFILE(128), .pin_bytes = 64 * MI}, REMEDY("pins", "raise that pin")},
		{"QoS, and no room",
		 {PROFILE(128), GUARANTEED, .node_bytes = 1000 * MI, .other_requests = 936 * MI},
		 REMEDY("no room", RESIZE_REMEDY_NODE)},
		{"node", {PROFILE(128), .node_bytes = 64 * MI}, REMEDY("no room", RESIZE_REMEDY_NODE)},
		{"annotation",
		 {PROFILE(128), .meta = ANNOTATED("memtamer.io/resize", "off")},
		 REMEDY("annotation", "remove that annotation")},
		{"resizePolicy",
		 {PROFILE(128), .container = ",\"resizePolicy\":[{\"resourceName\":\"memory\"}]"},
		 REMEDY("resizePolicy", "")},
		{"raised meanwhile", {PROFILE(128), .limits = "\"memory\":\"96Mi\""}, REMEDY("raised since", "(none)")},
		{"left alone",
		 {PROFILE(128), .labels = "\"memtamer.io/mode\":\"off\""},
		 REMEDY("left alone", "(none)")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].name, &rows[i].world, &rows[i].outcome);
}

static void before_a_kill_it_stays_within_the_node(void **state)
{
	static const struct {
		const char *name;
		struct world world;
		struct outcome outcome;
	} rows[] = {
		{"what the forecast wants", {BEFORE(90)}, SET(90)},
		{"the profile's limit, if that is larger", {BEFORE(90), PROFILE(128)}, SET(128)},
		{"not a smaller one", {BEFORE(90), PROFILE(70)}, SET(90)},
		{"only onOOM is on", {BEFORE(90), .mode = RESIZE_ON_OOM}, HELD("does not allow")},
		{"only onOOM by the pod",
		 {BEFORE(90), .meta = ANNOTATED("memtamer.io/resize", "onOOM")},
		 HELD("does not allow")},
		{"what the others leave", {BEFORE(90), .node_bytes = 1000 * MI, .other_needs = 920 * MI}, SET(80)},
		{"nothing left", {BEFORE(90), .node_bytes = 1000 * MI, .other_needs = 936 * MI}, HELD("no room")},
		{"more used than there is",
		 {BEFORE(90), .node_bytes = 1000 * MI, .other_needs = 2000 * MI},
		 HELD("no room")},
		{"a leak up to its ceiling",
		 {BEFORE(90), PROFILE(64), .flags = REC_LEAK, .ceiling_bytes = 72 * MI},
		 SET(72)},
		{"a leak at its ceiling",
		 {BEFORE(90), PROFILE(64), .flags = REC_LEAK, .ceiling_bytes = 64 * MI},
		 HELD("ceiling")},
		{"page cache", {BEFORE(90), PROFILE(64), .flags = REC_CACHE_BOUND}, HELD("page cache")},
		{"modeCap", {BEFORE(90), PROFILE(128), .own_cap = "observe"}, HELD("mode observe")},
		{"modeCap of another container's profile",
		 {BEFORE(90), .spec = SIDE, .other_cap = "observe"},
		 HELD("mode observe")},
		{"a pin", {BEFORE(90), .profile_limit_bytes = 64 * MI, .pin_bytes = 64 * MI}, HELD("pins")},
		{"Guaranteed", {BEFORE(90), GUARANTEED}, BOTH(90)},
		{"a quota", {BEFORE(90), .quota = QUOTA("limits.memory", "80Mi", "64Mi")}, SET(80)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].name, &rows[i].world, &rows[i].outcome);
}

static void without_a_profile_it_is_doubled_once(void **state)
{
	static const struct {
		const char *own;
		struct outcome outcome;
	} rows[] = {
		{"64Mi", SET(128)},
		{"48Mi", SET(96)},
		{"32Mi", HELD("doubled already")},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char meta[1024];
		const struct world world = {.meta = meta};

		snprintf(meta, sizeof(meta),
			 OWNER ",\"managedFields\":[{\"manager\":\"memtamer-resize-oom-%s\",\"subresource\":\"resize\","
			       "\"fieldsV1\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":"
			       "{\"f:resources\":{\"f:limits\":{\"f:memory\":{}}}}}}}}]",
			 rows[i].own);
		check(rows[i].own, &world, &rows[i].outcome);
	}
}

static void what_it_had_before_the_first_resize_is_kept(void **state)
{
	static const char managed[] = OWNER
		",\"managedFields\":[{\"manager\":\"memtamer-resize-oom-32Mi\",\"operation\":\"Update\","
		"\"subresource\":\"resize\","
		"\"fieldsV1\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":{\"f:resources\":"
		"{\"f:limits\":{\"f:memory\":{}}}}}}}}]";
	static const char others[] = OWNER
		",\"managedFields\":[{\"manager\":\"memtamer-resize-oom-32Mi\",\"operation\":\"Update\","
		"\"subresource\":\"resize\","
		"\"fieldsV1\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"other\\\"}\":{\"f:resources\":"
		"{\"f:limits\":{\"f:memory\":{}}}}}}}},{\"manager\":\"memtamer-resize-oom-32Mi\",\"operation\":"
		"\"Update\"}]";
	const struct world mine = {.meta = managed}, not_mine = {.meta = others};
	struct resize_plan plan_;

	(void)state;
	plan(&mine, &plan_);
	assert_int_equal(plan_.own_bytes, 32 * MI);
	plan(&not_mine, &plan_);
	assert_int_equal(plan_.own_bytes, 64 * MI);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_single_pod_of_kueue_is_never_resized),
		cmocka_unit_test(after_a_kill_it_gets_what_a_new_pod_would),
		cmocka_unit_test(what_holds_it_back_says_what_to_do),
		cmocka_unit_test(before_a_kill_it_stays_within_the_node),
		cmocka_unit_test(without_a_profile_it_is_doubled_once),
		cmocka_unit_test(what_it_had_before_the_first_resize_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
