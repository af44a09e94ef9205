/* SPDX-License-Identifier: Apache-2.0 */
/* size_gate: whether a proposal may be carried out, and the words for its rule. */
#include "policy/size/size_fit.h"

#include "policy/size.h"

enum gate fit_gate(const struct deciding *self, enum check_id check, enum mode needs)
{
	if (self->mode->is_settled)
		return GATE_SETTLED;
	if (self->policy->actions[check] < ACTION_PATCH)
		return GATE_ACTION;
	if (self->mode->mode < needs && self->mode->kind_why)
		return GATE_KIND;
	if (self->mode->mode < needs)
		return self->facts->is_bare && !self->mode->is_bare_granted && self->mode->mode == MODE_FILL
			       ? GATE_BARE
			       : GATE_MODE;
	return GATE_OPEN;
}

bool fit_may_open(enum gate gate)
{
	return gate == GATE_OPEN || gate == GATE_MODE || gate == GATE_BARE;
}

enum gate fit_queue_gate(const struct deciding *self, const struct sized *item, int f, enum gate gate)
{
	if (!fit_may_open(gate) || !self->mode->is_queued)
		return gate;
	return f == LIMIT && item->fields[SIZED_MEMORY][REQUEST].has ? gate : GATE_QUEUE;
}

enum mode fit_add_mode(const struct deciding *self, const struct field *field)
{
	return field->is_zero && self->facts->is_bare ? MODE_RAISE : MODE_FILL;
}

void fit_propose(struct field *field, enum gate gate, enum mode needs, int64_t to_bytes, const char *rule)
{
	field->proposal = (struct proposal){gate, needs, to_bytes, rule, NULL};
}

const char *fit_limit_rule(const struct sized *item)
{
	if (size_is_limit_by_pin(item))
		return "pin";
	return size_is_raised_by_kill(item) ? "oom" : "peak+buffer";
}

const char *fit_request_rule(const struct sized *item)
{
	if (size_is_pinned(item, REQUEST))
		return "pin";
	return item->rec.request_bytes == item->rec.limit_bytes ? "guaranteed" : "median";
}

bool fit_is_held(const struct sized *item, uint8_t flags)
{
	return item->rec.flags & flags && !item->spec->pin_limit_bytes && !item->spec->pin_request_bytes;
}
