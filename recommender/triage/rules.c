/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/rules.h"

#include <stdio.h>

const char *const triage_confidence_names[] = {"low", "medium", "high"};

const struct kind_row triage_kinds[KIND_COUNT_] = {
	[KIND_TRUE_OOM] = {"true-oom", "the GPU is full: the job needs more memory than it has"},
	[KIND_FRAGMENTATION] = {"fragmentation", "the GPU has room, but in pieces that are too small"},
	[KIND_CO_TENANT] = {"co-tenant", "other processes hold the GPU's memory"},
	[KIND_GPU_FAULT] = {"gpu-fault", "the GPU is damaged or lost"},
	[KIND_CONTAINER_LIMIT] = {"container-limit", "the container needed more than its memory limit"},
	[KIND_POD_LIMIT] = {"pod-limit", "the pod needed more than the limit of the whole pod"},
	[KIND_NODE_OOM] = {"node-oom", "the node ran out of memory"},
	[KIND_ALLOCATION_REFUSED] = {"allocation-refused", "the host refused memory, and nobody was killed"},
	[KIND_EVICTED_MEMORY] = {"evicted-memory", "the kubelet evicted the pod for memory"},
	[KIND_EVICTED_STORAGE] = {"evicted-ephemeral-storage", "the kubelet evicted the pod for its use of the disk"},
	[KIND_SHM_TOO_SMALL] = {"shm-too-small", "/dev/shm is too small"},
	[KIND_NOT_OOM] = {"not-oom", "the end has another reason than memory"},
	[KIND_UNKNOWN] = {"unknown", "what was given does not say"},
};

const struct rule triage_rules[] = {
	{"gpu-xid", KIND_GPU_FAULT, NULL, CONFIDENCE_HIGH, SIGNAL_XID, rule_xid_fault,
	 "the kernel log or DCGM has an XID of the hardware (48, 61 to 64, 74, 79, 92, 94, 95, 109, 110, 119 to 121, "
	 "140 to 150, 154 unless to no action, 171, 172)",
	 "The GPU failed, and what followed in the program is collateral."},
	{"gpu-ecc", KIND_GPU_FAULT, "ecc", CONFIDENCE_HIGH, SIGNAL_GPU_ECC, NULL,
	 "the log, nvidia-smi or DCGM has an uncorrectable ECC or NVLink error, or AMD's driver counts uncorrectable "
	 "errors",
	 "Memory or a link of the GPU is damaged."},
	{"gpu-lost", KIND_GPU_FAULT, "lost", CONFIDENCE_HIGH, SIGNAL_GPU_LOST, NULL,
	 "the driver says that the GPU is lost or has fallen off the bus", "The GPU does not answer any more."},
	{"gpu-reset", KIND_GPU_FAULT, "reset", CONFIDENCE_MEDIUM, SIGNAL_GPU_RESET, rule_gpu_reset,
	 "the driver of AMD reset a GPU, and no page fault of a program comes before it",
	 "The GPU hung, and its driver reset it: all that programs had on it is lost."},
	{"gpu-row-remap", KIND_GPU_FAULT, "row-remap", CONFIDENCE_MEDIUM, SIGNAL_ROW_REMAP, NULL,
	 "rows of the GPU's memory were remapped, or wait for it", "Rows of the GPU's memory are damaged."},
	{"device-unhealthy", KIND_GPU_FAULT, "unhealthy", CONFIDENCE_HIGH, SIGNAL_DEVICE_UNHEALTHY, NULL,
	 "the status of the pod calls its device unhealthy (allocatedResourcesStatus), or a condition of the node "
	 "calls "
	 "a GPU faulty, or dcgmi health calls a part of one failed",
	 "Kubernetes or DCGM calls a device that the pod used unhealthy."},
	{"kernel-container", KIND_CONTAINER_LIMIT, NULL, CONFIDENCE_HIGH, SIGNAL_KERNEL_CONSTRAINT,
	 rule_kernel_container, "the kernel killed a task at the limit of a container's cgroup",
	 "The container reached its memory limit, and the kernel killed a task of it."},
	{"kernel-pod", KIND_POD_LIMIT, NULL, CONFIDENCE_HIGH, SIGNAL_KERNEL_CONSTRAINT, rule_kernel_pod,
	 "the kernel killed a task at the limit of a pod's cgroup",
	 "The pod as a whole reached its memory limit, and the kernel killed a task of it."},
	{"kernel-kubepods", KIND_NODE_OOM, "node-allocatable", CONFIDENCE_HIGH, SIGNAL_KERNEL_CONSTRAINT,
	 rule_kernel_kubepods, "the kernel killed a task at the limit of all pods of the node together (kubepods)",
	 "All pods of the node together reached what the node may give to pods."},
	{"kernel-policy", KIND_NODE_OOM, "mempolicy", CONFIDENCE_HIGH, SIGNAL_KERNEL_CONSTRAINT, rule_kernel_policy,
	 "the kernel's constraint is a cpuset or a memory policy",
	 "The NUMA nodes that the task may use are full, though the machine may have free memory."},
	{"kernel-node", KIND_NODE_OOM, NULL, CONFIDENCE_HIGH, SIGNAL_KERNEL_CONSTRAINT, rule_kernel_node,
	 "the kernel killed a task without the limit of a cgroup",
	 "The node ran out of memory, and the kernel chose a task of the whole node."},
	{"kernel-cgroup", KIND_CONTAINER_LIMIT, NULL, CONFIDENCE_MEDIUM, SIGNAL_KERNEL_CONSTRAINT, rule_kernel_cgroup,
	 "the kernel killed a task at the limit of another cgroup: Docker, Slurm, systemd",
	 "A cgroup outside of Kubernetes' pods reached its memory limit."},
	{"evicted-memory", KIND_EVICTED_MEMORY, NULL, CONFIDENCE_HIGH, SIGNAL_EVICTED_MEMORY, rule_evicted_memory,
	 "the kubelet's message says that the node was low on memory",
	 "The node was short of memory, and the kubelet evicted the pod because it used more than its request."},
	{"evicted-storage", KIND_EVICTED_STORAGE, NULL, CONFIDENCE_HIGH, SIGNAL_EVICTED_STORAGE, rule_evicted_storage,
	 "the kubelet's message is about ephemeral storage or an emptyDir",
	 "The pod wrote more to the node's disk than it may."},
	{"slurm", KIND_CONTAINER_LIMIT, "slurm", CONFIDENCE_HIGH, SIGNAL_SLURM, NULL,
	 "slurmstepd reports an OOM kill or a memory limit that was exceeded, or Slurm's accounting (seff, sacct, "
	 "scontrol) has the state OUT_OF_MEMORY",
	 "The job reached the memory that it had asked Slurm for."},
	{"yarn", KIND_CONTAINER_LIMIT, "yarn", CONFIDENCE_HIGH, SIGNAL_YARN, NULL,
	 "YARN says that it killed a container for its use of memory",
	 "The container reached the memory that it had asked YARN for, and YARN killed it."},
	{"dask", KIND_CONTAINER_LIMIT, "dask", CONFIDENCE_MEDIUM, SIGNAL_DASK, rule_dask,
	 "Dask's nanny says that a worker exceeded its memory budget, and the run did not end well",
	 "Dask killed a worker at its share of the memory (memory_limit of the worker), before the kernel would have."},
	{"job-limit", KIND_CONTAINER_LIMIT, "job-limit", CONFIDENCE_HIGH, SIGNAL_JOB_LIMIT, NULL,
	 "LSF, PBS, Torque, Moab, Grid Engine or HTCondor says that a job exceeded its limit of memory",
	 "The job reached the memory that it had asked the scheduler for, and the scheduler ended it."},
	{"ray", KIND_NODE_OOM, "ray-memory-monitor", CONFIDENCE_HIGH, SIGNAL_RAY, NULL,
	 "Ray says that it killed a worker for memory pressure",
	 "Ray's memory monitor killed a worker before the kernel would have."},
	{"systemd-oomd", KIND_NODE_OOM, "systemd-oomd", CONFIDENCE_HIGH, SIGNAL_OOMD, NULL,
	 "systemd-oomd reports a kill", "systemd-oomd killed a cgroup for memory pressure."},
	{"earlyoom", KIND_NODE_OOM, "earlyoom", CONFIDENCE_HIGH, SIGNAL_EARLYOOM, NULL, "earlyoom reports a kill",
	 "earlyoom killed the process before the kernel would have."},
	{"low-memory", KIND_NODE_OOM, "low-memory-killer", CONFIDENCE_HIGH, SIGNAL_LOW_MEMORY, rule_low_memory,
	 "nohang or an old earlyoom sends a signal to a process, and a line near it has how little memory is available",
	 "A killer that watches the memory of the whole machine ended a process before the kernel would have."},
	{"talos", KIND_NODE_OOM, "talos", CONFIDENCE_HIGH, SIGNAL_TALOS, NULL,
	 "the OOM controller of Talos reports a kill", "Talos killed a cgroup for memory pressure of the node."},
	{"oomkilled-pod", KIND_POD_LIMIT, NULL, CONFIDENCE_HIGH, SIGNAL_OOM_KILLED, rule_oomkilled_pod,
	 "a container without a memory limit of its own ended with OOMKilled in a pod with a limit (spec.resources)",
	 NULL},
	{"oomkilled-node", KIND_NODE_OOM, NULL, CONFIDENCE_MEDIUM, SIGNAL_OOM_KILLED, rule_oomkilled_node,
	 "a container ended with OOMKilled, and neither it nor its pod has a memory limit", NULL},
	{"oomkilled", KIND_CONTAINER_LIMIT, NULL, CONFIDENCE_HIGH, SIGNAL_OOM_KILLED, rule_oomkilled,
	 "a container ended with the reason OOMKilled, or its counter of OOM events rose",
	 "The container reached its memory limit; a node without memory gives the same reason, which only the kernel "
	 "log tells apart."},
	{"system-oom", KIND_NODE_OOM, NULL, CONFIDENCE_HIGH, SIGNAL_SYSTEM_OOM, NULL, "the node has an event SystemOOM",
	 "The node ran out of memory."},
	{"tests-passed", KIND_NOT_OOM, "test", CONFIDENCE_MEDIUM, SIGNAL_TESTS_PASSED, rule_tests_passed,
	 "a test run reports behind the last error that all tests passed",
	 "All tests passed, so the errors in the log were made on purpose."},
	{"shm", KIND_SHM_TOO_SMALL, NULL, CONFIDENCE_HIGH, SIGNAL_SHM, rule_shm,
	 "a worker died with a bus error, a file below /dev/shm could not be written, or a semaphore not be made",
	 NULL},
	{"gpu-after-timeout", KIND_NOT_OOM, "collective-timeout", CONFIDENCE_MEDIUM, SIGNAL_COLLECTIVE_TIMEOUT,
	 rule_gpu_after_timeout, "the allocation asked for more than 1 PiB, and a collective timed out before it",
	 "The size was read from a collective that had timed out, so it is garbage; the rank that did not answer has "
	 "the reason."},
	{"gpu-absurd-request", KIND_UNKNOWN, "absurd-figures", CONFIDENCE_LOW, SIGNAL_GPU_OOM, rule_gpu_absurd_request,
	 "the allocation asked for more than 1 PiB of a GPU whose size the log does not have, or the GPU has 0 bytes",
	 NULL},
	{"gpu-larger-than-card", KIND_TRUE_OOM, NULL, CONFIDENCE_HIGH, SIGNAL_GPU_OOM, rule_gpu_larger_than_card,
	 "T > C: one allocation is larger than the whole GPU", NULL},
	{"gpu-absurd", KIND_UNKNOWN, "absurd-figures", CONFIDENCE_LOW, SIGNAL_GPU_OOM, rule_gpu_absurd,
	 "a figure is larger than the GPU or than 1 PiB, so that figures contradict each other", NULL},
	{"gpu-process-limit", KIND_TRUE_OOM, "process-limit", CONFIDENCE_HIGH, SIGNAL_GPU_OOM, rule_gpu_process_limit,
	 "the message has `allowed`, `limit set to` (CuPy) or `would exceed allowed memory` with F >= T: the process "
	 "limits itself, as with set_per_process_memory_fraction",
	 NULL},
	{"gpu-fragmentation", KIND_FRAGMENTATION, NULL, CONFIDENCE_HIGH, SIGNAL_GPU_OOM, rule_gpu_fragmentation,
	 "U >= T and U >= 5 % of C, unless O >= 25 % of C and O > U", NULL},
	{"gpu-co-tenant", KIND_CO_TENANT, NULL, CONFIDENCE_HIGH, SIGNAL_GPU_OOM, rule_gpu_co_tenant, "O >= 25 % of C",
	 NULL},
	{"gpu-full", KIND_TRUE_OOM, NULL, CONFIDENCE_HIGH, SIGNAL_GPU_OOM, rule_gpu_full,
	 "any other message with T and C, a small request on a full GPU too; low confidence if PyTorch's message was "
	 "cut before U",
	 NULL},
	{"gpu-pool", KIND_CO_TENANT, NULL, CONFIDENCE_MEDIUM, SIGNAL_GPU_OOM, rule_gpu_pool,
	 "the driver refused memory to the pool of JAX, which is never larger than its share of the GPU",
	 "The driver refused what JAX's pool may have: 75 % of the GPU, unless XLA_PYTHON_CLIENT_MEM_FRACTION is set. "
	 "So others held the rest."},
	{"gpu-pinned", KIND_ALLOCATION_REFUSED, "pinned-memory", CONFIDENCE_LOW, SIGNAL_PINNING, rule_gpu_pinned,
	 "a runtime says `out of memory` without figures, in a call that pins memory of the host (pin_memory)",
	 "The call that failed pins memory of the host; CUDA has the same text for that as for a full GPU."},
	{"gpu-zombie", KIND_CO_TENANT, "zombie", CONFIDENCE_MEDIUM, SIGNAL_GPU_ZOMBIE, rule_gpu_zombie,
	 "nvidia-smi shows at least 25 % of a GPU in use and no process on it", NULL},
	{"gpu-shared", KIND_CO_TENANT, NULL, CONFIDENCE_LOW, SIGNAL_GPU_OOM, rule_gpu_shared,
	 "a GPU is out of memory without figures that tell more, and nvidia-smi lists several processes on one GPU",
	 NULL},
	{"gpu-words", KIND_TRUE_OOM, NULL, CONFIDENCE_LOW, SIGNAL_GPU_OOM, rule_gpu_words,
	 "a runtime or framework says that the GPU is out of memory, without T and C; the cause is `gap` if the log "
	 "has "
	 "what was reserved, and U >= 5 % of that",
	 NULL},
	{"refused", KIND_ALLOCATION_REFUSED, NULL, CONFIDENCE_HIGH, SIGNAL_REFUSED, rule_refused,
	 "MemoryError, numpy's `Unable to allocate`, std::bad_alloc, `Cannot allocate memory`, a heap of Java or "
	 "Node.js, R, Go, Windows' error 1455",
	 "The host refused an allocation, and nobody was killed: strict overcommit, ulimit -v, a heap's own limit, or "
	 "a request beyond all memory."},
	{"disrupted", KIND_NOT_OOM, NULL, CONFIDENCE_HIGH, SIGNAL_DISRUPTED, rule_disrupted,
	 "the status or an event of the pod says that it was preempted, drained, deleted, at its deadline, or that its "
	 "node shut down or was lost",
	 NULL},
	{"probe-killed", KIND_NOT_OOM, "liveness-probe", CONFIDENCE_MEDIUM, SIGNAL_PROBE_KILLED, NULL,
	 "an event says that the kubelet killed the container for a failed liveness or startup probe",
	 "The kubelet killed the container because its probe failed; a program that is short of memory may answer too "
	 "late, too."},
	{"time-limit", KIND_NOT_OOM, "time-limit", CONFIDENCE_HIGH, SIGNAL_TIME_LIMIT, rule_time_limit,
	 "Slurm says DUE TO TIME LIMIT, and no error, killed child or time-out comes before it",
	 "The job reached its time limit, and Slurm ended it: ask for more time (`--time`), or resume from a "
	 "checkpoint."},
	{"oom-counted", KIND_CONTAINER_LIMIT, NULL, CONFIDENCE_MEDIUM, SIGNAL_OOM_COUNTED, rule_oom_counted,
	 "container_oom_events_total of a container with a memory limit rose in the ten minutes before its end, or it "
	 "still runs",
	 NULL},
	{"oom-counted-pod", KIND_POD_LIMIT, NULL, CONFIDENCE_MEDIUM, SIGNAL_OOM_COUNTED, rule_oom_counted_pod,
	 "the same in a pod with a limit (spec.resources), without a limit of the container", NULL},
	{"oom-counted-node", KIND_NODE_OOM, NULL, CONFIDENCE_LOW, SIGNAL_OOM_COUNTED, rule_oom_counted_node,
	 "the same without any limit, or while the use stayed below half of it", NULL},
	{"node-kill", KIND_CONTAINER_LIMIT, "child-killed", CONFIDENCE_LOW, SIGNAL_NODE_KILL, NULL,
	 "an event of the node says that the kernel killed a task in a cgroup within a minute of the container's end",
	 "The kernel of the node killed a task at the limit of a cgroup when the container ended; the event does not "
	 "say of which pod."},
	{"oom-noted", KIND_CONTAINER_LIMIT, NULL, CONFIDENCE_MEDIUM, SIGNAL_OOM_NOTED, NULL,
	 "containerd, CRI-O's monitor, systemd or a platform reports an OOM kill in a container, without the lines of "
	 "the kernel",
	 "The runtime saw the kernel kill a task of the container, most likely at its memory limit; only the kernel's "
	 "own lines tell that from a node without memory."},
	{"oom-reaped", KIND_NODE_OOM, NULL, CONFIDENCE_LOW, SIGNAL_OOM_REAPED, NULL,
	 "the kernel's oom_reaper names a process, or systemd a service with a killed process, and the line of the "
	 "kill "
	 "is missing",
	 "The kernel killed a process for want of memory; the lines that say whether the node or a limit was full are "
	 "missing."},
	{"kernel-charge", KIND_CONTAINER_LIMIT, NULL, CONFIDENCE_LOW, SIGNAL_KERNEL_CUT, rule_kernel_charge,
	 "the kernel's report of a kill is cut behind its first line, whose flags are GFP_KERNEL alone and order 0",
	 NULL},
	{"killed-at-end", KIND_NOT_OOM, "after-the-end", CONFIDENCE_MEDIUM, SIGNAL_WORKER_KILLED, rule_killed_at_end,
	 "a child got SIGKILL after the last step or behind the line that says that the run is done, and the run ended "
	 "well",
	 "The run had come to its end before a child got SIGKILL, and it ended well."},
	{"hidden-kill", KIND_CONTAINER_LIMIT, "child-killed", CONFIDENCE_MEDIUM, SIGNAL_WORKER_KILLED, rule_hidden_kill,
	 "the log of a container with a memory limit reports a child that got SIGKILL which it did not send, and no "
	 "other "
	 "error comes before it",
	 NULL},
	{"worker-killed", KIND_UNKNOWN, "child-killed", CONFIDENCE_MEDIUM, SIGNAL_WORKER_KILLED, NULL,
	 "a DataLoader worker got SIGKILL, and nothing else says why",
	 "Nobody but the OOM killer usually kills a DataLoader worker; the kernel log or container_oom_events_total "
	 "can prove it."},
	{"child-killed", KIND_UNKNOWN, "child-killed", CONFIDENCE_LOW, SIGNAL_CHILD_KILLED, rule_child_killed,
	 "a launcher reports that a child got SIGKILL which it did not send, and no other error comes before it",
	 "SIGKILL of a child is most often the OOM killer at the container's limit; the log cannot prove it."},
	{"worker-lost", KIND_UNKNOWN, "child-killed", CONFIDENCE_LOW, SIGNAL_WORKER_LOST, rule_worker_lost,
	 "Dask, joblib, Ray, a data loader or Python's process pool says that a worker died, and no other error comes "
	 "before "
	 "it",
	 "A worker died without saying why: most often it was killed for memory; its own log, or the kernel's, can "
	 "prove "
	 "it."},
	{"gpu-recovered", KIND_NOT_OOM, "oom-recovered", CONFIDENCE_MEDIUM, SIGNAL_GPU_OOM, rule_gpu_recovered,
	 "each failed allocation was caught, and the run went on for further steps",
	 "The program caught the failed allocation and went on training, so it is not what ended the run."},
	{"refused-recovered", KIND_NOT_OOM, "oom-recovered", CONFIDENCE_MEDIUM, SIGNAL_REFUSED, rule_refused_recovered,
	 "the host refused an allocation, and the run went on and ended well",
	 "The program went on after the refusal and ended well, so it is not what ended the run."},
	{"kernel-scratch", KIND_NOT_OOM, "kernel-scratch", CONFIDENCE_HIGH, SIGNAL_KERNEL_SCRATCH, NULL,
	 "a kernel needs more vmem (TPU) or shared memory (GPU) than the chip has",
	 "One kernel needs more on-chip memory than the chip has: its tiles must be smaller; the GPU's memory is not "
	 "full."},
	{"device-assert", KIND_NOT_OOM, "device-assert", CONFIDENCE_HIGH, SIGNAL_DEVICE_ASSERT, NULL,
	 "CUDA reports a device-side assert", "A kernel of the program asserted: often a label or index out of range."},
	{"illegal-access", KIND_NOT_OOM, "illegal-access", CONFIDENCE_HIGH, SIGNAL_ILLEGAL_ACCESS, NULL,
	 "CUDA reports an illegal or misaligned address, or an unspecified launch failure",
	 "A kernel of the program used a wrong address."},
	{"xid-application", KIND_NOT_OOM, NULL, CONFIDENCE_MEDIUM, SIGNAL_XID, rule_xid_application,
	 "the kernel log or DCGM has an XID that programs cause (13, 31, 43; 45 only alone), and none of the hardware",
	 "The driver stopped the program for its own error; the GPU is not at fault."},
	{"child-bus", KIND_SHM_TOO_SMALL, NULL, CONFIDENCE_LOW, SIGNAL_CHILD_BUS, rule_child_bus,
	 "a launcher or a shell reports that a program got SIGBUS, and nothing else says why",
	 "SIGBUS of a training process is most often a full /dev/shm."},
	{"disk-full", KIND_NOT_OOM, "disk-full", CONFIDENCE_HIGH, SIGNAL_DISK_FULL, rule_disk_full,
	 "a file system other than /dev/shm is full, or the kernel can make no further cgroup or watch of files",
	 "The disk or volume is full, not the memory."},
	{"disk-quota", KIND_NOT_OOM, "disk-quota", CONFIDENCE_HIGH, SIGNAL_DISK_QUOTA, NULL,
	 "a write was refused with `Disk quota exceeded`",
	 "The quota of the user or project on the file system is used up (`quota -s`, `lfs quota`); the disk itself "
	 "may "
	 "have room."},
	{"files-limit", KIND_NOT_OOM, "files-limit", CONFIDENCE_MEDIUM, SIGNAL_FILES_LIMIT, rule_files_limit,
	 "the log has `Too many open files` or `received 0 items of ancdata`, and no other error before it",
	 "The process has as many files open as it may: raise `ulimit -n`, or share tensors with "
	 "torch.multiprocessing.set_sharing_strategy('file_system')."},
	{"pids-limit", KIND_NOT_OOM, "pids-limit", CONFIDENCE_MEDIUM, SIGNAL_PIDS_LIMIT, rule_pids_limit,
	 "the kernel rejected a fork at a cgroup's pids.max, or OpenBLAS names RLIMIT_NPROC, and the log has no error "
	 "that is not about threads or "
	 "processes",
	 "A cgroup or a user has as many processes and threads as it may (pids.max, podPidsLimit of the kubelet, "
	 "ulimit "
	 "-u): start fewer, "
	 "for instance with OMP_NUM_THREADS=1 and fewer workers."},
	{"segfault", KIND_NOT_OOM, "segfault", CONFIDENCE_HIGH, SIGNAL_SEGFAULT, NULL, "a process got SIGSEGV",
	 "The program used an address that it does not have."},
	{"heap-corruption", KIND_NOT_OOM, "heap-corruption", CONFIDENCE_HIGH, SIGNAL_HEAP_CORRUPTION, NULL,
	 "the C library found that the program wrote over memory that is not its own",
	 "The program damaged its own memory: a bug of its native code or of a library."},
	{"preempted", KIND_NOT_OOM, "preempted", CONFIDENCE_MEDIUM, SIGNAL_PREEMPTED, NULL,
	 "the pod or machine was preempted or is a spot instance that is taken back, or its node shut down",
	 "The pod was stopped from outside."},
	{"not-started", KIND_NOT_OOM, NULL, CONFIDENCE_HIGH, SIGNAL_NOT_STARTED, rule_not_started,
	 "no container of the pod ran: no node has room, no image, a wrong configuration, refused by the kubelet",
	 NULL},
	{"server-limit", KIND_NOT_OOM, "server-limit", CONFIDENCE_MEDIUM, SIGNAL_SERVER_LIMIT, rule_server_limit,
	 "PostgreSQL's table of locks is full, or Redis is at its `maxmemory`, and no other error comes before it",
	 "A database is at a limit of its own settings; the memory of this program and of its node is not short."},
	{"memory-error", KIND_UNKNOWN, NULL, CONFIDENCE_LOW, SIGNAL_MEMORY_ERROR, rule_memory_error,
	 "an exception is about memory, or a line says that memory ran out and the run shows no two further steps, in "
	 "words that no row above has",
	 "An error is about memory, in words that are not known here: they do not say which memory, and whether it "
	 "was used up."},
	{"nan-loss", KIND_NOT_OOM, "nan-loss", CONFIDENCE_HIGH, SIGNAL_NAN_LOSS, rule_nan_loss,
	 "the program stopped because its loss is NaN or infinite, or its loss scale cannot fall further",
	 "The loss is no number any more, and the program stopped itself."},
	{"collective-timeout", KIND_NOT_OOM, "collective-timeout", CONFIDENCE_MEDIUM, SIGNAL_COLLECTIVE_TIMEOUT,
	 rule_collective_timeout,
	 "a collective timed out or lost its peer, no error comes before it, and nothing says that a rank ran out of "
	 "memory",
	 "Ranks waited for one that did not answer; the log of that rank has the reason."},
	{"library", KIND_UNKNOWN, "library", CONFIDENCE_LOW, SIGNAL_LIBRARY, rule_library,
	 "cuDNN, cuBLAS or cuFFT could not be started, found no algorithm or failed inside, and nothing else says why",
	 "A library of the GPU failed: a full GPU, a driver of another version or a dead context give the same "
	 "message."},
	{"shm-error", KIND_NOT_OOM, "shm-error", CONFIDENCE_MEDIUM, SIGNAL_SHM_ERROR, rule_shm_error,
	 "a file of shared memory does not exist or may not be used, and no other error comes before it",
	 "A segment of shared memory could not be used for another reason than its size."},
	{"exception", KIND_NOT_OOM, "error", CONFIDENCE_MEDIUM, SIGNAL_EXCEPTION, rule_exception,
	 "the program ended with an exception that is not about memory", "The program ended with an ordinary error."},
	{"xid-other", KIND_UNKNOWN, NULL, CONFIDENCE_LOW, SIGNAL_XID, rule_xid_other,
	 "the kernel log or DCGM has another XID, and nothing above holds", NULL},
	{"kernel-invoked", KIND_UNKNOWN, NULL, CONFIDENCE_LOW, SIGNAL_KERNEL_INVOKED, rule_kernel_invoked,
	 "the kernel's report of a kill is cut behind its first line, whose flags do not tell more", NULL},
	{"terminated", KIND_NOT_OOM, "terminated", CONFIDENCE_LOW, SIGNAL_TERMINATED, NULL,
	 "the program got SIGTERM or reached its deadline", "The program was asked to end."},
	{"peak-at-limit", KIND_CONTAINER_LIMIT, NULL, CONFIDENCE_MEDIUM, SIGNAL_PEAK, rule_peak_at_limit,
	 "a container failed, nothing above says why, and Prometheus saw it use at least 95 % of its memory limit; low "
	 "confidence unless it ended with 137",
	 NULL},
	{"peak-at-pod-limit", KIND_POD_LIMIT, NULL, CONFIDENCE_MEDIUM, SIGNAL_PEAK, rule_peak_at_pod_limit,
	 "the same of the pod's limit (spec.resources), without a limit of the container", NULL},
	{"status-unknown", KIND_UNKNOWN, NULL, CONFIDENCE_LOW, SIGNAL_STATUS_UNKNOWN, NULL,
	 "the reason is ContainerStatusUnknown or RestartingAllContainers",
	 "The kubelet reports 137 without saying how the container ended: it could not find it any more, as after a "
	 "restart of the node, or it restarted all containers of the pod."},
	{"shell-killed", KIND_UNKNOWN, "child-killed", CONFIDENCE_LOW, SIGNAL_SHELL_KILLED, rule_shell_killed,
	 "the last lines of a log have a shell's `Killed`, and no other error comes before it", NULL},
	{"exit-137", KIND_UNKNOWN, NULL, CONFIDENCE_LOW, SIGNAL_EXIT_137, rule_exit_137,
	 "only the exit code 137 is known",
	 "137 is SIGKILL: from the OOM killer, or from the kubelet after the grace period; the code does not say "
	 "which."},
	{"exit-code", KIND_UNKNOWN, NULL, CONFIDENCE_LOW, SIGNAL_EXIT_CODE, NULL,
	 "only another exit code than 0 is known",
	 "The container failed. 1 is the program's own error, or a launcher that lost a child; the code does not say "
	 "which."},
	{"overcommit-refused", KIND_ALLOCATION_REFUSED, "overcommit", CONFIDENCE_LOW, SIGNAL_OVERCOMMIT_REFUSED, NULL,
	 "the kernel log has `not enough memory for the allocation` of __vm_enough_memory, and nothing above holds",
	 "The kernel refused memory to a process for its settings of overcommit; whether that ended the run, its own "
	 "log would tell."},
	{"driver", KIND_NOT_OOM, "driver", CONFIDENCE_MEDIUM, SIGNAL_DRIVER, rule_driver,
	 "the GPU's driver is missing, too old, or does not know the GPU, and the run shows no two further steps",
	 "The program could not use a GPU at all: the driver is missing, older than the CUDA runtime needs, or its GPU "
	 "is of another kind than the program was built for."},
	{"no-failure", KIND_NOT_OOM, "oom-recovered", CONFIDENCE_MEDIUM, SIGNAL_NO_FAILURE, rule_no_failure,
	 "TensorFlow says that a failed allocation is no failure, and the run went on",
	 "The allocator itself says that this was no failure, and the run went on behind it."},
	{"done", KIND_NOT_OOM, "completed", CONFIDENCE_MEDIUM, SIGNAL_DONE, NULL, "the run says that it is done",
	 "The run says that it is done."},
	{"completed", KIND_NOT_OOM, "completed", CONFIDENCE_MEDIUM, SIGNAL_COMPLETED, rule_completed,
	 "the phase of the pod is Succeeded, or a container ended with code 0 beside `OOMKilled: false`",
	 "The pod or its container ended well."},
	{"nothing", KIND_UNKNOWN, NULL, CONFIDENCE_LOW, SIGNAL_COUNT_, rule_nothing, "nothing of the above", NULL},
};
const size_t n_triage_rules = ARRAY_LEN(triage_rules);

static bool holds(const struct rule *rule, const struct facts *facts, struct verdict *ret)
{
	ret->fact = NULL;
	ret->cause = rule->cause;
	ret->confidence = rule->confidence;
	ret->why[0] = '\0';
	figures_init(&ret->figures);
	if (rule->test)
		return rule->test(facts, ret);
	ret->fact = facts_first(facts, rule->signal);
	if (ret->fact)
		ret->figures = ret->fact->reading.figures;
	return ret->fact != NULL;
}

/* Whether the run says that it is done behind a fact, before the end. */
static bool is_done_after(const struct facts *facts, const struct fact *fact, const struct fact *end)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *done = &facts->items.items[i];

		if (done->signal == SIGNAL_DONE && done->source == fact->source && done->order > fact->order &&
		    (!end || end->source != fact->source || done->order <= end->order))
			return true;
	}
	return false;
}

/* A line that only says that a checkpoint is being written proves one if the run went on behind it. */
static bool is_written(const struct facts *facts, const struct fact *fact, const struct fact *end)
{
	if (fact->reading.is_exact || is_done_after(facts, fact, end))
		return true;
	if (end && end->source == fact->source && end->position == fact->position)
		return end->n_progress > fact->n_progress;
	return facts_progress_since(facts, fact) > 0;
}

/* Checkpoints after the end belong to another attempt. */
static const struct fact *find_checkpoint(const struct facts *facts, const struct fact *end)
{
	const struct fact *last = NULL;

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal != SIGNAL_CHECKPOINT ||
		    (end && fact->source == end->source && fact->order > end->order))
			continue;
		if ((!last || fact->order > last->order) && is_written(facts, fact, end))
			last = fact;
	}
	return last;
}

static size_t count_ranks(const struct facts *facts, const struct fact *fact)
{
	uint64_t seen[LIMIT_TRIAGE_RANKS / 64] = {0};
	size_t n = 0;

	for (size_t i = 0; fact && i < facts->items.n; i++) {
		const struct fact *other = &facts->items.items[i];
		size_t rank = (size_t)other->rank % LIMIT_TRIAGE_RANKS;

		if (other->signal != fact->signal || other->rank == RANK_NONE || seen[rank / 64] >> rank % 64 & 1)
			continue;
		seen[rank / 64] |= (uint64_t)1 << rank % 64;
		n++;
	}
	return n;
}

/* A time-out of another rank than the one that died. */
static const struct fact *find_collateral(const struct facts *facts, const struct verdict *verdict)
{
	for (size_t i = 0; verdict->fact && i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_COLLECTIVE_TIMEOUT && fact != verdict->fact &&
		    (verdict->rank == RANK_NONE || fact->rank != verdict->rank) &&
		    (strcasestr(fact->text, "timeout") || strcasestr(fact->text, "timed out")))
			return fact;
	}
	return NULL;
}

/* A worker of another rank that was gone before the rank that decides ended; NULL: none. */
static const struct fact *find_earlier(const struct facts *facts, const struct verdict *verdict)
{
	for (size_t i = 0; verdict->rank != RANK_NONE && i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if ((fact->signal == SIGNAL_WORKER_KILLED || fact->signal == SIGNAL_WORKER_LOST) &&
		    fact->rank != RANK_NONE && fact->rank != verdict->rank && fact->order < verdict->fact->order)
			return fact;
	}
	return NULL;
}

void rules_add_context(const struct facts *facts, struct verdict *ret)
{
	const struct fact *version = facts_first(facts, SIGNAL_TORCH_VERSION);

	/* A rank that reports a time-out has waited for the one that died. */
	ret->rank = ret->fact && ret->fact->signal != SIGNAL_COLLECTIVE_TIMEOUT ? ret->fact->rank : RANK_NONE;
	ret->step = ret->fact ? ret->fact->step : STEP_NONE;
	if (ret->fact)
		rules_add_pod(facts, ret);
	ret->n_ranks = count_ranks(facts, ret->fact);
	ret->earlier = ret->fact ? find_earlier(facts, ret) : NULL;
	ret->torch_version = version ? version->reading.value : -1;
	ret->checkpoint = find_checkpoint(facts, ret->fact);
	ret->snapshot = facts_last(facts, SIGNAL_SNAPSHOT);
	ret->collateral = ret->fact && ret->fact->signal != SIGNAL_COLLECTIVE_TIMEOUT ? find_collateral(facts, ret)
										      : NULL;
}

void rules_decide(const struct facts *facts, struct verdict *ret)
{
	*ret = (struct verdict){0};
	for (size_t i = 0; i < n_triage_rules; i++) {
		if (!holds(&triage_rules[i], facts, ret))
			continue;
		ret->rule = &triage_rules[i];
		ret->kind = triage_rules[i].kind;
		if (!ret->why[0])
			snprintf(ret->why, sizeof(ret->why), "%s",
				 triage_rules[i].why ? triage_rules[i].why : triage_rules[i].when);
		break;
	}
	rules_add_context(facts, ret);
}
