/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/figures.h"

#include "triage/line.h"

#include <stdio.h>

const struct figure_row figure_rows[FIGURE_COUNT_] = {
	[FIGURE_TRIED] = {"tried_bytes", "what the allocation asked for"},
	[FIGURE_CAPACITY] = {"capacity_bytes", "the GPU's memory, or the part of it that the process may see"},
	[FIGURE_FREE] = {"free_bytes", "what is free on the GPU"},
	[FIGURE_ALLOCATED] = {"allocated_bytes", "what is in tensors of this process"},
	[FIGURE_RESERVED] = {"reserved_bytes", "what this process's allocator holds"},
	[FIGURE_UNALLOCATED] = {"unallocated_bytes", "what is reserved but unallocated"},
	[FIGURE_PROCESS] = {"process_bytes", "what this process holds"},
	[FIGURE_OTHERS] = {"others_bytes", "what other processes hold"},
	[FIGURE_ALLOWED] = {"allowed_bytes", "the limit that the process set for itself"},
	[FIGURE_PRIVATE] = {"private_pool_bytes", "what is in private pools of CUDA graphs"},
	[FIGURE_NEEDED] = {"needed_bytes", "what a compiled program needs as a whole (XLA)"},
	[FIGURE_LIMIT] = {"limit_bytes", "the limit of the cgroup"},
	[FIGURE_USAGE] = {"usage_bytes", "the use of the cgroup, or of what was evicted"},
	[FIGURE_REQUEST] = {"request_bytes", "the request of the container"},
	[FIGURE_THRESHOLD] = {"threshold_bytes", "the free memory below which the kubelet evicts pods"},
	[FIGURE_AVAILABLE] = {"available_bytes", "what the node had left when the kubelet evicted"},
	[FIGURE_ANON_RSS] = {"anon_rss_bytes", "the killed process's own memory"},
	[FIGURE_SHMEM_RSS] = {"shmem_rss_bytes", "the killed process's shared memory"},
	[FIGURE_HUGEPAGES] = {"hugepages_bytes", "what the node has reserved as huge pages"},
	[FIGURE_NODE_RAM] = {"node_memory_bytes", "the memory of the node"},
	[FIGURE_SAME_RSS] = {"same_name_rss_bytes", "resident memory of all tasks with the name of the killed one"},
	[FIGURE_LARGEST_RSS] = {"largest_rss_bytes",
				"resident memory of the largest task, where another one was killed"},
	[FIGURE_RECOMMENDED] = {"recommended_bytes", "the limit that the recommender advises"},
	[FIGURE_TASKS_RSS] = {"tasks_rss_bytes", "resident memory of all tasks that the kernel chose from"},
	[FIGURE_GROUP_RSS] = {"group_rss_bytes", "resident memory of the largest group of tasks of one name"},
	[FIGURE_WORKER_RSS] = {"worker_rss_bytes", "resident memory of the largest task of that group"},
	[FIGURE_CGROUP_ANON] = {"cgroup_anon_bytes", "memory of processes in the cgroup"},
	[FIGURE_CGROUP_CACHE] = {"cgroup_cache_bytes", "page cache of files on disks in the cgroup"},
	[FIGURE_CGROUP_SHMEM] = {"cgroup_shmem_bytes", "files in memory (tmpfs) and shared memory in the cgroup"},
	[FIGURE_VOLUME] = {"memory_volume_bytes", "sizeLimit of a volume in memory that is not below the memory limit"},
	[FIGURE_DATASET] = {"dataset_bytes", "the data set, as an annotation says"},
};

enum place {
	BEHIND,	      /* the size follows the label */
	BEHIND_PLAIN, /* a number without a unit is bytes */
	BEFORE,	      /* the size stands before the label */
};

/* PyTorch prints "total capacty" in 2.1; 1.3 and older print `cached` for what is reserved but unallocated. */
static const struct label {
	enum figure figure;
	enum place place;
	const char *label;
} labels[] = {
	{FIGURE_TRIED, BEHIND_PLAIN, "tried to allocate"},
	{FIGURE_TRIED, BEHIND_PLAIN, "trying to allocate"},
	{FIGURE_TRIED, BEHIND_PLAIN, "out of memory allocating"},
	{FIGURE_TRIED, BEHIND_PLAIN, "failed to allocate request for"},
	{FIGURE_TRIED, BEHIND_PLAIN, "cannot allocate"},
	{FIGURE_TRIED, BEHIND_PLAIN, "failed to allocate"},
	{FIGURE_TRIED, BEHIND_PLAIN, "failed to cuda malloc"},
	{FIGURE_TRIED, BEHIND_PLAIN, "failed to cuda malloc async"},
	{FIGURE_TRIED, BEHIND_PLAIN, "failed to cuda calloc"},
	{FIGURE_TRIED, BEHIND_PLAIN, "failed to cuda calloc async"},
	{FIGURE_TRIED, BEHIND_PLAIN, "failed to alloc device memory"},
	{FIGURE_TRIED, BEHIND_PLAIN, "could not allocate tensor with"},
	{FIGURE_TRIED, BEHIND_PLAIN, "attempting to allocate"},
	{FIGURE_TRIED, BEHIND_PLAIN, "attempting to reserve"},
	{FIGURE_TRIED, BEHIND_PLAIN, "allocation of size"},
	{FIGURE_TRIED, BEHIND_PLAIN, "allocation failed for size"},
	{FIGURE_TRIED, BEHIND_PLAIN, "requested bytes of"},
	{FIGURE_TRIED, BEHIND_PLAIN, "requested buffer of size"},
	{FIGURE_TRIED, BEHIND_PLAIN, "requested amount of gpu memory ("},
	{FIGURE_TRIED, BEHIND_PLAIN, "requested size was"},
	{FIGURE_TRIED, BEFORE, " kv cache is needed"},
	{FIGURE_FREE, BEHIND, "available kv cache memory ("},
	{FIGURE_TRIED, BEHIND, "tried to allocate more than"},
	{FIGURE_TRIED, BEHIND_PLAIN, "out of memory to allocate"},
	/* PyTorch's cudaMallocAsync backend prints one figure a line, with blanks before the colon. */
	{FIGURE_TRIED, BEHIND, "requested  "},
	{FIGURE_CAPACITY, BEHIND, "device limit  "},
	{FIGURE_FREE, BEHIND, "free (according to cuda)"},
	{FIGURE_ALLOCATED, BEHIND, "currently allocated  "},
	{FIGURE_CAPACITY, BEFORE, " total capac"},
	{FIGURE_CAPACITY, BEHIND, "total capacity of"},
	{FIGURE_CAPACITY, BEHIND, "total capacty of"},
	{FIGURE_CAPACITY, BEHIND_PLAIN, "memory_limit_:"},
	{FIGURE_FREE, BEHIND, "of which"},
	{FIGURE_FREE, BEFORE, " is free"},
	{FIGURE_FREE, BEFORE, " free;"},
	{FIGURE_FREE, BEFORE, " free, "},
	{FIGURE_FREE, BEHIND, "available memory is only"},
	{FIGURE_ALLOCATED, BEFORE, " already allocated"},
	{FIGURE_ALLOCATED, BEFORE, " is allocated by pytorch"},
	{FIGURE_ALLOCATED, BEFORE, " memory has been allocated"},
	{FIGURE_ALLOCATED, BEHIND, "mps allocated:"},
	{FIGURE_ALLOWED, BEFORE, " allowed;"},
	{FIGURE_ALLOWED, BEHIND, "max allowed:"},
	{FIGURE_ALLOWED, BEHIND, "limit set to:"},
	{FIGURE_RESERVED, BEFORE, " reserved in total by pytorch"},
	{FIGURE_UNALLOCATED, BEFORE, " is reserved by pytorch but unallocated"},
	{FIGURE_UNALLOCATED, BEFORE, " reserved but unallocated"},
	{FIGURE_UNALLOCATED, BEFORE, " cached)"},
	{FIGURE_UNALLOCATED, BEFORE, " cached;"},
	{FIGURE_PROCESS, BEHIND, "this process has"},
	{FIGURE_PRIVATE, BEFORE, " allocated in private pools"},
	{FIGURE_NEEDED, BEHIND, " total allocation:"},
};

void figures_init(struct figures *self)
{
	for (int i = 0; i < FIGURE_COUNT_; i++)
		self->bytes[i] = FIGURE_NONE;
}

void figures_set(struct figures *self, enum figure figure, int64_t bytes)
{
	self->bytes[figure] = bytes < 0 || bytes > FIGURE_MAX ? FIGURE_ABSURD : bytes;
}

bool figures_fill(struct figures *self, const struct figures *from)
{
	bool is_changed = false;

	for (int i = 0; i < FIGURE_COUNT_; i++)
		if (self->bytes[i] == FIGURE_NONE && from->bytes[i] != FIGURE_NONE) {
			self->bytes[i] = from->bytes[i];
			is_changed = true;
		}
	return is_changed;
}

/* The size at a label, or the exact bytes in brackets behind it: "2.99GiB (3206250496B)". */
static bool read_behind(const char *at, bool is_plain_allowed, int64_t *ret)
{
	int64_t exact;
	size_t n;

	at += strspn(at, " =:");
	n = text_size(at, is_plain_allowed, ret);
	if (!n)
		return false;
	at += n + strspn(at + n, " ");
	if (*at == '(' && text_size(at + 1, false, &exact))
		*ret = exact;
	return true;
}

static bool read_label(const char *lower, const struct label *label, int64_t *ret)
{
	size_t n = strlen(label->label);

	for (const char *at = strstr(lower, label->label); at; at = strstr(at + n, label->label)) {
		bool is_found = label->place == BEFORE ? text_size_before(lower, at, ret)
						       : read_behind(at + n, label->place == BEHIND_PLAIN, ret);

		if (is_found)
			return true;
	}
	return false;
}

/* "Process 608946 has 14.91 GiB memory in use": what each of the others holds. */
static void read_others(const char *lower, struct figures *ret)
{
	int64_t sum = 0, one, pid;
	bool is_found = false;

	for (const char *at = strstr(lower, "process "); at; at = strstr(at + 8, "process ")) {
		size_t n = text_number(at + 8, &pid);

		if (!n || strncmp(at + 8 + n, " has ", 5) != 0 || !text_size(at + 8 + n + 5, false, &one))
			continue;
		sum = one > FIGURE_MAX || sum > FIGURE_MAX ? FIGURE_ABSURD : sum + one;
		is_found = true;
	}
	if (is_found)
		figures_set(ret, FIGURE_OTHERS, sum);
}

int figures_parse_gpu(const char *lower, struct figures *ret)
{
	int n = 0;
	int64_t bytes;

	figures_init(ret);
	for (size_t i = 0; i < ARRAY_LEN(labels); i++)
		if (!figures_has(ret, labels[i].figure) && read_label(lower, &labels[i], &bytes))
			figures_set(ret, labels[i].figure, bytes);
	read_others(lower, ret);
	for (int i = 0; i < FIGURE_COUNT_; i++)
		n += ret->bytes[i] != FIGURE_NONE;
	return n;
}

const char *figure_render(int64_t bytes, char buf[32])
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	int64_t scale = 1, hundredths;
	size_t unit = 0;

	if (bytes == FIGURE_NONE || bytes > FIGURE_MAX) {
		snprintf(buf, 32, "%s", bytes == FIGURE_NONE ? "unknown" : "an absurd size");
		return buf;
	}
	hundredths = bytes * 100;
	/* What would be rounded to 1024.00 of a unit is 1.00 of the next one. */
	while (unit + 1 < ARRAY_LEN(units) && hundredths >= 102400) {
		scale *= 1024;
		unit++;
		hundredths = (bytes * 100 + scale / 2) / scale;
	}
	if (!unit)
		snprintf(buf, 32, "%lld bytes", (long long)bytes);
	else
		snprintf(buf, 32, "%lld.%02lld %s", (long long)(hundredths / 100), (long long)(hundredths % 100),
			 units[unit]);
	return buf;
}
