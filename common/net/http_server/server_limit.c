/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the connection that is closed when a new one arrives at the limit. Cost: linear in the number of groups,
 * which is fixed.
 *
 * A burst. An API server reuses connections, but when hundreds of pods are created at once it opens hundreds, all from
 * one address, and each that is closed during its handshake is a pod without a patch. So in a group that also has
 * connections with requests, FRESH ones that are younger than PATIENCE_MS are spared while all connections together
 * take no more memory than `connections` of them with bodies. That is half as many again. If too many of these then
 * send their request before others have ended, an old one is closed, as at the limit.
 *
 * An attacker behind the API server's address looks the same and gets the same places. Then its oldest FRESH connection
 * is closed for each new one, as without this rule: a new connection of the API server has more time for its handshake
 * than without it, as half as many again must come after it first; those with requests stay. The attacker gets no more
 * memory, and keeps the places only by opening new connections every PATIENCE_MS, because older ones go first. */
#include "base/timefmt.h"
#include "http_server/server_internal.h"

_Static_assert(HTTP_SOCKETS *WEIGHT_FRESH >= 2 * WEIGHT_OTHER, "two bursts, of which one is closed");

/* A connection whose first or current request takes longer is closed first. */
#define PATIENCE_MS (2 * TIME_SECOND_MS)

/* Connections to close, the first row with a match. There is always a match: if at most a quarter is FRESH and at most
 * half is BUSY, others are IDLE. Connections that have served requests are closed last, because API servers reuse
 * them. */
static const struct eviction {
	enum connection_state state;
	int64_t min_age_ms;
	unsigned int min_percent; /* matches if more than this share has the state */
	bool is_burst;		  /* a burst matches this row */
	const char *reason;
} evictions[] = {
	{CONNECTION_FRESH, PATIENCE_MS, 0, false, "no request so far"},
	{CONNECTION_BUSY, PATIENCE_MS, 0, false, "its request does not go on"},
	{CONNECTION_FRESH, 0, 25, true, "no request so far"},
	{CONNECTION_BUSY, 0, 50, false, "its request takes the longest"},
	{CONNECTION_IDLE, 0, 0, false, "idle for the longest time"},
};

/* Some groups, and the number of their connections by state. */
struct scope {
	const struct connection_group *groups;
	size_t n_groups, n[CONNECTION_STATE_COUNT_], n_live; /* n_live: without closing ones */
};

static struct scope scope_of(const struct connection_group *groups, size_t n_groups)
{
	struct scope scope = {.groups = groups, .n_groups = n_groups};

	for (size_t i = 0; i < n_groups; i++)
		for (size_t state = 0; state < CONNECTION_STATE_COUNT_; state++) {
			scope.n[state] += groups[i].lists[state].n;
			scope.n_live += state == CONNECTION_CLOSING ? 0 : groups[i].lists[state].n;
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

/* @return the reason; NULL: no connection was closed, as they are a burst. */
static const char *evict_one(const struct scope *scope, bool spares_bursts, char ret_peer[PEER_BYTES])
{
	for (size_t i = 0; i < ARRAY_LEN(evictions); i++) {
		struct connection *found = find(scope, &evictions[i]);

		if (!found)
			continue;
		if (spares_bursts && evictions[i].is_burst)
			return NULL;
		connection_shut(found, ret_peer);
		return evictions[i].reason;
	}
	return NULL;
}

/* An address with more than a quarter of all connections loses one of its own, so that a client cannot displace others,
 * however fast it connects. */
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

static size_t weight_limit(const struct http_server *self)
{
	return (size_t)self->config.connections * WEIGHT_OTHER;
}

static bool may_burst(const struct http_server *self, const struct scope *scope)
{
	return scope->n_groups == 1 && scope->n[CONNECTION_BUSY] + scope->n[CONNECTION_IDLE] > 0 &&
	       atomic_load(&self->weight) + WEIGHT_FRESH <= weight_limit(self);
}

/* Closes a connection if the limit is reached. `*ret_sockets`: how many are open, also of closing connections.
 * @return whether it has. */
static bool close_one(struct http_server *self, size_t *ret_sockets)
{
	const char *reason = NULL;
	struct scope all, chosen;
	char peer[PEER_BYTES];

	pthread_mutex_lock(&self->mutex);
	all = scope_of(self->groups, CONNECTION_GROUPS);
	if (all.n_live >= self->config.connections) {
		chosen = scope_to_evict(self, &all);
		reason = evict_one(&chosen, may_burst(self, &chosen), peer);
	}
	*ret_sockets = all.n_live + all.n[CONNECTION_CLOSING];
	pthread_mutex_unlock(&self->mutex);
	if (reason)
		server_report(self, HTTP_EVENT_EVICTED, reason, peer);
	return reason;
}

bool connections_make_room(struct http_server *self)
{
	size_t n_sockets;

	if (close_one(self, &n_sockets))
		close_one(self, &n_sockets); /* after a burst there are too many */
	return n_sockets <= HTTP_SOCKETS * (size_t)self->config.connections;
}

void connections_keep_limit(struct http_server *self)
{
	size_t n_sockets;

	if (atomic_load(&self->weight) > weight_limit(self))
		close_one(self, &n_sockets);
}
