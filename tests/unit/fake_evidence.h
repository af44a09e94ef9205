/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fake_evidence: a reader over a made-up world of pods, scraped once a minute. What a window shows of a pod follows
 * from the pod's whole life, so that reading it in one window or in many must come to the same runs. */
#include "evidence/evidence.h"

#define FAKE_DAY_MS   ((int64_t)86400 * 1000)
#define FAKE_MIB      ((int64_t)1024 * 1024)
#define FAKE_EPOCH_MS (20000 * FAKE_DAY_MS) /* a UTC midnight */

struct fake_pod {
	const char *name, *uid;
	const char *owner_kind, *owner_name, *root_kind, *root_name; /* NULL: none */
	int64_t start_min, end_min;	   /* minutes since FAKE_EPOCH_MS; end 0: still runs; -1 is not allowed */
	unsigned int ends, container_ends; /* shown from the end on */
	int64_t limit_mib, request_mib;
	int64_t usual_mib, peak_mib; /* use all the time, and in one sample */
	int64_t peak_after_min;
	int64_t rss_mib, active_file_mib;
	int restarts;
	bool is_gone_silently; /* no completion time, not alive: deleted */
	bool has_no_samples;
	bool has_activity; /* of its two accelerators: */
	int64_t active_permille;
	const char *image;
	const char *namespace_name; /* NULL: "ml" */
};

struct fake_reader {
	struct evidence_reader base;
	const struct fake_pod *pods;
	size_t n_pods;
	/* Faults: status to return by the n-th read (1 is the next) and later ones; 0: none. */
	int fail_from_read, fail_status;
	int kill_at_read; /* this read kills the process; 0: none */
	int detect_status;
	int64_t heavy_above_ms;		     /* longer windows are too heavy; 0: none */
	int heavy_status;		     /* what they fail with; 0: EVIDENCE_TOO_HEAVY */
	int64_t full_above_ms;		     /* longer windows do not fit into the memory of a batch; 0: none */
	int64_t bad_from_min, bad_until_min; /* windows that overlap this time fail with bad_status; 0: none */
	int bad_status;
	const char *bad_namespace; /* only what is asked of it fails; NULL: of all */
	bool is_partial;
	int64_t warned_before_ms; /* answers about windows that begin earlier have a warning */
	/* What is left of the time of a cycle, which a window takes as its length is; then reads fail with
	 * EVIDENCE_STOPPED. 0: no limit. */
	int64_t left_ms;
	int n_reads;
	int64_t read_ms[2048]; /* start of each window read, successful or not */
};

void fake_reader_init(struct fake_reader *self, const struct fake_pod *pods, size_t n);
/** Read one window into an initialised batch. */
void fake_read(const struct fake_pod *pods, size_t n, struct evidence_batch *batch);
