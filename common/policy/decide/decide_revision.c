/* SPDX-License-Identifier: Apache-2.0 */
/* decide_revision: which recommendation applies to a container: that of its variant or of its workload, the current or
 * the previous one. All pods of one root owner get the same size, whichever replica of the webhook reviews them and
 * whatever it knows by then; only what a kill has proven since applies to all later pods (model/profile.h). Decisions
 * of people in a spec apply as soon as they are known, also to later pods of existing owners. */
#include "policy/decide/decide_internal.h"

#include "base/timefmt.h"
#include "policy/size_math.h"

/* When the run was submitted. An owner that was just created is not known yet; once it is, its creationTimestamp has
 * whole seconds (metav1.Time), and its next pods must not get another size for that reason. */
static int64_t submitted_ms(const struct pod_facts *self)
{
	int64_t now_ms = self->input->now_ms;

	return self->owner && self->owner->created_ms > 0 ? self->owner->created_ms : now_ms - now_ms % TIME_SECOND_MS;
}

/* The number of pods of the run; 0: not known. */
static int64_t ranks_of(const struct pod_facts *self)
{
	return self->input->subject == SUBJECT_TEMPLATE ? self->input->ranks
	       : self->owner				? self->owner->ranks
	       : self->is_bare				? 1
							: 0;
}

/* The recommender and admission know different parts of a variant: metrics have no arguments, some no images. The most
 * complete first. */
enum { KNOWN_ARGUMENTS, KNOWN_IMAGE, KNOWN_WORLD, KNOWN_COUNT_ };

/* Arguments may have megabytes: they are hashed once for each container, and only if the profile has variants. */
struct variants {
	const struct k8s_container *container;
	uint64_t bases[KNOWN_COUNT_];
	bool is_hashed;
};

static void variant_of(struct variants *self, int known, int64_t world, char ret[11])
{
	const struct k8s_container *c = self->container;

	if (!self->is_hashed) {
		self->bases[KNOWN_ARGUMENTS] = identity_variant_base(c->image, (const char *const *)c->command,
								     c->n_command, (const char *const *)c->args,
								     c->n_args);
		self->bases[KNOWN_IMAGE] = identity_variant_base(c->image, NULL, 0, NULL, 0);
		self->bases[KNOWN_WORLD] = identity_variant_base("", NULL, 0, NULL, 0);
		self->is_hashed = true;
	}
	identity_variant_of(self->bases[known], world, ret);
}

/* A variant's name is a hash, so every combination that may have been hashed is tried. */
static const struct recommendation *own_variant(const struct pod_facts *self, const struct profile_sizes *sizes,
						struct variants *variants)
{
	const int64_t worlds[] = {ranks_of(self), self->input->replicas, 0};
	char variant[11];

	for (int known = 0; known < KNOWN_COUNT_ && sizes->n_variants; known++) {
		for (size_t w = 0; w < ARRAY_LEN(worlds); w++) {
			const struct recommendation *rec;

			if (w && worlds[w] == worlds[w - 1])
				continue;
			variant_of(variants, known, worlds[w], variant);
			rec = profile_sizes_variant(sizes, variant);
			if (rec)
				return rec;
		}
	}
	return NULL;
}

/* Whether this container has the single variant of all runs so far. The number of pods is checked elsewhere
 * (decide_is_small_world). */
static bool is_of_parent(const struct recommendation *parent, struct variants *variants)
{
	char variant[11];

	for (int known = 0; known < KNOWN_COUNT_ && *parent->variant; known++) {
		variant_of(variants, known, parent->min_ranks, variant);
		if (streq(variant, parent->variant))
			return true;
	}
	return !*parent->variant;
}

/* A variant with little evidence uses the recommendation of all runs of its workload, but never below its own use.
 * @return whether the variant is known, or the workload has no variants. */
static bool choose(const struct pod_facts *self, const struct profile_sizes *sizes, struct variants *variants,
		   struct recommendation *ret)
{
	const struct recommendation *own = own_variant(self, sizes, variants);

	*ret = *sizes->parent;
	if (own && own->confidence >= CONFIDENCE_MEDIUM) {
		*ret = *own;
	} else if (own) {
		ret->limit_bytes = MAX(ret->limit_bytes, own->limit_bytes);
		ret->peak_bytes = MAX(ret->peak_bytes, own->peak_bytes);
		ret->flags |= REC_NO_LOWER;
	}
	return own || (!sizes->n_variants && is_of_parent(sizes->parent, variants));
}

/* Whether a kill, or a failure right at the limit, raised the limit: then it is greater than peak and buffer. */
static bool is_raise(const struct recommendation *now, const struct recommendation *before)
{
	int64_t by_peak = size_round_up(size_scale_permille(now->peak_bytes, 1000 + now->buffer_permille));

	return now->limit_bytes > before->limit_bytes &&
	       (now->proven_bytes > before->proven_bytes || now->limit_bytes > by_peak);
}

/* Whether one of our sizes did harm since: the previous recommendation could do it again. */
static bool is_harm(const struct recommendation *now, const struct recommendation *before)
{
	return now->flags & ~before->flags & (REC_HARM | REC_NO_RAISE | REC_NO_LIMIT);
}

/* Only what is proven and what did harm applies at once. */
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

static void choose_in_effect(const struct pod_facts *self, struct sized *item)
{
	const struct profile *profile = item->profile;
	int64_t now_ms = self->input->now_ms;
	struct variants variants = {.container = item->container};
	int64_t until_ms = self->input->is_offline ? INT64_MAX : submitted_ms(self);
	struct profile_sizes sizes = profile_sizes_for(profile, until_ms, now_ms);

	item->is_variant_known = choose(self, &sizes, &variants, &item->rec);
	if (sizes.is_previous) {
		struct profile_sizes now = profile_sizes_for(profile, INT64_MAX, now_ms);
		struct recommendation latest;

		(void)choose(self, &now, &variants, &latest);
		take_raise(&latest, &item->rec);
		/* The harm was most likely done to this very run: its next pods must not suffer the same. */
		item->rec.flags |= latest.flags & (REC_HARM | REC_NO_LOWER | REC_NO_RAISE | REC_NO_LIMIT);
	}
}

void decide_recommendation(const struct pod_facts *self, struct sized *item)
{
	if (item->profile)
		choose_in_effect(self, item);
	size_apply(&self->policy->sizing, item->spec, &item->rec, item->by);
	item->is_usable = item->rec.limit_bytes > 0 &&
			  (item->rec.confidence >= CONFIDENCE_MEDIUM || item->by[SIZE_LIMIT] == SIZE_BY_PIN_LIMIT);
}

bool decide_is_small_world(const struct pod_facts *self, const struct sized *item)
{
	int64_t ranks = ranks_of(self);

	return ranks > 0 && ranks < item->rec.min_ranks;
}
