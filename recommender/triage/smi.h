/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* smi: what nvidia-smi prints: its table, the sections of -q, the XML of -q -x and the CSV of --query-gpu. Only faults
 * of a card and memory that no process holds are of interest. One thread. Cost of a line: linear in it. */
#include "triage/signals.h"

#define SMI_COLUMNS_MAX 64
#define SMI_CARDS_MAX	64

struct smi_state {
	char section[32];		/* of -q, in lower case */
	bool is_volatile;		/* counts since the last reset of the card */
	int64_t used, total;		/* of the card with the most memory in use; FIGURE_NONE */
	bool is_memory;			/* of -q -x: within <fb_memory_usage> */
	bool has_process;		/* of -q -x: <processes> is not empty */
	bool is_csv;			/* the heading was read */
	bool is_fault[SMI_COLUMNS_MAX]; /* by column: a value above 0 is a fault */
	int n_processes[SMI_CARDS_MAX]; /* that compute, of each card of the table; of -q and -q -x of the current one
					 */
	int most_processes;		/* on one card; -1: no list was seen */
};

void smi_reset(struct smi_state *self);
/** @return what a line in lower case shows; SIGNAL_COUNT_: nothing. */
enum signal_id smi_read(struct smi_state *self, const char *lower, struct reading *ret);
