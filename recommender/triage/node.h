/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node: the settings of a node that decide about memory, read line by line from what sysctl, /proc/meminfo, stat and ls
 * print (docs/TRIAGE.md has the command), and /proc/vmstat and /proc/pressure/memory have. Of a setting that comes
 * twice the last value counts. Pure; cost of a line: linear in it. */
#include "base/str.h"
#include "triage/figures.h"

enum node_value {
	/* of sysctl; a number, or bytes where sysctl prints kbytes */
	NODE_OVERCOMMIT,
	NODE_OVERCOMMIT_RATIO,
	NODE_OVERCOMMIT_BYTES,
	NODE_PANIC,
	NODE_MIN_FREE,
	/* of /proc/meminfo, in bytes */
	NODE_TOTAL,
	NODE_AVAILABLE,
	NODE_SWAP,
	NODE_COMMIT_LIMIT,
	NODE_COMMITTED,
	NODE_HUGEPAGES, /* a number of pages */
	NODE_HUGEPAGE_SIZE,
	NODE_HUGETLB, /* huge pages of all sizes; since Linux 4.19 */
	NODE_BALLOON,
	NODE_MAPPED_4K, /* these four together: what the kernel has mapped of the machine's memory */
	NODE_MAPPED_2M,
	NODE_MAPPED_4M,
	NODE_MAPPED_1G,
	/* of /proc/vmstat: tasks that the kernel has killed for memory since the node started */
	NODE_KILLS,
	/* of /proc/pressure/memory: the share of five minutes in which a task waited for memory, in percent */
	NODE_PRESSURE,
	/* of the cgroup kubepods: what all pods together may use; at most FIGURE_MAX, which is no limit */
	NODE_PODS_LIMIT,
	NODE_COUNT_
};

struct node {
	int64_t values[NODE_COUNT_]; /* FIGURE_NONE: not seen */
	bool is_given;		     /* whether an input of this sort was read */
	bool is_kubernetes;
	int cgroup_version; /* 0: not seen */
	bool is_kill_disabled;
	bool is_throttled; /* a container has a memory.high: memory QoS of the kubelet */
	char exempt[64];   /* a training process that the OOM killer may not choose; "": none seen */
};

void node_init(struct node *self);
/** Reads a line in lower case. */
void node_read(struct node *self, const char *lower);

static inline bool node_has(const struct node *self, enum node_value value)
{
	return self->values[value] != FIGURE_NONE;
}
/** What may still be committed before a strict kernel refuses, at least 0; FIGURE_NONE: not known. */
int64_t node_committable(const struct node *self);
/** Memory that only huge pages may use; FIGURE_NONE: not known. */
int64_t node_hugepages(const struct node *self);
/** What the kernel has mapped of the machine's memory; FIGURE_NONE: not known. */
int64_t node_mapped(const struct node *self);

#define NODE_STRICT   2 /* of NODE_OVERCOMMIT: nothing beyond a fixed sum is given */
#define NODE_GAPS_MAX 4
/** What is missing for an answer, as sentences. @return how many. */
size_t node_missing(const struct node *self, const char *ret[NODE_GAPS_MAX]);
