/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kernel: the kernel's report of an OOM kill, which goes over many lines: what it has said before the line that names
 * the kill. One thread. Cost of a line: linear in it; at the kill, linear in the rows of the table of tasks. */
#include "base/vec.h"
#include "triage/signals.h"

#define KERNEL_PAGE_BYTES 4096

struct task {
	char name[24];
	int64_t pid;
	int64_t rss_bytes; /* by page_bytes of the report */
};

/* What the kernel has said of the kill that is to come. */
struct kernel_state {
	struct figures figures;
	enum scope scope;
	char path[READING_WORDS_BYTES];
	char uid[READING_UID_BYTES]; /* of the pod that the task is of */
	bool is_table;		     /* the next line may be a row of the table of tasks */
	bool is_stats;		     /* the next line may be one of the statistics of the cgroup */
	int64_t anon, file, shmem;   /* of these statistics; FIGURE_NONE; `file` has shmem in it */
	int name_token;		     /* in a row: the tokens before the name */
	int rss_token;
	int64_t page_bytes; /* KERNEL_PAGE_BYTES until a kill shows another size */
	VEC(struct task) tasks;
	struct kernel_cut {
		char text[LIMIT_TRIAGE_EVIDENCE_BYTES]; /* "": the report has said nothing that is worth it */
		uint64_t number;			/* of the line */
		size_t body;
		int rank;
		struct reading reading;
		bool is_searching; /* out_of_memory() is among the frames */
		bool has_stats;
	} cut;		/* what is known if the report ends before it names a kill */
	size_t open;	/* the caller's number of this kill; SIZE_MAX: none yet */
	size_t limited; /* the caller's number of the line that named the limit; SIZE_MAX: none */
	int64_t pid;
};

/** A new report begins. */
void kernel_reset(struct kernel_state *self);
/** Takes a line that tells at whose limit the kernel kills, unless an earlier one of the report tells it better. */
void kernel_see_cut(struct kernel_state *self, const struct line *line, enum signal_id signal,
		    const struct reading *reading);
/** Forgets them: the report has named the kill. */
void kernel_close_cut(struct kernel_state *self);
/** The heading "[ pid ] uid tgid total_vm rss ... oom_score_adj name": finds where rss and the name stand in a row. */
void kernel_open_table(struct kernel_state *self, const char *lower);
/** Takes a row such as "[ 1234]  1000  1234  5678  910  ...  0 python". @return whether it is one. */
bool kernel_read_row(struct kernel_state *self, const char *text);
/** A line "Memory cgroup stats for PATH: cache:0KB rss:4KB ..." (cgroup v1 before 5.0, a line for each cgroup below the
 *  limit), or the heading of lines "anon 4096". */
void kernel_open_stats(struct kernel_state *self, const char *lower);
/** Takes a line such as "anon 4096" behind that heading. @return whether it is one. */
bool kernel_read_stat(struct kernel_state *self, const char *lower);
/** Forgets the statistics of an earlier report. */
void kernel_close_stats(struct kernel_state *self);
/** Adds what all tasks of the victim's name hold, the largest task of another name, the name whose tasks hold the most
 *  together, and the statistics. The kernel cuts names to 15 bytes. Sorts the tasks. */
void kernel_add_tasks(struct kernel_state *self, struct reading *reading);
/** Derives the size of a page from the line of a kill, which has kilobytes, and the row of its process, which has
 * pages: arm64 and POWER may have pages of 64 KiB. @return whether it is another one than before; then the memory of
 * the tasks and of the node is as it should be. */
bool kernel_find_page(struct kernel_state *self, const char *lower, int64_t pid);
/** Whether tasks with this name are workers of a data loader. */
bool kernel_is_loader(const char *name);

/** Tasks of one name, beside the largest one, that are forked copies rather than chance. */
#define KERNEL_COPIES_MIN 3
