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

enum confidence { CONFIDENCE_NONE, CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
extern const char *const confidence_names[4];

enum recommendation_flag {
	REC_CACHE_BOUND = 1 << 0, /* never raised because of the working set near the limit */
	REC_LEAK = 1 << 1,	  /* grows without end: an OOM raise does not help */
	REC_UNSTABLE = 1 << 2,	  /* bimodal or widely spread peaks: not lowered */
	REC_NO_LOWER = 1 << 3,	  /* lowering suspended: reasons say why */
	REC_HARM = 1 << 4,	  /* a harm was counted: the workload's own larger value is restored */
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
	uint8_t confidence;	       /* enum confidence */
	uint8_t flags;		       /* enum recommendation_flag */
	char variant[11];	       /* "" for the parent (all variants) */
};

/** People's word (spec). Absent figures are 0 / -1 / "". */
struct profile_spec {
	int64_t pin_request_bytes, pin_limit_bytes; /* pin: taken as they are, never collected */
	int32_t quantile_permille;		    /* -1: policy's */
	int32_t buffer_permille;		    /* -1: policy's */
	int64_t floor_bytes, ceiling_bytes;
	char size_class[12]; /* "", dense, standing, guaranteed */
	char mode_cap[12];   /* "", off, observe, fill, raise: only on the profile named memtamer-namespace */
};

struct profile {
	const char *namespace_name, *name;	 /* object name = workload id */
	const char *workload, *role, *container; /* the best key, as identity makes it */
	const char *const *aliases;		 /* every key seen, best first, at most LIMIT_PROFILE_ALIASES */
	size_t n_aliases;
	const char *const *reasons; /* words of size_base, most important first; at most PROFILE_REASONS */
	size_t n_reasons;
	int64_t revision, updated_ms;
	struct profile_spec spec;
	struct recommendation parent;
	const struct recommendation *variants; /* at most LIMIT_PROFILE_VARIANTS */
	size_t n_variants;
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
	const char *aliases[LIMIT_PROFILE_ALIASES], *reasons[PROFILE_REASONS];
	struct recommendation variants[LIMIT_PROFILE_VARIANTS];
};
/** The same from text, without json-c. A duplicate key is -EINVAL too; -E2BIG beyond what `scratch` may hold (made for
 *  LIMIT_OBJECT_DOC_BYTES). */
int profile_read(const char *text, size_t n, struct arena *scratch, struct profile_draft *ret,
		 struct err *err) ATTR_NODISCARD;
/** Encode as one JSON object, compact, keys in the table's order. Sticky status of `buf`.
 *  A variant holds only the figures in which it differs from the parent; the rest it inherits. To keep `spec` and
 *  `status` within LIMIT_PROFILE_BYTES (+ LIMIT_PROFILE_VARIANT_BYTES for each variant behind the first) it drops, in
 *  this order: reasons behind the first, aliases from the last, the first reason, variants from the last. */
int profile_encode(const struct profile *self, struct strbuf *buf);
/** Do both say the same, in everything that is encoded? */
bool profile_same(const struct profile *a, const struct profile *b);
/** The recommendation that fits a variant: the variant's own when it has one, else the parent's. */
const struct recommendation *profile_for_variant(const struct profile *self, const char *variant);
