/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* evidence: what a source of history (Prometheus today) reports about training pods, one window at a time. All readers
 * have this interface; the modules that build runs and profiles do not depend on the kind of reader.
 *
 * A batch contains one window: pods that may train, with their containers, owners, sizes, ends and memory use, joined
 * by pod. Its pods and their texts are in a pod_set. Nothing is carried from one window to the next; runs/pod_table
 * does that. Threads: a batch belongs to one thread. */
#include "base/err.h"
#include "base/strmap.h"
#include "evidence/pod.h"

#include <stdint.h>

/** A half-open interval: a sample at start_ms belongs to the window, a sample at end_ms to the next one. */
struct evidence_window {
	int64_t start_ms, end_ms;
	bool is_open; /* ends now, so its pods may still be running */
};

struct evidence_batch {
	struct evidence_window window;
	struct pod_set pods;
	struct strmap pods_by_name; /* "namespace/name": of several, the pod that was added last */
	/* The source reported that the answer may be incomplete: values are lower bounds. */
	bool is_partial;
	char warning[160];
	size_t n_queries, n_series;
	int64_t n_samples; /* number of samples behind the values */
};

/** Makes an empty batch. Its memory is capped at LIMIT_EVIDENCE_BYTES. */
void evidence_batch_init(struct evidence_batch *self, const struct evidence_window *window);
void evidence_batch_release(struct evidence_batch *self);
/** Finds a pod or adds it. With uid "" or NULL any pod of that name. NULL: out of memory. */
struct pod *evidence_pod_put(struct evidence_batch *self, const char *namespace_name, const char *name,
			     const char *uid);
/** Finds a pod. With uid "" or NULL any pod of that name (the one that was added last). NULL: there is none. */
struct pod *evidence_pod_get(const struct evidence_batch *self, const char *namespace_name, const char *name,
			     const char *uid);
/** Finds the use of a cgroup or adds it. Valid until the next put to the same container. NULL: out of memory. */
struct evidence_usage *evidence_usage_put(struct evidence_batch *self, struct pod_container *container,
					  const char *cgroup);
/** Extracts the pod's uid from a cgroup path of cAdvisor (systemd's or cgroupfs' form). @return false: there is
 *  none. */
bool evidence_cgroup_uid(const char *cgroup, char ret[40]);
/** Adds the number of samples of one hour; hours may come in any order. A count of more than one sample a millisecond,
 *  Prometheus' resolution, is ignored. */
void evidence_usage_add_hour(struct evidence_usage *self, int64_t start_ms, int64_t end_ms, int64_t samples);
/** Computes first_ms, last_ms and is_coarse; call it after the last hour was added. */
void evidence_usage_settle(struct evidence_usage *self);
/** Converts kube-state-metrics' name of a resource to the original one ("nvidia_com_mig_1g_5gb" ->
 *  "nvidia.com/mig-1g.5gb"). @return false: not a known accelerator. */
bool evidence_resource_name(const char *sanitised, char *ret, size_t size);
/** How many thousandths of whole accelerators `count` (at most 2^53) units of a resource are; `sanitised` is the name
 *  of the resource in kube-state-metrics. 0: not an accelerator. */
int64_t evidence_accelerators_milli(const char *sanitised, int64_t count);
/** Adds watched pods to a batch before it is read: the pods of these namespaces (n 0: all) that existed in its window,
 *  with everything that is known about them, which is no memory use yet. @return 0; -ENOMEM. */
int evidence_join(struct evidence_batch *self, const struct evidence_batch *watched, const char *const *namespaces,
		  size_t n) ATTR_NODISCARD;
/** Sets is_training from owners, labels and accelerators; leaves watched pods as they are. */
void evidence_pod_classify(struct pod *pod);

/** A node, as the source reports it. */
struct evidence_node {
	const char *name, *resource; /* accelerator resource, as kube-state-metrics spells it; "": none */
	int64_t accelerators, memory_bytes, ephemeral_bytes;
	const char *product, *instance_type; /* "": unknown */
};

struct evidence_nodes {
	struct arena arena;
	VEC(struct evidence_node) items;
	struct strmap by_name; /* index in items plus 1; filled by the readers */
};
void evidence_nodes_release(struct evidence_nodes *self);

/** Whether a source has a metric; for messages. */
struct evidence_finding {
	const char *metric;
	bool is_present;
	const char *without; /* what is lost without it; NULL: it is required */
	bool is_of_pods;     /* a watch of pods gives the same information */
};

/* Conditions of a reader, besides 0 and -errno. */
enum evidence_condition {
	EVIDENCE_TOO_HEAVY = 1,	  /* refused because of size or time, or this window cannot be read: ask for less */
	EVIDENCE_UNREACHABLE = 2, /* no answer, or one that refuses access */
	EVIDENCE_STOPPED = 3,	  /* the deadline passed, or an interrupt */
	EVIDENCE_MIXED = 4,	  /* the source contains several clusters, and none is configured */
};

/** Memory of one container at equal steps of time. */
struct evidence_curve {
	const char *namespace_name, *pod, *container; /* borrowed */
	int64_t start_ms, end_ms;		      /* half-open interval */
	int n;					      /* steps: 1..LIMIT_CURVE_POINTS */
	/* Greatest working set, and mean of the memory that is certainly needed: the smaller of rss and working set
	 * without active page cache, as far as they are known. -1: no data for the step. */
	int64_t max_bytes[LIMIT_CURVE_POINTS], mean_bytes[LIMIT_CURVE_POINTS];
};

/** A reader. Each function may return an enum evidence_condition; `err` is then set. Threads: a reader belongs to one
 *  thread. */
struct evidence_reader {
	const char *source; /* static: "query" */
	/** Finds which metrics and namespaces exist between two times. Findings and namespaces belong to the reader and
	 *  are valid until the next detect. EVIDENCE_MIXED: `err` names the clusters and what to configure. */
	int (*detect)(struct evidence_reader *self, int64_t from_ms, int64_t to_ms, struct err *err);
	/** Reads one window of these namespaces (NULL: all) into an initialised batch that is empty or contains watched
	 *  pods only. */
	int (*read)(struct evidence_reader *self, const char *const *namespaces, size_t n_namespaces,
		    struct evidence_batch *batch, struct err *err);
	/** Reads the nodes that existed at some time in the window. `ret` must be zeroed; the caller releases it. */
	int (*nodes)(struct evidence_reader *self, const struct evidence_window *window, struct evidence_nodes *ret,
		     struct err *err);
	/** Fills in the points of these curves, which are -1 before. Points that could be read are set even if others
	 *  fail. NULL: the source has no curves. */
	int (*curves)(struct evidence_reader *self, struct evidence_curve *curves, size_t n, struct err *err);
	void (*free)(struct evidence_reader *self);

	const struct evidence_finding *findings;
	size_t n_findings;
	const char *const *namespaces;
	size_t n_namespaces;
	size_t n_queries; /* number of queries so far */
};
