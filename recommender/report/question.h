/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* question: which workload the operand KIND/NAME of a command means. It matches any known key of the workload, with the
 * kind as kubectl takes it (Job, job, jobs, jobs.batch) or omitted. If there is no such key, the suffix that runs
 * append to the name is removed, as it is for owners that are created for each run. The name is kept whole for kinds
 * that recur (CronJob/nightly-2 is not CronJob/nightly) and for keys of labels ("workload:bert-2"). One thread. */
#include "report/knowledge.h"

/** Loads the entries of the workload that the first operand means, or all entries without an operand. From a cluster
 * only the histories of candidates are read. @return as knowledge_load; EXIT_USAGE: there is no such workload. */
int question_load(const struct cli_args *args, struct knowledge *ret);
