/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* policy: the settings of decide() and size_base(). The config layer fills them; they are passed in and never
 * global. */
#include "base/err.h"
#include "policy/checks.h"

#include <stdint.h>

/** Modes in rising order: each one does what the lower ones do, and more. */
enum mode {
	MODE_OFF,     /* nothing */
	MODE_OBSERVE, /* findings, label, annotations, metrics; resources are not changed (default) */
	MODE_FILL,    /* adds absent values */
	MODE_RAISE,   /* also raises values below the recommendation */
	MODE_ENFORCE, /* also lowers values that are proven too large */
	MODE_COUNT_
};
extern const char *const mode_names[MODE_COUNT_];
/** The mode of this name; -1: there is none. Cost: constant. */
int mode_parse(const char *name);

enum no_history { NO_HISTORY_WARN, NO_HISTORY_REQUEST, NO_HISTORY_SHARE };
enum size_class { CLASS_DENSE, CLASS_STANDING, CLASS_GUARANTEED };
extern const char *const size_class_names[3];

struct sizing_policy {
	enum size_class size_class;
	/* quantile of use over time that is the request in class dense; 500 */
	int32_t quantile_permille;
	int32_t buffer_min_permille;			/* 20: of the peak, added to it */
	int32_t buffer_spread_permille;			/* 600: divided by the number of whole runs */
	int64_t buffer_fixed_bytes;			/* 384Mi: added to each peak */
	int64_t floor_request_bytes, floor_limit_bytes; /* 32Mi, 100Mi */
	int64_t ceiling_bytes;				/* 0: none */
	/* 3 whole runs before anything but the smallest request is set */
	int32_t min_runs;
	enum no_history no_history;
	int32_t lower_max_permille; /* 250: at most 25 % a run */
	int32_t lower_min_runs;	    /* 5 whole runs of one variant */
	/* 100: a request or limit is left if it differs by less than 10 % */
	int32_t change_min_permille;
	int64_t no_history_request_bytes;	    /* 64Mi: smallest request, to leave QoS class BestEffort */
	int64_t no_history_ephemeral_request_bytes; /* 0: none if disk use was not measured */
	int32_t over_share_permille;		    /* 1000: warn above one share of a node */
};

/** For objects that create pods: whether their templates only get findings, or are sized when the object is created. */
enum template_action { TEMPLATES_WARN, TEMPLATES_PATCH };

/** Whether the memory of running pods is raised in place (recommender.resize). Each value does what the lower ones
 * do. */
enum resize_mode {
	RESIZE_OFF,	   /* only new pods are sized (default) */
	RESIZE_ON_OOM,	   /* also a container that was OOM-killed and restarts in its pod */
	RESIZE_BEFORE_OOM, /* also one that will reach its limit soon */
	RESIZE_MODE_COUNT_
};
extern const char *const resize_mode_names[RESIZE_MODE_COUNT_];
/** How far a pod with these annotations may be resized. KEY_RESIZE can only lower `configured`; an unknown value means
 * `off`. */
struct k8s_labels;
enum resize_mode resize_mode_of(enum resize_mode configured, const struct k8s_labels *annotations);

struct policy {
	enum mode mode;
	enum template_action templates;
	enum resize_mode resize;
	enum check_action actions[CHECK_COUNT_];
	struct sizing_policy sizing;
	/* NULL-terminated lists, owned by the configuration. */
	const char *const *excluded_namespaces;	      /* besides kube-system */
	const char *const *critical_priority_classes; /* names that mean critical */
	const char *own_namespace;		      /* the namespace that memtamer runs in; NULL offline */
};

/** Sets the documented defaults (checks from checks.def, mode observe, sizing as above). */
void policy_default(struct policy *ret);
