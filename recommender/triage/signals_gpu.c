/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/signals.h"

#include "triage/slurm.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>

/* Messages of allocators with figures, wherever they stand in a line. */
#define FORMS                                                                                                          \
	"tried to allocate|while trying to allocate|out of memory allocating|failed to allocate request for|"          \
	"oom when allocating tensor|ran out of memory trying to allocate|memory trying to allocate|"                   \
	"failed to cuda malloc|failed to cuda calloc|out of memory error on gpu|pt_devmem|attempting to allocate|"     \
	"attempting to reserve|"                                                                                       \
	"ran out of memory in memory space|workspace allocation of size|is smaller than requested bytes of|"           \
	"memory for requested buffer of size|would exceed allowed memory|out of memory to allocate|"                   \
	"device memory allocation of size|requested amount of gpu memory|" SERVING "|" WITHOUT_SIZE
/* vLLM and SGLang, before they serve: the GPU has no room for the KV cache, or less than they shall take. */
#define SERVING                                                                                                        \
	"tokens that can be stored in kv cache|kv cache is needed, which is larger|memory for the cache blocks|"       \
	"is less than desired gpu memory utilization|leave no gpu memory|not enough memory. please try"
/* Without an amount: a search for a batch that ends at none, and Paddle 0.x, whose amounts have no unit. */
#define WITHOUT_SIZE "no executable batch size found|enforce allocating <= available"
/* Codes and texts of runtimes: they carry no figures. */
#define CODES                                                                                                          \
	"cuda_error_out_of_memory|cudaerrormemoryallocation|_status_alloc_failed|cufft_alloc_failed|"                  \
	"device_allocation_failed|erroroutofmemory|not enough gpu video memory|not enough gpu memory|"                 \
	"not enough video memory|failed to alloc device memory|failed to allocate device memory|"                      \
	"cannot allocate device memory|unable to allocate device memory|could not allocate device memory|"             \
	"rocblas_status_memory_error|cuda error: out of memory|hip error: out of memory|"                              \
	"cuda runtime error (2)|'out of memory'|cuda driver error: out of memory|xpu out of memory|"                   \
	"resource_exhausted: out of memory|resource exhausted: out of memory|out_of_device_memory|"                    \
	"out of device memory|parallel_for failed: out of memory|step: out of memory|"                                 \
	"failed to synchronize: out of memory|get_temporary_buffer failed|allocation error on worker|"                 \
	"bad_alloc: cuda error|bad_alloc: out_of_memory: |bad_alloc: rmm failure|memory_allocation_failure|"           \
	"rt_memory_allocation|mem_object_allocation_failure|"                                                          \
	"error code: out of memory|of device memory (out of memory|error code 2: outofmemory|erroroutofdevicememory"
/* The words alone: an error only with the name of an exception before them. */
#define WORDS                                                                                                          \
	"cuda out of memory|hip out of memory|gpu out of memory|npu out of memory|mlu out of memory|hpu out of "       \
	"memory|mps backend out of memory|out of gpu memory|out of memory on device|outofmemoryerror|out of memory "   \
	"on gpu"
#define HOST                                                                                                           \
	"you tried to allocate|killed due to memory usage|"                                                            \
	"device:cpu|allocator cpu|allocator mklcpu|gpu_host_bfc|cpuallocator|java heap|killed process|kill process|"   \
	"cgroup out of memory|invoked oom-killer|no killable|java.lang|cuda host alloc|node running low|"              \
	"ray.exceptions.outofmemoryerror|bytes on host|pinned host memory|os error 12|fork: cannot|cannot allocate "   \
	"memory|out-of-memory handler|insufficient memory) failed|" XLA_CPU "|not enough memory: you "                 \
	"tried|out of memory, malloc failed|out of memory, realloc failed|out of memory, calloc failed"
/* On-chip memory of one kernel. */
#define SCRATCH "memory space vmem|memory space smem|out of resource: shared memory|out of resources: shared memory"
#define CAUGHT	"caught|skipping|skipped|retrying|retry |will retry|recovered|recovering|attempting to recover|handled"

const char *const gpu_oom_forms[GPU_OOM_FORMS] = {FORMS, CODES, WORDS};

static enum framework read_framework(const char *lower)
{
	if (text_has(lower, "paddle|out of memory error on gpu|enforce allocating <= available"))
		return FRAMEWORK_PADDLE;
	if (text_has(lower, "resource_exhausted|jaxlib|xla_extension|xlaruntimeerror|jaxruntimeerror"))
		return text_has(lower, "tensorflow|oom when allocating") ? FRAMEWORK_TENSORFLOW : FRAMEWORK_JAX;
	if (text_has(lower, "resource exhausted|resourceexhausted|bfc_allocator|gpu_0_bfc|_bfc)|stream_executor"))
		return FRAMEWORK_TENSORFLOW;
	if (strstr(lower, "mps backend"))
		return FRAMEWORK_MPS;
	if (text_has(lower, "tried to allocate|torch|outofmemoryerror: cuda"))
		return FRAMEWORK_TORCH;
	return FRAMEWORK_OTHER;
}

const char *const variable_names[VARIABLE_COUNT_] = {
	[VARIABLE_CUDA] = "PYTORCH_CUDA_ALLOC_CONF", [VARIABLE_HIP] = "PYTORCH_HIP_ALLOC_CONF",
	[VARIABLE_NPU] = "PYTORCH_NPU_ALLOC_CONF",   [VARIABLE_MLU] = "PYTORCH_MLU_ALLOC_CONF",
	[VARIABLE_ANY] = "PYTORCH_ALLOC_CONF",
};

/* What a message without a variable's name says of its device. Intel's devices have only the new variable. */
static const struct {
	const char *words;
	enum variable variable;
} devices[] = {
	{"npu out of memory|(npu ", VARIABLE_NPU},
	{"mlu out of memory|(mlu ", VARIABLE_MLU},
	{"xpu out of memory", VARIABLE_ANY},
	{"hip out of memory|hiperror|hip error|rocm", VARIABLE_HIP},
};

static enum variable read_variable(const char *lower)
{
	for (int i = VARIABLE_NONE + 1; i < VARIABLE_COUNT_; i++)
		if (strcasestr(lower, variable_names[i]))
			return (enum variable)i;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		if (text_has(lower, devices[i].words))
			return devices[i].variable;
	return VARIABLE_NONE;
}

/* Reads the figures of the first message of a line; interleaved ranks may have put two into one. */
static void read_first_message(const char *at, struct reading *ret)
{
	char part[8 * KIB];
	char *second;

	reading_copy(part, sizeof(part), at, "");
	second = strstr(part, "tried to allocate");
	second = second ? strstr(second + 1, "tried to allocate") : NULL;
	if (second)
		*second = '\0';
	figures_parse_gpu(part, &ret->figures);
}

/* TPU: "Used 17.54G of 15.48G hbm": all that the program needs, and the capacity. */
static void read_hbm(const char *lower, struct reading *ret)
{
	const char *at = strstr(lower, "used ");
	int64_t used, capacity;
	size_t n = at ? text_size(at + 5, false, &used) : 0;

	if (!n || strncmp(at + 5 + n, " of ", 4) != 0 || !text_size(at + 5 + n + 4, false, &capacity))
		return;
	figures_set(&ret->figures, FIGURE_TRIED, used);
	figures_set(&ret->figures, FIGURE_CAPACITY, capacity);
}

/* vLLM: "Free memory on device cuda:1 (19.77/22.05 GiB) on startup is less than desired GPU memory utilization (0.9,
 * 19.84 GiB)": free, capacity, and what it would take; it holds nothing yet. */
static void read_start_check(const char *lower, struct reading *ret)
{
	const char *at = strstr(lower, "free memory on device"), *slash, *wanted;
	int64_t free, capacity, tried;
	char text[48];

	at = at ? strchr(at, '(') : NULL;
	slash = at ? strchr(at, '/') : NULL;
	wanted = slash ? strstr(slash, "utilization (") : NULL;
	wanted = wanted ? strchr(wanted, ',') : NULL;
	if (!wanted || !text_size(slash + 1, false, &capacity) ||
	    !text_size(wanted + 1 + strspn(wanted + 1, " "), false, &tried))
		return;
	/* The unit stands only behind the second of both. */
	snprintf(text, sizeof(text), "%.*s %.8s", (int)MIN(slash - at - 1, (ptrdiff_t)24), at + 1,
		 slash + 1 + strspn(slash + 1, "0123456789. "));
	if (!text_size(text, false, &free))
		return;
	figures_set(&ret->figures, FIGURE_FREE, free);
	figures_set(&ret->figures, FIGURE_CAPACITY, capacity);
	figures_set(&ret->figures, FIGURE_TRIED, tried);
	figures_set(&ret->figures, FIGURE_ALLOCATED, 0);
}

/* Paddle 0.x: "enforce allocating <= available failed, 10513462067 > 1369702144": tried, and free. */
static void read_enforce(const char *lower, struct reading *ret)
{
	const char *at = strstr(lower, "allocating <= available failed, ");
	int64_t tried, free;
	size_t n;

	at = at ? at + strlen("allocating <= available failed, ") : NULL;
	n = at ? text_number(at, &tried) : 0;
	if (!n || strncmp(at + n, " > ", 3) != 0 || !text_number(at + n + 3, &free))
		return;
	figures_set(&ret->figures, FIGURE_TRIED, tried);
	figures_set(&ret->figures, FIGURE_FREE, free);
}

/* Calls that allocate on the device; those for the host have another name or `host` behind it. */
static const char *const alloc_calls[] = {"cudamalloc", "cumemalloc", "cumemcreate", "hipmalloc", "hipextmalloc"};

bool gpu_is_host_call(const char *lower)
{
	return text_has(lower, "cudahostalloc|cudamallochost|cudahostregister|cumemhostalloc|cumemallochost|"
			       "cumemhostregister|hiphostmalloc|hiphostalloc|hipmallochost|hiphostregister");
}

const char *gpu_find_alloc_call(const char *lower)
{
	for (size_t i = 0; i < ARRAY_LEN(alloc_calls); i++)
		for (const char *at = strstr(lower, alloc_calls[i]); at; at = strstr(at + 1, alloc_calls[i]))
			if (!strstarts(at + strlen(alloc_calls[i]), "host"))
				return at;
	return NULL;
}

/* "cudaMalloc failed: out of memory", "cudaMalloc retry failed: out of memory", "cudaMalloc error out of memory [2]",
 * "cuMemAlloc returned out of memory". */
static const char *find_failed_call(const char *lower)
{
	const char *at = gpu_find_alloc_call(lower), *words = at ? strstr(at, "out of memory") : NULL;

	return words && words - at < 64 && text_has_before(lower, words, (size_t)(words - at), "fail|error|return")
		       ? at
		       : NULL;
}

/* Whether an exception's name or a level of errors leads to the words. */
static bool is_raised(const struct line *line, const char *at)
{
	const char *body = line->lower + line->body;
	const char *error = strstr(body, "error");

	if (at <= body + 2)
		return true;
	/* A class stands behind its module, a colon or a bracket; Java has one of this name, too. */
	if (strstarts(at, "outofmemoryerror")) {
		const char *before = at - 1;

		while (before > body && *before == ' ')
			before--;
		return !isalnum((unsigned char)*before);
	}
	return error && error <= at && error - body < 80;
}

/* "error=2 : out of memory", "error 2 out of memory", "CUDA error 2: out of memory": the code 2 of the CUDA runtime
 * with its text, whatever stands between them; and "Check failed: error == cudaSuccess (2 vs. 0)" of glog. */
static const char *find_code(const char *lower)
{
	if (text_has(lower, "cudasuccess|hipsuccess") && text_has(lower, "(2 vs. 0)|(0 vs. 2)"))
		return text_find(lower, "(2 vs. 0)|(0 vs. 2)");
	for (const char *at = strstr(lower, "out of memory"); at; at = strstr(at + 1, "out of memory")) {
		const char *start = at;

		while (start > lower && strchr(" :,.'\"()=-", start[-1]))
			start--;
		if (start == at || start == lower || *--start != '2')
			continue;
		while (start > lower && strchr(" =:(", start[-1]))
			start--;
		/* TensorRT: "Cuda Error in allocate: 2 (out of memory)" */
		if (start - lower >= 8 && memcmp(start - 8, "allocate", 8) == 0)
			return at;
		if (start - lower >= 5 && (memcmp(start - 5, "error", 5) == 0 || memcmp(start - 4, "code", 4) == 0 ||
					   memcmp(start - 4, " err", 4) == 0))
			return at;
	}
	return NULL;
}

static const char *find_words(const struct line *line, struct reading *ret)
{
	const char *at = text_find(line->lower, FORMS);

	ret->is_exact = at != NULL;
	if (!at)
		at = text_find(line->lower, CODES);
	if (!at && text_has(line->lower, "cuda|hip"))
		at = find_code(line->lower);
	if (!at)
		at = find_failed_call(line->lower);
	if (at)
		return at;
	at = text_find(line->lower, WORDS);
	if (at && (is_raised(line, at) || text_has(line->lower, CAUGHT)))
		return at;
	return NULL;
}

/* RAPIDS hands an error of its GPU to Java as java.lang.OutOfMemoryError. */
static bool is_host(const char *lower)
{
	return text_has(lower, HOST) && !strstr(lower, "bad_alloc: rmm failure");
}

bool read_gpu_oom(const struct line *line, struct reading *ret)
{
	const char *at, *start;

	if (is_failed_check(line) || is_host(line->lower) || text_has(line->lower, SCRATCH) ||
	    gpu_is_host_call(line->lower) || text_has(line->lower, "that this is not a failure") ||
	    slurm_is_out_of_memory(line))
		return false;
	at = find_words(line, ret);
	if (!at || is_mention(line, at))
		return false;
	/* Figures may stand before the words: "Out of memory error on GPU 0. Cannot allocate 15.5GB". */
	start = text_find(line->lower, "out of memory|outofmemory");
	read_first_message(start && start < at ? start : at, ret);
	read_hbm(line->lower, ret);
	read_start_check(line->lower, ret);
	read_enforce(line->lower, ret);
	if (ret->is_exact && !figures_has(&ret->figures, FIGURE_TRIED) &&
	    !text_has(line->lower, "oom when allocating|pt_devmem|out of memory|" SERVING "|" WITHOUT_SIZE))
		return false;
	ret->framework = read_framework(line->lower);
	ret->variable = read_variable(line->lower);
	/* Only PyTorch itself reads a variable that admission may set. */
	if (ret->variable == VARIABLE_NPU || ret->variable == VARIABLE_MLU)
		ret->framework = FRAMEWORK_OTHER;
	ret->is_caught = text_has(line->lower, CAUGHT);
	return true;
}

/* TensorFlow's and XLA's statistics: "Limit:   6714163200", "InUse:   6500000000". */
static bool read_statistics(const char *lower, struct reading *ret)
{
	int64_t value;
	bool is_found = false;

	if (text_labelled(lower, "limit:  ", &value)) {
		figures_set(&ret->figures, FIGURE_CAPACITY, value);
		is_found = true;
	}
	if (text_labelled(lower, " inuse:", &value) || text_labelled(lower, "inuse: ", &value)) {
		figures_set(&ret->figures, FIGURE_ALLOCATED, value);
		is_found = true;
	}
	return is_found;
}

bool read_gpu_detail(const struct line *line, struct reading *ret)
{
	int n = figures_parse_gpu(line->lower, &ret->figures);

	return read_statistics(line->lower, ret) || n > 0;
}

/* Where the size of a key begins; `otherwise` where there is none. */
static int find_size(const char *lower, const char *words, int otherwise)
{
	const char *at = text_find(lower, words);
	int64_t ignored;

	if (!at)
		return otherwise;
	at += strcspn(at, "=:|");
	at += strspn(at, "=:| ");
	return text_size(at, false, &ignored) ? (int)(at - lower) : otherwise;
}

/* "cuda allocated 4.1 GB" */
static int find_plain_size(const char *lower, int otherwise)
{
	const char *at = text_find(lower, "cuda allocated |gpu allocated ");
	int64_t ignored;

	at = at ? at + strcspn(at, " ") + strlen(" allocated ") : NULL;
	return at && text_size(at, false, &ignored) ? (int)(at - lower) : otherwise;
}

bool parse_gpu_sample(const char *text, const struct spots *spots, struct reading *ret)
{
	static const enum figure figures[SPOTS] = {FIGURE_ALLOCATED, FIGURE_RESERVED, FIGURE_UNALLOCATED};
	int64_t bytes;

	for (size_t i = 0; i < SPOTS; i++)
		if (spots->at[i] >= 0 && text_size(text + spots->at[i], false, &bytes))
			figures_set(&ret->figures, figures[i], bytes);
	ret->is_peak = spots->unit;
	return spots->at[0] >= 0 || spots->at[1] >= 0;
}

/* "allocated 68481 MiB reserved 69638 MiB": only both together are of a GPU's allocator. */
static void find_pair(const char *lower, struct spots *ret)
{
	const char *allocated = strstr(lower, "allocated "), *reserved = allocated ? strstr(lower, "reserved ") : NULL;
	int64_t ignored;

	if (!reserved || !text_size(reserved + strlen("reserved "), false, &ignored))
		return;
	ret->at[1] = (int)(reserved + strlen("reserved ") - lower);
	if (text_size(allocated + strlen("allocated "), false, &ignored))
		ret->at[0] = (int)(allocated + strlen("allocated ") - lower);
}

/* Lines such as "allocated=38.1GiB reserved=41.0GiB gap=2.9GiB", and rows of torch.cuda.memory_summary(). */
bool read_gpu_sample(const struct line *line, struct reading *ret)
{
	const char *lower = line->lower;
	struct spots spots = SPOTS_NONE;

	spots.at[0] = find_size(lower,
				"max_memory_allocated|memory_allocated|allocated=| allocated memory|allocated:|"
				"mem_alloc=|gpu_mem=|max_mem: |max_mem=",
				spots.at[0]);
	/* Only of a step; a scheduler's limit is written so, too. */
	if (text_has(lower, "loss|step|iter"))
		spots.at[0] = find_size(lower, " mem=", spots.at[0]);
	spots.at[1] = find_size(
		lower, "peak_reserved|max_memory_reserved|memory_reserved|reserved=|gpu reserved memory|reserved:",
		spots.at[1]);
	spots.at[0] = find_plain_size(lower, spots.at[0]);
	find_pair(lower, &spots);
	spots.at[2] = find_size(lower, "gap=|unallocated=", spots.at[2]);
	spots.unit = text_has(lower, "peak|max_mem");
	line_note(line, &spots);
	return parse_gpu_sample(lower, &spots, ret);
}
