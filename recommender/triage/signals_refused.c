/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the host that was refused to a program, which nobody killed. */
#include "triage/signals.h"

static void read_refused_size(const char *lower, struct reading *ret)
{
	static const char *const labels[] = {
		"unable to allocate ", "tried to allocate ", "allocation of ",	      "malloc ",
		"allocating ",	       "failed to alloc ",   "host memory of size: ", "alloc of size ",
		"vector of size ",     "failed to map ",     "failed to allocate "};
	int64_t bytes;

	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		const char *at = strstr(lower, labels[i]);

		if (at && text_size(at + strlen(labels[i]), true, &bytes) && !figures_has(&ret->figures, FIGURE_TRIED))
			figures_set(&ret->figures, FIGURE_TRIED, bytes);
	}
}

/* Arrow: "Out of memory: malloc of size 262144 failed", "realloc of size 128 failed" */
static const char *find_malloc(const char *lower)
{
	const char *at = strstr(lower, "alloc of size ");
	int64_t bytes;
	size_t n = at ? text_number(at + strlen("alloc of size "), &bytes) : 0;

	return n && strstarts(at + strlen("alloc of size ") + n, " failed") ? at : NULL;
}

/* The JVM's report of its own end: "# Native memory allocation (mmap) failed to map 262144 bytes". */
static bool is_jvm_report(const char *at)
{
	return strstarts(at, "native memory allocation (") && strstr(at, ") failed to ");
}

/* R: "vector memory exhausted (limit reached?)", "vector memory limit of 16.0 Gb reached". */
static bool is_of_vector(const char *at)
{
	return !strstarts(at, "vector memory") || text_has(at, "exhausted|reached");
}

/* What Python, numpy, C++, Java, R, Go, Node.js, PyTorch, TensorFlow, Windows and the C library say when the host
 * refuses memory. */
bool read_refused(const struct line *line, struct reading *ret)
{
	static const char forms[] =
		"you tried to allocate|"
		"bad_alloc|unable to allocate|std::bad_array_new|java heap space|allocator cpu|allocator mklcpu|"
		"allocator gpu_host_bfc|failed to cuda host alloc|failed to malloc|outofmemoryerror: java|"
		"cannot allocate memory|can't allocate memory|errno 12]|defaultcpuallocator|direct buffer memory|"
		"gc overhead limit|outofmemoryerror: metaspace|outofmemoryerror: compressed class|"
		"outofmemoryerror: requested array|not enough memory: you tried|out of memory, malloc failed|out of "
		"memory, calloc "
		"failed|"
		"out of memory, realloc failed|: memory exhausted|virtual memory exhausted|winerror 1455|vector memory|"
		"out_of_host_memory|outofhostmemory|cannot allocate vector|insufficient memory) failed|" XLA_CPU "|"
		"javascript heap out of memory|fatal error: runtime: out of memory|runtime: out "
		"of "
		"memory: cannot allocate|native memory allocation (|(errno=12)";
	const char *lower = line->lower, *at = text_find(lower, forms), *body = lower + line->body;

	/* Paddle's and RMM's exceptions for a full GPU are a bad_alloc, that of PyCUDA a MemoryError. */
	if (text_has(lower, "error on gpu|cuda out of memory|hip out of memory|of device memory (out|bad_alloc: cuda|"
			    "bad_alloc: out_of_memory: |bad_alloc: rmm|allocation error on worker") ||
	    gpu_find_alloc_call(lower))
		return false;
	if (text_has(lower, "/dev/shm|shared memory") && !strstr(lower, "cannot allocate memory"))
		return false;
	if (!at && (text_has(lower, "memory allocation of ") && text_has(lower, "bytes failed")))
		at = strstr(lower, "memory allocation of ");
	if (!at)
		at = find_malloc(lower);
	if (!at && line_ends_with(line, "fatal error: out of memory"))
		at = strstr(lower, "fatal error: out of memory");
	/* PyTorch's check of the code that the C library gave: 12 is ENOMEM. */
	if (!at && strstr(lower, "posix_memalign") && text_has(lower, ". 12 vs 0"))
		at = strstr(lower, "posix_memalign");
	if (!at && text_has(lower, "pinned memory|pinned host memory|bytes on host") &&
	    text_has(lower, "fail|cannot|could not|unable|error"))
		at = text_find(lower, "pinned memory|pinned host memory|bytes on host");
	/* Memory of the host that CUDA or HIP pins. */
	if (!at && gpu_is_host_call(lower) &&
	    text_has(lower, "out of memory|out_of_memory|outofmemory|memoryallocation"))
		at = text_find(lower, "out of memory|out_of_memory|outofmemory|memoryallocation");
	if (!at && strstr(body, "memoryerror")) {
		/* The name of the exception at the end of a traceback; numpy's has a module before it. */
		const char *name = strstr(body, "memoryerror");

		at = memchr(body, ' ', (size_t)(name - body)) || strstr(body, "outofmemoryerror") ? NULL : name;
		if (at && at[11] && !strchr(": (\\\"", at[11]))
			at = NULL;
	}
	if (!at || (is_mention(line, at) && !is_jvm_report(at)) || !is_of_vector(at) ||
	    text_has(lower, "continuing anyway|continuing without"))
		return false;
	if (text_has(lower, "unable to allocate") && !text_has(lower, "unable to allocate internal") &&
	    !strpbrk(strstr(lower, "unable to allocate"), "0123456789"))
		return false;
	read_refused_size(lower, ret);
	return true;
}

/* "buf = torch.empty(n, pin_memory=True)", "return data.pin_memory(device)" in a traceback; a DataLoader is only told
 * that it shall pin. */
bool read_pinning(const struct line *line, struct reading *ret)
{
	(void)ret;
	return !text_has(line->lower, "dataloader(|def pin_memory");
}

/* "__vm_enough_memory: pid: 2753, comm: python3, bytes: 536875008 not enough memory for the allocation" */
bool read_overcommit_refused(const struct line *line, struct reading *ret)
{
	int64_t bytes;
	const char *at = strstr(line->lower, "bytes: ");

	if (!at || !strstr(line->lower, "vm_enough_memory"))
		return false;
	if (text_number(at + strlen("bytes: "), &bytes))
		figures_set(&ret->figures, FIGURE_TRIED, bytes);
	return true;
}
