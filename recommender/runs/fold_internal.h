/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fold_internal: pods of a run as fold.c groups them and fold_run.c sums them up. */
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

/** How a container of a pod ended. */
enum outcome member_outcome(const struct pod *pod, const struct pod_container *container, bool is_running);
/** Append the summaries of one run. */
int group_summarise(const struct group *group, const struct pod_table *table, const struct fold_options *options,
		    struct fold *ret) ATTR_NODISCARD;
