/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* routes: what the recommender's endpoint answers: /metrics, /healthz (fails only when the process is stuck), /readyz
 * (takes part). Plain HTTP. Threads: the server's. */
#include "http_server/http_server.h"
#include "metrics/metrics.h"

struct service;

/** Context of all of these. */
struct routes {
	struct service *service;
	struct metrics *metrics;
};

extern const struct http_server_route service_routes[];
/** An http_observer_fn. */
void service_observe(void *context, const struct http_server_event *event);
