/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's report of a kill, over many lines. */
#include "triage/facts_internal.h"

/* Up to 4.x the kernel first names a task ("Kill process 4142 (python3) score 68 or sacrifice child"), and then the
 * one that it killed: it may be a child of the first. */
static bool is_announcement(const struct fact *fact)
{
	return strstr(fact->text, "sacrifice child") && !figures_has(&fact->reading.figures, FIGURE_ANON_RSS);
}

/* After the victim or the size of a page has changed. */
static void add_tasks_again(struct facts *self, struct reading *kill)
{
	reading_copy(kill->largest, sizeof(kill->largest), "", "");
	kill->n_tasks = 0;
	kill->figures.bytes[FIGURE_SAME_RSS] = kill->figures.bytes[FIGURE_LARGEST_RSS] = FIGURE_NONE;
	kernel_add_tasks(&self->kernel, kill);
}

/* The process that was killed takes the place of the one that was announced; its line stays as evidence. */
static void replace_victim(struct facts *self, const struct line *line, const struct reading *reading)
{
	struct reading *kill = &self->items.items[self->kernel.open].reading;

	kill->value = reading->value;
	reading_copy(kill->name, sizeof(kill->name), reading->name, "");
	figures_fill(&kill->figures, &reading->figures);
	add_tasks_again(self, kill);
	facts_add_line(self, line, SIGNAL_KERNEL_KILL, reading);
}

/* Whether the line completes the kill that is open. */
static bool complete_kill(struct facts *self, const struct line *line, const struct reading *reading)
{
	struct kernel_state *kernel = &self->kernel;
	struct fact *fact;
	bool is_rescaled = kernel_find_page(kernel, line->lower, reading->value);

	if (kernel->open == SIZE_MAX)
		return false;
	fact = &self->items.items[kernel->open];
	if (is_rescaled) {
		fact->reading.figures.bytes[FIGURE_NODE_RAM] = kernel->figures.bytes[FIGURE_NODE_RAM];
		add_tasks_again(self, &fact->reading);
	}
	if (kernel->pid == reading->value) {
		figures_fill(&fact->reading.figures, &reading->figures);
		/* The line of the kill knows better than a constraint. */
		if (fact->reading.scope == SCOPE_NODE && reading->scope == SCOPE_CGROUP)
			fact->reading.scope = SCOPE_CGROUP;
		/* It found nothing to kill, and then it says that this is a deadlock of the node. */
		if (reading->value < 0 && reading->scope == SCOPE_NODE)
			fact->reading.scope = SCOPE_NODE;
		return true;
	}
	if (reading->scope != SCOPE_NONE || !is_announcement(fact))
		return false;
	replace_victim(self, line, reading);
	kernel->pid = reading->value;
	return true;
}

/* The line that names a kill: it gets what the kernel has said before. */
static void add_kill(struct facts *self, const struct line *line, enum signal_id signal, struct reading *reading)
{
	struct kernel_state *kernel = &self->kernel;

	if (signal == SIGNAL_KERNEL_KILL && complete_kill(self, line, reading))
		return;
	if (signal == SIGNAL_KERNEL_KILL && kernel->scope != SCOPE_NONE && reading->scope != SCOPE_NODE) {
		reading->scope = kernel->scope;
		reading_copy(reading->words, sizeof(reading->words), kernel->path, "");
	}
	if (signal == SIGNAL_KERNEL_KILL && !reading->uid[0])
		reading_copy(reading->uid, sizeof(reading->uid), kernel->uid, "");
	if (reading->scope == SCOPE_NONE)
		return;
	kernel_close_cut(kernel);
	figures_fill(&reading->figures, &kernel->figures);
	kernel_add_tasks(kernel, reading);
	kernel->open = facts_add_line(self, line, signal, reading);
	kernel->pid = reading->value;
}

void facts_close_report(struct facts *self)
{
	struct kernel_cut *cut = &self->kernel.cut;
	size_t n = strlen(cut->text);
	struct line line = {.text = cut->text,
			    .lower = cut->text,
			    .n = n,
			    .body = MIN(cut->body, n),
			    .rank = cut->rank,
			    .number = cut->number};

	if (n && self->kernel.limited == SIZE_MAX) {
		figures_fill(&cut->reading.figures, &self->kernel.figures);
		kernel_add_tasks(&self->kernel, &cut->reading);
		facts_add_line(self, &line, SIGNAL_KERNEL_CUT, &cut->reading);
	}
	kernel_close_cut(&self->kernel);
}

void facts_see_kernel(struct facts *self, const struct line *line, enum signal_id signal, struct reading *reading)
{
	struct kernel_state *kernel = &self->kernel;

	switch (signal) {
	case SIGNAL_KERNEL_INVOKED:
		facts_close_report(self);
		kernel_reset(kernel);
		kernel_see_cut(kernel, line, signal, reading);
		facts_add_line(self, line, signal, reading);
		break;
	case SIGNAL_KERNEL_CUT:
		kernel_see_cut(kernel, line, signal, reading);
		break;
	case SIGNAL_KERNEL_LIMIT_OF:
		kernel->scope = reading->scope;
		reading_copy(kernel->path, sizeof(kernel->path), reading->words, "");
		reading_copy(kernel->uid, sizeof(kernel->uid), reading->uid, "");
		kernel->limited = facts_add_line(self, line, signal, reading);
		break;
	case SIGNAL_KERNEL_STATS:
		kernel_open_stats(kernel, line->lower);
		kernel_see_cut(kernel, line, signal, reading);
		break;
	case SIGNAL_KERNEL_TABLE:
		kernel_open_table(kernel, line->lower);
		break;
	case SIGNAL_KERNEL_CONSTRAINT:
	case SIGNAL_KERNEL_KILL:
		add_kill(self, line, signal, reading);
		break;
	default:
		if (signal == SIGNAL_KERNEL_USAGE)
			kernel_close_stats(kernel);
		figures_fill(&kernel->figures, &reading->figures);
		if (kernel->limited != SIZE_MAX)
			figures_fill(&self->items.items[kernel->limited].reading.figures, &reading->figures);
	}
}
