/* SPDX-License-Identifier: Apache-2.0 */
#include "service/routes.h"

#include "base/log.h"
#include "service/metrics.h"
#include "service/service.h"

#include <sys/resource.h>

static void say(struct http_server_response *response, const char *problem)
{
	response->status = problem ? 503 : 200;
	response->content_type = "text/plain; charset=utf-8";
	strbuf_clear(&response->body);
	strbuf_addf(&response->body, "%s\n", problem ? problem : "ok");
}

static void handle_health(void *context, const struct http_server_request *request,
			  struct http_server_response *response)
{
	struct routes *self = context;
	char words[SERVICE_WORDS];

	(void)request;
	say(response, service_stuck(self->service, words));
}

static void handle_ready(void *context, const struct http_server_request *request,
			 struct http_server_response *response)
{
	struct routes *self = context;
	char words[SERVICE_WORDS];

	(void)request;
	say(response, service_not_ready(self->service, words));
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void handle_metrics(void *context, const struct http_server_request *request,
			   struct http_server_response *response)
{
	struct routes *self = context;
	struct rusage usage;

	(void)request;
	if (getrusage(RUSAGE_SELF, &usage) == 0) {
		metrics_set(self->metrics, METRIC_CPU, seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime));
		metrics_set(self->metrics, METRIC_MEMORY_PEAK, (double)usage.ru_maxrss * 1024);
	}
	response->content_type = "text/plain; version=0.0.4; charset=utf-8";
	if (metrics_render(self->metrics, &response->body)) {
		say(response, "the metrics do not fit");
		response->status = 500;
	}
}

const struct http_server_route service_routes[] = {
	{"GET", "/healthz", 0, handle_health},
	{"GET", "/readyz", 0, handle_ready},
	{"GET", "/metrics", 0, handle_metrics},
	{NULL, NULL, 0, NULL},
};

void service_observe(void *context, const struct http_server_event *event)
{
	struct routes *self = context;

	if (event->type == HTTP_EVENT_ANSWERED)
		metrics_count(self->metrics, METRIC_HTTP_REQUESTS,
			      service_metrics_label(METRIC_HTTP_REQUESTS, 0, event->path),
			      service_metrics_code(METRIC_HTTP_REQUESTS, 1, event->status), 0);
	else
		log_event(LOG_DEBUG, "http server", "peer", event->peer, "reason", event->reason, NULL);
}
