/* SPDX-License-Identifier: Apache-2.0 */
/* size_lower: proposals that lower a value (mode enforce). */
#include "policy/size/size_fit.h"

#include "policy/size.h"
#include "policy/size_math.h"

/* Behind the percentage. */
#define STEP_UNIT " % a run"

static const char *lowered_cap(const struct deciding *self, int64_t want, int64_t to)
{
	if (to <= want)
		return NULL;
	return arena_printf(self->arena, "at most %d%s", self->policy->sizing.lower_max_permille / 10, STEP_UNIT);
}

bool size_cap_is_step(const char *cap)
{
	return cap && str_ends(str_c(cap), str_c(STEP_UNIT));
}

/* Whether lowering is allowed. A pin needs no runs. */
static bool is_lowering_backed(const struct deciding *self, const struct sized *item, int f)
{
	const uint8_t forbidden = REC_NO_LOWER | REC_UNSTABLE | REC_LEAK | REC_HARM | REC_CACHE_BOUND;

	if (size_is_pinned(item, LIMIT) || size_is_pinned(item, f))
		return true;
	return item->is_variant_known && !(item->rec.flags & forbidden) && !decide_is_small_world(self->facts, item) &&
	       item->rec.whole_runs >= self->policy->sizing.lower_min_runs;
}

int64_t fit_lowered(const struct deciding *self, const struct sized *item, int f)
{
	const struct recommendation *rec = &item->rec;
	int64_t last = f == LIMIT ? rec->last_limit_bytes : rec->last_request_bytes, want = size_wanted(item, f);
	int64_t from = last > 0 ? last : item->fields[SIZED_MEMORY][f].now_bytes;
	int64_t least = size_round_up(size_scale_permille(from, 1000 - self->policy->sizing.lower_max_permille));

	if (size_is_pinned(item, LIMIT))
		least = MIN(least, rec->limit_bytes); /* a request must follow the limit */
	return size_is_pinned(item, f) ? want : MAX(want, least);
}

static enum gate lower_gate(const struct deciding *self, const struct sized *item, int f)
{
	int64_t share = size_scale_permille(decide_part_of(item, self->facts->nodes.share_memory_bytes),
					    self->policy->sizing.over_share_permille);
	bool is_over_share = item->is_main && share > 0 && item->fields[SIZED_MEMORY][f].now_bytes > share;
	enum gate gate = fit_gate(self, CHECK_MEMORY_OVER_PROVISIONED, MODE_ENFORCE);

	if (gate == GATE_ACTION && is_over_share)
		gate = fit_gate(self, CHECK_MEMORY_OVER_GPU_SHARE, MODE_ENFORCE);
	if ((fit_may_open(gate) || gate == GATE_KIND) && !is_lowering_backed(self, item, f))
		return GATE_EVIDENCE;
	return gate;
}

bool fit_is_deadly(const struct sized *item, int64_t limit_bytes)
{
	return !size_is_pinned(item, LIMIT) && size_is_below_proof(item, limit_bytes);
}

enum gate fit_lower_limit_gate(const struct deciding *self, const struct sized *item, int64_t to_bytes)
{
	return fit_is_deadly(item, to_bytes) ? GATE_EVIDENCE : lower_gate(self, item, LIMIT);
}

void fit_lower_request(const struct deciding *self, struct sized *item)
{
	struct field *request = &item->fields[SIZED_MEMORY][REQUEST];
	enum gate gate = lower_gate(self, item, REQUEST);
	int64_t to = fit_lowered(self, item, REQUEST);

	if (to < request->now_bytes)
		fit_propose(request, self->mode->is_queued && fit_may_open(gate) ? GATE_QUEUE : gate, MODE_ENFORCE, to,
			    fit_request_rule(item));
	request->proposal.cap = lowered_cap(self, item->rec.request_bytes, to);
}

void fit_lower_limit(const struct deciding *self, struct sized *item)
{
	struct field *limit = &item->fields[SIZED_MEMORY][LIMIT];
	const struct field *request = &item->fields[SIZED_MEMORY][REQUEST];
	int64_t to = fit_lowered(self, item, LIMIT);
	enum gate gate = fit_lower_limit_gate(self, item, to);

	/* If the limit is not lowered, the finding says why, even if a request that is not lowered prevents it too.
	 * With a shut gate the finding shows what both values would be. */
	if (gate != GATE_EVIDENCE)
		to = MAX(to, gate == request->proposal.gate ? request->proposal.to_bytes : field_final(request));
	if (to < limit->now_bytes)
		fit_propose(limit, gate, MODE_ENFORCE, to, fit_limit_rule(item));
	limit->proposal.cap = lowered_cap(self, item->rec.limit_bytes, to);
}
