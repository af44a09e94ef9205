/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* query_xids: which errors (XIDs) dcgm-exporter reported of the GPUs of one start of a container. The metric keeps the
 * last error of a GPU until another one comes, also beyond the end of the container that had it. One range query, and
 * one request before it if the reader does not know how the labels are spelled. Threads: the reader's. */
#include "evidence/evidence.h"

#define XIDS_MAX      16
#define XID_GPU_BYTES 64

struct evidence_xid {
	char gpu[XID_GPU_BYTES]; /* its UUID, or its number on the node */
	int64_t number;
	int64_t from_ms, to_ms; /* it was seen first between these times */
	bool is_before;		/* the first value of this GPU had it, so it may be older than the container */
};

struct evidence_xids {
	const char *namespace_name, *pod, *container; /* borrowed */
	const char *uid;			      /* of the pod; borrowed; series of another pod do not count */
	int64_t start_ms, end_ms;		      /* half-open; not empty */
	struct evidence_xid items[XIDS_MAX];	      /* one for each error of a GPU; further ones are left out */
	size_t n;
};

/** Fills in `items`, which are empty before. @return 0; an enum evidence_condition; -errno. */
int query_xids(struct evidence_reader *reader, struct evidence_xids *xids, struct err *err) ATTR_NODISCARD;
