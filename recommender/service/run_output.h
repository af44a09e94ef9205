/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* run_output: what `run` prints for people: one progress line that is rewritten on a terminal, and a summary at the
 * end. */
#include "engine/engine.h"

#include <stdio.h>

/** A collect_progress_fn; `context` is not used. Prints nothing unless standard error is a terminal. */
void run_output_progress(void *context, const struct collect_progress *progress);
/** Removes the progress line. */
void run_output_progress_end(void);
/** Prints a table of the metrics that the source lacks and what memtamer cannot do without them; nothing if all are
 * present. */
void run_output_findings(const struct evidence_reader *reader, FILE *out);
/** Prints the runs found, and the sizes of all workloads as new pods would get them. @return 0 or -errno. */
int run_output_summary(struct store *store, const struct sizing_policy *sizing, const struct engine_result *result,
		       FILE *out, struct err *err) ATTR_NODISCARD;
