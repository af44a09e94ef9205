/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decide_internal: what the files of decide() share. One `struct deciding` a call, on its stack and in its arena.
 * Way of the data: decide.c gathers facts -> decide_mode.c fixes the rung -> size_fit.c makes a proposal per container,
 * resource and field, open or shut with the reason -> decide_checks.c turns facts and proposals into findings. */
#include "policy/decide.h"

/** The resources that are sized; indexes `fields` below. */
enum sized_resource { SIZED_MEMORY, SIZED_EPHEMERAL, SIZED_COUNT_ };
enum k8s_resource sized_resource_of(enum sized_resource resource);

/** Why a proposal is not carried out. */
enum gate {
	GATE_NONE,     /* there is no proposal */
	GATE_OPEN,     /* carried out */
	GATE_ACTION,   /* the check is configured to warn */
	GATE_MODE,     /* the mode does not reach that far */
	GATE_BARE,     /* a bare pod that did not ask for it */
	GATE_KIND,     /* something else sizes this kind of pod */
	GATE_QUEUE,    /* a queue has counted the pod's requests */
	GATE_EVIDENCE, /* lowering is not backed */
	GATE_NODE,     /* no node would hold it */
	GATE_LIMITS,   /* a LimitRange or ResourceQuota would refuse the pod */
	GATE_SETTLED,  /* decided before, the pod carries the decision */
};

struct proposal {
	enum gate gate;
	enum mode needs;
	int64_t to_bytes;
	const char *rule; /* static, see struct size_change */
	const char *cap;  /* short words: what kept it from more or less; NULL: nothing. cap_why below comes first */
};

struct field {
	bool has, is_invalid; /* invalid: there, but no quantity; never touched */
	bool is_default;      /* set by LimitRanger: nobody chose it */
	int64_t now_bytes;
	struct proposal proposal;
	bool is_reduced;     /* by the rules of the namespace: not to grow again */
	const char *cap_why; /* which of them moved or shut the proposal last; NULL: none */
};

struct sized {
	const struct k8s_container *container; /* of the input's pod */
	struct k8s_container *after;	       /* the same in `after`, with what was carried out */
	bool is_main;
	const struct profile *profile; /* NULL: no history */
	struct recommendation rec;     /* zeros without history */
	bool is_usable;		       /* rec may size; else its figures are for words only */
	bool is_variant_known;	       /* rec is of this very variant, or variants are not told apart */
	struct field fields[SIZED_COUNT_][2];
};

/** The nodes that this pod may land on. Zeros: not known. */
struct node_view {
	bool is_complete;				   /* no other nodes exist for it: sizes may be capped */
	int64_t share_memory_bytes, share_ephemeral_bytes; /* of the roomiest, by the pod's part of its accelerators */
	int64_t devices, part_milli; /* whole accelerators of the one with the largest share of memory, and that part */
	int64_t largest_memory_bytes, largest_ephemeral_bytes, smallest_ephemeral_bytes;
};

struct deciding {
	const struct decide_input *input;
	const struct policy *policy;
	struct arena *arena;
	struct decision *ret;
	const struct namespace_facts *facts; /* NULL: nothing known of the namespace */
	const struct owner_facts *owner;     /* the root owner of a pod; NULL: none, or not known */
	struct k8s_pod pod;   /* the input's as it will be without us: the request's namespace, the owner to come (of a
				 template), defaults */
	struct k8s_pod after; /* the same with the sizes carried out */
	const char *critical_why; /* what kept a critical pod from request = limit; NULL: nothing of its namespace */
	enum k8s_qos qos;
	bool is_bare;	      /* no controller: what the user wrote is in the pod itself */
	bool is_bare_granted; /* its own annotation says raise or enforce */
	enum mode asked_mode; /* before the kind of the pod capped it */
	const char *kind_why; /* short words for that cap; NULL: none */
	bool is_queued, is_settled, has_pod_memory;
	bool is_trainer; /* the part of a TrainJob: the volumes of its pods are its runtime's and not known */
	struct node_view nodes;
	struct sized *items; /* main container first */
	size_t n_items, findings_capacity;
};

/** decide_facts.c */
int decide_gather(struct deciding *self) ATTR_NODISCARD;
bool decide_is_critical(const struct deciding *self, const char **ret_why);

/** decide_effect.c: what counts of the item's profile: rec and what goes with it. */
void decide_recommendation(const struct deciding *self, struct sized *item);
/** Fewer ranks than any run had that the recommendation knows: each may need more than theirs did. False where either
 *  is not known. */
bool decide_is_small_world(const struct deciding *self, const struct sized *item);

/** The news of the pod's owner is on its way, and what is set may hang on it. */
bool decide_awaits_owner(const struct deciding *self);

/** decide_mode.c: mode, mode_why, queue and settled marks. */
void decide_mode(struct deciding *self);

/** size_fit.c: proposals of all containers, applied to `after` and listed as sizes. */
int size_fit(struct deciding *self) ATTR_NODISCARD;
/** The value that stands after the decision; 0 when there is none. */
int64_t field_final(const struct field *field);
bool size_is_over(const struct deciding *self, int64_t now_bytes, int64_t want_bytes);
/** A person's word: a spec.pinLimit or spec.pinRequest. */
bool size_is_limit_pinned(const struct sized *item);
bool size_is_request_pinned(const struct sized *item);
/** The limit recommended is pinned, or makes room for a pinned request. */
bool size_is_limit_by_pin(const struct sized *item);
bool size_is_below_pin(const struct sized *item, int64_t limit_bytes);
/** A request that is there and far under the median, or under what is pinned. */
bool size_is_below_median(const struct deciding *self, const struct sized *item);
bool size_is_below_proof(const struct sized *item, int64_t limit_bytes);

/** decide_text.c: words. All return NULL when the arena is out. */
#define HUMAN(bytes) quantity_render_human((bytes), (char[QUANTITY_TEXT_BYTES]){0})
/** Bytes as short as they can be said exactly. */
const char *text_exact(int64_t bytes, char buf[QUANTITY_TEXT_BYTES]);
/** Of a template that stays as it is: sizes are set when its pods are created. */
bool is_set_later(const struct deciding *self);
#define EXACT(bytes) text_exact((bytes), (char[QUANTITY_TEXT_BYTES]){0})
const char *text_why_limit(const struct deciding *self, const struct sized *item);
const char *text_why_request(const struct deciding *self, const struct sized *item);
/** What comes of a proposal: "; set to 96Gi (why)", "; mode raise would set 96Gi (why)" ... "" when there is none. */
const char *text_outcome(const struct deciding *self, const struct sized *item, const struct field *field,
			 const char *why);
/** "14 runs", "1 run". */
const char *text_runs(const struct deciding *self, int64_t n);
/** "2 of 8 GPUs". */
const char *text_part(const struct deciding *self);
/** Text made fit to print: ASCII, at most `max` characters, cut with "...". May be `text` itself. */
const char *text_clean(struct arena *arena, const char *text, size_t max);

/** decide_checks.c: all findings. */
int decide_checks(struct deciding *self) ATTR_NODISCARD;
