/* SPDX-License-Identifier: Apache-2.0 */
/* size_compare: a field's value beside the recommendation for it. */
#include "policy/size/size_fit.h"

#include "policy/size.h"
#include "policy/size_math.h"

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

bool size_is_pinned(const struct sized *item, int field)
{
	return item->by[field] == (field == LIMIT ? SIZE_BY_PIN_LIMIT : SIZE_BY_PIN_REQUEST);
}

bool size_is_limit_by_pin(const struct sized *item)
{
	return item->by[LIMIT] >= SIZE_BY_PIN_REQUEST;
}

int64_t size_wanted(const struct sized *item, int field)
{
	return field == LIMIT ? item->rec.limit_bytes : item->rec.request_bytes;
}

bool size_is_over(const struct deciding *self, const struct sized *item, int field)
{
	int64_t now = item->fields[SIZED_MEMORY][field].now_bytes, want = size_wanted(item, field);
	int32_t least_permille = size_is_pinned(item, field) ? 0 : self->policy->sizing.change_min_permille;

	return want > 0 && now > size_scale_permille(want, 1000 + least_permille);
}

bool size_is_below_pin(const struct sized *item, int64_t limit_bytes)
{
	return size_is_limit_by_pin(item) && limit_bytes < item->rec.limit_bytes;
}

/* Pins, and limits that an OOM kill has proven, are applied exactly. */
static bool is_exact(const struct sized *item, int field)
{
	return field == LIMIT ? size_is_limit_by_pin(item) || item->rec.proven_bytes > 0
			      : size_is_pinned(item, REQUEST);
}

bool size_is_below(const struct deciding *self, const struct sized *item, int field)
{
	const struct field *now = &item->fields[SIZED_MEMORY][field];
	bool is_pinned = field == LIMIT ? size_is_limit_by_pin(item) : size_is_pinned(item, REQUEST);
	int32_t least_permille = is_exact(item, field) ? 0 : self->policy->sizing.change_min_permille;

	if (!now->has || now->is_invalid || (!item->is_usable && (field == LIMIT || !is_pinned)))
		return false;
	if (field == REQUEST && !is_pinned && !item->rec.whole_runs)
		return false; /* the usual use is not known */
	if (field == LIMIT && !is_pinned && size_is_below_proof(item, now->now_bytes))
		return true;
	return (__int128)now->now_bytes * 1000 < (__int128)size_wanted(item, field) * (1000 - least_permille);
}

bool size_is_raised_by_kill(const struct sized *item)
{
	const struct recommendation *rec = &item->rec;

	return rec->proven_bytes > 0 &&
	       rec->limit_bytes > size_round_up(size_scale_permille(rec->peak_bytes, 1000 + rec->buffer_permille));
}

bool size_is_below_proof(const struct sized *item, int64_t limit_bytes)
{
	return limit_bytes < item->rec.peak_bytes ||
	       (item->rec.proven_bytes > 0 && limit_bytes <= item->rec.proven_bytes);
}
