/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* policy: the settings that decide() and size_base() work by, filled by the config layer, passed in, never global. */
#include "base/err.h"
#include "policy/checks.h"

#include <stdint.h>

/** The ladder: each rung does what the rungs below do, and more. */
enum mode {
	MODE_OFF,     /* nothing */
	MODE_OBSERVE, /* findings, label, annotations, metrics; resources byte-identical */
	MODE_FILL,    /* adds what is missing */
	MODE_RAISE,   /* also raises what is proven too small (default) */
	MODE_ENFORCE, /* also lowers what is proven too large */
	MODE_COUNT_
};
extern const char *const mode_names[MODE_COUNT_];
/** -1 when no such mode. */
int mode_parse(const char *name);

enum no_history { NO_HISTORY_WARN, NO_HISTORY_REQUEST, NO_HISTORY_SHARE };
enum size_class { CLASS_DENSE, CLASS_STANDING, CLASS_GUARANTEED };
extern const char *const size_class_names[3];

struct sizing_policy {
	enum size_class size_class;
	int32_t quantile_permille;			/* of use over time for the request of class dense; 500 */
	int32_t buffer_min_permille;			/* 50: added to the peak however much is known */
	int32_t buffer_spread_permille;			/* 150: times sqrt(3 / n) */
	int64_t floor_request_bytes, floor_limit_bytes; /* 32Mi, 100Mi */
	int64_t ceiling_bytes;				/* 0: none */
	int32_t min_runs;				/* 3 whole runs before anything but the smallest fill */
	enum no_history no_history;
	int32_t lower_max_permille;		    /* 250: at most 25 % a run */
	int32_t lower_min_runs;			    /* 5 whole runs of one variant */
	int32_t change_min_permille;		    /* 100: request or limit off by less than 10 % is left as it is */
	int64_t no_history_request_bytes;	    /* 64Mi: smallest request that leaves BestEffort */
	int64_t no_history_ephemeral_request_bytes; /* 1Gi, and at most 5 % of the smallest candidate node */
	int32_t over_share_permille;		    /* 1000: warn above one share */
};

/** Objects that make pods: are their templates only spoken about, or sized when the object is created? */
enum template_action { TEMPLATES_WARN, TEMPLATES_PATCH };

/** May the memory of a pod that runs be raised in place (recommender.resize)? Each rung does what those below do. */
enum resize_mode {
	RESIZE_OFF,	   /* only new pods are sized (default) */
	RESIZE_ON_OOM,	   /* also a container that was OOM-killed and restarts in its pod */
	RESIZE_BEFORE_OOM, /* also one that will soon reach its limit */
	RESIZE_MODE_COUNT_
};
extern const char *const resize_mode_names[RESIZE_MODE_COUNT_];
/** What a pod may say for itself, in the words of recommender.resize; it can only narrow that. */
#define ANNOTATION_RESIZE "memtamer.io/resize"
/** The rung for a pod with these annotations; a word that is none means `off`. */
struct k8s_labels;
enum resize_mode resize_mode_of(enum resize_mode configured, const struct k8s_labels *annotations);

struct policy {
	enum mode mode;
	enum template_action templates;
	enum resize_mode resize;
	enum check_action actions[CHECK_COUNT_];
	struct sizing_policy sizing;
	/* NULL-terminated lists, owned by the config. */
	const char *const *excluded_namespaces;	      /* besides kube-system */
	const char *const *critical_priority_classes; /* names that mean critical */
	const char *own_namespace;		      /* memtamer's own; NULL offline */
};

/** The documented defaults (checks from checks.def, mode raise, sizing as above). */
void policy_default(struct policy *ret);
