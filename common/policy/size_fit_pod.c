/* SPDX-License-Identifier: Apache-2.0 */
/* size_fit_pod: disk, request = limit for critical pods, and the list of what is carried out. */
#include "policy/size_limits.h"

#include "base/str.h"
#include "policy/render.h"
#include "policy/size_math.h"

#include <errno.h>

static bool has_disk_emptydir(const struct k8s_pod *pod)
{
	for (size_t i = 0; i < pod->n_volumes; i++)
		if (pod->volumes[i].is_emptydir && !pod->volumes[i].is_memory)
			return true;
	return false;
}

/* The pod's ephemeral limit is the sum of its containers' limits, a missing one counting as nothing: so none is added
 * beside containers without one, nor where volumes share what was measured for the container alone. */
static bool may_limit_ephemeral(const struct deciding *self, const struct sized *item)
{
	for (size_t i = 0; i < self->n_items; i++) {
		const struct sized *other = &self->items[i];

		if (other != item && other->container->type != K8S_CONTAINER_INIT &&
		    !other->fields[SIZED_EPHEMERAL][LIMIT].has)
			return false;
	}
	return item->container->type == K8S_CONTAINER_MAIN && !has_disk_emptydir(&self->pod);
}

static int64_t unmeasured_ephemeral(const struct deciding *self, const struct sized *item)
{
	const struct sizing_policy *sizing = &self->policy->sizing;
	int64_t bytes = sizing->no_history_ephemeral_request_bytes;

	if (!item->is_main || sizing->no_history == NO_HISTORY_WARN)
		return 0;
	if (self->nodes.smallest_ephemeral_bytes > 0)
		bytes = MIN(bytes, size_round_down_mi(size_share(self->nodes.smallest_ephemeral_bytes, 5, 100)));
	return bytes;
}

static void fit_ephemeral(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_EPHEMERAL][REQUEST], *limit = &item->fields[SIZED_EPHEMERAL][LIMIT];
	enum gate gate = fit_gate(self, CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING, MODE_FILL);
	bool is_measured = item->is_usable && item->rec.ephemeral_request_bytes > 0;
	int64_t to = is_measured ? item->rec.ephemeral_request_bytes : unmeasured_ephemeral(self, item);
	int64_t room = fit_room(self, item, SIZED_EPHEMERAL);

	if (request->has || limit->is_invalid || !to)
		return;
	if (self->is_queued && gate == GATE_OPEN)
		gate = GATE_QUEUE;
	if (limit->has)
		to = MIN(to, limit->now_bytes);
	fit_propose(request, to > 0 && room > 0 ? gate : GATE_NODE, MODE_FILL, MIN(to, room),
		    is_measured ? "median" : "no-history");
	if (request->proposal.gate == GATE_OPEN && is_measured && !limit->has && item->rec.ephemeral_limit_bytes > 0 &&
	    may_limit_ephemeral(self, item))
		fit_propose(limit, GATE_OPEN, MODE_FILL,
			    MAX(item->rec.ephemeral_limit_bytes, request->proposal.to_bytes), "peak+buffer");
}

static void carry_out(struct sized *item)
{
	for (int i = 0; i < SIZED_COUNT_; i++) {
		enum k8s_resource resource = sized_resource_of((enum sized_resource)i);
		struct k8s_resources *resources = &item->after->resources;
		struct k8s_amount *amounts[2] = {&resources->requests[resource], &resources->limits[resource]};

		for (int f = 0; f < 2; f++) {
			const struct proposal *proposal = &item->fields[i][f].proposal;

			if (proposal->gate != GATE_OPEN)
				continue;
			*amounts[f] = (struct k8s_amount){.text = "",
							  .quantity = quantity_from_bytes(proposal->to_bytes),
							  .value = proposal->to_bytes};
			resources->is_present = resources->has_requests = true;
			resources->has_limits |= f == LIMIT;
		}
	}
}

void fit_carry_out(struct deciding *self)
{
	for (size_t i = 0; i < self->n_items; i++) {
		self->items[i].after->resources = self->pod.containers[self->items[i].after - self->after.containers]
							  .resources;
		carry_out(&self->items[i]);
	}
}

static bool has_equal_cpu(const struct k8s_container *c)
{
	const struct k8s_amount *request = &c->resources.requests[K8S_CPU], *limit = &c->resources.limits[K8S_CPU];

	return request->text && limit->text && !request->is_invalid && !limit->is_invalid &&
	       quantity_cmp(&request->quantity, &limit->quantity) == 0 && limit->value > 0;
}

/* critical-not-guaranteed: request = limit everywhere, if the pod needs nothing else for it. */
static bool may_guarantee(const struct deciding *self)
{
	const char *why;

	if (self->qos == K8S_QOS_GUARANTEED || self->has_pod_memory || self->is_queued ||
	    !decide_is_critical(self, &why))
		return false;
	for (size_t i = 0; i < self->n_items; i++)
		if (!has_equal_cpu(self->items[i].after) ||
		    field_final(&self->items[i].fields[SIZED_MEMORY][LIMIT]) <= 0 ||
		    fit_is_held(&self->items[i], REC_NO_RAISE) ||
		    self->items[i].fields[SIZED_MEMORY][REQUEST].is_invalid ||
		    fit_is_contradictory(self->items[i].fields[SIZED_MEMORY]))
			return false;
	return true;
}

static bool would_fit_guaranteed(const struct deciding *self)
{
	struct k8s_pod pod = self->after;
	int64_t effective;

	if (!self->nodes.is_complete || self->nodes.largest_memory_bytes <= 0)
		return true;
	for (size_t i = 0; i < self->n_items; i++)
		self->items[i].after->resources.requests[K8S_MEMORY].quantity = quantity_from_bytes(
			field_final(&self->items[i].fields[SIZED_MEMORY][LIMIT]));
	effective = k8s_pod_effective_request(&pod, K8S_MEMORY);
	for (size_t i = 0; i < self->n_items; i++)
		self->items[i].after->resources.requests[K8S_MEMORY].quantity = quantity_from_bytes(
			field_final(&self->items[i].fields[SIZED_MEMORY][REQUEST]));
	return effective <= self->nodes.largest_memory_bytes;
}

/* Set request = limit everywhere. */
static void guarantee(const struct deciding *self, enum mode needs)
{
	for (size_t i = 0; i < self->n_items; i++) {
		struct field *fields = self->items[i].fields[SIZED_MEMORY];
		int64_t limit = field_final(&fields[LIMIT]);

		if (field_final(&fields[REQUEST]) == limit && field_has_final(&fields[REQUEST]))
			continue;
		fields[REQUEST].proposal = (struct proposal){GATE_OPEN, needs, limit, "guaranteed", NULL};
		fields[REQUEST].cap_why = NULL;
		if (fields[REQUEST].has && fields[REQUEST].now_bytes == limit)
			fields[REQUEST].proposal.gate = GATE_NONE;
	}
}

/* All or nothing: a namespace that does not allow it leaves the sizes as they were. */
static int guarantee_if_allowed(struct deciding *self, enum mode needs)
{
	struct field *before = arena_array(self->arena, self->n_items, sizeof(*before));
	struct breach breach;

	if (!before)
		return -ENOMEM;
	for (size_t i = 0; i < self->n_items; i++)
		before[i] = self->items[i].fields[SIZED_MEMORY][REQUEST];
	guarantee(self, needs);
	fit_carry_out(self);
	if (!limits_breach(self, &breach))
		return 0;
	self->critical_why = breach.why;
	for (size_t i = 0; i < self->n_items; i++)
		self->items[i].fields[SIZED_MEMORY][REQUEST] = before[i];
	fit_carry_out(self);
	return 0;
}

static int fit_critical(struct deciding *self)
{
	enum mode needs = MODE_FILL;
	enum gate gate;

	if (!may_guarantee(self))
		return 0;
	for (size_t i = 0; i < self->n_items; i++)
		if (self->items[i].fields[SIZED_MEMORY][REQUEST].has)
			needs = MODE_RAISE;
	gate = fit_gate(self, CHECK_CRITICAL_NOT_GUARANTEED, needs);
	if (gate != GATE_OPEN || !would_fit_guaranteed(self))
		return 0;
	return guarantee_if_allowed(self, needs);
}

static const char *base_reason(const struct deciding *self, const struct sized *item, int resource, int f)
{
	const struct proposal *proposal = &item->fields[resource][f].proposal;

	if (resource == SIZED_EPHEMERAL && !streq(proposal->rule, "default"))
		return streq(proposal->rule, "no-history") ? "no disk use measured" : "measured disk use of past runs";
	if (streq(proposal->rule, "no-history"))
		return "no past runs";
	if (streq(proposal->rule, "gpu-share"))
		return "share of the node by its accelerators";
	if (streq(proposal->rule, "guaranteed"))
		return "kept equal to the limit";
	if (streq(proposal->rule, "default"))
		return "the limit that another webhook has set since";
	return f == LIMIT ? text_why_limit(self, item) : text_why_request(self, item);
}

static const char *size_reason(const struct deciding *self, const struct sized *item, int resource, int f)
{
	const char *reason = base_reason(self, item, resource, f), *cap = item->fields[resource][f].cap_why;

	return cap && reason ? arena_printf(self->arena, "%s, %s", reason, cap) : reason;
}

/* What the namespace took away comes first: it came last. */
static const char *size_cap(const struct deciding *self, const struct field *field)
{
	const char *cap = field->cap_why ? field->cap_why : field->proposal.cap;

	return cap ? text_clean(self->arena, cap, DECISION_CAP_CHARS) : NULL;
}

/* A request that is written nowhere but made by default. Beside a new limit the API server would make the limit of it.
 */
static bool must_be_written(const struct sized *item, int resource)
{
	const struct field *fields = item->fields[resource];

	return fields[LIMIT].proposal.gate == GATE_OPEN && fields[REQUEST].has && !fields[REQUEST].is_invalid &&
	       !item->container->resources.requests[sized_resource_of((enum sized_resource)resource)].text;
}

/* Does the value stand in the input? What defaulting made of another is nothing that was there before. */
static bool is_written(const struct size_change *size)
{
	const struct k8s_resources *resources = &size->container->resources;

	return (size->field == SIZE_LIMIT ? resources->limits : resources->requests)[size->resource].text != NULL;
}

static int list_size(const struct deciding *self, const struct sized *item, int resource, int f)
{
	const struct field *field = &item->fields[resource][f];
	bool is_open = field->proposal.gate == GATE_OPEN;
	struct size_change *size = &self->ret->sizes[self->ret->n_sizes];

	if (!is_open && (f != REQUEST || !must_be_written(item, resource)))
		return 0;
	*size = (struct size_change){.container = item->container,
				     .resource = sized_resource_of((enum sized_resource)resource),
				     .field = (enum size_field)f,
				     .to_bytes = is_open ? field->proposal.to_bytes : field->now_bytes,
				     .rule = is_open ? field->proposal.rule : "default",
				     .reason = is_open ? size_reason(self, item, resource, f)
						       : "the default, written beside a new limit"};
	size->has_from = is_open && is_written(size);
	size->from_bytes = size->has_from ? field->now_bytes : 0;
	size->cap = is_open ? size_cap(self, field) : NULL;
	self->ret->n_sizes++;
	return size->reason ? 0 : -ENOMEM;
}

static int list_sizes(const struct deciding *self)
{
	struct decision *ret = self->ret;
	int r = 0;

	ret->sizes = arena_array(self->arena, self->n_items * SIZED_COUNT_ * 2 + 1, sizeof(*ret->sizes));
	if (!ret->sizes)
		return -ENOMEM;
	for (size_t i = 0; i < self->n_items * SIZED_COUNT_ * 2 && !r; i++)
		r = list_size(self, &self->items[i / 4], (int)(i / 2 % 2), (int)(i % 2));
	return r;
}

/* Another webhook, after our first round, has set a limit below the request that we had set: the API server would
 * refuse the pod, and without us that request would be what it makes of the limit. So ours gives way; raising their
 * limit would not do, as they may be asked again, after us. */
static void give_way(const struct deciding *self, struct sized *item)
{
	if (self->ret->mode < MODE_FILL || self->input->subject != SUBJECT_POD)
		return;
	for (int i = 0; i < SIZED_COUNT_; i++) {
		struct field *fields = item->fields[i];

		if (!fields[REQUEST].is_invalid && !fields[LIMIT].is_invalid && fit_is_contradictory(fields) &&
		    decision_set_request(self->input->pod, item->container->name,
					 sized_resource_of((enum sized_resource)i)))
			fit_propose(&fields[REQUEST], GATE_OPEN, MODE_FILL, fields[LIMIT].now_bytes, "default");
	}
}

int size_fit(struct deciding *self)
{
	int r;

	for (size_t i = 0; i < self->n_items; i++) {
		give_way(self, &self->items[i]);
		fit_memory(self, &self->items[i]);
		fit_ephemeral(self, &self->items[i]);
		carry_out(&self->items[i]);
	}
	size_limits(self);
	r = fit_critical(self);
	return r ? r : list_sizes(self);
}
