/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fold_internal: pods of a run as fold.c groups them and fold_run.c sums them up. */
#include "policy/annotation.h"
#include "runs/fold.h"

/** A pod with what the fold found out about it. */
struct member {
	const struct pod *pod;
	size_t index; /* in the table */
	struct identity identity;
	int64_t begin_ms, end_ms; /* end: INT64_MAX while it runs */
	enum outcome outcome;	  /* of its main container */
	int slot;		  /* rank within the run, by role and place */
	int try_number;		  /* within its slot, from 1 */
	bool is_last;		  /* of its slot */
};

struct group {
	struct member *members; /* by begin */
	size_t n;
};

/** What our annotation says was set in this container and the container carries. False: nothing. */
bool fold_read_set(const struct pod *pod, const struct pod_container *container, struct annotation *ret,
		   struct annotation_container *ret_set);
/** Note what was set in one container of the run. 0 or -ENOMEM. */
int fold_add_decision(struct run_summary *summary, const struct member *member,
		      const struct pod_container *container) ATTR_NODISCARD;
/** Add the harm that what we set did to one container of the run. */
void fold_add_harm(struct run_summary *summary, const struct member *member, const struct pod_container *container);
/** Add the activity of a pod's accelerators to that of the run. */
void fold_add_activity(struct run_summary *summary, const struct pod *pod);
/** Note the container if it is the widest of the last attempt so far. */
void fold_note_widest(struct run_summary *summary, const struct pod_table *table, const struct member *member,
		      const struct pod_container *container);
/** How a container of a pod ended. */
enum outcome member_outcome(const struct pod *pod, const struct pod_container *container, bool is_running);
/** Append the summaries of one run. */
int group_summarise(const struct group *group, const struct pod_table *table, const struct fold_options *options,
		    struct fold *ret) ATTR_NODISCARD;
