/* SPDX-License-Identifier: Apache-2.0 */
/* size_limits_repair: makes proposals smaller (or larger, for a minimum), or shuts them. Each step removes something or
 * marks what it changed, so that the steps end. Invariants after each step: request <= limit, a Guaranteed pod's
 * requests = limits, no limit without a request, no new limit below what the container was seen to need. */
#include "policy/size/size_limits.h"

#include "base/limits.h"
#include "base/str.h"
#include "policy/size.h"
#include "policy/size_math.h"

static bool is_open(const struct field *field)
{
	return field->proposal.gate == GATE_OPEN;
}

static enum sized_resource sized_of(enum k8s_resource resource)
{
	return resource == K8S_EPHEMERAL_STORAGE ? SIZED_EPHEMERAL : SIZED_MEMORY;
}

/* By how much the proposal changes the field: positive for added and raised values. */
static int64_t growth_of(const struct field *field)
{
	return is_open(field) ? field->proposal.to_bytes - (field->has ? field->now_bytes : 0) : 0;
}

static bool is_lowered(const struct field *field)
{
	return field->has && growth_of(field) < 0;
}

static void shut(struct field *field, const char *why)
{
	if (!is_open(field))
		return;
	field->proposal.gate = GATE_LIMITS;
	field->cap_why = why;
}

static void move(struct field *field, int64_t to, const char *why)
{
	field->proposal.to_bytes = to;
	field->cap_why = why;
}

static bool is_tied(const struct deciding *self, enum sized_resource resource)
{
	return resource == SIZED_MEMORY && self->facts->qos == K8S_QOS_GUARANTEED;
}

/* A request that was to go with a limit must stay below the current limit. */
static void keep_under_limit(struct field *fields, const char *why)
{
	int64_t limit = field_final(&fields[LIMIT]);

	if (!is_open(&fields[REQUEST]) || !field_has_final(&fields[LIMIT]) ||
	    fields[REQUEST].proposal.to_bytes <= limit)
		return;
	if (limit <= (fields[REQUEST].has ? fields[REQUEST].now_bytes : 0))
		shut(&fields[REQUEST], why);
	else
		move(&fields[REQUEST], limit, why);
}

static void drop(struct deciding *self, struct sized *item, enum sized_resource resource, int f, const char *why)
{
	struct field *fields = item->fields[resource];
	bool was_added_limit = f == LIMIT && !fields[LIMIT].has && is_open(&fields[LIMIT]);

	shut(&fields[f], why);
	if (is_tied(self, resource))
		shut(&fields[!f], why);
	/* The API server copies a limit without a request to the request; and a limit must not be below its request. */
	if (f == REQUEST &&
	    ((!fields[REQUEST].has && !fields[LIMIT].has) ||
	     (is_lowered(&fields[LIMIT]) && fields[LIMIT].proposal.to_bytes < field_final(&fields[REQUEST]))))
		shut(&fields[LIMIT], why);
	if (was_added_limit && resource == SIZED_MEMORY)
		fit_request_anew(self, item);
	keep_under_limit(fields, why);
}

void limits_drop_all(struct deciding *self, bool is_all, const char *why)
{
	for (size_t i = 0; i < self->n_items; i++)
		for (int r = 0; r < SIZED_COUNT_; r++)
			for (int f = 0; f < 2; f++)
				if (is_all || r == SIZED_MEMORY)
					shut(&self->items[i].fields[r][f], why);
	fit_carry_out_all(self);
}

/* ---- smaller ---- */

/* Whether a limit that was raised or added may have this value. A new limit must not be below the need of any run. */
static bool may_limit_be(const struct sized *item, enum sized_resource resource, int64_t bytes)
{
	const struct field *fields = item->fields[resource];

	if (fields[LIMIT].has)
		return bytes > fields[LIMIT].now_bytes;
	if (fields[REQUEST].has && bytes < fields[REQUEST].now_bytes)
		return false;
	if (resource == SIZED_EPHEMERAL)
		return bytes >= item->rec.ephemeral_peak_bytes;
	return item->is_usable && !size_is_below_proof(item, bytes);
}

static void reduce(struct deciding *self, struct sized *item, enum sized_resource resource, int f, int64_t by,
		   const char *why)
{
	struct field *fields = item->fields[resource];
	int64_t to = fields[f].proposal.to_bytes;
	int64_t now = fields[f].has ? fields[f].now_bytes : 0;

	to = by >= to ? 0 : size_round_down_mi(to - by);
	fields[f].is_reduced = true;
	if (to <= now || (f == LIMIT && !may_limit_be(item, resource, to))) {
		drop(self, item, resource, f, why);
		return;
	}
	move(&fields[f], to, why);
	if (is_tied(self, resource) && is_open(&fields[!f]))
		move(&fields[!f], to, why);
	keep_under_limit(fields, why);
}

static bool is_within(const struct sized *item, const struct breach *breach)
{
	return !breach->within || breach->within == item->after;
}

/* The sum that all proposals within the breach add. */
static __int128 growth_within(const struct deciding *self, const struct breach *breach, int f)
{
	enum sized_resource resource = sized_of(breach->resource);
	__int128 total = 0;

	STEPS(self->n_items);
	for (size_t i = 0; i < self->n_items; i++)
		if (is_within(&self->items[i], breach))
			total += MAX(growth_of(&self->items[i].fields[resource][f]), 0);
	return total;
}

/* Reduces each proposal in proportion to what it adds. */
static void shrink(struct deciding *self, const struct breach *breach, int f, int64_t by)
{
	enum sized_resource resource = sized_of(breach->resource);
	__int128 total = growth_within(self, breach, f);

	if (!total) {
		limits_drop_all(self, true, breach->why);
		return;
	}
	for (size_t i = 0; i < self->n_items; i++) {
		struct sized *item = &self->items[i];
		int64_t growth = growth_of(&item->fields[resource][f]);

		if (growth <= 0 || !is_within(item, breach))
			continue;
		reduce(self, item, resource, f, (int64_t)MIN((growth * (__int128)by + total - 1) / total, INT64_MAX),
		       breach->why);
		fit_carry_out(self, item);
	}
}

/* ---- larger ---- */

/* A lowered value that must not become so low, else one that was added and may be larger. */
static struct sized *growable(struct deciding *self, const struct breach *breach, int f)
{
	enum sized_resource resource = sized_of(breach->resource);
	struct sized *found = NULL;

	STEPS(self->n_items);
	for (size_t i = 0; i < self->n_items; i++) {
		const struct field *field = &self->items[i].fields[resource][f];

		if (!is_open(field) || field->is_reduced || !is_within(&self->items[i], breach))
			continue;
		if (is_lowered(field))
			return &self->items[i];
		if (!found)
			found = &self->items[i];
	}
	return found;
}

/* Lowers a value less; not at all if nothing of the lowering remains. */
static void lower_less(struct deciding *self, struct sized *item, enum sized_resource resource, int f, int64_t to,
		       const char *why)
{
	struct field *fields = item->fields[resource];

	if (to >= fields[f].now_bytes) {
		drop(self, item, resource, f, why);
		return;
	}
	move(&fields[f], to, why);
	if (is_tied(self, resource) && is_open(&fields[!f]))
		move(&fields[!f], to, why);
	else if (f == REQUEST && is_open(&fields[LIMIT]) && fields[LIMIT].proposal.to_bytes < to)
		move(&fields[LIMIT], to, why);
}

/* @return false: it cannot be that large. */
static bool enlarge(struct deciding *self, struct sized *item, enum sized_resource resource, int f, int64_t to,
		    const char *why)
{
	struct field *fields = item->fields[resource];
	int64_t room = fit_room(self, item, resource);

	if (f == REQUEST && (to > room || (field_has_final(&fields[LIMIT]) && to > field_final(&fields[LIMIT]))))
		return false;
	if (is_tied(self, resource) && to > room)
		return false;
	move(&fields[f], to, why);
	if (is_tied(self, resource) && is_open(&fields[!f]))
		move(&fields[!f], to, why);
	return true;
}

/* @return false: nothing can be enlarged. */
static bool grow(struct deciding *self, const struct breach *breach, int f)
{
	enum sized_resource resource = sized_of(breach->resource);
	struct sized *item = growable(self, breach, f);
	int64_t to;

	if (!item || __builtin_add_overflow(item->fields[resource][f].proposal.to_bytes, breach->bytes, &to))
		return false;
	if (is_lowered(&item->fields[resource][f])) {
		lower_less(self, item, resource, f, to, breach->why);
		fit_carry_out(self, item);
		return true;
	}
	if (to <= INT64_MAX - (int64_t)MIB)
		to = size_round_down_mi(to + (int64_t)MIB - 1);
	if (!enlarge(self, item, resource, f, to, breach->why))
		return false;
	fit_carry_out(self, item);
	return true;
}

/* If nothing can be changed: drops every open proposal to which the rule applies. */
static void drop_within(struct deciding *self, const struct breach *breach)
{
	enum sized_resource resource = sized_of(breach->resource);
	bool is_any = false;

	for (size_t i = 0; i < self->n_items; i++) {
		struct field *fields = self->items[i].fields[resource];

		if (!is_within(&self->items[i], breach))
			continue;
		is_any |= is_open(&fields[REQUEST]) || is_open(&fields[LIMIT]);
		shut(&fields[REQUEST], breach->why);
		shut(&fields[LIMIT], breach->why);
		fit_carry_out(self, &self->items[i]);
	}
	if (!is_any)
		limits_drop_all(self, true, breach->why);
}

void limits_repair(struct deciding *self, const struct breach *breach)
{
	switch (breach->kind) {
	case BREACH_TOO_MUCH:
		shrink(self, breach, breach->field, breach->bytes);
		return;
	case BREACH_TOO_LITTLE:
		if (!grow(self, breach, breach->field))
			drop_within(self, breach);
		return;
	case BREACH_RATIO:
		if (grow(self, breach, REQUEST))
			return;
		if (growth_within(self, breach, LIMIT))
			shrink(self, breach, LIMIT, breach->limit_bytes);
		else
			drop_within(self, breach);
		return;
	case BREACH_COUNTED:
		limits_drop_all(self, false, breach->why);
		return;
	}
}
