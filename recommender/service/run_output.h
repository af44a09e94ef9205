/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* run_output: what `run` shows people: one line rewritten on a terminal while it works, and a summary at the end. */
#include "engine/engine.h"

#include <stdio.h>

/** A collect_progress_fn; context is unused. Silent unless standard error is a terminal. */
void run_output_progress(void *context, const struct collect_progress *progress);
/** Take the line away again. */
void run_output_progress_end(void);
/** What the source has, as a table of what is missing and what that costs; nothing when all is there. */
void run_output_findings(const struct evidence_reader *reader, FILE *out);
/** Runs found, and the recommendations of all workloads. 0 or -errno. */
int run_output_summary(struct store *store, const struct engine_result *result, FILE *out,
		       struct err *err) ATTR_NODISCARD;
