/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* query_usage: how much memory containers use at this moment, and where it goes: working set, page cache in it, and the
 * slope of both over the last minutes. Four grouped instant queries; for the pods of a node one more. Threads: the
 * reader's. */
#include "evidence/evidence.h"

struct usage_row {
	const char *namespace_name, *pod, *container, *cgroup; /* cgroup "" where it is not told */
	int64_t working_set_bytes;			       /* 0: gone at this moment */
	int64_t active_file_bytes;
	double slope, active_file_slope; /* bytes a second */
	bool has_slope, has_active_file;
};

struct usage {
	struct arena arena;
	VEC(struct usage_row *) rows; /* in the arena, in the order of the answers */
	struct strmap by_name;	      /* "namespace/pod/container/cgroup" */
};

void usage_init(struct usage *self);
void usage_release(struct usage *self);
/** What counts as need: without page cache, as far as that is known. */
int64_t usage_need_bytes(const struct usage_row *row);
double usage_need_slope(const struct usage_row *row);

/** Containers of these namespaces (at least one). `window_ms`: how far back a slope looks. Appended to an initialised
 *  `ret`. @return 0; an enum evidence_condition; -errno. */
int query_usage(struct evidence_reader *reader, int64_t now_ms, int64_t window_ms, const char *const *namespaces,
		size_t n_namespaces, struct usage *ret, struct err *err) ATTR_NODISCARD;
/** All pods of all namespaces, also of those that are left out: one row each, container and cgroup "". */
int query_pod_usage(struct evidence_reader *reader, int64_t now_ms, struct usage *ret, struct err *err) ATTR_NODISCARD;
