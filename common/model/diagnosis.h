/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* diagnosis: what triage found about the last failed run of a workload, as the recommender keeps it in the status of a
 * MemoryProfile, and whether PyTorch's allocator setting helped. Pure; any thread.
 *
 * The texts are from fixed lists, except `evidence`, which is a line of the pod's own log or status, and `run`. */
#include "base/limits.h"
#include "k8s/allocator.h"

#include <stdbool.h>
#include <stdint.h>

#define DIAGNOSIS_WORD_BYTES	32
#define DIAGNOSIS_RUN_BYTES	96 /* RUN_NAME_BYTES */
#define DIAGNOSIS_FRAGMENTATION "fragmentation"
#define DIAGNOSIS_HELPED	"yes"
#define DIAGNOSIS_HELPED_NOT	"no"
#define DIAGNOSIS_NUMBER_MAX	((int64_t)1 << 50) /* of each of its numbers, of bytes too */
#define DIAGNOSIS_NONE		((int64_t)-1)
#define DIAGNOSIS_INIT                                                                                                 \
	{                                                                                                              \
		.epoch = DIAGNOSIS_NONE, .step = DIAGNOSIS_NONE, .n_steps = DIAGNOSIS_NONE                             \
	}

struct run;

struct diagnosis {
	/* as `triage` names them; kind "": the last failure is over, and only the setting below is left */
	char kind[DIAGNOSIS_WORD_BYTES], cause[DIAGNOSIS_WORD_BYTES], confidence[8];
	int64_t time_ms; /* the end of the run that it is about, or of the last one that the setting helped */
	char run[DIAGNOSIS_RUN_BYTES];			   /* that run, as struct run names it */
	char evidence[LIMIT_DIAGNOSIS_EVIDENCE_BYTES + 1]; /* the line that decided; printable ASCII; "": none */
	/* The variable that takes ALLOCATOR_SETTING, after an end by fragmentation; "": none is wanted. */
	char variable[DIAGNOSIS_WORD_BYTES];
	/* DIAGNOSIS_HELPED: a run with the setting completed; DIAGNOSIS_HELPED_NOT: one ended by fragmentation, or
	 * failed before one completed; "": not known yet */
	char helped[4];
	/* How far the run's log came before the end, for `triage --verify`; DIAGNOSIS_NONE: not known. */
	int64_t epoch, step, n_steps;
	/* Figures of the end in bytes, as `triage` names them; 0: not known. */
	int64_t tried_bytes, capacity_bytes, unallocated_bytes, others_bytes, peak_bytes, limit_bytes;
};

/** A run of the workload that completed. */
struct diagnosis_success {
	const char *run;
	int64_t start_ms, end_ms;
	bool has_setting; /* memtamer had set the variable in its pods */
};

/** Completes the result for a newer failed run: what is known of the setting is carried over from `before` (NULL: none)
 * or follows from the new end. `has_setting`: the pod that died had the setting, whoever had set it. */
void diagnosis_follow(struct diagnosis *self, const struct diagnosis *before, bool has_setting);
/** Adds that container_oom_events_total counted a kill in the run that it is about: an end of which nothing was known
 * was at the container's limit, with low confidence, as the counter does not say when; a killed child that the log
 * reports is surer by a step. Other ends stay as they are. Changes nothing the second time. */
void diagnosis_add_counted(struct diagnosis *self, const struct run *run);
/** What is left of a diagnosis after a run that completed later: of an end for memory all but the setting, which was
 * not needed; with the setting, that it helped; of another end nothing. A run that was started before the failure says
 * nothing about it, unless it is the failed run itself (a retry), which leaves nothing.
 * @return false: nothing is left, and `ret` is not set. */
bool diagnosis_after(const struct diagnosis *self, const struct diagnosis_success *success, struct diagnosis *ret);

/* What later runs say about an end for memory. */
enum diagnosis_since {
	SINCE_NOTHING,
	SINCE_COMPLETED, /* a run completed, which proves little */
	SINCE_HELD,	 /* of a limit of the container or the pod: a complete run needed at most 90 % of its limit */
};
/** "", "completed", "held". */
extern const char *const diagnosis_since_names[];
/** Looks at the runs that started after the end and after the last kill for memory. `self` NULL: SINCE_NOTHING.
 * @param runs  in the order of their starts. @param ret  the first run that says it; NULL with SINCE_NOTHING. Cost:
 * linear in the runs. */
enum diagnosis_since diagnosis_since(const struct diagnosis *self, const struct run *runs, size_t n,
				     const struct run **ret);
/** Whether new pods should get the setting. NULL: false. */
bool diagnosis_wants_setting(const struct diagnosis *self);
/** The kind, if the diagnosis (NULL: none) is of this run and a failure; NULL otherwise. */
const char *diagnosis_kind_of(const struct diagnosis *self, const struct run *run);
/** Whether both are equal in everything that is encoded (diagnosis_codec.c). NULL: none. */
bool diagnosis_same(const struct diagnosis *a, const struct diagnosis *b);
/** Copies a line of a log as `evidence`: printable ASCII, at most LIMIT_DIAGNOSIS_EVIDENCE_BYTES. */
void diagnosis_set_evidence(struct diagnosis *self, const char *line);
