/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* slurm: what Slurm's accounting says of a job: seff, sacct and scontrol. Sizes are powers of 1024. Pure. */
#include "triage/signals.h"

#define SLURM_HEAD_BYTES 512

/** Whether the line has the state OUT_OF_MEMORY of a job or step: "State: OUT_OF_MEMORY (exit code 0)" of seff,
 *  "JobState=OUT_OF_MEMORY" of scontrol, or a row of sacct, which begins with the number of the job. */
bool slurm_is_out_of_memory(const struct line *line);
/** Whether a line in lower case is the heading of sacct's table, with memory among its columns. */
bool slurm_is_head(const char *lower);
/** Adds what the columns ReqMem (FIGURE_LIMIT) and MaxRSS (FIGURE_USAGE) of a row have. @param head  the heading, both
 *  in lower case. */
void slurm_read_row(const char *head, const char *row, struct figures *ret);
