/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* smi: what nvidia-smi prints: its table, the sections of -q, the XML of -q -x and the CSV of --query-gpu and
 * --query-compute-apps; and the memory of GPUs by dcgm-exporter. Faults of a GPU, how full it is, and its processes
 * are of interest. A file may have several outputs, one after the other. One thread. Cost of a line: linear in it, in
 * the GPUs and in the processes of a list. */
#include "triage/signals.h"

#define SMI_COLUMNS_MAX 64
#define SMI_CARDS_MAX	64
#define SMI_LISTED_MAX	256
#define SMI_TEXT_BYTES	160

/* A process in a list of --query-compute-apps. */
struct smi_listed {
	size_t gpu;
	int64_t pid;
};

/* Memory of a GPU by dcgm-exporter, which has its use and what is free in two lines. */
struct smi_dcgm {
	uint64_t gpu;	    /* a hash of its labels */
	int64_t used, free; /* FIGURE_NONE */
};

/* Names of a GPU in CSV; lists of GPUs and of processes are joined by any that both have. */
enum smi_key { SMI_KEY_UUID, SMI_KEY_BUS, SMI_KEY_SERIAL, SMI_KEY_COUNT_ };

/* One line, and a figure of it. */
struct smi_sight {
	int64_t value; /* FIGURE_NONE: none */
	uint64_t number;
	char text[SMI_TEXT_BYTES];
};

struct smi_gpu {
	struct smi_sight used;	       /* bytes */
	int64_t total;		       /* bytes; FIGURE_NONE */
	int n_processes;	       /* of any kind */
	int n_computing;	       /* on the whole GPU, not on an instance of MIG */
	bool is_listed;		       /* its processes were listed, be it none */
	uint64_t keys[SMI_KEY_COUNT_]; /* hashes; 0: none */
};

struct smi_state {
	char section[32];		  /* of -q, in lower case */
	bool is_volatile;		  /* counts since the last reset of the GPU */
	bool is_memory;			  /* of -q -x: within <fb_memory_usage> */
	bool is_instance;		  /* of -q and -q -x: the next process is on an instance of MIG */
	bool is_list;			  /* a list of the processes of all GPUs was seen: of the table, or of CSV */
	bool is_csv;			  /* the heading was read */
	uint8_t columns[SMI_COLUMNS_MAX]; /* what each of them is: enum column of smi_csv.c */
	bool has_key[SMI_KEY_COUNT_];	  /* keys that the list of processes of CSV has */
	struct smi_gpu gpus[SMI_CARDS_MAX];
	size_t at;				  /* the GPU that the next lines are about */
	size_t n_begun;				  /* GPUs that have begun, of -q, -q -x and CSV */
	struct smi_listed listed[SMI_LISTED_MAX]; /* further ones are not counted */
	size_t n_listed, n_apps;		  /* n_apps: rows of processes in CSV */
	uint64_t listed_at;			  /* a hash of the time that the list has; 0: none */
	/* What all outputs so far show. */
	int64_t used, total;	 /* of the GPU with the most memory in use; FIGURE_NONE */
	int most_processes;	 /* that compute on one GPU; -1: no list was seen */
	struct smi_sight zombie; /* of the GPU with the most memory that no process holds: bytes; see smi_end */
	int64_t zombie_total;
	struct smi_sight shared;	     /* the second process or a later one on one GPU: how many there are */
	struct smi_dcgm dcgm[SMI_CARDS_MAX]; /* further ones are not counted */
	size_t n_dcgm;
};

void smi_reset(struct smi_state *self);
/** @return what a line shows; SIGNAL_COUNT_: nothing. */
enum signal_id smi_read(struct smi_state *self, const struct line *line);
/** Ends an output: what only all of it shows is in `zombie` and `shared` afterwards. A GPU of which at least a quarter
 * is in use although its list of processes is empty is one that a zombie holds. */
void smi_end(struct smi_state *self);
/** Takes a SIGNAL_DCGM_MEMORY. */
void smi_see_dcgm(struct smi_state *self, const char *lower, const struct reading *reading);

/* What smi.c and smi_csv.c share. */
/** Whether a line in lower case is a heading of CSV. */
bool smi_csv_begins(const char *lower);
/** Reads a heading, or a line below one. @return as smi_read. */
enum signal_id smi_csv_read(struct smi_state *self, const struct line *line);
/** Keeps the memory of the GPU with the most in use. */
void smi_see_memory(struct smi_state *self, int64_t used, int64_t total);
/** The same, and that of one GPU with its line. */
void smi_see_gpu(struct smi_state *self, struct smi_gpu *gpu, int64_t used, int64_t total, const struct line *line);
/** Counts a process of a GPU: `n` compute on it now, with this one. */
void smi_see_processes(struct smi_state *self, int n, const struct line *line);
/** Whether a value is "yes" or a number above 0. */
bool smi_is_set(const char *value);
