/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* query_usage: how much memory containers use now, and how it changes: working set, page cache in it, and the slope of
 * both over the last minutes. Four grouped instant queries, or one for query_pod_usage. Threads: the reader's. */
#include "evidence/evidence.h"

struct usage_row {
	const char *namespace_name, *pod, *container, *cgroup; /* cgroup "": unknown */
	int64_t working_set_bytes;			       /* 0: not running now */
	int64_t active_file_bytes;
	double slope, active_file_slope; /* bytes a second */
	bool has_slope;
};

struct usage {
	struct arena arena;
	VEC(struct usage_row *) rows; /* in the arena, in the order of the answers */
	struct strmap by_name;	      /* "namespace/pod/container/cgroup" */
};

void usage_init(struct usage *self);
void usage_release(struct usage *self);
/** The memory that counts as needed: without active page cache, as far as that is known. */
int64_t usage_need_bytes(const struct usage_row *row);
double usage_need_slope(const struct usage_row *row);

/** Reads the containers of these namespaces (at least one) and adds them to `ret`, which must be initialised.
 *  `window_ms`: the time over which slopes are computed. @return 0; an enum evidence_condition; -errno. */
int query_usage(struct evidence_reader *reader, int64_t now_ms, int64_t window_ms, const char *const *namespaces,
		size_t n_namespaces, struct usage *ret, struct err *err) ATTR_NODISCARD;
/** Reads the working set of all pods of all namespaces, including excluded ones: one row for each pod, container and
 *  cgroup "". Otherwise as query_usage. */
int query_pod_usage(struct evidence_reader *reader, int64_t now_ms, struct usage *ret, struct err *err) ATTR_NODISCARD;
