/* SPDX-License-Identifier: Apache-2.0 */
/* decide_effect: which recommendation counts for a container: its variant's or its workload's, and that of now or the
 * one before. All pods of one root owner get the same size, whichever replica of the webhook sees them and whatever it
 * has heard by then; only what a kill has proved since counts for all that come after it (model/profile.h). */
#include "policy/decide_internal.h"

#include "base/timefmt.h"
#include "policy/size.h"
#include "policy/size_math.h"

/* When the run was submitted. Nobody has heard of an owner that was made just now; once it is heard of, its
 * creationTimestamp has whole seconds (metav1.Time), and its next pods must not get another size for that. */
static int64_t submitted_ms(const struct deciding *self)
{
	int64_t now_ms = self->input->now_ms;

	return self->owner && self->owner->created_ms > 0 ? self->owner->created_ms : now_ms - now_ms % TIME_SECOND_MS;
}

/* How many pods the run has; 0: not known. */
static int64_t ranks_of(const struct deciding *self)
{
	return self->input->subject == SUBJECT_TEMPLATE ? self->input->ranks
	       : self->owner				? self->owner->ranks
	       : self->is_bare				? 1
							: 0;
}

/* The two sides know different parts of a variant: metrics have no arguments, some no images. The fullest first. */
enum { KNOWN_ARGUMENTS, KNOWN_IMAGE, KNOWN_WORLD, KNOWN_COUNT_ };

static void variant_of(const struct k8s_container *c, int known, int64_t world, char ret[11])
{
	bool has_args = known == KNOWN_ARGUMENTS;

	identity_variant(known == KNOWN_WORLD ? "" : c->image, (const char *const *)c->command,
			 has_args ? c->n_command : 0, (const char *const *)c->args, has_args ? c->n_args : 0, world,
			 ret);
}

/* What a variant is called is a hash, so what may have been hashed is tried. */
static const struct recommendation *own_variant(const struct deciding *self, const struct profile_sizes *sizes,
						const struct k8s_container *c)
{
	const int64_t worlds[] = {ranks_of(self), self->input->replicas, 0};
	char variant[11];

	for (int known = 0; known < KNOWN_COUNT_ && sizes->n_variants; known++) {
		for (size_t w = 0; w < ARRAY_LEN(worlds); w++) {
			const struct recommendation *rec;

			if (w && worlds[w] == worlds[w - 1])
				continue;
			variant_of(c, known, worlds[w], variant);
			rec = profile_sizes_variant(sizes, variant);
			if (rec)
				return rec;
		}
	}
	return NULL;
}

/* All runs so far were of one variant: is this one, too? Of how many pods is another matter (decide_is_small_world). */
static bool is_of_parent(const struct recommendation *parent, const struct k8s_container *c)
{
	char variant[11];

	for (int known = 0; known < KNOWN_COUNT_ && *parent->variant; known++) {
		variant_of(c, known, parent->min_ranks, variant);
		if (streq(variant, parent->variant))
			return true;
	}
	return !*parent->variant;
}

/* A variant that is hardly known leans on all runs of its workload, but never below what it was seen to use.
 * @return whether the variant is known, or variants are not told apart. */
static bool choose(const struct deciding *self, const struct profile_sizes *sizes,
		   const struct k8s_container *container, struct recommendation *ret)
{
	const struct recommendation *own = own_variant(self, sizes, container);

	*ret = *sizes->parent;
	if (own && own->confidence >= CONFIDENCE_MEDIUM) {
		*ret = *own;
	} else if (own) {
		ret->limit_bytes = MAX(ret->limit_bytes, own->limit_bytes);
		ret->peak_bytes = MAX(ret->peak_bytes, own->peak_bytes);
		ret->flags |= REC_NO_LOWER;
	}
	return own || (!sizes->n_variants && is_of_parent(sizes->parent, container));
}

/* Did a kill, or a failure right at the limit, make the limit grow? It then is more than peak and buffer make. */
static bool is_raise(const struct recommendation *now, const struct recommendation *before)
{
	int64_t by_peak = size_round_up(size_scale_permille(now->peak_bytes, 1000 + now->buffer_permille));

	return now->limit_bytes > before->limit_bytes &&
	       (now->proven_bytes > before->proven_bytes || now->limit_bytes > by_peak);
}

/* A size of ours did harm since: what was so far may do it again. */
static bool is_harm(const struct recommendation *now, const struct recommendation *before)
{
	return now->flags & ~before->flags & (REC_HARM | REC_NO_RAISE | REC_NO_LIMIT);
}

/* What is proved and what did harm counts at once, and nothing else does. */
static void take_raise(const struct recommendation *now, struct recommendation *ret)
{
	bool is_guaranteed = ret->request_bytes == ret->limit_bytes, has_harmed = is_harm(now, ret);

	if (!has_harmed && !is_raise(now, ret))
		return;
	if (has_harmed || ret->confidence < CONFIDENCE_MEDIUM) {
		*ret = *now;
		return;
	}
	ret->limit_bytes = now->limit_bytes;
	ret->proven_bytes = MAX(ret->proven_bytes, now->proven_bytes);
	ret->oom_kills = now->oom_kills;
	ret->last_oom_ms = now->last_oom_ms;
	ret->flags |= now->flags & (REC_NO_LOWER | REC_LEAK);
	if (is_guaranteed)
		ret->request_bytes = ret->limit_bytes;
}

void decide_recommendation(const struct deciding *self, struct sized *item)
{
	const struct profile *profile = item->profile;
	bool is_pinned = profile->spec->pin_limit_bytes > 0 || profile->spec->pin_request_bytes > 0;
	int64_t now_ms = self->input->now_ms;
	struct profile_sizes now = profile_sizes_for(profile, INT64_MAX, now_ms);
	struct profile_sizes sizes = is_pinned ? now : profile_sizes_for(profile, submitted_ms(self), now_ms);

	item->is_variant_known = choose(self, &sizes, item->container, &item->rec);
	if (sizes.is_previous) {
		struct recommendation latest;

		(void)choose(self, &now, item->container, &latest);
		take_raise(&latest, &item->rec);
		/* Harm was most likely done to this very run: its next pods must not come to the same. */
		item->rec.flags |= latest.flags & (REC_HARM | REC_NO_LOWER | REC_NO_RAISE | REC_NO_LIMIT);
	}
	item->is_usable = item->rec.confidence >= CONFIDENCE_MEDIUM && item->rec.limit_bytes > 0;
}

bool decide_is_small_world(const struct deciding *self, const struct sized *item)
{
	int64_t ranks = ranks_of(self);

	return ranks > 0 && ranks < item->rec.min_ranks;
}

bool decide_awaits_owner(const struct deciding *self)
{
	const struct k8s_owner *controller = k8s_pod_controller(&self->pod);
	bool has_profile = false;

	if ((self->owner && !self->owner->is_suspended) || !controller || self->is_settled ||
	    self->input->subject != SUBJECT_POD || self->ret->mode < MODE_FILL)
		return false;
	for (size_t i = 0; i < self->n_items; i++)
		has_profile |= self->items[i].profile != NULL;
	return has_profile && snapshot_awaits_owner(self->input->snapshot, controller);
}
