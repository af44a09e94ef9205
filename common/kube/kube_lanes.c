/* SPDX-License-Identifier: Apache-2.0 */
/* kube_lanes: watches and their lists share a few HTTP/2 connections, and each connection is probed while it is silent.
 * A watch may be silent for minutes, and a frozen process, or a proxy without an API server behind it, keeps its TCP
 * connections open. So only an answer to a request on the same connection shows that the other end works. client-go
 * sends an HTTP/2 PING after 30 s and waits 15 s for its answer; libcurl cannot send one on a multi handle.
 *
 * Without HTTP/2 each watch has a connection of its own. The probe then only shows that the server answers. TCP closes
 * a connection whose host is gone; a watch with any other failure ends after ten minutes at the latest. */
#include "base/timefmt.h"
#include "kube/kube_internal.h"

#include <errno.h>

/* API servers allow 100 streams a connection. The others are for the probe and for streams that were just reset. */
#define LANE_REQUESTS	 90
#define SILENCE_MS	 (30 * TIME_SECOND_MS)
#define PROBE_TIMEOUT_MS (15 * TIME_SECOND_MS)
/* Checks during silence_ms; silence is noticed late by at most one interval. */
#define CHECKS 12
/* Any answer suffices, even 403. The API server exempts this path from its priority levels, so a probe never waits in a
 * queue; without the etcd check it costs nothing. */
#define PROBE_PATH "/livez?exclude=etcd"

static void probe_done(void *context, const struct kube_result *result)
{
	struct kube_lane *lane = context;
	struct kube_client *client = lane->client;
	int64_t silent_ms = time_monotonic_ms() - http_client_lane_heard_ms(client->http, lane->number);
	struct err why = ERR_INIT;

	lane->probe = NULL;
	/* bytes of other requests of the lane count as much as an answer */
	if (result->status || silent_ms < client->probe_timeout_ms)
		return;
	err_set(&why, -ETIMEDOUT, "the connection was silent for %lld s, and a probe of it was not answered",
		(long long)(silent_ms / TIME_SECOND_MS));
	http_client_break_lane(client->http, lane->number, &why);
}

static void probe(struct kube_lane *lane)
{
	const struct kube_request request = {
		.verb = KUBE_GET,
		.raw_path = PROBE_PATH,
		.timeout_ms = lane->client->probe_timeout_ms,
		.is_tried_once = true,
		.done = probe_done,
		.context = lane,
	};

	/* out of memory: the next check tries again */
	if (!kube_client_submit(lane->client, &request, &lane->probe, NULL))
		lane->probe->lane = lane->number;
}

static void check_lanes(void *context)
{
	struct kube_client *self = context;
	int64_t now_ms = time_monotonic_ms();
	bool is_used = false;

	for (size_t i = 0; i < HTTP_LANES; i++) {
		struct kube_lane *lane = &self->lanes[i];

		if (!http_client_lane_requests(self->http, lane->number))
			continue;
		is_used = true;
		if (!lane->probe && now_ms - http_client_lane_heard_ms(self->http, lane->number) >= self->silence_ms)
			probe(lane);
	}
	if (is_used)
		kube_timer_set(self, &self->lanes_timer, self->silence_ms / CHECKS);
}

void lanes_init(struct kube_client *self, const struct kube_client_config *config)
{
	self->silence_ms = config->silence_ms ? config->silence_ms : SILENCE_MS;
	self->probe_timeout_ms = config->probe_timeout_ms ? config->probe_timeout_ms : PROBE_TIMEOUT_MS;
	self->lanes_timer = (struct kube_timer){.fire = check_lanes, .context = self};
	for (unsigned int i = 0; i < HTTP_LANES; i++)
		self->lanes[i] = (struct kube_lane){.client = self, .number = i + 1};
}

static bool is_full(const struct kube_lane *lane)
{
	size_t n_probes = lane->probe ? 1 : 0;

	return http_client_lane_requests(lane->client->http, lane->number) >= LANE_REQUESTS + n_probes;
}

unsigned int lanes_choose(struct kube_client *self)
{
	unsigned int number = 1;

	while (number < HTTP_LANES && is_full(&self->lanes[number - 1]))
		number++;
	if (!self->lanes_timer.is_set)
		kube_timer_set(self, &self->lanes_timer, self->silence_ms / CHECKS);
	return number;
}
