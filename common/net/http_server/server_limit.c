/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the connection that is closed when a new one arrives at the limit. Cost: linear in the number of groups,
 * which is fixed. */
#include "base/timefmt.h"
#include "http_server/server_internal.h"

/* A connection whose first or current request takes longer is closed first. */
#define PATIENCE_MS (2 * TIME_SECOND_MS)

/* Connections to close, the first row with a match. There is always a match: if at most a quarter is FRESH and at most
 * half is BUSY, others are IDLE. Connections that have served requests are closed last, because API servers reuse
 * them. */
static const struct eviction {
	enum connection_state state;
	int64_t min_age_ms;
	unsigned int min_percent; /* matches if more than this share has the state */
	const char *reason;
} evictions[] = {
	{CONNECTION_FRESH, PATIENCE_MS, 0, "no request so far"},
	{CONNECTION_BUSY, PATIENCE_MS, 0, "its request does not go on"},
	{CONNECTION_FRESH, 0, 25, "no request so far"},
	{CONNECTION_BUSY, 0, 50, "its request takes the longest"},
	{CONNECTION_IDLE, 0, 0, "idle for the longest time"},
};

/* Some groups, and the number of their connections by state, without closing ones. */
struct scope {
	const struct connection_group *groups;
	size_t n_groups, n[CONNECTION_CLOSING], n_live;
};

static struct scope scope_of(const struct connection_group *groups, size_t n_groups)
{
	struct scope scope = {.groups = groups, .n_groups = n_groups};

	for (size_t i = 0; i < n_groups; i++)
		for (size_t state = 0; state < CONNECTION_CLOSING; state++) {
			scope.n[state] += groups[i].lists[state].n;
			scope.n_live += groups[i].lists[state].n;
		}
	return scope;
}

/* The oldest connection that matches a row; NULL: none. */
static struct connection *find(const struct scope *scope, const struct eviction *row)
{
	int64_t now_ms = time_monotonic_ms();
	struct connection *oldest = NULL;

	for (size_t i = 0; i < scope->n_groups; i++) {
		struct connection *first = TAILQ_FIRST(&scope->groups[i].lists[row->state].connections);

		if (first && (!oldest || first->since_ms < oldest->since_ms))
			oldest = first;
	}
	if (!oldest || now_ms - oldest->since_ms < row->min_age_ms)
		return NULL;
	return scope->n[row->state] * 100 > scope->n_live * row->min_percent ? oldest : NULL;
}

/* @return the reason. */
static const char *evict_one(const struct scope *scope, char ret_peer[PEER_BYTES])
{
	for (size_t i = 0; i < ARRAY_LEN(evictions); i++) {
		struct connection *found = find(scope, &evictions[i]);

		if (!found)
			continue;
		connection_shut(found, ret_peer);
		return evictions[i].reason;
	}
	return NULL;
}

/* An address with more than a quarter of all connections loses one of its own, so that a client cannot displace others,
 * however fast it connects. API servers never have so many connections. */
static struct scope scope_to_evict(const struct http_server *self, const struct scope *all)
{
	struct scope most = {.n_live = self->config.connections / 4};

	for (size_t i = 0; i < CONNECTION_GROUPS; i++) {
		struct scope one = scope_of(&self->groups[i], 1);

		if (one.n_live > most.n_live)
			most = one;
	}
	return most.groups ? most : *all;
}

bool connections_make_room(struct http_server *self)
{
	const char *reason = NULL;
	struct scope all, chosen;
	char peer[PEER_BYTES];
	size_t n_closing = 0;

	pthread_mutex_lock(&self->mutex);
	all = scope_of(self->groups, CONNECTION_GROUPS);
	if (all.n_live >= self->config.connections) {
		chosen = scope_to_evict(self, &all);
		reason = evict_one(&chosen, peer);
	}
	for (size_t i = 0; i < CONNECTION_GROUPS; i++)
		n_closing += self->groups[i].lists[CONNECTION_CLOSING].n;
	pthread_mutex_unlock(&self->mutex);
	if (reason)
		server_report(self, HTTP_EVENT_EVICTED, reason, peer);
	return n_closing <= self->config.connections;
}
