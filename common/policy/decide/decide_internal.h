/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decide_internal: shared by the stages of decide(). Each stage reads what the stages before it returned, const, and
 * returns its own part; decide.c has their order:
 *   decide_facts()   struct pod_facts: the pod as it will be, its workload, histories and nodes
 *   decide_mode()    struct pod_mode: how far memtamer may go
 *   size_fit()       struct deciding: a proposal for each container, resource and field, with a gate if it is not
 *                    carried out, and the sizes that follow
 *   decide_allocator() in struct deciding: the containers that get the setting of PyTorch's allocator
 *   decide_checks()  struct findings
 * All of them are on the stack of decide() and in its arena. */
#include "base/limits.h"
#include "policy/annotation.h"
#include "policy/decide.h"
#include "policy/size.h"

/** The resources that are sized; indexes `fields` below. */
enum sized_resource { SIZED_MEMORY, SIZED_EPHEMERAL, SIZED_COUNT_ };
enum k8s_resource sized_resource_of(enum sized_resource resource);

/** Why a proposal is not carried out. */
enum gate {
	GATE_NONE,     /* there is no proposal */
	GATE_OPEN,     /* carried out */
	GATE_ACTION,   /* the check's action is `warn` */
	GATE_MODE,     /* the mode does not allow it */
	GATE_BARE,     /* a bare pod without an annotation that allows it */
	GATE_KIND,     /* no mode changes this pod: struct pod_mode.kind_why */
	GATE_QUEUE,    /* a queue counts the pod's requests, or has counted them */
	GATE_EVIDENCE, /* the evidence does not suffice for lowering */
	GATE_NODE,     /* no node has room for it */
	GATE_LIMITS,   /* a LimitRange or ResourceQuota would reject the pod */
	GATE_SETTLED,  /* decided earlier: the pod has the decision's annotation */
};

struct proposal {
	enum gate gate;
	enum mode needs;
	int64_t to_bytes;
	const char *rule; /* static, see struct size_change */
	const char *cap;  /* short text why the change was limited; NULL: not limited. cap_why below has precedence */
};

struct field {
	bool has, is_invalid; /* is_invalid: present, but not a quantity; never changed */
	bool is_zero;	      /* written as 0, which limits and reserves nothing: counts as not set (has is false) */
	bool is_default;      /* set by LimitRanger, so nobody chose it */
	int64_t now_bytes;
	struct proposal proposal;
	/* What the annotation says an earlier round of this admission set; NULL: nothing that can be believed. */
	const struct annotation_entry *said;
	bool is_reduced;     /* reduced by the rules of the namespace: must not grow again */
	const char *cap_why; /* the rule that changed or shut the proposal last; NULL: none */
};

struct sized {
	const struct k8s_container *container; /* of the input's pod */
	/* the same container in deciding.after, with the sizes that are carried out; NULL before size_fit() */
	struct k8s_container *after;
	struct accelerator_ask ask; /* the container's own */
	bool is_main;		    /* it has accelerators, or is the pod's main container */
	/* of a main container: its part of the pod's accelerators; whole 0: not known */
	int64_t part, whole;
	const struct profile *profile; /* NULL: no history */
	/* the profile whose spec applies: `profile`, or one that names the workload; NULL: none */
	const struct profile *decided;
	const struct profile_spec *spec; /* of `decided`; never NULL */
	struct recommendation rec;	 /* with the spec applied (size_apply); zeros if nothing is known */
	enum size_by by[2];		 /* what decided request and limit, indexed by enum size_field */
	bool is_usable;			 /* rec may be used for sizes; otherwise only for text */
	const struct k8s_vpa *vpa;	 /* the VerticalPodAutoscaler that sets its memory; NULL: none */
	bool is_variant_known;		 /* rec is of exactly this variant, or the workload has no variants */
	struct field fields[SIZED_COUNT_][2];
};

/** The nodes on which the pod may run. Zeros: not known. */
struct node_view {
	bool is_complete; /* all such nodes are known: they may limit sizes */
	/* of the node with most memory: the share that belongs to the pod's accelerators */
	int64_t share_memory_bytes, share_ephemeral_bytes;
	/* whole accelerators of the node with the largest share of memory, and the pod's part of them */
	int64_t devices, part_milli;
	int64_t largest_memory_bytes, largest_ephemeral_bytes;
};

/** What is known of a pod. */
struct pod_facts {
	const struct decide_input *input;
	const struct policy *policy;
	struct arena *arena;
	const struct namespace_facts *namespace; /* NULL: nothing is known of the namespace */
	const struct owner_facts *owner;	 /* the root owner of a pod; NULL: none, or not known */
	const struct k8s_vpa *vpa;		 /* of an owner of the pod; NULL: none is known */
	/* the input's pod as it will be without us: with the request's namespace, its later owner (for a template),
	 * defaults */
	struct k8s_pod pod;
	enum pod_class pod_class;
	const char *class_why; /* of pod_classify */
	const char *skip;      /* why the pod is not examined, and the rest is not known; NULL: it is */
	struct accelerator_ask ask;
	struct identity identity;	     /* of the main container */
	char workload_id[IDENTITY_ID_BYTES]; /* "": nothing is known */
	const struct profile *profile;	     /* of the main container; NULL: no history */
	enum k8s_qos qos;
	bool is_bare;		    /* no controller: the user wrote the pod itself */
	struct annotation_set said; /* the pod's decision annotation, if has_said */
	bool has_said, is_said_own; /* is_said_own: not copied from another owner's pod */
	bool is_said_held;	    /* own, and the pod has every value that it says was set */
	bool has_pod_memory, has_disk_emptydir;
	bool is_trainer; /* a part of a TrainJob: the volumes of its pods are in its runtime and not known */
	bool is_runtime; /* a runtime alone: its TrainJobs set the resources of its pods */
	struct node_view nodes;
	size_t main_index;   /* index of the main container */
	struct sized *items; /* without proposals; a main container is first */
	size_t n_items;
};

/** How far memtamer may go with a pod. */
struct pod_mode {
	enum mode mode;
	const char *why;
	const char *kind_why; /* short text why no mode changes this pod; NULL: modes do */
	bool is_bare_granted; /* the pod's annotation allows raise or enforce */
	/* The mode is that of a template which is patched; memtamer changes nothing in its pods themselves. */
	bool is_template_only;
	bool is_queued; /* a queue has counted the pod, or an unknown queue will: requests are not changed */
	const struct queue_facts *queue; /* the queue that will count the pods with our sizes; NULL: none is known */
	int64_t queue_pods;		 /* number of pods that it counts together; for a template as in `declared` */
	bool is_settled;		 /* decided earlier: sizes are not changed */
	bool is_annotated;		 /* as in struct decision */
};

/** The sizes of a pod: while size_fit() fits them, and for the checks after that. */
struct deciding {
	const struct decide_input *input;
	const struct policy *policy;
	struct arena *arena;
	const struct pod_facts *facts;
	const struct pod_mode *mode;
	struct k8s_pod after; /* the pod with the sizes that are carried out */
	struct sized *items;  /* with proposals; a main container is first */
	size_t n_items;
	/* which rule of the namespace prevents request = limit for a critical pod; NULL: none */
	const char *critical_why;
	struct size_change *sizes, *set; /* as in struct decision */
	size_t n_sizes, n_set;
	const char *variable;		   /* as in struct decision */
	const struct k8s_container **envs; /* as in struct decision */
	size_t n_envs;
};

/** Findings; finding_add() adds to them. */
struct findings {
	struct finding *items;
	size_t n, capacity;
	bool is_denied;
};

/** decide_nodes.c: sets the facts' nodes. An amount that is not known for every node on which the pod may run limits
 * nothing: it becomes 0, which means unknown. Cost: linear in the number of node shapes. */
void decide_nodes(struct pod_facts *self);
/** decide_facts.c: fills `ret`. @return 0 or -ENOMEM. */
int decide_facts(const struct decide_input *input, struct arena *arena, struct pod_facts *ret) ATTR_NODISCARD;
/** Whether a VerticalPodAutoscaler that the snapshot does not have has changed the pod, by its annotation. */
bool decide_has_unknown_vpa(const struct pod_facts *self);
/** Whether the pod is critical. `*ret_why`: static text, what says so; valid only if true. */
bool decide_is_critical(const struct pod_facts *self, const char **ret_why);
/** A copy of the pod's containers. NULL: the arena is full. */
struct k8s_container *decide_copy_containers(const struct k8s_pod *pod, struct arena *arena);

/** A container's part of the pod's share. 0: not known, or it has no part. */
int64_t decide_part_of(const struct sized *item, int64_t share);

/** decide_annotations.c: fills `said`, also of the items' fields. @return 0 or -ENOMEM. */
int decide_read_annotation(struct pod_facts *self) ATTR_NODISCARD;
/** Marks the fields that LimitRanger has set, according to its annotation. */
void decide_read_defaults(struct pod_facts *self);

/** decide_revision.c: sets `rec` and what belongs to it, from the item's profile and spec. */
void decide_recommendation(const struct pod_facts *self, struct sized *item);
/** Whether the pod has fewer ranks than all runs behind the recommendation: each rank may then need more. False if a
 * number is not known. */
bool decide_is_small_world(const struct pod_facts *self, const struct sized *item);

/** decide_mode.c: the mode that applies to the pod, and what concerns queues and earlier decisions. */
struct pod_mode decide_mode(const struct pod_facts *facts);

/** decide_queue.c: sets the queue that counts the pods, and whether its quota is known. `is_marked`: some queueing
 * system counts them. */
void decide_queue(const struct pod_facts *facts, bool is_marked, struct pod_mode *ret);

/** size_fit_pod.c: makes proposals for all containers, applies them to `after` and lists them as sizes. `ret` borrows
 * facts and mode. @return 0 or -ENOMEM. */
int size_fit(const struct pod_facts *facts, const struct pod_mode *mode, struct deciding *ret) ATTR_NODISCARD;
/** The value after the decision; 0: none. */
int64_t field_final(const struct field *field);
/** Whether the container's memory request or limit (`field`, an enum size_field) is well above what it should be; a
 * pinned one: above it at all. */
bool size_is_over(const struct deciding *self, const struct sized *item, int field);
/** Whether the field itself is pinned in the spec of a profile. */
bool size_is_pinned(const struct sized *item, int field);
/** Whether the limit is pinned, or makes room for a pinned request. */
bool size_is_limit_by_pin(const struct sized *item);
/** Whether `limit_bytes` is below such a limit. */
bool size_is_below_pin(const struct sized *item, int64_t limit_bytes);
/** Whether the container's memory request or limit is set and well below what it should be: by more than
 * sizing.changeThreshold, or below the observed peak. A pinned one, and a limit where an OOM kill has proven a need:
 * below it at all. */
bool size_is_below(const struct deciding *self, const struct sized *item, int field);
/** Whether an OOM kill made the recommended limit greater than peak and buffer. */
bool size_is_raised_by_kill(const struct sized *item);
/** Whether the limit is below the observed peak, or not above a limit at which a run was OOM-killed. */
bool size_is_below_proof(const struct sized *item, int64_t limit_bytes);

/** decide_allocator.c: sets the allocator variable of new pods. @return 0 or -ENOMEM. */
int decide_allocator(struct deciding *self) ATTR_NODISCARD;

/** decide_text.c: texts. All functions return NULL if the arena is full. */
/** A value that is set, exactly as in the patch. */
#define SET(bytes) quantity_render_bytes((bytes), (char[QUANTITY_TEXT_BYTES]){0})
/** The same for other values, rounded if they are long. */
const char *text_exact(int64_t bytes, char buf[QUANTITY_TEXT_BYTES]);
/** A template that is not changed: sizes are set when its pods are created. */
bool is_set_later(const struct deciding *self);
#define EXACT(bytes) text_exact((bytes), (char[QUANTITY_TEXT_BYTES]){0})
const char *text_why_limit(const struct deciding *self, const struct sized *item);
const char *text_why_request(const struct deciding *self, const struct sized *item);
/** "pinned by spec.pinLimit", for a pinned field or a limit that makes room for a pinned request. Static. */
const char *text_pin(const struct sized *item, int field);
/** A value as in the manifest, otherwise exactly, with its origin: "512Mi (by LimitRange)". At most TEXT_VALUE_CHARS of
 * the manifest's text, which may be anything. */
const char *text_value(const struct deciding *self, const struct sized *item, enum sized_resource resource, int f);
/** The value after the decision: what is set, else as text_value(). */
const char *text_final(const struct deciding *self, const struct sized *item, enum sized_resource resource, int f);
/** "no memory limit", or "memory limit is 0". */
const char *text_missing(const struct deciding *self, const struct sized *item, enum sized_resource resource, int f);
/** The action on a proposal: "; set to 96Gi (why)", "; mode raise would set 96Gi (why)" ... "": there is no proposal.
 * Its end is the reason, which render_line() keeps in a warning. */
const char *text_outcome(const struct deciding *self, const struct sized *item, const struct field *field,
			 const char *why);
/** How far memory was lowered if the recommendation is lower still: "max 25% a run", or, if the last run had another
 * value than the manifest, "25% below last run's 2Gi". */
const char *text_step(const struct deciding *self, const struct sized *item, int f);
/** The last run's value, if it is not that of the manifest; 0: none. */
int64_t text_step_from(const struct sized *item, int f);
/** "14 runs", "1 run". */
const char *text_runs(const struct deciding *self, int64_t n);
/** "2 of 8 GPUs": a container's part of a node; `item` NULL: the pod's. */
const char *text_part(const struct deciding *self, const struct sized *item);
/** Texts of a manifest in a finding: no name of an object is longer, nor a value that anybody writes. */
enum { TEXT_VALUE_CHARS = LIMIT_NAME_BYTES };
/** The words of our own texts are not longer; names are. */
enum { TEXT_WORD_CHARS = 24 };
/** Cuts the end (is_middle: the middle) of the `n` characters at `word` in `text` as far as it is longer than `max`, to
 * `least` at most, which is more than 3 and less than `n`. */
void text_cut(char *text, size_t max, char *word, size_t n, size_t least, bool is_middle);
/** While `text` is longer than `max`, its longest word loses its middle, down to TEXT_WORD_CHARS: names of one
 * namespace often have the same beginning. */
void text_cut_names(char *text, size_t max);
/** Makes text printable: ASCII, at most `max` characters, truncated with "...". May return `text`. */
const char *text_clean(struct arena *arena, const char *text, size_t max);

/** decide_checks.c: adds all findings. @return 0 or -ENOMEM. */
int decide_checks(const struct deciding *self, struct findings *ret) ATTR_NODISCARD;
