/* SPDX-License-Identifier: Apache-2.0 */
/* Which Events are written where a container restarts with the size that killed it, against an API server that is
 * played. */
#include "service_fixture.h"

#include "base/limits.h"
#include "config/config.h"
#include "service/metrics.h"
#include "service/resizes.h"

#include <signal.h>

#define NO_LABELS ""
#define MODE	  "\"memtamer.io/mode\":\"fill\""
#define QUOTA                                                                                                          \
	"{\"metadata\":{\"name\":\"q\",\"namespace\":\"ml\"},\"spec\":{\"hard\":{\"limits.memory\":\"64Mi\"}},"        \
	"\"status\":{\"hard\":{\"limits.memory\":\"64Mi\"},\"used\":{\"limits.memory\":\"64Mi\"}}}"

/* What the played cluster answers. */
struct play {
	const char *labels; /* of the namespace */
	const char *quota;
	const char *limit;	 /* of the container */
	const char *node_memory; /* NULL: 1Gi */
	int patch_status;	 /* 0: the resize is accepted */
	const char *condition;	 /* of the pod, once it is resized */
	bool is_resized, is_back;
};

static const char *pod_limit(const struct play *play)
{
	return play->is_resized && !play->is_back ? "128Mi" : play->limit;
}

static char *print(const char *fmt, ...) ATTR_PRINTF(1, 2);
static char *print(const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	assert_true(vasprintf(&text, fmt, args) > 0);
	va_end(args);
	return text;
}

static char *refuse(int status, struct fake_step *ret)
{
	ret->status = status;
	return print(STATUS("%d", "no"), status);
}

static char *answer_pod(const struct play *play, const char *name)
{
	return print("{\"metadata\":{\"namespace\":\"ml\",\"name\":\"%s\",\"uid\":\"uid-%s\",\"resourceVersion\":\"1\","
		     "\"labels\":{\"memtamer.io/training\":\"true\"},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\","
		     "\"kind\":\"Job\",\"name\":\"train\",\"uid\":\"j1\",\"controller\":true}]},\"spec\":{\"nodeName\":"
		     "\"n1\",\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{\"memory\":\"32Mi\"},"
		     "\"limits\":{\"memory\":\"%s\"}}}]},\"status\":{\"phase\":\"Running\",\"conditions\":[%s],"
		     "\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{}}}]}}",
		     name, name, pod_limit(play), play->is_resized && play->condition ? play->condition : "");
}

static char *answer_patch(struct play *play, const char *name, struct fake_step *ret)
{
	if (play->patch_status)
		return refuse(play->patch_status, ret);
	play->is_back = play->is_resized;
	play->is_resized = true;
	return answer_pod(play, name);
}

static char *answer(void *context, const char *request, struct fake_step *ret)
{
	struct play *play = context;
	const char *name = strstr(request, "/pods/b") ? "b" : "a";

	if (strstarts(request, "PATCH /api/v1/namespaces/ml/pods/"))
		return answer_patch(play, name, ret);
	if (strstarts(request, "GET /api/v1/namespaces/ml/pods/"))
		return answer_pod(play, name);
	if (strstarts(request, "GET /api/v1/namespaces/ml "))
		return print("{\"metadata\":{\"name\":\"ml\",\"labels\":{%s}}}", play->labels);
	if (strstarts(request, "GET /api/v1/nodes/n1 "))
		return print("{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{\"memory\":\"%s\"}}}",
			     play->node_memory ? play->node_memory : "1Gi");
	if (strstarts(request, "GET /api/v1/namespaces/ml/resourcequotas"))
		return print(LIST("%s"), play->quota ? play->quota : "");
	if (strstarts(request, "GET /api/v1/namespaces/ml/limitranges") || strstarts(request, "GET /api/v1/pods?"))
		return print(LIST(""));
	if (strstarts(request, "GET /apis/"))
		return refuse(404, ret);
	if (strstarts(request, "POST ") && strstr(request, "/events"))
		return print("{\"metadata\":{\"name\":\"e\",\"namespace\":\"ml\"}}");
	ret->status = 599;
	return NULL;
}

static void resize(struct world *world, struct resizes *resizes, enum resize_kind kind, const char *pod,
		   int64_t killed_bytes)
{
	struct resize_ask ask = {
		.kind = kind, .namespace_name = "ml", .container = "main", .root = {"batch/v1", "Job", "train", "j1"}};

	snprintf(ask.pod, sizeof(ask.pod), "%s", pod);
	snprintf(ask.uid, sizeof(ask.uid), "uid-%s", pod);
	ask.killed_bytes = kind == RESIZE_KIND_OOM ? killed_bytes : 0;
	ask.want_bytes = kind == RESIZE_KIND_OOM ? 0 : 96 * MIB;
	assert_int_equal(resizer_post(resizes_resizer(resizes), &ask), 0);
	while (resizer_count(resizes_resizer(resizes))) {
		resizer_turn(resizes_resizer(resizes));
		poll_once(world);
	}
}

/* The Event that was written; "" none. */
static void find_event(struct world *world, char *ret, size_t size)
{
	size_t n = fake_api_count(world->api, " HTTP/1.1");

	*ret = '\0';
	for (size_t i = 0; i < n; i++) {
		char request[4096];

		fake_api_request(world->api, i, request, sizeof(request));
		if (strstarts(request, "POST ") && strstr(request, "/events"))
			snprintf(ret, size, "%s", request);
	}
}

static void a_restart_that_is_not_larger_is_told_once(void **state)
{
	static const struct {
		const char *name;
		struct play play;
		const char *config;
		enum resize_kind kind;
		const char *reason; /* NULL: no Event */
		const char *text;
	} rows[] = {
		{"mode",
		 {MODE, .limit = "64Mi"},
		 "mode: raise",
		 RESIZE_KIND_OOM,
		 "MemoryNotRaised",
		 "pod a, container main: memory limit 64Mi, not raised, although it was OOM-killed and restarts: "
		 "mode fill (namespace label memtamer.io/mode); change that, or submit again with 128Mi"},
		{"quota",
		 {NO_LABELS, .quota = QUOTA, .limit = "64Mi"},
		 "mode: raise",
		 RESIZE_KIND_OOM,
		 "MemoryNotRaised",
		 "; change that, or submit again with 128Mi"},
		{"ceiling",
		 {NO_LABELS, .limit = "64Mi"},
		 "mode: raise\nsizing: {ceiling: 64Mi, floors: {request: 32Mi, limit: 64Mi}}",
		 RESIZE_KIND_OOM,
		 "MemoryNotRaised",
		 "it has all that its ceiling allows; raise that ceiling, or submit again with 128Mi"},
		{"node",
		 {NO_LABELS, .limit = "64Mi", .node_memory = "64Mi"},
		 "mode: raise",
		 RESIZE_KIND_OOM,
		 "MemoryNotRaised",
		 "n1 has no room for more; delete the pod, so that its next try can run on another node, or submit "
		 "again "
		 "with 128Mi"},
		{"infeasible",
		 {NO_LABELS, .limit = "64Mi",
		  .condition = "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\","
			       "\"message\":\"words of the kubelet\"}"},
		 "mode: raise",
		 RESIZE_KIND_OOM,
		 "MemoryResizeInfeasible",
		 "words of the kubelet; delete the pod, so that its next try can run on another node, or submit again "
		 "with "
		 "128Mi"},
		{"refused",
		 {NO_LABELS, .limit = "64Mi", .patch_status = 403},
		 "mode: raise",
		 RESIZE_KIND_OOM,
		 "MemoryResizeRefused",
		 "the words of the server; submit again with 128Mi"},
		{"no such subresource",
		 {NO_LABELS, .limit = "64Mi", .patch_status = 404},
		 "mode: raise",
		 RESIZE_KIND_OOM,
		 "MemoryNotRaised",
		 "; delete the pod, so that its next try is sized when it is created, or submit again with 128Mi"},
		{"raised meanwhile", {NO_LABELS, .limit = "96Mi"}, "mode: raise", RESIZE_KIND_OOM, NULL, ""},
		{"left alone",
		 {"\"memtamer.io/ignore\":\"true\"", .limit = "64Mi"},
		 "mode: raise",
		 RESIZE_KIND_OOM,
		 NULL,
		 ""},
		{"not killed", {MODE, .limit = "64Mi"}, "mode: raise", RESIZE_KIND_BEFORE, NULL, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct play play = rows[i].play;
		struct world world = {.api = fake_api_start_with(answer, &play)};
		struct metrics *metrics = service_metrics_new();
		char text[512], event[4096];
		struct resizes *resizes;
		struct config *config;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		snprintf(text, sizeof(text),
			 "apiVersion: config.memtamer.io/v1alpha1\nstore: {kind: kube}\nrecommender: {resize: "
			 "beforeOOM}\n%s\n",
			 rows[i].config);
		if (config_parse(text, strlen(text), "test", "/tmp", &config, &err))
			fail_msg("%s: %s", err.where, err.msg);
		world.server.url = fake_api_url(world.api);
		assert_int_equal(kube_client_new(&world.server, NULL, &world.client, NULL), 0);
		assert_int_equal(resizes_start(world.client, config, metrics, "test", &resizes, NULL), 0);
		resize(&world, resizes, rows[i].kind, "a", 64 * MIB);
		while (rows[i].reason && !fake_api_count(world.api, "/events"))
			poll_once(&world);
		find_event(&world, event, sizeof(event));
		if (rows[i].reason ? !strstr(event, rows[i].reason) || !strstr(event, rows[i].text) : *event != '\0')
			fail_msg("%s", event);
		/* Another pod of the Job is killed at the same limit, and later at a larger one. */
		fake_api_lock(world.api);
		play.is_resized = play.is_back = false;
		fake_api_unlock(world.api);
		resize(&world, resizes, rows[i].kind, "b", 64 * MIB);
		fake_api_lock(world.api);
		play = (struct play){MODE, .limit = "64Mi", .patch_status = rows[i].play.patch_status};
		fake_api_unlock(world.api);
		resize(&world, resizes, RESIZE_KIND_OOM, "b", 128 * MIB);
		while (!fake_api_count(world.api, "submit again with 256Mi"))
			poll_once(&world);
		assert_int_equal(fake_api_count(world.api, "/events"), rows[i].reason ? 2 : 1);
		resizes_stop(resizes);
		world_stop(&world);
		metrics_free(metrics);
		config_free(config);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_restart_that_is_not_larger_is_told_once),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
