/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* signals: what can be recognised in one line of a log: a table of patterns. A row has words, one of which every such
 * line contains (they are searched in the raw log, see scan.h), and a function that decides and reads the figures.
 * Functions are pure and take time linear in their line. */
#include "triage/figures.h"
#include "triage/line.h"

#include <stdbool.h>

enum signal_id {
	/* faults of a card */
	SIGNAL_XID,
	SIGNAL_GPU_ECC,
	SIGNAL_GPU_LOST,
	SIGNAL_GPU_RESET,
	SIGNAL_ROW_REMAP,
	SIGNAL_DEVICE_UNHEALTHY,
	SIGNAL_GPU_ECC_PAST,
	/* the kernel */
	SIGNAL_KERNEL_INVOKED,
	SIGNAL_KERNEL_CUT,
	SIGNAL_KERNEL_LIMIT_OF,
	SIGNAL_KERNEL_USAGE,
	SIGNAL_KERNEL_STATS,
	SIGNAL_KERNEL_TABLE,
	SIGNAL_KERNEL_HUGEPAGES,
	SIGNAL_KERNEL_RAM,
	SIGNAL_KERNEL_CONSTRAINT,
	SIGNAL_KERNEL_KILL,
	/* other killers of the host */
	SIGNAL_OOM_KILLED,
	SIGNAL_OOM_NOTED,
	SIGNAL_OOM_REAPED,
	SIGNAL_SYSTEM_OOM,
	SIGNAL_OOM_COUNTED,
	SIGNAL_NODE_KILL,
	SIGNAL_SLURM,
	SIGNAL_SLURM_FIGURES,
	SIGNAL_JOB_LIMIT,
	SIGNAL_YARN,
	SIGNAL_DASK,
	SIGNAL_RAY,
	SIGNAL_OOMD,
	SIGNAL_EARLYOOM,
	SIGNAL_LOW_MEMORY,
	SIGNAL_TALOS,
	SIGNAL_EVICTED_MEMORY,
	SIGNAL_EVICTED_STORAGE,
	SIGNAL_DISRUPTED,
	SIGNAL_PROBE_KILLED,
	SIGNAL_SHM,
	SIGNAL_SEMAPHORE,
	SIGNAL_WORKER_KILLED,
	SIGNAL_CHILD_KILLED,
	SIGNAL_WORKER_LOST,
	SIGNAL_SHELL_KILLED,
	SIGNAL_CHILD_BUS,
	SIGNAL_STATUS_UNKNOWN,
	SIGNAL_EXIT_137,
	SIGNAL_EXIT_CODE,
	SIGNAL_REFUSED,
	SIGNAL_PINNING,
	SIGNAL_OVERCOMMIT_REFUSED,
	/* memory of a GPU */
	SIGNAL_GPU_OOM,
	SIGNAL_GPU_DETAIL,
	SIGNAL_GPU_SAMPLE,
	SIGNAL_GPU_DEVICE,
	SIGNAL_DCGM_MEMORY,
	SIGNAL_GPU_ZOMBIE,
	SIGNAL_GPU_SHARED,
	SIGNAL_GPU_FRACTION,
	SIGNAL_RETRY,
	SIGNAL_NO_FAILURE,
	/* ends that are no OOM */
	SIGNAL_TESTS_PASSED,
	SIGNAL_KERNEL_SCRATCH,
	SIGNAL_DEVICE_ASSERT,
	SIGNAL_ILLEGAL_ACCESS,
	SIGNAL_COLLECTIVE_TIMEOUT,
	SIGNAL_DISK_FULL,
	SIGNAL_DISK_QUOTA,
	SIGNAL_FILES_LIMIT,
	SIGNAL_PIDS_LIMIT,
	SIGNAL_SHM_ERROR,
	SIGNAL_SEGFAULT,
	SIGNAL_HEAP_CORRUPTION,
	SIGNAL_PREEMPTED,
	SIGNAL_NOT_STARTED,
	SIGNAL_TERMINATED,
	SIGNAL_TIME_LIMIT,
	SIGNAL_LIBRARY,
	SIGNAL_DRIVER,
	SIGNAL_NAN_LOSS,
	SIGNAL_SERVER_LIMIT,
	SIGNAL_MEMORY_ERROR,
	SIGNAL_EXCEPTION,
	SIGNAL_DONE,
	SIGNAL_EXIT_ZERO,
	SIGNAL_COMPLETED,
	SIGNAL_SERVING,
	/* around the end */
	SIGNAL_OOM_DENIED,
	SIGNAL_PEAK,
	SIGNAL_RECORDED,
	SIGNAL_CLIMB,
	SIGNAL_MEMORY_VOLUME,
	SIGNAL_DATASET,
	SIGNAL_NODE_PRESSURE,
	SIGNAL_RESIZE_PENDING,
	SIGNAL_STRICT_OVERCOMMIT,
	/* how far the run came */
	SIGNAL_STEP,
	SIGNAL_EPOCH,
	SIGNAL_RATE,
	SIGNAL_RSS,
	SIGNAL_CGROUP_PEAK,
	SIGNAL_STARTING,
	SIGNAL_LOADING,
	SIGNAL_OFFLOAD,
	SIGNAL_CHECKPOINT,
	SIGNAL_SNAPSHOT,
	SIGNAL_TORCH_VERSION,
	SIGNAL_SETTING,
	SIGNAL_NUMBER,
	SIGNAL_COUNT_
};

/* Units of throughput, those first that do not depend on the size of a batch. */
enum rate_unit { RATE_TOKENS, RATE_SAMPLES, RATE_STEPS, RATE_COUNT_ };
extern const char *const rate_names[RATE_COUNT_];

/* Settings of the tables of levers that can be recognised in a log or in the spec of a pod. */
enum setting {
	SETTING_EXPANDABLE,
	SETTING_COLLECTION, /* its lever sets max_split_size_mb as well, so it comes first */
	SETTING_MAX_SPLIT,
	SETTING_CUDA_MALLOC_ASYNC,
	SETTING_CUDA_ASYNC,
	SETTING_CHECKPOINTING,
	SETTING_FULL_SHARD,
	SETTING_SHM,
	SETTING_ALLOCATOR, /* the allocator's variable, whatever its value */
	SETTING_COUNT_
};
struct setting_row {
	const char *name;
	const char *words; /* in lower case, separated by '|': one of them is in such a line */
	const char *lever; /* in lower case: in the setting of the lever that it is; NULL: of none */
};
extern const struct setting_row settings[SETTING_COUNT_];
/** Whether a text of a SIGNAL_SETTING has this setting: a line may have several. */
bool setting_is_in(enum setting setting, const char *text);

/* A version of PyTorch as SIGNAL_TORCH_VERSION has it; 2.9 without its last number is 2.9.0. */
#define TORCH_VERSION(major, minor, patch) ((int64_t)(major)*1000000 + (int64_t)(minor)*1000 + (int64_t)(patch))

/* The variables that configure PyTorch's allocator: each kind of device had its own; from 2.9 on VARIABLE_ANY is read
 * for all of PyTorch's own devices. */
enum variable { VARIABLE_NONE, VARIABLE_CUDA, VARIABLE_HIP, VARIABLE_NPU, VARIABLE_MLU, VARIABLE_ANY, VARIABLE_COUNT_ };
extern const char *const variable_names[VARIABLE_COUNT_];

enum framework {
	FRAMEWORK_NONE,
	FRAMEWORK_TORCH,
	FRAMEWORK_MPS,
	FRAMEWORK_TENSORFLOW,
	FRAMEWORK_JAX,
	FRAMEWORK_PADDLE,
	FRAMEWORK_OTHER
};

/* Where a kernel's OOM kill had its limit. */
enum scope { SCOPE_NONE, SCOPE_CONTAINER, SCOPE_POD, SCOPE_CGROUP, SCOPE_KUBEPODS, SCOPE_NODE, SCOPE_POLICY };

/* Why a pod was stopped from outside (SIGNAL_DISRUPTED) or never started (SIGNAL_NOT_STARTED). */
enum stop {
	STOP_PREEMPTED,
	STOP_SHUTDOWN,
	STOP_NODE_LOST,
	STOP_DRAINED,
	STOP_DEADLINE,
	STOP_DELETED,
	STOP_EVICTED,
	STOP_UNSCHEDULABLE,
	STOP_IMAGE,
	STOP_CONFIGURATION,
	STOP_ADMISSION,
	STOP_COUNT_
};
struct stop_row {
	const char *cause, *why;
};
extern const struct stop_row triage_stops[STOP_COUNT_];

#define READING_NAME_BYTES  64
#define READING_WORDS_BYTES 256
#define READING_UID_BYTES   40

/** What one line says. */
struct reading {
	struct figures figures;
	int64_t value; /* number of an XID, process, container, exit code, step or version (TORCH_VERSION); an enum stop
			* or setting; a throughput in thousandths; how many processes share a GPU */
	int64_t total; /* of how many steps, -1: not said; the enum rate_unit of a throughput; thousandths of epochs
			* that are done, -1: not said */
	enum framework framework;
	enum scope scope;
	bool is_caught;		/* the program caught the error, or went on for long after a kill */
	bool is_taken_back;	/* a line close behind says that this was no failure */
	enum variable variable; /* that the message names, or that its device reads */
	bool is_exact; /* the whole form of the message, not only its words; a launcher's report of an end; a counter
			* of kills, or that it stayed 0 (SIGNAL_PEAK); a search for a batch that has found one; a
			* checkpoint that was written, not only begun; a kill, not only that memory is short
			* (SIGNAL_LOW_MEMORY); the phase of a pod (SIGNAL_COMPLETED); an exception, not only words
			* (SIGNAL_MEMORY_ERROR); the heading of a table (SIGNAL_SLURM_FIGURES); a report whose
			* frames or statistics say at whose limit the kernel kills (SIGNAL_KERNEL_CUT) */
	bool is_peak;  /* a figure is the greatest so far, so that differences mean nothing */
	int n_tasks;   /* tasks with the name of the one that was killed */
	int n_group;   /* tasks of the name that held the most together; 0: there is none with several */
	bool is_group_even;	     /* these had nearly the same size */
	bool has_parent;	     /* the largest task of their name is by a third larger than they are */
	bool has_launcher;	     /* the table of tasks has one of several ranks */
	char uid[READING_UID_BYTES]; /* of the pod whose task was killed, as the path of its cgroup has it; "": none */
	char group[24];		     /* name of these tasks */
	char name[READING_NAME_BYTES];	 /* of a process or container */
	char largest[24];		 /* of the task that held the most when the kernel killed another one */
	char words[READING_WORDS_BYTES]; /* path of a cgroup, a checkpoint, a snapshot or a mount; name of an exception
					  */
};

struct signal {
	const char *name;
	const char *
		words; /* in lower case, separated by '|'; NULL: no line of a log, only the status of a pod, an
			* event or a condition of a node (postmortem/), a setting of the node, or nvidia-smi's output */
	bool (*read)(const struct line *line,
		     struct reading *ret); /* with line->at at a word; NULL: the words are enough */
	const char *meaning;		   /* for people: what such a line proves */
};

extern const struct signal signals[SIGNAL_COUNT_];
/* How JAX on a CPU says that the host refused memory; on a GPU it has "out of memory while trying to allocate". */
#define XLA_CPU "resource_exhausted: out of memory allocating"
/* Words for memory that ran out, in lines that are no exception (SIGNAL_MEMORY_ERROR). */
#define MEMORY_SHORT_WORDS                                                                                             \
	"out of memory|out-of-memory|insufficient memory|not enough memory|memory exhausted|memory limit exceeded"
/* Words for data that is read (SIGNAL_LOADING). They do not say whether all of it stays in memory. */
#define LOADING_WORDS                                                                                                  \
	"loading data|loading all|loading shard|loading the data|reading data|reading all|reading shard|read_csv|"     \
	"read_parquet|read_json"
/* What makes a line a SIGNAL_GPU_OOM, separated by '|': each contains one of the words of its row. */
#define GPU_OOM_FORMS 3
extern const char *const gpu_oom_forms[GPU_OOM_FORMS];

/** Whether a line contains the signal; what it says. Sets line->at. */
bool signal_read(enum signal_id signal, struct line *line, struct reading *ret);

void reading_init(struct reading *self);
/** Whether a line in lower case lists what may have been the cause, as Ray does for each worker that it lost. */
static inline bool is_list_of_causes(const char *lower)
{
	return text_has(lower, "potential root causes|common causes include");
}
/** Whether a line is a test's, whose check for an error failed: "AssertionError: expected CUDA out of memory to be
 * raised". */
static inline bool is_failed_check(const struct line *line)
{
	return strstarts(line->lower + line->body, "assertionerror") && !strstr(line->lower, "to allocate");
}
/** Whether the words at `at` are only mentioned: in a comment, in code, in a piece of advice. */
bool is_mention(const struct line *line, const char *at);
/** What stands before an exit code, separated by '|'. As words of a row they count only with a code that is negative or
 *  in exit_codes: those that the functions of the rows may ask for. */
#define EXIT_CODE_WORDS "exit code|exitcode|exit_code|exit status"
#define EXIT_CODES	5
extern const int64_t exit_codes[EXIT_CODES];
/** Whether one of them follows directly, or something that does not show it. */
bool is_exit_code_next(const char *behind, size_t n);
/** Whether a line in lower case reports an exit code: "exit code 137", "Exit Code:    137", "\"ExitCode\" : 137", "exit
 * code (137)", "exitcode: -9". */
bool is_exit_code(const char *lower, int64_t code);
/** The uid of the pod in the path of a cgroup, with dashes. @return what comes behind it in the path; NULL: none. */
const char *cgroup_pod_uid(const char *path, char uid[READING_UID_BYTES]);
/** Who made a cgroup that is none of Kubernetes, as a cause of rules.h: "slurm" "docker" or "systemd"; NULL: not known.
 */
const char *cgroup_owner(const char *path);
/** Copies from `text` up to one of the `ends`, cut to the buffer. */
void reading_copy(char *buf, size_t size, const char *text, const char *ends);

/* The functions of the rows, in signals_gpu.c, signals_kernel.c, signals_host.c, signals_refused.c, signals_stated.c,
 * signals_run.c and signals_fix.c. */
bool read_xid(const struct line *line, struct reading *ret);
bool read_ecc(const struct line *line, struct reading *ret);
bool read_gpu_oom(const struct line *line, struct reading *ret);
/** Whether a line in lower case names a call of CUDA or HIP that pins memory of the host. */
bool gpu_is_host_call(const char *lower);
/** The name of a call that allocates on a GPU in a line in lower case; NULL: none. */
const char *gpu_find_alloc_call(const char *lower);
bool read_gpu_detail(const struct line *line, struct reading *ret);
bool read_gpu_sample(const struct line *line, struct reading *ret);
bool read_gpu_device(const struct line *line, struct reading *ret);
bool read_device_assert(const struct line *line, struct reading *ret);
bool read_smi_only(const struct line *line, struct reading *ret);
bool read_tests_passed(const struct line *line, struct reading *ret);
bool read_kernel_invoked(const struct line *line, struct reading *ret);
bool read_kernel_frame(const struct line *line, struct reading *ret);
bool read_kernel_stats(const struct line *line, struct reading *ret);
bool read_kernel_limit_of(const struct line *line, struct reading *ret);
bool read_kernel_usage(const struct line *line, struct reading *ret);
bool read_kernel_hugepages(const struct line *line, struct reading *ret);
bool read_kernel_ram(const struct line *line, struct reading *ret);
bool read_kernel_constraint(const struct line *line, struct reading *ret);
bool read_kernel_kill(const struct line *line, struct reading *ret);
bool read_evicted_memory(const struct line *line, struct reading *ret);
bool read_evicted_storage(const struct line *line, struct reading *ret);
bool read_oom_killed(const struct line *line, struct reading *ret);
/* earlyoom and systemd-oomd also report that they run, and how much memory is free. */
bool read_slurm(const struct line *line, struct reading *ret);
bool read_slurm_figures(const struct line *line, struct reading *ret);
bool read_job_limit(const struct line *line, struct reading *ret);
bool read_yarn(const struct line *line, struct reading *ret);
bool read_earlyoom(const struct line *line, struct reading *ret);
bool read_low_memory(const struct line *line, struct reading *ret);
bool read_killer(const struct line *line, struct reading *ret);
bool read_shm(const struct line *line, struct reading *ret);
bool read_child_killed(const struct line *line, struct reading *ret);
bool read_shell_killed(const struct line *line, struct reading *ret);
bool read_worker_lost(const struct line *line, struct reading *ret);
bool read_child_bus(const struct line *line, struct reading *ret);
bool read_exit_137(const struct line *line, struct reading *ret);
bool read_refused(const struct line *line, struct reading *ret);
bool read_pinning(const struct line *line, struct reading *ret);
bool read_overcommit_refused(const struct line *line, struct reading *ret);
bool read_disk_full(const struct line *line, struct reading *ret);
bool read_preempted(const struct line *line, struct reading *ret);
bool read_not_started(const struct line *line, struct reading *ret);
bool read_segfault(const struct line *line, struct reading *ret);
bool read_terminated(const struct line *line, struct reading *ret);
bool read_retry(const struct line *line, struct reading *ret);
bool read_oom_noted(const struct line *line, struct reading *ret);
bool read_oom_reaped(const struct line *line, struct reading *ret);
bool read_dask(const struct line *line, struct reading *ret);
bool read_oom_denied(const struct line *line, struct reading *ret);
bool read_shm_error(const struct line *line, struct reading *ret);
bool read_nan_loss(const struct line *line, struct reading *ret);
bool read_server_limit(const struct line *line, struct reading *ret);
bool read_exit_zero(const struct line *line, struct reading *ret);
bool read_completed(const struct line *line, struct reading *ret);
bool read_memory_error(const struct line *line, struct reading *ret);
bool read_exception(const struct line *line, struct reading *ret);
bool read_epoch(const struct line *line, struct reading *ret);
bool read_rate(const struct line *line, struct reading *ret);
bool read_rss(const struct line *line, struct reading *ret);
bool read_cgroup_peak(const struct line *line, struct reading *ret);
bool read_setting(const struct line *line, struct reading *ret);
bool read_number(const struct line *line, struct reading *ret);
bool read_offload(const struct line *line, struct reading *ret);
bool read_loading(const struct line *line, struct reading *ret);
bool read_step(const struct line *line, struct reading *ret);
bool read_checkpoint(const struct line *line, struct reading *ret);
bool read_snapshot(const struct line *line, struct reading *ret);
bool read_torch_version(const struct line *line, struct reading *ret);

/** Reads the numbers of a line again from where its reader has noted them. `text`: NUL-terminated, of either case.
 *  @return false: these numbers mean something else, and the reader must decide. */
bool parse_step(const char *text, const struct spots *spots, struct reading *ret);
bool parse_epoch(const char *text, const struct spots *spots, struct reading *ret);
bool parse_rate(const char *text, const struct spots *spots, struct reading *ret);
bool parse_rss(const char *text, const struct spots *spots, struct reading *ret);
bool parse_gpu_sample(const char *text, const struct spots *spots, struct reading *ret);
