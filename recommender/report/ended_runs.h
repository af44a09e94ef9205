/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* ended_runs: what runs asked for, what they used, and what to ask for next time, from the runs in MemoryHistories: the
 * same line as the Event `MemoryUsed` (engine/endings.h).
 *
 * JSON, a member of the document of changes.h: "runs": [{"ended", "namespace", "workload", "role", "container", "run",
 * "durationSeconds", "ranks", "asked", "used" (bytes; null: no limit, not measured), "unusedGibHours", "gpuPeak",
 * "gpuCapacity" (bytes of the fullest card; null: not measured), "outcome", "diagnosis" and "since" (the kind of its
 * end, and what later runs say of it; null: not known), "sinceRun" (the run that says it) and, if there is one,
 * "checks"
 * ([{"name", "answer", "figure"}]: those of `triage --verify` that runs can answer), "next" (the limit of a new pod in
 * bytes; only in the last run of a workload, else null)}], in the order of their ends. */
#include "report/knowledge.h"
#include "report/table.h"

struct ended_run {
	const struct known *known; /* borrowed */
	const struct run *run;	   /* borrowed */
	int64_t next_bytes;	   /* 0: not known, or not the last run of its workload */
};

struct ended_runs {
	VEC(struct ended_run) items;
};

/** Finds the runs of all entries that have ended. Release with vec_release(&ret->items), also after a failure. @return
 * 0 or -ENOMEM. */
int ended_runs_find(const struct knowledge *knowledge, struct ended_runs *ret) ATTR_NODISCARD;
/** Prints a table that fits into 120 columns, with all columns if `is_wide`; nothing without runs. @return 0 or
 * -ENOMEM. */
int ended_runs_print(const struct ended_runs *self, const struct knowledge *knowledge, bool is_wide,
		     FILE *out) ATTR_NODISCARD;
/** Appends the member "runs". @return the sticky status of `buf`. */
int ended_runs_write_json(const struct ended_runs *self, struct strbuf *buf);
