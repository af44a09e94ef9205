/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kernel: the kernel's report of an OOM kill, which goes over many lines: what it has said before the line that names
 * the kill. One thread. Cost of a line: linear in it; at the kill, linear in the rows of the table of tasks. */
#include "base/vec.h"
#include "triage/signals.h"

struct task {
	char name[24];
	int64_t rss_bytes;
};

/* What the kernel has said of the kill that is to come. */
struct kernel_state {
	struct figures figures;
	enum scope scope;
	char path[READING_WORDS_BYTES];
	bool is_table;	/* the next line may be a row of the table of tasks */
	int name_token; /* in a row: the tokens before the name */
	int rss_token;
	VEC(struct task) tasks;
	size_t open;	/* the caller's number of this kill; SIZE_MAX: none yet */
	size_t limited; /* the caller's number of the line that named the limit; SIZE_MAX: none */
	int64_t pid;
};

/** A new report begins. */
void kernel_reset(struct kernel_state *self);
/** The heading "[ pid ] uid tgid total_vm rss ... oom_score_adj name": finds where rss and the name stand in a row. */
void kernel_open_table(struct kernel_state *self, const char *lower);
/** Takes a row such as "[ 1234]  1000  1234  5678  910  ...  0 python". @return whether it is one. */
bool kernel_read_row(struct kernel_state *self, const char *text);
/** Adds what all tasks of the victim's name hold, and the largest task of another name. The kernel cuts names to 15
 *  bytes. */
void kernel_add_tasks(const struct kernel_state *self, struct reading *reading);
