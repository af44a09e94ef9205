/* SPDX-License-Identifier: Apache-2.0 */
/* Resizes against an API server that is played: what is asked and sent, conflicts, refusals, a cluster without the
 * subresource, and a kubelet that defers, refuses or never answers. */
#include "support/test.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "fake_api.h"
#include "kube/kube_server.h"
#include "resize/resizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MI ((int64_t)MIB)

/* What the played cluster does. */
struct play {
	int64_t limit_mi, live_mi; /* of the pod's container */
	int conflicts;		   /* so many patches conflict first */
	int patch_status;	   /* 0: it is taken */
	int back_conflicts;	   /* so many patches conflict when it is to be taken back */
	int back_status;	   /* of patches that take it back; 0: they are taken */
	bool is_back_lost;	   /* they are taken, and the answer is cut off */
	int pod_status;		   /* of GETs of the pod; 0: it is there */
	const char *condition;	   /* once patched; "" none */
	bool is_lost;		   /* the first patch is taken, and the answer is cut off */
	int lost_status;	   /* ... is taken, and answered with this */
	bool is_lost_to_another;   /* ... it was not, somebody else set just that */
	bool is_set;		   /* the kubelet sets what is patched */
	int looks_until_set;
	int looks_until_running;
	const char *seen; /* instead of the pod, once patched */
	const char *uid;
	const char *profile; /* the only one; NULL: the kind is not known */
	size_t version, patches;
	char last_patch[1024], manager[64];
};

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
	struct resizer *resizer;
	struct policy policy;
	struct play play;
	enum resize_result results[4];
	size_t n_results;
	int64_t to_bytes;
	char why[256];
};

static char *printed(const char *fmt, ...) ATTR_PRINTF(1, 2);
static char *printed(const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

static char *pod_text(struct play *play)
{
	bool is_patched = play->patches > 0 && play->limit_mi != 64;

	if (is_patched && play->is_set && play->looks_until_set-- <= 0)
		play->live_mi = play->limit_mi;
	return printed(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"team-a\",\"name\":\"train-x\","
		"\"uid\":\"%s\",\"resourceVersion\":\"%zu\",\"labels\":{\"memtamer.io/training\":\"true\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"train\",\"uid\":\"j1\","
		"\"controller\":true}],\"managedFields\":[{\"manager\":\"%s\",\"operation\":\"Update\",\"subresource\":"
		"\"resize\",\"fieldsV1\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":{\"f:"
		"resources\":"
		"{\"f:limits\":{\"f:memory\":{}}}}}}}}]},\"spec\":{\"nodeName\":\"n1\",\"restartPolicy\":\"OnFailure\","
		"\"containers\":"
		"[{\"name\":\"main\",\"image\":\"i\",\"resources\":{\"requests\":{\"memory\":\"32Mi\"},\"limits\":"
		"{\"memory\":\"%lldMi\"}}},{\"name\":\"side\",\"image\":\"s\"}]},\"status\":{\"phase\":\"Running\","
		"\"conditions\":[%s],"
		"\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"%s\":{}},\"resources\":{\"limits\":{\"memory\":"
		"\"%lldMi\"}}}]}}",
		play->uid, play->version, *play->manager ? play->manager : "kubectl-create", (long long)play->limit_mi,
		is_patched && play->condition ? play->condition : "",
		play->looks_until_running-- > 0 ? "waiting" : "running", (long long)play->live_mi);
}

/* {"op":"replace","path":"/spec/containers/0/resources/limits/memory","value":"128Mi"} */
static int64_t patched_limit(const char *request)
{
	const char *at = strstr(request, "/limits/memory\",\"value\":\"");

	return at ? strtoll(at + strlen("/limits/memory\",\"value\":\""), NULL, 10) : 0;
}

/* "PATCH ...?fieldManager=memtamer-resize-oom-64Mi HTTP/1.1" */
static void read_manager(const char *request, char *ret, size_t size)
{
	const char *at = strstr(request, "fieldManager=");

	at = at ? at + strlen("fieldManager=") : "";
	snprintf(ret, size, "%.*s", (int)strcspn(at, " &"), at);
}

static char *refuse(int status, struct fake_step *ret)
{
	ret->status = status;
	return printed("{\"kind\":\"Status\",\"code\":%d,\"message\":\"the words of the server\"}", status);
}

static char *answer_patch(struct play *play, const char *request, struct fake_step *ret)
{
	const char *body = strstr(request, "\r\n\r\n");
	bool is_back = play->patches > 0;
	int *conflicts = is_back ? &play->back_conflicts : &play->conflicts;
	int status = is_back ? play->back_status : play->patch_status;

	snprintf(play->last_patch, sizeof(play->last_patch), "%.300s...%s", request, body ? body + 4 : "");
	if (*conflicts > 0) {
		(*conflicts)--;
		play->version++;
		return refuse(409, ret);
	}
	if (status)
		return refuse(status, ret);
	if (is_back ? play->is_back_lost : play->is_lost || play->is_lost_to_another)
		ret->end = FAKE_CUT;
	if (!is_back)
		ret->status = play->lost_status;
	read_manager(request, play->manager, sizeof(play->manager));
	if (play->is_lost_to_another)
		snprintf(play->manager, sizeof(play->manager), "kubectl-patch");
	play->patches++;
	play->version++;
	play->limit_mi = patched_limit(request);
	return pod_text(play);
}

static char *answer(void *context, const char *request, struct fake_step *ret)
{
	struct play *play = context;

	if (strstarts(request, "PATCH /api/v1/namespaces/team-a/pods/train-x/resize?"))
		return answer_patch(play, request, ret);
	if (strstarts(request, "GET /api/v1/namespaces/team-a/pods/train-x ") && play->seen && play->patches)
		return printed("%s", play->seen);
	if (strstarts(request, "GET /api/v1/namespaces/team-a/pods/train-x ")) {
		ret->status = play->pod_status;
		return play->pod_status
			       ? printed("{\"kind\":\"Status\",\"code\":%d,\"message\":\"no\"}", play->pod_status)
			       : pod_text(play);
	}
	if (strstarts(request, "GET /api/v1/namespaces/team-a "))
		return printed("{\"metadata\":{\"name\":\"team-a\"}}");
	if (strstarts(request, "GET /api/v1/nodes/n1 "))
		return printed("{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{\"memory\":\"1Gi\"}}}");
	if (strstarts(request, "GET /apis/memtamer.io/v1alpha1/namespaces/team-a/memoryprofiles") && play->profile)
		return printed(
			"{\"kind\":\"MemoryProfileList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[%s]}",
			play->profile);
	if (strstarts(request, "GET /apis/memtamer.io/v1alpha1/namespaces/team-a/memoryprofiles")) {
		ret->status = 404;
		return printed(
			"{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\",\"message\":\"not installed\"}");
	}
	if (strstarts(request, "GET /apis/autoscaling.k8s.io/v1/namespaces/team-a/verticalpodautoscalers?")) {
		ret->status = 403;
		return printed("{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\",\"message\":\"no\"}");
	}
	if (strstarts(request, "GET /api/v1/namespaces/team-a/limitranges") ||
	    strstarts(request, "GET /api/v1/namespaces/team-a/resourcequotas") ||
	    strstarts(request, "GET /api/v1/pods?"))
		return printed("{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}");
	ret->status = 599;
	return NULL;
}

static void told(void *context, const struct resize_report *report)
{
	struct world *world = context;

	assert_true(world->n_results < ARRAY_LEN(world->results));
	world->results[world->n_results++] = report->result;
	world->to_bytes = report->to_bytes;
	snprintf(world->why, sizeof(world->why), "%s", report->why);
}

static void world_start(struct world *world, const struct play *play)
{
	struct resizer_config config = {.policy = &world->policy, .report = told, .context = world, .poll_ms = 5};

	*world = (struct world){.play = *play};
	if (!world->play.uid)
		world->play.uid = "u1";
	world->play.limit_mi = world->play.live_mi = 64;
	world->play.version = 7;
	policy_default(&world->policy);
	world->policy.mode = MODE_RAISE;
	world->policy.resize = RESIZE_ON_OOM;
	world->api = fake_api_start_with(answer, &world->play);
	world->server.url = fake_api_url(world->api);
	assert_int_equal(kube_client_new(&world->server, NULL, &world->client, NULL), 0);
	config.client = world->client;
	config.follow_ms = world->play.is_set || world->play.condition ? 0 : 100;
	assert_int_equal(resizer_new(&config, &world->resizer, NULL), 0);
}

static void world_stop(struct world *world)
{
	resizer_free(world->resizer);
	kube_client_free(world->client);
	fake_api_free(world->api);
}

static void post_kind(struct world *world, enum resize_kind kind)
{
	struct resize_ask ask = {
		.kind = kind, .namespace_name = "team-a", .pod = "train-x", .uid = "u1", .container = "main"};

	if (kind == RESIZE_KIND_OOM)
		ask.killed_bytes = 64 * MI;
	else
		ask.want_bytes = 80 * MI;
	assert_int_equal(resizer_post(world->resizer, &ask), 0);
}

static void post(struct world *world)
{
	post_kind(world, RESIZE_KIND_OOM);
}

/* Until so many results were told. */
static void wait_results(struct world *world, size_t n)
{
	while (world->n_results < n) {
		resizer_turn(world->resizer);
		assert_int_equal(kube_client_poll(world->client, NULL, 0, 100, NULL), 0);
		assert_int_equal(fake_api_unexpected(world->api), 0);
	}
	resizer_turn(world->resizer);
}

#define CONDITION(type, reason)                                                                                        \
	"{\"type\":\"" type "\",\"status\":\"True\",\"reason\":\"" reason "\",\"message\":\"words of the kubelet\"}"

#define PROFILE(workload, container)                                                                                   \
	"{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{\"namespace\":\"team-a\","  \
	"\"name\":\"p\"},\"spec\":{\"modeCap\":\"observe\"},\"status\":{\"workload\":\"" workload                      \
	"\",\"role\":\"\",\"container\":\"" container "\"}}"

static void what_comes_of_an_ask(void **state)
{
	static const struct {
		const char *name;
		struct play play;
		enum resize_result results[2];
		size_t n_results, n_patches;
		int64_t limit_mi; /* in the end */
		const char *why;
	} rows[] = {
		{"set", {.is_set = true}, {RESIZE_APPLIED}, 1, 1, 128, ""},
		{"set after a while", {.is_set = true, .looks_until_set = 3}, {RESIZE_APPLIED}, 1, 1, 128, ""},
		{"set when it runs", {.is_set = true, .looks_until_running = 4}, {RESIZE_APPLIED}, 1, 1, 128, ""},
		{"never runs", {.looks_until_running = 1000000}, {RESIZE_UNANSWERED}, 1, 0, 64, "does not run"},
		{"conflicts, then set", {.conflicts = 3, .is_set = true}, {RESIZE_APPLIED}, 1, 1, 128, ""},
		{"conflicts for ever", {.conflicts = 1000}, {RESIZE_UNANSWERED}, 1, 0, 64, "faster"},
		{"set, and the answer is lost", {.is_lost = true, .is_set = true}, {RESIZE_APPLIED}, 1, 1, 128, ""},
		{"set, and told as a conflict", {.lost_status = 409, .is_set = true}, {RESIZE_APPLIED}, 1, 1, 128, ""},
		{"set, and told as a failure", {.lost_status = 504, .is_set = true}, {RESIZE_APPLIED}, 1, 1, 128, ""},
		{"the answer is lost, deferred",
		 {.is_lost = true, .condition = CONDITION("PodResizePending", "Deferred")},
		 {RESIZE_DEFERRED},
		 1,
		 1,
		 128,
		 "words of the kubelet"},
		{"lost, and somebody else set it",
		 {.is_lost_to_another = true, .is_set = true},
		 {RESIZE_HELD_BACK},
		 1,
		 1,
		 128,
		 "was raised since"},
		{"refused by a quota", {.patch_status = 403}, {RESIZE_REFUSED}, 1, 0, 64, "the words of the server"},
		{"refused as wrong", {.patch_status = 422}, {RESIZE_REFUSED}, 1, 0, 64, "the words of the server"},
		{"not known to the server",
		 {.patch_status = 401},
		 {RESIZE_REFUSED},
		 1,
		 0,
		 64,
		 "the words of the server"},
		{"not known when we look", {.pod_status = 401}, {RESIZE_REFUSED}, 1, 0, 64, "no"},
		{"a wrong question", {.pod_status = 400}, {RESIZE_REFUSED}, 1, 0, 64, "no"},
		{"no such subresource", {.patch_status = 404}, {RESIZE_UNSUPPORTED}, 1, 0, 64, "1.33"},
		{"no such pod", {.pod_status = 404}, {RESIZE_GONE}, 1, 0, 64, "ended"},
		{"we may not look", {.pod_status = 403}, {RESIZE_REFUSED}, 1, 0, 64, ""},
		{"its profile says no",
		 {.profile = PROFILE("Job/train", "main")},
		 {RESIZE_HELD_BACK},
		 1,
		 0,
		 64,
		 "modeCap"},
		{"that of its other container says no",
		 {.profile = PROFILE("Job/train", "side")},
		 {RESIZE_HELD_BACK},
		 1,
		 0,
		 64,
		 "modeCap"},
		{"that of another workload says no",
		 {.profile = PROFILE("Job/other", "main"), .is_set = true},
		 {RESIZE_APPLIED},
		 1,
		 1,
		 128,
		 ""},
		{"another pod of its name", {.uid = "u2"}, {RESIZE_GONE}, 1, 0, 64, "ended"},
		{"infeasible, taken back",
		 {.condition = CONDITION("PodResizePending", "Infeasible")},
		 {RESIZE_INFEASIBLE},
		 1,
		 2,
		 64,
		 "words of the kubelet"},
		{"infeasible, and the kubelet tells of the pod meanwhile",
		 {.condition = CONDITION("PodResizePending", "Infeasible"), .back_conflicts = 3},
		 {RESIZE_INFEASIBLE},
		 1,
		 2,
		 64,
		 "words of the kubelet"},
		{"infeasible, and the answer is lost",
		 {.condition = CONDITION("PodResizePending", "Infeasible"), .is_back_lost = true},
		 {RESIZE_INFEASIBLE},
		 1,
		 2,
		 64,
		 "words of the kubelet"},
		{"infeasible, conflicts for ever",
		 {.condition = CONDITION("PodResizePending", "Infeasible"), .back_conflicts = 1000},
		 {RESIZE_INFEASIBLE},
		 1,
		 1,
		 128,
		 "could not be taken back"},
		{"infeasible, and a refusal",
		 {.condition = CONDITION("PodResizePending", "Infeasible"), .back_status = 403},
		 {RESIZE_INFEASIBLE},
		 1,
		 1,
		 128,
		 "could not be taken back: forbidden: the words of the server"},
		{"deferred, then set",
		 {.condition = CONDITION("PodResizePending", "Deferred")},
		 {RESIZE_DEFERRED},
		 1,
		 1,
		 128,
		 "words of the kubelet"},
		{"no pod, in the place of the pod",
		 {.is_set = true, .seen = "{\"kind\":\"Pod\"}"},
		 {RESIZE_UNANSWERED},
		 1,
		 1,
		 128,
		 "cannot be read: not a pod"},
		{"never set", {.is_set = false}, {RESIZE_UNANSWERED}, 1, 1, 128, "has not set it yet"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;

		test_row(rows[i].name);
		world_start(&world, &rows[i].play);
		post(&world);
		wait_results(&world, rows[i].n_results);
		assert_int_equal(world.results[0], rows[i].results[0]);
		assert_int_equal(world.play.patches, rows[i].n_patches);
		assert_int_equal(world.play.limit_mi, rows[i].limit_mi);
		if (!strstr(world.why, rows[i].why))
			fail_msg("%s", world.why);
		world_stop(&world);
	}
}

static void a_patch_says_who_and_what_it_was_made_from(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, &(struct play){.is_set = true});
	post(&world);
	post(&world); /* the same container: once */
	assert_int_equal(resizer_count(world.resizer), 1);
	wait_results(&world, 1);
	assert_non_null(strstr(world.play.last_patch, "?fieldManager=memtamer-resize-oom-64Mi "));
	assert_non_null(
		strstr(world.play.last_patch,
		       "[{\"op\":\"replace\",\"path\":\"\\/metadata\\/resourceVersion\",\"value\":\"7\"}") ||
				strstr(world.play.last_patch,
				       "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"}")
			? ""
			: NULL);
	assert_null(strstr(world.play.last_patch, "requests")); /* Burstable: its request stays */
	assert_int_equal(world.to_bytes, 128 * MI);
	assert_int_equal(resizer_count(world.resizer), 0);
	world_stop(&world);
}

static void a_cluster_without_it_is_not_asked_again_soon(void **state)
{
	struct world world;
	size_t n;

	(void)state;
	world_start(&world, &(struct play){.patch_status = 404});
	post(&world);
	wait_results(&world, 1);
	n = fake_api_count(world.api, "PATCH ");
	post(&world);
	wait_results(&world, 2);
	assert_int_equal(world.results[1], RESIZE_UNSUPPORTED);
	assert_int_equal(fake_api_count(world.api, "PATCH "), n);
	world_stop(&world);
}

/* Only what was killed may be resized here: what comes of it says which was asked for. */
static void a_kill_is_not_lost_behind_another_ask(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, &(struct play){.is_set = true});
	post_kind(&world, RESIZE_KIND_BEFORE);
	resizer_turn(world.resizer);
	post_kind(&world, RESIZE_KIND_BEFORE);
	post(&world);
	post_kind(&world, RESIZE_KIND_BEFORE);
	resizer_turn(world.resizer);
	assert_int_equal(resizer_count(world.resizer), 2); /* one under way, one that waits for it */
	wait_results(&world, 2);
	assert_int_equal(world.results[0], RESIZE_HELD_BACK);
	assert_int_equal(world.results[1], RESIZE_APPLIED);
	assert_int_equal(resizer_count(world.resizer), 0);
	world_stop(&world);
}

static void what_will_rise_waits_for_nothing(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, &(struct play){.is_set = true});
	post(&world);
	resizer_turn(world.resizer);
	post_kind(&world, RESIZE_KIND_BEFORE);
	resizer_turn(world.resizer);
	assert_int_equal(resizer_count(world.resizer), 1);
	wait_results(&world, 1);
	assert_int_equal(world.results[0], RESIZE_APPLIED);
	world_stop(&world);
}

static void it_ends_in_the_middle(void **state)
{
	struct world world;

	(void)state;
	world_start(&world, &(struct play){.condition = CONDITION("PodResizeInProgress", "")});
	post(&world);
	while (fake_api_count(world.api, "PATCH ") == 0) {
		resizer_turn(world.resizer);
		assert_int_equal(kube_client_poll(world.client, NULL, 0, 10, NULL), 0);
	}
	world_stop(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_of_an_ask),
		cmocka_unit_test(a_patch_says_who_and_what_it_was_made_from),
		cmocka_unit_test(a_cluster_without_it_is_not_asked_again_soon),
		cmocka_unit_test(a_kill_is_not_lost_behind_another_ask),
		cmocka_unit_test(what_will_rise_waits_for_nothing),
		cmocka_unit_test(it_ends_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
