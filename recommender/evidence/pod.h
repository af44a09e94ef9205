/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pod: what is known of a pod, and sets of pods. One window of a source fills a set (evidence.h), and runs/pod_table
 * merges the windows into another one. Both have the same struct, and the tables pod_numbers, pod_container_numbers and
 * pod_texts list its fields for everything that merges, copies or encodes pods.
 *
 * A set owns its pods and their texts. Threads: a set belongs to one thread. */
#include "base/arena.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "k8s/pod.h"
#include "model/run.h"
#include "model/sketch.h"

#include <stddef.h>
#include <stdint.h>

/** Kubernetes has no longer names of namespaces, pods, containers and uids; readers skip series with longer ones. */
#define EVIDENCE_NAME_BYTES 253

/** Quantiles over the time of one window, in permille; the quantiles of a run are computed from those of its
 *  windows. */
#define EVIDENCE_LADDER 5
extern const int evidence_ladder_permille[EVIDENCE_LADDER];
#define EVIDENCE_LADDER_MEDIAN 2
#define EVIDENCE_LADDER_P95    4

/** The number of samples in the first and the last hour, from which a reader that counts samples estimates the first
 *  and the last sample. */
struct evidence_hours {
	int64_t first_ms, first_end_ms, first_samples; /* the first hour with a sample */
	int64_t last_ms, last_samples;
};

/** Memory use of one cgroup, which is one start of a container, in the window. 0: not measured. */
struct evidence_usage {
	const char *cgroup; /* the id label; "" when the source has none */
	int64_t peak_bytes, peak_rss_bytes, peak_active_file_bytes;
	int64_t ladder_bytes[EVIDENCE_LADDER];
	unsigned int ladder_seen; /* bits of the ladder_bytes that are set */
	int64_t samples;
	/* Most samples in one full hour, which gives the scrape interval of long runs; 0: there was no full hour. */
	int64_t hour_samples;
	/* first and last sample, accurate to the scrape interval, or to the hour if is_coarse */
	int64_t first_ms, last_ms;
	bool is_coarse;	  /* there was no full hour: first_ms and last_ms are bounds */
	bool is_doubtful; /* may belong to another pod of the same name: only a hint */
	struct evidence_hours hours;
};

enum evidence_end_flag {
	END_SUCCEEDED = 1 << 0, /* pod phase */
	END_FAILED = 1 << 1,
	END_EVICTED = 1 << 2, /* pod reason */
	END_PREEMPTED = 1 << 3,
	END_COMPLETED = 1 << 4,	    /* container: terminated, reason Completed */
	END_ERROR = 1 << 5,	    /* container: terminated with a non-zero exit code */
	END_OOM_KILLED = 1 << 6,    /* container: the last time it ended */
	END_OOM_RESTARTED = 1 << 7, /* container: at an earlier time, then it was restarted */
	END_ERROR_RESTARTED = 1 << 8,
	END_EVICTED_MEMORY = 1 << 9, /* pod: the message names the resource */
	END_EVICTED_EPHEMERAL = 1 << 10,
	END_DELETED = 1 << 11,		       /* pod: deleted before it ended */
	END_UNSCHEDULABLE_MEMORY = 1 << 12,    /* pod: waited for a node with enough memory */
	END_QUOTA = 1 << 13,		       /* pod: a quota refused pods of the same owner */
	END_UNSCHEDULABLE_EPHEMERAL = 1 << 14, /* pod: waited for a node with enough ephemeral storage */
	END_OOM_EVENTS = 1 << 15,	       /* container: the kernel killed a process in its cgroup */
	END_DISK_LIMIT = 1 << 16,	       /* pod: evicted because it used more disk than its containers' limits */
	END_UNSCHEDULABLE = END_UNSCHEDULABLE_MEMORY | END_UNSCHEDULABLE_EPHEMERAL,
};

struct pod_container {
	const char *name, *image;							    /* image "": unknown */
	int64_t limit_bytes, request_bytes, ephemeral_limit_bytes, ephemeral_request_bytes; /* 0: none or unknown */
	int64_t accelerators_milli;
	unsigned int ends; /* enum evidence_end_flag */
	int restarts;
	/* Different limits at which it was OOM-killed; -1: without a limit. n_killed_limits 0: unknown, see `ends`. */
	int64_t killed_limits[RUN_KILLED_LIMITS];
	int n_killed_limits;

	VEC(struct evidence_usage) usage; /* heap; in one window, empty in a pod_table */

	struct gpu_memory gpu; /* of the fullest card */
	/* Merged from the use in all windows by pod_table. */
	int64_t peak_bytes, peak_rss_bytes, peak_active_file_bytes;
	struct sketch sketch;		      /* working set, weighted by time */
	int64_t median_bytes, p95_bytes;      /* exact; only while n_parts is 1, else 0 */
	int n_parts;			      /* number of windows and cgroups that were merged into the sketch */
	int64_t samples, covered_ms;	      /* number of samples, and the time that they cover */
	int64_t step_ms;		      /* between two samples; 0: not known for this container */
	int64_t first_ms, last_ms;	      /* of the samples; 0: none */
	bool is_first_coarse, is_last_coarse; /* known only to the hour */
	bool is_doubtful;		      /* the use may belong to another pod */
};

struct pod {
	const char *namespace_name, *name;
	const char *uid;		      /* "": unknown. In a pod_table a hash of it as 8 digits */
	const char *owner_kind, *owner_name;  /* its controller; "" for a bare pod */
	const char *owner_uid;		      /* "": unknown; only of watched pods, not in a pod_table */
	const char *root_kind, *root_name;    /* the controller's controller; "": none */
	const char *decision;		      /* the value of our annotation; "": none or unknown */
	VEC(struct k8s_label) labels;	      /* heap items; those that identity reads, with their original names */
	VEC(struct pod_container) containers; /* heap */
	int64_t start_ms, completion_ms;      /* 0: unknown */
	int64_t seen_from_ms;		      /* start of the first window that contained the pod; set by pod_table */
	int64_t pending_ms;		      /* from creation to start; 0: unknown */
	int64_t room_wait_ms; /* part of pending_ms in which no node had room for its size; 0: unknown */
	int64_t peak_ephemeral_bytes;
	/* Share of time in which its accelerators were active, in permille, summed over samples, and the number of
	 * samples (0: unknown). In one window a sum of -1 is unknown. */
	int64_t activity_sum, activity_samples;
	unsigned int ends;   /* enum evidence_end_flag, of the pod */
	bool is_owner_known; /* the source reports its owner, or that it has none */
	bool is_name_shared; /* another pod of the window has the same name */
	bool is_alive;	     /* exists and has not ended at the end of the newest window (open windows only) */
	bool is_training;
	bool is_watched; /* reported by the API server, so a missing value means that there is none */
	bool is_partial; /* a window of the pod may lack data; set by pod_table */
};

/** What a newer window does to a figure. */
enum pod_merge {
	POD_MERGE_LATEST,   /* a value other than 0 replaces the older one */
	POD_MERGE_GREATEST, /* the greater value stays */
	POD_MERGE_OWN,	    /* pod_table has code for it */
};

struct pod_number {
	size_t offset; /* of an int64_t */
	enum pod_merge merge;
};

/* The figures of a pod and of a container. Their order is the order in which pod_table_encode writes them. */
enum { POD_NUMBERS = 8, POD_CONTAINER_NUMBERS = 17, POD_TEXTS = 8 };
extern const struct pod_number pod_numbers[POD_NUMBERS];
extern const struct pod_number pod_container_numbers[POD_CONTAINER_NUMBERS];
/** Offsets of the texts of a pod, without owner_uid. The first three identify the pod. */
extern const size_t pod_texts[POD_TEXTS];
enum { POD_TEXTS_OF_ID = 3 };

int64_t *pod_number_of(void *object, const struct pod_number *number);
const char **pod_text_of(struct pod *pod, size_t text);
/** Merges the figures of a newer object into those of an older one. */
void pod_numbers_merge(const struct pod_number *numbers, size_t n, void *to, const void *from);

struct pod_set {
	struct pod **items; /* as in VEC; the pods are in the arena */
	size_t n, capacity;
	struct strmap by_id; /* "namespace/name/uid" */
	struct strmap texts; /* interned strings */
	struct arena arena;
	const struct pod *overfull; /* a pod of which containers beyond LIMIT_POD_CONTAINERS were left out; or NULL */
	struct pod_container left_out; /* takes the values of such containers; they are not used */
};

#define POD_SET_INIT(max_bytes)                                                                                        \
	{                                                                                                              \
		.arena = ARENA_INIT(max_bytes)                                                                         \
	}

/** Frees all pods and texts. */
void pod_set_release(struct pod_set *self);
/** Copies a string into the set; equal strings give the same pointer. NULL or "" gives "". NULL: out of memory. */
const char *pod_set_text(struct pod_set *self, const char *text);
/** Finds the pod with exactly this uid, which may be "". NULL: there is none. */
struct pod *pod_set_find(const struct pod_set *self, const char *namespace_name, const char *name, const char *uid);
/** Adds a pod with all other texts "". NULL: out of memory. */
struct pod *pod_set_add(struct pod_set *self, const char *namespace_name, const char *name, const char *uid);
/** Makes pod_set_find find this pod of the set. @return 0 or -ENOMEM. */
int pod_set_index(struct pod_set *self, struct pod *pod) ATTR_NODISCARD;
/** Replaces all texts of a pod, its labels and its containers by copies in the set. @return 0; -ENOMEM (the pod may
 * then only be released). */
int pod_set_own_texts(struct pod_set *self, struct pod *pod) ATTR_NODISCARD;
/** Finds a container or adds it. Valid until the next put to the same set. A container beyond LIMIT_POD_CONTAINERS is
 * left out: the caller gets `left_out` of the set, and `overfull` is set. NULL: out of memory. */
struct pod_container *pod_container_put(struct pod_set *self, struct pod *pod, const char *name);
