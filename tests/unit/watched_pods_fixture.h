/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* watched_pods_fixture: a table of pods that was filled by an API server that plays steps, with all owners known. */
#include "service_fixture.h"

#include "pods/pods.h"

#define NOW_MS ((int64_t)1793606400000) /* 2026-11-02T08:00:00Z */
#define PODS   "/api/v1/pods?fieldSelector"

static inline int64_t read_clock(void)
{
	return NOW_MS;
}

static inline void fail_loudly(void *context, const struct err *why)
{
	(void)context;
	fail_msg("%s", why->msg);
}

static inline void wait_for_owners(struct world *world, struct pods *pods)
{
	struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};
	struct evidence_batch batch;
	bool is_partial = true;

	while (is_partial) {
		poll_once(world);
		evidence_batch_init(&batch, &window);
		is_partial = pods_batch(pods, NOW_MS, 0, &batch, NULL) != 0 || batch.is_partial;
		evidence_batch_release(&batch);
	}
}

/* Without waiting for an answer. */
static inline struct pods *begin_pods(struct world *world, const struct fake_step *steps)
{
	const struct pods_config config = {.failed = fail_loudly};
	struct pods *pods;

	*world = (struct world){.api = fake_api_start(steps)};
	world->server.url = fake_api_url(world->api);
	assert_int_equal(kube_client_new(&world->server, &(struct kube_client_config){.now_ms = read_clock},
					 &world->client, NULL),
			 0);
	assert_int_equal(pods_new(&config, &pods, NULL), 0);
	assert_int_equal(pods_watch(pods, world->client, NULL), 0);
	return pods;
}

static inline struct pods *start_pods(struct world *world, const struct fake_step *steps)
{
	struct pods *pods = begin_pods(world, steps);

	wait_for_owners(world, pods);
	return pods;
}

static inline void stop_pods(struct world *world, struct pods *pods)
{
	pods_unwatch(pods);
	pods_free(pods);
	world_stop(world);
}
