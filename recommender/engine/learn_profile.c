/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/learn.h"

#include "policy/size.h"

#include <errno.h>
#include <stdio.h>

enum { VARIANT_WHOLE_RUNS = 3, PROFILE_ARENA_BYTES = 1024 * 1024 };

struct draft {
	struct profile profile;
	struct recommendation variants[LIMIT_PROFILE_VARIANTS];
	const char *aliases[LIMIT_PROFILE_ALIASES];
	struct size_reasons reasons;
	struct arena arena;
};

static const struct recommendation *previous_variant(const struct profile *before, const char *variant)
{
	for (size_t i = 0; before && i < before->n_variants; i++)
		if (streq(before->variants[i].variant, variant))
			return &before->variants[i];
	return NULL;
}

static bool has_variant(const struct draft *draft, const char *variant)
{
	for (size_t i = 0; i < draft->profile.n_variants; i++)
		if (streq(draft->variants[i].variant, variant))
			return true;
	return false;
}

static int whole_runs_of(const struct history *history, const char *variant)
{
	int n = 0;

	for (size_t i = 0; i < history->runs.n; i++)
		n += history->runs.items[i].is_whole && streq(history->runs.items[i].variant, variant);
	return n;
}

/* Variants with enough runs of their own, the newest first. A workload with a single variant needs none. */
static int add_variants(struct draft *draft, const struct config *config, const struct history *history,
			const struct profile *before, struct err *err)
{
	bool is_single = true;

	if (!history->runs.items)
		return 0;
	for (size_t i = 1; i < history->runs.n; i++)
		is_single &= streq(history->runs.items[i].variant, history->runs.items[0].variant);
	for (size_t i = history->runs.n; i-- > 0 && !is_single && draft->profile.n_variants < LIMIT_PROFILE_VARIANTS;) {
		const char *variant = history->runs.items[i].variant;
		struct size_reasons reasons;
		int r;

		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a run's variant is an array */
		if (!*variant || has_variant(draft, variant) || whole_runs_of(history, variant) < VARIANT_WHOLE_RUNS)
			continue;
		r = size_base(history, variant, &config->policy.sizing, &draft->profile.spec,
			      previous_variant(before, variant), &draft->arena,
			      &draft->variants[draft->profile.n_variants], &reasons, err);
		if (r)
			return r;
		draft->profile.n_variants++;
	}
	draft->profile.variants = draft->variants;
	return 0;
}

static int fill(struct draft *draft, const struct config *config, const struct history *history,
		const struct profile *before, struct err *err)
{
	struct profile *profile = &draft->profile;
	int r;

	*profile = (struct profile){
		.namespace_name = history->namespace_name,
		.name = history->name,
		.workload = history->workload,
		.role = history->role,
		.container = history->container,
		.aliases = draft->aliases,
		.spec = {.quantile_permille = -1, .buffer_permille = -1},
	};
	if (before) {
		profile->spec = before->spec;
		profile->revision = before->revision;
		profile->updated_ms = before->updated_ms;
	}
	for (; profile->n_aliases < history->n_aliases; profile->n_aliases++)
		draft->aliases[profile->n_aliases] = history->aliases[profile->n_aliases];
	r = size_base(history, NULL, &config->policy.sizing, &profile->spec, before ? &before->parent : NULL,
		      &draft->arena, &profile->parent, &draft->reasons, err);
	profile->reasons = draft->reasons.items;
	profile->n_reasons = MIN(draft->reasons.n, (size_t)PROFILE_REASONS);
	return r ? r : add_variants(draft, config, history, before, err);
}

/* Two profiles are the same when they are written the same. */
static bool is_written_alike(const struct profile *a, const struct profile *b)
{
	CLEANUP(strbuf_release) struct strbuf left = STRBUF_INIT(LIMIT_STORE_ITEM_BYTES);
	CLEANUP(strbuf_release) struct strbuf right = STRBUF_INIT(LIMIT_STORE_ITEM_BYTES);

	return profile_encode(a, &left) == 0 && profile_encode(b, &right) == 0 &&
	       streq(strbuf_text(&left), strbuf_text(&right));
}

static int note_decision(struct history *history, const struct draft *draft, const struct profile *before)
{
	const struct recommendation *now = &draft->profile.parent;
	const struct recommendation none = {.request_bytes = 0}, *then = before ? &before->parent : &none;
	struct history_decision decision = {
		.time_ms = draft->profile.updated_ms,
		.revision = draft->profile.revision,
		.request_from_bytes = then->request_bytes,
		.request_to_bytes = now->request_bytes,
		.limit_from_bytes = then->limit_bytes,
		.limit_to_bytes = now->limit_bytes,
	};

	if (now->request_bytes == then->request_bytes && now->limit_bytes == then->limit_bytes)
		return 0;
	snprintf(decision.rule, sizeof(decision.rule), "%s",
		 draft->profile.spec.pin_limit_bytes   ? "pin"
		 : now->proven_bytes > now->peak_bytes ? "oom"
						       : "peak+buffer");
	if (history->decisions.n == LIMIT_HISTORY_DECISIONS) {
		memmove(history->decisions.items, history->decisions.items + 1,
			(LIMIT_HISTORY_DECISIONS - 1) * sizeof(decision));
		history->decisions.n--;
	}
	return vec_push(&history->decisions, decision);
}

int learn_profile(const struct config *config, struct history *history, const struct profile *before, int64_t now_ms,
		  struct profile **ret, struct err *err)
{
	struct draft draft = {.arena = ARENA_INIT(PROFILE_ARENA_BYTES)};
	int r = fill(&draft, config, history, before, err);

	*ret = NULL;
	if (!r && !(before && is_written_alike(before, &draft.profile))) {
		draft.profile.revision++;
		draft.profile.updated_ms = now_ms;
		r = note_decision(history, &draft, before);
		*ret = r ? NULL : profile_dup(&draft.profile);
		if (!*ret)
			r = err_set(err, -ENOMEM, "no memory left for the profile %s", history->name);
	}
	arena_release(&draft.arena);
	return r;
}
