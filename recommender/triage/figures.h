/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* figures: the amounts that messages about memory contain, read by their labels and not by their position.
 * Amounts are bytes. A figure that a message does not contain is FIGURE_NONE; a size that no machine has is
 * FIGURE_ABSURD, so that arithmetic on figures never overflows. Pure. */
#include "base/attr.h"

#include <stdint.h>

#define FIGURE_NONE   ((int64_t)-1)
#define FIGURE_MAX    ((int64_t)1 << 50) /* 1 PiB */
#define FIGURE_ABSURD (FIGURE_MAX + 1)

enum figure {
	/* of a GPU */
	FIGURE_TRIED,	    /* T: what the allocation asked for */
	FIGURE_CAPACITY,    /* C: of the card, or of the part of it that the process may see */
	FIGURE_FREE,	    /* F: free on the card */
	FIGURE_ALLOCATED,   /* in tensors of this process */
	FIGURE_RESERVED,    /* what the allocator of this process holds */
	FIGURE_UNALLOCATED, /* U: reserved but unallocated; `cached` of old versions */
	FIGURE_PROCESS,	    /* what this process holds on the card, the CUDA context included */
	FIGURE_OTHERS,	    /* O: what other processes hold */
	FIGURE_ALLOWED,	    /* limit that the process set for itself */
	FIGURE_PRIVATE,	    /* in private pools of CUDA graphs */
	FIGURE_NEEDED,	    /* what a compiled program needs as a whole (XLA) */
	/* of a host */
	FIGURE_LIMIT,	     /* of the cgroup */
	FIGURE_USAGE,	     /* of the cgroup, or of what was evicted */
	FIGURE_REQUEST,	     /* of the container that was evicted or killed */
	FIGURE_THRESHOLD,    /* below which the kubelet evicts pods */
	FIGURE_AVAILABLE,    /* on the node, when the kubelet evicted */
	FIGURE_ANON_RSS,     /* of the process that was killed */
	FIGURE_SHMEM_RSS,    /* of the process that was killed */
	FIGURE_HUGEPAGES,    /* reserved on the node as huge pages */
	FIGURE_NODE_RAM,     /* memory of the node */
	FIGURE_SAME_RSS,     /* resident memory of all tasks with the name of the one that was killed */
	FIGURE_LARGEST_RSS,  /* resident memory of the largest task, where another one was killed */
	FIGURE_TASKS_RSS,    /* resident memory of all tasks that the kernel chose from */
	FIGURE_GROUP_RSS,    /* of the largest group of tasks of one name: data loader workers, forked copies */
	FIGURE_WORKER_RSS,   /* of the largest task of that group */
	FIGURE_CGROUP_ANON,  /* memory of processes in the cgroup that was at its limit; rss of cAdvisor */
	FIGURE_CGROUP_CACHE, /* page cache of files on disks in that cgroup */
	FIGURE_CGROUP_SHMEM, /* files in memory (tmpfs) and shared memory in that cgroup */
	FIGURE_RECOMMENDED,  /* limit that the recommender advises for the container */
	FIGURE_VOLUME,	     /* sizeLimit of a volume in memory that is not below the memory limit */
	FIGURE_DATASET,	     /* of the data set, as an annotation says */
	FIGURE_COUNT_
};

struct figure_row {
	const char *name;    /* in JSON: "tried_bytes" */
	const char *meaning; /* in texts: "what the allocation asked for" */
};
extern const struct figure_row figure_rows[FIGURE_COUNT_];

struct figures {
	int64_t bytes[FIGURE_COUNT_];
};

void figures_init(struct figures *self);
static inline bool figures_has(const struct figures *self, enum figure figure)
{
	return self->bytes[figure] != FIGURE_NONE;
}
/** Sets a figure; a value beyond FIGURE_MAX is stored as FIGURE_ABSURD. */
void figures_set(struct figures *self, enum figure figure, int64_t bytes);
/** Copies the figures that `self` lacks. @return whether there was one. */
bool figures_fill(struct figures *self, const struct figures *from);
/** Reads all figures of a GPU that a text in lower case contains; of figures that it contains twice the first.
 *  @return how many there are. Cost: linear in the text. */
int figures_parse_gpu(const char *lower, struct figures *ret);
/** A size for people: "1.94 GiB". @return buf. */
const char *figure_render(int64_t bytes, char buf[32]);
#define FIGURE_TEXT(bytes) figure_render((bytes), (char[32]){0})
