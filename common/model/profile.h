/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* profile: MemoryProfile (memtamer.io/v1alpha1), what admission needs to know of one workload, role and container.
 * People write `spec` (pins, overrides), the recommender writes `status`. A profile is one heap block with a reference
 * count, as the webhook holds 100,000 of them. Immutable once built; any thread may read. Decoder, encoder and
 * documentation of the object are made from the table of fields in profile_codec.c. */
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "model/diagnosis.h"
#include "model/gpu_memory.h"

#define PROFILE_API_VERSION "memtamer.io/v1alpha1"
#define PROFILE_REASONS	    4
/* In a draft: variants, followed by the parent and the variants that applied before. */
#define PROFILE_RECOMMENDATIONS (2 * LIMIT_PROFILE_VARIANTS + 1)

enum confidence { CONFIDENCE_NONE, CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
extern const char *const confidence_names[4];

enum recommendation_flag {
	REC_CACHE_BOUND = 1 << 0, /* mostly page cache: the need is known too poorly to lower or add a limit */
	REC_LEAK = 1 << 1,	  /* memory grows until the end, perhaps a leak: not lowered */
	REC_UNSTABLE = 1 << 2,	  /* peaks have two modes or a wide spread: not lowered */
	REC_NO_LOWER = 1 << 3,	  /* not lowered; the reasons say why */
	REC_HARM = 1 << 4,	  /* harm was counted: own values are not lowered, no disk limit is added */
	REC_NO_RAISE = 1 << 5,	  /* ... its pods found no room with our request: the request is not raised */
	REC_NO_LIMIT = 1 << 6,	  /* ... it was killed at a limit that it did not have itself: no limit is added */
};

/** Use of runs, and the recommendation from it (size_base). Bytes; 0: not known, or no recommendation. */
struct recommendation {
	int64_t request_bytes, limit_bytes;
	int64_t ephemeral_request_bytes, ephemeral_limit_bytes;
	/* over whole runs: time-weighted median, p95 of peaks, greatest peak */
	int64_t median_bytes, p95_bytes, peak_bytes;
	int64_t ephemeral_peak_bytes;
	/* of the fullest card of the newest runs; with is_gpu_full that of the last run */
	struct gpu_memory gpu;
	int64_t proven_bytes; /* greatest limit at which a run was OOM-killed: the need is at least this */
	/* The values that the last whole run had and completed with: lowering continues from them, not from the
	 * manifest. */
	int64_t last_request_bytes, last_limit_bytes;
	int64_t last_oom_ms;
	int32_t runs, whole_runs, oom_kills; /* runs: distinct submissions; oom_kills: runs with a killed limit */
	int32_t buffer_permille;	     /* added to the peak */
	int32_t over_request_permille;	     /* share of run time in which use was above request_bytes */
	int32_t min_ranks;		     /* smallest world size of the whole runs used; 0: not known */
	uint8_t confidence;		     /* enum confidence */
	uint8_t flags;			     /* enum recommendation_flag */
	bool is_gpu_full; /* the last run failed with a nearly full card, fuller than completed ones */
	char variant[11]; /* of the parent: the variant of all runs; "": there are several */
};

/** The workload that a person's profile is about, as the person knows it. */
struct profile_ref {
	const char *kind, *name;      /* of an object; kind IDENTITY_KIND_OF_LABEL: of the label memtamer.io/workload */
	const char *role, *container; /* "" or NULL: all roles; the main container */
	const char *key;	      /* key of kind and name, from identity; NULL: no reference */
	/* key of the objects that such an object creates (identity_key_of_made); NULL: none */
	const char *made_key;
	/* of the profile object; 0: not known. If two profiles name the same workload, the older one applies */
	int64_t created_ms;
};

/** Decisions of people (spec). Absent values are 0 / -1 / "". Few profiles have a spec: all others share
 * profile_spec_none. A spec that contradicts itself or cannot be read is not applied in part: the mode is at most
 * `observe` (mode_cap) until it is corrected, nothing else applies, and it is written back unchanged. */
struct profile_spec {
	const char *invalid; /* why it is not applied; NULL: it is applied */
	const char *source;  /* of an invalid spec: the JSON object as written */
	/* the workload that it is about; none: the workload in its status */
	struct profile_ref ref;
	int64_t pin_request_bytes, pin_limit_bytes; /* used as they are, never changed by the recommender */
	int32_t quantile_permille;		    /* -1: as in the policy */
	int32_t buffer_permille;		    /* -1: as in the policy */
	int64_t floor_bytes, ceiling_bytes;
	char size_class[12]; /* "", dense, standing, guaranteed */
	/* "", off, observe, fill, raise: for the workload; in memtamer-namespace for the whole namespace */
	char mode_cap[12];
	/* the mode_cap before an undo, which a release of the undo restores; not applied itself */
	char mode_cap_before_undo[12];
};

extern const struct profile_spec profile_spec_none;

/** status.conditions, by the conventions of the Kubernetes API. Pinned and Capped are omitted while they are false. */
enum profile_condition_type {
	PROFILE_READY,	/* sizes for new pods are known */
	PROFILE_PINNED, /* a size is pinned */
	PROFILE_CAPPED, /* the mode is capped */
	PROFILE_CONDITIONS
};
struct profile_condition {
	const char *type, *status, *reason; /* static texts; type NULL: not present */
	const char *message;		    /* at most LIMIT_CONDITION_BYTES; "": none */
	int64_t since_ms;		    /* lastTransitionTime: when the status changed, in whole seconds */
	int64_t observed;		    /* observedGeneration */
};
extern const char *const profile_condition_types[PROFILE_CONDITIONS];
/* Reasons of Ready: */
#define PROFILE_LEARNED		"Learned"
#define PROFILE_NOT_ENOUGH_RUNS "NotEnoughRuns"
#define PROFILE_NO_RUNS_YET	"NoRunsYet"
#define PROFILE_NO_WORKLOAD	"NoWorkload"  /* no workload is named */
#define PROFILE_CONFLICT	"Conflict"    /* another profile applies to the same workload */
#define PROFILE_INVALID_SPEC	"InvalidSpec" /* not applied; the workload is only observed */
/* Reasons of Pinned and Capped: */
#define PROFILE_BY_PERSON "Person"
#define PROFILE_BY_HARM	  "Harm" /* harm that was counted in the namespace */

/** What the recommender reports beside sizes. Admission does not keep the report. */
struct profile_report {
	int64_t generation; /* metadata.generation as read; 0: not known. Never written */
	int64_t observed;   /* status.observedGeneration: the spec that this status is about; 0: none */
	struct profile_condition conditions[PROFILE_CONDITIONS];
};

/** The profile of this name belongs to no workload: its modeCap applies to all pods of its namespace. */
#define PROFILE_OF_NAMESPACE "memtamer-namespace"

struct profile {
	const char *namespace_name, *name;	 /* the object's name is the workload id */
	const char *workload, *role, *container; /* workload: the best key, from identity */
	/* every key that was seen, best first, at most LIMIT_PROFILE_ALIASES */
	const char *const *aliases;
	const char *const *reasons; /* texts of size_base, most important first; at most PROFILE_REASONS */
	int64_t revision, updated_ms;
	const struct profile_spec *spec;     /* NULL in a draft: none */
	const struct profile_report *report; /* NULL: not kept */
	const struct diagnosis *diagnosis;   /* of the last failed run; NULL: none */
	struct recommendation parent;
	/* At most LIMIT_PROFILE_VARIANTS, followed by n_previous recommendations that applied before
	 * (profile_sizes_for). */
	const struct recommendation *variants;
	uint8_t n_aliases, n_reasons, n_variants, n_previous;
};

/** Copies a draft (NULL texts become "") into one heap block with one reference. The caller must keep texts within the
 * caps of base/limits.h; longer ones are copied whole. NULL: out of memory. */
struct profile *profile_dup(const struct profile *draft) ATTR_NODISCARD;
/** Adds a reference (atomic): snapshots share profiles that did not change. @return self. */
struct profile *profile_ref(struct profile *self);
/** Drops a reference; the last one frees the profile. NULL is allowed. */
void profile_free(struct profile *self);
void profile_freep(struct profile **self);

/** Whether people have set anything in its spec. */
bool profile_has_spec(const struct profile *self);
/** Whether the spec has anything but modeCap. If two profiles are about one workload, the lower modeCap applies. */
bool profile_has_more_than_cap(const struct profile *self);
/** Removes from a draft what admission does not read: reasons, conditions, a diagnosis from which no setting follows,
 * and recommendations that applied before and cannot apply to any pod at `now_ms` or later. */
void profile_drop_unread(struct profile *draft, int64_t now_ms);

/** Decodes a MemoryProfile. `*ret` is owned by the caller. Unknown fields, from newer writers, are ignored. @return 0,
 * also if the spec is invalid; -EINVAL with the field (wrong type, malformed quantity, over a limit, unknown
 * apiVersion); -ENOMEM. */
int profile_decode(struct json_object *object, struct profile **ret, struct err *err) ATTR_NODISCARD;
/** A profile as read, for profile_dup. Its texts are in an arena, its lists in the draft itself, so it must not be
 * copied. */
struct profile_draft {
	struct profile profile;
	struct profile_spec spec;
	struct profile_report report;
	struct diagnosis diagnosis;
	const char *aliases[LIMIT_PROFILE_ALIASES], *reasons[PROFILE_REASONS];
	struct recommendation variants[PROFILE_RECOMMENDATIONS];
};
/** Does the same as profile_decode for text, without json-c. A duplicate key is -EINVAL too; -E2BIG: `scratch` (made
 * for LIMIT_OBJECT_DOC_BYTES) is full. Cost: linear in `n`. */
int profile_read(const char *text, size_t n, struct arena *scratch, struct profile_draft *ret,
		 struct err *err) ATTR_NODISCARD;
/** Encodes the profile as one compact JSON object, keys in the table's order. An invalid spec is written as it was
 * read, and its length counts for no limit.
 *
 * A variant contains only the values that differ from the parent's. To keep `spec` and `status` within
 * LIMIT_PROFILE_BYTES (and LIMIT_PROFILE_VARIANT_BYTES for each variant after the first, LIMIT_DIAGNOSIS_BYTES for a
 * diagnosis) these are omitted, in this order: reasons after the first, the summary for people, the messages of
 * conditions, the evidence of the diagnosis, previous variants, aliases from the last, the first reason, the previous
 * recommendation, variants from the last.
 * @return the sticky status of `buf`. */
int profile_encode(const struct profile *self, struct strbuf *buf);
/** Whether both are equal in everything that is encoded. */
bool profile_same(const struct profile *a, const struct profile *b);
/** Whether both reports are equal in everything that is encoded. NULL: no report. */
bool profile_report_same(const struct profile_report *a, const struct profile_report *b);
/** Whether both have the same recommendations. */
bool profile_same_sizes(const struct profile *a, const struct profile *b);

/* ---- One size for all pods of one root owner (profile_effect.c) ----
 * A recommendation applies to root owners that were created PROFILE_EFFECT_DELAY_MS after it, when every replica
 * of the webhook has it. To older ones the previous recommendation applies, which the profile keeps. If the next
 * change follows so soon that every replica gets it before the first one applies, the first one is withdrawn:
 * it applied to no pod. A new profile applies at once; until the reading that made it has read all days, each day
 * replaces it. (Not covered: a second change just after the first one applies, while pods of one run are still created,
 * and pods created during such a reading. The recommender changes sizes when runs end.) */
#define PROFILE_EFFECT_DELAY_MS ((int64_t)10 * 1000)
/* Replicas get a change within this time. */
#define PROFILE_HEARD_MS ((int64_t)2 * 1000)
/* For this time after a change the previous recommendation is kept in memory and used. The recommender keeps sizes
 * stable for workloads that run longer (size_base). */
#define PROFILE_PREVIOUS_MS ((int64_t)60 * 60 * 1000)

/** A parent and its variants: the current ones, or the previous ones. Borrowed. */
struct profile_sizes {
	const struct recommendation *parent, *variants;
	size_t n_variants;
	bool is_previous;
};

/** The recommendations that apply to pods of a root owner created at `created_ms`. The previous ones apply only if they
 * exist and the change is less than PROFILE_PREVIOUS_MS before `now_ms`. A change that lies in the future, by another
 * clock, counts as made. */
struct profile_sizes profile_sizes_for(const struct profile *self, int64_t created_ms, int64_t now_ms);
/** The variant's own recommendation. NULL: none. */
const struct recommendation *profile_sizes_variant(const struct profile_sizes *self, const char *variant);
/** Whether the previous recommendations may still apply to any pod at `now_ms`. */
bool profile_previous_matters(const struct profile *self, int64_t now_ms);
/** For a writer that replaces `before` (NULL: a new profile) by `draft` at `now_ms`. Sets updated_ms, the time at which
 * the recommendation last changed, and n_previous, and puts the previous recommendation behind the draft's variants.
 * `now_ms` is the same for all changes of one reading.
 * `variants` must have room for PROFILE_RECOMMENDATIONS. */
void profile_change(struct profile *draft, struct recommendation *variants, const struct profile *before,
		    int64_t now_ms);
