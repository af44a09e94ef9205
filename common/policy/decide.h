/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* decide: the heart. (pod, snapshot, policy, now) -> findings and sizes; pure, no I/O, no clock, no globals.
 * The webhook, the offline review, scans, reports and tests all call it; patch, warnings and annotations are rendered
 * from its result (policy/render.h). All text of the decision lives in the arena. Any thread. */
#include "base/arena.h"
#include "k8s/accelerator.h"
#include "k8s/pod.h"
#include "model/identity.h"
#include "model/snapshot.h"
#include "policy/checks.h"
#include "policy/policy.h"

enum subject {
	SUBJECT_POD,	  /* a pod being created: may be patched */
	SUBJECT_TEMPLATE, /* a pod template inside a workload object: findings say "will be set when pods are created"
			   */
};

struct finding {
	enum check_id check;
	enum check_action
		action; /* what was done about it: ACTION_PATCH when sizes follow from it, else warn or deny */
	const struct k8s_container *container; /* NULL: the whole pod */
	const char *pointer; /* JSON Pointer in the pod of the field in question or its nearest parent */
	const char *text;    /* "no memory limit; set to 96Gi (peak 85.6Gi of 14 runs + 12%)", ASCII, no prefix */
};

#define DECISION_CAP_CHARS 95

enum size_field { SIZE_REQUEST, SIZE_LIMIT };

/** One value to set. Applied in order; at most one per container, resource and field. */
struct size_change {
	const struct k8s_container *container;
	enum k8s_resource resource; /* memory or ephemeral-storage; never cpu */
	enum size_field field;
	bool has_from;
	int64_t from_bytes, to_bytes;
	/* Static id: "median", "peak+buffer", "oom", "pin", "no-history", "gpu-share", "guaranteed"; "default": a
	 * request as defaulting makes it, of or beside a limit: see size_fit_pod.c. */
	const char *rule;
	const char *reason; /* words */
	/* What kept it from more or less, in at most DECISION_CAP_CHARS of ASCII; NULL: nothing. */
	const char *cap;
};

struct decision {
	enum mode mode;	      /* effective, after config, namespace, pod, modeCap and what the pod's kind allows */
	const char *mode_why; /* words: which of them decided */
	enum pod_class pod_class;
	const char *class_why;		     /* of pod_classify */
	const char *skip;		     /* non-NULL: nothing was looked at, and why (metric label) */
	struct identity identity;	     /* of the main container */
	char workload_id[IDENTITY_ID_BYTES]; /* stamp for the label; "" when nothing is known */
	const struct profile *profile;	     /* of the main container; NULL: no history. Borrowed from the snapshot */
	struct accelerator_ask ask;
	struct finding *findings;
	size_t n_findings;
	struct size_change *sizes;
	size_t n_sizes;
	bool is_denied; /* workload kinds only */
	/* A pod whose sizes hang on an owner that is not known yet, though its news is on its way: a moment later the
	 * answer may be another one. */
	bool awaits_owner;
};

struct decide_input {
	const struct k8s_pod *pod; /* as decoded: decide() does the API server's defaulting on a copy */
	enum subject subject;
	const char *namespace_name; /* the request's; wins over the pod's own */
	const char *root_kind;	    /* of the object that holds the template; NULL for pods */
	const char *root_group, *root_name, *role;
	const struct k8s_labels *root_labels; /* of that object (queue marks); NULL: none or not known */
	int64_t replicas;		      /* 1 for pods */
	int64_t ranks;			      /* of a template: kind_template.ranks; 0: not known */
	struct k8s_declared declared; /* of a template: of all that make their pods together (workload_declare) */
	/* A template that is patched itself, before a queue or an operator has read it: their marks do not hold back.
	 */
	bool is_template_patched;
	const struct snapshot *snapshot; /* never NULL */
	const struct policy *policy;
	int64_t now_ms; /* when it is asked; what counts of a changed profile depends on it */
};

/** @return 0; -ENOMEM (arena cap too). */
int decide(const struct decide_input *input, struct arena *arena, struct decision *ret, struct err *err) ATTR_NODISCARD;
