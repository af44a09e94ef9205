/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fold_internal: the pods of a run, grouped by fold.c and summarised by fold_run.c and fold_figures.c. */
#include "policy/annotation.h"
#include "runs/fold.h"

/** A pod, with what the fold found out about it. */
struct member {
	const struct pod *pod;
	size_t index; /* index in the table */
	/* Of its identity, which is large, only what compares it with others: fold_identify computes all of it. */
	char run_key[IDENTITY_KEY_BYTES], role[64];
	int rank;
	int64_t begin_ms, end_ms; /* end: INT64_MAX while it runs */
	enum outcome outcome;	  /* of the main container */
	int slot;		  /* rank within the run, numbered by role and order */
	int try_number;		  /* attempt within its slot, from 1 */
	bool is_last;		  /* last attempt of its slot */
};

struct group {
	struct member *members; /* in the order of begin_ms */
	size_t n;
};

/** The main container of a pod: one with an accelerator, else the one with most memory. NULL: no containers. */
const struct pod_container *fold_main_container(const struct pod *pod);
/** Identifies the workload and the run of a pod. */
void fold_identify(const struct pod *pod, struct identity *ret);
/** Reads what our annotation says was set in this container, as far as the container has these values. @return false:
 * nothing was set. */
bool fold_read_set(const struct pod *pod, const struct pod_container *container, struct annotation *ret,
		   struct annotation_container *ret_set);
/** Adds what was set in one container of the run. @return 0 or -ENOMEM. */
int fold_add_decision(struct found_run *found, const struct member *member,
		      const struct pod_container *container) ATTR_NODISCARD;
/** Adds the harm that our values did to one container of the run. */
void fold_add_harm(struct found_run *found, const struct member *member, const struct pod_container *container);
/** Adds the figures of a container, in any attempt. */
void fold_add_figures(struct found_run *found, const struct pod *pod, const struct pod_container *container);
/** Adds the figures that count only in the last attempt of a rank. Call it after run.ranks counted the rank. */
void fold_add_last_figures(struct run *run, const struct pod_container *container);
/** Records the container as the widest of the last attempt if its peak is the greatest so far. */
void fold_note_widest(struct found_run *found, const struct pod_table *table, const struct member *member,
		      const struct pod_container *container);
/** Whether the working set is mostly page cache, which the kernel could reclaim. */
bool container_is_cache_bound(const struct pod_container *container);
/** Whether the kernel killed a process of the container, and Kubernetes reports no OOM kill of it. */
bool container_has_lost_child(const struct pod_container *container);
/** How a container of a pod ended. */
enum outcome member_outcome(const struct pod *pod, const struct pod_container *container, bool is_running);
/** Appends what was found of one run. @return 0 or -ENOMEM. */
int group_summarise(const struct group *group, const struct pod_table *table, const struct fold_options *options,
		    struct fold *ret) ATTR_NODISCARD;
