/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* smi: what nvidia-smi prints: its table, the sections of -q, the XML of -q -x and the CSV of --query-gpu and
 * --query-compute-apps; and the memory of GPUs by dcgm-exporter. Faults of a card, how full it is, and its processes
 * are of interest. One thread. Cost of a line: linear in it and in the processes of a list. */
#include "triage/signals.h"

#define SMI_COLUMNS_MAX 64
#define SMI_CARDS_MAX	64
#define SMI_LISTED_MAX	256

/* A process in a list of --query-compute-apps. */
struct smi_listed {
	uint64_t card; /* a hash of its name */
	int64_t pid;
};

/* Memory of a GPU by dcgm-exporter, which has its use and what is free in two lines. */
struct smi_dcgm {
	uint64_t card;	    /* a hash of its labels */
	int64_t used, free; /* FIGURE_NONE */
};

struct smi_state {
	char section[32];			  /* of -q, in lower case */
	bool is_volatile;			  /* counts since the last reset of the card */
	int64_t used, total;			  /* of the card with the most memory in use; FIGURE_NONE */
	bool is_memory;				  /* of -q -x: within <fb_memory_usage> */
	bool has_process;			  /* of -q -x: <processes> is not empty */
	bool is_csv;				  /* the heading was read */
	uint8_t columns[SMI_COLUMNS_MAX];	  /* what each of them is: enum column of smi_csv.c */
	struct smi_listed listed[SMI_LISTED_MAX]; /* further ones are not counted */
	size_t n_listed;
	uint64_t listed_at;		/* a hash of the time that the list has; 0: none */
	int n_processes[SMI_CARDS_MAX]; /* that compute, of each card of the table; of -q and -q -x of the current one
					 */
	int most_processes;		/* on one card; -1: no list was seen */
	struct smi_dcgm dcgm[SMI_CARDS_MAX]; /* further ones are not counted */
	size_t n_dcgm;
};

void smi_reset(struct smi_state *self);
/** @return what a line in lower case shows; SIGNAL_COUNT_: nothing. */
enum signal_id smi_read(struct smi_state *self, const char *lower, struct reading *ret);
/** Takes a SIGNAL_DCGM_MEMORY. */
void smi_see_dcgm(struct smi_state *self, const char *lower, const struct reading *reading);

/* What smi.c and smi_csv.c share. */
/** Whether a line in lower case is a heading of CSV. */
bool smi_csv_begins(const char *lower);
/** Reads a heading, or a line below one. @return as smi_read. */
enum signal_id smi_csv_read(struct smi_state *self, const char *lower);
/** Keeps the card with the most memory in use. */
void smi_see_memory(struct smi_state *self, int64_t used, int64_t total);
/** Whether a value is "yes" or a number above 0. */
bool smi_is_set(const char *value);
