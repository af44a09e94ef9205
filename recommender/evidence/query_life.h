/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* query_life: what Prometheus knows of the last hours of one start of a container: its greatest use, the OOM kills
 * that cAdvisor counted in its cgroup, and if it is wanted the curve of its use. One or two range queries and three
 * instant queries for each container. Threads: the reader's. */
#include "evidence/evidence.h"

#define LIFE_STEPS 64

struct evidence_life {
	const char *namespace_name, *pod, *container; /* borrowed */
	const char *uid;			      /* of the pod; borrowed; series of another pod do not count */
	int64_t start_ms, end_ms;		      /* half-open; not empty */
	/* 0: not measured, or none */
	int64_t peak_bytes, peak_rss_bytes, samples; /* of the working set, and of rss */
	int64_t kills;				     /* container_oom_events_total at the end */
	int64_t killed_from_ms, killed_to_ms;	     /* between these times the counter rose the last time */
	int64_t counted_ms;			     /* the last point of the counter; 0: there is no such series */
	bool wants_curve;
	int64_t curve_bytes[LIFE_STEPS + 1]; /* the greatest working set in each of equal steps; 0: not measured */
	int64_t counted;		     /* private: of the series that is being read */
};

/** The shortest time between two points at which the counter of kills is read. */
#define LIFE_STEP_MS (60 * (int64_t)1000)

/** Fills in these lives, whose figures are 0 before. Finds the spelling of labels by one more request if the reader
 * does not know it. @return 0; an enum evidence_condition; -errno. */
int query_lives(struct evidence_reader *reader, struct evidence_life *lives, size_t n, struct err *err) ATTR_NODISCARD;
