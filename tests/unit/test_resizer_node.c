/* SPDX-License-Identifier: Apache-2.0 */
/* Pods of one node that rise together, against an API server that is played: what they get must fit beside one another.
 */
#include "support/test.h"

#include "base/json.h"
#include "base/limits.h"
#include "fake_api.h"
#include "kube/kube_server.h"
#include "resize/resizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GI ((int64_t)GIB)

enum { RANKS = 8, NODE_GI = 512, LIMIT_GI = 50, USED_GI = 40, WANT_GI = 75 };

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
	struct resizer *resizer;
	struct policy policy;
	int64_t limit_mi[RANKS];
	size_t n_patches, n_results, n_applied;
	bool expires; /* lists expire after their first page, and what is in that besides pods is gone then */
};

#define PROFILE                                                                                                        \
	"{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{\"namespace\":\"team-a\","  \
	"\"name\":\"p\"},\"spec\":{\"modeCap\":\"observe\"},\"status\":{\"workload\":\"Job/train\",\"role\":\"\","     \
	"\"container\":\"main\"}}"
#define QUOTA                                                                                                          \
	"{\"metadata\":{\"namespace\":\"team-a\",\"name\":\"q\"},\"spec\":{\"hard\":{\"limits.memory\":\"470Gi\"}},"   \
	"\"status\":{\"hard\":{\"limits.memory\":\"470Gi\"},\"used\":{\"limits.memory\":\"470Gi\"}}}"

static void add_pod(const struct world *world, size_t rank, struct strbuf *ret)
{
	bool is_patched = world->limit_mi[rank] != LIMIT_GI * 1024;

	strbuf_addf(
		ret,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"team-a\",\"name\":\"rank-%zu\","
		"\"uid\":\"u%zu\",\"resourceVersion\":\"7\",\"labels\":{\"memtamer.io/training\":\"true\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"train\",\"uid\":\"j1\","
		"\"controller\":true}],\"managedFields\":[{\"manager\":\"%s\",\"operation\":\"Update\",\"subresource\":"
		"\"resize\",\"fieldsV1\":{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":{"
		"\"f:resources\":{\"f:limits\":{\"f:memory\":{}}}}}}}}]},\"spec\":{\"nodeName\":\"n1\","
		"\"containers\":[{\"name\":\"main\",\"image\":\"i\",\"resources\":{\"requests\":{\"memory\":\"1Gi\"},"
		"\"limits\":{\"memory\":\"%lldMi\"}}}]},\"status\":{\"phase\":\"Running\",\"containerStatuses\":"
		"[{\"name\":\"main\",\"state\":{\"running\":{}},\"resources\":{\"limits\":{\"memory\":\"%lldMi\"}}}]}}",
		rank, rank, is_patched ? "memtamer-resize-before-50Gi" : "kubectl-create",
		(long long)world->limit_mi[rank], (long long)world->limit_mi[rank]);
}

static void patch(struct world *world, size_t rank, const char *request)
{
	const char *at = strstr(request, "/limits/memory\",\"value\":\"");
	char *unit;

	assert_non_null(at);
	at += strlen("/limits/memory\",\"value\":\"");
	world->limit_mi[rank] = strtoll(at, &unit, 10) * (*unit == 'G' ? 1024 : 1);
	world->n_patches++;
}

static void list(const struct world *world, const char *request, struct strbuf *ret)
{
	bool is_page = world->expires && strstr(request, "limit=");

	strbuf_addf(ret, "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"%s},\"items\":[",
		    is_page ? ",\"continue\":\"more\"" : "");
	if (is_page && strstr(request, "/memoryprofiles?"))
		strbuf_addf(ret, PROFILE);
	if (is_page && strstr(request, "/resourcequotas?"))
		strbuf_addf(ret, QUOTA);
	for (size_t i = 0; i < RANKS && strstarts(request, "GET /api/v1/pods?"); i++) {
		strbuf_addf(ret, "%s", i ? "," : "");
		add_pod(world, i, ret);
	}
	strbuf_addf(ret, "]}");
}

static char *answer(void *context, const char *request, struct fake_step *ret)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(1 << 20);
	const char *pod = strstr(request, "/pods/rank-");
	struct world *world = context;

	if (strstr(request, "continue=more")) {
		ret->status = 410;
		strbuf_addf(&body, "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}");
	} else if (pod) {
		size_t rank = (size_t)(pod[strlen("/pods/rank-")] - '0');

		assert_true(rank < RANKS);
		if (strstarts(request, "PATCH "))
			patch(world, rank, request);
		add_pod(world, rank, &body);
	} else if (strstarts(request, "GET /api/v1/namespaces/team-a ")) {
		strbuf_addf(&body, "{\"metadata\":{\"name\":\"team-a\"}}");
	} else if (strstarts(request, "GET /api/v1/nodes/n1 ")) {
		strbuf_addf(&body, "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{\"memory\":"
				   "\"512Gi\"}}}");
	} else {
		list(world, request, &body);
	}
	return strdup(strbuf_text(&body));
}

static void told(void *context, const struct resize_report *report)
{
	struct world *world = context;

	world->n_results++;
	world->n_applied += report->result == RESIZE_APPLIED;
	assert_true(report->result == RESIZE_APPLIED || report->result == RESIZE_HELD_BACK);
}

static void free_used(struct resize_used *used)
{
	strmap_release(&used->pods);
	free(used);
}

/* Each uses 40Gi, as it was measured before any was raised. */
static void measure(const struct world *world)
{
	static int64_t used_bytes = USED_GI * GI;
	static char keys[RANKS][16];
	struct resize_used *used = calloc(1, sizeof(*used));

	assert_non_null(used);
	used->free = free_used;
	for (int i = 0; i < RANKS; i++) {
		snprintf(keys[i], sizeof(keys[i]), "team-a/rank-%d", i);
		assert_int_equal(strmap_put(&used->pods, keys[i], &used_bytes), 0);
	}
	resizer_set_used(world->resizer, used);
}

static void world_start(struct world *world)
{
	struct resizer_config config = {.policy = &world->policy, .report = told, .context = world, .poll_ms = 5};

	*world = (struct world){.n_patches = 0};
	for (int i = 0; i < RANKS; i++)
		world->limit_mi[i] = LIMIT_GI * 1024;
	policy_default(&world->policy);
	world->policy.mode = MODE_RAISE;
	world->policy.resize = RESIZE_BEFORE_OOM;
	world->api = fake_api_start_with(answer, world);
	world->server.url = fake_api_url(world->api);
	assert_int_equal(kube_client_new(&world->server, NULL, &world->client, NULL), 0);
	config.client = world->client;
	assert_int_equal(resizer_new(&config, &world->resizer, NULL), 0);
	measure(world);
}

static void world_stop(struct world *world)
{
	resizer_free(world->resizer);
	kube_client_free(world->client);
	fake_api_free(world->api);
}

static void post(struct world *world, int rank, int64_t want_gi)
{
	struct resize_ask ask = {.kind = RESIZE_KIND_BEFORE,
				 .namespace_name = "team-a",
				 .container = "main",
				 .node = "n1",
				 .want_bytes = want_gi * GI};

	snprintf(ask.pod, sizeof(ask.pod), "rank-%d", rank);
	snprintf(ask.uid, sizeof(ask.uid), "u%d", rank);
	assert_int_equal(resizer_post(world->resizer, &ask), 0);
}

static void wait_results(struct world *world, size_t n)
{
	while (world->n_results < n) {
		resizer_turn(world->resizer);
		assert_int_equal(kube_client_poll(world->client, NULL, 0, 100, NULL), 0);
	}
	resizer_turn(world->resizer);
}

static int64_t limits_gi(struct world *world)
{
	int64_t sum = 0;

	fake_api_lock(world->api);
	for (int i = 0; i < RANKS; i++)
		sum += world->limit_mi[i];
	fake_api_unlock(world->api);
	return sum / 1024;
}

static void ranks_that_rise_together_fit_their_node(void **state)
{
	struct world world;

	(void)state;
	world_start(&world);
	for (int i = 0; i < RANKS; i++)
		post(&world, i, WANT_GI);
	wait_results(&world, RANKS);
	assert_true(world.n_applied >= 4); /* the first of them have room */
	assert_in_range(limits_gi(&world), RANKS * LIMIT_GI + 1, NODE_GI);
	assert_int_equal(resizer_count(world.resizer), 0);
	world_stop(&world);
}

/* Measured once more, they still use little of it. */
static void what_was_raised_keeps_its_limit(void **state)
{
	/* Whether lists expire and are read again. */
	static const bool rows[] = {false, true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world world;

		world_start(&world);
		world.expires = rows[i];
		for (int rank = 1; rank < RANKS; rank++)
			world.limit_mi[rank] = 60 * 1024;
		post(&world, 0, 200);
		wait_results(&world, 1);
		assert_int_equal(world.n_applied, 1);
		assert_int_equal(limits_gi(&world), NODE_GI);
		world_stop(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_that_rise_together_fit_their_node),
		cmocka_unit_test(what_was_raised_keeps_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
