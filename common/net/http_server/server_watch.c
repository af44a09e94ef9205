/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that closes connections that exceed their time. libmicrohttpd's own timeout measures inactivity, so a byte
 * each second would keep a connection open. The lists are sorted by age, so the cost is linear in the connections to
 * close. */
#include "base/timefmt.h"
#include "http_server/server_internal.h"

#include <string.h>
#include <time.h>

#define TICK_MIN_MS 10
#define TICK_MAX_MS 1000

/* How long a connection may stay in a state: request_timeout_ms, and idle_timeout_ms in addition between requests.
 * libmicrohttpd closes connections that send nothing between requests earlier, without an event. */
static const struct rule {
	enum connection_state state;
	bool has_idle_time;
	const char *reason;
} rules[] = {
	{CONNECTION_FRESH, false, "no request in time"},
	{CONNECTION_BUSY, false, "a request took too long"},
	{CONNECTION_IDLE, true, "the head of a request took too long"},
};

/* The caller holds the mutex, which is released while a connection is reported. */
static void close_overdue(struct http_server *self, const struct rule *rule, int64_t now_ms)
{
	const struct http_server_config *config = &self->config;
	int64_t timeout_ms = config->request_timeout_ms + (rule->has_idle_time ? config->idle_timeout_ms : 0);

	for (size_t i = 0; i < CONNECTION_GROUPS; i++) {
		const struct connection_list *list = &self->groups[i].lists[rule->state];
		struct connection *first;
		char peer[PEER_BYTES];

		while ((first = TAILQ_FIRST(&list->connections)) && now_ms - first->since_ms > timeout_ms) {
			connection_shut(first, peer);
			pthread_mutex_unlock(&self->mutex);
			server_report(self, HTTP_EVENT_WATCHDOG_CLOSED, rule->reason, peer);
			pthread_mutex_lock(&self->mutex);
		}
	}
}

static void *watchdog_main(void *context)
{
	struct http_server *self = context;
	int64_t tick_ms = MIN(MAX(self->config.request_timeout_ms / 8, TICK_MIN_MS), TICK_MAX_MS);

	pthread_mutex_lock(&self->mutex);
	while (!self->is_stopping) {
		int64_t now_ms = time_monotonic_ms(), until_ms = now_ms + tick_ms;
		const struct timespec until = {.tv_sec = (time_t)(until_ms / 1000),
					       .tv_nsec = (long)(until_ms % 1000) * 1000000};

		for (size_t i = 0; i < ARRAY_LEN(rules); i++)
			close_overdue(self, &rules[i], now_ms);
		pthread_cond_timedwait(&self->wake, &self->mutex, &until);
	}
	pthread_mutex_unlock(&self->mutex);
	return NULL;
}

int watchdog_start(struct http_server *self, struct err *err)
{
	int r = pthread_create(&self->watchdog, NULL, watchdog_main, self);

	if (r)
		return err_set(err, -r, "cannot start a thread: %s", strerror(r));
	self->has_watchdog = true;
	return 0;
}

void watchdog_stop(struct http_server *self)
{
	if (!self->has_watchdog)
		return;
	pthread_mutex_lock(&self->mutex);
	self->is_stopping = true;
	pthread_cond_signal(&self->wake);
	pthread_mutex_unlock(&self->mutex);
	pthread_join(self->watchdog, NULL);
	self->has_watchdog = false;
}
