/* SPDX-License-Identifier: Apache-2.0 */
/* size_fit: recommendation -> what this pod may get. Each container, resource and field gets at most one proposal. If
 * it may not be carried out (action, mode, bare pod, queue, node), a gate says why, and the finding reports it.
 * Invariants: request <= limit after every step; the QoS class never falls; cpu is never changed; present values are
 * not changed below mode raise (except those that LimitRanger set); nothing is lowered below mode enforce; memory that
 * a VerticalPodAutoscaler sets is not changed. */
#include "policy/size/size_fit.h"

#include "k8s/quantity.h"
#include "policy/size.h"
#include "policy/size_math.h"

int64_t fit_room(const struct deciding *self, struct sized *item, enum sized_resource resource)
{
	enum k8s_resource r = sized_resource_of(resource);
	struct k8s_amount *own = &item->after->resources.requests[r], saved = *own;
	int64_t largest = resource == SIZED_MEMORY ? self->facts->nodes.largest_memory_bytes
						   : self->facts->nodes.largest_ephemeral_bytes;
	int64_t over;

	if (!self->facts->nodes.is_complete || largest <= 0)
		return INT64_MAX;
	/* With the whole node for this container, what the pod is too large by is what runs beside it. */
	*own = (struct k8s_amount){.text = "", .quantity = quantity_from_bytes(largest), .value = largest};
	over = k8s_pod_effective_request(&self->after, r) - largest;
	*own = saved;
	return size_round_down_mi(MAX(largest - MAX(over, 0), 0));
}

static int64_t cap_limit(const struct deciding *self, int64_t bytes)
{
	if (!self->facts->nodes.is_complete || self->facts->nodes.largest_memory_bytes <= 0)
		return bytes;
	return MIN(bytes, size_round_down_mi(self->facts->nodes.largest_memory_bytes));
}

/* ---- what limited a size ---- */

static const char *node_words(const struct deciding *self)
{
	return arena_printf(self->arena, "largest node %s", HUMAN(self->facts->nodes.largest_memory_bytes));
}

static const char *limit_cap(const struct deciding *self, int64_t want, int64_t to, enum size_by by)
{
	if (to < want)
		return node_words(self);
	return by == SIZE_BY_CEILING || by == SIZE_BY_SPEC_CEILING ? size_by_names[by] : NULL;
}

static const char *request_cap(const struct deciding *self, int64_t want, int64_t room, int64_t to)
{
	if (to >= want)
		return NULL;
	return to == room ? node_words(self) : "its limit";
}

static void raise_limit(const struct deciding *self, struct sized *item)
{
	struct field *limit = &item->fields[SIZED_MEMORY][LIMIT];
	enum mode needs = limit->is_default ? MODE_FILL : MODE_RAISE;
	enum check_id check = size_is_below_proof(item, limit->now_bytes) || size_is_limit_by_pin(item)
				      ? CHECK_MEMORY_LIMIT_BELOW_PEAK
				      : CHECK_MEMORY_LIMIT_NEAR_PEAK;
	enum gate gate = fit_queue_gate(self, item, LIMIT, fit_gate(self, check, needs));
	int64_t want = MAX(item->rec.limit_bytes, field_final(&item->fields[SIZED_MEMORY][REQUEST]));
	int64_t to = cap_limit(self, want);

	if (want <= limit->now_bytes)
		return;
	if (to <= limit->now_bytes)
		gate = GATE_NODE;
	fit_propose(limit, gate, needs, gate == GATE_NODE ? want : to, fit_limit_rule(item));
	limit->proposal.cap = limit_cap(self, want, to, item->by[LIMIT]);
}

/* The limit for a container without enough history under the policy `share`: most of the part of the largest node that
 * belongs to its accelerators; DaemonSets need the rest. 0: none. */
static int64_t unproven_share(const struct deciding *self, const struct sized *item)
{
	enum { PERCENT = 90 };

	if (item->is_usable || !item->is_main || self->policy->sizing.no_history != NO_HISTORY_SHARE)
		return 0;
	return size_round_down_mi(
		size_share(decide_part_of(item, self->facts->nodes.share_memory_bytes), PERCENT, 100));
}

/* Without enough history only the policy `share` sets a limit. */
static void add_limit(const struct deciding *self, struct sized *item)
{
	struct field *limit = &item->fields[SIZED_MEMORY][LIMIT];
	enum mode needs = fit_add_mode(self, limit);
	enum gate gate = fit_queue_gate(self, item, LIMIT, fit_gate(self, CHECK_MEMORY_LIMIT_MISSING, needs));
	int64_t request = field_final(&item->fields[SIZED_MEMORY][REQUEST]), want = 0, to;
	enum size_by by = item->by[LIMIT];
	const char *rule = fit_limit_rule(item);

	if (item->is_usable) {
		want = item->rec.limit_bytes;
	} else {
		want = unproven_share(self, item);
		rule = "gpu-share";
	}
	if (!want)
		return;
	if (!item->is_usable)
		want = size_bounded(&self->policy->sizing, item->spec, LIMIT, want, &by);
	to = MAX(cap_limit(self, want), request);
	if (cap_limit(self, to) < to)
		gate = GATE_NODE;
	if (fit_may_open(gate) && (fit_is_held(item, REC_NO_LIMIT | REC_CACHE_BOUND) || fit_is_deadly(item, to)))
		gate = GATE_EVIDENCE;
	fit_propose(limit, gate, needs, to, rule);
	limit->proposal.cap = limit_cap(self, want, to, by);
}

static void fit_limit(const struct deciding *self, struct sized *item)
{
	const struct field *limit = &item->fields[SIZED_MEMORY][LIMIT];

	if (!limit->has)
		add_limit(self, item);
	else if (size_is_below(self, item, LIMIT))
		raise_limit(self, item);
	else if (item->is_usable && size_is_over(self, item, LIMIT))
		fit_lower_limit(self, item);
}

/* The request for a container without one; 0: none. A new limit needs a request. */
static int64_t missing_request(const struct deciding *self, const struct sized *item, const char **ret_rule)
{
	const struct sizing_policy *sizing = &self->policy->sizing;
	bool has_new_limit = item->fields[SIZED_MEMORY][LIMIT].proposal.gate == GATE_OPEN;
	int64_t share = unproven_share(self, item);
	enum size_by by;

	*ret_rule = fit_request_rule(item);
	if ((item->is_usable || size_is_pinned(item, REQUEST)) && item->rec.request_bytes > 0 &&
	    !fit_is_held(item, REC_NO_RAISE))
		return item->rec.request_bytes;
	*ret_rule = share ? "gpu-share" : "no-history";
	if (share)
		return size_bounded(sizing, item->spec, REQUEST, share, &by);
	/* One request is enough to leave BestEffort. */
	if (has_new_limit || (item == &self->items[0] && self->facts->qos == K8S_QOS_BEST_EFFORT &&
			      sizing->no_history != NO_HISTORY_WARN))
		return size_bounded(sizing, item->spec, REQUEST, sizing->no_history_request_bytes, &by);
	return 0;
}

static void add_request(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_MEMORY][REQUEST], *limit = &item->fields[SIZED_MEMORY][LIMIT];
	enum mode needs = fit_add_mode(self, request);
	enum gate gate = fit_gate(self, CHECK_MEMORY_REQUEST_MISSING, needs);
	int64_t room = fit_room(self, item, SIZED_MEMORY), want, to;
	const char *rule, *cap;

	if (gate == GATE_ACTION && self->facts->qos == K8S_QOS_BEST_EFFORT)
		gate = fit_gate(self, CHECK_BESTEFFORT_QOS, needs);
	gate = fit_queue_gate(self, item, REQUEST, gate);
	want = missing_request(self, item, &rule);
	if (!want)
		return;
	to = MIN(want, room);
	if (field_has_final(limit))
		to = MIN(to, field_final(limit));
	cap = request_cap(self, want, room, to);
	if (to > 0 && limit->proposal.gate == GATE_OPEN && !request->is_zero)
		gate = GATE_OPEN;
	if (to <= 0)
		gate = GATE_NODE;
	/* The API server copies a limit without a request to the request, and that fits no node. */
	if (to <= 0 && limit->proposal.gate == GATE_OPEN)
		limit->proposal.gate = GATE_NODE;
	fit_propose(request, gate, needs, to, rule);
	request->proposal.cap = cap;
}

void fit_request_anew(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_MEMORY][REQUEST];

	if (request->has || request->is_invalid)
		return;
	request->proposal = (struct proposal){.gate = GATE_NONE};
	add_request(self, item);
}

static void raise_request(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_MEMORY][REQUEST], *limit = &item->fields[SIZED_MEMORY][LIMIT];
	enum mode needs = request->is_default ? MODE_FILL : MODE_RAISE;
	enum gate gate = fit_queue_gate(self, item, REQUEST, fit_gate(self, CHECK_MEMORY_REQUEST_BELOW_MEDIAN, needs));
	int64_t room = fit_room(self, item, SIZED_MEMORY), to = MIN(item->rec.request_bytes, room);

	if (item->rec.request_bytes <= request->now_bytes)
		return;
	if (fit_is_held(item, REC_NO_RAISE) && fit_may_open(gate))
		gate = GATE_EVIDENCE;
	/* With a shut gate the finding shows what both values would be. */
	if (gate != GATE_OPEN && limit->proposal.gate != GATE_NONE)
		to = MIN(to, MAX(limit->proposal.to_bytes, limit->now_bytes));
	else if (field_has_final(limit))
		to = MIN(to, field_final(limit));
	/* A pin above a limit that has no recommendation: the request is at that limit already. */
	if (to <= request->now_bytes && room > request->now_bytes && size_is_pinned(item, REQUEST))
		return;
	if (to <= request->now_bytes) {
		to = item->rec.request_bytes;
		gate = GATE_NODE;
	}
	fit_propose(request, gate, needs, to, fit_request_rule(item));
	request->proposal.cap = request_cap(self, item->rec.request_bytes, room, to);
}

static void fit_request(const struct deciding *self, struct sized *item)
{
	const struct field *request = &item->fields[SIZED_MEMORY][REQUEST];

	if (!request->has)
		add_request(self, item);
	else if (size_is_below(self, item, REQUEST))
		raise_request(self, item);
}

/* A Guaranteed pod keeps requests = limits, so both change together or not at all. */
static void fit_guaranteed(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_MEMORY][REQUEST], *limit = &item->fields[SIZED_MEMORY][LIMIT];
	struct proposal *proposal = &limit->proposal;
	int64_t room = fit_room(self, item, SIZED_MEMORY), to = 0;

	if (!item->is_usable)
		return;
	if (size_is_below(self, item, LIMIT))
		raise_limit(self, item);
	else if (size_is_over(self, item, LIMIT))
		to = fit_lowered(self, item, LIMIT);
	if (to && to < limit->now_bytes)
		fit_propose(limit, fit_lower_limit_gate(self, item, to), MODE_ENFORCE, to, fit_limit_rule(item));
	if (proposal->gate == GATE_NONE)
		return;
	if (fit_may_open(proposal->gate) && self->mode->is_queued)
		proposal->gate = GATE_QUEUE;
	if (fit_may_open(proposal->gate) && !to && fit_is_held(item, REC_NO_RAISE))
		proposal->gate = GATE_EVIDENCE;
	if (fit_may_open(proposal->gate) && !to && room < proposal->to_bytes) {
		proposal->gate = room > limit->now_bytes ? proposal->gate : GATE_NODE;
		proposal->to_bytes = room > limit->now_bytes ? room : proposal->to_bytes;
	}
	fit_propose(request, proposal->gate, proposal->needs, proposal->to_bytes, "guaranteed");
}

bool fit_is_contradictory(const struct field *fields)
{
	return fields[REQUEST].has && fields[LIMIT].has && fields[REQUEST].now_bytes > fields[LIMIT].now_bytes;
}

/* A VerticalPodAutoscaler replaces the request and scales the limit by the same factor, so our values would not
 * last. */
static void leave_to_vpa(const struct sized *item, struct field *fields)
{
	for (int f = 0; f < 2 && item->vpa; f++)
		if (fit_may_open(fields[f].proposal.gate))
			fields[f].proposal.gate = GATE_KIND;
}

static void fit_fields(const struct deciding *self, struct sized *item)
{
	struct field *fields = item->fields[SIZED_MEMORY];

	if (self->facts->has_pod_memory || fields[REQUEST].is_invalid || fields[LIMIT].is_invalid ||
	    fit_is_contradictory(fields))
		return;
	if (self->facts->qos == K8S_QOS_GUARANTEED) {
		fit_guaranteed(self, item);
		return;
	}
	if (fields[REQUEST].has && item->is_usable && size_is_over(self, item, REQUEST))
		fit_lower_request(self, item);
	fit_limit(self, item);
	fit_request(self, item);
}

void fit_memory(const struct deciding *self, struct sized *item)
{
	fit_fields(self, item);
	leave_to_vpa(item, item->fields[SIZED_MEMORY]);
}
