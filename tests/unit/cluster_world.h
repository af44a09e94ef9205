/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cluster_world: a cluster whose API server is played (fake_api.h), and the snapshots that come of what it tells. */
#include "base/limits.h"
#include "cluster/cluster.h"
#include "fake_api.h"
#include "kube/kube_server.h"
#include "support/test.h"

#include <signal.h>

#define LIST(version, items)                                                                                           \
	"{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define META(namespace, name, version)                                                                                 \
	"\"metadata\":{\"namespace\":\"" namespace "\",\"name\":\"" name "\",\"uid\":\"" name                          \
						   "\",\"resourceVersion\":\"" version "\"}"
#define HELD(path)                                                                                                     \
	{                                                                                                              \
		.fits = path "?watch", .body = "", .end = FAKE_HOLD, .times = 99                                       \
	}
#define EMPTY(path)                                                                                                    \
	{                                                                                                              \
		.fits = path "?", .body = LIST("1", ""), .times = 99                                                   \
	}
/* Kinds of owners are asked for in any case; a cluster without any. */
#define NO_KINDS                                                                                                       \
	{                                                                                                              \
		.fits = "GET /apis HTTP", .body = "{\"groups\":[]}", .times = 99                                       \
	}
/* A kind of which there is nothing. */
#define NOTHING(path) HELD(path), EMPTY(path)
/* None of the kinds that are always watched. */
#define NO_OBJECTS                                                                                                     \
	NOTHING(PROFILES), NOTHING(SHAPES), NOTHING(RANGES), NOTHING(QUOTAS), NOTHING(CLASSES), NOTHING(SPACES)
#define PROFILES "/memoryprofiles"
#define SHAPES	 "/nodeshapes"
#define SPACES	 "/api/v1/namespaces"
#define RANGES	 "/limitranges"
#define QUOTAS	 "/resourcequotas"
#define CLASSES	 "/priorityclasses"

/* A step that is taken until the test says that it is over. */
#define UNTIL_TOLD ((size_t)-1)

struct world {
	struct fake_api *api;
	struct kube_server server;
	struct kube_client *client;
	struct cluster *cluster;
	struct config *config;
	struct snapshot *snapshot;
	size_t built, failed, passed_over;
};

static void on_changed(void *context)
{
	struct world *world = context;
	struct snapshot *fresh = NULL;
	struct err err = ERR_INIT;

	if (cluster_build(world->cluster, world->config, &fresh, &err))
		return;
	snapshot_unref(world->snapshot);
	world->snapshot = fresh;
	world->built++;
}

static void on_failed(void *context, enum cluster_watch_id watch, const char *reason)
{
	struct world *world = context;

	(void)watch;
	if (streq(reason, "object"))
		world->passed_over++;
	else
		world->failed++;
}

static void start(struct world *world, const struct fake_step *steps)
{
	const struct cluster_config config = {.gather_ms = 1,
					      .backoff_min_ms = 1,
					      .backoff_max_ms = 10,
					      .changed = on_changed,
					      .failed = on_failed,
					      .context = world};
	struct err err = ERR_INIT;

	*world = (struct world){.api = fake_api_start(steps), .config = config_new_default()};
	world->server.url = fake_api_url(world->api);
	assert_non_null(world->config);
	assert_int_equal(kube_client_new(&world->server, NULL, &world->client, &err), 0);
	assert_int_equal(cluster_start(world->client, &config, &world->cluster, &err), 0);
}

static void stop(struct world *world)
{
	cluster_free(world->cluster);
	kube_client_free(world->client);
	snapshot_unref(world->snapshot);
	config_free(world->config);
	fake_api_free(world->api);
}

static void poll_once(struct world *world)
{
	struct err err = ERR_INIT;

	assert_int_equal(kube_client_poll(world->client, NULL, 0, 50, &err), 0);
	assert_int_equal(fake_api_unexpected(world->api), 0);
}

#define WAIT_FOR(world, condition)                                                                                     \
	do                                                                                                             \
		poll_once(world);                                                                                      \
	while (!(condition))

/* Whatever waits behind steps of UNTIL_TOLD comes now. */
static void go_on(const struct world *world, struct fake_step *steps)
{
	fake_api_lock(world->api);
	for (size_t i = 0; steps[i].fits; i++)
		if (steps[i].times == UNTIL_TOLD)
			steps[i].times = 1;
	fake_api_unlock(world->api);
}
