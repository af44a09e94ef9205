/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* profile: MemoryProfile (memtamer.io/v1alpha1), what admission needs to know of one workload, role and container.
 * `spec` is what people write (pin, overrides), `status` what the recommender writes. One profile is one heap block
 * (profile_new_* / profile_free): 100,000 of them must fit the webhook. Immutable once built; any thread may read.
 * The field table in profile_codec.c makes decoder, encoder and the documentation of the object. */
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/strbuf.h"

#define PROFILE_API_VERSION "memtamer.io/v1alpha1"
#define PROFILE_REASONS	    4
/* Of a draft: variants, and behind them the parent and the variants that counted before. */
#define PROFILE_RECOMMENDATIONS (2 * LIMIT_PROFILE_VARIANTS + 1)

enum confidence { CONFIDENCE_NONE, CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
extern const char *const confidence_names[4];

enum recommendation_flag {
	REC_CACHE_BOUND = 1 << 0, /* never raised because of the working set near the limit */
	REC_LEAK = 1 << 1,	  /* grows without end: an OOM raise does not help */
	REC_UNSTABLE = 1 << 2,	  /* bimodal or widely spread peaks: not lowered */
	REC_NO_LOWER = 1 << 3,	  /* lowering suspended: reasons say why */
	REC_HARM = 1 << 4,	  /* a harm was counted: the workload's own values stand where they are kinder */
	REC_NO_RAISE = 1 << 5,	  /* ... its pods found no room at our size: its request is not raised */
	REC_NO_LIMIT = 1 << 6,	  /* ... it was killed at a limit where it had none: none is added */
};

/** What runs used and what follows (size_base). Bytes; 0: not known / no recommendation. */
struct recommendation {
	int64_t request_bytes, limit_bytes;
	int64_t ephemeral_request_bytes, ephemeral_limit_bytes;
	int64_t median_bytes, p95_bytes, peak_bytes; /* of whole runs: time-weighted median, p95 of peaks, peak */
	int64_t ephemeral_peak_bytes;
	int64_t proven_bytes; /* greatest limit that a run was OOM-killed at: need is at least this */
	/* What the last whole run was given and completed with: lowering goes on from there, not from the manifest. */
	int64_t last_request_bytes, last_limit_bytes;
	int64_t last_oom_ms;
	int32_t runs, whole_runs,
		oom_kills;	       /* runs: distinct submissions known; oom_kills: distinct killed limits' runs */
	int32_t buffer_permille;       /* added to the peak */
	int32_t over_request_permille; /* share of run time with usage above request_bytes */
	int32_t min_ranks;	       /* smallest world size of the whole runs behind it; 0: not known */
	uint8_t confidence;	       /* enum confidence */
	uint8_t flags;		       /* enum recommendation_flag */
	char variant[11];	       /* of the parent: where all runs are of one; "" else */
};

/** People's word (spec). Absent figures are 0 / -1 / "". Few profiles have one: all others share
 *  profile_spec_none. */
struct profile_spec {
	int64_t pin_request_bytes, pin_limit_bytes; /* pin: taken as they are, never collected */
	int32_t quantile_permille;		    /* -1: policy's */
	int32_t buffer_permille;		    /* -1: policy's */
	int64_t floor_bytes, ceiling_bytes;
	char size_class[12]; /* "", dense, standing, guaranteed */
	char mode_cap[12];   /* "", off, observe, fill, raise: of the workload, or by memtamer-namespace of all */
	char mode_cap_before_undo[12]; /* ... that an undo replaced: what its release brings back; caps nothing */
};

extern const struct profile_spec profile_spec_none;

/** The profile of this name is no workload's: its modeCap is that of all pods of its namespace. */
#define PROFILE_OF_NAMESPACE "memtamer-namespace"

struct profile {
	const char *namespace_name, *name;	 /* object name = workload id */
	const char *workload, *role, *container; /* the best key, as identity makes it */
	const char *const *aliases;		 /* every key seen, best first, at most LIMIT_PROFILE_ALIASES */
	const char *const *reasons;		 /* words of size_base, most important first; at most PROFILE_REASONS */
	int64_t revision, updated_ms;
	const struct profile_spec *spec; /* NULL in a draft: none */
	struct recommendation parent;
	/* At most LIMIT_PROFILE_VARIANTS; behind them n_previous more: what counted before (profile_previous). */
	const struct recommendation *variants;
	uint8_t n_aliases, n_reasons, n_variants, n_previous;
};

/** Copy a draft (any lifetime; NULL texts become "") into one heap block with one reference. Texts longer than the
 *  caps of base/limits.h are the caller's fault and kept. NULL when memory is out. */
struct profile *profile_dup(const struct profile *draft) ATTR_NODISCARD;
/** One more reference (atomic): snapshots share the profiles that did not change. Returns `self`. */
struct profile *profile_ref(struct profile *self);
/** Drop one reference; the last one frees. NULL allowed. */
void profile_free(struct profile *self);
void profile_freep(struct profile **self);

/** Decode an object of kind MemoryProfile. @return 0; -EINVAL with the field (wrong type, bad quantity, over a limit,
 *  unknown apiVersion); -ENOMEM. Unknown fields are ignored (newer writers). */
int profile_decode(struct json_object *object, struct profile **ret, struct err *err) ATTR_NODISCARD;
/** A profile as it was read, for profile_dup: its texts are in an arena, its lists in itself (so it is not copied). */
struct profile_draft {
	struct profile profile;
	struct profile_spec spec;
	const char *aliases[LIMIT_PROFILE_ALIASES], *reasons[PROFILE_REASONS];
	struct recommendation variants[PROFILE_RECOMMENDATIONS];
};
/** The same from text, without json-c. A duplicate key is -EINVAL too; -E2BIG beyond what `scratch` may hold (made for
 *  LIMIT_OBJECT_DOC_BYTES). */
int profile_read(const char *text, size_t n, struct arena *scratch, struct profile_draft *ret,
		 struct err *err) ATTR_NODISCARD;
/** Encode as one JSON object, compact, keys in the table's order. Sticky status of `buf`.
 *  A variant holds only the figures in which it differs from the parent; the rest it inherits. To keep `spec` and
 *  `status` within LIMIT_PROFILE_BYTES (+ LIMIT_PROFILE_VARIANT_BYTES for each variant behind the first) it drops, in
 *  this order: reasons behind the first, the summary for people, previous variants, aliases from the last, the first
 *  reason, what counted before, variants from the last. */
int profile_encode(const struct profile *self, struct strbuf *buf);
/** Do both say the same, in everything that is encoded? */
bool profile_same(const struct profile *a, const struct profile *b);
/** Do both recommend the same, figure by figure? */
bool profile_same_sizes(const struct profile *a, const struct profile *b);

/* ---- One size for all pods of one root owner (profile_effect.c) ----
 * A recommendation counts for root owners that were made PROFILE_EFFECT_DELAY_MS after it, by when every replica of the
 * webhook has it; for older ones the one before it counts, which the profile keeps beside it. A change that follows
 * so soon that every replica hears of it before the one before it counts withdraws that one: it counted for nobody.
 * (What is not covered: a second change just after the first one counts, while pods of one run still come. The
 * recommender changes sizes when runs end.) */
#define PROFILE_EFFECT_DELAY_MS ((int64_t)10 * 1000)
/* Replicas hear of a change within this. */
#define PROFILE_HEARD_MS ((int64_t)2 * 1000)
/* For so long the one before is kept in memory and looked at; sizes of workloads that run longer are held by the
 * recommender (size_base). */
#define PROFILE_PREVIOUS_MS ((int64_t)60 * 60 * 1000)

/** A parent and its variants: those of now, or those that counted before. Borrowed. */
struct profile_sizes {
	const struct recommendation *parent, *variants;
	size_t n_variants;
	bool is_previous;
};

/** What counts for pods of a root owner that was made at `created_ms`: the one before only where there is one and
 *  `now_ms` is not PROFILE_PREVIOUS_MS behind the change; a change that seems to be yet to come (clocks) counts. */
struct profile_sizes profile_sizes_for(const struct profile *self, int64_t created_ms, int64_t now_ms);
/** The variant's own recommendation; NULL: there is none. */
const struct recommendation *profile_sizes_variant(const struct profile_sizes *self, const char *variant);
/** May the previous ones of a profile that is read at `now_ms` still count for anybody? */
bool profile_previous_matters(const struct profile *self, int64_t now_ms);
/** For who writes `draft` in the place of `before` (NULL: a new profile) at `now_ms`: sets updated_ms, which is when
 * the recommendation last changed, and puts what counts until then behind the draft's variants, for which `variants`
 * has PROFILE_RECOMMENDATIONS places; sets n_previous. */
void profile_change(struct profile *draft, struct recommendation *variants, const struct profile *before,
		    int64_t now_ms);
