/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/kernel.h"

#include <ctype.h>
#include <stdlib.h>

void kernel_reset(struct kernel_state *self)
{
	figures_init(&self->figures);
	self->scope = SCOPE_NONE;
	self->path[0] = self->uid[0] = '\0';
	self->tasks.n = 0;
	self->page_bytes = KERNEL_PAGE_BYTES;
	self->is_table = false;
	kernel_close_stats(self);
	self->open = self->limited = SIZE_MAX;
	self->pid = -1;
	kernel_close_cut(self);
}

void kernel_close_cut(struct kernel_state *self)
{
	self->cut.text[0] = '\0';
	self->cut.is_searching = self->cut.has_stats = false;
}

/* Frames prove more than the flags of the first line, and statistics name the cgroup. */
void kernel_see_cut(struct kernel_state *self, const struct line *line, enum signal_id signal,
		    const struct reading *reading)
{
	struct kernel_cut *cut = &self->cut;
	bool is_stats = signal == SIGNAL_KERNEL_STATS, is_known = cut->text[0] && cut->reading.is_exact;

	if (signal == SIGNAL_KERNEL_CUT && reading->scope != SCOPE_CGROUP && !cut->is_searching) {
		cut->is_searching = reading->scope == SCOPE_NONE;
		return;
	}
	if (reading->scope == SCOPE_NONE || (is_stats ? cut->has_stats : is_known))
		return;
	cut->reading = *reading;
	cut->reading.is_exact = signal != SIGNAL_KERNEL_INVOKED;
	cut->number = line->number;
	cut->body = line->body;
	cut->rank = line->rank;
	cut->has_stats = is_stats;
	line_excerpt(line, NULL, cut->text, sizeof(cut->text));
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

		if (!n || digits[n + strspn(digits + n, " ")] != ']')
			continue;
		at = strchr(digits, ']') + 1;
		task.pid = value;
	}
	if (at == text)
		return false;
	for (int token = 0; token < self->name_token; token++) {
		at += strspn(at, " ");
		if (token == self->rss_token && text_number(at, &value))
			task.rss_bytes = value > FIGURE_MAX / self->page_bytes ? 0 : value * self->page_bytes;
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

/* ---- the size of a page ---- */

#define PAGES_MIN 1024 /* of a process; fewer prove nothing */

/* The process may have run between both counts, but not for long. */
static int64_t find_page(int64_t rss_bytes, int64_t pages)
{
	static const int64_t sizes[] = {4 * KERNEL_PAGE_BYTES, 16 * KERNEL_PAGE_BYTES};

	for (size_t i = 0; i < ARRAY_LEN(sizes) && pages >= PAGES_MIN; i++)
		if (llabs(rss_bytes / sizes[i] - pages) <= pages / 32)
			return sizes[i];
	return KERNEL_PAGE_BYTES;
}

/* The resident memory of a killed process, as its line has it. */
static int64_t victim_bytes(const char *lower)
{
	static const char *const labels[] = {"anon-rss:", "file-rss:", "shmem-rss:"};
	int64_t sum = 0, bytes;

	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		const char *at = strstr(lower, labels[i]);

		if (at && text_size(at + strlen(labels[i]), false, &bytes))
			sum += MIN(bytes, FIGURE_MAX);
	}
	return sum;
}

static void scale_bytes(int64_t *bytes, int64_t factor)
{
	if (*bytes != FIGURE_NONE)
		*bytes = *bytes > FIGURE_MAX / factor ? FIGURE_ABSURD : *bytes * factor;
}

bool kernel_find_page(struct kernel_state *self, const char *lower, int64_t pid)
{
	int64_t pages = 0, factor;

	for (size_t i = 0; i < self->tasks.n && !pages; i++)
		if (self->tasks.items[i].pid == pid)
			pages = self->tasks.items[i].rss_bytes / KERNEL_PAGE_BYTES;
	if (!pages || self->page_bytes != KERNEL_PAGE_BYTES)
		return false;
	factor = find_page(victim_bytes(lower), pages) / KERNEL_PAGE_BYTES;
	if (factor == 1)
		return false;
	self->page_bytes *= factor;
	for (size_t i = 0; i < self->tasks.n; i++)
		scale_bytes(&self->tasks.items[i].rss_bytes, factor);
	scale_bytes(&self->figures.bytes[FIGURE_NODE_RAM], factor);
	return true;
}

/* ---- statistics of the cgroup ---- */

void kernel_close_stats(struct kernel_state *self)
{
	self->is_stats = false;
	self->anon = self->file = self->shmem = FIGURE_NONE;
}

static void add_stat(int64_t *sum, int64_t bytes)
{
	*sum = MIN(MAX(*sum, 0) + MIN(bytes, FIGURE_ABSURD), FIGURE_ABSURD);
}

void kernel_open_stats(struct kernel_state *self, const char *lower)
{
	const struct {
		const char *label;
		int64_t *sum;
	} rows[] = {{" cache:", &self->file}, {" rss:", &self->anon}, {" shmem:", &self->shmem}};
	const char *at = strstr(lower, "memory cgroup stats for ");
	int64_t bytes;

	self->is_stats = true;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *value = strstr(at, rows[i].label);

		if (!value || !text_size(value + strlen(rows[i].label), false, &bytes))
			continue;
		add_stat(rows[i].sum, bytes);
		self->is_stats = false;
	}
}

/* The name and the number that a line ends with, behind what a logger writes before them; NULL: it does not. */
static const char *find_stat(const char *lower, int64_t *ret)
{
	size_t n = strlen(lower);
	const char *name;

	while (n && lower[n - 1] == ' ')
		n--;
	while (n && isdigit((unsigned char)lower[n - 1]))
		n--;
	if (!n || lower[n - 1] != ' ' || !text_number(lower + n, ret))
		return NULL;
	name = lower + n - 1;
	while (name > lower && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
		name--;
	return *name != ' ' && (name == lower || name[-1] == ' ') ? name : NULL;
}

bool kernel_read_stat(struct kernel_state *self, const char *lower)
{
	int64_t bytes;
	const char *name = find_stat(lower, &bytes);

	if (!name)
		return false;
	if (strstarts(name, "anon "))
		add_stat(&self->anon, bytes);
	else if (strstarts(name, "file "))
		add_stat(&self->file, bytes);
	else if (strstarts(name, "shmem "))
		add_stat(&self->shmem, bytes);
	/* cgroup v1 from 5.0 on: those of the cgroup itself, then with all below it. */
	else if (strstarts(name, "cache ") || strstarts(name, "total_cache "))
		self->file = MIN(bytes, FIGURE_ABSURD);
	else if (strstarts(name, "rss ") || strstarts(name, "total_rss "))
		self->anon = MIN(bytes, FIGURE_ABSURD);
	else if (strstarts(name, "total_shmem "))
		self->shmem = MIN(bytes, FIGURE_ABSURD);
	return true;
}

static void add_stats(const struct kernel_state *self, struct figures *figures)
{
	if (self->anon != FIGURE_NONE)
		figures_set(figures, FIGURE_CGROUP_ANON, self->anon);
	if (self->shmem != FIGURE_NONE)
		figures_set(figures, FIGURE_CGROUP_SHMEM, self->shmem);
	if (self->file != FIGURE_NONE)
		figures_set(figures, FIGURE_CGROUP_CACHE, MAX(self->file - MAX(self->shmem, 0), 0));
}

/* ---- who held the memory ---- */

bool kernel_is_loader(const char *name)
{
	return text_has(name, "pt_data_|dataloader|DataLoader|data_loader|data_worker|loader_worker");
}

/* Forked copies of Python are most often workers. PyTorch names its workers, and each process that is none. */
static bool is_python(const char *name)
{
	return strstarts(name, "python");
}

static int compare_tasks(const void *a, const void *b)
{
	const struct task *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order ? order : (one->rss_bytes < other->rss_bytes) - (one->rss_bytes > other->rss_bytes);
}

/* Programs that start the ranks of a job on one machine. */
static bool is_launcher(const char *name)
{
	return text_has(name, "torchrun|pt_elastic|deepspeed|accelerate|mpirun|mpiexec|orted|prted|hydra_pmi");
}

/* Takes tasks of one name, the largest first, if they hold more than the group so far. */
static void take_group(const struct task *tasks, size_t n, struct reading *reading)
{
	size_t first = kernel_is_loader(tasks[0].name) ? 0 : 1;
	int64_t sum = 0;

	for (size_t i = first; i < n; i++)
		sum = MIN(sum + tasks[i].rss_bytes, FIGURE_ABSURD);
	if ((first && !is_python(tasks[0].name)) || n < 2 || sum <= reading->figures.bytes[FIGURE_GROUP_RSS])
		return;
	reading->n_group = (int)(n - first);
	reading->has_parent = first && tasks[0].rss_bytes / 4 * 3 >= tasks[first].rss_bytes;
	reading->is_group_even = n - first > 1 && tasks[n - 1].rss_bytes * 4 >= tasks[first].rss_bytes * 3;
	reading_copy(reading->group, sizeof(reading->group), tasks[0].name, "");
	figures_set(&reading->figures, FIGURE_GROUP_RSS, sum);
	figures_set(&reading->figures, FIGURE_WORKER_RSS, tasks[first].rss_bytes);
}

static void add_groups(struct kernel_state *self, struct reading *reading)
{
	int64_t sum = 0;

	if (!self->tasks.n)
		return;
	qsort(self->tasks.items, self->tasks.n, sizeof(self->tasks.items[0]), compare_tasks);
	for (size_t i = 0, n; i < self->tasks.n; i += n) {
		for (n = 0; i + n < self->tasks.n && streq(self->tasks.items[i + n].name, self->tasks.items[i].name);
		     n++)
			sum = MIN(sum + self->tasks.items[i + n].rss_bytes, FIGURE_ABSURD);
		take_group(self->tasks.items + i, n, reading);
	}
	figures_set(&reading->figures, FIGURE_TASKS_RSS, sum);
}

void kernel_add_tasks(struct kernel_state *self, struct reading *reading)
{
	const struct task *largest = NULL;
	int64_t sum = 0;

	add_stats(self, &reading->figures);
	add_groups(self, reading);
	for (size_t i = 0; i < self->tasks.n; i++) {
		const struct task *task = &self->tasks.items[i];

		reading->has_launcher = reading->has_launcher || is_launcher(task->name);
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
