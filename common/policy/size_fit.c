/* SPDX-License-Identifier: Apache-2.0 */
/* size_fit: recommendation -> what this pod may get. Each container, resource and field gets at most one proposal. Who
 * may carry it out (action, mode, bare pod, queue, node) is a gate on it; a shut gate is still a fact worth a sentence.
 * Invariants: request <= limit after every step; QoS never falls; cpu is never touched; nothing present is changed
 * below mode raise (but what LimitRanger chose); nothing is lowered below mode enforce. */
#include "policy/size_fit.h"

#include "base/str.h"
#include "k8s/quantity.h"
#include "policy/size.h"
#include "policy/size_math.h"

#include <errno.h>

int64_t field_final(const struct field *field)
{
	if (field->proposal.gate == GATE_OPEN)
		return field->proposal.to_bytes;
	return field->has && !field->is_invalid ? field->now_bytes : 0;
}

bool field_has_final(const struct field *field)
{
	return field->has || field->proposal.gate == GATE_OPEN;
}

bool size_is_over(const struct deciding *self, int64_t now_bytes, int64_t want_bytes)
{
	return want_bytes > 0 &&
	       now_bytes > size_scale_permille(want_bytes, 1000 + self->policy->sizing.change_min_permille);
}

bool size_is_limit_pinned(const struct sized *item)
{
	return item->profile && item->profile->spec->pin_limit_bytes > 0;
}

bool size_is_request_pinned(const struct sized *item)
{
	return item->profile && item->profile->spec->pin_request_bytes > 0;
}

bool size_is_limit_by_pin(const struct sized *item)
{
	return size_is_limit_pinned(item) ||
	       (size_is_request_pinned(item) && item->rec.limit_bytes == item->rec.request_bytes);
}

bool size_is_below_pin(const struct sized *item, int64_t limit_bytes)
{
	return size_is_limit_by_pin(item) && limit_bytes < item->rec.limit_bytes;
}

/* "Far under": by more than what is left as it is. A smaller quantile than the median is the user's own choice,
 * and so is a pin of any size. */
bool size_is_below_median(const struct deciding *self, const struct sized *item)
{
	const struct field *request = &item->fields[SIZED_MEMORY][REQUEST];
	int64_t want = size_is_request_pinned(item) ? item->rec.request_bytes
						    : MIN(item->rec.median_bytes, item->rec.request_bytes);

	return request->has && !request->is_invalid &&
	       (__int128)request->now_bytes * 1000 < (__int128)want * (1000 - self->policy->sizing.change_min_permille);
}

bool size_is_below_proof(const struct sized *item, int64_t limit_bytes)
{
	return limit_bytes < item->rec.peak_bytes ||
	       (item->rec.proven_bytes > 0 && limit_bytes <= item->rec.proven_bytes);
}

enum gate fit_gate(const struct deciding *self, enum check_id check, enum mode needs)
{
	if (self->is_settled)
		return GATE_SETTLED;
	if (self->policy->actions[check] < ACTION_PATCH)
		return GATE_ACTION;
	if (self->ret->mode < needs && self->kind_why && self->asked_mode >= needs)
		return GATE_KIND;
	if (self->ret->mode < needs)
		return self->is_bare && !self->is_bare_granted && self->ret->mode == MODE_FILL ? GATE_BARE : GATE_MODE;
	return GATE_OPEN;
}

/* Requests of a pod that a queue has counted stand; its limit may grow only beside an explicit request, because the API
 * server would make the request of a lone limit. */
static enum gate queue_gate(const struct deciding *self, const struct sized *item, int f, enum gate gate)
{
	if (gate != GATE_OPEN || !self->is_queued)
		return gate;
	if (f == LIMIT && item->fields[SIZED_MEMORY][REQUEST].has)
		return GATE_OPEN;
	return GATE_QUEUE;
}

void fit_propose(struct field *field, enum gate gate, enum mode needs, int64_t to_bytes, const char *rule)
{
	field->proposal = (struct proposal){gate, needs, to_bytes, rule, NULL};
}

int64_t fit_room(const struct deciding *self, struct sized *item, enum sized_resource resource)
{
	enum k8s_resource r = sized_resource_of(resource);
	struct k8s_amount *own = &item->after->resources.requests[r], saved = *own;
	int64_t largest = resource == SIZED_MEMORY ? self->nodes.largest_memory_bytes
						   : self->nodes.largest_ephemeral_bytes;
	int64_t over;

	if (!self->nodes.is_complete || largest <= 0)
		return INT64_MAX;
	/* With all of the node for itself: what the pod is too large by is what runs beside it. */
	*own = (struct k8s_amount){.text = "", .quantity = quantity_from_bytes(largest), .value = largest};
	over = k8s_pod_effective_request(&self->after, r) - largest;
	*own = saved;
	return size_round_down_mi(MAX(largest - MAX(over, 0), 0));
}

static int64_t cap_limit(const struct deciding *self, int64_t bytes)
{
	if (!self->nodes.is_complete || self->nodes.largest_memory_bytes <= 0)
		return bytes;
	return MIN(bytes, size_round_down_mi(self->nodes.largest_memory_bytes));
}

/* ---- what kept a size from more or less ---- */

static const char *node_words(const struct deciding *self)
{
	return arena_printf(self->arena, "largest node %s", HUMAN(self->nodes.largest_memory_bytes));
}

static const char *limit_cap(const struct deciding *self, const struct sized *item, int64_t want, int64_t to)
{
	int64_t ceiling = self->policy->sizing.ceiling_bytes,
		own = item->profile ? item->profile->spec->ceiling_bytes : 0;

	if (to < want)
		return node_words(self);
	if (own > 0 && (ceiling <= 0 || own < ceiling))
		ceiling = own;
	return ceiling > 0 && to == ceiling ? "ceiling" : NULL;
}

static const char *lowered_cap(const struct deciding *self, int64_t want, int64_t to)
{
	if (to <= want)
		return NULL;
	return arena_printf(self->arena, "at most %d%% a run", self->policy->sizing.lower_max_permille / 10);
}

static const char *request_cap(const struct deciding *self, int64_t want, int64_t room, int64_t to)
{
	if (to >= want)
		return NULL;
	return to == room ? node_words(self) : "its limit";
}

static const char *limit_rule(const struct sized *item)
{
	const struct recommendation *rec = &item->rec;

	if (size_is_limit_by_pin(item))
		return "pin";
	if (rec->proven_bytes > 0 &&
	    rec->limit_bytes > size_round_up(size_scale_permille(rec->peak_bytes, 1000 + rec->buffer_permille)))
		return "oom";
	return "peak+buffer";
}

static const char *request_rule(const struct sized *item)
{
	if (size_is_request_pinned(item))
		return "pin";
	return item->rec.request_bytes == item->rec.limit_bytes ? "guaranteed" : "median";
}

bool fit_is_held(const struct sized *item, enum recommendation_flag by)
{
	const struct profile_spec *spec = item->profile ? item->profile->spec : &profile_spec_none;

	return item->rec.flags & by && !spec->pin_limit_bytes && !spec->pin_request_bytes;
}

/* Rule 9. A pin is a person's word and needs no runs. */
static bool is_lowering_backed(const struct deciding *self, const struct sized *item)
{
	const uint8_t forbidden = REC_NO_LOWER | REC_UNSTABLE | REC_LEAK | REC_HARM | REC_CACHE_BOUND;

	if (size_is_limit_pinned(item))
		return true;
	return item->is_variant_known && !(item->rec.flags & forbidden) && !decide_is_small_world(self, item) &&
	       item->rec.whole_runs >= self->policy->sizing.lower_min_runs;
}

/* One step down a run, however often its template and pods are looked at, and though a manifest is submitted with the
 * same value again and again: the step is taken from what the last whole run completed with. */
static int64_t lowered(const struct deciding *self, int64_t now_bytes, int64_t last_bytes, int64_t want_bytes)
{
	int64_t from = last_bytes > 0 ? last_bytes : now_bytes;
	int64_t least = size_scale_permille(from, 1000 - self->policy->sizing.lower_max_permille);

	return MAX(want_bytes, size_round_up(least));
}

static enum gate lower_gate(const struct deciding *self, const struct sized *item, int f)
{
	int64_t share = size_scale_permille(self->nodes.share_memory_bytes, self->policy->sizing.over_share_permille);
	bool is_over_share = item->is_main && share > 0 && item->fields[SIZED_MEMORY][f].now_bytes > share;
	enum gate gate = fit_gate(self, CHECK_MEMORY_OVER_PROVISIONED, MODE_ENFORCE);

	if (gate == GATE_ACTION && is_over_share)
		gate = fit_gate(self, CHECK_MEMORY_OVER_GPU_SHARE, MODE_ENFORCE);
	if ((gate == GATE_OPEN || gate == GATE_MODE || gate == GATE_BARE || gate == GATE_KIND) &&
	    !is_lowering_backed(self, item))
		return GATE_EVIDENCE;
	return gate;
}

/* A ceiling or a share of the node may be less than runs were seen to use, and a single run has proved that: nobody is
 * to be killed by it. A pin is a person's word. */
static bool is_deadly(const struct sized *item, int64_t limit_bytes)
{
	return !size_is_limit_pinned(item) && size_is_below_proof(item, limit_bytes);
}

static enum gate lower_limit_gate(const struct deciding *self, const struct sized *item, int64_t to_bytes)
{
	return is_deadly(item, to_bytes) ? GATE_EVIDENCE : lower_gate(self, item, LIMIT);
}

static void lower_request(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_MEMORY][REQUEST];
	enum gate gate = lower_gate(self, item, REQUEST);
	int64_t to = lowered(self, request->now_bytes, item->rec.last_request_bytes, item->rec.request_bytes);

	if (to < request->now_bytes)
		fit_propose(request, self->is_queued && gate == GATE_OPEN ? GATE_QUEUE : gate, MODE_ENFORCE, to,
			    request_rule(item));
	request->proposal.cap = lowered_cap(self, item->rec.request_bytes, to);
}

static void lower_limit(const struct deciding *self, struct sized *item)
{
	struct field *limit = &item->fields[SIZED_MEMORY][LIMIT];
	int64_t to = lowered(self, limit->now_bytes, item->rec.last_limit_bytes, item->rec.limit_bytes);
	enum gate gate = lower_limit_gate(self, item, to);

	/* What is not lowered says why, even where a request that is not lowered either stands in the way. */
	if (gate != GATE_EVIDENCE)
		to = MAX(to, field_final(&item->fields[SIZED_MEMORY][REQUEST]));
	if (to < limit->now_bytes)
		fit_propose(limit, gate, MODE_ENFORCE, to, limit_rule(item));
	limit->proposal.cap = lowered_cap(self, item->rec.limit_bytes, to);
}

static void raise_limit(const struct deciding *self, struct sized *item)
{
	struct field *limit = &item->fields[SIZED_MEMORY][LIMIT];
	enum mode needs = limit->is_default ? MODE_FILL : MODE_RAISE;
	enum gate gate = queue_gate(self, item, LIMIT, fit_gate(self, CHECK_MEMORY_LIMIT_BELOW_PEAK, needs));
	int64_t want = MAX(item->rec.limit_bytes, field_final(&item->fields[SIZED_MEMORY][REQUEST]));
	int64_t to = cap_limit(self, want);

	if (want <= limit->now_bytes)
		return;
	if (to <= limit->now_bytes)
		gate = GATE_NODE;
	fit_propose(limit, gate, needs, gate == GATE_NODE ? want : to, limit_rule(item));
	limit->proposal.cap = limit_cap(self, item, want, to);
}

/* Without enough history only the policy `share` sets a limit: the part of the roomiest node that goes with its
 * accelerators. */
static void add_limit(const struct deciding *self, struct sized *item)
{
	struct field *limit = &item->fields[SIZED_MEMORY][LIMIT];
	enum gate gate = queue_gate(self, item, LIMIT, fit_gate(self, CHECK_MEMORY_LIMIT_MISSING, MODE_FILL));
	int64_t request = field_final(&item->fields[SIZED_MEMORY][REQUEST]), want = 0, to;
	const char *rule = limit_rule(item);

	if (item->is_usable) {
		want = item->rec.limit_bytes;
	} else if (item->is_main && self->policy->sizing.no_history == NO_HISTORY_SHARE) {
		want = size_round_down_mi(self->nodes.share_memory_bytes);
		rule = "gpu-share";
	}
	if (!want)
		return;
	to = MAX(cap_limit(self, want), request);
	if (cap_limit(self, to) < to)
		gate = GATE_NODE;
	if (gate == GATE_OPEN && (fit_is_held(item, REC_NO_LIMIT) || is_deadly(item, to)))
		gate = GATE_EVIDENCE;
	fit_propose(limit, gate, MODE_FILL, to, rule);
	limit->proposal.cap = limit_cap(self, item, want, to);
}

static void fit_limit(const struct deciding *self, struct sized *item)
{
	const struct field *limit = &item->fields[SIZED_MEMORY][LIMIT];

	if (!limit->has)
		add_limit(self, item);
	else if (!item->is_usable)
		return;
	else if (size_is_below_proof(item, limit->now_bytes) || size_is_below_pin(item, limit->now_bytes))
		raise_limit(self, item);
	else if (size_is_over(self, limit->now_bytes, item->rec.limit_bytes))
		lower_limit(self, item);
}

/* The request that a container without one gets; 0: none. Beside a new limit there must be one. */
static int64_t missing_request(const struct deciding *self, const struct sized *item, const char **ret_rule)
{
	const struct sizing_policy *sizing = &self->policy->sizing;
	bool has_new_limit = item->fields[SIZED_MEMORY][LIMIT].proposal.gate == GATE_OPEN;

	*ret_rule = request_rule(item);
	if ((item->is_usable || size_is_request_pinned(item)) && item->rec.request_bytes > 0 &&
	    !fit_is_held(item, REC_NO_RAISE))
		return item->rec.request_bytes;
	*ret_rule = "no-history";
	if (has_new_limit ||
	    (item->is_main && self->qos == K8S_QOS_BEST_EFFORT && sizing->no_history != NO_HISTORY_WARN))
		return sizing->no_history_request_bytes;
	return 0;
}

static void add_request(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_MEMORY][REQUEST], *limit = &item->fields[SIZED_MEMORY][LIMIT];
	enum gate gate = fit_gate(self, CHECK_MEMORY_REQUEST_MISSING, MODE_FILL);
	int64_t room = fit_room(self, item, SIZED_MEMORY), want, to;
	const char *rule, *cap;

	if (gate == GATE_ACTION && self->qos == K8S_QOS_BEST_EFFORT)
		gate = fit_gate(self, CHECK_BESTEFFORT_QOS, MODE_FILL);
	gate = queue_gate(self, item, REQUEST, gate);
	want = missing_request(self, item, &rule);
	if (!want)
		return;
	to = MIN(want, room);
	if (field_has_final(limit))
		to = MIN(to, field_final(limit));
	cap = request_cap(self, want, room, to);
	if (to > 0 && limit->proposal.gate == GATE_OPEN)
		gate = GATE_OPEN;
	if (to <= 0)
		gate = GATE_NODE;
	/* The API server would make the request of a lone limit, and that fits no node. */
	if (to <= 0 && limit->proposal.gate == GATE_OPEN)
		limit->proposal.gate = GATE_NODE;
	fit_propose(request, gate, MODE_FILL, to, rule);
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
	enum gate gate = queue_gate(self, item, REQUEST, fit_gate(self, CHECK_MEMORY_REQUEST_BELOW_MEDIAN, needs));
	int64_t room = fit_room(self, item, SIZED_MEMORY), to = MIN(item->rec.request_bytes, room);

	if (item->rec.request_bytes <= request->now_bytes)
		return;
	if (fit_is_held(item, REC_NO_RAISE) && gate == GATE_OPEN)
		gate = GATE_EVIDENCE;
	/* Where the gate is shut, the sentence says what both would be. */
	if (gate != GATE_OPEN && limit->proposal.gate != GATE_NONE)
		to = MIN(to, MAX(limit->proposal.to_bytes, limit->now_bytes));
	else if (field_has_final(limit))
		to = MIN(to, field_final(limit));
	/* A pin above a limit that nothing is known of: the request stands at it already. */
	if (to <= request->now_bytes && room > request->now_bytes && size_is_request_pinned(item))
		return;
	if (to <= request->now_bytes) {
		to = item->rec.request_bytes;
		gate = GATE_NODE;
	}
	fit_propose(request, gate, needs, to, request_rule(item));
	request->proposal.cap = request_cap(self, item->rec.request_bytes, room, to);
}

static void fit_request(const struct deciding *self, struct sized *item)
{
	const struct field *request = &item->fields[SIZED_MEMORY][REQUEST];

	if (!request->has)
		add_request(self, item);
	else if ((item->is_usable || size_is_request_pinned(item)) && size_is_below_median(self, item))
		raise_request(self, item);
}

/* Rule 6: a Guaranteed pod keeps requests = limits, so both move together or not at all. */
static void fit_guaranteed(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_MEMORY][REQUEST], *limit = &item->fields[SIZED_MEMORY][LIMIT];
	struct proposal *proposal = &limit->proposal;
	int64_t room = fit_room(self, item, SIZED_MEMORY), to = 0;

	if (!item->is_usable)
		return;
	if (size_is_below_proof(item, limit->now_bytes) || size_is_below_pin(item, limit->now_bytes))
		raise_limit(self, item);
	else if (size_is_over(self, limit->now_bytes, item->rec.limit_bytes))
		to = lowered(self, limit->now_bytes, item->rec.last_limit_bytes, item->rec.limit_bytes);
	if (to && to < limit->now_bytes)
		fit_propose(limit, lower_limit_gate(self, item, to), MODE_ENFORCE, to, limit_rule(item));
	if (proposal->gate == GATE_NONE)
		return;
	if (proposal->gate == GATE_OPEN && self->is_queued)
		proposal->gate = GATE_QUEUE;
	if (proposal->gate == GATE_OPEN && !to && fit_is_held(item, REC_NO_RAISE))
		proposal->gate = GATE_EVIDENCE;
	if (proposal->gate == GATE_OPEN && !to && room < proposal->to_bytes) {
		proposal->gate = room > limit->now_bytes ? GATE_OPEN : GATE_NODE;
		proposal->to_bytes = room > limit->now_bytes ? room : proposal->to_bytes;
	}
	fit_propose(request, proposal->gate, proposal->needs, proposal->to_bytes, "guaranteed");
}

bool fit_is_contradictory(const struct field *fields)
{
	return fields[REQUEST].has && fields[LIMIT].has && fields[REQUEST].now_bytes > fields[LIMIT].now_bytes;
}

void fit_memory(const struct deciding *self, struct sized *item)
{
	struct field *fields = item->fields[SIZED_MEMORY];

	if (self->has_pod_memory || fields[REQUEST].is_invalid || fields[LIMIT].is_invalid ||
	    fit_is_contradictory(fields))
		return;
	if (self->qos == K8S_QOS_GUARANTEED) {
		fit_guaranteed(self, item);
		return;
	}
	if (fields[REQUEST].has && item->is_usable &&
	    size_is_over(self, fields[REQUEST].now_bytes, item->rec.request_bytes))
		lower_request(self, item);
	fit_limit(self, item);
	fit_request(self, item);
}
