/* SPDX-License-Identifier: Apache-2.0 */
/* size_fit_pod: ephemeral storage, request = limit for critical pods, and the list of sizes that are carried out. */
#include "policy/size/size_limits.h"

#include "base/str.h"
#include "policy/render.h"
#include "policy/size_math.h"

#include <errno.h>

/* The pod's ephemeral limit is the sum of its containers' limits, where an absent one counts as nothing. So no limit is
 * added beside containers without one, or if volumes share what was measured for the container alone. */
static bool may_limit_ephemeral(const struct deciding *self, const struct sized *item)
{
	STEPS(self->n_items);
	for (size_t i = 0; i < self->n_items; i++) {
		const struct sized *other = &self->items[i];

		if (other != item && other->container->type != K8S_CONTAINER_INIT &&
		    !other->fields[SIZED_EPHEMERAL][LIMIT].has)
			return false;
	}
	return item->container->type == K8S_CONTAINER_MAIN && !self->facts->has_disk_emptydir;
}

static int64_t unmeasured_ephemeral(const struct deciding *self, const struct sized *item)
{
	const struct sizing_policy *sizing = &self->policy->sizing;

	return item->is_main && sizing->no_history != NO_HISTORY_WARN ? sizing->no_history_ephemeral_request_bytes : 0;
}

static void fit_ephemeral(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_EPHEMERAL][REQUEST], *limit = &item->fields[SIZED_EPHEMERAL][LIMIT];
	enum mode needs = fit_add_mode(self, request);
	enum gate gate = fit_gate(self, CHECK_EPHEMERAL_STORAGE_REQUEST_MISSING, needs);
	bool is_measured = item->is_usable && item->rec.ephemeral_request_bytes > 0;
	int64_t to = is_measured ? item->rec.ephemeral_request_bytes : unmeasured_ephemeral(self, item);
	int64_t room = fit_room(self, item, SIZED_EPHEMERAL);

	if (request->has || limit->is_invalid || !to)
		return;
	if (self->mode->is_queued && fit_may_open(gate))
		gate = GATE_QUEUE;
	if (fit_may_open(gate) && fit_is_held(item, REC_NO_RAISE))
		gate = GATE_EVIDENCE;
	if (limit->has)
		to = MIN(to, limit->now_bytes);
	fit_propose(request, to > 0 && room > 0 ? gate : GATE_NODE, needs, MIN(to, room),
		    is_measured ? "median" : "no-history");
	if (request->proposal.gate == GATE_OPEN && is_measured && !limit->has && !limit->is_zero &&
	    item->rec.ephemeral_limit_bytes > 0 && may_limit_ephemeral(self, item) && !fit_is_held(item, REC_HARM))
		fit_propose(limit, GATE_OPEN, MODE_FILL,
			    MAX(item->rec.ephemeral_limit_bytes, request->proposal.to_bytes), "peak+buffer");
}

static bool has_equal_cpu(const struct k8s_container *c)
{
	const struct k8s_amount *request = &c->resources.requests[K8S_CPU], *limit = &c->resources.limits[K8S_CPU];

	return request->text && limit->text && !request->is_invalid && !limit->is_invalid &&
	       quantity_cmp(&request->quantity, &limit->quantity) == 0 && limit->value > 0;
}

/* critical-not-guaranteed: whether request = limit everywhere is possible without other changes. */
static bool may_guarantee(const struct deciding *self)
{
	const char *why;

	if (self->facts->qos == K8S_QOS_GUARANTEED || self->facts->has_pod_memory || self->mode->is_queued ||
	    !decide_is_critical(self->facts, &why))
		return false;
	for (size_t i = 0; i < self->n_items; i++)
		if (!has_equal_cpu(self->items[i].after) || self->items[i].vpa ||
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

	if (!self->facts->nodes.is_complete || self->facts->nodes.largest_memory_bytes <= 0)
		return true;
	for (size_t i = 0; i < self->n_items; i++)
		self->items[i].after->resources.requests[K8S_MEMORY].quantity = quantity_from_bytes(
			field_final(&self->items[i].fields[SIZED_MEMORY][LIMIT]));
	effective = k8s_pod_effective_request(&pod, K8S_MEMORY);
	for (size_t i = 0; i < self->n_items; i++)
		self->items[i].after->resources.requests[K8S_MEMORY].quantity = quantity_from_bytes(
			field_final(&self->items[i].fields[SIZED_MEMORY][REQUEST]));
	return effective <= self->facts->nodes.largest_memory_bytes;
}

/* Sets request = limit everywhere. */
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

/* All containers or none: if the namespace does not allow it, the sizes stay as they were. */
static int guarantee_if_allowed(struct deciding *self, enum mode needs)
{
	struct field *before = arena_array(self->arena, self->n_items, sizeof(*before));
	struct breach breach;

	if (!before)
		return -ENOMEM;
	for (size_t i = 0; i < self->n_items; i++)
		before[i] = self->items[i].fields[SIZED_MEMORY][REQUEST];
	guarantee(self, needs);
	fit_carry_out_all(self);
	if (!limits_breach(self, &breach))
		return 0;
	self->critical_why = breach.why;
	for (size_t i = 0; i < self->n_items; i++)
		self->items[i].fields[SIZED_MEMORY][REQUEST] = before[i];
	fit_carry_out_all(self);
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
		return "90 % of the accelerators' share of the node";
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

/* A rule of the namespace has precedence, as it was applied last. */
static const char *size_cap(const struct deciding *self, const struct field *field)
{
	const char *cap = field->cap_why ? field->cap_why : field->proposal.cap;
	char *text;

	if (!cap || strlen(cap) <= DECISION_CAP_CHARS)
		return cap;
	text = arena_strdup(self->arena, cap);
	if (text)
		text_cut_names(text, DECISION_CAP_CHARS);
	return text ? text_clean(self->arena, text, DECISION_CAP_CHARS) : NULL;
}

/* Whether a request that comes only from defaulting must be written: otherwise the API server would copy the new limit
 * to it. */
static bool must_be_written(const struct sized *item, int resource)
{
	const struct field *fields = item->fields[resource];

	return fields[LIMIT].proposal.gate == GATE_OPEN && fields[REQUEST].has && !fields[REQUEST].is_invalid &&
	       !item->container->resources.requests[sized_resource_of((enum sized_resource)resource)].text;
}

/* Whether the value is in the input. A value from defaulting did not exist before. */
static bool is_written(const struct size_change *size)
{
	const struct k8s_resources *resources = &size->container->resources;

	return (size->field == SIZE_LIMIT ? resources->limits : resources->requests)[size->resource].text != NULL;
}

static int list_size(struct deciding *self, const struct sized *item, int resource, int f)
{
	const struct field *field = &item->fields[resource][f];
	bool is_open = field->proposal.gate == GATE_OPEN;
	struct size_change *size = &self->sizes[self->n_sizes];

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
	self->n_sizes++;
	return size->reason ? 0 : -ENOMEM;
}

/* Adds to `set` the size of a field, or what an earlier round set there. Texts of the annotation may be anything. */
static void list_set(struct deciding *self, const struct annotation_entry *said, const struct size_change *size)
{
	struct size_change *ret = &self->set[self->n_set];

	if (!said && !size)
		return;
	self->n_set++;
	if (size) {
		*ret = *size;
	} else {
		*ret = annotation_entry_size(said);
		ret->rule = said->holds ? text_clean(self->arena, ret->rule, SIZE_RULE_CHARS) : SIZE_RULE_REPLACED;
		ret->cap = ret->cap ? text_clean(self->arena, ret->cap, DECISION_CAP_CHARS) : NULL;
	}
	if (said) {
		ret->has_from = said->has_from;
		ret->from_bytes = quantity_value(&said->from);
	}
}

static int list_sizes(struct deciding *self)
{
	size_t n = self->n_items * SIZED_COUNT_ * 2;
	int r = 0;

	self->sizes = arena_array(self->arena, n + 1, sizeof(*self->sizes));
	self->set = arena_array(self->arena, n + 1, sizeof(*self->set));
	if (!self->sizes || !self->set)
		return -ENOMEM;
	for (size_t i = 0; i < n && !r; i++) {
		const struct sized *item = &self->items[i / 4];
		int resource = (int)(i / 2 % 2), f = (int)(i % 2);
		size_t before = self->n_sizes;

		r = list_size(self, item, resource, f);
		list_set(self, item->fields[resource][f].said, self->n_sizes > before ? &self->sizes[before] : NULL);
	}
	return r;
}

/* After our first round, another webhook has set a limit below the request that we had set. The API server would reject
 * the pod; without us it would copy that limit to the request. So our request is lowered. Raising their limit would not
 * help, as they may be called again after us. */
static void give_way(const struct deciding *self, struct sized *item)
{
	if (self->mode->mode < MODE_FILL || self->input->subject != SUBJECT_POD)
		return;
	for (int i = 0; i < SIZED_COUNT_; i++) {
		struct field *fields = item->fields[i];

		if (!fields[REQUEST].is_invalid && !fields[LIMIT].is_invalid && fit_is_contradictory(fields) &&
		    fields[REQUEST].said && fields[REQUEST].said->holds)
			fit_propose(&fields[REQUEST], GATE_OPEN, MODE_FILL, fields[LIMIT].now_bytes, "default");
	}
}

/* The pod and its containers without any change. */
static int start(const struct pod_facts *facts, const struct pod_mode *mode, struct deciding *ret)
{
	*ret = (struct deciding){.input = facts->input,
				 .policy = facts->policy,
				 .arena = facts->arena,
				 .facts = facts,
				 .mode = mode,
				 .after = facts->pod,
				 .n_items = facts->n_items};
	ret->after.containers = decide_copy_containers(&facts->pod, ret->arena);
	ret->items = arena_array(ret->arena, facts->n_items + 1, sizeof(*ret->items));
	if (!ret->after.containers || !ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < facts->n_items; i++) {
		ret->items[i] = facts->items[i];
		ret->items[i].after = &ret->after.containers[facts->items[i].container - facts->input->pod->containers];
	}
	return 0;
}

int size_fit(const struct pod_facts *facts, const struct pod_mode *mode, struct deciding *ret)
{
	int r = start(facts, mode, ret);

	if (r || facts->is_runtime)
		return r;
	for (size_t i = 0; i < ret->n_items; i++) {
		give_way(ret, &ret->items[i]);
		fit_memory(ret, &ret->items[i]);
		fit_ephemeral(ret, &ret->items[i]);
		fit_carry_out(ret, &ret->items[i]);
	}
	size_limits(ret);
	r = fit_critical(ret);
	return r ? r : list_sizes(ret);
}
