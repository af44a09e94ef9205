/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decide: computes findings and sizes from pod, snapshot, policy and time. Pure: no I/O, no clock, no globals. The
 * webhook, offline review, resizes, replay and tests all use it; policy/render.h renders the patch, warnings and
 * annotations from its result. All text of the decision is in the arena. Any thread.
 *
 * Cost: linear in each list of the pod and in the node shapes; the containers, at most LIMIT_POD_CONTAINERS, also times
 * each other. Arena: 3 KiB for each container and 500 bytes for each finding. */
#include "base/arena.h"
#include "k8s/accelerator.h"
#include "k8s/pod.h"
#include "model/identity.h"
#include "model/snapshot.h"
#include "policy/checks.h"
#include "policy/policy.h"

enum subject {
	SUBJECT_POD,	  /* a pod that is being created: may be patched */
	SUBJECT_TEMPLATE, /* a pod template in a workload object: findings say "will be set when pods are created" */
};

struct finding {
	enum check_id check;
	enum check_action action;	       /* ACTION_PATCH if sizes follow from it, else warn or deny */
	const struct k8s_container *container; /* NULL: the whole pod */
	const char *pointer; /* JSON Pointer of the field in the pod, or of its nearest existing parent */
	const char *text;    /* "no memory limit; set to 96Gi (peak 85Gi of 14 runs + 12%)", ASCII, no prefix */
};

#define DECISION_CAP_CHARS 95
#define SIZE_RULE_CHARS	   23
#define SIZE_RULE_REPLACED "replaced"

enum size_field { SIZE_REQUEST, SIZE_LIMIT };

/** A value to set. Applied in order; at most one for each container, resource and field; those of one container are
 * adjacent. */
struct size_change {
	const struct k8s_container *container;
	enum k8s_resource resource; /* memory or ephemeral-storage; never cpu */
	enum size_field field;
	bool has_from;
	int64_t from_bytes, to_bytes;
	/* Static id: "median", "peak+buffer", "oom", "pin", "no-history", "gpu-share", "guaranteed"; "default": a
	 * request with the value that defaulting would give it (size_fit_pod.c). In the annotation also
	 * SIZE_RULE_REPLACED: another webhook has replaced the value since. */
	const char *rule;
	const char *reason; /* text */
	/* The reason why the change was limited, in at most DECISION_CAP_CHARS of ASCII; NULL: none. */
	const char *cap;
};

struct decision {
	enum mode mode;	      /* in force, after configuration, namespace, pod, modeCap and the kind of pod */
	const char *mode_why; /* text: which of them decided */
	enum pod_class pod_class;
	const char *class_why;		     /* of pod_classify */
	const char *skip;		     /* not NULL: the pod was not examined, and why (metric label) */
	struct identity identity;	     /* of the main container */
	char workload_id[IDENTITY_ID_BYTES]; /* for the label; "": nothing is known */
	const struct profile *profile;	     /* of the main container; NULL: no history. Borrowed from the snapshot */
	struct accelerator_ask ask;
	struct finding *findings; /* in the order of checks.def */
	size_t n_findings;
	struct size_change *sizes;
	size_t n_sizes;
	/* What the annotation lists: the sizes, and what earlier rounds of this admission set and this one does not.
	 * `from` is the value before the first round. */
	const struct size_change *set;
	size_t n_set;
	/* Containers of a new pod that get `variable`, one of k8s/allocator.h, with ALLOCATOR_SETTING. Without
	 * containers: what an earlier round has set; NULL: nothing. */
	const struct k8s_container **envs;
	size_t n_envs;
	const char *variable;
	bool is_denied;	 /* for objects that create pods only */
	bool is_partial; /* a runtime: its TrainJobs set the absent values, which were not examined */
	/* The pod's annotation already says what was set, or that nothing was set in this mode. */
	bool is_annotated;
};

struct decide_input {
	const struct k8s_pod *pod; /* as decoded: decide() applies the API server's defaults to a copy */
	enum subject subject;
	const char *namespace_name; /* of the request; overrides the pod's own */
	const char *root_kind;	    /* of the object that contains the template; NULL for pods */
	const char *root_group, *root_name, *role;
	bool is_root_queued;	/* labels of that object say that a queue counts its pods */
	const char *root_queue; /* of a template: the LocalQueue of its object; NULL: none */
	int64_t replicas;	/* 1 for pods */
	int64_t ranks;		/* of a template: kind_template.ranks; 0: not known */
	/* of a template: all templates whose pods are created together (workload_declare) */
	struct k8s_declared declared;
	bool has_shm, has_runtime; /* of a template: as in kind_template */
	/* The template itself is patched, before a queue or an operator reads it. */
	bool is_template_patched;
	const struct snapshot *snapshot; /* never NULL */
	const struct policy *policy;
	int64_t now_ms; /* current time, which decides whether a changed profile applies yet */
	/* The object is a manifest, not a pod that is being created. Our annotations in it may be copied, so they
	 * settle nothing, and the newest revision of each profile applies. */
	bool is_offline;
};

/** @return 0; -ENOMEM, also if the arena's cap is reached. */
int decide(const struct decide_input *input, struct arena *arena, struct decision *ret, struct err *err) ATTR_NODISCARD;
/** Whether this check is about sizes; such findings are left out for values that memtamer has set. */
bool decide_is_about_size(enum check_id check);
