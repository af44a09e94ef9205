/* SPDX-License-Identifier: Apache-2.0 */
/* profile_effect: which of two recommendations applies. Replicas of the webhook get a change at different times, and
 * the pods of one run are created over some time; neither may lead to different sizes. So it depends on values that
 * every replica knows alike: when the run was submitted, and when the change was made. */
#include "model/profile.h"

#include "base/str.h"

static struct profile_sizes sizes_now(const struct profile *self)
{
	return (struct profile_sizes){&self->parent, self->variants, self->n_variants, false};
}

struct profile_sizes profile_sizes_for(const struct profile *self, int64_t created_ms, int64_t now_ms)
{
	const struct recommendation *previous = self->variants + self->n_variants;

	if (!profile_previous_matters(self, now_ms) || created_ms >= self->updated_ms + PROFILE_EFFECT_DELAY_MS)
		return sizes_now(self);
	return (struct profile_sizes){previous, previous + 1, (size_t)self->n_previous - 1, true};
}

const struct recommendation *profile_sizes_variant(const struct profile_sizes *self, const char *variant)
{
	for (size_t i = 0; *variant && i < self->n_variants; i++)
		if (streq(self->variants[i].variant, variant))
			return &self->variants[i];
	return NULL;
}

static void copy_previous(struct profile *draft, struct recommendation *to, const struct profile *from)
{
	if (from->n_previous)
		memcpy(to, from->variants + from->n_variants, from->n_previous * sizeof(*to));
	draft->n_previous = from->n_previous;
}

void profile_change(struct profile *draft, struct recommendation *variants, const struct profile *before,
		    int64_t now_ms)
{
	struct recommendation *previous = variants + draft->n_variants;
	bool is_same = before && profile_same_sizes(before, draft);
	bool is_withdrawn = before && before->n_previous &&
			    now_ms < before->updated_ms + PROFILE_EFFECT_DELAY_MS - PROFILE_HEARD_MS;

	draft->variants = variants;
	draft->n_previous = 0;
	draft->updated_ms = is_same ? before->updated_ms : now_ms;
	if (!before || before->parent.runs == 0)
		return;
	/* A first reading commits each day: the profile that it has just made was never the last word of a cycle. */
	if (!before->n_previous && before->updated_ms == now_ms)
		return;
	if (is_same || is_withdrawn) {
		copy_previous(draft, previous, before);
		return;
	}
	previous[0] = before->parent;
	if (before->n_variants)
		memcpy(previous + 1, before->variants, before->n_variants * sizeof(*previous));
	draft->n_previous = (uint8_t)(before->n_variants + 1);
}
