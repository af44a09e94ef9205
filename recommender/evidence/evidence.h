/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* evidence: what a source of history knows of training pods, window by window. One interface for all readers (grouped
 * queries today); what follows (runs, profiles) never knows which one it was.
 *
 * A batch is one window's worth: pods that may train, their containers, owners, sizes, ends and memory use, already
 * joined by pod. All its text and items live in its arena. Nothing is carried from one window to the next: that is
 * runs/pod_table. Threads: a batch belongs to one thread. */
#include "base/arena.h"
#include "base/err.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "k8s/pod.h"
#include "model/run.h"

#include <stdint.h>

/** Quantiles over the time of one window, in permille: enough to weave a sketch of a run from its days. */
#define EVIDENCE_LADDER 5
extern const int evidence_ladder_permille[EVIDENCE_LADDER];
#define EVIDENCE_LADDER_MEDIAN 2
#define EVIDENCE_LADDER_P95    4

/** Half-open: samples at start_ms belong to it, samples at end_ms to the next one. */
struct evidence_window {
	int64_t start_ms, end_ms;
	bool is_open; /* ends now: pods in it may still be running */
};

/** How many samples fell into which hours: how a reader of counts finds first and last sample. */
struct evidence_hours {
	int64_t first_ms, first_end_ms, first_samples; /* the first hour that has any */
	int64_t last_ms, last_samples;
};

/** Memory use of one cgroup (one life of a container) in the window. */
struct evidence_usage {
	const char *cgroup; /* the id label; "" when the source has none */
	int64_t peak_bytes, peak_rss_bytes, peak_active_file_bytes;
	int64_t ladder_bytes[EVIDENCE_LADDER];
	unsigned int ladder_seen; /* bits of ladder_bytes that were told */
	int64_t samples;
	int64_t hour_samples; /* most samples in one full hour, 0: none was: tells the scrape interval of long runs */
	int64_t first_ms, last_ms; /* first and last sample, to within the interval; by hours where coarse */
	bool is_coarse;		   /* no hour was seen full: first_ms and last_ms are its bounds */
	bool is_doubtful;	   /* may be another pod's of the same name: only a hint */
	struct evidence_hours hours;
};

enum evidence_end_flag {
	END_SUCCEEDED = 1 << 0, /* pod phase */
	END_FAILED = 1 << 1,
	END_EVICTED = 1 << 2, /* pod reason */
	END_PREEMPTED = 1 << 3,
	END_COMPLETED = 1 << 4,	    /* container: terminated, reason Completed */
	END_ERROR = 1 << 5,	    /* container: terminated with a non-zero exit code */
	END_OOM_KILLED = 1 << 6,    /* container: its last end */
	END_OOM_RESTARTED = 1 << 7, /* container: an earlier end, then restarted */
	END_ERROR_RESTARTED = 1 << 8,
	END_EVICTED_MEMORY = 1 << 9, /* pod: the message says for what */
	END_EVICTED_EPHEMERAL = 1 << 10,
	END_DELETED = 1 << 11,		    /* pod: went before it ended */
	END_UNSCHEDULABLE_MEMORY = 1 << 12, /* pod: waited long since no node had enough memory */
	END_QUOTA = 1 << 13,		    /* pod: siblings were refused by a quota */
};

struct evidence_container {
	const char *name, *image; /* image "" when not known */
	int64_t limit_bytes, request_bytes, ephemeral_limit_bytes, ephemeral_request_bytes; /* 0: none or not known */
	int64_t accelerators_milli;
	unsigned int ends; /* enum evidence_end_flag */
	int restarts;
	/* Distinct limits at which it was seen being OOM-killed; -1: without any. n 0: not known, see ends. */
	int64_t killed_limits[RUN_KILLED_LIMITS];
	int n_killed_limits;
	VEC(struct evidence_usage) usage; /* heap; released by evidence_batch_release */
};

struct evidence_pod {
	const char *namespace_name, *name, *uid; /* uid "" when the source does not tell it */
	const char *owner_kind, *owner_name;	 /* its controller; "" for a bare pod */
	const char *owner_uid;			 /* "" when the source does not tell it */
	const char *root_kind, *root_name;	 /* the controller's controller; "" */
	VEC(struct k8s_label) labels;		 /* heap items; those that identity reads, with their true names */
	int64_t start_ms, completion_ms;	 /* 0: not known */
	int64_t pending_ms;			 /* from creation to start; 0: not known */
	int64_t memory_wait_ms;			 /* of that, while no node had the memory for it; 0: not known */
	int64_t peak_ephemeral_bytes;
	/* Share of time in which its accelerators had work, in thousandths, added up over samples (-1: not told), and
	 * how many samples that are (0: not told). */
	int64_t activity_sum, activity_samples;
	const char *decision; /* our annotation, as it stands there; "" none or not known */
	unsigned int ends;    /* enum evidence_end_flag, of the pod */
	bool is_owner_known;  /* the source said which owner it has, or that it has none */
	bool is_name_shared;  /* another pod of the window has its name */
	bool is_alive;	      /* exists at the end of the window, not ended (open windows only) */
	bool is_training;
	bool is_watched; /* told by the API server itself: what it does not say is not there */
	VEC(struct evidence_container) containers; /* heap */
};

struct evidence_batch {
	struct evidence_window window;
	struct arena arena;
	VEC(struct evidence_pod *) pods; /* in the arena */
	struct strmap pods_by_id;	 /* "namespace/name/uid" */
	struct strmap pods_by_name;	 /* "namespace/name": the one that started last, of several */
	struct strmap texts;		 /* interned */
	/* The source said that the answer may not be whole: figures are lower bounds. */
	bool is_partial;
	char warning[160];
	size_t n_queries, n_series;
	int64_t n_samples; /* samples that stand behind the figures */
};

void evidence_batch_init(struct evidence_batch *self, const struct evidence_window *window);
void evidence_batch_release(struct evidence_batch *self);
/** An own copy of a text that lives as long as the batch; the same text twice is the same pointer. NULL: no memory. */
const char *evidence_intern(struct evidence_batch *self, const char *text);
/** Longer names of namespaces, pods, containers and uids are no names of Kubernetes; readers pass such rows over. */
#define EVIDENCE_NAME_BYTES 253
/** Find a pod, or add it. NULL: no memory. */
struct evidence_pod *evidence_pod_put(struct evidence_batch *self, const char *namespace_name, const char *name,
				      const char *uid);
/** NULL when there is none. With uid "" or NULL any pod of that name (the one that started last). */
struct evidence_pod *evidence_pod_get(const struct evidence_batch *self, const char *namespace_name, const char *name,
				      const char *uid);
struct evidence_container *evidence_container_put(struct evidence_batch *self, struct evidence_pod *pod,
						  const char *name);
struct evidence_usage *evidence_usage_put(struct evidence_batch *self, struct evidence_container *container,
					  const char *cgroup);
/** The pod's uid inside a cgroup path of cAdvisor (systemd's and cgroupfs' spelling) into `ret`; false when none. */
bool evidence_cgroup_uid(const char *cgroup, char ret[40]);
/** Add an hour's count. In any order. */
void evidence_usage_add_hour(struct evidence_usage *self, int64_t start_ms, int64_t end_ms, int64_t samples);
/** After the last hour: first_ms, last_ms and is_coarse from the hours. */
void evidence_usage_settle(struct evidence_usage *self);
/** kube-state-metrics' spelling of a resource back to the true one ("nvidia_com_mig_1g_5gb" ->
 * "nvidia.com/mig-1g.5gb"); false when it is none that we know. */
bool evidence_resource_name(const char *sanitised, char *ret, size_t size);
/** So much of whole accelerators that a container asks for, by one row of kube-state-metrics. 0: no accelerator. */
int64_t evidence_accelerators_milli(const char *sanitised, int64_t count);
/** Put pods that are watched into a batch of the same or of another window, before it is read: those of these
 * namespaces (n 0: all) that were there in its time, with all that is told of them. 0 or -ENOMEM. */
int evidence_join(struct evidence_batch *self, const struct evidence_batch *watched, const char *const *namespaces,
		  size_t n) ATTR_NODISCARD;
/** Judge by what metrics tell whether the pod trains (accelerators, kinds of owners, label), into is_training. */
void evidence_pod_classify(struct evidence_pod *pod);

/** A node as the source shows it. */
struct evidence_node {
	const char *name, *resource; /* accelerator resource, as kube-state-metrics spells it; "" */
	int64_t accelerators, memory_bytes, ephemeral_bytes;
	const char *product, *instance_type; /* "" when not known */
};

struct evidence_nodes {
	struct arena arena;
	VEC(struct evidence_node) items;
};
void evidence_nodes_release(struct evidence_nodes *self);

/** What a source has and lacks, for people. */
struct evidence_finding {
	const char *metric;
	bool is_present;
	const char *without; /* what is lost when it is missing; NULL: it is needed */
	bool is_of_pods;     /* what it tells is also known to who watches pods */
};

/* Conditions of a reader, beside 0 and -errno. */
enum evidence_condition {
	EVIDENCE_TOO_HEAVY = 1,	  /* the source refused for size or time: ask for less */
	EVIDENCE_UNREACHABLE = 2, /* no answer, or one that says we may not or should not ask */
	EVIDENCE_STOPPED = 3,	  /* deadline or interrupt */
};

/** What one container used, at equal steps of a time. */
struct evidence_curve {
	const char *namespace_name, *pod, *container; /* borrowed */
	int64_t start_ms, end_ms;		      /* half-open */
	int n;					      /* steps: 1..LIMIT_CURVE_POINTS */
	/* Greatest working set, and mean of what is surely need: the smaller one of rss and working set without active
	 * page cache, as far as they are told. -1: nothing is known of the step. */
	int64_t max_bytes[LIMIT_CURVE_POINTS], mean_bytes[LIMIT_CURVE_POINTS];
};

/** A reader. Every call may return an enum evidence_condition (err is filled). */
struct evidence_reader {
	const char *source; /* static: "query" */
	/** Look what there is between the times. Findings and namespaces are the reader's, until the next detect. */
	int (*detect)(struct evidence_reader *self, int64_t from_ms, int64_t to_ms, struct err *err);
	/** Read one window of these namespaces (NULL: all) into an initialised, empty batch. */
	int (*read)(struct evidence_reader *self, const char *const *namespaces, size_t n_namespaces,
		    struct evidence_batch *batch, struct err *err);
	/** Nodes that were there at some time of the window. `ret` is zeroed. */
	int (*nodes)(struct evidence_reader *self, const struct evidence_window *window, struct evidence_nodes *ret,
		     struct err *err);
	/** Put what is known into the points of these curves, which are -1 before, also where others could not be read.
	 *  NULL: the source has none. */
	int (*curves)(struct evidence_reader *self, struct evidence_curve *curves, size_t n, struct err *err);
	void (*free)(struct evidence_reader *self);

	const struct evidence_finding *findings;
	size_t n_findings;
	const char *const *namespaces;
	size_t n_namespaces;
	size_t n_queries; /* asked so far */
};
