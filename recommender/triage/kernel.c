/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/kernel.h"

void kernel_reset(struct kernel_state *self)
{
	figures_init(&self->figures);
	self->scope = SCOPE_NONE;
	self->path[0] = '\0';
	self->tasks.n = 0;
	self->is_table = false;
	self->open = self->limited = SIZE_MAX;
	self->pid = -1;
}

void kernel_open_table(struct kernel_state *self, const char *lower)
{
	const char *at = strstr(lower, " uid ");
	int token = 0;

	self->is_table = at != NULL;
	self->name_token = self->rss_token = 0;
	self->tasks.n = 0;
	while (at && *at) {
		at += strspn(at, " ");
		if (strncmp(at, "rss", 3) == 0 && (at[3] == ' ' || !at[3]))
			self->rss_token = token;
		if (strncmp(at, "name", 4) == 0) {
			self->name_token = token;
			return;
		}
		at += strcspn(at, " ");
		token++;
	}
	self->is_table = false;
}

bool kernel_read_row(struct kernel_state *self, const char *text)
{
	struct task task = {.rss_bytes = 0};
	const char *at = text;
	int64_t value;

	/* The process number is in the last brackets before the columns; the time may be in others. */
	for (const char *bracket = strchr(text, '['); bracket; bracket = strchr(bracket + 1, '[')) {
		const char *digits = bracket + 1 + strspn(bracket + 1, " ");
		size_t n = text_number(digits, &value);

		at = n && digits[n + strspn(digits + n, " ")] == ']' ? strchr(digits, ']') + 1 : at;
	}
	if (at == text)
		return false;
	for (int token = 0; token < self->name_token; token++) {
		at += strspn(at, " ");
		if (token == self->rss_token && text_number(at, &value))
			task.rss_bytes = value > FIGURE_MAX / 4096 ? 0 : value * 4096;
		at += strcspn(at, " ");
	}
	at += strspn(at, " ");
	if (!*at)
		return false;
	reading_copy(task.name, sizeof(task.name), at, "");
	if (self->tasks.n < LIMIT_TRIAGE_TASKS && vec_push(&self->tasks, task))
		return false;
	return true;
}

void kernel_add_tasks(const struct kernel_state *self, struct reading *reading)
{
	const struct task *largest = NULL;
	int64_t sum = 0;

	for (size_t i = 0; i < self->tasks.n; i++) {
		const struct task *task = &self->tasks.items[i];

		if (!largest || task->rss_bytes > largest->rss_bytes)
			largest = task;
		if (!reading->name[0] || strncmp(task->name, reading->name, 15) != 0)
			continue;
		reading->n_tasks++;
		sum = MIN(sum + task->rss_bytes, FIGURE_ABSURD);
	}
	if (reading->n_tasks)
		figures_set(&reading->figures, FIGURE_SAME_RSS, sum);
	/* The kernel weighs tasks by their scores: the one that it kills need not hold the most. */
	if (!largest || !reading->name[0] || strncmp(largest->name, reading->name, 15) == 0)
		return;
	figures_set(&reading->figures, FIGURE_LARGEST_RSS, largest->rss_bytes);
	reading_copy(reading->largest, sizeof(reading->largest), largest->name, "");
}
