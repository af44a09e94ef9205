/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* rules: decides from facts what kind of end it was. The rules are a table in a fixed order: faults of a card before
 * software, the killer's own report before what the program says, figures before words. The first rule that holds
 * decides; all other facts stay as evidence. Pure; cost: rules times facts. docs/TRIAGE.md is made from the table. */
#include "triage/facts.h"

enum kind {
	KIND_TRUE_OOM,
	KIND_FRAGMENTATION,
	KIND_CO_TENANT,
	KIND_GPU_FAULT,
	KIND_CONTAINER_LIMIT,
	KIND_POD_LIMIT,
	KIND_NODE_OOM,
	KIND_ALLOCATION_REFUSED,
	KIND_EVICTED_MEMORY,
	KIND_EVICTED_STORAGE,
	KIND_SHM_TOO_SMALL,
	KIND_NOT_OOM,
	KIND_UNKNOWN,
	KIND_COUNT_
};

struct kind_row {
	const char *name, *meaning;
};
extern const struct kind_row triage_kinds[KIND_COUNT_];

enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
extern const char *const triage_confidence_names[];

struct verdict {
	const struct rule *rule;
	enum kind kind;
	const char *cause; /* NULL: not known */
	enum confidence confidence;
	const struct fact *fact; /* that decides; NULL: none */
	struct figures figures;	 /* completed and computed from those of `fact` */
	char why[KIB];		 /* a few sentences */
	/* Context, whatever the kind. */
	int rank;		       /* the first one that died; RANK_NONE */
	int64_t step;		       /* STEP_NONE */
	size_t n_ranks;		       /* ranks with the same signal, at most LIMIT_TRIAGE_RANKS */
	int64_t torch_version;	       /* TORCH_VERSION; -1: not seen */
	const struct fact *checkpoint; /* the last one that was written before the end */
	const struct fact *snapshot;
	const struct fact *collateral; /* a time-out of other ranks */
	const struct fact *earlier;    /* a worker that another rank lost before */
};

struct rule {
	const char *name;
	enum kind kind;
	const char *cause; /* NULL: none, or the function sets it */
	enum confidence confidence;
	enum signal_id signal; /* holds if there is such a fact, or as `test` decides */
	bool (*test)(const struct facts *facts, struct verdict *ret); /* NULL: the signal is enough */
	const char *when;					      /* for people: when the rule holds */
	const char *why; /* for people: what follows; the function may write its own with figures */
};

extern const struct rule triage_rules[];
extern const size_t n_triage_rules;

/** Decides. `facts` must outlive the verdict. */
void rules_decide(const struct facts *facts, struct verdict *ret);
/** Fills in again what the facts say besides the verdict, from more facts than it was decided on. */
void rules_add_context(const struct facts *facts, struct verdict *ret);

/** What the program was doing when it ended, by its own log: a cause, or NULL. */
const char *rules_run_cause(const struct facts *facts, const struct fact *end);
/** Whether an ordinary error of the program comes before a fact. */
bool rules_has_error_before(const struct facts *facts, const struct fact *fact);
/** Whether the program went on after a failed allocation on a GPU. */
bool rules_is_recovered(const struct facts *facts, const struct fact *fact);
/** Appends to `why` what fits. */
ATTR_PRINTF(2, 3) void rules_say(struct verdict *ret, const char *fmt, ...);
/** Whether a log names workers of a data loader. */
bool rules_has_workers(const struct facts *facts);
/** Appends what the workers of the data loader need to `why`, where their number is known. */
void rules_say_loader(const struct facts *facts, struct verdict *ret);
/** The same of /dev/shm: of the 64 MiB that it has, or of the volume that is mounted there. */
void rules_say_shm(const struct facts *facts, struct verdict *ret);
/** Appends what data set, workers and volumes in memory need beside the limit of a container (NULL: of any), and sets
 * the cause where it has none and they explain the end. */
void rules_say_data(const struct facts *facts, struct verdict *ret, const char *container);
/** Whether a log shows a step of training. */
bool rules_has_steps(const struct facts *facts);
/** Whether the use rose to the limit, and the log shows that no step and no error came before. */
bool rules_is_climb_before_steps(const struct facts *facts);
/** Rank and step of a verdict by the pod whose task the kernel killed, where the log of the node does not say them. */
void rules_add_pod(const struct facts *facts, struct verdict *ret);
/** The deadly allocation on a GPU that a log reports, where `fact` is of the log of a node; NULL: none. */
const struct fact *rules_gpu_end_beside(const struct facts *facts, const struct fact *fact);
/** The first failed allocation on a GPU that the program did not survive; NULL: none. */
const struct fact *rules_find_deadly(const struct facts *facts);
/** Whether the program went on after any other failure, and ended well. */
bool rules_is_survived(const struct facts *facts, const struct fact *fact);
/** The first refusal of host memory that the program did not survive; NULL: none. */
const struct fact *rules_find_refused(const struct facts *facts);

/* Tests of the rows, in rules_fault.c, rules_gpu.c, rules_deadly.c, rules_kernel.c, rules_host.c, rules_stated.c and
 * rules_pod.c. They set `fact` and may set cause, confidence, figures and why.
 */
bool rule_xid_fault(const struct facts *facts, struct verdict *ret);
bool rule_gpu_reset(const struct facts *facts, struct verdict *ret);
bool rule_xid_application(const struct facts *facts, struct verdict *ret);
bool rule_xid_other(const struct facts *facts, struct verdict *ret);
bool rule_gpu_after_timeout(const struct facts *facts, struct verdict *ret);
bool rule_gpu_absurd_request(const struct facts *facts, struct verdict *ret);
bool rule_gpu_larger_than_card(const struct facts *facts, struct verdict *ret);
bool rule_gpu_absurd(const struct facts *facts, struct verdict *ret);
bool rule_gpu_process_limit(const struct facts *facts, struct verdict *ret);
bool rule_gpu_fragmentation(const struct facts *facts, struct verdict *ret);
bool rule_gpu_co_tenant(const struct facts *facts, struct verdict *ret);
bool rule_gpu_full(const struct facts *facts, struct verdict *ret);
bool rule_gpu_shared(const struct facts *facts, struct verdict *ret);
bool rule_gpu_words(const struct facts *facts, struct verdict *ret);
bool rule_gpu_recovered(const struct facts *facts, struct verdict *ret);
bool rule_oomkilled(const struct facts *facts, struct verdict *ret);
bool rule_tests_passed(const struct facts *facts, struct verdict *ret);
bool rule_library(const struct facts *facts, struct verdict *ret);
bool rule_gpu_pool(const struct facts *facts, struct verdict *ret);
bool rule_gpu_pinned(const struct facts *facts, struct verdict *ret);
bool rule_gpu_zombie(const struct facts *facts, struct verdict *ret);
bool rule_exception(const struct facts *facts, struct verdict *ret);
bool rule_child_bus(const struct facts *facts, struct verdict *ret);
bool rule_shm(const struct facts *facts, struct verdict *ret);
bool rule_evicted_memory(const struct facts *facts, struct verdict *ret);
bool rule_evicted_storage(const struct facts *facts, struct verdict *ret);
bool rule_oomkilled_pod(const struct facts *facts, struct verdict *ret);
bool rule_oomkilled_node(const struct facts *facts, struct verdict *ret);
bool rule_disrupted(const struct facts *facts, struct verdict *ret);
bool rule_not_started(const struct facts *facts, struct verdict *ret);
bool rule_oom_counted(const struct facts *facts, struct verdict *ret);
bool rule_oom_counted_pod(const struct facts *facts, struct verdict *ret);
bool rule_oom_counted_node(const struct facts *facts, struct verdict *ret);
bool rule_peak_at_limit(const struct facts *facts, struct verdict *ret);
bool rule_peak_at_pod_limit(const struct facts *facts, struct verdict *ret);
bool rule_hidden_kill(const struct facts *facts, struct verdict *ret);
bool rule_kernel_container(const struct facts *facts, struct verdict *ret);
bool rule_kernel_pod(const struct facts *facts, struct verdict *ret);
bool rule_kernel_cgroup(const struct facts *facts, struct verdict *ret);
bool rule_kernel_kubepods(const struct facts *facts, struct verdict *ret);
bool rule_kernel_policy(const struct facts *facts, struct verdict *ret);
bool rule_kernel_charge(const struct facts *facts, struct verdict *ret);
bool rule_kernel_invoked(const struct facts *facts, struct verdict *ret);
bool rule_disk_full(const struct facts *facts, struct verdict *ret);
bool rule_driver(const struct facts *facts, struct verdict *ret);
bool rule_kernel_node(const struct facts *facts, struct verdict *ret);
bool rule_refused(const struct facts *facts, struct verdict *ret);
bool rule_refused_recovered(const struct facts *facts, struct verdict *ret);
bool rule_memory_error(const struct facts *facts, struct verdict *ret);
bool rule_killed_at_end(const struct facts *facts, struct verdict *ret);
bool rule_dask(const struct facts *facts, struct verdict *ret);
bool rule_shell_killed(const struct facts *facts, struct verdict *ret);
bool rule_nothing(const struct facts *facts, struct verdict *ret);
bool rule_worker_lost(const struct facts *facts, struct verdict *ret);
bool rule_pids_limit(const struct facts *facts, struct verdict *ret);
bool rule_files_limit(const struct facts *facts, struct verdict *ret);
bool rule_time_limit(const struct facts *facts, struct verdict *ret);
bool rule_low_memory(const struct facts *facts, struct verdict *ret);
bool rule_server_limit(const struct facts *facts, struct verdict *ret);
bool rule_completed(const struct facts *facts, struct verdict *ret);
bool rule_nan_loss(const struct facts *facts, struct verdict *ret);
bool rule_shm_error(const struct facts *facts, struct verdict *ret);
bool rule_exit_137(const struct facts *facts, struct verdict *ret);
bool rule_no_failure(const struct facts *facts, struct verdict *ret);
bool rule_child_killed(const struct facts *facts, struct verdict *ret);
bool rule_collective_timeout(const struct facts *facts, struct verdict *ret);
